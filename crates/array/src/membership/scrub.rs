//! The scrub of all content.

use stripewise_exec::metadata_scrub::ScrubCounts;

/// The scrub in progress, and the counts of the last one.
#[derive(Debug)]
pub(crate) struct Scrub<W> {
    /// Where the scrub in progress is.
    pub(crate) walk: Option<W>,
    /// Whether another scrub follows the current one.
    is_repeated: bool,
    /// Whether the current scrub continues one of an earlier serving. What that one read is not known to be intact still.
    pub(super) is_continued: bool,
    /// The update of the superblocks at which the current scrub began.
    pub(super) began: u64,
    /// The segments or rows that the current scrub has done, as the superblocks may record it.
    pub(crate) noted: u64,
    /// The update at which the last complete scrub without a loss began.
    pub(super) verified: u64,
    /// Whether members were rebuilt during the scrub: it may have missed content of them.
    pub(super) is_partial: bool,
    pub(crate) counts: ScrubCounts,
}

impl<W> Default for Scrub<W> {
    fn default() -> Self {
        Self {
            walk: None,
            is_repeated: false,
            is_continued: false,
            is_partial: false,
            began: 0,
            noted: 0,
            verified: 0,
            counts: ScrubCounts::default(),
        }
    }
}

impl<W> Scrub<W> {
    /// Starts a scrub with `walk`, now, at this update of the superblocks, or after the current one;
    /// `is_partial` if a member is being rebuilt now.
    pub(super) fn begin(&mut self, walk: W, update: u64, is_partial: bool) {
        self.is_repeated = self.walk.is_some();
        if !self.is_repeated {
            self.walk = Some(walk);
            (self.is_continued, self.began, self.noted) = (false, update, 0);
            self.is_partial = is_partial;
            self.counts = ScrubCounts::default();
        }
    }

    /// Ends the current scrub. Returns whether it starts again, with `walk`.
    pub(super) fn end(&mut self, walk: W, update: u64, is_partial: bool) -> bool {
        (self.walk, self.noted) = (None, 0);
        let is_repeated = std::mem::take(&mut self.is_repeated);
        if is_repeated {
            self.begin(walk, update, is_partial);
        }
        is_repeated
    }
}
