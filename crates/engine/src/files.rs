//! Members that are files or block devices.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{
    Advice, FallocateFlags, FlockOperation, OFlags, fadvise, fallocate, fcntl_getfl, fcntl_setfl, flock,
    ioctl_blksszget,
};
use rustix::io::{Errno, pread};
use stripewise_array::Memory;

use crate::backend::Pages;
use crate::discards::{Discards, Trims};
use crate::error::{FileError, FileTrouble};
use crate::flushing::writes_through;
use crate::handle::{Handle, Kind, file_system};
use crate::store::Store;

/// A file or block device as a member, locked for this engine.
#[derive(Debug)]
pub struct MemberFile {
    file: Handle,
    path: PathBuf,
    page_bytes: u32,
    pages: u32,
    /// How it handles trims, as far as is known.
    discards: Discards,
    /// The purpose of trims.
    trims: Trims,
    /// Whether it supports direct I/O.
    takes_direct: bool,
    /// Whether it is a device whose queue says that it writes through.
    queue_writes_through: bool,
    /// Whether it is read and written directly, past the page cache.
    is_direct: bool,
    /// The file system that provides its space.
    file_system: Option<u64>,
}

impl MemberFile {
    /// Creates a file that only its user may access, of the whole pages in `bytes`. It reads as zeros, and takes space as
    /// it is written.
    ///
    /// # Errors
    /// When the file exists, when the size has no whole page, and the errors of the operating system. Nothing is left
    /// behind then.
    pub fn create(path: &Path, bytes: u64, page_bytes: u32) -> Result<Self, FileError> {
        let fail = |trouble| FileError { path: path.to_path_buf(), trouble };
        let pages = pages_of(bytes, page_bytes).map_err(fail)?;
        let bytes = u64::from(pages) * u64::from(page_bytes);
        let file = create_private(path).map_err(|error| {
            fail(if error.kind() == io::ErrorKind::AlreadyExists {
                FileTrouble::Exists
            } else {
                error.into()
            })
        })?;
        let made = lock(&file, FlockOperation::NonBlockingLockExclusive)
            .and_then(|()| Ok(file.set_len(bytes)?))
            .and_then(|()| Ok(settle(&file, path)?));
        if let Err(trouble) = made {
            // The first error is the one to report; the file was never used.
            let _ = std::fs::remove_file(path);
            return Err(fail(trouble));
        }
        Ok(Self::over(file, path, page_bytes, pages, Discards::Any))
    }

