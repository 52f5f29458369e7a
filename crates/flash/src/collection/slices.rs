//! Slices of time, by the number of members that are active in them.

use stripewise_base::Nanos;

/// Slices of a run by the number of members that collected in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcSlices {
    /// Slices in which exactly this number of members had a collection in progress. A collection that was preempted,
    /// or that waits in the background until its die has no other work, is in progress until its block is erased.
    pub under_way: u64,
    /// Slices in which exactly this number of members had a collection at work. Pauses of preemption and of
    /// background collection do not count as work; the suspension of a flash operation does.
    pub at_work: u64,
}

/// Both counts, and the last observed state of each die.
#[derive(Clone, Debug)]
pub(crate) struct Synchrony {
    pub(crate) under_way: Tally,
    pub(crate) at_work: Tally,
    /// The last observed state, by die.
    pub(crate) seen: Vec<(bool, bool)>,
}

/// Slices by the number of members that were active at any time of the slice. Spans include their start and exclude
/// their end.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    origin: Nanos,
    slice_ns: Nanos,
    /// Finished slices, by the number of members.
    over: Vec<u64>,
    /// The current slice, from 0, and the number of members that count in it.
    slice: u64,
    in_slice: usize,
    /// Number of current activities of each member.
    in_progress: Vec<u32>,
    /// Number of active members; all of them count in the current slice.
    active: usize,
    /// For each inactive member, the last slice in which it counts, plus one.
    counted: Vec<u64>,
}

impl Tally {
    pub(crate) fn new(origin: Nanos, slice_ns: Nanos, members: usize) -> Self {
        assert!(slice_ns > 0, "slices of no length");
        Self {
            origin,
            slice_ns,
            over: vec![0; members + 1],
            slice: 0,
            in_slice: 0,
            in_progress: vec![0; members],
            active: 0,
            counted: vec![0; members],
        }
    }

    pub(crate) fn restart(&mut self, now: Nanos) {
        self.over.fill(0);
        self.counted.fill(0);
        (self.origin, self.slice, self.in_slice) = (now, 0, self.active);
    }

    #[inline]
    pub(crate) fn change(&mut self, now: Nanos, member: usize, was: bool, is: bool) {
        match (was, is) {
            (false, true) => self.begin(now, member),
            (true, false) => self.end(now, member),
            _ => {}
        }
    }

    fn begin(&mut self, now: Nanos, member: usize) {
        self.in_progress[member] += 1;
        if self.in_progress[member] == 1 {
            self.reach((now - self.origin) / self.slice_ns);
            self.active += 1;
            self.in_slice += usize::from(self.counted[member] != self.slice + 1);
        }
    }

    fn end(&mut self, now: Nanos, member: usize) {
        self.in_progress[member] -= 1;
        if self.in_progress[member] == 0 {
            self.reach((now - self.origin) / self.slice_ns);
            self.active -= 1;
            if (now - self.origin).is_multiple_of(self.slice_ns) {
                // Its span excludes the slice that begins now.
                self.in_slice -= 1;
            } else {
                self.counted[member] = self.slice + 1;
            }
        }
    }

    /// Finishes all slices before this one.
    fn reach(&mut self, slice: u64) {
        if slice > self.slice {
            self.over[self.in_slice] += 1;
            self.over[self.active] += slice - self.slice - 1;
            (self.slice, self.in_slice) = (slice, self.active);
        }
    }

    /// The counts up to `end`; a partial last slice counts as one.
    pub(crate) fn until(&self, end: Nanos) -> Vec<u64> {
        let mut all = self.clone();
        all.reach((end - self.origin).div_ceil(self.slice_ns));
        all.over
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Nanos = 1_000_000;

    /// An event of a tally: time, in order; member; and whether an activity begins.
    type Event = (Nanos, usize, bool);

    fn counted(
        slice_ns: Nanos,
        members: usize,
        restart: Option<Nanos>,
        events: &[Event],
        end: Nanos,
    ) -> Vec<u64> {
        let mut tally = Tally::new(0, slice_ns, members);
        let mut restart = restart;
        for &(time, member, begins) in events {
            if let Some(at) = restart.take_if(|at| *at <= time) {
                tally.restart(at);
            }
            if begins { tally.begin(time, member) } else { tally.end(time, member) }
        }
        restart.into_iter().for_each(|at| tally.restart(at));
        tally.until(end)
    }

    #[test]
    fn collections_of_3_ms_that_overlap_by_1_ms_are_together_in_a_fifth_of_their_slices() {
        // A [0, 3) ms, B [2, 5) ms, in slices of 0.1 ms: 50 with any, 10 with both.
        let events = [(0, 0, true), (2 * MS, 1, true), (3 * MS, 0, false), (5 * MS, 1, false)];
        let slices = counted(MS / 10, 2, None, &events, 8 * MS);
        assert_eq!(slices, [30, 40, 10]);
        // The same if a start precedes an end of the same instant, and if the run ends in between.
        let events = [(0, 0, true), (3 * MS, 1, true), (3 * MS, 0, false), (6 * MS, 1, false)];
        assert_eq!(counted(MS / 10, 2, None, &events, 6 * MS), [0, 60, 0]);
        assert_eq!(counted(MS / 10, 2, None, &events[..1], 2 * MS + 1), [0, 21, 0]);
    }

    #[test]
    fn a_member_counts_once_in_a_slice_however_often_it_collects_in_it() {
        let events =
            [(10, 0, true), (20, 0, false), (30, 0, true), (40, 0, false), (90, 1, true), (110, 1, false)];
        assert_eq!(counted(100, 3, None, &events, 300), [1, 1, 1, 0]);
    }

    proptest! {
        #[test]
        fn slices_are_those_that_a_search_through_all_spans_counts(
            slice_ns in 1..40u64,
            spans in prop::collection::vec((0..400u64, 1..90u64, 0..5usize), 0..40),
            began in prop::option::of(0..300u64),
            more in 0..100u64,
        ) {
            // Spans of one member may overlap, because it has several dies. Ends and starts of one instant come in
            // any order.
            let edges =
                |&(from, length, who): &(u64, u64, usize)| [(from, who, true), (from + length, who, false)];
            let mut events: Vec<Event> = spans.iter().flat_map(edges).collect();
            events.sort_by_key(|event| event.0);
            let origin = began.unwrap_or(0);
            let end = events.last().map_or(0, |event| event.0).max(origin) + more;
            let slices = (end - origin).div_ceil(slice_ns);
            let mut expected = vec![0; 6];
            for slice in 0..slices {
                let from = origin + slice * slice_ns;
                let active = |member: usize| {
                    spans.iter().any(|&(start, length, who)| {
                        who == member && start < from + slice_ns && start + length > from
                    })
                };
                expected[(0..5).filter(|&member| active(member)).count()] += 1;
            }
            prop_assert_eq!(counted(slice_ns, 5, began, &events, end), expected);
        }
    }
}
