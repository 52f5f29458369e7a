//! What one scheme gains over another.

use crate::kind::Kind;

/// By which share one value is less than another: 0.25 is a quarter less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// 1 minus the geometric mean of the ratios of all seeds; of one seed what it measured.
    pub typical: f64,
    /// The ends of its Student interval at 95 %; none for one seed.
    pub interval: Option<(f64, f64)>,
}

impl Gain {
    /// Of one gain for each seed; none without seeds, or where it is infinite.
    pub fn of(seeds: &[f64]) -> Option<Self> {
        let found = Kind::Gain.interval(seeds);
        let typical = found.map_or(*seeds.first()?, |[_, typical, _]| typical);
        typical.is_finite().then(|| Self { typical, interval: found.map(|[low, _, high]| (low, high)) })
    }

    pub(crate) fn text(self) -> String {
        let percent = |gain: f64| gain * 100.0;
        match self.interval {
            Some((low, high)) if low < high => {
                format!("{:.1} [{:.1}, {:.1}] %", percent(self.typical), percent(low), percent(high))
            }
            _ => format!("{:.1} %", percent(self.typical)),
        }
    }
}
