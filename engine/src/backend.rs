//! How the operations that the controller starts reach members.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use stripewise_array::{Operation, OperationId, PageId, PagePool};
use stripewise_base::Nanos;

/// What a host brings to be written or offers to be filled: a buffer that goes to the engine with the request and comes back with
/// the completion, to be used again.
pub type Payload = bytes::BytesMut;

/// The pages of the controller. What lies in one that an operation was started with must not be touched before that is over.
pub type Pages = PagePool<Payload>;

/// An operation that is over.
#[derive(Debug)]
pub struct Ended {
    /// Which one.
    pub id: OperationId,
    /// What it was.
    pub operation: Operation,
    /// The page of the memory that it was started with.
    pub page: PageId,
    /// How it ended.
    pub result: io::Result<()>,
    /// How long the member had it.
    pub took_ns: Nanos,
}

/// Members, and the way in which operations are carried out on them.
///
/// An operation is started, then handed on with [`Backend::submit`], and is over when [`Backend::take`] returns it. Only
/// [`Backend::wait`] waits for anything but a blocking call of its own.
pub trait Backend {
    /// A member.
    type Member;

    /// How many operations are taken before the controller is asked what follows from them.
    const BATCH: usize;

    /// Accepts an operation on `page` of the memory; trims and flushes have none.
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages);

    /// Hands on to the system what was started, and learns what is over.
    fn submit(&mut self, memory: &mut Pages);

    /// An operation that is over.
    fn take(&mut self, memory: &mut Pages) -> Option<Ended>;

    /// Whether operations are over when they are taken, so that taking one takes no time.
    fn is_over_before_taken(&self) -> bool {
        false
    }

    /// From now on nothing but reads reaches members, or everything does again. What a member has already stays with it.
    fn hold_writes(&mut self, holds: bool);

    /// Operations that were started and not taken.
    fn in_flight(&self) -> usize;

    /// Waits until an operation is over, at most so long.
    fn wait(&mut self, at_most: Option<Duration>);

    /// How long it may be left alone although nothing becomes readable: something may time out.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// What becomes readable when an operation is over; none where operations are over as soon as they are taken.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Members, those that are absent among them.
    fn count(&self) -> u16;

    /// Where a member is, or was before it was closed, if that is known.
    fn path(&self, _member: u16) -> Option<&Path> {
        None
    }

    /// The file system that a member takes its space from, where it is a file of one that is known.
    fn file_system(&self, member: u16) -> Option<u64> {
        let found = self.path(member)?.metadata().ok()?;
        found.is_file().then(|| found.dev())
    }

    /// A handle of its own on a member, and the pages of that, where it is a file.
    fn handle(_member: &Self::Member) -> Option<(OwnedFd, u32)> {
        None
    }

    /// Lets go of a member that the controller does without. What it was given may still return.
    fn close(&mut self, member: u16);

    /// Waits for what is in flight, as long as an operation may take, and gives the rest up. The memory of that is given to
    /// nobody.
    fn let_go(&mut self, _memory: &mut Pages) {}

    /// Puts a member in the place of another, whose operations that are in flight stay with it.
    fn put(&mut self, member: u16, store: Self::Member);

    /// The members again, in order, where they are there. Nothing may be in flight.
    fn into_members(self) -> Vec<Option<Self::Member>>;

    /// What it is, for people.
    fn name(&self) -> &'static str;
}
