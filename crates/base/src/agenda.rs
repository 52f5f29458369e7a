//! The agenda: events in the future, popped in order of time and, at equal times, in order of scheduling.
//!
//! A calendar queue (Brown, "Calendar Queues", Communications of the ACM 31(10), 1988) arranged for the delays of
//! flash, tens of nanoseconds to a few milliseconds:
//!
//! - the *front*, a short sorted array, has every event before the horizon; events are popped only from it;
//! - the *calendar* has the events behind the horizon by bucket of about a microsecond, unsorted, with a bitmap of the
//!   occupied buckets;
//! - the *far* heap has the events beyond the calendar's 8 ms.
//!
//! When the front is empty the next occupied bucket is sorted into it and the horizon moves. A front that grows too
//! long moves its later half to the calendar. As long as few events wait, all of them are in the front, the horizon is
//! infinite and nothing else is touched.
//!
//! Nothing is allocated once the arrays have grown to the largest number of events that ever waited.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// An event. To the agenda it is a number; only the code that schedules it knows its meaning.
pub type Event = u32;

/// A bucket spans 2^10 ns.
const BUCKET_SHIFT: u32 = 10;
/// Buckets of the calendar, which thus spans 8.4 ms.
const BUCKETS: usize = 8192;
const WORDS: usize = BUCKETS / 64;
/// The front moves its later part to the calendar when it is longer than this.
const FRONT_LONG: usize = 12;
/// Number of events that stay in a front that was too long.
const FRONT_KEPT: usize = 6;
/// With this few events left in the calendar and the heap, all of them become the front.
const FRONT_ALL: usize = 4;
/// Capacity of the front. Pops use up the room beyond its longest length before it is compacted.
const FRONT_ROOM: usize = 256;
/// The horizon's bucket when every event is in the front.
const OPEN: u64 = u64::MAX;
/// End of a list of nodes.
const NONE: u32 = u32::MAX;

/// Time, order of scheduling and event, so that comparing keys compares these in this order.
type Key = u128;

#[inline(always)]
fn time_of(key: Key) -> Nanos {
    (key >> 64) as Nanos
}

#[inline(always)]
fn bucket_of(key: Key) -> u64 {
    time_of(key) >> BUCKET_SHIFT
}

