//! What goes on by itself, rebuilding and scrubbing, goes on as far as it is allowed to: so many pages, more of which whoever
//! drives the controller allows as time goes by.

use stripewise_base::Nanos;

use super::Array;
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Allows rebuilding and scrubbing to read and write so many pages more, from now on without limit if `None` is said. In
    /// the beginning there is no limit. Where there was none, `Some(0)` stops them.
    pub fn allow<D: Driver<M>>(&mut self, now: Nanos, pages: Option<u64>, driver: &mut D) {
        self.advance(now);
        self.allowance = pages.map(|pages| {
            let left = self.allowance.unwrap_or(0).min(0);
            left.saturating_add(pages.try_into().unwrap_or(i64::MAX))
        });
        self.poll(driver);
    }

    /// Whether a member is being rebuilt, or a scrub goes on, and nothing more is allowed.
    pub fn wants_allowance(&self) -> bool {
        self.is_walking() && !self.is_allowed()
    }

    /// Whether a plan that nobody waits for may begin. It may take more than is left, which the next ones wait for.
    pub(super) fn is_allowed(&self) -> bool {
        self.allowance.is_none_or(|left| left > 0)
    }

    /// So many pages are read or written by such a plan.
    pub(super) fn spend(&mut self, pages: u32) {
        if let Some(left) = &mut self.allowance {
            *left -= i64::from(pages);
        }
    }
}
