//! The events of a transcript.

use std::fmt;

use serde::{Deserialize, Serialize};
use stripewise_array::format::{FailReason, Stamp, Uuid};
use stripewise_array::{
    HostRequest, MemberNo, Operation, OperationId, OperationKind, Outcome, Rejoining, RequestKind,
};
use stripewise_base::Nanos;

/// An event that a controller received, or an answer of the controller. Times are nanoseconds since the array was
/// assembled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A page was read during the assembly: the `nth` of its round.
    MediaRead {
        /// Its index in the list of requested reads.
        nth: u32,
        /// Its content, or the error.
        found: Result<Box<[u8]>, Outcome>,
    },
    /// A page was written or a member flushed during the assembly.
    MediaDone(Outcome),
    /// The array was assembled, in this epoch.
    Assembled {
        /// The epoch that began.
        epoch: u32,
    },
    /// A request arrived.
    Submitted {
        /// When.
        now: Nanos,
        /// The request.
        host: HostRequest,
    },
    /// The answer to the request that just arrived: there is no room for it now.
    Busy,
    /// The content of a page that is about to be read and differs from what the run wrote there.
    Content {
        /// The member.
        member: MemberNo,
        /// The page.
        page: u32,
        /// Its content.
        bytes: Box<[u8]>,
    },
    /// An operation completed.
    Completed {
        /// When.
        now: Nanos,
        /// The operation.
        id: OperationId,
        /// Its result.
        outcome: Outcome,
        /// How long the member had it.
        took_ns: Nanos,
    },
    /// A timer expired.
    Timer {
        /// When.
        now: Nanos,
    },
    /// A member that refused an operation has room again.
    Ready {
        /// The member.
        member: MemberNo,
    },
    /// Waiting operations were offered to members.
    Dispatched,
    /// A member refused an operation.
    Refused,
    /// A member was taken out of service, in transcripts from before there were reasons.
    Failed {
        /// When.
        now: Nanos,
        /// The member.
        member: MemberNo,
    },
    /// A member returned, or another replaced it.
    Rejoined {
        /// When.
        now: Nanos,
        /// The member.
        member: MemberNo,
        /// How it came into the array.
        how: Came,
    },
    /// A scrub was started.
    Scrub {
        /// When.
        now: Nanos,
    },
    /// A scrub was stopped.
    StopScrub,
    /// Rebuilds and scrubs were granted more pages, or any number.
    Allowed {
        /// When.
        now: Nanos,
        /// Number of pages. None for any number.
        pages: Option<u64>,
    },
    /// Members ran out of space, or have space again.
    OutOfSpace {
        /// When.
        now: Nanos,
        /// Whether they are out of space.
        is_out_of_space: bool,
    },
    /// Memory was to be drained.
    Drained {
        /// When.
        now: Nanos,
    },
    /// A checkpoint was requested.
    Checkpoint {
        /// When.
        now: Nanos,
    },
    /// Work that was interrupted when the array was closed was resumed.
    Resumed {
        /// When.
        now: Nanos,
    },
    /// The engine was closed, and no event follows.
    Closed,
    /// The controller started an operation.
    Started {
        /// Its identifier.
        id: OperationId,
        /// The operation.
        operation: Operation,
    },
    /// The controller acknowledged a request.
    Acknowledged {
        /// The tag of the request.
        tag: u64,
        /// Whether it failed.
        failed: bool,
        /// Whether it failed for lack of space.
        no_space: bool,
    },
    /// The controller failed a member.
    MemberFailed {
        /// The member.
        member: MemberNo,
    },
    /// A member returned, with the stamp of its own superblocks.
    Returned {
        /// When.
        now: Nanos,
        /// The member.
        member: MemberNo,
        /// Pages that it has.
        pages: u32,
        /// The content that it was known to have.
        stamp: Option<Stamp>,
    },
    /// A clean stop was recorded in the superblocks.
    Stopped {
        /// When.
        now: Nanos,
    },
    /// A member has completed no operation for some time, or does so again.
    Slow {
        /// When.
        now: Nanos,
        /// The member.
        member: MemberNo,
        /// Whether it is slow now.
        is_slow: bool,
    },
    /// The superblocks were verified before the array was closed.
    VerifySuperblocks {
        /// When.
        now: Nanos,
    },
    /// The read that completes next overtook a write or trim: it returns the earlier content of the page.
    Earlier {
        /// The member.
        member: MemberNo,
        /// The page.
        page: u32,
        /// Which of the changes that the read may have overtaken it preceded, counted from 0.
        nth: u32,
    },
    /// A member was taken out of service.
    FailedFor {
        /// When.
        now: Nanos,
        /// The member.
        member: MemberNo,
        /// Why.
        reason: FailReason,
    },
    /// The first event from format 3 on: the random number of the serving that the assembly begins.
    Serving(u64),
}

/// How a member came into an array, in [`Event::Rejoined`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Came {
    /// A blank member.
    Replacement {
        /// Its identifier.
        uuid: Uuid,
        /// Pages that it has.
        pages: u32,
    },
    /// The previous member, in transcripts from before stamps existed.
    Returned {
        /// Pages that it has.
        pages: u32,
    },
}

impl From<Came> for Rejoining {
    fn from(came: Came) -> Self {
        match came {
            Came::Replacement { uuid: member, pages } => Self::Replacement { uuid: member, pages },
            Came::Returned { pages } => Self::Returned { pages, stamp: None },
        }
    }
}

