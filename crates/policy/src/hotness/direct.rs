//! Direct counting: a counter of 8 bits for each chunk, which stops at 255. With a threshold of 2, a chunk is hot if it
//! was written before.
//!
//! Source: paper 001, section V-B, the counting-based method that GLRU approximates with a table of fixed size. The width
//! of a counter is our choice.

use stripewise_base::huge::Huge;

use super::HotnessSection;
use super::counting::{Decay, Thresholds};

/// The number of chunks whose counters are halved together: one cache line of counters.
const PART: usize = 64;

/// The writes of every chunk.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    counters: Huge<u8>,
    thresholds: Thresholds,
    decay: Decay,
}

impl Direct {
    pub(crate) fn new(section: &HotnessSection, pages: u64) -> Self {
        Self {
            counters: Huge::zeroed(pages as usize),
            thresholds: Thresholds::new(section),
            decay: Decay::new(pages.div_ceil(PART as u64), section.halve_every),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.counters.bytes() as u64
    }

    #[inline]
    pub(crate) fn classify(&mut self, page: u64) -> u8 {
        let writes = &mut self.counters[page as usize];
        *writes = writes.saturating_add(1);
        let tier = self.thresholds.tier(*writes);
        self.decay.tick();
        while let Some(part) = self.decay.due() {
            let end = self.counters.len().min((part + 1) * PART);
            self.counters[part * PART..end].iter_mut().for_each(|writes| *writes /= 2);
        }
        tier
    }
}
