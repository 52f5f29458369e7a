//! What stands in a transcript.

use std::fmt;

use serde::{Deserialize, Serialize};
use stripewise_array::format::{Stamp, Uuid};
use stripewise_array::{HostRequest, Operation, OperationId, OperationKind, Outcome, Rejoining, RequestKind};
use stripewise_base::Nanos;

/// Something that a controller was told, or answered. Times are nanoseconds since it was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// While the array was opened, a page was read: the `nth` of its round.
    MediaRead {
        /// Its place in the list that was asked for.
        nth: u32,
        /// What was found.
        found: Result<Box<[u8]>, Outcome>,
    },
    /// While the array was opened, a page was written or a member flushed.
    MediaDone(Outcome),
    /// The array was opened, and its epoch is this.
    Opened {
        /// The epoch that began.
        epoch: u32,
    },
    /// A request came.
    Submitted {
        /// When.
        now: Nanos,
        /// What it is.
        host: HostRequest,
    },
    /// The answer to a request that came: there is no room for it now.
    Busy,
    /// A member holds this in a page that is about to be read, which is not what the run wrote there.
    Content {
        /// The member.
        #[serde(rename = "element")]
        member: u16,
        /// The page.
        page: u32,
        /// What it holds.
        bytes: Box<[u8]>,
    },
    /// An operation ended.
    Completed {
        /// When.
        now: Nanos,
        /// Which one.
        id: OperationId,
        /// How.
        outcome: Outcome,
        /// How long the member had it.
        took_ns: Nanos,
    },
    /// A time had come.
    Timer {
        /// When.
        now: Nanos,
    },
    /// A member that refused an operation had room again.
    Ready {
        /// The member.
        #[serde(rename = "element")]
        member: u16,
    },
    /// Operations that waited were offered to members.
    Dispatched,
    /// A member refused an operation that it was offered.
    Refused,
    /// A member was taken out of service.
    Failed {
        /// When.
        now: Nanos,
        /// The member.
        #[serde(rename = "element")]
        member: u16,
    },
    /// A member came back, or another in its place.
    Rejoined {
        /// When.
        now: Nanos,
        /// The member.
        #[serde(rename = "element")]
        member: u16,
        /// What came.
        how: Came,
    },
    /// A scrub was asked for.
    Scrub {
        /// When.
        now: Nanos,
    },
    /// A scrub was ended.
    StopScrub,
    /// Rebuilding and scrubbing were allowed so many pages more, or any number.
    Allowed {
        /// When.
        now: Nanos,
        /// How many.
        pages: Option<u64>,
    },
    /// Members had no space for what was written to them, or had some again.
    Starved {
        /// When.
        now: Nanos,
        /// Whether they had none.
        #[serde(rename = "is_starved")]
        is_out_of_space: bool,
    },
    /// Memory was to be emptied.
    Drained {
        /// When.
        now: Nanos,
    },
    /// A checkpoint was asked for.
    Checkpoint {
        /// When.
        now: Nanos,
    },
    /// What was interrupted when the array was closed was to go on.
    Resumed {
        /// When.
        now: Nanos,
    },
    /// The engine was closed, and nothing follows.
    Closed,
    /// The controller started an operation.
    Started {
        /// Its name.
        id: OperationId,
        /// What it is.
        operation: Operation,
    },
    /// The controller acknowledged a request.
    Acknowledged {
        /// Its number.
        tag: u64,
        /// Whether it failed.
        failed: bool,
        /// Whether for want of space.
        no_space: bool,
    },
    /// The controller gave a member up.
    GaveUp {
        /// The member.
        #[serde(rename = "element")]
        member: u16,
    },
    /// A member came back, with the stamp that its own superblocks give it.
    Returned {
        /// When.
        now: Nanos,
        /// The member.
        #[serde(rename = "element")]
        member: u16,
        /// Pages that it has.
        pages: u32,
        /// What it was known to hold.
        stamp: Option<Stamp>,
    },
    /// Superblocks were to tell of a clean stop.
    Stopped {
        /// When.
        now: Nanos,
    },
    /// A member had not answered for some time, or did so again.
    Slow {
        /// When.
        now: Nanos,
        /// The member.
        #[serde(rename = "element")]
        member: u16,
        /// Whether it had not.
        is_slow: bool,
    },
    /// Superblocks were to be looked at before the array was closed.
    VerifySuperblocks {
        /// When.
        now: Nanos,
    },
    /// The read that ends next overtook a write or trim: it found what the page held before.
    Earlier {
        /// The member.
        #[serde(rename = "element")]
        member: u16,
        /// The page.
        page: u32,
        /// Before which of the changes that the read may have overtaken, from 0 on.
        nth: u32,
    },
}

