//! Transcripts: all events that a controller received while it served, and its answers, in order.
//!
//! The decisions of a controller depend only on the events that it receives (requests, completions, times, events of
//! members). So a run that happened once under real time, with its races and failures, can be repeated any number of
//! times, without the members and without waiting. [`Scribe`] writes the transcript of an engine. [`Replay`] passes the
//! same events to a new controller and compares each answer.
//!
//! # The content of a transcript
//! A head (the scheme, the members, how the array was assembled), then [`Event`]s in order. The data of hosts is not
//! recorded: a replay writes other data in its place, page by page, so pages that were written during the run have new
//! content and new checksums. A page that was read is recorded with its bytes if its content is not from the run,
//! because it is older or was damaged. The pages that the assembly read are recorded too.

mod blocks;
mod difference;
mod event;
mod head;
mod replay;
mod scribe;
mod versions;
mod writer;

pub use difference::Difference;
pub use event::{Came, Event};
pub use head::{Head, ReplayError};
pub use replay::{Replay, Replayed};
pub use scribe::Scribe;
pub(crate) use scribe::WatchedMedia;

#[cfg(test)]
mod tests;
