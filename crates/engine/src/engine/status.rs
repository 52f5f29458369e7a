//! The status of an array that is served.

use std::path::PathBuf;

use stripewise_array::format::Uuid;
use stripewise_array::log::{LogCounts, StreamCounts};
use stripewise_array::{Controller, Halt, MemberNo};
use stripewise_base::Nanos;

use super::Engine;
use crate::backend::Backend;
use crate::member_io::{Counts, MemberCounts};

/// The state of a member in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberCondition {
    /// It has all content that it should have.
    Active,
    /// It is being rebuilt.
    Rebuilding,
    /// The array continues without it.
    Failed,
}

/// The status of a member.
#[derive(Clone, Debug)]
pub struct MemberStatus {
    /// Its state in the array.
    pub state: MemberCondition,
    /// Its identifier, if the array has metadata.
    pub uuid: Option<Uuid>,
    /// Its path, unless it is absent.
    pub path: Option<PathBuf>,
    /// Why it is out of service.
    pub failure: Option<String>,
    /// Whether it has operations and has completed none for [`crate::Options::slow`].
    pub is_slow: bool,
    /// Whether flushes reach it: it may keep writes in volatile memory, as far as the system says.
    pub is_flushed: bool,
    /// Its operations so far.
    pub counts: MemberCounts,
    /// Operations that it has accepted and not completed.
    pub in_flight: u32,
    /// Operations for it that wait in the controller, and operations in flight.
    pub queued: u32,
}

/// Progress of a task, in segments of the log or rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Segments or rows that are done.
    pub done: u64,
    /// All segments or rows.
    pub total: u64,
}

/// The result of the last scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubStatus {
    /// Its progress, if it is running.
    pub progress: Option<Progress>,
    /// Pages read.
    pub pages: u64,
    /// Of those: unreadable, or with a wrong checksum.
    pub bad: u64,
    /// Of those: pages whose content is readable again.
    pub repaired: u64,
    /// Of those: pages that nothing depends on any more.
    pub obsolete: u64,
    /// Chunks whose reads fail.
    pub lost: u64,
    /// Damaged copies of metadata outside of segments and rows.
    pub metadata_damaged: u64,
    /// Of those: copies that were written again and read back.
    pub metadata_repaired: u64,
}

/// The current status of an array.
#[derive(Clone, Debug)]
pub struct Status {
    /// The array's identifier, if it has metadata.
    pub uuid: Option<Uuid>,
    /// The name of the array; empty if none is known.
    pub name: String,
    /// The scheme that it runs.
    pub scheme: String,
    /// The epoch that began when it was assembled.
    pub epoch: u32,
    /// Whether it takes no writes.
    pub is_read_only: bool,
    /// Bytes that it offers.
    pub capacity: u64,
    /// Bytes of host data that a log stores on its members.
    pub used: Option<u64>,
    /// Whether a log has no space, and no work in flight that could free some.
    pub is_full: bool,
    /// Whether writes wait because a member has no space: its file is thin, and its file system is full.
    pub is_out_of_space: bool,
    /// Whether more members are out of space than parity tolerates, so that writes of hosts are refused. Otherwise they
    /// wait.
    pub is_out_of_space_beyond_parity: bool,
    /// Whether more members are lost than parity tolerates, so that flushes fail, and writes of a log.
    pub is_beyond_parity: bool,
    /// Whether writes and flushes wait for members to return ([`super::FailMode::Wait`]).
    pub waits_for_members: bool,
    /// Free segments of a log, and all segments.
    pub segments: Option<(u32, u32)>,
    /// Its members, in order.
    pub members: Vec<MemberStatus>,
    /// Hot spares: members that wait to replace one that fails.
    pub spares: usize,
    /// The member that is being rebuilt, and the progress.
    pub rebuild: Option<(MemberNo, Progress)>,
    /// Why the rebuild stopped until the array is assembled again. None while it continues.
    pub rebuild_halted: Option<Halt>,
    /// Stripes or rows in which the last rebuild found data lost, until a complete scrub finds no lost data.
    pub rebuild_lost: u64,
    /// Members in doubt, one bit each: see [`stripewise_array::Array::members_in_doubt`].
    pub in_doubt: u64,
    /// The result of the last scrub.
    pub scrub: ScrubStatus,
    /// Counters of the log.
    pub log: LogCounts,
    /// Counters of each stream of the log, streams of hosts first.
    pub streams: Vec<StreamCounts>,
    /// Pages of metadata that the log wrote.
    pub metadata_pages: u64,
    /// Operations on members, by class.
    pub counts: Counts,
    /// Requests in flight.
    pub requests: u32,
    /// Bytes of memory for pages, and bytes of memory for maps.
    pub memory: (u64, u64),
    /// The backend that reaches members.
    pub way: &'static str,
    /// Time since the array was assembled.
    pub age_ns: Nanos,
}

