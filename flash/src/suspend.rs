//! Programs and erases that stop for reads.
//!
//! Only the die's own operation is suspended, never a span of collection; and only reads come in. A channel or a chip,
//! which keep no queue, suspend when they refuse a read, and offer the die once it can read.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::die::{Die, NEVER, Phase};
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::spec::Domain;

/// What a die's operation in hand has to do with suspending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspension {
    /// The phase that was suspended, its cell time that is left, and its host operation; idle when none is.
    pub(crate) phase: Phase,
    pub(crate) left: Nanos,
    slot: u32,
    /// When the cells of the phase in hand began, or begin again.
    cells_from: Nanos,
    /// How often it was suspended.
    count: u32,
    /// Reads that may still be served.
    pub(crate) reads: u32,
    /// A read was refused that could not suspend the phase of that time.
    wanted: bool,
}

impl Suspension {
    pub(crate) const NONE: Self =
        Self { phase: Phase::Idle, left: 0, slot: NONE, cells_from: 0, count: 0, reads: 0, wanted: false };
}

impl<M: Media> Flash<M> {
    /// Whether a die's operation is suspended, so that it takes reads only.
    #[inline(always)]
    pub(crate) fn is_suspended(&self, die: u32) -> bool {
        self.suspensions.get(die as usize).is_some_and(|suspension| suspension.phase != Phase::Idle)
    }

    /// A phase of a die has its bus, and its end is known.
    #[inline(always)]
    pub(crate) fn started(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if !self.suspensions.is_empty() {
            self.note_cells(now, die, agenda);
        }
    }

    fn note_cells(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &self.dies[die as usize];
        if !matches!(d.phase, Phase::Program | Phase::MoveProgram | Phase::Erase) {
            return;
        }
        let cells_from = d.due - self.durations(die, d.phase).1;
        let s = &mut self.suspensions[die as usize];
        (s.cells_from, s.count) = (cells_from, 0);
        let waits = if self.shape.level == Level::Ssd {
            // Reads have a queue of their own.
            !d.queues[0].is_empty()
        } else {
            s.wanted && self.ready.is_refused(self.shape.member_of_die(die))
        };
        if waits {
            self.suspend(now, die, agenda);
        }
    }

    /// A read wants a die that is busy.
    pub(crate) fn suspend_for_read(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if !self.suspensions.is_empty() && !self.suspend(now, die, agenda) {
            self.suspensions[die as usize].wanted = true;
        }
    }

    /// A channel or chip takes up a read of a die.
    pub(crate) fn read_came(&mut self, die: u32) {
        if let Some(suspension) = self.suspensions.get_mut(die as usize) {
            suspension.wanted = false;
        }
    }

    /// When the cells would stop if a read suspended now what a die does; none if that cannot or may not be.
    pub(crate) fn can_suspend(&self, now: Nanos, die: u32) -> Option<Nanos> {
        let spec = self.spec.suspend?;
        let (d, s) = (&self.dies[die as usize], &self.suspensions[die as usize]);
        let may_be = match d.phase {
            Phase::Program | Phase::MoveProgram => spec.program,
            Phase::Erase => spec.erase,
            _ => false,
        };
        if !may_be || s.count >= spec.limit || d.due == NEVER || self.is_held_by_others(die) {
            return None;
        }
        let stop = now.max(s.cells_from);
        (d.due.saturating_sub(stop) > spec.overhead.0).then_some(stop)
    }

    /// Suspends what a die does, if that can and may be.
    fn suspend(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        let (Some(spec), Some(stop)) = (self.spec.suspend, self.can_suspend(now, die)) else { return false };
        let Die { phase, slot, due, .. } = self.dies[die as usize];
        let (s, left) = (&self.suspensions[die as usize], due - stop);
        let suspended =
            Suspension { phase, left, slot, count: s.count + 1, reads: spec.reads, wanted: false, ..*s };
        self.record_suspended(die, left);
        self.suspensions[die as usize] = suspended;
        let d = &mut self.dies[die as usize];
        (d.phase, d.slot) = (Phase::Suspend, NONE);
        self.members[self.shape.member_of_die(die) as usize].counters.suspends += 1;
        self.schedule_die(stop + spec.overhead.0, die, agenda);
        true
    }

    /// Whether the collection of another die holds this one back.
    pub(crate) fn is_held_by_others(&self, die: u32) -> bool {
        let own = self.collections[die as usize].held > Some(Domain::Plane);
        self.dies[die as usize].held > u32::from(own)
    }

    /// A die whose operation is suspended takes up the next read, or goes on with it.
    pub(crate) fn serve_suspended(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &mut self.dies[die as usize];
        (d.phase, d.due) = (Phase::Idle, NEVER);
        let s = &mut self.suspensions[die as usize];
        if s.reads > 0 {
            s.reads -= 1;
            let taken = if self.shape.level == Level::Ssd {
                self.serve_read(now, die, agenda)
            } else {
                self.offer(now, die, agenda)
            };
            if taken {
                return;
            }
        }
        self.resume(now, die, agenda);
    }

    /// A suspended operation goes on.
    pub(crate) fn resume(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let resume = self.spec.suspend.map_or(0, |spec| spec.resume.0);
        let s = &mut self.suspensions[die as usize];
        let (phase, left, slot) = (std::mem::replace(&mut s.phase, Phase::Idle), s.left, s.slot);
        s.cells_from = now + resume;
        let d = &mut self.dies[die as usize];
        (d.phase, d.slot) = (phase, slot);
        self.record_rest(now + resume, die, phase, left);
        self.schedule_die(now + resume + left, die, agenda);
    }
}
