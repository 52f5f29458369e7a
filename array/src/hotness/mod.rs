//! Hotness: which written chunks are likely to be written again soon. A placement that keeps streams apart writes chunks of
//! one tier together.
//!
//! One file for each scheme. A new one is a new file, a variant of [`HotnessPolicy`] and a line in [`MEMBERS`]. What all of
//! them share is here: thresholds, decay, and the shortcut of sequential requests.

mod direct;
mod glru;
mod hca;
mod section;
#[cfg(test)]
mod tests;

use direct::Direct;
use glru::Glru;
use hca::Hca;
pub use section::{HotnessPolicy, HotnessSection, MEMBERS, Refusal, TIERS_MAX};

/// The hot data identification of an array (paper 001, section IV-A): the tier of every chunk that is written.
///
/// Only writes are told to it. A look-up takes constant time and allocates nothing.
#[derive(Clone, Debug)]
pub struct Hotness {
    scheme: Scheme,
    tiers: u32,
    shortcut: bool,
    /// First byte behind the previous request.
    end: Option<u64>,
    /// The request under way starts there.
    is_sequential: bool,
    /// The result of the last look-up.
    previous: u8,
}

#[derive(Clone, Debug)]
enum Scheme {
    None,
    Glru(Glru),
    Hca(Hca),
    Direct(Direct),
}

impl Hotness {
    /// Nothing known yet of an array of `pages` logical chunks of `page_bytes` bytes, under settings that
    /// [`HotnessSection::check`] passes.
    pub fn new(section: &HotnessSection, pages: u64, page_bytes: u32) -> Self {
        let (scheme, tiers) = match section.policy {
            HotnessPolicy::None => (Scheme::None, 1),
            HotnessPolicy::Glru => (Scheme::Glru(Glru::new(section)), section.tiers),
            HotnessPolicy::Hca => (Scheme::Hca(Hca::new(section, pages, page_bytes)), section.tiers),
            HotnessPolicy::Direct => (Scheme::Direct(Direct::new(section, pages)), section.tiers),
        };
        Self {
            scheme,
            tiers,
            shortcut: section.sequential_shortcut,
            end: None,
            is_sequential: false,
            previous: 0,
        }
    }

    /// How many tiers there are, 1 to [`TIERS_MAX`].
    pub fn tiers(&self) -> u32 {
        self.tiers
    }

    /// Bytes of memory that the tables take.
    pub fn bytes(&self) -> u64 {
        match &self.scheme {
            Scheme::None => 0,
            Scheme::Glru(glru) => glru.bytes(),
            Scheme::Hca(hca) => hca.bytes(),
            Scheme::Direct(direct) => direct.bytes(),
        }
    }

    /// A write request of `bytes` bytes from byte `offset` on begins; its chunks are classified before the next one begins.
    ///
    /// If it starts exactly where the previous write request ended, all its chunks take the tier of the last chunk of that
    /// request and the tables are neither read nor updated (paper 001, section IV-A; that the last chunk stands for its
    /// request, and that nothing precedes the first request, are our choices).
    #[inline]
    pub fn begin_request(&mut self, offset: u64, bytes: u64) {
        self.is_sequential = self.shortcut && self.end == Some(offset);
        self.end = Some(offset.saturating_add(bytes));
        if let Scheme::Hca(hca) = &mut self.scheme {
            hca.tick();
        }
    }

    /// The tier of a chunk that is being written, from 0, the coldest, to `tiers() - 1`, the hottest. To be called once for
    /// each chunk of a request, in order.
    #[inline]
    pub fn classify(&mut self, page: u64) -> u8 {
        if !self.is_sequential {
            self.previous = match &mut self.scheme {
                Scheme::None => 0,
                Scheme::Glru(glru) => glru.classify(page),
                Scheme::Hca(hca) => hca.classify(page),
                Scheme::Direct(direct) => direct.classify(page),
            };
        }
        self.previous
    }
}

/// Counts from which on a chunk belongs to tier 1, 2 and 3.
#[derive(Clone, Copy, Debug)]
struct Thresholds([u32; TIERS_MAX as usize - 1]);

impl Thresholds {
    fn new(section: &HotnessSection) -> Self {
        let mut thresholds = [u32::MAX; TIERS_MAX as usize - 1];
        for (threshold, given) in thresholds.iter_mut().zip(section.thresholds()) {
            *threshold = *given;
        }
        Self(thresholds)
    }

    #[inline]
    fn tier(self, count: u8) -> u8 {
        self.0.iter().map(|&threshold| u8::from(u32::from(count) >= threshold)).sum()
    }
}

/// Takes the parts of a table in turn, so that each comes once in so many look-ups and no single look-up pays for all.
#[derive(Clone, Copy, Debug)]
struct Decay {
    parts: u64,
    /// Look-ups of a round; 0 means that no part ever comes.
    every: u64,
    /// Parts times look-ups that are still owed.
    owed: u64,
    next: u64,
}

impl Decay {
    fn new(parts: u64, every: u64) -> Self {
        Self { parts, every, owed: 0, next: 0 }
    }

    /// A look-up was made.
    #[inline]
    fn tick(&mut self) {
        if self.every > 0 {
            self.owed += self.parts;
        }
    }

    /// The next part that is due.
    #[inline]
    fn due(&mut self) -> Option<usize> {
        if self.every == 0 || self.owed < self.every {
            return None;
        }
        self.owed -= self.every;
        let part = self.next;
        self.next = if part + 1 == self.parts { 0 } else { part + 1 };
        Some(part as usize)
    }
}
