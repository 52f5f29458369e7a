//! Segments: the units of array-level garbage collection, with the number of valid chunks in each.
//!
//! Closed segments are in lists, one for each number of valid chunks, and a tree of bits records which lists are not empty:
//! the least filled segment is found in constant time, however many there are.
//!
//! Source: paper 001, section IV-B (GC units, the greedy choice).

use std::collections::VecDeque;

use stripewise_core::bits::Bits;
use stripewise_core::ids::NONE;
use stripewise_policy::custom::ClosedSegment;

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The segment is empty.
    Free,
    /// Stripes are appended to it.
    Open,
    /// The segment accepts no more stripes.
    Closed,
    /// Its valid chunks are being moved.
    Victim,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    state: State,
    /// Whether it may be neither opened nor collected, while its members can hold no stripes.
    is_retired: bool,
    /// Whether its chunks can be neither read nor moved: it is collected once none of them is valid.
    is_stuck: bool,
    /// Number of chunks that the forward map has in it.
    valid: u32,
    /// Number of stripes in flight to it.
    writing: u32,
    /// Number of reads of it in progress.
    readers: u32,
    /// Neighbours in the list for its number of valid chunks.
    before: u32,
    after: u32,
}

/// All segments of an array.
#[derive(Debug)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// Free segments, in the order in which they became free.
    free: VecDeque<u32>,
    /// Free segments that are discarded on the members, in the order of discarding. They are opened last, so that the space in
    /// use stays small.
    discarded: VecDeque<u32>,
    /// Free segments that are retired.
    idle: Vec<u32>,
    /// First and last segment of each list.
    lists: Vec<(u32, u32)>,
    occupied: Bits,
    /// For victims that the user chooses: when each segment was closed, counted in closed segments. Else empty.
    closed: Vec<u64>,
    clock: u64,
}

impl Segments {
    /// `count` free segments, each with at most `chunks` valid chunks.
    pub(crate) fn new(count: u32, chunks: u32) -> Self {
        let vacant = Segment {
            state: State::Free,
            is_retired: false,
            is_stuck: false,
            valid: 0,
            writing: 0,
            readers: 0,
            before: NONE,
            after: NONE,
        };
        Self {
            segments: vec![vacant; count as usize],
            free: (0..count).collect(),
            discarded: VecDeque::new(),
            idle: Vec::new(),
            lists: vec![(NONE, NONE); chunks as usize + 1],
            occupied: Bits::new(chunks as usize + 1),
            closed: Vec::new(),
            clock: 0,
        }
    }

    /// Counts the ages of segments from now on.
    pub(crate) fn count_ages(&mut self) {
        self.closed = vec![0; self.segments.len()];
    }

