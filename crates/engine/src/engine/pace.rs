//! The rate of rebuilds and scrubs: pages are granted to the controller as time passes.

use stripewise_base::Nanos;

use super::Engine;
use super::rate::{Pace, Rate};
use crate::backend::Backend;
use crate::transcript::Event;

impl<B: Backend> Engine<B> {
    /// Sets the rate of rebuilds and scrubs from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        let now = self.clock.now();
        self.pace = Pace { rate, granted_at: now };
        let pages = (rate != Rate::Unlimited).then_some(0);
        self.allow(now, pages);
    }

    /// The rate of rebuilds and scrubs.
    pub fn rate(&self) -> Rate {
        self.pace.rate
    }

    /// Grants the pages that the elapsed time allows. Returns whether there were any.
    pub(super) fn keep_pace(&mut self) -> bool {
        let page_bytes = self.page_bytes();
        let Rate::BytesPerSecond(rate) = self.pace.rate else { return false };
        let Some(at) = self.pace.next_grant(&self.array, page_bytes) else { return false };
        let now = self.clock.now();
        if now < at {
            return false;
        }
        // Time in which no pages were requested counts for ten grants at most.
        let most = 10 * (at - self.pace.granted_at);
        let waited = u128::from((now - self.pace.granted_at).min(most));
        let pages = waited * u128::from(rate) / 1_000_000_000 / u128::from(page_bytes);
        self.pace.granted_at = now;
        self.allow(now, Some(u64::try_from(pages).unwrap_or(u64::MAX)));
        true
    }

    fn allow(&mut self, now: Nanos, pages: Option<u64>) {
        self.member_io.record_event(|| Event::Allowed { now, pages });
        self.array.allow(now, pages, &mut self.member_io);
    }
}