impl<B: Backend> Engine<B> {
    /// The current status of the array.
    pub fn status(&self) -> Status {
        let progress = |(done, total): (u32, u32)| Progress { done: done.into(), total: total.into() };
        let rebuild = self.array.rebuilding().map(|(member, done, total)| (member, progress((done, total))));
        let (scrubbed, _) = self.array.scrub_counts();
        let pages: usize = self.array.memory_ref().slabs().iter().map(ExactSizeIterator::len).sum();
        Status {
            uuid: self.known.as_ref().map(|known| known.array),
            name: self.known.as_ref().map_or_else(String::new, |known| known.name.clone()),
            scheme: self.array.scheme().name.clone(),
            epoch: self.opened.epoch,
            is_read_only: self.is_read_only,
            capacity: self.capacity(),
            used: self.array.used(),
            is_full: self.array.is_full(),
            is_out_of_space: self.member_io.is_out_of_space(),
            is_out_of_space_beyond_parity: self.member_io.is_out_of_space_beyond_parity(),
            is_beyond_parity: self.array.is_beyond_parity(),
            waits_for_members: self.waits_for_members(),
            segments: self.array.segments(),
            members: MemberNo::first(self.member_io.backend.count().into())
                .map(|member| self.status_of(member))
                .collect(),
            spares: self.spares.count(),
            rebuild,
            rebuild_halted: self.array.rebuild_halted(),
            rebuild_lost: self.array.rebuild_lost(),
            in_doubt: self.array.members_in_doubt(),
            scrub: ScrubStatus {
                progress: self.array.scrub_progress().map(progress),
                pages: scrubbed.pages,
                bad: scrubbed.bad,
                repaired: scrubbed.repaired,
                obsolete: scrubbed.obsolete,
                lost: scrubbed.lost,
                metadata_damaged: scrubbed.metadata_damaged,
                metadata_repaired: scrubbed.metadata_repaired,
            },
            log: self.array.log_counts(),
            streams: self.array.streams().collect(),
            metadata_pages: self.array.metadata_counts().pages(),
            counts: self.member_io.counts(),
            requests: self.member_io.jobs.under_way(),
            memory: (pages as u64, self.array.map_bytes()),
            way: self.member_io.backend.name(),
            age_ns: self.clock.now(),
        }
    }

    fn status_of(&self, member: MemberNo) -> MemberStatus {
        let state = match (self.array.is_failed(member), self.array.is_incomplete(member)) {
            (true, _) => MemberCondition::Failed,
            (false, true) => MemberCondition::Rebuilding,
            (false, false) => MemberCondition::Active,
        };
        MemberStatus {
            state,
            uuid: self.known.as_ref().map(|known| known.members[member.index()]),
            path: self.member_io.backend.path(member).map(Into::into),
            failure: self.member_io.failure(member).map(ToString::to_string),
            is_slow: self.member_io.watch.is_slow(member),
            is_flushed: self.member_io.backend.is_volatile(member),
            counts: self.member_io.counts_of(member),
            in_flight: self.member_io.in_flight(member),
            queued: self.array.loads().total(member),
        }
    }
}
