//! Skewed access by Zipf's law: slot number k of the address space is drawn with probability proportional to
//! k^-theta.

use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::shuffle::Shuffle;
use super::size::Size;
use super::synthetic::{
    ALIGN, ARRIVAL, Align, Law, REQUESTS, Range, SIZE, SPAN, START, VOLUME, WRITE, synthetic,
};
use crate::TraceError;

const THETA: Key = Key {
    name: "theta",
    default: "0.99",
    help: "the exponent: 0 is uniform, 0.99 the usual choice, above 1 most requests hit very few slots",
};
const SCRAMBLE: Key = Key {
    name: "scramble",
    default: "yes",
    help: "`yes` scatters the hot slots over the address space, `no` packs them at its start",
};

pub(super) const ABOUT: About = About {
    name: "zipf",
    summary: "skewed access by Zipf's law",
    example: "zipf:theta=0.99,write=0.3,size=4KiB,span=16GiB,requests=1M",
    keys: &[REQUESTS, WRITE, SIZE, SPAN, THETA, SCRAMBLE, ALIGN, ARRIVAL, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let (theta, scramble) = (keys.number("theta")?, keys.flag("scramble")?);
    if theta > 20.0 {
        return Err(keys.fail("theta", "above 20 every request hits the same slot; use `uniform`"));
    }
    let law = |range: &Range, size: &Size| {
        if range.align == Align::Own && size.smallest() != size.largest() {
            return Err(keys.fail("align", "slots need one width; give a size, or `smallest`"));
        }
        let slots = range.slots(size.largest());
        // The permutation belongs to the workload, not to the run: one seed for all.
        let scatter = scramble.then(|| Shuffle::new(slots, &mut Prng::new(slots)));
        let grain = range.grain(size.largest());
        Ok(Zipf { ranks: ZipfRanks::new(slots, theta), scatter, grain })
    };
    synthetic(keys, law)
}

/// Slots by Zipf's law.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Zipf {
    ranks: ZipfRanks,
    scatter: Option<Shuffle>,
    grain: u64,
}

impl Law for Zipf {
    #[inline]
    fn place(&mut self, range: &Range, _: u32, prng: &mut Prng) -> u64 {
        let rank = self.ranks.draw(prng) - 1;
        range.start + self.scatter.as_ref().map_or(rank, |scatter| scatter.at(rank)) * self.grain
    }
}

/// Exact sampling of ranks `1..=ranks` with probabilities proportional to rank^-theta, in constant memory and
/// without a table: rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996).
///
/// `area` is the integral of x^-theta from 1; its inverse at a uniform point is a continuous variate, whose nearest
/// integer is accepted when the point lies under that integer's bar.
#[derive(Clone, Debug, PartialEq)]
struct ZipfRanks {
    ranks: f64,
    theta: f64,
    low: f64,
    high: f64,
    /// A rank within this distance above the variate is accepted without computing its bar.
    sure: f64,
}

impl ZipfRanks {
    fn new(ranks: u64, theta: f64) -> Self {
        let law = Self { ranks: ranks as f64, theta, low: 0.0, high: 0.0, sure: 0.0 };
        let sure = 2.0 - law.inverse(law.area(2.5) - law.bar(2.0));
        Self { low: law.area(1.5) - 1.0, high: law.area(law.ranks + 0.5), sure, ..law }
    }

    fn bar(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of t^-theta over 1..x, without loss of precision near theta = 1.
    fn area(&self, x: f64) -> f64 {
        let (ln, rest) = (libm::log(x), 1.0 - self.theta);
        let t = rest * ln;
        if t.abs() < 1e-8 { ln * (1.0 + 0.5 * t) } else { libm::expm1(t) / rest }
    }

    fn inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.theta;
        // Rounding may push the argument of the logarithm below its range at the lower end.
        let t = (area * rest).max(-1.0);
        if t.abs() < 1e-8 { libm::exp(area * (1.0 - 0.5 * t)) } else { libm::exp(libm::log1p(t) / rest) }
    }

    #[inline]
    fn draw(&self, prng: &mut Prng) -> u64 {
        loop {
            let area = self.high + prng.unit() * (self.low - self.high);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.bar(rank) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_law_by_a_chi_square_test() {
        const RANKS: usize = 20;
        const DRAWS: usize = 400_000;
        for theta in [0.0, 0.5, 0.99, 1.0, 1.5, 3.0] {
            let law = ZipfRanks::new(RANKS as u64, theta);
            let mut prng = Prng::new(3);
            let mut seen = [0usize; RANKS];
            (0..DRAWS).for_each(|_| seen[law.draw(&mut prng) as usize - 1] += 1);
            let weight = |rank: usize| libm::pow((rank + 1) as f64, -theta);
            let total: f64 = (0..RANKS).map(weight).sum();
            let chi: f64 = (0..RANKS)
                .map(|rank| {
                    let expected = DRAWS as f64 * weight(rank) / total;
                    let off = seen[rank] as f64 - expected;
                    off * off / expected
                })
                .sum();
            // 19 degrees of freedom: 43.8 is exceeded once in a thousand by chance.
            assert!(chi < 43.8, "theta {theta}: chi-square {chi}");
        }
    }

    #[test]
    fn a_huge_address_space_needs_no_table_and_stays_in_range() {
        let law = ZipfRanks::new(1 << 40, 0.8);
        let mut prng = Prng::new(9);
        let most = (0..10_000).map(|_| law.draw(&mut prng)).max();
        assert!(most <= Some(1 << 40) && most > Some(1 << 38), "{most:?}");
        assert_eq!(ZipfRanks::new(1, 1.0).draw(&mut prng), 1);
    }
}
