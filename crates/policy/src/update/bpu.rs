//! BPU, balanced parity update: the routine whose most loaded member is less loaded, unless the array is overloaded or the
//! difference is too small to be worth more pre-reads.
//!
//! Source: Y. Chen, Y. Xu, Y. Li, J. Xu: BPU, ICPADS 2016, according to its public prototype for Linux md (its rule and its
//! constants); paper 000, section IV-A, which compares with it. The prototype counts the outstanding reads and writes of each
//! disk in units of 4 KiB. Its array is one group of members, so the mean load here is that of the row's group.

use serde::{Deserialize, Serialize};
use stripewise_core::bits::columns;
use stripewise_core::geometry::Geometry;

use super::{Choice, Cost, Reason, Routine};

/// The weights of a queued read and a queued write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// 9 and 29, with the thresholds of the prototype.
    #[default]
    Published,
    /// The mean cell times of the reads and programs seen so far; the thresholds have the same ratio to a read as those of the
    /// prototype. The published weights until both kinds were seen.
    Scaled,
}

/// Weights of the prototype (its `BPU.h`), and its thresholds in the same unit.
const READ: u64 = 9;
const WRITE: u64 = 29;
const HEAVY: u64 = 500;
const LIGHT: u64 = 100;
const SKEW: u64 = 50;
/// The number of pre-reads by which one routine may exceed the other for the sake of balance.
const MORE_READS: u32 = 3;
/// Bytes of the prototype's unit.
const UNIT: u64 = 4096;

/// The chosen routine, the reason, and the terms of both routines: the heaviest weighted load among the members that the
/// routine reads (`update`), and the mean load of the group (`delay`).
#[inline]
pub(crate) fn choose(choice: &Choice<'_>, weights: Weights) -> (Routine, Reason, Cost, Cost) {
    let Choice { geometry, place, loads, times, .. } = *choice;
    let (read, write) = match (weights, times.mean_read_ns(), times.mean_write_ns()) {
        (Weights::Scaled, Some(read), Some(write)) => (read, write),
        _ => (READ, WRITE),
    };
    let load =
        |member: usize| read * u64::from(loads.reads[member]) + write * u64::from(loads.writes[member]);
    let group = (place.base.index()..).step_by(geometry.stride as usize).take(geometry.columns as usize);
    let sum: u64 = group.map(load).sum();
    let rmw = heaviest(choice.rmw, geometry, choice, load);
    let rcw = heaviest(choice.rcw, geometry, choice, load);
    // A load of `l` operations of a page is l * page / UNIT of the prototype's units, and `read / READ` of its weights:
    // everything is compared without dividing.
    let page = u64::from(choice.page_bytes) * READ;
    let threshold = |weight: u64| weight * read * UNIT;
    let (fewer_routine, fewer_reason) = fewer(choice);
    let count = u64::from(geometry.columns);
    let is_skewed = rmw.abs_diff(rcw) * page >= threshold(SKEW);
    let (rmw_reads, rcw_reads) = (choice.rmw.count_ones(), choice.rcw.count_ones());
    let (routine, reason) = if sum * page >= threshold(HEAVY) * count {
        (fewer_routine, Reason::Overloaded)
    } else if sum * page >= threshold(LIGHT) * count
        && !(is_skewed && rmw_reads.abs_diff(rcw_reads) <= MORE_READS)
    {
        (fewer_routine, fewer_reason)
    } else if rmw < rcw {
        (Routine::Rmw, Reason::LighterLoad)
    } else if rcw < rmw {
        (Routine::Rcw, Reason::LighterLoad)
    } else {
        (fewer_routine, fewer_reason)
    };
    let in_units = |load: u64| load * u64::from(choice.page_bytes) / UNIT;
    let cost = |heaviest: u64| Cost { update: in_units(heaviest), delay: in_units(sum) / count };
    (routine, reason, cost(rmw), cost(rcw))
}

#[inline]
fn heaviest(mask: u64, geometry: &Geometry, choice: &Choice<'_>, load: impl Fn(usize) -> u64) -> u64 {
    let loads = columns(mask).map(|column| load(geometry.member(choice.place, column).index()));
    loads.max().unwrap_or(0)
}

