//! Which of the extents that exist is accessed next: a power law over them in order of creation.

use stripewise_base::prng::Prng;

/// Draws a rank of `0..len` with density proportional to (rank + 1)^-theta, theta such that the first fifth of the
/// ranks takes a given share of the draws, whatever their number. The oldest is the hottest.
///
/// The law is continuous and cut to whole ranks, so that its inverse is one formula and the number of ranks may
/// grow from draw to draw: x = (1 + u ((len + 1)^a - 1))^(1/a) with a = 1 - theta, tabulated and linear between.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    hot: f64,
    /// What the law was last made for.
    len: u64,
    /// The rank at equal distances of u.
    ranks: Vec<f64>,
}

/// Parts of the table.
const PARTS: usize = 128;

/// Exponents a between which the law is looked for; below the lower one a handful of ranks takes everything.
const STEEPEST: f64 = -3.0;

impl Popularity {
    /// The first fifth takes the share `hot`; a fifth or less is uniform.
    pub(super) fn new(hot: f64) -> Self {
        Self { hot, len: 0, ranks: vec![0.0; PARTS + 1] }
    }

    /// A rank below `len`, which is not zero.
    #[inline]
    pub(super) fn draw(&mut self, len: usize, prng: &mut Prng) -> usize {
        let u = prng.unit();
        if self.hot <= 0.2 {
            return (u * len as f64) as usize;
        }
        // The law may be a little old: the last few ranks then wait for their first draw.
        let ranks = len as u64;
        if self.len > ranks || ranks - self.len > self.len / 32 {
            self.renew(ranks);
        }
        let at = u * PARTS as f64;
        let part = at as usize;
        let (low, high) = (self.ranks[part], self.ranks[part + 1]);
        ((low + (high - low) * (at - part as f64)) as usize).min(len - 1)
    }

    fn renew(&mut self, len: u64) {
        let (whole, fifth) = (libm::log1p(len as f64), libm::log1p(0.2 * len as f64));
        let share = |a: f64| libm::expm1(a * fifth) / libm::expm1(a * whole);
        let (mut steep, mut flat) = (STEEPEST, 1.0);
        for _ in 0..30 {
            let middle = 0.5 * (steep + flat);
            // Zero is the logarithm's place; its neighbours serve.
            let middle = if middle == 0.0 { 1e-9 } else { middle };
            if share(middle) > self.hot { steep = middle } else { flat = middle }
        }
        // Near zero the formula would lose its digits.
        let a = 0.5 * (steep + flat);
        let a = if a.abs() < 1e-5 { 1e-5 } else { a };
        let width = libm::expm1(a * whole);
        for (part, rank) in self.ranks.iter_mut().enumerate() {
            let x = libm::pow(1.0 + part as f64 / PARTS as f64 * width, 1.0 / a);
            *rank = (x - 1.0).max(0.0);
        }
        self.len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fifth_takes_its_share_whatever_the_number_of_ranks() {
        for hot in [0.1, 0.2, 0.5, 0.8, 0.9, 0.99] {
            for len in [100, 10_000, 10_000_000] {
                let (mut law, mut prng) = (Popularity::new(hot), Prng::new(8));
                let found = (0..100_000).filter(|_| law.draw(len, &mut prng) < len / 5).count() as f64 / 1e5;
                assert!((found - hot.max(0.2)).abs() < 0.01, "{hot} of {len}: {found}");
            }
        }
    }

    #[test]
    fn every_rank_exists_however_the_number_of_ranks_changes() {
        for hot in [0.0, 0.5, 0.83, 1.0] {
            let (mut law, mut prng) = (Popularity::new(hot), Prng::new(8));
            for len in (1..2_000).chain([3, 1, 100]) {
                assert!(law.draw(len, &mut prng) < len);
            }
        }
    }
}