/// What came into an array, as [`Event::Rejoined`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Came {
    /// A member of which nothing is known.
    Replacement {
        /// Its identifier.
        #[serde(rename = "element")]
        uuid: Uuid,
        /// Pages that it has.
        pages: u32,
    },
    /// The member that was there before, in transcripts from before there were stamps.
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
    /// Whether the controller answered it, rather than being told.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Busy | Self::Started { .. } | Self::Acknowledged { .. } | Self::GaveUp { .. })
    }

    /// When it happened, of what says so.
    pub fn now(&self) -> Option<Nanos> {
        match *self {
            Self::Submitted { now, .. }
            | Self::Completed { now, .. }
            | Self::Timer { now }
            | Self::Failed { now, .. }
            | Self::Rejoined { now, .. }
            | Self::Returned { now, .. }
            | Self::Stopped { now }
            | Self::Scrub { now }
            | Self::Allowed { now, .. }
            | Self::Starved { now, .. }
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
            Self::Opened { epoch } => write!(f, "the array was opened, epoch {epoch}"),
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
            Self::Ready { member } => write!(f, "element {member} had room again"),
            Self::Dispatched => f.write_str("operations were offered to elements"),
            Self::Refused => f.write_str("a member refused an operation"),
            Self::Failed { member, .. } => write!(f, "element {member} was taken out of service"),
            Self::Rejoined { member, how, .. } => {
                let is_replaced = matches!(how, Came::Replacement { .. });
                let what = if is_replaced { "was replaced" } else { "came back" };
                write!(f, "element {member} {what}")
            }
            Self::Returned { member, stamp: Some(Stamp { epoch, horizon, .. }), .. } => {
                write!(f, "element {member} came back, stamped in epoch {epoch} with batch {horizon}")
            }
            Self::Returned { member, stamp: None, .. } => {
                write!(f, "element {member} came back without a stamp")
            }
            Self::Stopped { .. } => f.write_str("superblocks were to record a clean stop"),
            Self::Scrub { .. } => f.write_str("a scrub was asked for"),
            Self::StopScrub => f.write_str("a scrub was ended"),
            Self::Allowed { .. } => f.write_str("rebuilding and scrubbing were allowed more"),
            Self::Starved { is_out_of_space: true, .. } => f.write_str("elements had no space"),
            Self::Starved { .. } => f.write_str("elements had space again"),
            Self::Drained { .. } => f.write_str("memory was to be emptied"),
            Self::Checkpoint { .. } => f.write_str("a checkpoint was asked for"),
            Self::VerifySuperblocks { .. } => f.write_str("superblocks were to be verified"),
            Self::Resumed { .. } => f.write_str("interrupted work was to continue"),
            Self::Closed => f.write_str("the array was closed"),
            Self::Started { id, operation } => write!(f, "operation {id} started: {}", InWords(operation)),
            Self::Acknowledged { tag, failed: false, .. } => write!(f, "request {tag:#x} was acknowledged"),
            Self::Acknowledged { tag, no_space: true, .. } => write!(f, "request {tag:#x} found no space"),
            Self::Acknowledged { tag, .. } => write!(f, "request {tag:#x} failed"),
            Self::GaveUp { member } => write!(f, "element {member} failed"),
            Self::Slow { member, is_slow: true, .. } => write!(f, "element {member} did not answer"),
            Self::Slow { member, .. } => write!(f, "element {member} answered again"),
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
        let returned = Event::Rejoined { now: 5, member: 2, how: Came::Returned { pages: 100 } };
        for (bytes, event) in [
            (&[12, 5, 2, 1, 100][..], returned),
            (&[20], Event::Closed),
            (&[23, 3], Event::GaveUp { member: 3 }),
        ] {
            assert_eq!(postcard::from_bytes::<Event>(bytes), Ok(event));
        }
    }
}
