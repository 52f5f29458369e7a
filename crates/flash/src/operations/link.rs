//! The link between host and device: one transfer at a time, first come, first served. Because no transfer overtakes
//! another, the end of a transfer is known when it is requested.

use std::collections::VecDeque;

use stripewise_base::Nanos;

#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    free_at: Nanos,
    /// Operations whose transfers are requested, and the time at which each ends.
    queue: VecDeque<(Nanos, u32)>,
}

impl Link {
    pub(crate) fn new(window: u32) -> Self {
        Self { free_at: 0, queue: VecDeque::with_capacity(window as usize) }
    }

    /// Requests a transfer. Returns the time at which the link's event is due, if none is scheduled yet.
    pub(crate) fn transfer(&mut self, now: Nanos, time: Nanos, slot: u32) -> Option<Nanos> {
        self.free_at = self.free_at.max(now) + time;
        self.queue.push_back((self.free_at, slot));
        (self.queue.len() == 1).then_some(self.free_at)
    }

    /// Handles the event: returns the operation whose transfer ended, and the time of the next event.
    pub(crate) fn ended(&mut self) -> Option<(u32, Option<Nanos>)> {
        let (_, slot) = self.queue.pop_front()?;
        Some((slot, self.queue.front().map(|next| next.0)))
    }
}
