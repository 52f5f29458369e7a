//! Throttling of rebuild and scrub: they may read and write a number of pages, which the caller raises over time.

use crate::{Executor, Placement};
use stripewise_core::memory::Memory;

impl<M: Memory> Executor<M> {
    /// Whether a rebuild or a scrub is in progress.
    pub fn is_walking<P: Placement<M>>(&self, placement: &P) -> bool {
        placement.rebuilding(self).is_some() || placement.scrubbed(self).1
    }

    /// Whether a plan of rebuild or scrub may begin. It may take more than the rest of the allowance; later plans then wait
    /// longer.
    pub fn is_allowed(&self) -> bool {
        self.allowance.is_none_or(|left| left > 0)
    }

    /// Allows `pages` more pages; `None` lifts the limit.
    pub fn allow(&mut self, pages: Option<u64>) {
        self.allowance = pages.map(|pages| {
            let left = self.allowance.unwrap_or(0).min(0);
            left.saturating_add(pages.try_into().unwrap_or(i64::MAX))
        });
    }

    /// Counts pages read or written by such a plan.
    pub fn spend(&mut self, pages: u32) {
        if let Some(left) = &mut self.allowance {
            *left -= i64::from(pages);
        }
    }
}
