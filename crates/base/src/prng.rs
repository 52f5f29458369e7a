//! The one generator of random numbers: xoshiro256++ (Blackman and Vigna, "Scrambled Linear Pseudorandom
//! Number Generators", 2019) seeded by SplitMix64.
//!
//! It is our own so that results never change with a dependency; known-answer tests fix it.

/// A seeded stream of random numbers. Equal seeds give equal streams on every machine.
#[derive(Clone, Debug)]
pub struct Prng {
    state: [u64; 4],
}

impl Prng {
    /// A stream for `seed`. Every seed is valid, including zero.
    pub fn new(seed: u64) -> Self {
        let mut split = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut split)) }
    }

    /// A separate stream for part `index` of the work of this seed, independent of its siblings.
    pub fn stream(seed: u64, index: u64) -> Self {
        let mut split = seed ^ index.wrapping_mul(0xD134_2543_DE82_EF95);
        Self::new(split_mix(&mut split))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform over `0..bound`, without bias (Lemire, 2019).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no member");
        let mut wide = u128::from(self.next_u64()) * u128::from(bound);
        if (wide as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (wide as u64) < threshold {
                wide = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// Uniform over `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `numerator / denominator`.
    #[inline]
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Brings `items` into random order, each order with the same chance.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_numbers() {
        let mut state = 1_234_567;
        let numbers: [u64; 5] = std::array::from_fn(|_| split_mix(&mut state));
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn a_shuffle_comes_to_every_order_about_equally_often() {
        let mut prng = Prng::new(3);
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [1, 2, 3];
            prng.shuffle(&mut items);
            *orders.entry(items).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1_150).contains(count)), "{orders:?}");
    }

    #[test]
    fn xoshiro_gives_the_published_numbers() {
        let mut prng = Prng { state: [1, 2, 3, 4] };
        let numbers: [u64; 10] = std::array::from_fn(|_| prng.next_u64());
        assert_eq!(
            numbers,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162,
                14_011_001_112_246_962_877,
                12_406_186_145_184_390_807,
                15_849_039_046_786_891_736,
                10_450_023_813_501_588_000,
            ]
        );
    }

    #[test]
    fn a_seed_fills_the_state_with_split_mix() {
        let mut split = 42;
        let state = std::array::from_fn(|_| split_mix(&mut split));
        assert_eq!(Prng::new(42).state, state);
        assert_ne!(Prng::new(0).state, [0; 4]);
    }

    #[test]
    fn streams_of_one_seed_differ_from_each_other_and_from_the_seed() {
        let mut first: Vec<u64> = (0..1000).map(|index| Prng::stream(7, index).next_u64()).collect();
        first.push(Prng::new(7).next_u64());
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 1001);
        assert_eq!(Prng::stream(7, 3).next_u64(), Prng::stream(7, 3).next_u64());
    }

    /// The distance of the chi-square statistic of `counts` from its mean under uniformity, in standard deviations.
    fn deviation_from_uniform(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let chi_square: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        let freedom = (counts.len() - 1) as f64;
        (chi_square - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        for bound in [2, 3, 7, 10, 64, 1000] {
            let mut prng = Prng::new(bound);
            let mut counts = vec![0; bound as usize];
            (0..1000 * bound).for_each(|_| counts[prng.below(bound) as usize] += 1);
            let deviation = deviation_from_uniform(&counts);
            assert!(deviation.abs() < 4.0, "bound {bound}: {deviation} standard deviations");
        }
    }

    #[test]
    fn a_bound_near_the_width_of_a_word_shows_no_bias() {
        // Without rejection one third of this range would occur twice as often as the others.
        let bound = 3 << 62;
        let mut prng = Prng::new(1);
        let mut thirds = [0; 3];
        (0..30_000).for_each(|_| thirds[(prng.below(bound) >> 62) as usize] += 1);
        assert!(deviation_from_uniform(&thirds).abs() < 4.0, "{thirds:?}");
    }

    #[test]
    fn units_are_uniform_and_below_one() {
        let mut prng = Prng::new(5);
        let mut counts = [0; 100];
        for _ in 0..100_000 {
            let unit = prng.unit();
            assert!((0.0..1.0).contains(&unit));
            counts[(unit * 100.0) as usize] += 1;
        }
        assert!(deviation_from_uniform(&counts).abs() < 4.0);
    }

    #[test]
    fn a_chance_comes_true_as_often_as_it_says() {
        let mut prng = Prng::new(9);
        let hits = (0..100_000).filter(|_| prng.chance(3, 10)).count() as f64;
        // The standard deviation of the count is sqrt(100000 * 0.3 * 0.7) = 145.
        assert!((hits - 30_000.0).abs() < 4.0 * 145.0, "{hits}");
        assert!((0..1000).all(|_| prng.chance(1, 1) && !prng.chance(0, 1)));
    }

    #[test]
    fn the_chi_square_test_notices_a_bias() {
        assert!(deviation_from_uniform(&[11_000, 10_000, 9_000]) > 4.0);
    }
}
