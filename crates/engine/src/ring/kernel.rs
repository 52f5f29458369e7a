//! The ring itself: submissions to io_uring, and its answers. The unsafe code of the engine is
//! here, in `crew`, and where these are called.
#![allow(unsafe_code, reason = "the kernel reads and writes memory that it is given by address")]

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Probe, cqueue, opcode};

use super::crew::Answers;

/// Entries that one call can submit.
const ENTRIES: u32 = 512;
/// Room for answers. The operations that the windows of members allow in flight should fit.
const ANSWERS: u32 = 8192;
/// Limits of registered files and slabs.
const FILES_MAX: u32 = 256;
const SLABS_MAX: u32 = 1024;

/// The tag of the crews' bell.
const BELL: u64 = u64::MAX;

/// A range of memory, with the layout of the system's `iovec`.
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

/// A file, as the ring addresses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Its index in the ring's table, or its descriptor if it could not be registered.
    fd: RawFd,
    is_registered: bool,
}

impl Target {
    /// A file that is not registered with the ring.
    pub(super) fn unknown(file: BorrowedFd<'_>) -> Self {
        Self { fd: file.as_raw_fd(), is_registered: false }
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    /// Make a hole of this many bytes.
    Trim(u64),
    /// Discard this many bytes of a block device; any content may be read there then. Executed by a crew.
    Discard(u64),
    Flush,
}

/// Where an operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Issue {
    /// In the submitting thread, because it never blocks.
    Here,
    /// In the submitting thread, unless it would block: then the answer reports that.
    NoWait,
    /// In a thread of the kernel.
    Worker,
}

