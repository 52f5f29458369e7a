//! The log as observers see it: its counters, its content, the location of chunks.

use stripewise_core::ids::MemberNo;

use crate::log::{Location, Log};

/// A column of a stripe: its number (data from 0 on, then parity), its member, its page there, and for data the chunk that was
/// written; where only summaries store the chunk, this is known only while the chunk is valid.
pub type StripeColumn = (u32, MemberNo, u32, Option<u64>);

/// A stripe of the log, as observers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeView {
    /// Its columns.
    pub columns: Vec<StripeColumn>,
}

impl Log {
    /// See [`crate::Array::chunk_in_log`].
    pub(crate) fn chunk_in_log(&self, chunk: u64) -> Option<(MemberNo, u32)> {
        let log = self;
        match log.location(chunk) {
            Location::Mapped(slot) => Some(log.member(slot)),
            _ => None,
        }
    }
}
