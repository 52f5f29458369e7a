//! Array-level garbage collection: the valid chunks of a segment return to controller memory, and from there to the log as the
//! coldest chunks of all (paper 001, section IV-B); then the segment is free.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::Class;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;

use crate::job::{BuildResult, Cx, Job};
use crate::log::contents::{Content, Walker};
use crate::log::job::Collect;
use crate::log::{Collection, Location, Log};

/// The next step of collection in its victim.
enum Next {
    /// A stripe that has valid chunks, and these chunks.
    Stripe((u64, u64), u64),
    /// A slot of a batch whose summary must be read first.
    Unknown(u64),
    Nothing,
}

impl Log {
    /// The greatest number of valid chunks of a segment that is worth collecting: moving them must free at least a row,
    /// although each stream of live chunks may write a row that is not full.
    pub(crate) fn victim_most<M: Memory>(&self, exec: &Executor<M>) -> u32 {
        let groups = (0..exec.geometry().groups).map(|group| self.data_of_group(group, exec));
        let data = groups.filter(|&data| data > 0).min().unwrap_or(0);
        self.stripes_of_victim(data, exec)
    }

    /// Takes the next step of collection, if there is anything to do now.
    pub(crate) fn collect_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.is_beyond_parity(exec) {
            return false;
        }
        let Some(collection) = self.collection else {
            return if self.wants_collection { self.start_collection(exec) } else { self.start_move() };
        };
        match self.next_live_chunks(collection) {
            Next::Stripe(stripe, wanted) => {
                let count = wanted.count_ones();
                if !exec.has_free_plan() || self.buffer.available() < count {
                    return false;
                }
                self.buffer.reserve(count);
                self.collection =
                    Some(Collection { next: stripe.1, reads: collection.reads + 1, ..collection });
                let plan = self.plan_of_stripe(stripe, Collect, exec);
                exec.want(plan, wanted);
                exec.begin(plan, self, driver);
                true
            }
            Next::Unknown(slot) => self.ask_contents(Walker::Collection, slot, exec, driver),
            Next::Nothing => self.end_collection(exec),
        }
    }

    fn start_collection<M: Memory>(&mut self, exec: &mut Executor<M>) -> bool {
        let most = self.victim_most(exec);
        if !self.may_collect() {
            return false;
        }
        self.wants_collection = false;
        let victim = match &mut self.segment_chooser {
            Some(chooser) => {
                self.segments.take_chosen(most, |chunks, closed| chooser.collect(exec.now(), chunks, closed))
            }
            None => self.segments.take_victim(most),
        };
        let Some(victim) = victim else { return false };
        self.is_full = false;
        self.collection = Some(self.collection_of(victim));
        true
    }

    /// Starts to collect a segment with a summary that scrub could not repair, if there is one and space for all its chunks.
    fn start_move(&mut self) -> bool {
        let log = &*self;
        let shaky = log.durable.as_ref().map_or(&[][..], |durable| &durable.shaky);
        let has_space = |segment: u32| log.may_collect() && log.has_space_for(log.segments.valid(segment));
        let is_next = |segment: &u32| log.segments.may_move(*segment) && has_space(*segment);
        let Some(victim) = shaky.iter().copied().find(is_next) else { return false };
        let log = &mut *self;
        log.segments.move_off(victim);
        log.collection = Some(log.collection_of(victim));
        true
    }

    /// The next stripe of the victim that has valid chunks.
    fn next_live_chunks(&mut self, collection: Collection) -> Next {
        let log = &mut *self;
        let mut slot = collection.next;
        while slot < collection.end && log.segments.valid(collection.victim) > 0 {
            if !log.directory.is_in_stripe(slot) {
                slot += 1;
                continue;
            }
            if !log.is_known(Walker::Collection, slot) {
                log.collection = Some(Collection { next: slot, ..collection });
                return Next::Unknown(slot);
            }
            let stripe = log.directory.stripe(slot);
            let mut wanted = 0;
            log.columns_of(stripe, |column, slot| {
                if log.is_valid(Walker::Collection, slot) {
                    wanted |= 1u64 << column;
                }
            });
            if wanted != 0 {
                return Next::Stripe(stripe, wanted);
            }
            slot = stripe.1;
        }
        log.collection = Some(Collection { next: collection.end, ..collection });
        Next::Nothing
    }

    /// Frees the victim, once its chunks are stored elsewhere permanently and no plan reads it.
    fn end_collection<M: Memory>(&mut self, exec: &mut Executor<M>) -> bool {
        let frees_early = exec.has_bug(Bug::SegmentFreedEarly);
        let data = exec.geometry().data;
        let log = &mut *self;
        let Some(Collection { victim, reads, .. }) = log.collection else { return false };
        if reads > 0 {
            return false;
        }
        let hosts = log.hosts();
        let queues = &mut log.buffer.queues[hosts..];
        // Full stripes leave, even if they do not make a full band. If memory is volatile, everything leaves: waiting chunks
        // would not survive a loss of power, and the victim has the only other copy.
        let mut is_more = false;
        for queue in queues.iter_mut() {
            let waits = queue.count - queue.due;
            let leaves = if log.is_volatile { waits } else { waits - waits % data };
            queue.due += leaves;
            is_more |= leaves > 0;
        }
        if is_more {
            return true;
        }
        let is_moving = queues.iter().any(|queue| queue.due > 0) || log.in_flight_relocations > 0;
        if (is_moving || log.segments.is_held(victim)) && !frees_early {
            return false;
        }
        log.collection = None;
        if log.durable.is_some() && log.segments.valid(victim) > 0 {
            log.segments.leave(victim);
            log.durable_mut().forget_shaky(victim);
            return true;
        }
        log.is_full = false;
        self.vacate(victim, exec);
        true
    }

    /// Frees `victim`, which has no valid chunks left; with metadata, as soon as no checkpoint names it.
    pub(crate) fn vacate<M: Memory>(&mut self, victim: u32, exec: &mut Executor<M>) {
        let first = u64::from(victim) * self.segment_slots();
        self.directory.clear(first);
        self.counts.collected += 1;
        if self.durable.is_none() {
            self.segments.free(victim);
        } else {
            self.free_later(victim, exec);
        }
    }

    /// Valid chunks of the victim were read: those still valid continue in controller memory.
    fn collected<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let wanted = exec.plan(plan).wanted;
        let lost = if exec.plan(plan).is_abandoned { exec.plan(plan).missing } else { 0 };
        self.buffer.unreserve(wanted.count_ones());
        for column in columns(wanted) {
            let slot = self.homes(plan)[column as usize];
            let Content { chunk, write_seq, .. } = self.column(plan, column);
            if !self.is_home(chunk, slot) && !exec.has_bug(Bug::OldChunkMoved) {
                continue;
            }
            if lost >> column & 1 != 0 {
                // With metadata, the chunk stays where it is: only its entry there shows at the next assembly that an older
                // version, which other segments may have, is not the newest.
                if self.durable.is_none() {
                    let segment = self.segment_of(slot);
                    self.segments.invalidate(segment);
                    self.set_lost(chunk);
                }
                continue;
            }
            if exec.has_bug(Bug::LiveChunkDropped) && wanted >> column > 1 {
                let segment = self.segment_of(slot);
                self.segments.invalidate(segment);
                self.set_unmapped(chunk);
                continue;
            }
            let page = self.take_content(plan, column, exec);
            self.relocate(chunk, write_seq, page, exec);
        }
        if let Some(collection) = &mut self.collection {
            collection.reads -= 1;
        }
    }

    /// Moves `chunk` from its slot to controller memory, where it waits to be written as a live chunk: for a band while a
    /// collection brings more chunks, else for a stripe. It keeps its `write_seq`. If that is unknown (0), it gets a new one:
    /// the chunk is the newest version, so any later write gets a greater number.
    pub(crate) fn relocate<M: Memory>(
        &mut self,
        chunk: u64,
        write_seq: u64,
        page: PageId,
        exec: &mut Executor<M>,
    ) {
        let (now, data) = (exec.now(), exec.geometry().data);
        let is_renumbered = exec.has_bug(Bug::RelocationReborn);
        if let Location::Mapped(slot) = self.location(chunk) {
            let segment = self.segment_of(slot);
            self.segments.invalidate(segment);
        }
        let place = self.buffer.take(chunk, page);
        self.buffer.get_mut(place).write_seq = if is_renumbered { 0 } else { write_seq };
        let relocation_stream = self.classes.relocation_stream(chunk);
        let depth = if self.collection.is_some() { self.classes.depth(relocation_stream) } else { 1 };
        if depth > 1 {
            // Stripes are collected one by one, each with parts of many chunks that belong together.
            self.buffer.push_in_order(relocation_stream, place, now);
        } else {
            self.buffer.push(relocation_stream, place, now);
        }
        self.set_memory(chunk, place);
        let queue = &mut self.buffer.queues[relocation_stream];
        if queue.count - queue.due >= data * depth {
            queue.due += data * depth;
        }
    }
}

impl Log {
    /// The collection of `victim`, at its start.
    fn collection_of(&self, victim: u32) -> Collection {
        let next = u64::from(victim) * self.segment_slots();
        Collection { victim, next, end: next + self.segment_slots(), reads: 0 }
    }
}

impl Job<Log> for Collect {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_log_read(cx.plan, Class::ArrayGcRead, cx.exec, driver)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.decode_stripe(cx.plan, cx.exec);
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.collected(cx.plan, cx.exec);
    }
}
