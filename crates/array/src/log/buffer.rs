//! Chunks in controller memory that wait for, or are in flight to, the log: one queue for each stream, over one pool of
//! places.
//!
//! Source: paper 001, section III-B, Algorithm 2.

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_core::ids::{NONE, RequestId};
use stripewise_core::memory::PageId;

use super::addresses::NOWHERE;

/// A place of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferSlot {
    /// The chunk in it; [`NOWHERE`] if it was overwritten meanwhile, and this version is obsolete.
    pub(crate) chunk: u64,
    /// Its content.
    pub(crate) page: PageId,
    /// The stream in which it waits, or waited.
    pub(crate) stream: u8,
    /// Whether it waits; otherwise it is in flight to the members.
    pub(crate) waits: bool,
    /// Requests that wait for it to be durable: a list of attachments.
    pub(crate) first_request: u32,
    /// The write sequence number that a moved chunk keeps; 0 for a chunk that hosts wrote.
    pub(crate) write_seq: u64,
    /// The time when it began to wait.
    pub(crate) since: Nanos,
    /// Neighbours in its queue; in a free place, the next free place.
    before: u32,
    after: u32,
}

/// The waiting chunks of one stream.
#[derive(Debug)]
pub(crate) struct Queue {
    first: u32,
    last: u32,
    pub(crate) count: u32,
    /// Number of chunks, from the first on, that are to be written now.
    pub(crate) due: u32,
    /// Requests whose write made chunks due, each with the number of these chunks that are left.
    pub(crate) triggers: VecDeque<(RequestId, u32)>,
    /// The timer that is set for the waiting chunks.
    pub(crate) timer: Option<Nanos>,
}

/// The pool and its queues.
#[derive(Debug)]
pub(crate) struct Buffer {
    places: Vec<BufferSlot>,
    pub(crate) queues: Vec<Queue>,
    free: u32,
    free_count: u32,
    /// Number of free places reserved for reads in progress.
    reserved: u32,
}

impl Buffer {
    pub(crate) fn new(places: u32, streams: u32) -> Self {
        let vacant = |index: u32| BufferSlot {
            chunk: NOWHERE,
            page: NONE,
            stream: 0,
            waits: false,
            first_request: NONE,
            write_seq: 0,
            since: 0,
            before: NONE,
            after: if index + 1 < places { index + 1 } else { NONE },
        };
        let queue =
            || Queue { first: NONE, last: NONE, count: 0, due: 0, triggers: VecDeque::new(), timer: None };
        Self {
            places: (0..places).map(vacant).collect(),
            queues: (0..streams).map(|_| queue()).collect(),
            free: 0,
            free_count: places,
            reserved: 0,
        }
    }

    /// Number of places of the pool.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Number of places with a chunk.
    #[inline]
    pub(crate) fn taken(&self) -> u32 {
        self.places.len() as u32 - self.free_count
    }

    /// Number of places that are neither taken nor reserved.
    #[inline]
    pub(crate) fn available(&self) -> u32 {
        self.free_count - self.reserved
    }

    /// Reserves `count` places, which must be available.
    pub(crate) fn reserve(&mut self, count: u32) {
        debug_assert!(count <= self.available());
        self.reserved += count;
    }

    /// Releases `count` reserved places.
    pub(crate) fn unreserve(&mut self, count: u32) {
        self.reserved -= count;
    }

    pub(crate) fn get(&self, place: u32) -> &BufferSlot {
        &self.places[place as usize]
    }

    pub(crate) fn get_mut(&mut self, place: u32) -> &mut BufferSlot {
        &mut self.places[place as usize]
    }

    /// Takes a free place for `chunk`, whose content is in `page`. There must be one.
    #[inline]
    pub(crate) fn take(&mut self, chunk: u64, page: PageId) -> u32 {
        let place = self.free;
        let slot = &mut self.places[place as usize];
        self.free = slot.after;
        self.free_count -= 1;
        slot.chunk = chunk;
        slot.page = page;
        slot.first_request = NONE;
        slot.write_seq = 0;
        place
    }

    /// Frees a place that is in no queue.
    #[inline]
    pub(crate) fn give(&mut self, place: u32) {
        let slot = &mut self.places[place as usize];
        slot.chunk = NOWHERE;
        slot.page = NONE;
        slot.after = std::mem::replace(&mut self.free, place);
        self.free_count += 1;
    }

    /// Appends a place to the waiting places of `stream`.
    #[inline]
    pub(crate) fn push(&mut self, stream: usize, place: u32, now: Nanos) {
        let last = self.queues[stream].last;
        self.insert(stream, place, now, last, NONE);
    }

    /// Inserts a place among the places of `stream` that wait and are not due, in the order of their chunks' addresses, as far
    /// as the queue is in that order. Takes a step for each place that it passes.
    pub(crate) fn push_in_order(&mut self, stream: usize, place: u32, now: Nanos) {
        let chunk = self.places[place as usize].chunk;
        let queue = &self.queues[stream];
        let (mut before, mut after) = (queue.last, NONE);
        for _ in queue.due..queue.count {
            if self.places[before as usize].chunk < chunk {
                break;
            }
            after = before;
            before = self.places[before as usize].before;
        }
        self.insert(stream, place, now, before, after);
    }