/// The routine with fewer pre-reads; a tie takes RCW, as in Linux md.
#[inline]
fn fewer(choice: &Choice<'_>) -> (Routine, Reason) {
    super::baseline::choose(choice, super::Tie::Rcw)
}

#[cfg(test)]
mod tests {
    use stripewise_core::ids::MemberNo;

    use super::*;
    use crate::update::tests::Setting;

    /// Eight members; `rmw` and `rcw` are the numbers of columns that each routine reads, RMW from the lowest on.
    fn decide(reads: [u32; 8], writes: [u32; 8], rmw: u32, rcw: u32) -> (Routine, Reason, Cost, Cost) {
        let setting = Setting::new(8, 4096, &reads, &writes);
        let choice = setting.choice((1 << rmw) - 1, ((1 << rcw) - 1) << rmw);
        choose(&choice, Weights::Published)
    }

    #[test]
    fn a_light_load_takes_the_lighter_members_however_many_they_are() {
        let (routine, reason, rmw, rcw) = decide([0; 8], [2, 0, 0, 0, 0, 0, 0, 0], 2, 6);
        assert_eq!((routine, reason), (Routine::Rcw, Reason::LighterLoad));
        assert_eq!((rmw.update, rcw.update, rmw.delay), (58, 0, 7), "mean 7.25");
    }

    #[test]
    fn a_normal_load_needs_skew_and_few_more_reads() {
        let writes = [6, 4, 4, 4, 4, 4, 4, 4];
        let (routine, reason, rmw, rcw) = decide([0; 8], writes, 2, 6);
        assert_eq!((routine, reason), (Routine::Rmw, Reason::FewerPreReads), "4 more reads are too many");
        assert_eq!((rmw.update, rcw.update, rmw.delay), (174, 116, 123));
        let (routine, reason, ..) = decide([0; 8], writes, 2, 5);
        assert_eq!((routine, reason), (Routine::Rcw, Reason::LighterLoad), "3 are not");
        // A skew of 29 is below 50.
        let (routine, reason, ..) = decide([0; 8], [5, 4, 4, 4, 4, 4, 4, 4], 2, 5);
        assert_eq!((routine, reason), (Routine::Rmw, Reason::FewerPreReads));
    }

    #[test]
    fn an_overloaded_array_takes_fewer_reads_whatever_the_skew() {
        let (routine, reason, ..) = decide([0; 8], [30, 18, 18, 18, 18, 18, 18, 18], 2, 5);
        assert_eq!((routine, reason), (Routine::Rmw, Reason::Overloaded));
        let (routine, reason, ..) = decide([0; 8], [17; 8], 2, 5);
        assert_eq!((routine, reason), (Routine::Rmw, Reason::FewerPreReads), "493 is below 500");
        let (routine, reason, ..) = decide([0; 8], [18; 8], 4, 4);
        assert_eq!((routine, reason), (Routine::Rcw, Reason::Overloaded), "a tie takes RCW");
    }

    #[test]
    fn a_page_of_8_kib_is_two_units() {
        let setting = Setting::new(8, 8192, &[0; 8], &[9; 8]);
        let choice = setting.choice(0b11, 0b1_1100);
        let (_, reason, cost, _) = choose(&choice, Weights::Published);
        assert_eq!((reason, cost.update), (Reason::Overloaded, 522));
    }

    #[test]
    fn scaled_weights_are_the_cell_times_seen_and_thresholds_follow_the_read() {
        // 45 us and 700 us: a write is 15.6 reads, not 3.2. Heavy is 500 / 9 = 55.6 reads of load, 3.57 writes.
        let mut setting = Setting::new(8, 4096, &[0; 8], &[4; 8]);
        let verdict = |setting: &Setting| choose(&setting.choice(0b11, 0b1_1100), Weights::Scaled).1;
        assert_eq!(verdict(&setting), Reason::FewerPreReads, "nothing seen: 116 is normal, published");
        setting.times.observe_read(MemberNo::new(0), 45_000);
        setting.times.observe_write(700_000);
        assert_eq!(verdict(&setting), Reason::Overloaded);
        let mut lighter = Setting::new(8, 4096, &[0; 8], &[3; 8]);
        lighter.times.observe_read(MemberNo::new(0), 45_000);
        lighter.times.observe_write(700_000);
        assert_eq!(verdict(&lighter), Reason::FewerPreReads);
    }
}
