//! Elements that are taken out, put in, rebuilt and scrubbed while the array serves.

use std::path::{Path, PathBuf};

use stripewise_array::format::Superblock;
use stripewise_engine::{ElementFile, Engine, EngineError, FileMedia, FileTrouble, Rate};

use crate::control::Command;
use crate::signature::{clear, inspect};

/// Why a command was not carried out.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The element has not yet returned what it was given; try again.
    NotYet,
    /// The array cannot do it: the reason, and the remedy.
    For(String),
}

impl<E: std::error::Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::For(error.to_string())
    }
}

/// What is known of elements beside what the engine knows.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// Files that were given as spares, in order. The engine takes them from the front.
    spares: Vec<PathBuf>,
}

impl Elements {
    /// Carries out a command on the array.
    ///
    /// # Errors
    /// Why it is not carried out.
    pub(crate) fn obey(&mut self, command: &Command, engine: &mut Engine) -> Result<(), Refusal> {
        match command {
            Command::Fail { element } => Ok(engine.fail(*element)?),
            Command::Replace { element, path, force } => replace(engine, *element, path, *force),
            Command::AddSpare { path, force } => {
                if engine.status().is_read_only {
                    return Err(Refusal::For("the array is read-only: nothing is rebuilt".to_owned()));
                }
                engine.add_spare(take(engine, path, *force)?)?;
                self.spares.push(path.clone());
                Ok(())
            }
            Command::Scrub => {
                if engine.status().is_read_only {
                    return Err(Refusal::For(
                        "the array is read-only: `stripewise check` reads all of it".to_owned(),
                    ));
                }
                engine.scrub();
                Ok(())
            }
            Command::StopScrub => {
                engine.stop_scrub();
                Ok(())
            }
            Command::RebuildRate { bytes_per_second } => {
                engine.set_rate(bytes_per_second.map_or(Rate::Unlimited, Rate::BytesPerSecond));
                Ok(())
            }
            Command::Status | Command::Stop => Ok(()),
        }
    }

    /// The spares that still wait.
    pub(crate) fn spares(&self, engine: &Engine) -> Vec<PathBuf> {
        let waiting = engine.status().spares.min(self.spares.len());
        self.spares[self.spares.len() - waiting..].to_vec()
    }
}

/// Puts what `path` names in the place of `element`: the element itself, if that is what it is, or something else.
fn replace(engine: &mut Engine, element: u16, path: &Path, force: bool) -> Result<(), Refusal> {
    let placed = match superblock(path)?.filter(|block| is_that_element(engine, element, block)) {
        Some(_) => {
            let file = ElementFile::open(path, engine.page_bytes())?;
            engine.rejoin(element, file)
        }
        None => {
            // Before anything of it is touched.
            if engine.failure(element)?.is_none() {
                return Err(Refusal::For(format!(
                    "element {element} is in service; take it out with `stripewise fail` first"
                )));
            }
            let file = take(engine, path, force)?;
            engine.replace(element, file)
        }
    };
    match placed {
        Err(EngineError::InFlight { .. }) => Err(Refusal::NotYet),
        other => Ok(other?),
    }
}

/// Whether a superblock is that of the element that the array misses.
fn is_that_element(engine: &Engine, element: u16, block: &Superblock) -> bool {
    let status = engine.status();
    let known = status.elements.get(usize::from(element)).and_then(|element| element.uuid);
    status.uuid == Some(block.array) && known == Some(block.element)
}

fn superblock(path: &Path) -> Result<Option<Superblock>, Refusal> {
    match FileMedia::superblock(path) {
        Err(error) if matches!(error.trouble, FileTrouble::Missing) => Ok(None),
        other => Ok(other?),
    }
}

/// Opens what is to become an element. A file that is not there is made, as large as the array needs.
fn take(engine: &Engine, path: &Path, force: bool) -> Result<ElementFile, Refusal> {
    let page_bytes = engine.page_bytes();
    if !path.exists() {
        let bytes = u64::from(engine.array().element_pages()) * u64::from(page_bytes);
        return Ok(ElementFile::create(path, bytes, page_bytes)?);
    }
    let holds = inspect(path, force)?;
    // Locked before it is cleared: another engine may have it.
    let file = ElementFile::open(path, page_bytes)?;
    if holds.is_some() {
        clear(path).map_err(|error| Refusal::For(format!("cannot clear `{}`: {error}", path.display())))?;
    }
    Ok(file)
}
