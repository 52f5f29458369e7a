//! Arrays that are made of files: created, looked at, checked.

pub(crate) mod check;
pub(crate) mod create;
pub(crate) mod dump;

use std::path::{Path, PathBuf};

use stripewise_array::cache::CachePolicy;
use stripewise_array::format::Superblock;
use stripewise_array::placement::Persistence;
use stripewise_array::{Metadata, Scheme};
use stripewise_base::units::Bytes;
use stripewise_engine::{FileError, FileMedia};
use stripewise_study::{self as study, SchemeSpec};

use crate::failure::{Failure, Outcome};

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::failed(error.to_string())
    }
}

/// A scheme as an array of files has it: with metadata, without which nothing could be found again, and with memory that a loss
/// of power empties.
fn scheme_of(argument: &str) -> Outcome<Scheme> {
    let spec = SchemeSpec::parse(argument)?;
    let mut scheme = study::scheme(&spec.document, &spec.settings)?;
    scheme.metadata = Metadata::On;
    scheme.placement.buffer_persistence = Persistence::Volatile;
    if scheme.cache.policy != CachePolicy::None {
        scheme.cache.persistence = Persistence::Volatile;
    }
    Ok(scheme)
}

/// The files of an array, to be read alone.
struct Files {
    paths: Vec<PathBuf>,
    media: FileMedia,
    /// The first superblock that was found.
    superblock: Superblock,
}

impl Files {
    /// Opens what is named: files, and all files of folders in the order of their names.
    fn open(named: &[PathBuf]) -> Outcome<Self> {
        let mut paths = Vec::new();
        for path in named {
            match path.is_dir() {
                true => paths.extend(files_of(path)?),
                false => paths.push(path.clone()),
            }
        }
        let mut superblock = None;
        for path in &paths {
            if let Some(found) = FileMedia::superblock(path)? {
                superblock = Some(found);
                break;
            }
        }
        let Some(superblock) = superblock else {
            let number = paths.len();
            return Err(Failure::failed(format!(
                "no superblock in {number} files: they hold no array, or both copies of each are damaged\n  \
                 `stripewise create --files DIR` makes an array"
            )));
        };
        let media = FileMedia::open_to_read(&paths, superblock.page_bytes)?;
        Ok(Self { paths, media, superblock })
    }

    /// A line for each file: its number as an element that is offered, its name and size.
    fn listed(&self) -> impl Iterator<Item = String> + '_ {
        let sizes = self.media.sizes().map(|bytes| Bytes(bytes).to_string());
        let names = self.paths.iter().map(|path| path.display());
        names.zip(sizes).enumerate().map(|(nth, (name, size))| format!("#{nth}: {name}, {size}"))
    }
}

/// The files of a folder, in the order of their names; those whose names begin with a dot are hidden.
fn files_of(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let fail = |error| Failure::failed(format!("cannot read folder `{}`: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Failure::failed(format!("folder `{}` has no files", folder.display()))),
        false => Ok(files),
    }
}
