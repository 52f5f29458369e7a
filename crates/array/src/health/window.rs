//! Recent errors: counts that halve in each hour. All in integers, so that they can be replayed.

use stripewise_base::Nanos;

/// Time in which the weight of an error halves.
pub(super) const HALF_LIFE_NS: Nanos = 3_600_000_000_000;
/// Steps of a half-life in which counts decay.
const STEPS: u64 = 64;
/// The factor of a step: 2^(-1/64), in units of 2^-32.
const LEFT: u64 = 4_248_701_965;
/// Fractional bits of a count.
const FRACTION: u32 = 16;
/// Most errors that a window counts: far beyond every limit, and far from overflow.
const COUNT_MAX: u64 = 1 << 30;

/// A count that halves in each half-life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decaying {
    /// In units of 2^-16.
    count: u64,
    /// The step of the last update.
    step: u64,
}

impl Decaying {
    /// Adds `errors`.
    pub(super) fn add(&mut self, now: Nanos, errors: u64) {
        self.decay(now);
        self.count = (self.count + (errors.min(COUNT_MAX) << FRACTION)).min(COUNT_MAX << FRACTION);
    }

    /// The current count, rounded.
    pub(super) fn at(mut self, now: Nanos) -> u64 {
        self.decay(now);
        (self.count + (1 << (FRACTION - 1))) >> FRACTION
    }

    fn decay(&mut self, now: Nanos) {
        let step = now / (HALF_LIFE_NS / STEPS);
        let passed = step.saturating_sub(self.step);
        self.step = self.step.max(step);
        self.count = self.count.checked_shr((passed / STEPS).min(64) as u32).unwrap_or(0);
        for _ in 0..passed % STEPS {
            self.count = (self.count * LEFT) >> 32;
        }
    }
}

/// Recent errors of a member, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// Reads that it answered with an error.
    pub read: u64,
    /// Writes, trims and flushes that it answered with an error.
    pub write: u64,
    /// Reads that it answered with content that does not match its checksum.
    pub checksum: u64,
    /// Operations that it did not answer in time.
    pub timeouts: u64,
    /// Errors that the member itself reported, and timeouts, where errors near each other within a minute count as one: the
    /// limit applies to these.
    pub spots: u64,
}

impl Recent {
    /// Errors of all kinds.
    pub fn all(&self) -> u64 {
        self.read + self.write + self.checksum + self.timeouts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = HALF_LIFE_NS;

    #[test]
    fn a_count_halves_in_an_hour_however_often_it_is_looked_at() {
        let mut seldom = Decaying::default();
        seldom.add(0, 1000);
        let mut often = seldom;
        for minute in 1..=60 {
            often.add(minute * HOUR / 60, 0);
        }
        assert_eq!((seldom.at(HOUR), often.at(HOUR)), (500, 500));
        assert_eq!([seldom.at(HOUR / 2), seldom.at(2 * HOUR), seldom.at(100 * HOUR)], [707, 250, 0]);
        assert_eq!(seldom.at(Nanos::MAX), 0);
        seldom.add(HOUR, u64::MAX);
        assert_eq!(seldom.at(HOUR), COUNT_MAX, "it overflows nowhere");
    }
}
