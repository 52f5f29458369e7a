//! Hotness: which written chunks are likely to be written again soon. A placement with separate streams writes chunks of
//! one tier together.
//!
//! Each scheme has one file. A new scheme is a new file, a variant of [`HotnessPolicy`] and a line in [`MEMBERS`]. This
//! file has the shortcut for sequential requests, which all schemes share.

mod counting;
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
