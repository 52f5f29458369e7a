//! Collection that yields to host operations: semi-preemptive collection (Lee et al., ISPASS 2011) and background
//! collection (SSDsim's soft threshold).
//!
//! Both stop only between two steps; no flash operation is aborted. Semi-preemptive collection is due. At a stopping
//! point it releases all dies that it holds back, its die runs a batch of waiting operations, then collection
//! continues. Background collection is not due yet: it takes steps while its die has no other work.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::collection::gc;
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::operations::die::{NEVER, Phase};
use crate::spec::{Domain, Preemption};

impl<M: Media> Flash<M> {
    /// The domain in which a die's current collection blocks host operations; in the background never more than its
    /// die.
    pub(crate) fn domain_of(&self, die: u32) -> Domain {
        if self.collections[die as usize].background {
            self.gc.blocking.min(Domain::Die)
        } else {
            self.gc.blocking
        }
    }

    /// Handles the end of a step at a point where host operations may start. False if none may, so that the
    /// collection continues.
    pub(crate) fn preempt(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        let c = &self.collections[die as usize];
        let background = c.background;
        if !background && (self.gc.preemption == Preemption::Never || self.ftl.is_hard(c.plane)) {
            return false;
        }
        let d = &mut self.dies[die as usize];
        (d.phase, d.due) = (Phase::Idle, NEVER);
        d.yields = !background;
        d.batch = self.gc.preemption_batch;
        let wanted = self.shape.level != Level::Ssd && self.holds_somebody_up(die);
        self.hold(now, die, None, agenda);
        // Releasing other dies may have started work on this one.
        if self.dies[die as usize].phase == Phase::Idle {
            if wanted {
                self.dies[die as usize].batch -= 1;
                self.ready.report(self.shape.member_of_die(die));
                self.await_takers(now, die, agenda);
            } else {
                self.next(now, die, agenda);
            }
        }
        true
    }

    /// Whether a collection may be delaying a member that waits.
    fn holds_somebody_up(&self, die: u32) -> bool {
        let mut dies = self.dies_of(die, self.collections[die as usize].held);
        dies.any(|other| self.ready.is_refused(self.shape.member_of_die(other)))
    }

    /// Leaves a die idle until the driver has finished its work of this instant.
    pub(crate) fn await_takers(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        self.dies[die as usize].phase = Phase::Offer;
        self.schedule_die(now, die, agenda);
    }

    /// A die with a preempted collection starts the next host operation of the batch, or continues to collect.
    pub(crate) fn next_of_batch(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &mut self.dies[die as usize];
        if d.batch > 0 {
            d.batch -= 1;
            if self.shape.level == Level::Ssd {
                if self.serve_next(now, die, agenda) {
                    return;
                }
            } else if self.offer(now, die, agenda) {
                return;
            }
        }
        self.dies[die as usize].yields = false;
        if !self.collect(now, die, agenda) && self.dies[die as usize].phase == Phase::Idle {
            self.next(now, die, agenda);
        }
    }

    /// Offers an idle die to its member, if the member refused an operation. The die's event comes at this instant,
    /// after the driver's reaction.
    pub(crate) fn offer(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        let member = self.shape.member_of_die(die);
        let refused = self.ready.is_refused(member);
        if refused {
            self.await_takers(now, die, agenda);
            self.ready.report(member);
        }
        refused
    }

    /// Handles an offer that no operation took.
    pub(crate) fn offer_lapsed(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &mut self.dies[die as usize];
        (d.phase, d.due) = (Phase::Idle, NEVER);
        if self.is_suspended(die) {
            return self.resume(now, die, agenda);
        }
        let d = &mut self.dies[die as usize];
        if d.yields && self.shape.level != Level::Ssd {
            d.batch = 0;
        } else if self.shape.level != Level::Ssd && self.has_background(die) {
            return self.collect_in_background(now, die, agenda);
        }
        self.next(now, die, agenda);
    }

    /// Records that a program left a plane at or below its soft watermark.
    #[inline(always)]
    pub(crate) fn note_soft(&mut self, die: u32, plane: u32) {
        let bit = 1 << (plane - die * self.shape.by_plane.get());
        if self.control.is_some() {
            if self.ftl.is_soft(plane) || self.asks_ahead(plane) {
                self.note_due(die, bit);
            }
        } else if self.gc.soft_watermark.is_some() && self.ftl.is_soft(plane) {
            self.dies[die as usize].eager |= bit;
        }
    }

    /// An idle die without demand begins or continues to collect a plane at its soft watermark.
    pub(crate) fn collect_in_background(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if self.collections[die as usize].block != NONE {
            self.hold(now, die, Some(self.domain_of(die)), agenda);
            return self.collect_step(now, die, agenda);
        }
        if let Some((plane, block)) = self.take_cold(die) {
            return self.begin_block(now, die, (plane, block), true, true, agenda);
        }
        while self.dies[die as usize].eager != 0 {
            let local = self.dies[die as usize].eager.trailing_zeros();
            let plane = die * self.shape.by_plane.get() + local;
            if self.ftl.is_soft(plane)
                && let Some(block) =
                    gc::choose(&mut self.ftl, plane, self.gc.victim, &mut self.random, &mut self.chooser)
            {
                return self.begin_block(now, die, (plane, block), false, true, agenda);
            }
            self.dies[die as usize].eager &= !(1 << local);
        }
        self.collections[die as usize].background = false;
    }

    /// Whether a die has background collection to do, and no collection that is due.
    pub(crate) fn has_background(&self, die: u32) -> bool {
        let (d, c) = (&self.dies[die as usize], &self.collections[die as usize]);
        let in_hand = c.background && (c.block != NONE || c.cold != 0);
        (d.eager != 0 || in_hand) && d.collecting == 0 && !d.active
    }
}
