//! The health of a member: its recent errors, and the other signs that it may be lost soon.

use stripewise_base::Nanos;

use crate::health::ledger::Troubles;
use crate::health::window::{Decaying, Recent};

/// Recent errors at which a member is degrading if no limit is set: half of the default limit.
const DEGRADING: u64 = super::ERROR_LIMIT / 2;

/// The health of a member.
#[derive(Clone, Debug, Default)]
pub struct MemberHealth {
    /// The counters at the last look.
    seen: Troubles,
    windows: [Decaying; 5],
    is_degrading: bool,
    /// Whether it was reported as beyond the limit, with the reason that keeps it in service.
    pub(super) is_over_reported: bool,
    /// Why its file will be lost when the server ends.
    pub unlinked: Option<String>,
    /// The SMART verdict: whether it passed.
    pub smart: Option<bool>,
    /// Number of its two superblocks that are damaged.
    pub damaged_superblocks: u64,
}

impl MemberHealth {
    /// The health of another device in its place, with these counters.
    pub fn fresh(seen: Troubles) -> Self {
        Self { seen, ..Self::default() }
    }

    /// The counters at the last look.
    pub fn seen(&self) -> Troubles {
        self.seen
    }

    /// Takes the current counters. Returns how much they grew.
    pub fn take(&mut self, now: Nanos, found: Troubles) -> Troubles {
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
    pub fn recent(&self, now: Nanos) -> Recent {
        let [read, write, checksum, timeouts, spots] = self.windows.map(|window| window.at(now));
        Recent { read, write, checksum, timeouts, spots }
    }

    /// Decides whether it is degrading: from half of the limit on, until the count falls to a quarter. Returns whether
    /// that changed.
    pub fn judge(&mut self, now: Nanos, limit: Option<u64>) -> bool {
        let from = limit.map_or(DEGRADING, |limit| limit.div_ceil(2)).max(1);
        let errors = self.recent(now).all();
        let is_degrading = errors >= if self.is_degrading { from.div_ceil(2) } else { from };
        std::mem::replace(&mut self.is_degrading, is_degrading) != is_degrading
    }

    /// Whether it is degrading because of its errors.
    pub fn is_degrading(&self) -> bool {
        self.is_degrading
    }

    /// Whether any sign indicates that it may be lost soon.
    pub fn is_at_risk(&self) -> bool {
        self.is_degrading
            || self.unlinked.is_some()
            || self.smart == Some(false)
            || self.damaged_superblocks > 0
    }

    /// Whether its health changes with time alone.
    pub fn is_decaying(&self) -> bool {
        self.is_degrading || self.is_over_reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::window::HALF_LIFE_NS as HOUR;

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
