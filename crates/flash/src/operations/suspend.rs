//! Suspension of programs and erases for reads.
//!
//! Only an operation of the die itself is suspended, never a collection that is one busy span. Only reads run during
//! a suspension. A channel or a chip, which keeps no queue, suspends when it refuses a read, and offers the die when
//! the die can read.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::operations::die::{Die, NEVER, Phase};
use crate::operations::suspension::Suspension;
use crate::spec::Domain;

impl<M: Media> Flash<M> {
    /// Whether the operation of a die is suspended, so that the die takes reads only.
    #[inline(always)]
    pub(crate) fn is_suspended(&self, die: u32) -> bool {
        self.suspensions.get(die as usize).is_some_and(|suspension| suspension.phase != Phase::Idle)
    }

    /// Records that a phase of a die has its bus, so that its end is known.
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
            // Reads have a separate queue.
            !d.queues[0].is_empty()
        } else {
            s.wanted && self.ready.is_refused(self.shape.member_of_die(die))
        };
        if waits {
            self.suspend(now, die, agenda);
        }
    }

    /// Handles a read for a busy die: suspends the current operation, or records that it could not.
    pub(crate) fn suspend_for_read(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if !self.suspensions.is_empty() && !self.suspend(now, die, agenda) {
            self.suspensions[die as usize].wanted = true;
        }
    }

    /// Records that a channel or chip starts a read on a die.
    pub(crate) fn read_came(&mut self, die: u32) {
        if let Some(suspension) = self.suspensions.get_mut(die as usize) {
            suspension.wanted = false;
        }
    }

    /// The time at which the cells would stop if a read suspended the current operation now; `None` if it cannot or
    /// must not be suspended.
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

    /// Suspends the current operation, if possible and allowed.
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

    /// A die with a suspended operation starts the next read, or resumes the operation.
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

    /// Resumes a suspended operation.
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
