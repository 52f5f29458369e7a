//! How unevenly accesses fall on pages.

use serde::{Deserialize, Serialize};

/// One point of the curve: the hottest `pages` of all touched pages take `accesses` of all accesses, both as shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkewPoint {
    /// Share of the touched pages.
    pub pages: f64,
    /// Share of the page accesses.
    pub accesses: f64,
}

/// Shares of the pages for which the curve has a point, in thousandths.
const THOUSANDTHS: [usize; 24] = [
    1, 2, 5, 10, 20, 30, 40, 50, 75, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 950,
    1000,
];

/// The curve over `descending` counts, one a page.
pub(super) fn curve(descending: &[u32]) -> Vec<SkewPoint> {
    let total: u64 = descending.iter().map(|&count| u64::from(count)).sum();
    let (mut done, mut sum) = (0, 0u64);
    let mut points = Vec::new();
    for thousandths in THOUSANDTHS {
        // No overflow: there are no more pages than memory holds counts.
        let upto = (descending.len() * thousandths).div_ceil(1000);
        sum += descending[done..upto].iter().map(|&count| u64::from(count)).sum::<u64>();
        done = upto;
        if total > 0 {
            points
                .push(SkewPoint { pages: thousandths as f64 / 1000.0, accesses: sum as f64 / total as f64 });
        }
    }
    points
}

/// Shares of all accesses that the hottest page, the 10 and the 100 hottest take, over `descending` counts.
pub(super) fn hottest(descending: &[u32]) -> [f64; 3] {
    let sum = |most: usize| descending.iter().take(most).map(|&count| u64::from(count)).sum::<u64>();
    let total = sum(descending.len()).max(1);
    [1, 10, 100].map(|most| sum(most) as f64 / total as f64)
}

/// Share of all accesses that the hottest fifth of the pages takes (rounded up to whole pages), and the Zipf
/// exponent that fits. Sorts `accesses`, one count a touched page. Both are zero for an empty slice.
pub(super) fn skew(accesses: &mut [u32]) -> (f64, f64) {
    accesses.sort_unstable_by(|a, b| b.cmp(a));
    let total: u64 = accesses.iter().map(|&count| u64::from(count)).sum();
    if total == 0 {
        return (0.0, 0.0);
    }
    let hot: u64 = accesses[..accesses.len().div_ceil(5)].iter().map(|&count| u64::from(count)).sum();
    (hot as f64 / total as f64, zipf_exponent(accesses, total))
}

/// The exponent theta whose Zipf law over the pages has the same mean logarithm of the rank as the counts, sorted
/// in descending order, have: the maximum-likelihood estimate (Clauset, Shalizi and Newman, 2009, eq. 3.5, for a
/// finite support). Ranks are those observed, so a trace with few accesses a page looks more skewed than its source.
fn zipf_exponent(descending: &[u32], total: u64) -> f64 {
    let pages = descending.len();
    if pages < 2 {
        return 0.0;
    }
    // The sum of ln(rank) over ranks of equal count is a difference of log-factorials.
    let mut weighted = 0.0;
    let mut rank = 0;
    for run in descending.chunk_by(|a, b| a == b) {
        let ln_product = libm::lgamma((rank + run.len() + 1) as f64) - libm::lgamma((rank + 1) as f64);
        weighted += f64::from(run[0]) * ln_product;
        rank += run.len();
    }
    let observed = weighted / total as f64;
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if mean_ln_rank(middle, pages) > observed { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Mean of ln(rank) under a Zipf law of exponent `theta` over `pages` ranks: the first thousand ranks summed, the
/// rest integrated over ln(rank) by Simpson's rule.
fn mean_ln_rank(theta: f64, pages: usize) -> f64 {
    const HEAD: usize = 1000;
    let (mut mass, mut weighted) = (0.0, 0.0);
    for rank in 1..=pages.min(HEAD) {
        let ln = libm::log(rank as f64);
        let p = libm::exp(-theta * ln);
        mass += p;
        weighted += p * ln;
    }
    if pages > HEAD {
        const STEPS: usize = 256;
        let (from, to) = (libm::log(HEAD as f64 + 0.5), libm::log(pages as f64 + 0.5));
        let width = (to - from) / STEPS as f64;
        for step in 0..=STEPS {
            let t = from + width * step as f64;
            let weight = if step == 0 || step == STEPS { 1.0 } else { 2.0 + 2.0 * (step % 2) as f64 };
            let p = libm::exp((1.0 - theta) * t) * weight * width / 3.0;
            mass += p;
            weighted += p * t;
        }
    }
    weighted / mass
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pages_have_no_skew() {
        let (hot, theta) = skew(&mut [7; 1000]);
        assert!((hot - 0.2).abs() < 1e-12);
        assert!(theta.abs() < 1e-6, "{theta}");
    }

    #[test]
    fn four_fifths_on_one_fifth_is_seen() {
        let mut accesses = vec![1; 80];
        accesses.extend([16; 20]);
        assert!((skew(&mut accesses).0 - 0.8).abs() < 1e-12);
    }

    #[test]
    fn the_exponent_of_an_exact_zipf_law_is_found() {
        for theta in [0.5, 0.99, 1.0, 1.2] {
            let mut accesses: Vec<u32> =
                (1..=20_000).map(|rank| (1e7 * libm::pow(f64::from(rank), -theta)) as u32 + 1).collect();
            accesses.reverse();
            let (_, fitted) = skew(&mut accesses);
            assert!((fitted - theta).abs() < 0.01, "{theta} fitted as {fitted}");
        }
    }

    #[test]
    fn the_integrated_tail_agrees_with_the_sum() {
        for theta in [0.0, 0.7, 1.0, 2.0] {
            let (mut mass, mut weighted) = (0.0, 0.0);
            for rank in 1..=50_000 {
                let ln = libm::log(f64::from(rank));
                let p = libm::exp(-theta * ln);
                mass += p;
                weighted += p * ln;
            }
            let (exact, fast) = (weighted / mass, mean_ln_rank(theta, 50_000));
            assert!((exact - fast).abs() < 1e-6, "{theta}: {exact} {fast}");
        }
    }

    #[test]
    fn the_curve_rises_to_the_whole_and_passes_through_the_hottest_fifth() {
        let mut accesses = vec![1; 800];
        accesses.extend([16; 200]);
        let (hot, _) = skew(&mut accesses);
        let points = curve(&accesses);
        let at = |pages| points.iter().find(|point| point.pages == pages).expect("a point").accesses;
        assert_eq!((at(0.2), at(1.0)), (hot, 1.0));
        assert!((at(0.1) - 0.4).abs() < 1e-12 && (at(0.6) - 0.9).abs() < 1e-12);
        assert!(curve(&[]).is_empty());
    }

    #[test]
    fn nothing_has_no_skew() {
        assert_eq!(skew(&mut []), (0.0, 0.0));
        assert_eq!(skew(&mut [3]), (1.0, 0.0));
    }
}
