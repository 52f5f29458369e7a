//! Linear threshold scheduling: how much may leave at once depends on how full the cache is.
//!
//! Source: paper 003, section 3 (after WOW and its references): nothing up to the low threshold, the maximum from the high one
//! on, linearly more in between.

use super::CacheSection;

/// The fill level of a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling {
    pub(super) law: Law,
    /// Pages or entries that it holds, of which the law counts.
    pub occupied: u32,
    /// Whether a writer waits for room.
    pub(super) is_pressed: bool,
}

impl Filling {
    /// How many of `most` may be in flight at once.
    pub(super) fn rate(&self, most: u32) -> u32 {
        if self.is_pressed { most } else { self.law.rate(self.occupied, most) }
    }

    /// Whether nothing has to leave.
    pub(super) fn is_low(&self) -> bool {
        !self.is_pressed && self.occupied <= self.law.low
    }

    /// Whether the level is half-way from the low threshold to the high one, or beyond.
    pub(super) fn is_half(&self) -> bool {
        self.is_pressed || self.occupied >= self.law.low + (self.law.high - self.law.low).div_ceil(2)
    }

    /// Whether the maximum leaves.
    pub(crate) fn is_full(&self) -> bool {
        self.is_pressed || self.occupied >= self.law.high
    }
}

/// The thresholds of a cache or a part of one, in pages or entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    low: u32,
    high: u32,
}

impl Law {
    /// The thresholds of `section` for `pages` pages.
    pub(crate) fn new(section: &CacheSection, pages: u32) -> Self {
        let of = |share: stripewise_base::share::Share| share.of(pages.into()) as u32;
        Self { low: of(section.low_threshold), high: of(section.high_threshold) }
    }

    /// The thresholds in entries of `entry_pages` pages each.
    pub(crate) fn of_entries(section: &CacheSection, pages: u32, entry_pages: u32) -> Self {
        let Self { low, high } = Self::new(section, pages);
        Self { low: low / entry_pages, high: high / entry_pages }
    }

    /// How many of `most` may be in flight at once while `occupied` pages or entries are cached. Paper 003 (section 3): "the
    /// destaging rate linearly increases". With one at a time there is no rate between none and one: one above the low threshold
    /// (choice).
    pub(super) fn rate(self, occupied: u32, most: u32) -> u32 {
        let Self { low, high } = self;
        if occupied >= high {
            return most;
        }
        let above = u64::from(occupied.saturating_sub(low));
        (u64::from(most) * above).div_ceil(u64::from(high - low).max(1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_up_to_the_low_threshold_and_the_rate_grows_linearly_to_the_high_one() {
        let law = Law::new(&CacheSection::default(), 100);
        let rates = [79, 80, 81, 85, 90, 95].map(|occupied| law.rate(occupied, 20));
        assert_eq!(rates, [0, 0, 2, 10, 20, 20]);
    }

    #[test]
    fn thresholds_in_entries_are_those_of_whole_entries() {
        // 32 groups of 256 pages: 25 are the low threshold, 28 the high one.
        let law = Law::of_entries(&CacheSection::default(), 8192, 256);
        assert_eq!([25, 26, 27, 28, 32].map(|groups| law.rate(groups, 3)), [0, 1, 2, 3, 3]);
        assert_eq!([25, 26, 28].map(|groups| law.rate(groups, 1)), [0, 1, 1]);
        // Of a cache of one group, any content is above both.
        assert_eq!(Law::of_entries(&CacheSection::default(), 256, 256).rate(1, 1), 1);
    }
}
