//! Puts times in order: subtracts the first, and clamps, sorts or refuses a step back. Clamped and sorted steps are
//! counted.

use crate::format::Stop;
use crate::{Request, TraceError};

/// What to do with a request that is older than the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disorder {
    /// Give it the time of the request before it, and count it in [`crate::ReadReport::clamped_times`].
    #[default]
    Clamp,
    /// Put it in its place, if that is no more than 65,536 requests back, and count it in
    /// [`crate::ReadReport::sorted_times`]; farther back, clamp it. Formats whose lines are not in order of arrival
    /// are always sorted.
    Sort,
    /// Fail.
    Refuse,
}

/// The order of the lines of a format, and the treatment that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In order of arrival.
    AsFiled,
    /// In another order, such as that of completion: the reader sorts them.
    Sorted,
    /// Times have a coarse grain: requests of one time are sorted, then spread evenly over the grain.
    Spread { grain_ns: u64 },
}

impl Order {
    /// The treatment of steps back, if the caller asks for `disorder`.
    pub(crate) fn disorder(self, disorder: Disorder) -> Disorder {
        match (disorder, self) {
            (Disorder::Clamp, Self::Sorted | Self::Spread { .. }) => Disorder::Sort,
            _ => disorder,
        }
    }
}

/// Turns a trace's times into nanoseconds since its first.
#[derive(Debug)]
pub(crate) struct Clock {
    disorder: Disorder,
    first: Option<u64>,
    /// The latest time so far, in the trace's ticks.
    latest: u64,
    /// Added to times so that times before the first can be represented, where requests are sorted afterwards.
    base: u64,
    /// The latest time that is allowed, with `base` added.
    limit: u64,
    /// The number of requests that were older than one before them.
    pub(crate) stepped_back: u64,
}

/// The largest distance between times that are sorted afterwards: 292 years. So a sorted trace can be written and
/// sorted again.
const SPAN: u64 = (1 << 63) - 1;
/// The base of such times: times may lie before the first by the same amount.
const BASE: u64 = SPAN;

impl Clock {
    pub(crate) fn new(disorder: Disorder) -> Self {
        let base = if disorder == Disorder::Sort { BASE } else { 0 };
        Self {
            disorder,
            first: None,
            latest: 0,
            base,
            limit: if base == 0 { u64::MAX } else { BASE + SPAN },
            stepped_back: 0,
        }
    }

    /// Nanoseconds from the first time to `time`, both in ticks of `tick_ns`.
    #[inline]
    pub(crate) fn stamp(&mut self, time: u64, tick_ns: u64) -> Result<u64, Stop> {
        let first = *self.first.get_or_insert(time);
        if time < self.latest {
            return self.step_back(time, first, tick_ns);
        }
        let since = (time - first).checked_mul(tick_ns).and_then(|since| since.checked_add(self.base));
        let since = since.filter(|&since| since <= self.limit).ok_or(TOO_FAR)?;
        self.latest = time;
        Ok(since)
    }

    #[cold]
    fn step_back(&mut self, time: u64, first: u64, tick_ns: u64) -> Result<u64, Stop> {
        let previous_ns = (self.latest - first) * tick_ns;
        match self.disorder {
            Disorder::Clamp => {
                self.stepped_back += 1;
                Ok(previous_ns)
            }
            Disorder::Sort => {
                let back = (self.latest - time).checked_mul(tick_ns).filter(|&back| back <= SPAN);
                let placed = self.base + previous_ns - back.ok_or(TOO_FAR)?;
                self.limit = self.limit.min(placed.saturating_add(SPAN));
                self.stepped_back += 1;
                Ok(placed)
            }
            Disorder::Refuse => {
                Err(Stop::Backward { back_ns: (self.latest - time).saturating_mul(tick_ns), previous_ns })
            }
        }
    }
}

const TOO_FAR: Stop = Stop::Unreadable {
    at: 0,
    expected: "a time at most 584 years after the first, 292 from any if they are sorted",
};

/// The number of requests held back, so that later ones can still take their place before them. The sorter sorts
/// twice as many at once, with a sort that exploits existing order.
const WINDOW: usize = if cfg!(fuzzing) { 8 } else { 1 << 16 };
/// The most requests of one time that are spread. It bounds the memory for them.
const MOST_TIES: usize = if cfg!(fuzzing) { 64 } else { 1 << 22 };