impl Event {
    /// Whether it is an answer of the controller, rather than an event that the controller received.
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Started { .. } | Self::Acknowledged { .. } | Self::MemberFailed { .. }
        )
    }

    /// The number of the serving that it begins, if it says so.
    pub(super) fn serving(&self) -> Option<u64> {
        if let Self::Serving(serving) = *self { Some(serving) } else { None }
    }

    /// The time of the event, if it has one.
    pub fn now(&self) -> Option<Nanos> {
        match *self {
            Self::Submitted { now, .. }
            | Self::Completed { now, .. }
            | Self::Timer { now }
            | Self::Failed { now, .. }
            | Self::FailedFor { now, .. }
            | Self::Rejoined { now, .. }
            | Self::Returned { now, .. }
            | Self::Stopped { now }
            | Self::Scrub { now }
            | Self::Allowed { now, .. }
            | Self::OutOfSpace { now, .. }
            | Self::Slow { now, .. }
            | Self::Drained { now }
            | Self::Checkpoint { now }
            | Self::VerifySuperblocks { now }
            | Self::Resumed { now } => Some(now),
            _ => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaRead { nth, found: Ok(_) } => write!(f, "page {nth} of a round was read"),
            Self::MediaRead { nth, found: Err(error) } => {
                write!(f, "page {nth} of a round was not read: {error:?}")
            }
            Self::MediaDone(outcome) => write!(f, "a write or flush ended: {outcome:?}"),
            Self::Assembled { epoch } => write!(f, "the array was assembled, epoch {epoch}"),
            Self::Submitted { host, .. } => {
                let HostRequest { tag, offset, bytes, kind, .. } = host;
                match kind {
                    RequestKind::Flush => write!(f, "request {tag:#x} came: a flush"),
                    kind => write!(f, "request {tag:#x} came: {kind:?} of {bytes} bytes at {offset}"),
                }
            }
            Self::Busy => f.write_str("the request was answered: busy"),
            Self::Content { member, page, .. } => write!(f, "page {page} of member {member} was known"),
            Self::Earlier { member, page, .. } => {
                write!(f, "page {page} of member {member} was read as it was before it was written")
            }
            Self::Completed { id, outcome, .. } => write!(f, "operation {id} ended: {outcome:?}"),
            Self::Timer { .. } => f.write_str("a time had come"),
            Self::Ready { member } => write!(f, "member {member} had room again"),
            Self::Dispatched => f.write_str("operations were offered to members"),
            Self::Refused => f.write_str("a member refused an operation"),
            Self::Failed { member, .. } => write!(f, "member {member} was taken out of service"),
            Self::Serving(serving) => write!(f, "serving {serving:#x} was to begin"),
            Self::FailedFor { member, reason, .. } => {
                let why = match reason {
                    FailReason::Unknown => "",
                    FailReason::Damage => " for damage",
                    FailReason::Gone => ": it was gone",
                    FailReason::Requested => ", as asked",
                };
                write!(f, "member {member} was taken out of service{why}")
            }
            Self::Rejoined { member, how, .. } => {
                let is_replaced = matches!(how, Came::Replacement { .. });
                let what = if is_replaced { "was replaced" } else { "came back" };
                write!(f, "member {member} {what}")
            }
            Self::Returned { member, stamp: Some(Stamp { epoch, horizon, .. }), .. } => {
                write!(f, "member {member} came back, stamped in epoch {epoch} with batch {horizon}")
            }
            Self::Returned { member, stamp: None, .. } => {
                write!(f, "member {member} came back without a stamp")
            }
            Self::Stopped { .. } => f.write_str("superblocks were to record a clean stop"),
            Self::Scrub { .. } => f.write_str("a scrub was asked for"),
            Self::StopScrub => f.write_str("a scrub was ended"),
            Self::Allowed { .. } => f.write_str("rebuilding and scrubbing were allowed more"),
            Self::OutOfSpace { is_out_of_space: true, .. } => f.write_str("members had no space"),
            Self::OutOfSpace { .. } => f.write_str("members had space again"),
            Self::Drained { .. } => f.write_str("memory was to be emptied"),
            Self::Checkpoint { .. } => f.write_str("a checkpoint was asked for"),
            Self::VerifySuperblocks { .. } => f.write_str("superblocks were to be verified"),
            Self::Resumed { .. } => f.write_str("interrupted work was to continue"),
            Self::Closed => f.write_str("the array was closed"),
            Self::Started { id, operation } => write!(f, "operation {id} started: {}", InWords(operation)),
            Self::Acknowledged { tag, failed: false, .. } => write!(f, "request {tag:#x} was acknowledged"),
            Self::Acknowledged { tag, no_space: true, .. } => write!(f, "request {tag:#x} found no space"),
            Self::Acknowledged { tag, .. } => write!(f, "request {tag:#x} failed"),
            Self::MemberFailed { member } => write!(f, "member {member} failed"),
            Self::Slow { member, is_slow: true, .. } => write!(f, "member {member} did not answer"),
            Self::Slow { member, .. } => write!(f, "member {member} answered again"),
        }
    }
}

/// An operation, for people.
pub(super) struct InWords<'a>(pub(super) &'a Operation);

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation { page, member, kind, class, .. } = self.0;
        match kind {
            OperationKind::Flush => write!(f, "flush member {member}"),
            kind => write!(f, "{kind:?} page {page} of member {member} ({})", class.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_transcripts_from_before_there_were_stamps_are_read() {
        let returned =
            Event::Rejoined { now: 5, member: MemberNo::new(2), how: Came::Returned { pages: 100 } };
        for (bytes, event) in [
            (&[12, 5, 2, 1, 100][..], returned),
            (&[11, 5, 2], Event::Failed { now: 5, member: MemberNo::new(2) }),
            (&[20], Event::Closed),
            (&[23, 3], Event::MemberFailed { member: MemberNo::new(3) }),
        ] {
            assert_eq!(postcard::from_bytes::<Event>(bytes), Ok(event));
        }
    }
}
