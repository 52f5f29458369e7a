//! The choice of the backend that reaches files.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use stripewise_array::{MemberNo, Operation, OperationId, PageId};

use crate::backend::{Backend, BackendCompletion, Pages};
use crate::discards::Trims;
use crate::engine::{IoMode, Options};
use crate::files::MemberFile;
use crate::plain::Plain;
use crate::ring::Ring;
use crate::store::Store as _;

/// Files and block devices, reached by the best backend that the system offers.
#[derive(Debug)]
pub enum Files {
    /// Blocking calls, one after the other; the purpose of trims; and why there is no ring, if one was requested.
    Plain(Plain<MemberFile>, Trims, Option<io::Error>),
    /// Many operations at once, through io_uring.
    Ring(Box<Ring>),
}

/// The same expression for either backend.
macro_rules! either {
    ($files:expr, $way:ident => $what:expr) => {
        match $files {
            Files::Plain($way, ..) => $what,
            Files::Ring($way) => $what,
        }
    };
}

impl Files {
    /// A backend over these files, some of which may be absent, with pages of `page_bytes`. `trims` is the purpose of
    /// trims.
    pub fn new(files: Vec<Option<MemberFile>>, page_bytes: u32, options: &Options, trims: Trims) -> Self {
        let plain = |mut files: Vec<Option<MemberFile>>, why| {
            files.iter_mut().flatten().for_each(|file| file.trim_for(trims));
            Self::Plain(Plain::new(files, options.order, options.flushes), trims, why)
        };
        if options.way == IoMode::Plain {
            return plain(files, None);
        }
        match Ring::new(files, page_bytes, options.timeout, trims, options.flushes) {
            Ok(ring) => Self::Ring(Box::new(ring)),
            Err((error, files)) => plain(files, Some(error)),
        }
    }
}

impl Files {
    /// Why there is no ring though one was requested: the system has no io_uring, or forbids it.
    pub fn remark(&self) -> Option<String> {
        let Self::Plain(.., Some(error)) = self else { return None };
        Some(format!(
            "io_uring is not to be had ({error}), so blocking calls are used, which are slower; allow it \
                      (kernel.io_uring_disabled, seccomp filters of containers)"
        ))
    }
}

impl Backend for Files {
    type Member = MemberFile;

    const BATCH: usize = Ring::BATCH;

    #[inline]
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages) {
        either!(self, way => way.start(id, operation, page, memory));
    }

    fn submit(&mut self, memory: &mut Pages) {
        either!(self, way => way.submit(memory));
    }

    #[inline]
    fn take(&mut self, memory: &mut Pages) -> Option<BackendCompletion> {
        either!(self, way => way.take(memory))
    }

    fn is_over_before_taken(&self) -> bool {
        either!(self, way => way.is_over_before_taken())
    }

    fn hold_writes(&mut self, holds: bool) {
        either!(self, way => way.hold_writes(holds));
    }

    fn in_flight(&self) -> usize {
        either!(self, way => way.in_flight())
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        either!(self, way => way.wait(at_most));
    }

    fn patience(&self) -> Option<Duration> {
        either!(self, way => way.patience())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        either!(self, way => way.fd())
    }

    fn count(&self) -> u16 {
        either!(self, way => way.count())
    }

    fn path(&self, member: MemberNo) -> Option<&Path> {
        either!(self, way => way.path(member))
    }

    fn file_system(&self, member: MemberNo) -> Option<u64> {
        either!(self, way => way.file_system(member))
    }

    fn is_volatile(&self, member: MemberNo) -> bool {
        either!(self, way => way.is_volatile(member))
    }

    fn suspend(&mut self, member: MemberNo, memory: &mut Pages) {
        either!(self, way => way.suspend(member, memory));
    }

    fn take_answered(&mut self) -> Option<(MemberNo, MemberFile)> {
        either!(self, way => way.take_answered())
    }

    fn let_go(&mut self, memory: &mut Pages) {
        either!(self, way => way.let_go(memory));
    }

    fn handle(file: &MemberFile) -> Option<(OwnedFd, u32)> {
        Some((file.as_fd().try_clone_to_owned().ok()?, file.pages()))
    }

    fn close(&mut self, member: MemberNo) {
        either!(self, way => way.close(member));
    }

    fn put(&mut self, member: MemberNo, mut file: MemberFile) {
        if let Self::Plain(_, trims, _) = self {
            file.trim_for(*trims);
        }
        either!(self, way => way.put(member, file));
    }

    fn into_members(self) -> Vec<Option<MemberFile>> {
        either!(self, way => way.into_members())
    }

    fn name(&self) -> &'static str {
        either!(self, way => way.name())
    }
}
