//! The owner page on one member.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Advice, OFlags, fadvise};
use stripewise_array::format::{Owner, Superblock, Uuid};

use super::{Claiming, Host};
use crate::media::FileMedia;
use crate::uuid::random_uuid;

/// The strictest memory alignment that direct I/O requires.
const ALIGNMENT: usize = 4096;

/// The owner page of a member, through a separate handle. It bypasses the page cache of this host, which does not show
/// the writes of another host.
#[derive(Debug)]
pub(super) struct OwnerPage {
    file: File,
    array: Uuid,
    offset: u64,
    memory: Vec<u8>,
    page_bytes: usize,
}

impl OwnerPage {
    /// Page `page` of the member behind `handle`.
    pub(super) fn new(handle: OwnedFd, array: Uuid, page: u32, page_bytes: u32) -> Self {
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let open = |flags: OFlags| {
            let flags = flags.bits().cast_signed();
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path)
        };
        let mut place = Self {
            file: File::from(handle),
            array,
            offset: u64::from(page) * u64::from(page_bytes),
            memory: vec![0; page_bytes as usize + ALIGNMENT],
            page_bytes: page_bytes as usize,
        };
        // Not every file system supports direct I/O. Hosts do not share such a file system unless it is configured to
        // be shared.
        for flags in [OFlags::DIRECT | OFlags::DSYNC, OFlags::DSYNC] {
            if let Ok(file) = open(flags) {
                let before = std::mem::replace(&mut place.file, file);
                if place.load().is_ok() {
                    break;
                }
                place.file = before;
            }
        }
        place
    }

    /// The owner pages of all files of `media` that have one, each with the index of its file.
    pub(super) fn all(media: &FileMedia, block: &Superblock) -> Vec<(usize, Self)> {
        let of = |(nth, (handle, pages)): (usize, (OwnedFd, u32))| {
            let page = block.owner_page(pages)?;
            Some((nth, Self::new(handle, block.array, page, block.page_bytes)))
        };
        media.handles().into_iter().enumerate().filter_map(|(nth, handle)| of((nth, handle?))).collect()
    }

    fn page(&mut self) -> &mut [u8] {
        let first = self.memory.as_ptr().align_offset(ALIGNMENT);
        &mut self.memory[first..first + self.page_bytes]
    }

    fn load(&mut self) -> io::Result<()> {
        let (file, offset) = (self.file.try_clone()?, self.offset);
        let _ = fadvise(&file, offset, std::num::NonZeroU64::new(self.page_bytes as u64), Advice::DontNeed);
        file.read_exact_at(self.page(), offset)
    }

    /// The owner that the page names. None if the page is damaged or belongs to another array.
    pub(super) fn read(&mut self) -> io::Result<Option<Owner>> {
        self.load()?;
        let array = self.array;
        Ok(Owner::parse(self.page()).ok().filter(|owner| owner.array == array))
    }

    /// Writes the page and makes it durable.
    pub(super) fn write(&mut self, owner: &Owner) -> io::Result<()> {
        owner.encode(self.page());
        let (file, offset) = (self.file.try_clone()?, self.offset);
        file.write_all_at(self.page(), offset)?;
        file.sync_data()
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_secs())
}

/// The owner of the array that `block` describes, read from the member at `path`. None if the member has no page, or a
/// damaged one.
pub fn owner_of(path: &Path, block: &Superblock) -> Option<Owner> {
    let file = File::open(path).ok()?;
    let bytes = io::Seek::seek(&mut &file, io::SeekFrom::End(0)).ok()?;
    let page_bytes = u64::from(block.page_bytes);
    let page = block.owner_page(u32::try_from(bytes / page_bytes).ok()?)?;
    let mut content = vec![0; block.page_bytes as usize];
    file.read_exact_at(&mut content, u64::from(page) * page_bytes).ok()?;
    Owner::parse(&content).ok().filter(|owner| owner.array == block.array)
}

/// Writes a released page of `host` to all of `media`, after `host` has created or upgraded the array: it can then
/// serve the array at once.
///
/// # Errors
/// When a member cannot be written.
pub fn release_of(media: &FileMedia, block: &Superblock, host: &Host) -> io::Result<()> {
    let written = now();
    let owner = Owner {
        array: block.array,
        sequence: 1,
        host: host.id,
        session: random_uuid().map_err(io::Error::other)?,
        interval_ms: Claiming::default().interval.as_millis() as u32,
        is_released: true,
        since: written,
        written,
        name: host.name.clone(),
    };
    OwnerPage::all(media, block).iter_mut().try_for_each(|(_, place)| place.write(&owner))
}
