//! The health of members: errors in a decaying window, and their consequences. All in integers, so that it can be
//! replayed.
//!
//! Source of the limit: Linux md's `max_read_errors`, 20, halved for each hour without errors (its
//! `drivers/md/raid10.c`, `check_decay_read_errors`). ZFS counts 10 errors in 10 minutes as a fault in the same way.

use stripewise_base::Nanos;
use stripewise_engine::Troubles;

/// Time in which the weight of an error halves.
const HALF_LIFE_NS: Nanos = 3_600_000_000_000;
/// Steps of a half-life in which counts decay.
const STEPS: u64 = 64;
/// The factor of a step: 2^(-1/64), in units of 2^-32.
const LEFT: u64 = 4_248_701_965;
/// Fractional bits of a count.
const FRACTION: u32 = 16;
/// Most errors that a window counts: far beyond every limit, and far from overflow.
const COUNT_MAX: u64 = 1 << 30;
/// Recent errors at which a member is degrading if no limit is set: half of the default limit.
const DEGRADING: u64 = 10;

/// The default limit: md's.
pub const ERROR_LIMIT: u64 = 20;

/// A count that halves in each half-life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decaying {
    /// In units of 2^-16.
    count: u64,
    /// The step of the last update.
    step: u64,
}

impl Decaying {
    /// Adds `errors`.
    pub(crate) fn add(&mut self, now: Nanos, errors: u64) {
        self.decay(now);
        self.count = (self.count + (errors.min(COUNT_MAX) << FRACTION)).min(COUNT_MAX << FRACTION);
    }

    /// The current count, rounded.
    pub(crate) fn at(mut self, now: Nanos) -> u64 {
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
pub(crate) struct Recent {
    pub(crate) read: u64,
    pub(crate) write: u64,
    pub(crate) checksum: u64,
    pub(crate) timeouts: u64,
    /// All of them, where errors near each other within a minute count as one: the limit applies to these.
    pub(crate) spots: u64,
}

impl Recent {
    /// Errors of all kinds.
    pub(crate) fn all(&self) -> u64 {
        self.read + self.write + self.checksum + self.timeouts
    }
}

/// The health of a member.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberHealth {
    /// The counters at the last look.
    pub(crate) seen: Troubles,
    windows: [Decaying; 5],
    /// Whether it is degrading because of its errors.
    pub(crate) is_degrading: bool,
    /// Whether it was reported as beyond the limit, with the reason that keeps it in service.
    pub(crate) is_over_told: bool,
    /// Why its file will be lost when the server ends.
    pub(crate) unlinked: Option<String>,
    /// The SMART verdict: whether it passed.
    pub(crate) smart: Option<bool>,
    /// Number of its two superblocks that are damaged.
    pub(crate) damaged_superblocks: u64,
}

impl MemberHealth {
    /// The health of another device in its place, with these counters.
    pub(crate) fn fresh(seen: Troubles) -> Self {
        Self { seen, ..Self::default() }
    }

    /// Takes the current counters. Returns how much they grew.
    pub(crate) fn take(&mut self, now: Nanos, found: Troubles) -> Troubles {
        let grown = Troubles {
            read_errors: found.read_errors - self.seen.read_errors,
            write_errors: found.write_errors - self.seen.write_errors,
            mismatches: found.mismatches - self.seen.mismatches,
            timeouts: found.timeouts - self.seen.timeouts,
            spots: found.spots - self.seen.spots,
            last_page: found.last_page,
            repairs: found.repairs - self.seen.repairs,
            slow: found.slow - self.seen.slow,
        };
        let by_kind = [grown.read_errors, grown.write_errors, grown.mismatches, grown.timeouts, grown.spots];
        for (window, errors) in self.windows.iter_mut().zip(by_kind) {
            window.add(now, errors);
        }
        self.seen = found;
        grown
    }

    /// Its recent errors.
    pub(crate) fn recent(&self, now: Nanos) -> Recent {
        let [read, write, checksum, timeouts, spots] = self.windows.map(|window| window.at(now));
        Recent { read, write, checksum, timeouts, spots }
    }

    /// Decides whether it is degrading: from half of the limit on, until the count falls to a quarter. Returns whether
    /// that changed.
    pub(crate) fn judge(&mut self, now: Nanos, limit: Option<u64>) -> bool {
        let from = limit.map_or(DEGRADING, |limit| limit.div_ceil(2)).max(1);
        let errors = self.recent(now).all();
        let is_degrading = errors >= if self.is_degrading { from.div_ceil(2) } else { from };
        std::mem::replace(&mut self.is_degrading, is_degrading) != is_degrading
    }

    /// Whether any sign indicates that it may be lost soon.
    pub(crate) fn is_at_risk(&self) -> bool {
        self.is_degrading || self.unlinked.is_some() || self.smart == Some(false)
    }

    /// Whether its health changes with time alone.
    pub(crate) fn is_decaying(&self) -> bool {
        self.is_degrading || self.is_over_told
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

    fn errors(read_errors: u64, spots: u64) -> Troubles {
        Troubles { read_errors, spots, ..Troubles::default() }
    }

    #[test]
    fn a_member_degrades_from_half_of_the_limit_on_and_recovers_at_a_quarter() {
        let mut health = MemberHealth::default();
        health.take(0, errors(9, 9));
        assert!(!health.judge(0, Some(20)) && !health.is_degrading);
        health.take(0, errors(10, 10));
        assert!(health.judge(0, Some(20)) && health.is_degrading);
        assert!(!health.judge(HOUR / 2, Some(20)), "no change at 7 errors");
        assert!(health.judge(HOUR * 3 / 2, Some(20)) && !health.is_degrading, "4 errors are left");
    }

    #[test]
    fn what_one_kind_counts_is_distinguished_from_the_others() {
        let mut health = MemberHealth::default();
        let found = Troubles {
            read_errors: 5,
            write_errors: 1,
            mismatches: 3,
            timeouts: 2,
            spots: 4,
            ..errors(0, 0)
        };
        assert_eq!(health.take(0, found).mismatches, 3);
        let recent = health.recent(0);
        assert_eq!(recent, Recent { read: 5, write: 1, checksum: 3, timeouts: 2, spots: 4 });
        assert_eq!(recent.all(), 11);
        assert_eq!(health.take(0, found).errors(), 0, "they are counted once");
        assert_eq!(MemberHealth::fresh(found).recent(0).all(), 0, "another device has none");
    }
}
