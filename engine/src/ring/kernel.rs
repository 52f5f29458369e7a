//! The ring itself: what io_uring is told, and what it answers. All code of the engine that is not safe is here.
#![allow(unsafe_code, reason = "the kernel reads and writes memory that it is given by address")]

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Probe, opcode};

/// Entries that are handed on at once.
const ENTRIES: u32 = 512;
/// Answers that there is room for; what the windows of elements let be in flight should fit.
const ANSWERS: u32 = 8192;
/// `_IO(0x12, 0)` of the kernel's `linux/blkdev.h`: of as many bytes as `addr3` says, from `addr` on.
const BLOCK_URING_CMD_DISCARD: u32 = 0x12 << 8;
/// Files and slabs that may be registered.
const FILES_MAX: u32 = 256;
const SLABS_MAX: u32 = 1024;

/// Bytes in memory; as the system's `iovec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) at: usize,
    pub(super) bytes: usize,
}

impl Piece {
    pub(super) fn end(&self) -> usize {
        self.at + self.bytes
    }
}

/// A file as the ring knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Its place in the ring's table, or where it could not be registered its descriptor.
    fd: RawFd,
    is_registered: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    /// Make a hole of so many bytes.
    Trim(u64),
    /// Tell a block device that nobody needs so many bytes, whatever is read there then. Kernels before 6.12 know no such thing.
    Discard(u64),
    Flush,
}

/// A ring.
pub(super) struct Kernel {
    ring: IoUring,
    /// Places of the table of files that are taken; empty where files cannot be registered.
    files: Vec<bool>,
    slabs: Vec<Range<usize>>,
    registers_slabs: bool,
    has_fixed_vectors: bool,
}