/// Puts requests in order of time within a window, and spreads those of one time, if requested.
pub(crate) struct Sorter {
    held: Vec<Request>,
    /// Requests below `ready` have their final order; those below `delivered` were delivered.
    ready: usize,
    delivered: usize,
    ended: bool,
    /// The error that ended the source; reported after the requests before it were delivered.
    failed: Option<TraceError>,
    grain_ns: Option<u64>,
    /// The first time of all, which becomes zero, and the latest time among the ready requests.
    first: Option<u64>,
    latest: u64,
    /// The number of requests that came too late to be put in their place.
    pub(crate) clamped: u64,
    pub(crate) spread: u64,
}

impl Sorter {
    /// The sorter for requests in this `order` with this treatment of steps back; none if none is needed.
    pub(crate) fn new(order: Order, disorder: Disorder) -> Option<Self> {
        let grain_ns = match order {
            Order::Spread { grain_ns } => Some(grain_ns),
            Order::AsFiled | Order::Sorted => None,
        };
        (order.disorder(disorder) == Disorder::Sort).then(|| Self {
            held: Vec::new(),
            ready: 0,
            delivered: 0,
            ended: false,
            failed: None,
            grain_ns,
            first: None,
            latest: 0,
            clamped: 0,
            spread: 0,
        })
    }

