//! Hot spares.

use std::collections::VecDeque;

/// Hot spares: members that wait to replace one that fails.
#[derive(Debug)]
pub(super) struct Spares<E> {
    pub(super) waiting: VecDeque<(E, u32)>,
}

impl<E> Default for Spares<E> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<E> Spares<E> {
    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }
}
