//! Measures of uneven distribution over members: coefficient of variation and χ² test of uniformity (paper 000,
//! section II-C and appendix A).

/// Standard deviation of the population divided by the mean; 0 if all sums are 0.
pub fn variation(sums: impl ExactSizeIterator<Item = u64> + Clone) -> f64 {
    let count = sums.len() as f64;
    let mean = sums.clone().sum::<u64>() as f64 / count;
    if mean == 0.0 || count == 0.0 {
        return 0.0;
    }
    let squares: f64 = sums.map(|sum| sum as f64 - mean).map(|gap| gap * gap).sum();
    (squares / count).sqrt() / mean
}

/// χ² = Σ (O - E)² / E of `sums` against the uniform distribution, where E is their mean; 0 if all sums are 0. It has
/// one degree of freedom less than there are sums. Sums over many samples of slowly changing queues are far from
/// independent counts, so the test overstates the evidence: compare values, do not trust probabilities.
pub fn chi2(sums: impl ExactSizeIterator<Item = u64> + Clone) -> f64 {
    let expected = sums.clone().sum::<u64>() as f64 / sums.len() as f64;
    if expected == 0.0 || sums.len() == 0 {
        return 0.0;
    }
    sums.map(|sum| sum as f64 - expected).map(|gap| gap * gap).sum::<f64>() / expected
}

/// Probability that χ² with `freedom` degrees of freedom exceeds `value`. Closed forms: for even degrees e^(-v/2) Σ
/// (v/2)^k / k!, for odd degrees erfc √(v/2) + e^(-v/2) Σ (v/2)^(k - 1/2) / Γ(k + 1/2).
pub fn chi2_exceeds(freedom: u32, value: f64) -> f64 {
    if freedom == 0 || value <= 0.0 {
        return if freedom == 0 { 0.0 } else { 1.0 };
    }
    let half = value / 2.0;
    let is_odd = freedom % 2 == 1;
    // √π, from which Γ(3/2) = √π / 2.
    let root_of_pi = core::f64::consts::PI.sqrt();
    let (mut exceeds, mut term) = if is_odd {
        (libm::erfc(half.sqrt()), libm::exp(-half) * half.sqrt() * 2.0 / root_of_pi)
    } else {
        (0.0, libm::exp(-half))
    };
    for step in 0..freedom / 2 {
        exceeds += term;
        term *= half / (f64::from(step) + if is_odd { 1.5 } else { 1.0 });
    }
    exceeds.min(1.0)
}

/// The value that χ² with `freedom` degrees of freedom exceeds with this probability. Uniformity is rejected above
/// it.
///
/// # Panics
/// If the probability is not between 0 and 1, or there is no degree of freedom.
pub fn chi2_critical(freedom: u32, probability: f64) -> f64 {
    assert!(freedom > 0 && 0.0 < probability && probability < 1.0, "a probability between 0 and 1");
    let (mut low, mut high) = (0.0, 1.0);
    while chi2_exceeds(freedom, high) > probability {
        high *= 2.0;
    }
    // Enough halvings to reach the precision of a double.
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if chi2_exceeds(freedom, middle) > probability { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_means_of_five_ones_and_a_seven_vary_by_1_1180() {
        // Mean 2, population deviation √5 = 2.2361.
        assert!((variation([1, 1, 1, 1, 1, 7].into_iter()) - 1.118_034).abs() < 1e-6);
        assert_eq!(variation([3; 5].into_iter()), 0.0, "equal sums do not vary");
        assert_eq!(variation([0; 5].into_iter()), 0.0, "nor does what was never blocked");
    }

    #[test]
    fn chi_square_of_five_hundreds_and_a_160_is_27_27() {
        // E = 110; 5 · 10²/110 + 50²/110 = 3000/110.
        let found = chi2([100, 100, 100, 100, 100, 160].into_iter());
        assert!((found - 27.272_727).abs() < 1e-6 && found > chi2_critical(5, 0.001));
        assert_eq!(chi2([0; 6].into_iter()), 0.0);
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Any statistics book: χ² at 0.001, 0.01 and 0.05.
        let table = [
            (1, 0.05, 3.841),
            (1, 0.001, 10.828),
            (2, 0.05, 5.991),
            (4, 0.01, 13.277),
            (5, 0.001, 20.515),
            (7, 0.001, 24.322),
            (10, 0.05, 18.307),
            (15, 0.01, 30.578),
            (30, 0.001, 59.703),
            (63, 0.001, 103.442),
        ];
        for (freedom, probability, value) in table {
            let found = chi2_critical(freedom, probability);
            assert!((found - value).abs() < 6e-4, "{freedom} at {probability}: {found} instead of {value}");
        }
    }

    #[test]
    fn the_probability_falls_from_one_to_nothing() {
        for freedom in [1, 2, 5, 8, 63] {
            assert_eq!(chi2_exceeds(freedom, 0.0), 1.0);
            let values: Vec<f64> = (0..200).map(|step| chi2_exceeds(freedom, f64::from(step))).collect();
            assert!(values.windows(2).all(|pair| pair[0] + 1e-12 >= pair[1]), "{freedom}: it never rises");
            assert_eq!(chi2_exceeds(freedom, 1e9), 0.0);
        }
    }
}