/// A priority queue of events, earliest first, first scheduled first among equals.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Events before the horizon in order, from `head` on.
    front: Vec<Key>,
    head: usize,
    /// First bucket that is not in the front; [`OPEN`] when all events are.
    horizon: u64,
    /// The last popped time.
    now: Nanos,
    /// The calendar takes buckets `start..start + BUCKETS`; `start` lags behind `now`, never ahead of it.
    start: u64,
    calendar: Calendar,
    far: BinaryHeap<Reverse<Key>>,
    /// The sequence number of the next event: 32 bits, renumbered when they are used up.
    sequence: u32,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new()
    }
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Self {
        Self {
            front: Vec::with_capacity(FRONT_ROOM),
            head: 0,
            horizon: OPEN,
            now: 0,
            start: 0,
            calendar: Calendar::new(),
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Adds `event` at time `at`, which must not lie before the last popped time.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: Event) {
        if self.sequence == u32::MAX {
            self.renumber();
        }
        let key = u128::from(at) << 64 | u128::from(self.sequence) << 32 | u128::from(event);
        self.sequence += 1;
        if bucket_of(key) < self.horizon {
            self.insert(key);
        } else {
            self.park(key);
        }
    }

    /// The time of the earliest event.
    #[inline]
    pub fn next_time(&mut self) -> Option<Nanos> {
        if self.head == self.front.len() {
            self.refill();
        }
        self.front.get(self.head).map(|&key| time_of(key))
    }

    /// Removes and returns the earliest event and its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, Event)> {
        if self.head == self.front.len() {
            self.refill();
        }
        let key = *self.front.get(self.head)?;
        self.head += 1;
        self.now = time_of(key);
        Some((self.now, key as Event))
    }

    /// Number of waiting events.
    pub fn len(&self) -> usize {
        self.front.len() - self.head + self.calendar.len + self.far.len()
    }

    /// Whether no event is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts `key` in its place in the front.
    #[inline]
    fn insert(&mut self, key: Key) {
        if self.front.len() == self.front.capacity() {
            self.make_room();
            if bucket_of(key) >= self.horizon {
                return self.park(key);
            }
        }
        // Few events are later: each moves up by one as it is compared, which a call that copies memory would not beat. Of equal
        // times the new event comes last, so times alone decide.
        self.front.push(key);
        let waiting = &mut self.front[self.head..];
        let mut at = waiting.len() - 1;
        let time = time_of(key);
        while at > 0 && time_of(waiting[at - 1]) > time {
            waiting[at] = waiting[at - 1];
            at -= 1;
        }
        waiting[at] = key;
    }

    /// Puts `key`, which lies behind the horizon, into the calendar or the far heap.
    #[inline]
    fn park(&mut self, key: Key) {
        let bucket = bucket_of(key);
        if bucket - self.start >= BUCKETS as u64 {
            self.start = self.now >> BUCKET_SHIFT;
            if bucket - self.start >= BUCKETS as u64 {
                return self.far.push(Reverse(key));
            }
        }
        self.calendar.put(bucket, key);
    }

    /// The front has reached the end of its array: moves it to the beginning, and the later part of a long front to the
    /// calendar. Many events within one bucket cannot be split; for them the array grows.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.front.drain(..self.head);
        self.head = 0;
        if self.front.len() <= FRONT_LONG {
            return;
        }
        self.start = self.now >> BUCKET_SHIFT;
        let first = bucket_of(self.front[0]).max(self.start);
        let horizon = bucket_of(self.front[FRONT_KEPT]).max(first + 1);
        let kept = self.front.partition_point(|&key| bucket_of(key) < horizon);
        if kept < self.front.len() {
            self.horizon = horizon;
            for at in kept..self.front.len() {
                self.park(self.front[at]);
            }
            self.front.truncate(kept);
        }
        if self.front.len() > self.front.capacity() / 2 {
            self.front.reserve(self.front.capacity());
        }
    }

    /// The front is empty: fills it with the next bucket, or with all events if they are few.
    #[inline(never)]
    fn refill(&mut self) {
        self.front.clear();
        self.head = 0;
        if self.calendar.len + self.far.len() <= FRONT_ALL {
            self.horizon = OPEN;
            while let Some(bucket) = self.calendar.next(self.start) {
                self.calendar.take(bucket, &mut self.front);
            }
            self.front.extend(self.far.drain().map(|Reverse(key)| key));
        } else {
            self.start = self.now >> BUCKET_SHIFT;
            let far = self.far.peek().map(|Reverse(key)| bucket_of(*key));
            let bucket =
                self.calendar.next(self.start).into_iter().chain(far).min().expect("some event waits");
            self.horizon = bucket + 1;
            self.calendar.take(bucket, &mut self.front);
            while let Some(Reverse(key)) = self.far.peek().filter(|Reverse(key)| bucket_of(*key) == bucket) {
                self.front.push(*key);
                self.far.pop();
            }
        }
        if self.front.len() > 1 {
            self.front.sort_unstable();
        }
    }

    /// The sequence numbers are used up, once in four billion events: renumbers the waiting events, in their order.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self) {
        let mut keys: Vec<Key> = self.front.drain(self.head..).collect();
        while let Some(bucket) = self.calendar.next(self.start) {
            self.calendar.take(bucket, &mut keys);
        }
        keys.extend(self.far.drain().map(|Reverse(key)| key));
        keys.sort_unstable();
        self.front.clear();
        self.head = 0;
        self.horizon = OPEN;
        self.sequence = 0;
        assert!(keys.len() < u32::MAX as usize, "more events wait than 32 bits can number");
        for key in keys {
            self.schedule(time_of(key), key as Event);
        }
    }
}

/// Events by bucket, unsorted: a list of nodes for each bucket, and bits for the buckets that have any.
#[derive(Clone, Debug)]
struct Calendar {
    /// First node of each bucket; valid where the bucket's bit is set.
    heads: Box<[u32; BUCKETS]>,
    /// A bit for each bucket, and above them a bit for each word of bits.
    occupied: Box<[u64; WORDS]>,
    words: [u64; WORDS / 64],
    nodes: Vec<Node>,
    /// First unused node.
    free: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    next: u32,
}

