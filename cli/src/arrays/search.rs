//! Finding the elements of an array: by what is named, by what is remembered, and on all block devices.

use std::fs;
use std::path::{Path, PathBuf};

use stripewise_array::format::Superblock;
use stripewise_engine::FileMedia;

use super::places::{Hint, Places};
use crate::failure::{Failure, Outcome};

/// What is named: files and devices, and all files of folders in the order of their names.
pub(crate) fn expand(named: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in named {
        match path.is_dir() {
            true => paths.extend(files_of(path)?),
            false => paths.push(path.clone()),
        }
    }
    Ok(paths)
}

/// The files of a folder, in the order of their names; those whose names begin with a dot are hidden.
fn files_of(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let fail = |error| Failure::failed(format!("cannot read folder `{}`: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
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

/// What is named, where one argument alone that is no file may be the name of an array that is remembered; and what is
/// remembered of it then.
pub(crate) fn named_or_remembered(
    named: &[PathBuf],
    places: &Places,
) -> Outcome<(Vec<PathBuf>, Option<Hint>)> {
    if let [name] = named
        && !name.exists()
        && let Some(name) = name.to_str().filter(|name| super::places::array_name(name).is_ok())
    {
        let Some(hint) = places.hint(name)? else {
            return Err(Failure::failed(format!(
                "`{name}` is no file, and no array of this name is remembered\n  `stripewise scan` finds arrays"
            )));
        };
        return Ok((elements_of(&hint), Some(hint)));
    }
    Ok((expand(named)?, None))
}

/// Where the elements of an array that is remembered are now: where they were last, and where none is there, wherever a block
/// device has its UUID.
pub(crate) fn elements_of(hint: &Hint) -> Vec<PathBuf> {
    let belongs = |(_, block): &(PathBuf, Superblock)| block.array.to_string() == hint.array;
    let mut found: Vec<_> = superblocks(&hint.paths).filter(belongs).collect();
    let members = found.first().map(|(_, block)| block.members.len());
    if members.is_none_or(|members| found.len() < members) {
        let elsewhere =
            block_devices().into_iter().filter(|path| !hint.paths.contains(path)).collect::<Vec<_>>();
        found.extend(superblocks(&elsewhere).filter(belongs));
    }
    match found.is_empty() {
        // Whoever opens them says what is wrong.
        true => hint.paths.clone(),
        false => found.into_iter().map(|(path, _)| path).collect(),
    }
}

/// `paths` without elements that were replaced: those of which a newer superblock of their array knows nothing any more. They are
/// not the array's, and would be taken for copies.
pub(crate) fn without_replaced(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let found: Vec<(PathBuf, Superblock)> = superblocks(&paths).collect();
    let is_replaced = |path: &PathBuf| {
        let Some((_, own)) = found.iter().find(|(other, _)| other == path) else { return false };
        let of_array = found.iter().map(|(_, block)| block).filter(|block| block.array == own.array);
        let newest = of_array.max_by_key(|block| (block.epoch, block.update));
        newest.is_some_and(|newest| newest.members.iter().all(|member| member.element != own.element))
    };
    paths.iter().filter(|path| !is_replaced(path)).cloned().collect()
}

/// All block devices, and the places where arrays were last.
pub(crate) fn everywhere(places: &Places) -> Outcome<Vec<PathBuf>> {
    let mut paths = block_devices();
    for name in places.names()? {
        paths.extend(places.hint(&name)?.into_iter().flat_map(|hint| hint.paths));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The superblocks of those of `paths` that have one. What cannot be read has none.
pub(crate) fn superblocks(paths: &[PathBuf]) -> impl Iterator<Item = (PathBuf, Superblock)> + '_ {
    paths.iter().filter_map(|path| Some((path.clone(), FileMedia::superblock(path).ok()??)))
}

/// The block devices of this machine that have a size.
fn block_devices() -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let has_size = |entry: &fs::DirEntry| {
        let size = fs::read_to_string(entry.path().join("size")).unwrap_or_default();
        size.trim().parse::<u64>().is_ok_and(|sectors| sectors > 0)
    };
    // A `!` in a name of sysfs stands for the slash of the device's path.
    let device =
        |entry: fs::DirEntry| Path::new("/dev").join(entry.file_name().to_string_lossy().replace('!', "/"));
    let mut devices: Vec<PathBuf> = entries.filter(has_size).map(device).collect();
    devices.sort();
    devices
}
