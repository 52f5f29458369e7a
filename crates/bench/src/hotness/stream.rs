//! The writes to classify, and the quality of the classification.

use stripewise_base::prng::Prng;

/// Writes of single chunks; four fifths go to the first fifth of the chunks.
pub(crate) struct Stream {
    prng: Prng,
    chunks: u64,
    batch: Vec<u32>,
}

impl Stream {
    /// Number of writes drawn at a time, so that drawing is not measured; a batch fits in the processor's caches.
    pub(crate) const BATCH: usize = 1 << 14;

    /// Writes over `chunks` chunks, fewer than 2^32.
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

/// Numbers of writes by actual and assigned class.
#[derive(Default)]
pub(crate) struct StreamFindings {
    hot: u64,
    taken_for_hot: u64,
    both: u64,
}

impl StreamFindings {
    pub(crate) fn add(&mut self, is_hot: bool, taken_for_hot: bool) {
        self.hot += u64::from(is_hot);
        self.taken_for_hot += u64::from(taken_for_hot);
        self.both += u64::from(is_hot && taken_for_hot);
    }

    /// The share of hot chunks among the writes in the hot tier.
    pub(crate) fn purity(&self) -> String {
        percent(self.both, self.taken_for_hot)
    }

    /// The share of the hot tier among the writes of hot chunks.
    pub(crate) fn share(&self) -> String {
        percent(self.both, self.hot)
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.2} %", 100.0 * part as f64 / whole as f64) }
}
