//! Multi-plane operations: pages of several planes of a die in one cell time.
//!
//! A whole SSD assembles such an operation when a die takes an operation from its queue: it adds other operations of
//! the same kind, first come first served, at most one per plane. Their transfers follow one another on the bus;
//! their cells work in parallel. The slots of one multi-plane operation are chained by their successors, which are
//! free because the slots have left the queue.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::list::NONE;
use crate::media::Media;
use crate::operations::die::Phase;
use crate::operations::op::{Done, OpKind};
use crate::spec::MultiPlane;

impl<M: Media> Flash<M> {
    /// Whether planes of a die can work together.
    #[inline(always)]
    pub(crate) fn has_multi_plane(&self) -> bool {
        self.multi_plane != MultiPlane::Off
    }

    /// The bit of a plane in the set of a die's planes that a multi-plane operation already uses.
    fn bit(&self, die: u32, plane: u32) -> u64 {
        1 << (plane - die * self.shape.by_plane.get())
    }

    /// Offset, within its block, of the page to read, or of the page that a program to `plane` will take.
    fn offset(&self, slot: u32, plane: u32) -> Option<u32> {
        let s = &self.slots[slot as usize];
        let page = match s.kind {
            OpKind::Read if s.old_version => self.ftl.lookup_old(s.member, s.page),
            OpKind::Read => self.ftl.lookup(s.member, s.page),
            _ => return Some(self.ftl.next_offset(plane, s.stream)),
        };
        page.map(|page| page % self.shape.pages_per_block)
    }

    /// Whether a waiting operation can join the current multi-plane operation.
    fn joins(&self, die: u32, slot: u32, kind: OpKind, offset: Option<u32>) -> bool {
        let s = &self.slots[slot as usize];
        if s.kind != kind {
            return false;
        }
        let plane = if kind == OpKind::Read {
            let free = self.taken & self.bit(die, s.plane) == 0;
            let closed = self.is_blocked(self.dies[die as usize].closed(), die, s.plane);
            (free && (!closed || self.is_suspended(die))).then_some(s.plane)
        } else {
            self.plane_for(die, slot)
        };
        let same = self.multi_plane == MultiPlane::SamePage;
        plane.is_some_and(|plane| !same || self.offset(slot, plane) == offset)
    }

    /// After a die has taken `head`: removes the operations that can run with it from the queue and chains them
    /// behind it. Programs have their pages afterwards.
    pub(crate) fn gather(&mut self, now: Nanos, die: u32, head: u32) {
        self.slot_next[head as usize] = NONE;
        let kind = self.slots[head as usize].kind;
        let mut tail = head;
        let mut plane = self.slots[head as usize].plane;
        if kind == OpKind::Program {
            plane = self.plane_for(die, head).unwrap_or(plane);
        }
        // Computed before the program takes its page, because the offset is that of this page.
        let offset = self.offset(head, plane);
        if kind == OpKind::Program {
            self.place(die, head);
        }
        self.taken = self.bit(die, self.slots[head as usize].plane);
        let level = usize::from(self.read_priority && kind == OpKind::Program);
        loop {
            let mut queue = self.dies[die as usize].queues[level];
            let mut next = std::mem::take(&mut self.slot_next);
            let found = queue.take(&mut next, |slot| self.joins(die, slot, kind, offset));
            self.slot_next = next;
            let Some(slot) = found else { break };
            self.dies[die as usize].queues[level] = queue;
            self.slot_next[tail as usize] = slot;
            self.slot_next[slot as usize] = NONE;
            tail = slot;
            let waited = self.dies[die as usize].gc_clock(now).wrapping_sub(self.slots[slot as usize].gc);
            self.slots[slot as usize].gc = waited;
            if kind == OpKind::Program {
                self.place(die, slot);
            }
            self.taken |= self.bit(die, self.slots[slot as usize].plane);
        }
        self.taken = 0;
        let (mut pages, mut cells) = (0, 0);
        self.chain(head).for_each(|slot| {
            pages += 1;
            cells += self.slots[slot as usize].cell;
        });
        let shared = cells - self.chain_cell(head);
        let counters = &mut self.members[self.slots[head as usize].member as usize].counters;
        counters.multi_plane_pages += pages - 1;
        counters.shared_cell_ns += shared;
    }

    /// The slots of the operation that begins with `head`.
    pub(crate) fn chain(&self, head: u32) -> impl Iterator<Item = u32> {
        let next = |slot: &u32| Some(self.slot_next[*slot as usize]).filter(|&next| next != NONE);
        std::iter::successors(Some(head), move |slot| if self.has_multi_plane() { next(slot) } else { None })
    }

    /// Cell time of the operation that begins with `head`.
    pub(crate) fn chain_cell(&self, head: u32) -> Nanos {
        self.chain(head).map(|slot| self.slots[slot as usize].cell).max().unwrap_or(0)
    }

    /// Bus time of a phase that several planes run together, and cell time after it.
    #[cold]
    pub(crate) fn chain_durations(&self, die: u32, phase: Phase) -> (Nanos, Nanos) {
        let head = self.dies[die as usize].slot;
        let bus = |slot: u32| {
            let s = &self.slots[slot as usize];
            if phase == Phase::Sense { self.times.read_command } else { s.bus - s.link }
        };
        (self.chain(head).map(bus).sum(), self.chain_cell(head))
    }

    /// Handles the end of a die's program or of a read's transfer. False if the next transfer of the same operation
    /// began.
    pub(crate) fn finish_chain(
        &mut self,
        now: Nanos,
        die: u32,
        agenda: &mut Agenda,
        done: &mut Vec<Done>,
    ) -> bool {
        let phase = self.dies[die as usize].phase;
        let mut slot = std::mem::replace(&mut self.dies[die as usize].slot, NONE);
        while slot != NONE {
            // A finished slot may enter another list.
            let next = if self.has_multi_plane() { self.slot_next[slot as usize] } else { NONE };
            self.finish(now, slot, agenda, done);
            if phase == Phase::Out && next != NONE {
                self.dies[die as usize].slot = next;
                self.begin(now, die, Phase::Out, agenda);
                return false;
            }
            slot = next;
        }
        true
    }
}
