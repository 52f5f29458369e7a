//! Open files of members: the kind of file system below them, and which thread closes them.

use std::fs::File;
use std::ops::Deref;
use std::thread;

use rustix::fs::{FileType, FlockOperation, flock, fstat, fstatfs};

/// File systems with files in memory, by their magic numbers in the kernel's `linux/magic.h`: tmpfs, ramfs, hugetlbfs.
const MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

/// What an operation on a file may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: its content is memory.
    Memory,
    /// A device. Its driver reports beforehand when an operation would block.
    Device,
    /// A file system, which may wait for anything: a disk, a network, another program.
    Other,
}

impl Kind {
    /// The kind of an open file.
    pub(crate) fn of(file: &File) -> Self {
        let is_device = |mode| FileType::from_raw_mode(mode) == FileType::BlockDevice;
        match (fstat(file), fstatfs(file)) {
            (Ok(found), _) if is_device(found.st_mode) => Self::Device,
            (Ok(_), Ok(found)) if MEMORY.contains(&(found.f_type as u64)) => Self::Memory,
            _ => Self::Other,
        }
    }
}

/// The file system that provides the space of an open file. None for a device.
pub(crate) fn file_system(file: &File) -> Option<u64> {
    let found = fstat(file).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then_some(found.st_dev)
}

/// An open file of a member. Its lock ends with it.
#[derive(Debug)]
pub(crate) struct Handle {
    /// Present until it is dropped.
    file: Option<File>,
    kind: Kind,
    /// Whether another thread closes it: closing may wait for the member, and a thread that serves must not wait.
    closes_aside: bool,
}

impl Handle {
    pub(crate) fn new(file: File) -> Self {
        let kind = Kind::of(&file);
        Self { file: Some(file), kind, closes_aside: false }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Sets who closes the file: if `aside`, another thread where closing may block; else the thread that drops it.
    pub(crate) fn close_aside(&mut self, aside: bool) {
        self.closes_aside = aside && self.kind != Kind::Memory;
    }
}

impl Deref for Handle {
    type Target = File;

    fn deref(&self) -> &File {
        self.file.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let close = move || {
            // The kernel may keep the file a little longer for operations in flight; other programs get the lock now.
            let _ = flock(&file, FlockOperation::Unlock);
        };
        if !self.closes_aside {
            return close();
        }
        // If no thread can be created, the closure is dropped and closes the file here.
        let _ = thread::Builder::new().name("close".into()).spawn(close);
    }
}