    /// Creates one file for each path: all of them, or none.
    ///
    /// # Errors
    /// Those of [`MemberFile::create`].
    pub fn create_all(
        paths: &[impl AsRef<Path>],
        bytes: u64,
        page_bytes: u32,
    ) -> Result<Vec<Self>, FileError> {
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            match Self::create(path.as_ref(), bytes, page_bytes) {
                Ok(file) => files.push(file),
                Err(error) => {
                    for file in &files {
                        let _ = std::fs::remove_file(&file.path);
                    }
                    return Err(error);
                }
            }
        }
        Ok(files)
    }

    /// Opens a file or block device and locks it. Bytes after its last whole page are ignored.
    ///
    /// # Errors
    /// When it is missing or in use, when it has no whole page, and the errors of the operating system.
    pub fn open(path: &Path, page_bytes: u32) -> Result<Self, FileError> {
        let fail = |trouble| FileError { path: path.to_path_buf(), trouble };
        let mut file = open_alone(path, page_bytes).map_err(fail)?;
        lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(fail)?;
        // The position of the end and not the metadata, which is zero for a block device.
        let bytes = file.seek(SeekFrom::End(0)).map_err(|error| fail(error.into()))?;
        let pages = pages_of(bytes, page_bytes).map_err(fail)?;
        let discards = Discards::of(&file);
        Ok(Self::over(file, path, page_bytes, pages, discards))
    }

    /// Opens a file or block device read-only, beside other readers. Bytes after its last whole page are ignored.
    ///
    /// # Errors
    /// When it is missing or an engine has it open, when it has no whole page, and the errors of the operating system.
    pub fn open_to_read(path: &Path, page_bytes: u32) -> Result<Self, FileError> {
        let fail = |trouble| FileError { path: path.to_path_buf(), trouble };
        let mut file = File::open(path).map_err(|error| fail(missing_or(error)))?;
        lock(&file, FlockOperation::NonBlockingLockShared).map_err(fail)?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(|error| fail(error.into()))?;
        let pages = pages_of(bytes, page_bytes).map_err(fail)?;
        Ok(Self::over(file, path, page_bytes, pages, Discards::Never))
    }

    /// A member over a file that is open and locked.
    fn over(file: File, path: &Path, page_bytes: u32, pages: u32, discards: Discards) -> Self {
        let takes_direct = takes_direct(&file, page_bytes);
        let queue_writes_through = writes_through(&file);
        let path = path.to_path_buf();
        let file_system = file_system(&file);
        Self {
            file: Handle::new(file),
            file_system,
            path,
            page_bytes,
            pages,
            discards,
            trims: Trims::Zeros,
            takes_direct,
            queue_writes_through,
            is_direct: false,
        }
    }

    /// Opens the members of one array.
    ///
    /// # Errors
    /// Those of [`MemberFile::open`], and when the files differ in size.
    pub fn open_all(paths: &[impl AsRef<Path>], page_bytes: u32) -> Result<Vec<Self>, FileError> {
        let files: Vec<Self> =
            paths.iter().map(|path| Self::open(path.as_ref(), page_bytes)).collect::<Result<_, _>>()?;
        if let Some(other) = files.iter().find(|file| file.pages != files[0].pages) {
            let trouble = FileTrouble::Unequal {
                bytes: other.bytes(),
                first: files[0].path.clone(),
                first_bytes: files[0].bytes(),
            };
            return Err(FileError { path: other.path.clone(), trouble });
        }
        Ok(files)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in whole pages.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pages) * u64::from(self.page_bytes)
    }

    /// How it handles trims, as far as is known.
    pub(crate) fn discards(&self) -> Discards {
        self.discards
    }

    /// Sets the purpose of trims. Blocking calls can only punch holes: of a log, pages that cannot become a hole are
    /// left alone.
    pub(crate) fn trim_for(&mut self, trims: Trims) {
        self.trims = trims;
    }

    /// What an operation on it may wait for.
    pub(crate) fn kind(&self) -> Kind {
        self.file.kind()
    }

    /// The file system that provides its space, if there is one.
    pub(crate) fn file_system(&self) -> Option<u64> {
        self.file_system
    }

    /// Enables direct I/O where the file system supports it; buffers must then be aligned like those of [`Pages`]. A
    /// file in memory is read and written in the calling thread: the kernel treats its files as ones that never block.
    /// Any other file is closed by another thread.
    ///
    /// It does no I/O: members are added while the array serves.
    pub(crate) fn serve(&mut self) {
        self.close_aside();
        let Ok(before) = fcntl_getfl(&*self.file) else { return };
        let direct = if self.takes_direct { OFlags::DIRECT } else { OFlags::empty() };
        let at_once = if self.kind() == Kind::Memory { OFlags::NONBLOCK } else { OFlags::empty() };
        let is_set = fcntl_setfl(&*self.file, before | direct | at_once).is_ok();
        self.is_direct = is_set && self.takes_direct;
    }

    /// Undoes [`Self::serve`].
    pub(crate) fn serve_no_more(&mut self) {
        self.file.close_aside(false);
        self.is_direct = false;
        if let Ok(flags) = fcntl_getfl(&*self.file) {
            let _ = fcntl_setfl(&*self.file, flags - OFlags::DIRECT - OFlags::NONBLOCK);
        }
    }

    /// Closes the file in another thread when it is dropped. Closing may wait indefinitely for a member that does not
    /// answer.
    pub fn close_aside(&mut self) {
        self.file.close_aside(true);
    }

    /// Drops the file's content from the page cache, where it would only take room from now on. It may wait for the
    /// device.
    pub fn forget_cache(&self) {
        let _ = fadvise(&*self.file, 0, None, Advice::DontNeed);
    }

    fn offset(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.page_bytes)
    }
}

