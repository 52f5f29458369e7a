//! A shuffle in constant memory: a seeded permutation of `0..len` with access to any element.

use stripewise_base::prng::Prng;

const ROUNDS: usize = 4;

/// A permutation of `0..len`.
///
/// Multiplying by an odd number, adding, and xoring the upper half into the lower are bijections of k-bit numbers. So
/// their composition is a bijection of `0..2^k`. A value outside `0..len` is mapped again until it falls inside. That
/// leaves a bijection of `0..len` and takes under two steps on average (cycle walking: Black and Rogaway, 2002).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shuffle {
    len: u64,
    mask: u64,
    half: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Shuffle {
    /// The permutation of `0..len` that `prng` picks.
    pub(crate) fn new(len: u64, prng: &mut Prng) -> Self {
        let bits = (64 - len.saturating_sub(1).leading_zeros()).max(1);
        let mask = u64::MAX >> (64 - bits);
        let keys = std::array::from_fn(|_| (prng.next_u64() | 1, prng.next_u64()));
        Self { len, mask, half: bits.div_ceil(2), keys }
    }

    /// The image of `place`.
    ///
    /// # Panics
    /// In debug builds, if `place` is not below the length.
    #[inline]
    pub(crate) fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.len);
        let mut x = place;
        loop {
            for (factor, summand) in self.keys {
                x = x.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                x ^= x >> self.half;
            }
            if x < self.len {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_hit_exactly_once() {
        for len in [1, 2, 3, 5, 64, 100, 1000, 4097] {
            let shuffle = Shuffle::new(len, &mut Prng::new(len));
            let mut seen = vec![false; len as usize];
            for place in 0..len {
                let at = shuffle.at(place) as usize;
                assert!(!seen[at], "{at} twice in {len}");
                seen[at] = true;
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        // In a random permutation, two neighbours lie a third of the length apart on average.
        let len = 100_000;
        let shuffle = Shuffle::new(len, &mut Prng::new(1));
        let total: u64 = (1..len).map(|at| shuffle.at(at).abs_diff(shuffle.at(at - 1))).sum();
        let mean = total as f64 / (len - 1) as f64 / len as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
