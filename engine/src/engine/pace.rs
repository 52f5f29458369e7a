//! How fast members are rebuilt and scrubbed: pages are granted to the controller as time goes by.

use stripewise_array::Array;
use stripewise_base::Nanos;

use super::Engine;
use crate::backend::{Backend, Pages};
use crate::transcript::Event;

/// How fast members are rebuilt and scrubbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rate {
    /// As fast as they can be.
    #[default]
    Unlimited,
    /// So many bytes a second are read from all members together, and what has to be is written; 0 stops it.
    BytesPerSecond(u64),
}

/// What is granted at once comes not more often than this; more than one plan is done with it.
const GRANT_NS: Nanos = 10_000_000;

#[derive(Debug)]
pub(super) struct Pace {
    rate: Rate,
    granted_at: Nanos,
}

impl Pace {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, granted_at: 0 }
    }

    /// When the next pages are granted, if anybody waits for them.
    pub(super) fn next_grant(&self, array: &Array<Pages>, page_bytes: u32) -> Option<Nanos> {
        let Rate::BytesPerSecond(rate @ 1..) = self.rate else { return None };
        // At least one page each time.
        let page_ns = 1_000_000_000 * u64::from(page_bytes) / rate + 1;
        array.wants_allowance().then_some(self.granted_at + GRANT_NS.max(page_ns))
    }
}

impl<B: Backend> Engine<B> {
    /// Sets how fast members are rebuilt and scrubbed from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        let now = self.clock.now();
        self.pace = Pace { rate, granted_at: now };
        let pages = (rate != Rate::Unlimited).then_some(0);
        self.allow(now, pages);
    }

    /// How fast members are rebuilt and scrubbed.
    pub fn rate(&self) -> Rate {
        self.pace.rate
    }

    /// Grants what time has brought. Whether anything.
    pub(super) fn keep_pace(&mut self) -> bool {
        let page_bytes = self.page_bytes();
        let Rate::BytesPerSecond(rate) = self.pace.rate else { return false };
        let Some(at) = self.pace.next_grant(&self.array, page_bytes) else { return false };
        let now = self.clock.now();
        if now < at {
            return false;
        }
        // Time in which nothing was wanted brings no more than ten grants do.
        let most = 10 * (at - self.pace.granted_at);
        let waited = u128::from((now - self.pace.granted_at).min(most));
        let pages = waited * u128::from(rate) / 1_000_000_000 / u128::from(page_bytes);
        self.pace.granted_at = now;
        self.allow(now, Some(u64::try_from(pages).unwrap_or(u64::MAX)));
        true
    }

    fn allow(&mut self, now: Nanos, pages: Option<u64>) {
        self.member_io.told(|| Event::Allowed { now, pages });
        self.array.allow(now, pages, &mut self.member_io);
    }
}
