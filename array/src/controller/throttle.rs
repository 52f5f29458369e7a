//! Throttling of rebuild and scrub: they may read and write a number of pages, which the caller raises over time.

use stripewise_base::Nanos;

use super::Array;
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Allows rebuild and scrub to read and write `pages` more pages, or, with `None`, lifts the limit. Initially there is no
    /// limit. If there was none, `Some(0)` stops them.
    pub fn allow<D: Driver<M>>(&mut self, now: Nanos, pages: Option<u64>, driver: &mut D) {
        self.advance(now);
        self.allowance = pages.map(|pages| {
            let left = self.allowance.unwrap_or(0).min(0);
            left.saturating_add(pages.try_into().unwrap_or(i64::MAX))
        });
        self.poll(driver);
    }

    /// Whether a rebuild or a scrub is in progress and has used up its allowance.
    pub fn wants_allowance(&self) -> bool {
        self.is_walking() && !self.is_allowed()
    }

    /// Whether a plan of rebuild or scrub may begin. It may take more than the rest of the allowance; later plans then wait
    /// longer.
    pub(super) fn is_allowed(&self) -> bool {
        self.allowance.is_none_or(|left| left > 0)
    }

    /// Counts pages read or written by such a plan.
    pub(super) fn spend(&mut self, pages: u32) {
        if let Some(left) = &mut self.allowance {
            *left -= i64::from(pages);
        }
    }
}