impl AsFd for MemberFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Store for MemberFile {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn read(&mut self, page: u32, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, self.offset(page))
    }

    fn write(&mut self, page: u32, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, self.offset(page))
    }

    fn trim(&mut self, page: u32) -> io::Result<()> {
        if self.discards.makes_zeros() {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&*self.file, flags, self.offset(page), u64::from(self.page_bytes)) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.discards = Discards::Never,
                other => return Ok(other?),
            }
        }
        match self.trims {
            Trims::Zeros => self.write(page, &vec![0; self.page_bytes as usize]),
            Trims::Advice => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn writes_through(&self) -> bool {
        match self.kind() {
            Kind::Memory => true,
            Kind::Device => self.is_direct && self.queue_writes_through,
            Kind::Other => false,
        }
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// Creates a file for the data of hosts. From its creation on only its user may read and write it.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// The whole pages of a file or device: partitions and images may end within a page. At least one, and fewer than 2^32.
fn pages_of(bytes: u64, page_bytes: u32) -> Result<u32, FileTrouble> {
    let whole = bytes.checked_div(page_bytes.into()).unwrap_or(0);
    let pages = u32::try_from(whole).ok().filter(|&pages| pages > 0);
    pages.ok_or(FileTrouble::Size { bytes, page_bytes })
}

/// Opens a file, or a block device that is not in use and has blocks no larger than pages.
fn open_alone(path: &Path, page_bytes: u32) -> Result<File, FileTrouble> {
    let is_device = std::fs::metadata(path).map_err(missing_or)?.file_type().is_block_device();
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if is_device {
        // On a block device the kernel reads `O_EXCL` as exclusive use: it fails if, for example, a mounted file system
        // has the device.
        options.custom_flags(OFlags::EXCL.bits().cast_signed());
    }
    let until = Instant::now() + LOCKED_TIME;
    let file = loop {
        match options.open(path) {
            // A device that has left the array is closed by another thread, a little later.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {
                if Instant::now() >= until {
                    return Err(FileTrouble::Busy);
                }
                thread::sleep(Duration::from_millis(2));
            }
            result => break result.map_err(missing_or)?,
        }
    };
    // The earlier type of the path decided how it was opened.
    if file.metadata()?.file_type().is_block_device() != is_device {
        return Err(io::Error::other("it became something else while it was opened; try again").into());
    }
    if is_device {
        let block_bytes = ioctl_blksszget(&file).map_err(io::Error::from)?;
        if block_bytes > page_bytes {
            return Err(FileTrouble::Blocks { block_bytes, page_bytes });
        }
    }
    Ok(file)
}

/// Whether the file supports direct I/O with pages of this size. Reading the first page shows it.
fn takes_direct(file: &File, page_bytes: u32) -> bool {
    let Ok(before) = fcntl_getfl(file) else { return false };
    if fcntl_setfl(file, before | OFlags::DIRECT).is_err() {
        return false;
    }
    let mut pages = Pages::new(page_bytes);
    let page = pages.take();
    let is_read = pread(file, pages.page_mut(page), 0).is_ok();
    // Sets the flags again that the file had before.
    let _ = fcntl_setfl(file, before);
    is_read
}

/// The reason why a file could not be opened.
fn missing_or(error: io::Error) -> FileTrouble {
    if error.kind() == io::ErrorKind::NotFound { FileTrouble::Missing } else { error.into() }
}

/// How long a lock may stay before it is an error. After an engine is killed, the kernel keeps its files until all its
/// I/O has ended, a little later than the process itself. Until then no other program may write.
const LOCKED_TIME: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(2) };

