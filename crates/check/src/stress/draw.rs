//! Random choices.

use stripewise_base::prng::Prng;

/// The source of random choices.
pub(crate) struct Draw(pub(crate) Prng);

impl Draw {
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.0.chance(percent, 100)
    }
}
