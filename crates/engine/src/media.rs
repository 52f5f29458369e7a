//! Files as the members of an array that is created, assembled or inspected.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use stripewise_array::format::{Copy, FormatError, SUPERBLOCK_BYTES, Superblock, Uuid, superblock_pages};
use stripewise_array::{At, Found, Media, MemberNo, Members, OperationId, OperationKind, Outcome};

use crate::discards::Trims;
use crate::engine::capabilities;
use crate::error::{FileError, FileTrouble};
use crate::files::MemberFile;
use crate::recording::Recording;
use crate::store::{Store, outcome_of};

/// Page sizes of the format.
const PAGE_SIZES: [u64; 7] = [512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

/// Files, one for each member, in the order in which they were named.
#[derive(Debug)]
pub struct FileMedia {
    files: Vec<MemberFile>,
    page_bytes: u32,
    page: Vec<u8>,
    recording: Option<Recording>,
}

/// The identifier of operations on media: a member has one at a time.
const ONE: OperationId = OperationId::new(0);

/// The metadata of a file that may return to its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returning {
    /// One of its superblocks.
    pub superblock: Superblock,
    /// The copies at both ends, where they are valid.
    pub copies: [Option<Superblock>; 2],
}

impl FileMedia {
    /// Files over which an array can be created or assembled.
    pub fn new(files: Vec<MemberFile>, page_bytes: u32) -> Self {
        Self { files, page_bytes, page: vec![0; page_bytes as usize], recording: None }
    }

    /// Records in `folder` the writes of members, from the assembly on, one file a member. Each
    /// file has the name of its member, and is appended to if it exists. For tests, which remove writes that no flush covered.
    /// The process ends when a record cannot be written later.
    ///
    /// # Errors
    /// The system's error for the folder or a file in it.
    pub fn record(&mut self, folder: &Path) -> io::Result<()> {
        let paths = self.files.iter().map(MemberFile::path);
        self.recording = Some(Recording::new(folder, paths, self.page_bytes)?);
        Ok(())
    }

    /// The recording that [`Self::record`] began.
    pub(crate) fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Opens files to read and write them, each locked for this program alone.
    ///
    /// # Errors
    /// Those of [`MemberFile::open`].
    pub fn open(paths: &[impl AsRef<Path>], page_bytes: u32) -> Result<Self, FileError> {
        Self::each(paths, page_bytes, MemberFile::open)
    }

    /// Opens files read-only.
    ///
    /// # Errors
    /// Those of [`MemberFile::open_to_read`].
    pub fn open_to_read(paths: &[impl AsRef<Path>], page_bytes: u32) -> Result<Self, FileError> {
        Self::each(paths, page_bytes, MemberFile::open_to_read)
    }

    fn each(
        paths: &[impl AsRef<Path>],
        page_bytes: u32,
        open: impl Fn(&Path, u32) -> Result<MemberFile, FileError>,
    ) -> Result<Self, FileError> {
        let files: Result<_, _> = paths.iter().map(|path| open(path.as_ref(), page_bytes)).collect();
        Ok(Self::new(files?, page_bytes))
    }