    pub(crate) fn count(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(crate) fn free_count(&self) -> u32 {
        (self.free.len() + self.discarded.len()) as u32
    }

    /// Whether `segment` is empty.
    pub(crate) fn is_free(&self, segment: u32) -> bool {
        self.segments[segment as usize].state == State::Free
    }

    /// Opens the free segments in which content was found.
    pub(crate) fn open_found(&mut self, is_found: impl Fn(u32) -> bool) {
        let segments = &mut self.segments;
        self.free.retain(|&segment| {
            let is_found = is_found(segment);
            if is_found {
                segments[segment as usize].state = State::Open;
            }
            !is_found
        });
    }

    /// Treats all segments that are free now as discarded on the members.
    pub(crate) fn assume_discarded(&mut self) {
        self.discarded.append(&mut self.free);
    }

    /// Takes a free segment that is not discarded, the one that has been free for the longest time, if there are more than
    /// `kept` of them. It is not opened until it is returned.
    pub(crate) fn take_used(&mut self, kept: u32) -> Option<u32> {
        if self.free.len() <= kept as usize {
            return None;
        }
        self.free.pop_front()
    }

    /// Returns a segment from [`Self::take_used`], which is now discarded on the members.
    pub(crate) fn give_discarded(&mut self, segment: u32) {
        match self.segments[segment as usize].is_retired {
            true => self.idle.push(segment),
            false => self.discarded.push_back(segment),
        }
    }

    /// Number of chunks of `segment` that the forward map has.
    pub(crate) fn valid(&self, segment: u32) -> u32 {
        self.segments[segment as usize].valid
    }

    /// Opens the segment that has been free for the longest time, preferably one that is not discarded.
    pub(crate) fn open(&mut self) -> Option<u32> {
        let segment = self.free.pop_front().or_else(|| self.discarded.pop_front())?;
        self.segments[segment as usize].state = State::Open;
        Some(segment)
    }

    /// Opens a closed segment without valid chunks that no plan reads.
    pub(crate) fn reopen(&mut self) -> Option<u32> {
        self.take_empty(State::Open)
    }

    /// A closed segment without valid chunks that no plan reads: a victim with nothing to move.
    pub(crate) fn take_empty_victim(&mut self) -> Option<u32> {
        self.take_empty(State::Victim)
    }

    fn take_empty(&mut self, state: State) -> Option<u32> {
        let mut empty = self.lists[0].0;
        while empty != NONE && self.is_held(empty) {
            empty = self.segments[empty as usize].after;
        }
        if empty == NONE {
            return None;
        }
        self.unlink(empty);
        (self.segments[empty as usize].state, self.segments[empty as usize].is_stuck) = (state, false);
        Some(empty)
    }

    /// Retries segments whose chunks could not be moved.
    pub(crate) fn try_again(&mut self) {
        for segment in 0..self.count() {
            let was_linked = self.is_linked(segment);
            self.segments[segment as usize].is_stuck = false;
            if !was_linked {
                self.link_if_settled(segment);
            }
        }
    }

    /// Whether `segment` may be neither opened nor collected.
    pub(crate) fn is_retired(&self, segment: u32) -> bool {
        self.segments[segment as usize].is_retired
    }

    /// Retires every `stride`-th segment from `first` on: they are neither opened nor collected, because their members can
    /// hold no stripes.
    pub(crate) fn retire(&mut self, first: u32, stride: u32) {
        for segment in (first..self.count()).step_by(stride as usize) {
            if self.is_linked(segment) {
                self.unlink(segment);
            }
            self.segments[segment as usize].is_retired = true;
        }
        let segments = &self.segments;
        let idle = &mut self.idle;
        for list in [&mut self.free, &mut self.discarded] {
            list.retain(|&free| {
                let is_retired = segments[free as usize].is_retired;
                idle.extend(is_retired.then_some(free));
                !is_retired
            });
        }
    }

    /// Readmits these segments: their members can hold stripes again.
    pub(crate) fn readmit(&mut self, first: u32, stride: u32) {
        for segment in (first..self.count()).step_by(stride as usize) {
            self.segments[segment as usize].is_retired = false;
            self.link_if_settled(segment);
        }
        let segments = &self.segments;
        let free = &mut self.free;
        self.idle.retain(|&segment| {
            let is_retired = segments[segment as usize].is_retired;
            free.extend((!is_retired).then_some(segment));
            is_retired
        });
    }

    /// Closes `segment`: it accepts no more stripes.
    pub(crate) fn close(&mut self, segment: u32) {
        debug_assert_eq!(self.segments[segment as usize].state, State::Open);
        self.segments[segment as usize].state = State::Closed;
        self.clock += 1;
        if let Some(closed) = self.closed.get_mut(segment as usize) {
            *closed = self.clock;
        }
        self.link_if_settled(segment);
    }

    /// Records a stripe in flight to `segment`.
    #[inline]
    pub(crate) fn write_begun(&mut self, segment: u32) {
        self.segments[segment as usize].writing += 1;
    }

    /// Records that a stripe has arrived in `segment`, or never will.
    #[inline]
    pub(crate) fn write_over(&mut self, segment: u32) {
        self.segments[segment as usize].writing -= 1;
        self.link_if_settled(segment);
    }

    /// Counts one more valid chunk of `segment`.
    #[inline]
    pub(crate) fn validate(&mut self, segment: u32) {
        self.segments[segment as usize].valid += 1;
    }

    /// Counts one less valid chunk of `segment`.
    #[inline]
    pub(crate) fn invalidate(&mut self, segment: u32) {
        if self.is_linked(segment) {
            self.unlink(segment);
        }
        self.segments[segment as usize].valid -= 1;
        self.link_if_settled(segment);
    }

    /// Abandons the collection of `victim`: its remaining chunks cannot be moved, and stay where they are.
    pub(crate) fn leave(&mut self, victim: u32) {
        let segment = &mut self.segments[victim as usize];
        debug_assert_eq!(segment.state, State::Victim);
        (segment.state, segment.is_stuck) = (State::Closed, true);
        self.link_if_settled(victim);
    }

    /// Takes the closed segment with the fewest valid chunks, if that is at most `most`, as a victim whose chunks are to be
    /// moved. Among several, it is the one that has had that number for the longest time.
    pub(crate) fn take_victim(&mut self, most: u32) -> Option<u32> {
        let least = self.occupied.first().filter(|&least| least <= most as usize)?;
        let victim = self.lists[least].0;
        self.unlink(victim);
        (self.segments[victim as usize].state, self.segments[victim as usize].is_stuck) =
            (State::Victim, false);
        Some(victim)
    }

    /// Takes the segment that `choose` selects from those that [`Self::take_victim`] could take, by their place in a list of
    /// them; the one that it would take if none is selected.
    pub(crate) fn take_chosen(
        &mut self,
        most: u32,
        choose: impl FnOnce(u32, &[ClosedSegment]) -> Option<usize>,
    ) -> Option<u32> {
        let closed: Vec<ClosedSegment> = (0..self.count())
            .filter(|&segment| self.is_linked(segment) && self.valid(segment) <= most)
            .map(|segment| {
                let age = self.clock - self.closed.get(segment as usize).copied().unwrap_or(self.clock);
                ClosedSegment { segment, valid: self.valid(segment), age }
            })
            .collect();
        if closed.is_empty() {
            return None;
        }
        let chunks = self.lists.len() as u32 - 1;
        let Some(chosen) = choose(chunks, &closed).and_then(|place| closed.get(place)) else {
            return self.take_victim(most);
        };
        self.move_off(chosen.segment);
        self.segments[chosen.segment as usize].is_stuck = false;
        Some(chosen.segment)
    }

    /// Whether `segment` may be collected now.
    pub(crate) fn may_move(&self, segment: u32) -> bool {
        self.is_linked(segment)
    }

    /// Makes `segment`, which may be collected, a victim, however many valid chunks it has.
    pub(crate) fn move_off(&mut self, segment: u32) {
        self.unlink(segment);
        self.segments[segment as usize].state = State::Victim;
    }

    /// Whether [`Self::take_victim`] would find a victim.
    pub(crate) fn has_victim(&self, most: u32) -> bool {
        self.occupied.first().is_some_and(|least| least <= most as usize)
    }

    /// Locks `segment` for a read: its slots stay as they are.
    #[inline]
    pub(crate) fn lock(&mut self, segment: u32) {
        self.segments[segment as usize].readers += 1;
    }

    /// Unlocks `segment` after a read.
    #[inline]
    pub(crate) fn let_go(&mut self, segment: u32) {
        self.segments[segment as usize].readers -= 1;
    }

    /// Whether a read has locked `segment`.
    pub(crate) fn is_held(&self, segment: u32) -> bool {
        self.segments[segment as usize].readers > 0
    }

    /// Frees a victim without valid chunks that no plan reads.
    pub(crate) fn free(&mut self, victim: u32) {
        let segment = &mut self.segments[victim as usize];
        debug_assert_eq!((segment.state, segment.valid), (State::Victim, 0));
        segment.state = State::Free;
        match segment.is_retired {
            true => self.idle.push(victim),
            false => self.free.push_back(victim),
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.lists.len() * size_of::<(u32, u32)>();
        (self.segments.len() * size_of::<Segment>()
            + (self.free.capacity() + self.discarded.capacity() + self.idle.capacity()) * 4
            + lists) as u64
    }

    #[inline]
    fn is_linked(&self, segment: u32) -> bool {
        let Segment { state, is_retired, is_stuck, valid, writing, .. } = self.segments[segment as usize];
        state == State::Closed && writing == 0 && !is_retired && (valid == 0 || !is_stuck)
    }

    fn link_if_settled(&mut self, segment: u32) {
        if self.is_linked(segment) {
            self.link(segment);
        }
    }

    #[inline]
    fn link(&mut self, segment: u32) {
        let valid = self.segments[segment as usize].valid as usize;
        let last = std::mem::replace(&mut self.lists[valid].1, segment);
        if last == NONE {
            self.lists[valid].0 = segment;
            self.occupied.set(valid);
        } else {
            self.segments[last as usize].after = segment;
        }
        self.segments[segment as usize].before = last;
        self.segments[segment as usize].after = NONE;
    }

    #[inline]
    fn unlink(&mut self, segment: u32) {
        let Segment { valid, before, after, .. } = self.segments[segment as usize];
        match before {
            NONE => self.lists[valid as usize].0 = after,
            _ => self.segments[before as usize].after = after,
        }
        match after {
            NONE => self.lists[valid as usize].1 = before,
            _ => self.segments[after as usize].before = before,
        }
        if self.lists[valid as usize].0 == NONE {
            self.occupied.clear(valid as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_is_no_victim_while_a_stripe_is_in_flight_to_it() {
        let mut segments = Segments::new(2, 8);
        let open = segments.open().unwrap();
        segments.write_begun(open);
        segments.close(open);
        assert!(!segments.has_victim(8));
        segments.write_over(open);
        assert_eq!(segments.take_victim(8), Some(open));
    }

    #[test]
    fn a_segment_with_more_valid_chunks_than_requested_is_no_victim() {
        let mut segments = Segments::new(2, 8);
        let open = segments.open().unwrap();
        (0..5).for_each(|_| segments.validate(open));
        segments.close(open);
        assert_eq!(segments.take_victim(4), None);
        segments.invalidate(open);
        assert_eq!(segments.take_victim(4), Some(open));
    }

    #[test]
    fn a_victim_whose_chunks_stay_is_none_until_they_do_not_count_any_more() {
        let mut segments = Segments::new(2, 8);
        let open = segments.open().unwrap();
        (0..2).for_each(|_| segments.validate(open));
        segments.close(open);
        assert_eq!(segments.take_victim(8), Some(open));
        segments.leave(open);
        segments.invalidate(open);
        assert_eq!((segments.take_victim(8), segments.reopen()), (None, None));
        segments.try_again();
        assert_eq!(segments.take_victim(8), Some(open));
        segments.leave(open);
        segments.invalidate(open);
        assert_eq!(segments.take_victim(8), Some(open));
    }

    #[test]
    fn a_segment_that_is_retired_is_neither_opened_nor_collected() {
        let mut segments = Segments::new(3, 8);
        let closed = segments.open().unwrap();
        segments.close(closed);
        let open = segments.open().unwrap();
        segments.retire(0, 1);
        segments.close(open);
        assert_eq!((segments.open(), segments.has_victim(8), segments.free_count()), (None, false, 0));
    }

    #[test]
    fn a_segment_that_is_readmitted_is_opened_and_collected_as_before() {
        let mut segments = Segments::new(6, 8);
        let closed = segments.open().unwrap();
        segments.close(closed);
        let (discarding, victim) = (segments.take_used(0).unwrap(), closed + 2);
        assert_eq!(segments.open(), Some(victim));
        segments.close(victim);
        assert_eq!(segments.take_victim(0), Some(closed));
        // The segments of one group, which has the even ones.
        segments.retire(0, 2);
        segments.give_discarded(discarding);
        segments.free(closed);
        let order: Vec<_> = std::iter::from_fn(|| segments.open()).collect();
        assert_eq!((order, segments.has_victim(8)), (vec![3, 5, discarding], false));
        segments.readmit(0, 2);
        assert_eq!(segments.free_count(), 2);
        let order: Vec<_> = std::iter::from_fn(|| segments.open()).collect();
        assert_eq!((order, segments.take_victim(0)), (vec![4, closed], Some(victim)));
    }

    #[test]
    fn a_million_segments_are_opened_of_which_something_was_found() {
        let mut segments = Segments::new(1 << 20, 8);
        segments.open_found(|segment| segment % 2 == 1);
        assert_eq!(segments.free_count(), 1 << 19);
        segments.close(1);
        assert_eq!((segments.take_victim(8), segments.open(), segments.open()), (Some(1), Some(0), Some(2)));
    }

    #[test]
    fn segments_that_were_discarded_are_opened_last() {
        let mut segments = Segments::new(4, 8);
        segments.assume_discarded();
        let used = [segments.open().unwrap(), segments.open().unwrap()];
        for segment in used {
            segments.close(segment);
            segments.take_empty_victim().unwrap();
            segments.free(segment);
        }
        assert_eq!((segments.take_used(2), segments.take_used(1), segments.free_count()), (None, Some(0), 3));
        assert!(segments.is_free(0), "while it is being discarded");
        segments.give_discarded(0);
        let order: Vec<_> = std::iter::from_fn(|| segments.open()).collect();
        assert_eq!(order, [1, 2, 3, 0]);
    }

    proptest! {
        #[test]
        fn the_victim_has_the_fewest_valid_chunks(
            chunks in 1u32..5000,
            steps in prop::collection::vec((0u8..4, any::<u32>()), 1..200),
        ) {
            let mut segments = Segments::new(16, chunks);
            let mut closed = std::collections::BTreeMap::new();
            for (step, number) in steps {
                match step {
                    0 => if let Some(open) = segments.open() {
                        let valid = number % (chunks + 1);
                        (0..valid).for_each(|_| segments.validate(open));
                        segments.close(open);
                        closed.insert(open, valid);
                    },
                    1 | 2 => if let Some((&segment, valid)) = closed.iter_mut().nth(number as usize % 16)
                        && *valid > 0
                    {
                        segments.invalidate(segment);
                        *valid -= 1;
                    },
                    _ => {
                        let least = closed.values().min().copied();
                        let victim = segments.take_victim(chunks);
                        prop_assert_eq!(victim.map(|victim| closed[&victim]), least);
                        if let Some(victim) = victim {
                            closed.remove(&victim);
                            (0..segments.valid(victim)).for_each(|_| segments.invalidate(victim));
                            segments.free(victim);
                        }
                    }
                }
                prop_assert_eq!(segments.free_count() as usize + closed.len(), 16);
            }
        }
    }
}
