//! The scrub of all content.

use stripewise_exec::metadata_scrub::ScrubCounts;

/// The scrub in progress, and the counts of the last one.
#[derive(Debug)]
pub(crate) struct Scrub<W> {
    /// Where the scrub in progress is.
    pub(crate) walk: Option<W>,
    /// Whether another scrub follows the current one.
    is_repeated: bool,
    pub(crate) counts: ScrubCounts,
}

impl<W> Default for Scrub<W> {
    fn default() -> Self {
        Self { walk: None, is_repeated: false, counts: ScrubCounts::default() }
    }
}

impl<W> Scrub<W> {
    /// Starts a scrub with `walk`, now or after the current one.
    pub(super) fn begin(&mut self, walk: W) {
        self.is_repeated = self.walk.is_some();
        if !self.is_repeated {
            self.walk = Some(walk);
            self.counts = ScrubCounts::default();
        }
    }

    /// Ends the current scrub. Returns whether it starts again, with `walk`.
    pub(super) fn end(&mut self, walk: W) -> bool {
        self.walk = None;
        let is_repeated = std::mem::take(&mut self.is_repeated);
        if is_repeated {
            self.begin(walk);
        }
        is_repeated
    }
}
