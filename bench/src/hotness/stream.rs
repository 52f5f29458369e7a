//! The writes that are sorted, and how well they were.

use stripewise_base::prng::Prng;

/// Writes of single chunks, of which four fifths go to the first fifth of the chunks.
pub(crate) struct Stream {
    prng: Prng,
    chunks: u64,
    batch: Vec<u32>,
}

impl Stream {
    /// Writes that are drawn at once, so that drawing them is not measured: as many as stay in the processor's caches.
    pub(crate) const BATCH: usize = 1 << 14;

    /// Over `chunks` chunks, fewer than 2^32.
    pub(crate) fn new(chunks: u64) -> Self {
        Self { prng: Prng::new(1), chunks, batch: vec![0; Self::BATCH] }
    }

    /// The next batch.
    pub(crate) fn next(&mut self) -> &[u32] {
        let hot = self.chunks / 5;
        for page in &mut self.batch {
            let is_hot = self.prng.chance(4, 5);
            let drawn = if is_hot { self.prng.below(hot) } else { hot + self.prng.below(self.chunks - hot) };
            *page = drawn as u32;
        }
        &self.batch
    }
}

/// Writes by what they are and what they were taken for.
#[derive(Default)]
pub(crate) struct Found {
    hot: u64,
    taken_for_hot: u64,
    both: u64,
}

impl Found {
    pub(crate) fn add(&mut self, is_hot: bool, taken_for_hot: bool) {
        self.hot += u64::from(is_hot);
        self.taken_for_hot += u64::from(taken_for_hot);
        self.both += u64::from(is_hot && taken_for_hot);
    }

    /// Of the writes in the hot tier, those of hot chunks.
    pub(crate) fn purity(&self) -> String {
        percent(self.both, self.taken_for_hot)
    }

    /// Of the writes of hot chunks, those in the hot tier.
    pub(crate) fn share(&self) -> String {
        percent(self.both, self.hot)
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.2} %", 100.0 * part as f64 / whole as f64) }
}
