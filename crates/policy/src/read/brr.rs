//! Balanced redirected read: a chunk is decoded if every member from which it is decoded would be done before a direct read
//! would begin, and before the next request needs that member.
//!
//! Source: paper 002, section III-E, Algorithm 2, lines 2 to 18. Line 1, the batches, is the dispatch policy `piq`.

use stripewise_base::Nanos;
use stripewise_core::bits::columns;

use super::ReadPath;

/// The estimated times of a column's member.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The expected waiting time, WT = L_r C_r + L_w C_w, over the operations queued and in service (section III-D); with
    /// `read.wait = "queue-and-collection"` also the time by which a collection would delay a read.
    pub wait: Nanos,
    /// L_r, the time of a read.
    pub read: Nanos,
}

impl Estimate {
    /// The time until a read that is queued now would be done.
    pub fn done(self) -> Nanos {
        self.wait + self.read
    }
}

/// The way around the first column of `wanted` that Algorithm 2 decodes, if any; `sources` returns the columns to read without
/// some columns.
///
/// (a) Even the slowest helper is done no later than the direct read would begin: WT_j + L_r <= WT_o. (b) Every helper is done
/// before the next request needs its member: WT_j + L_r <= AT_j - Req.time, where the difference is `slack`, `None` if there
/// is no such request. As printed, AT would already be relative to the request, and the difference would subtract its time
/// twice; so AT is read as an absolute time.
pub fn choose(
    wanted: u64,
    sources: impl Fn(u64) -> u64,
    estimate: impl Fn(u32) -> Estimate,
    mut slack: impl FnMut(u32, Nanos) -> Option<Nanos>,
) -> Option<ReadPath> {
    columns(wanted).find_map(|column| {
        let direct = estimate(column);
        if direct.wait == 0 {
            return None;
        }
        let helpers = sources(1 << column);
        let is_idler = columns(helpers).all(|helper| estimate(helper).done() <= direct.wait);
        let mut disturbs_none = |helper| {
            let done = estimate(helper).done();
            slack(helper, done).is_none_or(|slack| done <= slack)
        };
        if !is_idler || !columns(helpers).all(&mut disturbs_none) {
            return None;
        }
        let cost = columns(helpers).map(|helper| estimate(helper).done()).max().unwrap_or(0);
        Some(ReadPath { avoided: 1 << column, cost, direct: direct.done() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Nanos = 25_000;
    const WRITE: Nanos = 200_000;

    /// Of three data columns and parity, the `wanted` columns are read while members have these waiting times.
    fn around(
        waits: [Nanos; 4],
        wanted: u64,
        slack: impl FnMut(u32, Nanos) -> Option<Nanos>,
    ) -> Option<ReadPath> {
        let estimate = |column: u32| Estimate { wait: waits[column as usize], read: READ };
        choose(wanted, |avoided| 0b1111 & !avoided, estimate, slack)
    }

    fn is_around(waits: [Nanos; 4]) -> bool {
        around(waits, 0b0001, |_, _| None).is_some()
    }

    #[test]
    fn a_read_avoids_a_write_that_takes_longer_than_the_helpers_need() {
        assert!(is_around([WRITE, 0, READ, 7 * READ]), "the slowest helper is done at 8 L_r = L_w");
        assert!(!is_around([WRITE, 0, READ, 7 * READ + 1]), "one helper is a nanosecond too late");
    }

    #[test]
    fn a_helper_that_would_be_done_as_the_direct_read_begins_is_idle_enough() {
        assert!(is_around([READ, 0, 0, 0]));
        assert!(!is_around([READ - 1, 0, 0, 0]));
        assert!(!is_around([0, 0, 0, 0]), "an idle member is read directly");
    }

    #[test]
    fn a_helper_that_is_wanted_before_it_is_done_is_left_alone() {
        let with = |of: u32, at: Nanos| {
            around([WRITE, 0, READ, 0], 0b0001, move |helper, _| (helper == of).then_some(at)).is_some()
        };
        assert!(with(2, 2 * READ), "done just in time");
        assert!(!with(2, 2 * READ - 1));
        assert!(!with(3, 0), "a request waits for it already");
    }

    #[test]
    fn the_way_around_takes_as_long_as_its_slowest_helper() {
        let way = around([WRITE, 0, 3 * READ, READ], 0b0001, |_, _| None);
        assert_eq!(way, Some(ReadPath { avoided: 1, cost: 4 * READ, direct: WRITE + READ }));
    }

    #[test]
    fn of_several_chunks_of_a_row_the_first_that_may_go_around_does() {
        let avoided = |waits, wanted| around(waits, wanted, |_, _| None).map(|way| way.avoided);
        assert_eq!(avoided([0, WRITE, 0, 0], 0b0011), Some(0b0010));
        assert_eq!(avoided([WRITE, WRITE, 0, 0], 0b0011), None, "each would need the other");
    }
}
