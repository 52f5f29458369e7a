//! How many host writes memory accepts: with metadata never more than there is space for, in the worst case.
//!
//! A collected segment is free only after a checkpoint, and a checkpoint waits until memory is empty. So accepted chunks must
//! find room without a checkpoint, even if a flush follows every single chunk and gives each a stripe and a summary of its
//! own. Chunks that wait for a full stripe or segment may therefore use up all space that they will never need together: a
//! short deep stripe takes three rows. They are written when there is space for no more of them and nothing else frees any.

use stripewise_core::bugs::Bug;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;

use crate::log::buffer::Queue;
use crate::log::durable::Phase;
use crate::log::{Location, Log};

/// Whether memory accepts a chunk of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    Yes,
    /// Once there is space again.
    Later,
    /// There is no space, and nothing that could free some.
    Never,
}

impl Log {
    /// Whether memory accepts `chunk` now, as far as space on the members is concerned.
    pub(crate) fn admits_chunk<M: Memory>(&mut self, chunk: u64, exec: &mut Executor<M>) -> Admits {
        let Some(durable) = &self.durable else { return Admits::Yes };
        if durable.sync.phase == Phase::Drain {
            // A chunk that arrives now belongs to the time after the sync point.
            return Admits::Later;
        }
        let waits = |place| self.buffer.get(place).waits;
        let is_absorbed = matches!(self.location(chunk), Location::Buffered(place) if waits(place));
        if is_absorbed {
            return Admits::Yes;
        }
        let admits = self.admits_another(exec);
        if admits != Admits::Later {
            return admits;
        }
        if self.can_collect(exec) {
            self.wants_collection = self.collection.is_none();
        } else if !self.makes_progress() && !exec.has_bug(Bug::WaitingNotWritten) {
            self.make_space();
        }
        admits
    }

    /// Whether memory accepts a chunk that it does not have.
    pub(crate) fn admits_another<M: Memory>(&self, exec: &Executor<M>) -> Admits {
        let Some(durable) = &self.durable else { return Admits::Yes };
        if self.has_space_for(1) || exec.has_bug(Bug::SpaceNotReserved) {
            return Admits::Yes;
        }
        let waits = |queues: &[Queue]| queues.iter().any(|queue| queue.count > 0);
        let is_written = !self.is_full && waits(&self.buffer.queues) && !exec.has_bug(Bug::WaitingNotWritten);
        let makes_progress =
            self.makes_progress() || durable.makes_space() || self.can_collect(exec) || is_written;
        if makes_progress { Admits::Later } else { Admits::Never }
    }

    /// Whether work in progress may free space, or will need less of it once it is done.
    fn makes_progress(&self) -> bool {
        let syncs = self.durable.as_ref().is_some_and(|durable| match durable.sync.phase {
            Phase::Idle => durable.makes_space() && self.wants_checkpoint(),
            _ => durable.makes_space(),
        });
        self.in_flight > 0 || !self.merges.is_empty() || syncs
    }

    /// Starts what makes space while nothing is in progress: writes the chunks that wait in memory for others. Each of them
    /// has the space for a stripe and a summary of its own, and together they take less. Without such chunks, a checkpoint
    /// frees the collected segments.
    fn make_space(&mut self) {
        if self.buffer.queues.iter().any(|queue| queue.count > queue.due) {
            self.drain_memory();
        } else if let Some(durable) = self.durable.as_mut().filter(|durable| !durable.collected.is_empty()) {
            durable.sync.is_requested = true;
        }
    }

    /// Whether a collection is in progress, or could start.
    pub(crate) fn can_collect<M: Memory>(&self, exec: &Executor<M>) -> bool {
        self.collection.is_some() || self.segments.has_victim(self.victim_most(exec))
    }

    /// The number of valid chunks up to which collecting a segment gains space, where stripes have `data` chunks.
    pub(crate) fn stripes_of_victim<M: Memory>(&self, data: u32, exec: &Executor<M>) -> u32 {
        let relocation_streams = self.classes.relocation_streams();
        let stripes = exec.scheme().elastic.segment_rows / exec.geometry().depth;
        match &self.durable {
            None => data * (stripes - relocation_streams),
            // A checkpoint may close the batches of live chunks early.
            Some(durable) => data * durable.full_stripes(self).saturating_sub(2 * relocation_streams),
        }
    }
}

impl Log {
    /// Whether there is space for all host chunks that wait in memory, and for `chunks` more, in the worst case.
    pub(crate) fn has_space_for(&self, chunks: u32) -> bool {
        self.segments.free_count() >= self.classes.relocation_streams() + self.needed_for(chunks)
    }

    /// Whether a chunk that could not be read may be rewritten. That must not take the segment which the live chunks of a
    /// collection need: besides a full stripe of them it has room for one that is not full, and no more.
    pub(crate) fn may_heal(&self, chunk: u64) -> bool {
        let waiting = self.buffer.queues[self.classes.relocation_stream(chunk)].count;
        self.has_place()
            && waiting < self.data()
            && self.segments.free_count() > self.classes.relocation_streams()
    }

    /// Whether a collection may begin: live chunks take space before a checkpoint frees any, and chunks that wait in memory
    /// must find room until then.
    pub(crate) fn may_collect(&self) -> bool {
        let is_first = self.durable.as_ref().is_none_or(|durable| durable.collected.is_empty());
        is_first || self.segments.free_count() >= 2 * self.classes.relocation_streams() + self.needed_for(0)
    }

    fn needed_for(&self, chunks: u32) -> u32 {
        let waiting: u32 = self.buffer.queues.iter().map(|queue| queue.count).sum();
        self.segments_for(waiting + self.merges.len() as u32 + chunks)
    }
}