impl Kernel {
    /// # Errors
    /// When the system has no io_uring, or forbids it.
    pub(super) fn new() -> io::Result<Self> {
        let with = |cooperates: bool| {
            let mut builder = IoUring::builder();
            builder.setup_clamp().setup_cqsize(ANSWERS);
            if cooperates {
                builder.setup_coop_taskrun().setup_taskrun_flag();
            }
            builder.build(ENTRIES)
        };
        // Kernels before 5.19 do not know how to cooperate.
        let ring: IoUring = with(true).or_else(|_| with(false))?;
        let submitter = ring.submitter();
        let mut probe = Probe::new();
        submitter.register_probe(&mut probe)?;
        let codes = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE, opcode::Fallocate::CODE];
        if !codes.iter().all(|&code| probe.is_supported(code)) || !ring.params().is_feature_ext_arg() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let files = submitter.register_files_sparse(FILES_MAX).map(|()| vec![false; FILES_MAX as usize]);
        Ok(Self {
            files: files.unwrap_or_default(),
            slabs: Vec::new(),
            registers_slabs: submitter.register_buffers_sparse(SLABS_MAX).is_ok(),
            has_fixed_vectors: probe.is_supported(opcode::ReadvFixed::CODE),
            ring,
        })
    }

    /// Makes a file known; it must stay open until [`Self::forget_file`].
    pub(super) fn add_file(&mut self, file: BorrowedFd<'_>) -> Target {
        let raw = file.as_raw_fd();
        let free = self.files.iter().position(|is_taken| !is_taken);
        let slot = free.filter(|&slot| {
            let updated = self.ring.submitter().register_files_update(slot as u32, &[raw]);
            updated.is_ok_and(|count| count == 1)
        });
        if let Some(slot) = slot {
            self.files[slot] = true;
        }
        Target { fd: slot.map_or(raw, |slot| slot as RawFd), is_registered: slot.is_some() }
    }

    /// Forgets a file, of which nothing is in flight.
    pub(super) fn forget_file(&mut self, target: Target) {
        if target.is_registered {
            // If the kernel does not let it go, its place stays taken.
            let is_gone = self.ring.submitter().register_files_update(target.fd as u32, &[-1]).is_ok();
            self.files[target.fd as usize] = !is_gone;
        }
    }

    /// Makes slabs known that are not yet, so that the kernel need not look their pages up each time.
    ///
    /// # Safety
    /// They are memory of this process until the ring is dropped.
    pub(super) unsafe fn add_slabs(&mut self, slabs: &[Range<usize>]) {
        for slab in &slabs[self.slabs.len().min(slabs.len())..] {
            if !self.registers_slabs || self.slabs.len() == SLABS_MAX as usize {
                return;
            }
            let piece = libc::iovec { iov_base: slab.start as *mut _, iov_len: slab.len() };
            let nth = self.slabs.len() as u32;
            // SAFETY: the caller promises that the memory outlives the ring.
            let result = unsafe { self.ring.submitter().register_buffers_update(nth, &[piece], None) };
            if result.is_err() {
                // The system limits how much memory may be pinned; what is known stays so.
                self.registers_slabs = false;
                return;
            }
            self.slabs.push(slab.clone());
        }
    }

    /// The slab that has all of these bytes.
    fn slab_of(&self, pieces: &[Piece]) -> Option<u16> {
        let first = pieces.first()?;
        let nth = self.slabs.iter().position(|slab| slab.contains(&first.at))?;
        let slab = &self.slabs[nth];
        pieces.iter().all(|piece| slab.start <= piece.at && piece.end() <= slab.end).then_some(nth as u16)
    }

    /// Prepares what is to be done with `pieces`, one behind the other, at `offset` of the file. Its answer will say `tag`.
    /// `may_block` lets the kernel use a thread at once.
    ///
    /// # Errors
    /// When the system does not take what was prepared before.
    ///
    /// # Safety
    /// The memory that `pieces` name stays where it is, and nobody else writes to it, nor reads what is being read into
    /// it, until the answer has come. So does the list itself, if there are several.
    pub(super) unsafe fn push(
        &mut self,
        tag: u64,
        target: Target,
        action: Action,
        offset: u64,
        pieces: &[Piece],
        may_block: bool,
    ) -> io::Result<()> {
        let slab = self.slab_of(pieces);
        let mut flags = Flags::empty();
        flags.set(Flags::FIXED_FILE, target.is_registered);
        flags.set(Flags::ASYNC, may_block);
        let entry = self.entry(Fd(target.fd), action, offset, pieces, slab).user_data(tag).flags(flags);
        if self.ring.submission().is_full() {
            self.enter(false)?;
        }
        // SAFETY: the caller promises that what the entry names stays valid; there is room, for it was made.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::ErrorKind::WouldBlock.into())
    }

    fn entry(&self, file: Fd, action: Action, offset: u64, pieces: &[Piece], slab: Option<u16>) -> Entry {
        let vector = pieces.as_ptr().cast::<libc::iovec>();
        let count = pieces.len() as u32;
        match (action, pieces, slab) {
            (Action::Read, &[Piece { at, bytes }], Some(slab)) => {
                opcode::ReadFixed::new(file, at as *mut u8, bytes as u32, slab).offset(offset).build()
            }
            (Action::Write, &[Piece { at, bytes }], Some(slab)) => {
                opcode::WriteFixed::new(file, at as *const u8, bytes as u32, slab).offset(offset).build()
            }
            // Of one piece no address of the list is told: only of several it has to stay where it is.
            (Action::Read, &[Piece { at, bytes }], None) => {
                opcode::Read::new(file, at as *mut u8, bytes as u32).offset(offset).build()
            }
            (Action::Write, &[Piece { at, bytes }], None) => {
                opcode::Write::new(file, at as *const u8, bytes as u32).offset(offset).build()
            }
            (Action::Read, _, Some(slab)) if self.has_fixed_vectors => {
                opcode::ReadvFixed::new(file, vector, count, slab).offset(offset).build()
            }
            (Action::Write, _, Some(slab)) if self.has_fixed_vectors => {
                opcode::WritevFixed::new(file, vector, count, slab).offset(offset).build()
            }
            (Action::Read, ..) => opcode::Readv::new(file, vector, count).offset(offset).build(),
            (Action::Write, ..) => opcode::Writev::new(file, vector, count).offset(offset).build(),
            (Action::Trim(bytes), ..) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, bytes).offset(offset).mode(mode).build()
            }
            (Action::Discard(bytes), ..) => {
                let mut command = [0; 16];
                command[..8].copy_from_slice(&bytes.to_ne_bytes());
                opcode::UringCmd16::new(file, BLOCK_URING_CMD_DISCARD).addr(Some(offset)).cmd(command).build()
            }
            (Action::Flush, ..) => {
                opcode::Fsync::new(file).flags(io_uring::types::FsyncFlags::DATASYNC).build()
            }
        }
    }

    /// Whether there is something prepared that was not handed on.
    pub(super) fn is_prepared(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Hands on what was prepared; `looks` lets the kernel finish what it has to finish in this thread.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn enter(&mut self, looks: bool) -> io::Result<()> {
        let prepared = self.ring.submission().len() as u32;
        let looks = looks && self.ring.submission().taskrun();
        if prepared == 0 && !looks {
            return Ok(());
        }
        let flags = if looks { EnterFlags::GETEVENTS.bits() } else { 0 };
        // SAFETY: no argument is given; what the entries name was promised when they were pushed.
        let entered = unsafe { self.ring.submitter().enter::<()>(prepared, 0, flags, None) };
        match entered {
            // It was interrupted, or has no memory just now; what it did not take stays prepared.
            Err(error) if is_passing(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Hands on what was prepared and waits for an answer, at most so long.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn wait(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        let result = match at_most {
            None => self.ring.submit_and_wait(1),
            Some(at_most) => {
                let timespec = Timespec::from(at_most);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
        };
        match result {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) || is_passing(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Whether there are answers.
    pub(super) fn has_answers(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// The next answer: its tag, and bytes or a negative error number.
    pub(super) fn pop(&mut self) -> Option<(u64, i32)> {
        self.ring.completion().next().map(|answer| (answer.user_data(), answer.result()))
    }

    /// What becomes readable when there is an answer.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns it and lives at least as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
