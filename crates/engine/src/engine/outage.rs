//! What happens to writes and flushes while more members are lost than parity tolerates.

use stripewise_base::Nanos;

use super::{Engine, FailMode};
use crate::backend::Backend;

impl<B: Backend> Engine<B> {
    /// Changes what happens to writes and flushes, those that wait included.
    pub fn set_failmode(&mut self, failmode: FailMode) {
        self.failmode = failmode;
        if failmode == FailMode::Error {
            self.member_io.jobs.set_outage(false, false);
            self.member_io.jobs.fail_kept(self.clock.now());
            self.pump();
        } else {
            self.member_io.jobs.set_outage(true, false);
            self.keep_failmode();
        }
    }

    /// Whether writes and flushes wait for members to return.
    pub fn waits_for_members(&self) -> bool {
        self.member_io.jobs.is_held()
    }

    /// Lets writes and flushes wait while too many members are lost, and ends their wait. Returns whether that changed.
    pub(super) fn keep_failmode(&mut self) -> bool {
        let FailMode::Wait(limit) = self.failmode else { return false };
        let now = self.clock.now();
        let was_beyond = self.outage_since.is_some();
        let is_beyond = self.array.is_beyond_parity();
        self.outage_since = is_beyond.then(|| self.outage_since.unwrap_or(now));
        let is_over = self.outage_since.is_some_and(|since| u128::from(now - since) >= limit.as_nanos());
        let jobs = &mut self.member_io.jobs;
        let was_held = jobs.is_held();
        let is_held = is_beyond && !is_over;
        jobs.set_outage(!is_over, is_held);
        let mut is_anything = was_held != is_held;
        if jobs.keeps_any() && !is_held {
            // Without an outage they failed for another reason, such as a part of a page whose rest is lost.
            if was_beyond && !is_beyond {
                jobs.resume_kept();
            } else {
                jobs.fail_kept(now);
            }
            is_anything = true;
        }
        is_anything
    }

    /// When writes and flushes stop waiting.
    pub(super) fn outage_ends(&self) -> Option<Nanos> {
        let FailMode::Wait(limit) = self.failmode else { return None };
        let since = self.outage_since.filter(|_| self.waits_for_members())?;
        Some(since.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(Nanos::MAX)))
    }
}