    /// Inserts a place between two neighbours in the queue of `stream`.
    #[inline]
    fn insert(&mut self, stream: usize, place: u32, now: Nanos, before: u32, after: u32) {
        let queue = &mut self.queues[stream];
        queue.count += 1;
        match before {
            NONE => queue.first = place,
            _ => self.places[before as usize].after = place,
        }
        match after {
            NONE => queue.last = place,
            _ => self.places[after as usize].before = place,
        }
        let slot = &mut self.places[place as usize];
        *slot = BufferSlot { stream: stream as u8, waits: true, since: now, before, after, ..*slot };
    }

    /// Returns a place that left a queue to the front of that queue, due as before.
    pub(crate) fn push_first(&mut self, place: u32) {
        let queue = &mut self.queues[self.places[place as usize].stream as usize];
        let first = std::mem::replace(&mut queue.first, place);
        queue.count += 1;
        queue.due += 1;
        if first == NONE {
            queue.last = place;
        } else {
            self.places[first as usize].before = place;
        }
        let slot = &mut self.places[place as usize];
        *slot = BufferSlot { waits: true, before: NONE, after: first, ..*slot };
    }

    /// The place that has waited longest in `stream`; [`NONE`] if none waits.
    #[inline]
    pub(crate) fn first(&self, stream: usize) -> u32 {
        self.queues[stream].first
    }

    /// Removes a place, one of the due ones, from its queue, and returns the place that waits `stride` places after it;
    /// [`NONE`] if there is none.
    #[inline]
    pub(crate) fn pop(&mut self, place: u32, stride: u32) -> u32 {
        let mut next = place;
        for _ in 0..stride {
            if next != NONE {
                next = self.places[next as usize].after;
            }
        }
        let queue = &mut self.queues[self.places[place as usize].stream as usize];
        queue.due = queue.due.saturating_sub(1);
        self.remove(place);
        next
    }

    /// Removes a waiting place from its queue.
    #[inline]
    pub(crate) fn remove(&mut self, place: u32) {
        let BufferSlot { stream, before, after, .. } = self.places[place as usize];
        let queue = &mut self.queues[stream as usize];
        match before {
            NONE => queue.first = after,
            _ => self.places[before as usize].after = after,
        }
        match after {
            NONE => queue.last = before,
            _ => self.places[after as usize].before = before,
        }
        queue.count -= 1;
        queue.due = queue.due.min(queue.count);
        self.places[place as usize].waits = false;
    }

    /// The time when the place that has waited longest in `stream` began to wait.
    pub(crate) fn since(&self, stream: usize) -> Option<Nanos> {
        let first = self.queues[stream].first;
        (first != NONE).then(|| self.places[first as usize].since)
    }

    /// Bytes of memory, without the content of chunks.
    pub(crate) fn bytes(&self) -> u64 {
        (self.places.len() * size_of::<BufferSlot>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_that_is_put_in_order_passes_no_place_that_is_due() {
        let mut buffer = Buffer::new(8, 1);
        for chunk in [30, 20] {
            let place = buffer.take(chunk, NONE);
            buffer.push(0, place, 0);
        }
        buffer.queues[0].due = 2;
        for chunk in [9, 5, 7, 40, 6] {
            let place = buffer.take(chunk, NONE);
            buffer.push_in_order(0, place, 0);
        }
        let mut chunks = Vec::new();
        let mut place = buffer.first(0);
        while place != NONE {
            chunks.push(buffer.get(place).chunk);
            place = buffer.pop(place, 1);
        }
        assert_eq!(chunks, [30, 20, 5, 6, 7, 9, 40]);
    }

    proptest! {
        #[test]
        fn queues_agree_with_a_model(steps in prop::collection::vec((0u8..5, 0usize..2, any::<u32>()), 1..200)) {
            let mut buffer = Buffer::new(12, 2);
            let mut model = [VecDeque::new(), VecDeque::new()];
            let mut in_flight: Vec<u32> = Vec::new();
            for (now, (step, stream, number)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => if buffer.available() > 0 {
                        let place = buffer.take(now as u64, 0);
                        buffer.push(stream, place, now as u64);
                        model[stream].push_back(place);
                    },
                    2 => {
                        // A stripe of up to three places, each some places after the previous one.
                        let stride = number % 3 + 1;
                        let (mut place, mut at) = (buffer.first(stream), 0);
                        for _ in 0..3 {
                            let expected = model[stream].remove(at);
                            prop_assert_eq!((place != NONE).then_some(place), expected);
                            if expected.is_none() {
                                break;
                            }
                            in_flight.push(place);
                            place = buffer.pop(place, stride);
                            at += stride as usize - 1;
                        }
                    },
                    3 => if let Some(place) = in_flight.pop() {
                        if number % 2 == 0 {
                            buffer.give(place);
                        } else {
                            buffer.push_first(place);
                            model[buffer.get(place).stream as usize].push_front(place);
                        }
                    },
                    _ => if !model[stream].is_empty() {
                        let place = model[stream].remove(number as usize % model[stream].len()).unwrap();
                        buffer.remove(place);
                        buffer.give(place);
                    },
                }
                for (queue, model) in buffer.queues.iter().zip(&model) {
                    prop_assert_eq!(queue.count as usize, model.len());
                }
                let taken = model[0].len() + model[1].len() + in_flight.len();
                prop_assert_eq!(buffer.available() as usize, 12 - taken);
            }
        }
    }
}
