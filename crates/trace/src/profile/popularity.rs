//! Chooses the extent of the next access: a power law over the existing extents in order of creation.

use stripewise_base::prng::Prng;

/// Parts of the table of the law.
const PARTS: usize = 128;
/// Range of the exponent a; below the lower limit a handful of ranks takes everything.
const STEEPEST: f64 = -3.0;
/// The step of a sequence that fills 0..1 evenly: the golden ratio's fraction, in units of 2^-64.
const EVEN_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Draws ranks of `0..len` by a law with one parameter for the skew: the share of the draws that the first fifth of
/// the ranks takes, whatever their number.
///
/// Above 0.2, the density is proportional to (rank + c)^-theta and the oldest rank is the hottest, truncated to whole
/// ranks: x = c (1 + u ((len / c + 1)^a - 1))^(1/a) - c with a = 1 - theta. c is 1, and larger by a share of the ranks
/// where the law has a flat head (Mandelbrot's law). At 0.2 the law is uniform. But new extents appear
/// all the time, so old ones collect more accesses in the end; and chance hits some more often than others. For
/// traces that are more even than that, values below 0.2 prefer young ranks, x = len u^(1/b), and u is not drawn but
/// runs through an even sequence (Weyl's). Either law is tabulated, and linear in between.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    hot: f64,
    /// The share of the ranks that makes the head.
    head: f64,
    /// The position in the even sequence.
    even: u64,
    /// The number of ranks for which the table was computed.
    len: u64,
    /// The rank at equal distances of u.
    ranks: Vec<f64>,
}

impl Popularity {
    /// A law in which the first fifth of the ranks takes the share `hot` of the draws.
    pub(super) fn new(hot: f64, head: f64) -> Self {
        Self { hot, head, even: 0, len: 0, ranks: vec![0.0; PARTS + 1] }
    }

    /// A rank below `len`, which is not zero.
    #[inline]
    pub(super) fn draw(&mut self, len: usize, prng: &mut Prng) -> usize {
        let u = if self.hot < 0.2 {
            self.even = self.even.wrapping_add(EVEN_STEP);
            (self.even >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
        } else {
            prng.unit()
        };
        // The table may be slightly outdated: the last few ranks then wait for their first draw.
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
        self.len = len;
        let shares = (0..=PARTS).map(|part| part as f64 / PARTS as f64);
        let ranks = self.ranks.iter_mut().zip(shares);
        if self.hot <= 0.2 {
            // The first fifth takes 0.2^b.
            let b = libm::log(self.hot.max(1e-3)) / libm::log(0.2);
            ranks.for_each(|(rank, u)| *rank = len as f64 * libm::pow(u, 1.0 / b));
        } else {
            let c = 1.0 + self.head * len as f64;
            let a = exponent(self.hot, len as f64 / c);
            let width = libm::expm1(a * libm::log1p(len as f64 / c));
            ranks.for_each(|(rank, u)| *rank = (c * (libm::pow(1.0 + u * width, 1.0 / a) - 1.0)).max(0.0));
        }
    }
}

/// The exponent a for which the first fifth of `len` ranks takes the share `hot`; `len` is in units of the law's offset.
fn exponent(hot: f64, len: f64) -> f64 {
    let (whole, fifth) = (libm::log1p(len), libm::log1p(0.2 * len));
    let (mut steep, mut flat) = (STEEPEST, 1.0);
    for _ in 0..30 {
        let middle = apart(0.5 * (steep + flat));
        let share = libm::expm1(middle * fifth) / libm::expm1(middle * whole);
        if share > hot { steep = middle } else { flat = middle }
    }
    apart(0.5 * (steep + flat))
}

/// `a` without values near zero, where the law becomes a logarithm and the formula loses precision.
fn apart(a: f64) -> f64 {
    if a.abs() < 1e-5 { 1e-5 } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fifth_takes_its_share_whatever_the_number_of_ranks() {
        for hot in [0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.99] {
            for len in [100, 10_000, 10_000_000] {
                for head in [0.0, 0.02] {
                    let (mut law, mut prng) = (Popularity::new(hot, head), Prng::new(8));
                    let draws = (0..100_000).filter(|_| law.draw(len, &mut prng) < len / 5);
                    let found = draws.count() as f64 / 1e5;
                    assert!((found - hot).abs() < 0.01, "{hot} of {len}, head {head}: {found}");
                }
            }
        }
    }

    #[test]
    fn the_ranks_of_a_head_are_almost_alike() {
        let share_of_first = |head: f64| {
            let (mut law, mut prng) = (Popularity::new(0.8, head), Prng::new(8));
            let mut seen = [0u32; 2];
            for _ in 0..400_000 {
                let rank = law.draw(10_000, &mut prng);
                seen[0] += u32::from(rank < 20);
                seen[1] += u32::from(rank < 200);
            }
            f64::from(seen[0]) / f64::from(seen[1])
        };
        // Of 200 equal ranks the first 20 take a tenth; of a head of 200 somewhat more, of a power law most.
        let (plain, flat) = (share_of_first(0.0), share_of_first(0.02));
        assert!((0.1..0.17).contains(&flat) && plain > 0.5, "{flat} {plain}");
    }

    #[test]
    fn below_a_fifth_draws_are_more_even_than_chance() {
        let spread = |hot: f64| {
            let (mut law, mut prng) = (Popularity::new(hot, 0.0), Prng::new(8));
            let mut seen = [0.0f64; 1000];
            (0..4000).for_each(|_| seen[law.draw(1000, &mut prng)] += 1.0);
            seen.iter().map(|count| (count - 4.0) * (count - 4.0)).sum::<f64>() / 1000.0
        };
        // The variance of chance is the mean, 4.
        assert!(spread(0.2) > 3.0 && spread(0.1999) < 1.0, "{} {}", spread(0.2), spread(0.1999));
    }

    #[test]
    fn every_rank_exists_however_the_number_of_ranks_changes() {
        for hot in [0.0, 0.1, 0.5, 0.83, 1.0] {
            let (mut law, mut prng) = (Popularity::new(hot, 0.0), Prng::new(8));
            for len in (1..2_000).chain([3, 1, 100]) {
                assert!(law.draw(len, &mut prng) < len);
            }
        }
    }
}
