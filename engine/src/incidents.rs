//! What happens to an array that its operator must learn of: noted where it happens, so that nothing is missed that begins and
//! ends between two looks at the status.

use std::collections::VecDeque;

use stripewise_base::Nanos;

/// Incidents that wait to be taken, at most; what comes beyond is counted.
const WAITING_MAX: usize = 256;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// An operation on a member took longer than a healthy device takes.
    Slow {
        /// The member.
        member: u16,
        /// How long it had the operation, or has it.
        took_ns: Nanos,
    },
    /// The array continues without a member.
    Failed {
        /// The member.
        member: u16,
        /// Why.
        reason: String,
        /// Whether an operation on it timed out.
        is_timeout: bool,
    },
    /// A member that was away is back with its content.
    Returned {
        /// The member.
        member: u16,
    },
    /// A new file or device took the place of a member.
    Replaced {
        /// The member.
        member: u16,
        /// Whether it was a hot spare.
        is_spare: bool,
    },
    /// A member began to be rebuilt.
    RebuildBegan {
        /// The member.
        member: u16,
        /// Segments of the log, or rows.
        total: u64,
    },
    /// The rebuild of a member ended.
    RebuildEnded {
        /// The member.
        member: u16,
        /// Stripes, or rows in place, that could not be made.
        lost: u64,
        /// Whether it reached its end: the member did not fail meanwhile.
        is_complete: bool,
    },
    /// The rebuild of a member goes no further until the array is served again.
    RebuildHalted {
        /// The member.
        member: u16,
        /// Why.
        reason: String,
    },
    /// A scrub ended.
    ScrubEnded {
        /// Pages read.
        pages: u64,
        /// Of those: unreadable, or without their checksum.
        bad: u64,
        /// What was repaired.
        repaired: u64,
        /// What could not be.
        lost: u64,
        /// Copies of metadata that were damaged.
        metadata_damaged: u64,
        /// Of those: what was written again and read back.
        metadata_repaired: u64,
        /// Whether it read everything: it was not ended before.
        is_complete: bool,
    },
    /// Members have no space for what is written to them.
    OutOfSpace {
        /// Whether writes of hosts are refused; otherwise they wait.
        is_beyond_parity: bool,
    },
    /// Members have space again.
    SpaceBack,
    /// The array takes no writes until it is served again.
    ReadOnly,
    /// This host could not confirm that it owns the array: members get no writes until it has.
    Fenced,
    /// It has confirmed that.
    Unfenced,
}

/// Incidents that nobody has taken yet, in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct Incidents {
    waiting: VecDeque<Incident>,
    left_out: u64,
}

impl Incidents {
    /// Notes one.
    pub(crate) fn note(&mut self, incident: Incident) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(incident);
        } else {
            self.left_out += 1;
        }
    }

    /// The first that was not taken.
    pub(crate) fn take(&mut self) -> Option<Incident> {
        self.waiting.pop_front()
    }

    /// Incidents that had no room.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}
