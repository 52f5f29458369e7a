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

use crate::custom::{ChooseTier, ChunkWrite};
use direct::Direct;
use glru::Glru;
use hca::Hca;
pub use section::{HotnessPolicy, HotnessSection, MEMBERS, Refusal, TIERS_MAX};

/// The hot data identification of an array (paper 001, section IV-A): the tier of every chunk that is written.
///
/// It is notified of writes only. A look-up takes constant time and allocates nothing.
#[derive(Debug)]
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

#[derive(Debug)]
enum Scheme {
    None,
    Glru(Glru),
    Hca(Hca),
    Direct(Direct),
    Custom(Custom),
}

/// The user's own scheme, and the bytes of the current request. Without one, all chunks are cold.
#[derive(Debug, Default)]
struct Custom {
    chooser: Option<Box<dyn ChooseTier>>,
    offset: u64,
    bytes: u64,
}

impl Custom {
    fn classify(&mut self, page: u64, tiers: u32) -> u8 {
        let Self { chooser, offset, bytes } = self;
        let write = ChunkWrite { page, offset: *offset, bytes: *bytes, tiers };
        chooser.as_mut().map_or(0, |chooser| chooser.tier(&write)).min(tiers as u8 - 1)
    }
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
            HotnessPolicy::Custom => (Scheme::Custom(Custom::default()), section.tiers),
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

    /// Asks `chooser`, if the scheme leaves hotness to the user.
    pub fn install(&mut self, chooser: Box<dyn ChooseTier>) {
        if let Scheme::Custom(custom) = &mut self.scheme {
            custom.chooser = Some(chooser);
        }
    }

    /// The number of tiers, 1 to [`TIERS_MAX`].
    pub fn tiers(&self) -> u32 {
        self.tiers
    }

    /// Bytes of memory that the tables take.
    pub fn bytes(&self) -> u64 {
        match &self.scheme {
            Scheme::None | Scheme::Custom(_) => 0,
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
        match &mut self.scheme {
            Scheme::Hca(hca) => hca.tick(),
            Scheme::Custom(custom) => (custom.offset, custom.bytes) = (offset, bytes),
            Scheme::None | Scheme::Glru(_) | Scheme::Direct(_) => {}
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
                Scheme::Custom(custom) => custom.classify(page, self.tiers),
            };
        }
        self.previous
    }
}
