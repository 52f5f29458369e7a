//! The interface through which the controller's operations reach members.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use stripewise_array::{MemberNo, Operation, OperationId, PageId, PagePool};
use stripewise_base::Nanos;

/// A buffer of a host, to be written or filled. It goes to the engine with the request and returns with the completion,
/// to be used again.
pub type Payload = bytes::BytesMut;

/// The memory of the controller. The page that an operation was started with must not be touched before the operation
/// is over.
pub type Pages = PagePool<Payload>;

/// A completed operation.
#[derive(Debug)]
pub struct BackendCompletion {
    /// Its identifier.
    pub id: OperationId,
    /// The operation.
    pub operation: Operation,
    /// The page of memory that it was started with.
    pub page: PageId,
    /// Its result.
    pub result: io::Result<()>,
    /// How long the member had it.
    pub took_ns: Nanos,
}

/// Members, and the way in which operations are executed on them.
///
/// An operation is started, then submitted with [`Backend::submit`], and is over when [`Backend::take`] returns it.
/// Only [`Backend::wait`] waits for anything other than a blocking call of its own.
pub trait Backend {
    /// A member.
    type Member;

    /// How many completed operations are taken before the controller acts on them.
    const BATCH: usize;

    /// Accepts an operation on `page` of the memory. Trims and flushes have none.
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages);

    /// Submits started operations to the system, and collects completed ones.
    fn submit(&mut self, memory: &mut Pages);

    /// A completed operation.
    fn take(&mut self, memory: &mut Pages) -> Option<BackendCompletion>;

    /// Whether operations complete before they are taken, so that taking one takes no time.
    fn is_over_before_taken(&self) -> bool {
        false
    }

    /// If `holds`, only reads reach members from now on; else all operations do again. Operations that a member has
    /// already stay with it.
    fn hold_writes(&mut self, holds: bool);

    /// Operations that were started and not taken.
    fn in_flight(&self) -> usize;

    /// Waits until an operation completes, for `at_most` at most.
    fn wait(&mut self, at_most: Option<Duration>);

    /// How long the caller may leave the backend alone although nothing becomes readable: an operation may time out.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Becomes readable when an operation completes. None where operations complete only when they are taken.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Number of members, absent ones included.
    fn count(&self) -> u16;

    /// The path of a member, or its last path if it was closed. None if it has none.
    fn path(&self, _member: MemberNo) -> Option<&Path> {
        None
    }

    /// The file system that provides a member's space. None if the member is not a file.
    fn file_system(&self, member: MemberNo) -> Option<u64> {
        let found = self.path(member)?.metadata().ok()?;
        found.is_file().then(|| found.dev())
    }

    /// Whether a member may have acknowledged writes in volatile memory, so that flushes reach it. False for an absent one.
    fn is_volatile(&self, member: MemberNo) -> bool;

    /// A separate handle of a member, and its number of pages, if it is a file.
    fn handle(_member: &Self::Member) -> Option<(OwnedFd, u32)> {
        None
    }

    /// Closes a member that the array runs without. Its operations in flight may still complete.
    fn close(&mut self, member: MemberNo);

    /// Takes away a member that does not answer: its operations end now as timed out, and their memory is not used again
    /// before the system has ended them. Then [`Backend::take_answered`] returns the member.
    fn suspend(&mut self, _member: MemberNo, _memory: &mut Pages) {}

    /// A member that was suspended and has no operation left, and its number.
    fn take_answered(&mut self) -> Option<(MemberNo, Self::Member)> {
        None
    }

    /// Waits for operations in flight, for as long as the timeout of an operation, and abandons the rest. Their memory
    /// is not used again.
    fn let_go(&mut self, _memory: &mut Pages) {}

    /// Puts a member in the place of another. Operations in flight stay with the old member.
    fn put(&mut self, member: MemberNo, store: Self::Member);

    /// Returns the members in order; none where one is absent. Nothing may be in flight.
    fn into_members(self) -> Vec<Option<Self::Member>>;

    /// The name of the backend, for people.
    fn name(&self) -> &'static str;
}
