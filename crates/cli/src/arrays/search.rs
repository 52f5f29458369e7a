//! Finds the members of an array: by the named paths, by the hint, and on all block devices.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use stripewise_array::format::{Superblock, Uuid};
use stripewise_base::text::Visible;
use stripewise_engine::FileMedia;

use super::places::{Hint, Places};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The named files and devices, and all files of named folders in the order of their names.
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

/// The files of a folder, in the order of their names. Files whose names begin with a dot are hidden.
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

/// The paths that arguments name.
pub(crate) struct Named {
    pub(crate) paths: Vec<PathBuf>,
    /// Of a remembered array.
    pub(crate) hint: Option<Hint>,
    /// What else the argument could have meant.
    pub(crate) remark: Option<String>,
}

/// The named paths. A single argument that is the name of a remembered array means that array, also where a file or folder has
/// the same name: then the paths of its members, and its hint.
pub(crate) fn named_or_remembered(named: &[PathBuf], places: &Places) -> Outcome<Named> {
    if let [path] = named
        && let Some(name) = path.to_str().filter(|name| super::places::array_name(name).is_ok())
    {
        match places.hint(name) {
            // The folder of the array: all of its files, so that damage of superblocks hides no member.
            Ok(Some(hint)) if path.is_dir() && hint.paths.iter().all(|member| is_within(member, path)) => {
                return Ok(Named { paths: expand(named)?, hint: Some(hint), remark: None });
            }
            Ok(Some(hint)) => {
                let remark = path.exists().then(|| {
                    format!("this is the remembered array \"{name}\"; for the file or folder of that name, write ./{name}")
                });
                return Ok(Named { paths: members_of(&hint), hint: Some(hint), remark });
            }
            Ok(None) if !path.exists() => {
                return Err(Failure::failed(format!(
                    "`{name}` is no file, and no array of this name is remembered\n  `stripewise scan` finds arrays"
                )));
            }
            Err(error) if !path.exists() => return Err(error),
            // A file or folder.
            Ok(None) | Err(_) => {}
        }
    }
    Ok(Named { paths: expand(named)?, hint: None, remark: None })
}

/// Whether the remembered path `member`, which may be gone, lies in `folder`.
fn is_within(member: &Path, folder: &Path) -> bool {
    let parent = member.parent().and_then(|parent| fs::canonicalize(parent).ok());
    parent.is_some_and(|parent| fs::canonicalize(folder).is_ok_and(|folder| parent == folder))
}

/// The `paths` whose superblock belongs to the array of `block`.
pub(crate) fn of_array(paths: Vec<PathBuf>, block: &Superblock) -> Vec<PathBuf> {
    superblocks(&paths).filter(|(_, its)| its.array == block.array).map(|(path, _)| path).collect()
}

/// Where the members of a remembered array are now: at their last paths, or, if some are absent, wherever a block
/// device has the array's UUID. Each member appears once, under one of its paths.
pub(crate) fn members_of(hint: &Hint) -> Vec<PathBuf> {
    members_and_copies_of(hint).0
}

/// A file or device that is a copy of a member, found beside the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) copy: PathBuf,
    /// The path of the member.
    pub(crate) member: PathBuf,
    /// Its number.
    pub(crate) number: u16,
}

/// [`members_of`], and the copies of members that were found beside them.
pub(crate) fn members_and_copies_of(hint: &Hint) -> (Vec<PathBuf>, Vec<Copied>) {
    let belongs = |(_, block): &(PathBuf, Superblock)| block.array.to_string() == hint.array;
    let mut known = distinct(hint.places().cloned());
    let mut found: Vec<_> = superblocks(&known).filter(belongs).collect();
    if !are_all(&found) {
        let remembered = known.len();
        known = distinct(known.into_iter().chain(block_devices()));
        found.extend(superblocks(&known[remembered..]).filter(belongs));
    }
    match found.is_empty() {
        // Assembly reports the error in the superblocks.
        true => (hint.paths.clone(), Vec::new()),
        false => {
            let (members, copies) = without_copies(found);
            (members.into_iter().map(|(path, _)| path).collect(), copies)
        }
    }
}

/// `found` without copies of members. Of several with one identity the newest is the member. Of equal ones the first
/// is: remembered paths precede found ones, so it is the member's last path.
fn without_copies(found: Vec<(PathBuf, Superblock)>) -> (Vec<(PathBuf, Superblock)>, Vec<Copied>) {
    let mut members: Vec<(PathBuf, Superblock)> = Vec::new();
    let mut copies = Vec::new();
    for (path, block) in found {
        let is_it =
            |(_, other): &&mut (PathBuf, Superblock)| (other.array, other.uuid) == (block.array, block.uuid);
        let Some(known) = members.iter_mut().find(is_it) else {
            members.push((path, block));
            continue;
        };
        let is_newer = (block.epoch, block.update) > (known.1.epoch, known.1.update);
        let number = block.number;
        let copy = if is_newer { std::mem::replace(known, (path, block)).0 } else { path };
        copies.push((copy, number, known.1.uuid));
    }
    let place = |member| members.iter().find(|(_, block)| block.uuid == member).map(|(path, _)| path.clone());
    let copied = |(copy, number, member)| Some(Copied { copy, number, member: place(member)? });
    let copies = copies.into_iter().filter_map(copied).collect();
    (members, copies)
}

/// Whether every member that the newest superblock lists is present. Replaced members do not count.
fn are_all(found: &[(PathBuf, Superblock)]) -> bool {
    let is_there = |member| found.iter().any(|(_, block)| block.uuid == member);
    newest(found.iter().map(|(_, block)| block))
        .is_some_and(|newest| newest.members.iter().all(|record| is_there(record.uuid)))
}