    /// Fills `batch` up to its capacity; `more` appends requests to a vector up to its capacity, none at the end.
    pub(crate) fn next_batch(
        &mut self,
        batch: &mut Vec<Request>,
        mut more: impl FnMut(&mut Vec<Request>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        loop {
            let room = batch.capacity() - batch.len();
            let ready = &self.held[self.delivered..self.ready];
            let taken = room.min(ready.len());
            batch.extend_from_slice(&ready[..taken]);
            self.delivered += taken;
            if taken == room {
                return Ok(());
            }
            if self.ended && self.ready == self.held.len() {
                return self.failed.take().map_or(Ok(()), Err);
            }
            self.refill(&mut more)?;
        }
    }

    /// Whether everything was delivered.
    pub(crate) fn is_done(&self) -> bool {
        self.ended && self.failed.is_none() && self.delivered == self.held.len()
    }

    fn refill(
        &mut self,
        more: &mut impl FnMut(&mut Vec<Request>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.held.drain(..self.ready);
        (self.ready, self.delivered) = (0, 0);
        let mut wanted = 2 * WINDOW;
        loop {
            self.held.reserve(wanted - self.held.len());
            while self.held.len() < wanted && !self.ended {
                let before = self.held.len();
                self.failed = more(&mut self.held).err();
                self.ended = self.held.len() == before || self.failed.is_some();
            }
            // The sort is stable: requests of one time keep the order of the file.
            self.held.sort_by_key(|request| request.time_ns);
            let sure = if self.ended { self.held.len() } else { self.held.len() - WINDOW };
            self.ready = if self.grain_ns.is_some() && !self.ended { self.whole_ties(sure) } else { sure };
            if self.ready > 0 || self.ended {
                break;
            }
            if wanted >= MOST_TIES {
                return Err(TraceError::Setting(format!(
                    "more than {} requests have the same time; read the trace without spreading them",
                    MOST_TIES - WINDOW
                )));
            }
            wanted *= 2;
        }
        self.settle();
        Ok(())
    }

    /// The end of the last time whose requests all lie before `end`.
    fn whole_ties(&self, end: usize) -> usize {
        let Some(next) = self.held.get(end) else { return end };
        self.held[..end].partition_point(|request| request.time_ns < next.time_ns)
    }

    /// Gives the ready requests their final times.
    fn settle(&mut self) {
        let ready = &mut self.held[..self.ready];
        let Some(first) = ready.first().map(|request| request.time_ns) else { return };
        let first = *self.first.get_or_insert(first);
        for request in ready.iter_mut() {
            let time_ns = request.time_ns.saturating_sub(first);
            self.clamped += u64::from(time_ns < self.latest || request.time_ns < first);
            self.latest = self.latest.max(time_ns);
            request.time_ns = self.latest;
        }
        let Some(grain_ns) = self.grain_ns else { return };
        for ties in ready.chunk_by_mut(|left, right| left.time_ns == right.time_ns) {
            let gap = grain_ns as u128;
            let count = ties.len() as u128;
            self.spread += ties.len() as u64 - 1;
            for (index, request) in (0u128..).zip(ties) {
                request.time_ns += (gap * index / count) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_zero_and_a_step_back_takes_the_time_before_it() {
        let mut clock = Clock::new(Disorder::Clamp);
        let times: Vec<u64> = [1_000, 1_003, 1_001, 990, 1_003, 1_004]
            .map(|time| clock.stamp(time, 100).expect("clamps"))
            .into();
        assert_eq!(times, [0, 300, 300, 300, 300, 400]);
        assert_eq!(clock.stepped_back, 2, "1001 and 990 stepped back; 1003 after them did not");
    }

    #[test]
    fn a_refusing_clock_says_how_far_back_and_from_where() {
        let mut clock = Clock::new(Disorder::Refuse);
        clock.stamp(50, 1_000).expect("the first");
        clock.stamp(60, 1_000).expect("later");
        match clock.stamp(57, 1_000) {
            Err(Stop::Backward { back_ns: 3_000, previous_ns: 10_000 }) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_time_beyond_64_bits_of_nanoseconds_is_an_error_and_does_not_move_the_clock() {
        let mut clock = Clock::new(Disorder::Clamp);
        clock.stamp(0, 100).expect("the first");
        assert!(matches!(clock.stamp(u64::MAX, 100), Err(Stop::Unreadable { .. })));
        assert_eq!(clock.stamp(7, 100).expect("goes on"), 700);
    }

    fn request(time_ns: u64, number: usize) -> Request {
        Request { time_ns, offset: number as u64, bytes: 1, volume: 0, kind: crate::Kind::Read }
    }

    /// Passes requests of these times through a sorter, in batches of `capacity`.
    fn sorted(times: &[u64], grain_ns: Option<u64>, capacity: usize) -> (Sorter, Vec<Request>) {
        let order = grain_ns.map_or(Order::Sorted, |grain_ns| Order::Spread { grain_ns });
        let mut sorter = Sorter::new(order, Disorder::Clamp).expect("it sorts");
        let mut source = times.iter().enumerate().map(|(number, &time)| request(time, number));
        let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(capacity));
        loop {
            batch.clear();
            let more = |held: &mut Vec<Request>| {
                let room = (held.capacity() - held.len()).min(1000);
                held.extend(source.by_ref().take(room));
                Ok(())
            };
            sorter.next_batch(&mut batch, more).expect("sorts");
            if batch.is_empty() {
                return (sorter, all);
            }
            all.extend_from_slice(&batch);
        }
    }

    #[test]
    fn requests_displaced_within_the_window_end_as_a_stable_sort_of_all_of_them() {
        // Times that step back by up to 60,000 places, over several windows, with many equal ones.
        let times: Vec<u64> = (0..400_000u64)
            .map(|index| (BASE + index / 3 * 10 + 70).saturating_sub(index * 7919 % 100_000))
            .collect();
        let (sorter, found) = sorted(&times, None, 4096);
        let mut expected: Vec<(u64, u64)> =
            (0u64..).zip(&times).map(|(number, &time)| (time, number)).collect();
        expected.sort();
        let first = expected[0].0;
        assert_eq!(sorter.clamped, 0);
        assert_eq!(found.len(), expected.len());
        for (request, (time, number)) in found.iter().zip(expected) {
            assert_eq!((request.time_ns, request.offset), (time - first, number));
        }
    }

    #[test]
    fn a_request_beyond_the_window_is_clamped_and_counted_and_order_is_kept() {
        let mut times: Vec<u64> = (0..300_000).map(|index| BASE + 1000 + index).collect();
        times.push(BASE);
        times.push(BASE + 2_000);
        let (sorter, found) = sorted(&times, None, 777);
        assert_eq!((sorter.clamped, found.len()), (2, times.len()));
        assert!(found.is_sorted_by_key(|request| request.time_ns));
    }

    #[test]
    fn ties_are_spread_evenly_over_the_grain_even_where_one_second_exceeds_the_window() {
        let second = 1_000_000_000;
        let mut times = vec![BASE; 3];
        times.extend(vec![BASE + second; 200_000]);
        times.extend(vec![BASE + 2 * second; 4]);
        let (sorter, found) = sorted(&times, Some(second), 4096);
        let at: Vec<u64> = found.iter().map(|request| request.time_ns).collect();
        assert_eq!(at[..4], [0, second / 3, 2 * second / 3, second]);
        assert_eq!(at[4], second + second / 200_000);
        assert_eq!(at[200_003..], [2, 3, 4, 5].map(|k| 2 * second + (k - 2) * second / 4));
        assert_eq!(sorter.spread, 2 + 199_999 + 3);
        assert!(found.iter().enumerate().all(|(number, request)| request.offset == number as u64));
    }
}
