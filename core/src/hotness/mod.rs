//! Hotness: which written chunks are likely to be written again soon. A placement with separate streams writes chunks of
//! one tier together.
//!
//! Each scheme has one file. A new scheme is a new file, a variant of [`HotnessPolicy`] and a line in [`MEMBERS`]. This
//! file has the shared parts: thresholds, decay, and the shortcut for sequential requests.

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
/// It is notified of writes only. A look-up takes constant time and allocates nothing.
#[derive(Clone, Debug)]
pub struct Hotness {
    scheme: Scheme,
    tiers: u32,
    shortcut: bool,
    /// The first byte after the previous request.
    end: Option<u64>,
    /// Whether the current request starts there.
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
    /// The initial state, without any observed write, for an array of `pages` logical chunks of `page_bytes` bytes. The
    /// settings must pass [`HotnessSection::check`].
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

    /// The number of tiers, 1 to [`TIERS_MAX`].
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

    /// Begins a write request of `bytes` bytes at byte `offset`. Its chunks are classified before the next request begins.
    ///
    /// If the request starts exactly where the previous write request ended, all its chunks take the tier of the last
    /// chunk of that request, and the tables are neither read nor updated (paper 001, section IV-A). Our choices: the last
    /// chunk represents its request, and no request precedes the first one.
    #[inline]
    pub fn begin_request(&mut self, offset: u64, bytes: u64) {
        self.is_sequential = self.shortcut && self.end == Some(offset);
        self.end = Some(offset.saturating_add(bytes));
        if let Scheme::Hca(hca) = &mut self.scheme {
            hca.tick();
        }
    }

    /// The tier of a chunk that is being written, from 0, the coldest, to `tiers() - 1`, the hottest. Call it once for
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

/// The counts at which a chunk enters tier 1, 2 and 3.
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

/// Visits the parts of a table in turn, each once every `every` look-ups, so that no single look-up pays for the whole
/// table.
#[derive(Clone, Copy, Debug)]
struct Decay {
    parts: u64,
    /// Look-ups of a round; 0 means that no part is ever due.
    every: u64,
    /// Parts times look-ups that are still due.
    owed: u64,
    next: u64,
}

impl Decay {
    fn new(parts: u64, every: u64) -> Self {
        Self { parts, every, owed: 0, next: 0 }
    }

    /// Counts a look-up.
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