/// Locks the file for this engine, or for readers. The lock ends with the last handle, however the program ends.
fn lock(file: &File, how: FlockOperation) -> Result<(), FileTrouble> {
    let until = Instant::now() + LOCKED_TIME;
    loop {
        match try_lock(file, how) {
            Err(FileTrouble::Locked) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
            result => return result,
        }
    }
}

fn try_lock(file: &File, how: FlockOperation) -> Result<(), FileTrouble> {
    match flock(file, how) {
        Err(Errno::WOULDBLOCK) => Err(FileTrouble::Locked),
        other => Ok(other.map_err(io::Error::from)?),
    }
}

/// Makes the size and the name of a new file durable.
fn settle(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn trouble(result: Result<impl Sized, FileError>) -> FileTrouble {
        result.err().expect("this must be refused").trouble
    }

    #[test]
    fn a_new_file_is_its_users_alone_reads_as_zeros_and_keeps_written_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        let mut file = MemberFile::create(&path, 4 * 4096, 4096).unwrap();
        let mut page = [1; 4096];
        file.read(3, &mut page).unwrap();
        assert_eq!(page, [0; 4096]);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        file.write(2, &[7; 4096]).unwrap();
        file.flush().unwrap();
        drop(file);
        let mut file = MemberFile::open(&path, 4096).unwrap();
        file.read(2, &mut page).unwrap();
        assert_eq!((page, file.pages()), ([7; 4096], 4));
    }

    #[test]
    fn a_trimmed_page_reads_as_zeros_and_gives_its_space_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        let mut file = MemberFile::create(&path, 4 * 4096, 4096).unwrap();
        for page in 0..4 {
            file.write(page, &[9; 4096]).unwrap();
        }
        file.flush().unwrap();
        let before = std::fs::metadata(&path).unwrap().blocks();
        file.trim(1).unwrap();
        file.flush().unwrap();
        let mut page = [1; 4096];
        file.read(1, &mut page).unwrap();
        assert_eq!(page, [0; 4096]);
        file.read(2, &mut page).unwrap();
        assert_eq!(page, [9; 4096], "its neighbour stays");
        let metadata = std::fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), 4 * 4096, "the file keeps its size");
        if file.discards != Discards::Never {
            assert_eq!(before - metadata.blocks(), 8, "4096 bytes in blocks of 512");
        }
    }

    #[test]
    fn where_no_holes_can_be_made_zeros_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = MemberFile::create(&folder.path().join("member"), 2 * 4096, 4096).unwrap();
        file.discards = Discards::Never;
        file.write(0, &[9; 4096]).unwrap();
        file.trim(0).unwrap();
        let mut page = [1; 4096];
        file.read(0, &mut page).unwrap();
        assert_eq!(page, [0; 4096]);
    }

    #[test]
    fn of_a_log_what_cannot_become_a_hole_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = MemberFile::create(&folder.path().join("member"), 2 * 4096, 4096).unwrap();
        file.trim_for(Trims::Advice);
        file.write(0, &[9; 4096]).unwrap();
        let pieces = Discards::Granules { bytes: 4096, first: 0, most: 4096, makes_zeros: false };
        for discards in [Discards::Never, pieces] {
            file.discards = discards;
            file.trim(0).unwrap();
            let mut page = [1; 4096];
            file.read(0, &mut page).unwrap();
            assert_eq!(page, [9; 4096], "{discards:?}");
        }
    }

    #[test]
    fn a_file_belongs_to_one_engine_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        let file = MemberFile::create(&path, 4096, 4096).unwrap();
        assert!(matches!(trouble(MemberFile::open(&path, 4096)), FileTrouble::Locked));
        drop(file);
        assert!(MemberFile::open(&path, 4096).is_ok());
        assert!(matches!(trouble(MemberFile::open_all(&[&path, &path], 4096)), FileTrouble::Locked));
    }

    #[test]
    fn readers_share_a_file_but_not_with_an_engine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("member");
        std::fs::write(&path, [7; 5000]).unwrap();
        let mut reader = MemberFile::open_to_read(&path, 4096).unwrap();
        let other = MemberFile::open_to_read(&path, 512).unwrap();
        assert_eq!((reader.pages(), other.pages()), (1, 9), "pages that are whole");
        assert!(matches!(trouble(MemberFile::open(&path, 1000)), FileTrouble::Locked));
        assert!(reader.write(0, &[1; 4096]).is_err(), "a reader writes nothing");
        drop((reader, other));
        let engine = MemberFile::open(&path, 1000).unwrap();
        assert!(matches!(trouble(MemberFile::open_to_read(&path, 4096)), FileTrouble::Locked));
        drop(engine);
        assert!(matches!(
            trouble(MemberFile::open_to_read(&path, 8192)),
            FileTrouble::Size { bytes: 5000, .. }
        ));
    }

    #[test]
    fn a_missing_file_an_existing_one_and_a_wrong_size_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(matches!(trouble(MemberFile::open(&path("none"), 4096)), FileTrouble::Missing));
        std::fs::write(path("short"), [0; 4095]).unwrap();
        std::fs::write(path("empty"), []).unwrap();
        assert!(matches!(
            trouble(MemberFile::open(&path("short"), 4096)),
            FileTrouble::Size { bytes: 4095, page_bytes: 4096 }
        ));
        assert!(matches!(trouble(MemberFile::open(&path("empty"), 4096)), FileTrouble::Size { .. }));
        assert!(matches!(trouble(MemberFile::create(&path("short"), 4096, 4096)), FileTrouble::Exists));
        assert!(matches!(trouble(MemberFile::create(&path("new"), 1 << 50, 512)), FileTrouble::Size { .. }));
        assert!(matches!(trouble(MemberFile::create(&path("new"), 511, 512)), FileTrouble::Size { .. }));
        assert!(!path("new").exists());
    }

    #[test]
    fn a_size_that_is_no_multiple_of_the_page_is_rounded_down() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("odd"), [7; 2 * 4096 + 512]).unwrap();
        let mut file = MemberFile::open(&path("odd"), 4096).unwrap();
        assert_eq!((file.pages(), file.bytes()), (2, 2 * 4096));
        file.write(1, &[9; 4096]).unwrap();
        assert!(file.read(2, &mut [0; 4096]).is_err(), "no part of a page is a page");
        drop(file);
        let content = std::fs::read(path("odd")).unwrap();
        assert_eq!((content.len(), content[4096], content[2 * 4096]), (2 * 4096 + 512, 9, 7));
        let file = MemberFile::create(&path("new"), 3 * 4096 + 1, 4096).unwrap();
        assert_eq!((file.pages(), std::fs::metadata(path("new")).unwrap().len()), (3, 3 * 4096));
        std::fs::write(path("other"), [0; 2 * 4096 + 1024]).unwrap();
        let both = MemberFile::open_all(&[path("odd"), path("other")], 4096).unwrap();
        assert!(both.iter().all(|file| file.pages() == 2), "they are equally large in whole pages");
    }

    #[test]
    fn files_of_different_sizes_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b"].iter().map(|name| folder.path().join(name)).collect();
        std::fs::write(&paths[0], [0; 4096]).unwrap();
        std::fs::write(&paths[1], [0; 8192]).unwrap();
        let text = MemberFile::open_all(&paths, 4096).err().unwrap().to_string();
        assert!(text.contains("/b`: has 8192 bytes, but"), "{text}");
        assert!(text.contains("/a` has 4096;"), "{text}");
    }

    #[test]
    fn a_set_is_created_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| folder.path().join(name)).collect();
        std::fs::write(&paths[2], [1]).unwrap();
        assert!(matches!(trouble(MemberFile::create_all(&paths, 4096, 4096)), FileTrouble::Exists));
        assert!(!paths[0].exists() && !paths[1].exists());
        assert_eq!(std::fs::read(&paths[2]).unwrap(), [1], "what was there before stays");
    }
}