    /// A superblock of a file: the front copy or the back copy. Only a superblock reveals the page size, whatever
    /// scheme the caller names. None if the file has none.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn superblock(path: &Path) -> Result<Option<Superblock>, FileError> {
        let fail = |error: io::Error| {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let trouble = if is_missing { FileTrouble::Missing } else { error.into() };
            FileError { path: PathBuf::from(path), trouble }
        };
        let file = File::open(path).map_err(fail)?;
        superblock_in(&file).map_err(fail)
    }

    /// The array and the reason, if a file has a superblock that only a newer program reads. None if this program reads
    /// it, if there is none, and if the file cannot be read.
    pub fn newer_superblock(path: &Path) -> Option<(Uuid, FormatError)> {
        let newer = |content: &[u8]| {
            let error = Superblock::parse(content).err().filter(FormatError::is_newer)?;
            // The array's identifier is here in every version of the format.
            let array = content[16..32].try_into().ok()?;
            Some((Uuid(array), error))
        };
        find_superblock(&File::open(path).ok()?, newer).ok()?
    }

    /// As [`Self::superblock`], of an open file; its path may lead elsewhere by now.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn superblock_in(file: &MemberFile) -> Result<Option<Superblock>, FileError> {
        let found = file.as_fd().try_clone_to_owned().and_then(|file| superblock_in(&file.into()));
        found.map_err(|error| FileError { path: file.path().into(), trouble: error.into() })
    }

    /// The metadata of a file that may return to its array. None if it has no superblock.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn returning(file: &MemberFile) -> Result<Option<Returning>, FileError> {
        let Some(superblock) = Self::superblock_in(file)? else { return Ok(None) };
        let fail = |error: io::Error| FileError { path: file.path().into(), trouble: error.into() };
        let handle: File = file.as_fd().try_clone_to_owned().map_err(fail)?.into();
        let copies = superblocks_of(&handle, superblock.page_bytes, superblock.own_bytes).map_err(fail)?;
        Ok(Some(Returning { superblock, copies }))
    }

    /// The newest superblock of all files, which describes the array. None if there is none.
    pub fn newest_superblock(&self) -> Option<Superblock> {
        // An unreadable superblock counts as none; the assembly reports the error.
        let of = |file: &MemberFile| Self::superblock_in(file).ok().flatten();
        self.files.iter().filter_map(of).max_by_key(|block| block.update)
    }

    /// Whether trims for this purpose are useful on all files, as far as is known. If they are useless on one file, the
    /// others are not trimmed either: trimmed pages in place must read as zeros on all members, and writing zeros gains
    /// nothing.
    pub(crate) fn takes_discards(&self, trims: Trims) -> bool {
        self.files.iter().all(|file| file.discards().serves(trims))
    }

    /// The files as members, all as large as the smallest.
    pub fn members(&self) -> Members {
        let pages = self.files.iter().map(Store::pages).min().unwrap_or(0);
        capabilities(self.files.len(), pages, self.page_bytes)
    }

    /// Bytes of each file in whole pages.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.files.iter().map(MemberFile::bytes)
    }

    /// A handle of each file, and its number of pages. None where the system provides no handle.
    pub(crate) fn handles(&self) -> Vec<Option<(OwnedFd, u32)>> {
        let of = |file: &MemberFile| Some((file.as_fd().try_clone_to_owned().ok()?, file.pages()));
        self.files.iter().map(of).collect()
    }

    /// Executes a write, a trim or a flush on a file.
    fn change(
        &mut self,
        member: u16,
        what: (OperationKind, u32),
        content: &[u8],
        act: impl FnOnce(&mut MemberFile) -> io::Result<()>,
    ) -> Outcome {
        // Until the array is assembled, a recording numbers the members as they are offered.
        let recorded = MemberNo::new(member);
        if let Some(recording) = &mut self.recording {
            recording.begins(recorded, ONE, what, content);
        }
        let result = act(&mut self.files[usize::from(member)]);
        if let Some(recording) = self.recording.as_mut().filter(|_| result.is_ok()) {
            recording.succeeded(recorded, ONE, what.0);
        }
        outcome(result)
    }

    /// Returns the files, in the same order.
    pub fn into_files(self) -> Vec<MemberFile> {
        self.files
    }
}

/// The superblocks of `file`, front and back, with pages of `page_bytes`. None for a missing or damaged copy. They are
/// read past the page cache, which can hide damage on a device.
///
/// The back copy is at the end. If the file grew since a back copy was written, that copy is where the end was: after
/// the bytes that the front copy records or, if the front copy is damaged, after `own_bytes`.
///
/// # Errors
/// When the end of the file cannot be determined.
pub fn superblocks_of(
    mut file: &File,
    page_bytes: u32,
    own_bytes: u64,
) -> io::Result<[Option<Superblock>; 2]> {
    let page = u64::from(page_bytes);
    let (bytes, span) =
        (file.seek(SeekFrom::End(0))? / page * page, u64::from(superblock_pages(page_bytes)) * page);
    let copy_at = |at: u64, which: Copy| {
        let mut content = [0; SUPERBLOCK_BYTES];
        let _ = fadvise(file, at, NonZeroU64::new(SUPERBLOCK_BYTES as u64), Advice::DontNeed);
        file.read_exact_at(&mut content, at).ok()?;
        Superblock::parse(&content).ok().filter(|_| Copy::of(&content) == Some(which))
    };
    let back_before = |end: u64| end.checked_sub(span).and_then(|at| copy_at(at, Copy::Back));
    let front = copy_at(0, Copy::Front);
    let own = front.as_ref().map_or(own_bytes, |front| front.own_bytes);
    let is_grown = (2 * span..bytes).contains(&own) && own.is_multiple_of(page);
    let backs = [back_before(bytes), is_grown.then(|| back_before(own)).flatten()];
    Ok([front, backs.into_iter().flatten().max_by_key(|back| back.update)])
}

/// A valid superblock of a file, at either end.
fn superblock_in(file: &File) -> io::Result<Option<Superblock>> {
    find_superblock(file, |content| Superblock::parse(content).ok())
}