impl Calendar {
    fn new() -> Self {
        Self {
            heads: Box::new([NONE; BUCKETS]),
            occupied: Box::new([0; WORDS]),
            words: [0; WORDS / 64],
            nodes: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, key: Key) {
        let slot = bucket as usize % BUCKETS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        let head = if self.occupied[word] & bit == 0 { NONE } else { self.heads[slot] };
        self.occupied[word] |= bit;
        self.words[word / 64] |= 1 << (word % 64);
        let node = Node { key, next: head };
        if self.free == NONE {
            self.heads[slot] = self.nodes.len() as u32;
            self.nodes.push(node);
        } else {
            self.heads[slot] = self.free;
            let place = &mut self.nodes[self.free as usize];
            self.free = place.next;
            *place = node;
        }
        self.len += 1;
    }

    /// The first occupied bucket from `start` on. All occupied buckets must lie within one calendar's span of it.
    #[inline]
    fn next(&self, start: u64) -> Option<u64> {
        let from = start as usize % BUCKETS;
        let rest = self.occupied[from / 64] >> (from % 64);
        if rest != 0 {
            return Some(start + u64::from(rest.trailing_zeros()));
        }
        // The next occupied word, with wrap-around; the word of `from` comes last, for the bits before `from`.
        let first = from / 64 + 1;
        let ahead = (0..=WORDS / 64).find_map(|step| {
            let at = (first / 64 + step) % (WORDS / 64);
            let mask = if step == 0 { u64::MAX << (first % 64) } else { u64::MAX };
            let bits = if first == WORDS && step == 0 { self.words[0] } else { self.words[at] & mask };
            (bits != 0).then(|| at * 64 + bits.trailing_zeros() as usize)
        })?;
        let slot = ahead * 64 + self.occupied[ahead].trailing_zeros() as usize;
        Some(start + (slot.wrapping_sub(from) % BUCKETS) as u64)
    }

    /// Moves all events of `bucket` to the end of `to`.
    #[inline]
    fn take(&mut self, bucket: u64, to: &mut Vec<Key>) {
        let slot = bucket as usize % BUCKETS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if self.occupied[word] & bit == 0 {
            return;
        }
        self.occupied[word] &= !bit;
        if self.occupied[word] == 0 {
            self.words[word / 64] &= !(1 << (word % 64));
        }
        let mut at = self.heads[slot];
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            to.push(node.key);
            self.len -= 1;
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Prng;

    #[test]
    fn the_order_survives_the_end_of_the_sequence_wherever_events_wait() {
        for before in [0, 1, 2, 3, 10, 500, 999] {
            let mut agenda = Agenda::new();
            agenda.sequence = u32::MAX - before;
            // Three times a thousand events at few distinct times, some of each scheduled after the renumbering.
            let times = [1_000, 2_000_000, 3_600_000_000_000u64];
            (0..3_000u32).for_each(|event| agenda.schedule(times[event as usize % 3], event));
            assert!(agenda.sequence <= 3_000, "renumbered");
            for (kind, at) in times.into_iter().enumerate() {
                for round in 0..1_000 {
                    assert_eq!(agenda.pop(), Some((at, round * 3 + kind as u32)));
                }
            }
            assert_eq!(agenda.pop(), None);
        }
    }

    #[test]
    fn in_steady_state_nothing_grows() {
        let mut prng = Prng::new(3);
        let mut agenda = Agenda::new();
        (0..2_000).for_each(|event| agenda.schedule(prng.below(3_000_000), event));
        let mut hold = |agenda: &mut Agenda| {
            let (now, event) = agenda.pop().expect("not empty");
            agenda.schedule(now + prng.below(3_000_000), event);
        };
        (0..100_000).for_each(|_| hold(&mut agenda));
        let room = |agenda: &Agenda| {
            (agenda.front.capacity(), agenda.calendar.nodes.capacity(), agenda.far.capacity())
        };
        let grown = room(&agenda);
        (0..1_000_000).for_each(|_| hold(&mut agenda));
        assert_eq!(room(&agenda), grown);
        assert!(agenda.calendar.nodes.len() <= 2_000, "nodes are used again");
    }
}
