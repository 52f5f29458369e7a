//! Transcripts: all that a controller was told while it served, and what it answered, in order.
//!
//! The controller decides by nothing else than what it is told (requests, ends of operations, times, news of members), so a
//! run that was seen once under real time, with its races and failures, can be had again as often as wanted, without the
//! members and without waiting: [`Scribe`] writes the transcript of an engine, [`Replay`] tells a new controller the same and
//! compares each answer.
//!
//! # What stands in a transcript
//! A head (the scheme, the members, how the array was opened), then [`Event`]s, one behind the other. Bytes of hosts do not
//! stand there: a replay writes others in their place, page by page, so what was written during the run has new content and new
//! checksums. A page that was read and does not hold what the run wrote there, because it is from before or was
//! damaged, stands there with its bytes. What opening the array read stands there too.

mod blocks;
mod event;
mod head;
mod replay;
mod scribe;
mod versions;

pub use event::{Came, Event};
pub use head::Head;
pub use replay::{Difference, Replay, ReplayError, Replayed};
pub use scribe::Scribe;
pub(crate) use scribe::WatchedMedia;

#[cfg(test)]
mod tests;