/// Calls `of` for the content of each place where a superblock may be, and returns the first result that is not none.
fn find_superblock<T>(mut file: &File, of: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let bytes = file.seek(SeekFrom::End(0))?;
    // The back copy occupies whole pages, the last ones.
    let back = |page: u64| (bytes - bytes % page).checked_sub(page.max(SUPERBLOCK_BYTES as u64));
    let places = [Some(0)].into_iter().chain(PAGE_SIZES.map(back)).flatten();
    for at in places.filter(|at| at + SUPERBLOCK_BYTES as u64 <= bytes) {
        let mut content = [0; SUPERBLOCK_BYTES];
        // An unreadable superblock counts as none; there may be another copy.
        if file.read_exact_at(&mut content, at).is_ok()
            && let Some(found) = of(&content)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn outcome(result: io::Result<()>) -> Outcome {
    result.map_or_else(|error| outcome_of(&error), |()| Outcome::Done)
}

impl Media for FileMedia {
    fn count(&self) -> u16 {
        self.files.len() as u16
    }

    fn size(&self, member: u16) -> (u32, u32) {
        (self.files[usize::from(member)].pages(), self.page_bytes)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate() {
            match self.files[usize::from(at.member)].read(at.page, &mut self.page) {
                Ok(()) => found(nth, Ok(&self.page)),
                Err(error) => found(nth, Err(outcome_of(&error))),
            }
        }
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        let write = |(at, page): (&At, &&[u8])| {
            let what = (OperationKind::Write, at.page);
            self.change(at.member, what, page, |file| file.write(at.page, page))
        };
        at.iter().zip(pages).map(write).collect()
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        let flush = |&member| self.change(member, (OperationKind::Flush, 0), &[], Store::flush);
        members.iter().map(flush).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_array::format::{Area, Features, MemberRecord, Placement, VERSION};
    use stripewise_array::geometry::{Level, Membership, Rotation};

    /// The superblock of an array of one member.
    fn block(page_bytes: u32, pages: u32) -> Superblock {
        let member = MemberRecord::active(Uuid([1; 16]));
        Superblock {
            array: Uuid([2; 16]),
            uuid: member.uuid,
            number: 0,
            version: VERSION,
            features: Features::default(),
            update: 1,
            epoch: 0,
            horizon: 0,
            is_clean: false,
            placement: Placement::InPlace,
            page_bytes,
            pages,
            level: Level::Raid0,
            code: None,
            groups: 1,
            members_of_group: 1,
            membership: Membership::Contiguous,
            rotation: Rotation::None,
            chunk_pages: 1,
            segment_rows: 1,
            capacity: 1,
            checkpoint: Area::default(),
            commits: Area::default(),
            data: Area { first: superblock_pages(page_bytes), pages: 1 },
            journal: Area::default(),
            table: Area::default(),
            bitmap: Area::default(),
            bitmap_pages: 0,
            owner: Area::default(),
            serving: 0,
            predecessor: 0,
            own_bytes: 0,
            verified_to: 0,
            scrub_cursor: 0,
            ended: vec![],
            name: "pool".into(),
            scheme: "stripes".into(),
            settings: String::new(),
            members: vec![member],
        }
    }

    #[test]
    fn pages_that_are_written_are_read_and_those_beyond_the_end_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let files = MemberFile::create_all(&paths, 8 << 10, 512).unwrap();
        let mut media = FileMedia::new(files, 512);
        assert_eq!((media.count(), media.size(1)), (2, (16, 512)));
        let at = |member, page| At { member, page };
        let written = media.write(&[at(0, 3), at(1, 15), at(1, 0)], &[&[3; 512], &[15; 512], &[1; 512]]);
        assert_eq!(written, [Outcome::Done; 3]);
        assert_eq!(media.flush(&[1, 0]), [Outcome::Done; 2]);
        drop(media);
        let mut media = FileMedia::open_to_read(&paths, 512).unwrap();
        let mut found = Vec::new();
        media.read(&[at(1, 15), at(0, 3), at(0, 4), at(0, 16)], &mut |nth, page| {
            found.push((nth, page.map(|page| page[511])));
        });
        assert_eq!(found, [(0, Ok(15)), (1, Ok(3)), (2, Ok(0)), (3, Err(Outcome::Corrupt))]);
        assert_eq!(media.write(&[at(0, 3)], &[&[4; 512]]), [Outcome::Gone], "it was opened to be read");
    }

    /// For every page size, and a file that is a little longer than whole pages.
    #[test]
    fn the_back_superblock_is_found_without_the_front_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        for page_bytes in PAGE_SIZES.map(|bytes| bytes as u32) {
            let pages = 2 * superblock_pages(page_bytes) + 11;
            let mut bytes = vec![0; pages as usize * page_bytes as usize];
            let back = bytes.len() - (superblock_pages(page_bytes) * page_bytes) as usize;
            let block = block(page_bytes, pages);
            block.encode(Copy::Back, &mut bytes[back..]);
            bytes.extend([0; 100]);
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(FileMedia::superblock(&path).unwrap(), Some(block), "{page_bytes}");
        }
        std::fs::write(&path, [0; 20_000]).unwrap();
        assert_eq!(FileMedia::superblock(&path).unwrap(), None);
        std::fs::write(&path, [0; 20]).unwrap();
        assert_eq!(FileMedia::superblock(&path).unwrap(), None);
        let missing = FileMedia::superblock(&folder.path().join("none")).expect_err("there is none");
        assert!(matches!(missing.trouble, FileTrouble::Missing));
    }
}
