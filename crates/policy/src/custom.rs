//! Policies that the user of a program gives: for reads, the order of member queues, destaging, the victims of the array's
//! garbage collection, and hotness. A scheme that has none calls none of them: each axis has a variant `Custom`, and only
//! that variant asks.

use std::fmt;

use stripewise_base::Nanos;
use stripewise_core::ids::MemberNo;
use stripewise_core::loads::Loads;
use stripewise_core::member_load::MemberLoad;
use stripewise_core::operation::Operation;

/// A read of chunks of one stripe that could be decoded from other chunks of it.
#[derive(Clone, Copy, Debug)]
pub struct ReadChoice<'a> {
    /// The time.
    pub now: Nanos,
    /// The columns that hosts want.
    pub wanted: u64,
    /// All columns of the stripe.
    pub all: u64,
    /// The number of columns that can be decoded from the others.
    pub parity: u32,
    /// The member and the page of each column of `all`, by column.
    pub homes: &'a [(MemberNo, u32)],
    /// Operations queued and in flight.
    pub loads: &'a Loads,
}

/// Chooses the source of chunks.
pub trait ChooseRead: Send {
    /// The columns that are not read, at most `parity` of them. Wanted ones are decoded. Without a wanted one, all that are
    /// wanted are read directly.
    fn avoid(&mut self, read: &ReadChoice<'_>, state: &dyn MemberLoad) -> u64;
}

/// Orders the queues of members.
pub trait RankOperation: Send {
    /// The rank of an operation that enters the queue of its member. The lowest rank is offered to the member first, equal
    /// ones in order of arrival.
    fn rank(&mut self, now: Nanos, operation: &Operation, loads: &Loads, state: &dyn MemberLoad) -> u64;
}

/// A write group in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedGroup {
    /// Its position: the number of its stripe.
    pub group: u64,
    /// Its pages in the cache that are not leaving.
    pub pages: u32,
    /// Requests that wrote it since it entered.
    pub writes: u32,
    /// The arrival of the first one.
    pub first_ns: Nanos,
    /// The arrival of the last one.
    pub last_ns: Nanos,
}

/// A cache from which a group is to leave.
#[derive(Clone, Copy, Debug)]
pub struct CacheState<'a> {
    /// The time.
    pub now: Nanos,
    /// Pages that it holds, those in flight to members included.
    pub occupied: u32,
    /// The most pages that it holds.
    pub size: u32,
    /// Whether a write waits for room.
    pub is_pressed: bool,
    /// The groups that may leave, by ascending position; at least one.
    pub groups: &'a [CachedGroup],
}

/// Chooses what leaves a write cache.
pub trait ChooseGroup: Send {
    /// The place in `groups` of the group that leaves; none takes the first.
    fn destage(&mut self, cache: &CacheState<'_>) -> Option<usize>;
}

/// A segment that may be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedSegment {
    /// Its number.
    pub segment: u32,
    /// Its valid chunks.
    pub valid: u32,
    /// Segments that were closed since it was.
    pub age: u64,
}

/// Chooses the victim of the array's garbage collection.
pub trait ChooseSegment: Send {
    /// The place in `segments` of the victim; none takes one with the fewest valid chunks. `chunks` is the most chunks of a
    /// segment; `segments`, of which there is at least one, ascend by number.
    fn collect(&mut self, now: Nanos, chunks: u32, segments: &[ClosedSegment]) -> Option<usize>;
}

/// A chunk that a host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkWrite {
    /// Its logical number.
    pub page: u64,
    /// The first byte of the request.
    pub offset: u64,
    /// The bytes of the request.
    pub bytes: u64,
    /// The number of tiers.
    pub tiers: u32,
}

/// Distinguishes hot chunks from cold ones.
pub trait ChooseTier: Send {
    /// The tier of a chunk that is being written, from 0, the coldest, to `tiers - 1`.
    fn tier(&mut self, write: &ChunkWrite) -> u8;
}

/// A policy of the user's own on some axes of the controller.
#[derive(Debug, Default)]
pub struct Policies {
    /// Reads.
    pub read: Option<Box<dyn ChooseRead>>,
    /// The order of member queues.
    pub order: Option<Box<dyn RankOperation>>,
    /// Destaging.
    pub destage: Option<Box<dyn ChooseGroup>>,
    /// Victims of the array's garbage collection.
    pub segment: Option<Box<dyn ChooseSegment>>,
    /// Hotness.
    pub hotness: Option<Box<dyn ChooseTier>>,
}

macro_rules! debug {
    ($($name:ident),*) => {
        $(impl fmt::Debug for dyn $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        })*
    };
}

debug!(ChooseRead, RankOperation, ChooseGroup, ChooseSegment, ChooseTier);