/// A ring.
pub(super) struct Kernel {
    ring: IoUring,
    /// Answers of crews, and those that were taken from the list.
    answers: Arc<Answers>,
    taken: VecDeque<(u64, i32)>,
    /// Whether the ring polls the crews' bell.
    hears: bool,
    /// Used entries of the file table. Empty if files cannot be registered.
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
        // Kernels before 5.19 do not support the flag.
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
            answers: Arc::new(Answers::new()?),
            taken: VecDeque::new(),
            hears: false,
            files: files.unwrap_or_default(),
            slabs: Vec::new(),
            registers_slabs: submitter.register_buffers_sparse(SLABS_MAX).is_ok(),
            has_fixed_vectors: probe.is_supported(opcode::ReadvFixed::CODE),
            ring,
        })
    }

    /// Has the ring poll the crews' bell, and returns the answers of crews.
    pub(super) fn hear_crews(&mut self) -> Arc<Answers> {
        self.hear();
        self.answers.clone()
    }

    /// Has the ring poll the crews' bell, unless it does. If that fails, the next call tries again.
    fn hear(&mut self) {
        if self.hears || self.ring.submission().is_full() && self.enter(false).is_err() {
            return;
        }
        let bell = Fd(self.answers.as_fd().as_raw_fd());
        let entry = opcode::PollAdd::new(bell, libc::POLLIN as u32).multi(true).build().user_data(BELL);
        // SAFETY: the entry names no memory, and the descriptor is this ring's own.
        self.hears = unsafe { self.ring.submission().push(&entry) }.is_ok();
    }

    /// Registers a file. It must stay open until [`Self::forget_file`].
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
        slot.map_or(Target::unknown(file), |slot| Target { fd: slot as RawFd, is_registered: true })
    }

    /// Unregisters a file that has nothing in flight.
    pub(super) fn forget_file(&mut self, target: Target) {
        if target.is_registered {
            // If the kernel does not release the file, its entry stays in use.
            let is_gone = self.ring.submitter().register_files_update(target.fd as u32, &[-1]).is_ok();
            self.files[target.fd as usize] = !is_gone;
        }
    }

    /// Registers slabs that are not registered yet, so that the kernel need not look up their pages for each operation.
    ///
    /// # Safety
    /// The slabs are memory of this process until the ring is dropped.
    pub(super) unsafe fn add_slabs(&mut self, slabs: &[Range<usize>]) {
        for slab in &slabs[self.slabs.len().min(slabs.len())..] {
            if !self.registers_slabs || self.slabs.len() == SLABS_MAX as usize {
                return;
            }
            let piece = libc::iovec { iov_base: slab.start as *mut _, iov_len: slab.len() };
            let nth = self.slabs.len() as u32;
            // SAFETY: the caller guarantees that the memory outlives the ring.
            let result = unsafe { self.ring.submitter().register_buffers_update(nth, &[piece], None) };
            if result.is_err() {
                // The system limits pinned memory. Registered slabs stay registered.
                self.registers_slabs = false;
                return;
            }
            self.slabs.push(slab.clone());
        }
    }

    /// The slab that contains all of these bytes.
    fn slab_of(&self, pieces: &[Piece]) -> Option<u16> {
        let first = pieces.first()?;
        let nth = self.slabs.iter().position(|slab| slab.contains(&first.at))?;
        let slab = &self.slabs[nth];
        pieces.iter().all(|piece| slab.start <= piece.at && piece.end() <= slab.end).then_some(nth as u16)
    }

    /// Prepares an operation on the memory of `pieces`, in order, at `offset` of the file. Its answer will have `tag`.
    ///
    /// # Errors
    /// When the system does not accept the entries that were prepared before.
    ///
    /// # Safety
    /// The memory of `pieces` stays in place until the answer has come; no other code writes to it, nor reads memory
    /// that the operation fills. If there are several pieces, the list itself stays in place too.
    pub(super) unsafe fn push(
        &mut self,
        tag: u64,
        target: Target,
        action: Action,
        offset: u64,
        pieces: &[Piece],
        issue: Issue,
    ) -> io::Result<()> {
        let slab = self.slab_of(pieces);
        let mut flags = Flags::empty();
        flags.set(Flags::FIXED_FILE, target.is_registered);
        flags.set(Flags::ASYNC, issue == Issue::Worker);
        let rw_flags = if issue == Issue::NoWait { libc::RWF_NOWAIT } else { 0 };
        let entry = self.entry(Fd(target.fd), action, offset, pieces, (slab, rw_flags));
        let entry = entry.user_data(tag).flags(flags);
        if self.ring.submission().is_full() {
            self.enter(false)?;
        }
        // SAFETY: the caller guarantees that the memory which the entry names stays valid. There is room in the queue,
        // because it was made above.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::ErrorKind::WouldBlock.into())
    }

    fn entry(
        &self,
        file: Fd,
        action: Action,
        offset: u64,
        pieces: &[Piece],
        (slab, rw_flags): (Option<u16>, i32),
    ) -> Entry {
        let vector = pieces.as_ptr().cast::<libc::iovec>();
        let count = pieces.len() as u32;
        // The entry has the address of the list only if there are several pieces. A list of one piece need not stay in
        // place.
        macro_rules! transfer {
            ($code:ident, $($argument:expr),*) => {
                opcode::$code::new(file, $($argument),*).offset(offset).rw_flags(rw_flags).build()
            };
        }
        match (action, pieces, slab) {
            (Action::Read, &[Piece { at, bytes }], Some(slab)) => {
                transfer!(ReadFixed, at as *mut u8, bytes as u32, slab)
            }
            (Action::Write, &[Piece { at, bytes }], Some(slab)) => {
                transfer!(WriteFixed, at as *const u8, bytes as u32, slab)
            }
            (Action::Read, &[Piece { at, bytes }], None) => transfer!(Read, at as *mut u8, bytes as u32),
            (Action::Write, &[Piece { at, bytes }], None) => transfer!(Write, at as *const u8, bytes as u32),
            (Action::Read, _, Some(slab)) if self.has_fixed_vectors => {
                transfer!(ReadvFixed, vector, count, slab)
            }
            (Action::Write, _, Some(slab)) if self.has_fixed_vectors => {
                transfer!(WritevFixed, vector, count, slab)
            }
            (Action::Read, ..) => transfer!(Readv, vector, count),
            (Action::Write, ..) => transfer!(Writev, vector, count),
            (Action::Trim(bytes), ..) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, bytes).offset(offset).mode(mode).build()
            }
            (Action::Flush, ..) => {
                opcode::Fsync::new(file).flags(io_uring::types::FsyncFlags::DATASYNC).build()
            }
            (Action::Discard(_), ..) => unreachable!("crews discard"),
        }
    }

    /// Whether there are entries that were not submitted.
    pub(super) fn is_prepared(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Submits prepared entries. `looks` lets the kernel finish its pending work in this thread.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn enter(&mut self, looks: bool) -> io::Result<()> {
        let prepared = self.ring.submission().len() as u32;
        let looks = looks && self.ring.submission().taskrun();
        if prepared == 0 && !looks {
            return Ok(());
        }
        let flags = if looks { EnterFlags::GETEVENTS.bits() } else { 0 };
        // SAFETY: no argument is passed. The memory of the entries was guaranteed valid when they were pushed.
        let entered = unsafe { self.ring.submitter().enter::<()>(prepared, 0, flags, None) };
        match entered {
            // The call was interrupted, or has no memory now. Entries that it did not accept stay prepared.
            Err(error) if is_passing(&error) => Ok(()),
            result => result.map(drop),
        }
    }

    /// Submits prepared entries and waits for an answer, for `at_most` at most.
    ///
    /// # Errors
    /// The error of the system.
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
        !self.taken.is_empty() || !self.ring.completion().is_empty()
    }

    /// The next answer: its tag, and bytes or a negative error number.
    pub(super) fn pop(&mut self) -> Option<(u64, i32)> {
        loop {
            if let Some(taken) = self.taken.pop_front() {
                return Some(taken);
            }
            let answer = self.ring.completion().next()?;
            if answer.user_data() != BELL {
                return Some((answer.user_data(), answer.result()));
            }
            self.hears = cqueue::more(answer.flags());
            self.answers.take(&mut self.taken);
            self.hear();
        }
    }

    /// Becomes readable when there is an answer.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns it and lives at least as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
