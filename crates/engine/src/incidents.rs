//! Events of an array that its operator must know. Each is noted where it happens, so that an event that begins and
//! ends between two looks at the status is not missed.

use std::collections::VecDeque;

use stripewise_array::MemberNo;
use stripewise_base::Nanos;

/// Most incidents that wait to be taken. Further ones are only counted.
const WAITING_MAX: usize = 256;

/// An event that the operator must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// An operation on a member took longer than a healthy device takes.
    Slow {
        /// The member.
        member: MemberNo,
        /// How long the operation took, or has taken so far.
        took_ns: Nanos,
    },
    /// The array continues without a member.
    Failed {
        /// The member.
        member: MemberNo,
        /// Why.
        reason: String,
        /// Whether an operation on it timed out.
        is_timeout: bool,
    },
    /// A member that was absent is back with its content.
    Returned {
        /// The member.
        member: MemberNo,
    },
    /// A new file or device took the place of a member.
    Replaced {
        /// The member.
        member: MemberNo,
        /// Whether it was a hot spare.
        is_spare: bool,
    },
    /// A member began to be rebuilt.
    RebuildBegan {
        /// The member.
        member: MemberNo,
        /// Segments of the log, or rows.
        total: u64,
    },
    /// The rebuild of a member ended.
    RebuildEnded {
        /// The member.
        member: MemberNo,
        /// Stripes, or rows in place, that could not be rebuilt.
        lost: u64,
        /// Whether it reached its end. False if the member failed meanwhile.
        is_complete: bool,
    },
    /// The rebuild of a member stopped until the array is assembled again.
    RebuildHalted {
        /// The member.
        member: MemberNo,
        /// Why.
        reason: String,
    },
    /// A scrub ended.
    ScrubEnded {
        /// Pages read.
        pages: u64,
        /// Of those: unreadable, or with a wrong checksum.
        bad: u64,
        /// Of those: pages whose content is readable again.
        repaired: u64,
        /// Of those: pages that nothing depends on any more.
        obsolete: u64,
        /// Damage that could not be repaired.
        lost: u64,
        /// Copies of metadata that were damaged.
        metadata_damaged: u64,
        /// Of those: copies that were written again and read back.
        metadata_repaired: u64,
        /// Whether it read everything. False if it was stopped before.
        is_complete: bool,
    },
    /// Members are out of space.
    OutOfSpace {
        /// Whether writes of hosts are refused; otherwise they wait.
        is_beyond_parity: bool,
    },
    /// Members have space again.
    SpaceBack,
    /// The array takes no writes until it is assembled again.
    ReadOnly,
    /// This host could not confirm that it owns the array: members receive no writes until it has.
    Fenced,
    /// It has confirmed that it owns the array.
    Unfenced,
}

/// Incidents that were not taken yet, in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct Incidents {
    waiting: VecDeque<Incident>,
    left_out: u64,
}

impl Incidents {
    /// Notes an incident.
    pub(crate) fn note(&mut self, incident: Incident) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(incident);
        } else {
            self.left_out += 1;
        }
    }

    /// The first incident that was not taken yet.
    pub(crate) fn take(&mut self) -> Option<Incident> {
        self.waiting.pop_front()
    }

    /// Incidents that were dropped for lack of room.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}