fn newest<'a>(blocks: impl Iterator<Item = &'a Superblock>) -> Option<&'a Superblock> {
    blocks.max_by_key(|block| (block.epoch, block.update))
}

/// The file or device that a path leads to, independent of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// A block device, by its number: it may have several nodes.
    Device(u64),
    /// Any other file, by file system and inode.
    File(u64, u64),
}

impl Identity {
    fn new(is_block_device: bool, device: u64, file: (u64, u64)) -> Self {
        if is_block_device { Self::Device(device) } else { Self::File(file.0, file.1) }
    }

    /// None where the path leads to nothing.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let is_block_device = found.file_type().is_block_device();
        Some(Self::new(is_block_device, found.rdev(), (found.dev(), found.ino())))
    }
}

/// `paths` without those that lead to the file or device of an earlier path: a device has names in /dev, /dev/disk
/// and /dev/mapper.
pub(crate) fn distinct(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    paths.filter(|path| Identity::of(path).is_none_or(|identity| seen.insert(identity))).collect()
}

/// Whether both paths lead to the same file or device.
pub(crate) fn are_same(one: &Path, other: &Path) -> bool {
    one == other || Identity::of(one).is_some_and(|identity| Identity::of(other) == Some(identity))
}

/// `paths` without replaced members, which a newer superblock of their array no longer lists. They do not belong to
/// the array, and would be taken for copies.
pub(crate) fn without_replaced(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let found: Vec<(PathBuf, Superblock)> = superblocks(&paths).collect();
    let is_replaced = |path: &PathBuf| {
        let Some((_, own)) = found.iter().find(|(other, _)| other == path) else { return false };
        let of_array = found.iter().map(|(_, block)| block).filter(|block| block.array == own.array);
        newest(of_array).is_some_and(|newest| newest.members.iter().all(|member| member.uuid != own.uuid))
    };
    paths.iter().filter(|path| !is_replaced(path)).cloned().collect()
}

/// All block devices, and the paths where arrays were last.
pub(crate) fn everywhere(places: &Places, context: &Context<'_>) -> Outcome<Vec<PathBuf>> {
    let mut paths = block_devices();
    for name in places.names()? {
        paths.extend(places.hint_or_remark(&name, context)?.iter().flat_map(Hint::places).cloned());
    }
    paths.sort();
    Ok(distinct(paths.into_iter()))
}

/// The superblocks of the `paths` that have one. A path that cannot be read has none.
pub(crate) fn superblocks(paths: &[PathBuf]) -> impl Iterator<Item = (PathBuf, Superblock)> + '_ {
    paths.iter().filter_map(|path| Some((path.clone(), FileMedia::superblock(path).ok()??)))
}

/// Refuses an array that a newer program wrote. Looks for the first of `paths` with such a superblock, of `array` if
/// one is given.
pub(crate) fn refuse_newer<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, array: Option<&str>) -> Outcome {
    let is_meant = |its: Uuid| array.is_none_or(|array| array == its.to_string());
    for path in paths {
        if let Some((_, error)) = FileMedia::newer_superblock(path).filter(|&(its, _)| is_meant(its)) {
            return Err(Failure::failed(format!("`{}`: {error}", Visible(path.display()))));
        }
    }
    Ok(())
}

/// The block devices of this machine that have a size. Devices that carry other devices are left out: they are busy,
/// and their content is found on the devices built on them.
fn block_devices() -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    // A `!` in a name of sysfs represents the slash in the device's path.
    let device =
        |entry: fs::DirEntry| Path::new("/dev").join(entry.file_name().to_string_lossy().replace('!', "/"));
    let mut devices: Vec<PathBuf> = entries.filter(|entry| is_candidate(&entry.path())).map(device).collect();
    devices.sort();
    devices
}

/// Whether the device that sysfs describes in `folder` has a size and carries no other device.
fn is_candidate(folder: &Path) -> bool {
    let size = fs::read_to_string(folder.join("size")).unwrap_or_default();
    let has_size = size.trim().parse::<u64>().is_ok_and(|sectors| sectors > 0);
    let has_holders = fs::read_dir(folder.join("holders")).is_ok_and(|mut holders| holders.next().is_some());
    has_size && !has_holders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_the_same_by_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        std::os::unix::fs::symlink("a", at("by-id")).unwrap();
        fs::hard_link(at("b"), at("another")).unwrap();
        let paths = ["by-id", "a", "b", "another", "gone", "gone-too"].map(at);
        assert_eq!(distinct(paths.into_iter()), ["by-id", "b", "gone", "gone-too"].map(at));
        // Nodes of one device are separate files; files of one file system are separate too.
        assert_eq!(Identity::new(true, 7, (1, 2)), Identity::new(true, 7, (1, 3)));
        assert_ne!(Identity::new(true, 7, (1, 2)), Identity::new(true, 8, (1, 2)));
        assert_ne!(Identity::new(false, 0, (1, 2)), Identity::new(false, 0, (1, 3)));
    }

    #[test]
    fn devices_that_are_parts_of_others_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let is_candidate_of = |size: &str| {
            fs::write(folder.path().join("size"), size).unwrap();
            is_candidate(folder.path())
        };
        assert!(is_candidate_of("2048\n") && !is_candidate_of("0\n"));
        fs::create_dir(folder.path().join("holders")).unwrap();
        assert!(is_candidate_of("2048\n"));
        fs::write(folder.path().join("holders/dm-0"), "").unwrap();
        assert!(!is_candidate_of("2048\n"));
    }
}
