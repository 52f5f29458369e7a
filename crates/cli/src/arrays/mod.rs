//! Arrays of real files and devices: create, find, serve, manage and check them.

pub(crate) mod check;
pub(crate) mod create;
mod detach;
pub(crate) mod dump;
pub(crate) mod events;
pub(crate) mod manage;
mod places;
mod private;
pub(crate) mod replay;
pub(crate) mod scan;
mod search;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod upgrade;
mod watch;

use std::path::PathBuf;

use stripewise_array::cache::CachePolicy;
use stripewise_array::format::Superblock;
use stripewise_array::{Metadata, Persistence, Scheme};
use stripewise_base::text::Visible;
use stripewise_base::units::Bytes;
use stripewise_engine::owner::release_of;
use stripewise_engine::{FileError, FileMedia};
use stripewise_runs::{self as runs, SchemeSpec};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use places::{Hint, Places};

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::failed(error.to_string())
    }
}

/// [`scheme_of`] an argument of the user, with a remark for each former name in it.
fn scheme_named(argument: &str, context: &Context<'_>) -> Outcome<Scheme> {
    let spec = SchemeSpec::parse(argument)?;
    runs::former_names(&spec.document, &spec.settings).iter().for_each(|remark| context.remark(remark));
    scheme_of(argument)
}

/// A scheme as an array of files uses it: with metadata, which assembly needs, and with memory that a loss of power
/// empties.
fn scheme_of(argument: &str) -> Outcome<Scheme> {
    let spec = SchemeSpec::parse(argument)?;
    let mut scheme = runs::scheme(&spec.document, &spec.settings)?;
    scheme.metadata = Metadata::On;
    scheme.placement.buffer_persistence = Persistence::Volatile;
    if scheme.cache.policy != CachePolicy::None {
        scheme.cache.persistence = Persistence::Volatile;
    }
    Ok(scheme)
}

/// The scheme of an array: the one that is named, or the remembered one, or the one of its superblocks (by the
/// settings in them or by the preset that they name).
fn scheme_for(
    named: Option<&str>,
    hint: Option<&Hint>,
    block: &Superblock,
    context: &Context<'_>,
) -> Outcome<Scheme> {
    if let Some(named) = named {
        return scheme_named(named, context);
    }
    let hint = hint.filter(|hint| hint.array == block.array.to_string());
    match hint.map(|hint| Scheme::from_toml(&block.scheme, &hint.scheme)) {
        Some(Ok(scheme)) => return Ok(scheme),
        Some(Err(error)) => context.remark(&format!("the remembered scheme cannot be read: {error}")),
        None => {}
    }
    if !block.settings.is_empty() {
        return Ok(Scheme::from_settings(&block.scheme, &block.settings)?);
    }
    scheme_of(&block.scheme).map_err(|error| {
        error.within("the array names its scheme so; give the one that it was created with as --scheme")
    })
}

/// Records in a new array, or in one that has just got a page for its owner, that this host released it: so this host
/// can serve it at once. If that fails, `serve` waits to see whether another host claims the array.
fn release(places: &Places, media: &FileMedia, block: &Superblock, context: &Context<'_>) {
    let reason = match places.host(block.array) {
        Ok(host) => release_of(media, block, &host).err().map(|error| error.to_string()),
        Err(Failure::Failed(reason) | Failure::Usage(reason)) => Some(reason),
        Err(_) => None,
    };
    if let Some(reason) = reason {
        context
            .remark(&format!("the page of the owner was not written, so the next `serve` waits: {reason}"));
    }
}

/// The files of an array, opened for reading only.
struct Files {
    paths: Vec<PathBuf>,
    media: FileMedia,
    /// The first superblock that was found.
    superblock: Superblock,
    /// The hint for the array, if it was called by its name.
    hint: Option<Hint>,
    /// What else the arguments could have meant.
    remark: Option<String>,
}

impl Files {
    /// Opens the named files: the members of a remembered array, files, or all files of folders in the order of their names.
    fn open(named: &[PathBuf], places: &Places) -> Outcome<Self> {
        let search::Named { paths, hint, remark } = search::named_or_remembered(named, places)?;
        let paths = search::without_replaced(paths);
        let mut superblock = None;
        for path in &paths {
            if let Some(found) = FileMedia::superblock(path)? {
                superblock = Some(found);
                break;
            }
        }
        let array = superblock.as_ref().map(|block: &Superblock| block.array.to_string());
        search::refuse_newer(&paths, array.as_deref())?;
        let Some(superblock) = superblock else {
            let number = paths.len();
            let whose = hint.map_or(String::new(), |hint| format!(" of the remembered array {}", hint.array));
            return Err(Failure::failed(format!(
                "no superblock in {number} files{whose}: they hold no array, or both copies of each are damaged\n  \
                 `stripewise create NAME` makes an array, `stripewise scan` finds arrays"
            )));
        };
        let media = FileMedia::open_to_read(&paths, superblock.page_bytes)?;
        Ok(Self { paths, media, superblock, hint, remark })
    }

    /// A line for each file: its number in the order given, its name and its size.
    fn listed(&self) -> impl Iterator<Item = String> + '_ {
        let sizes = self.media.sizes().map(|bytes| Bytes(bytes).to_string());
        let names = self.paths.iter().map(|path| Visible(path.display()));
        names.zip(sizes).enumerate().map(|(nth, (name, size))| format!("#{nth}: {name}, {size}"))
    }
}
