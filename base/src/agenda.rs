//! The agenda: events in the future, popped in order of time and, at equal times, in order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// What an event means is known to whoever scheduled it; to the agenda it is a number.
pub type Event = u32;

/// A priority queue of events, earliest first, first scheduled first among equals.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `event` at time `at`, which must not lie before the last popped time.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse(u128::from(at) << 64 | u128::from(self.sequence) << 32 | u128::from(event)));
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The time of the earliest event.
    #[inline]
    pub fn next_time(&mut self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(key)| (key >> 64) as Nanos)
    }

    /// Removes and returns the earliest event and its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, Event)> {
        self.heap.pop().map(|Reverse(key)| ((key >> 64) as Nanos, key as Event))
    }

    /// Number of events that wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
