//! The arrival times of generated requests.

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_base::units::parse_duration;

use super::keys::Keys;
use crate::TraceError;

/// The values of the key `arrival`.
pub(super) const HELP: &str = "when requests arrive: `none` (all at time 0, for closed replay), `fixed:100us`, \
    `uniform:0..1ms` or `poisson:100us` (exponential intervals of that mean)";

/// The process of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arrival {
    /// All at time zero.
    None,
    /// At a fixed interval in nanoseconds.
    Fixed(Nanos),
    /// Independent intervals, uniform from the first to the second.
    Uniform(Nanos, Nanos),
    /// Independent exponential intervals of this mean in nanoseconds.
    Poisson(f64),
}

impl Arrival {
    /// Parses the key `arrival`.
    pub(super) fn parse(keys: &Keys) -> Result<Self, TraceError> {
        let fail = || keys.fail("arrival", format!("expected {HELP}"));
        let text = keys.text("arrival");
        let (law, value) = text.split_once(':').unwrap_or((text, ""));
        let duration = |text: &str| parse_duration(text).map_err(|error| keys.fail("arrival", error));
        match law {
            "none" if value.is_empty() => Ok(Self::None),
            "fixed" => duration(value).map(Self::Fixed),
            "poisson" => duration(value).map(|mean| Self::Poisson(mean as f64)),
            "uniform" => {
                let (from, to) = value.split_once("..").ok_or_else(fail)?;
                let (from, to) = (duration(from)?, duration(to)?);
                if from > to { Err(fail()) } else { Ok(Self::Uniform(from, to)) }
            }
            _ => Err(fail()),
        }
    }

    /// The time from one request to the next.
    #[inline]
    pub(crate) fn interval(self, prng: &mut Prng) -> Nanos {
        match self {
            Self::None => 0,
            Self::Fixed(interval) => interval,
            Self::Uniform(from, to) => match (to - from).checked_add(1) {
                Some(width) => from + prng.below(width),
                None => prng.next_u64(),
            },
            Self::Poisson(mean) => exponential(mean, prng) as Nanos,
        }
    }
}

/// An exponential variate, rounded by the caller: half is added so that truncation rounds.
#[inline]
fn exponential(mean: f64, prng: &mut Prng) -> f64 {
    // 1 - u lies in (0, 1], where the logarithm is finite.
    0.5 - mean * libm::log(1.0 - prng.unit())
}
