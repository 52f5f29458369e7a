//! Adaptive: the routine whose pre-reads complete sooner and delay queued writes less.
//!
//! Source: paper 000, section III-B, Eq. 4 to 9 and Algorithm 1. A routine that reads from the members in its set costs the
//! longest wait of one of its pre-reads, `t_R * (R_i + 1) + T_GC,i`, plus the delay that it causes: one read for each queued
//! write of each of these members. RCW is chosen when RMW costs more; a tie takes RMW.
//!
//! The paper adjusts t_R "in response to the respective LDPC levels" (section IV-A) and does not say how. Choice: queued
//! operations count the member's smoothed recent read time, the pre-read itself the time of the page that it reads.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_core::bits::columns;
use stripewise_core::member_load::MemberLoad;

use super::{Choice, Cost, Reason, Routine};

/// The value of T_GC for a member that collects garbage; for others it is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tgc {
    /// The average time of a collection, as paper 000 prints it (Eq. 3).
    #[default]
    Average,
    /// The remaining time of the current collection, as in the public fork of the paper's simulator.
    Remaining,
}

/// The chosen routine, the reason, and the terms of both costs in nanoseconds.
#[inline]
pub(crate) fn choose(
    choice: &Choice<'_>,
    tgc: Tgc,
    state: &impl MemberLoad,
) -> (Routine, Reason, Cost, Cost) {
    let rmw = cost(choice, choice.rmw, tgc, state);
    let rcw = cost(choice, choice.rcw, tgc, state);
    let (routine, reason) = match rmw.sum().cmp(&rcw.sum()) {
        std::cmp::Ordering::Greater => (Routine::Rcw, Reason::LowerCost),
        std::cmp::Ordering::Less => (Routine::Rmw, Reason::LowerCost),
        std::cmp::Ordering::Equal => (Routine::Rmw, Reason::EqualCost),
    };
    (routine, reason, rmw, rcw)
}

#[inline]
fn cost(choice: &Choice<'_>, mask: u64, tgc: Tgc, state: &impl MemberLoad) -> Cost {
    let Choice { geometry, place, loads, times, old, .. } = *choice;
    let mut cost = Cost::default();
    for column in columns(mask) {
        let member = geometry.member(place, column);
        let own = state.read_ns(member, place.page, old >> column & 1 != 0);
        let (queued, own) = read_times(times.read_ns(member), own);
        let gc = match tgc {
            Tgc::Average => state.gc_average_ns(member),
            Tgc::Remaining => state.gc_remaining_ns(member),
        };
        let reads = u64::from(loads.reads[member.index()]);
        cost.update = cost.update.max(queued * reads + own + gc);
        cost.delay += queued * u64::from(loads.writes[member.index()]);
    }
    cost
}

/// The time of a queued read and that of the pre-read. If only one is known, it is used for both; if neither is, reads count
/// as 1 ns each, so that queue lengths decide.
#[inline]
fn read_times(smoothed: Option<Nanos>, own: Option<Nanos>) -> (Nanos, Nanos) {
    let queued = smoothed.or(own).unwrap_or(1);
    (queued, own.unwrap_or(queued))
}

#[cfg(test)]
mod tests {
    use stripewise_core::ids::MemberNo;

    use super::*;
    use crate::update::tests::{FakeLoad, Setting};

    const READ: Nanos = 45_000;

    /// Five data chunks and parity on the sixth member, D0 updated.
    fn setting() -> Setting {
        Setting::new(6, 8192, &[0, 1, 0, 0, 0, 3], &[6, 1, 0, 1, 0, 8])
    }

    fn decide(setting: &Setting, tgc: Tgc, load: &FakeLoad) -> (Routine, Reason, Cost, Cost) {
        choose(&setting.choice(0b10_0001, 0b01_1110), tgc, load)
    }

    #[test]
    fn few_pre_reads_into_long_queues_cost_more_than_many_into_short_ones() {
        let (routine, reason, rmw, rcw) = decide(&setting(), Tgc::Average, &FakeLoad::reading(READ));
        assert_eq!((routine, reason), (Routine::Rcw, Reason::LowerCost));
        assert_eq!(rmw, Cost { update: 4 * READ, delay: 14 * READ }, "0.810 ms in all");
        assert_eq!(rcw, Cost { update: 2 * READ, delay: 2 * READ }, "0.180 ms in all");
    }

    #[test]
    fn a_collection_in_the_way_counts_by_its_average_or_by_its_remaining_time() {
        let mut load = FakeLoad::reading(READ);
        load.remaining[3] = 20_000_000;
        let (routine, _, _, rcw) = decide(&setting(), Tgc::Remaining, &load);
        assert_eq!((routine, rcw.update), (Routine::Rmw, READ + 20_000_000));
        assert_eq!(decide(&setting(), Tgc::Average, &load).0, Routine::Rcw, "no average is reported");
        load.average[3] = 18_400_000;
        let (routine, _, _, rcw) = decide(&setting(), Tgc::Average, &load);
        assert_eq!((routine, rcw.update), (Routine::Rmw, READ + 18_400_000));
    }

    #[test]
    fn equal_costs_take_rmw() {
        let idle = Setting::new(6, 8192, &[0; 6], &[0; 6]);
        let (routine, reason, rmw, rcw) = decide(&idle, Tgc::Average, &FakeLoad::reading(READ));
        assert_eq!((routine, reason, rmw), (Routine::Rmw, Reason::EqualCost, rcw));
    }

    #[test]
    fn queued_operations_count_the_smoothed_time_and_the_pre_read_its_own() {
        let mut slow = setting();
        for _ in 0..200 {
            slow.times.observe_read(MemberNo::new(5), 819_000);
        }
        let (_, _, rmw, _) = decide(&slow, Tgc::Average, &FakeLoad::reading(READ));
        assert_eq!(rmw.update, 3 * 819_000 + READ);
        // Member 0 was never read: it counts the average of all members.
        assert_eq!(rmw.delay, 6 * 819_000 + 8 * 819_000);
    }

    #[test]
    fn where_no_time_is_known_queues_decide() {
        let (routine, _, rmw, rcw) = decide(&setting(), Tgc::Average, &FakeLoad::nothing());
        assert_eq!((routine, rmw.sum(), rcw.sum()), (Routine::Rcw, 18, 4));
    }
}
