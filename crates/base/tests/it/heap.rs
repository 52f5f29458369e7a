//! The simplest agenda: a binary heap. The oracle of the tests and the yardstick of the benchmark.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in order of time, then of scheduling.
#[derive(Default)]
pub struct HeapAgenda {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    sequence: u64,
}

impl HeapAgenda {
    /// Adds `event` at time `at`.
    pub fn schedule(&mut self, at: u64, event: u32) {
        self.heap.push(Reverse((at, self.sequence, event)));
        self.sequence += 1;
    }

    /// Removes and returns the earliest event and its time.
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }

    /// The time of the earliest event.
    pub fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}
