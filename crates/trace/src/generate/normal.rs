//! Normally distributed addresses: paper 001's Synthetic workload, "addresses are accessed in normal distribution
//! with 20 % of addresses being accessed by 80 % of requests" (section V-A), writes only.

use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use super::synthetic::{ALIGN, ARRIVAL, Law, REQUESTS, Range, SIZE, SPAN, START, VOLUME, synthetic};
use crate::TraceError;

const WRITE: Key = Key { name: "write", default: "1", help: "the share of writes, such as `0.6` or `60%`" };
const HOT: Key =
    Key { name: "hot", default: "20%", help: "the share of addresses around the middle that is hot" };
const TRAFFIC: Key =
    Key { name: "traffic", default: "80%", help: "the share of requests that the hot part takes" };

pub(super) const ABOUT: About = About {
    name: "normal",
    summary: "paper 001's Synthetic: normally distributed addresses, 20 % of them take 80 % of the requests",
    example: "normal:hot=20%,traffic=80%,span=1GiB,requests=2M",
    keys: &[REQUESTS, WRITE, SIZE, SPAN, HOT, TRAFFIC, ALIGN, ARRIVAL, START, VOLUME],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let (hot, traffic) = (keys.share("hot")?, keys.share("traffic")?);
    if hot <= 0.0 || traffic >= 1.0 || traffic <= hot {
        return Err(keys.fail("traffic", "the hot part must take more than its own share and less than all"));
    }
    // The hot share lies around the middle of the addresses: hot/2 to each side, which is z standard deviations.
    let sigma = 0.5 * hot / deviations(traffic);
    synthetic(keys, |_, _| Ok(Normal { sigma, spare: None }))
}

/// The number of standard deviations to each side of the mean that hold `share` of a normal distribution.
fn deviations(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle: f64 = 0.5 * (low + high);
        if libm::erf(middle * std::f64::consts::FRAC_1_SQRT_2) < share { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// A normal distribution around the middle of the range. A value outside the range is drawn again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Normal {
    /// Standard deviation as a share of the range.
    sigma: f64,
    spare: Option<f64>,
}

impl Normal {
    /// A standard normal variate by the polar method (Marsaglia and Bray, 1964), which yields two at a time.
    #[inline]
    fn standard(&mut self, prng: &mut Prng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * prng.unit() - 1.0, 2.0 * prng.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let scale = libm::sqrt(-2.0 * libm::log(square) / square);
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

impl Law for Normal {
    #[inline]
    fn place(&mut self, range: &Range, bytes: u32, prng: &mut Prng) -> u64 {
        let slots = range.slots(bytes);
        loop {
            let at = 0.5 + self.sigma * self.standard(prng);
            if (0.0..1.0).contains(&at) {
                let slot = ((at * slots as f64) as u64).min(slots - 1);
                return range.start + slot * range.grain(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_deviation_follows_from_the_eighty_twenty_rule() {
        // 80 % of a normal distribution lie within 1.2816 standard deviations: sigma = 0.1 / 1.2816 = 0.0780.
        assert!((deviations(0.8) - 1.281_551_565_544_6).abs() < 1e-9);
        assert!((0.5 * 0.2 / deviations(0.8) - 0.078).abs() < 1e-4);
    }

    #[test]
    fn variates_have_mean_zero_and_variance_one() {
        let (mut law, mut prng) = (Normal { sigma: 1.0, spare: None }, Prng::new(4));
        let draws: Vec<f64> = (0..200_000).map(|_| law.standard(&mut prng)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}
