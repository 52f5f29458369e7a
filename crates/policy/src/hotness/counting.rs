//! What schemes that count writes share: thresholds and decay.
//!
//! Source: thresholds are those of paper 001, sections III-A and V-B; decay is our choice.

use super::section::{HotnessSection, TIERS_MAX};

/// The counts at which a chunk enters tier 1, 2 and 3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds([u32; TIERS_MAX as usize - 1]);

impl Thresholds {
    pub(super) fn new(section: &HotnessSection) -> Self {
        let mut thresholds = [u32::MAX; TIERS_MAX as usize - 1];
        for (threshold, given) in thresholds.iter_mut().zip(section.thresholds()) {
            *threshold = *given;
        }
        Self(thresholds)
    }

    #[inline]
    pub(super) fn tier(self, count: u8) -> u8 {
        self.0.iter().map(|&threshold| u8::from(u32::from(count) >= threshold)).sum()
    }
}

/// Visits the parts of a table in turn, each once every `every` look-ups, so that no single look-up pays for the whole
/// table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decay {
    parts: u64,
    /// Look-ups of a round; 0 means that no part is ever due.
    every: u64,
    /// Parts times look-ups that are still due.
    owed: u64,
    next: u64,
}

impl Decay {
    pub(super) fn new(parts: u64, every: u64) -> Self {
        Self { parts, every, owed: 0, next: 0 }
    }

    /// Counts a look-up.
    #[inline]
    pub(super) fn tick(&mut self) {
        if self.every > 0 {
            self.owed += self.parts;
        }
    }

    /// The next part that is due.
    #[inline]
    pub(super) fn due(&mut self) -> Option<usize> {
        if self.every == 0 || self.owed < self.every {
            return None;
        }
        self.owed -= self.every;
        let part = self.next;
        self.next = if part + 1 == self.parts { 0 } else { part + 1 };
        Some(part as usize)
    }
}
