//! Admission: which host operations a member can accept now.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::geometry::Level;
use crate::media::Media;
use crate::operations::bus::Class;
use crate::operations::die::Phase;
use crate::operations::holds::Hold;
use crate::operations::op::{Admission, Op, OpKind};
use crate::spec::{Domain, GcStart};

impl<M: Media> Flash<M> {
    /// Whether a member can accept an operation now. A channel or a chip accepts an operation if its die and its bus
    /// can start it now; a whole SSD accepts operations until its window is full. After a refusal,
    /// [`Self::next_ready`] reports the member when it may be able to accept an operation.
    #[inline]
    pub fn admits(&mut self, now: Nanos, member: u32, op: &Op, agenda: &mut Agenda) -> Admission {
        if self.shape.level == Level::Ssd {
            if self.members[member as usize].in_flight < self.window {
                return Admission::Admitted;
            }
            self.ready.refuse(member);
            return Admission::Closed;
        }
        self.admitted = None;
        match op.kind {
            OpKind::Read => self.admits_read(now, member, op, agenda),
            OpKind::Program => self.admits_program(now, member, op, agenda),
            OpKind::Trim | OpKind::Flush => Admission::Admitted,
        }
    }

    /// Whether a read that was refused with `hold` would be refused again. It then counts as refused again.
    #[inline]
    pub fn still_holds(&mut self, member: u32, op: &Op, hold: Hold) -> bool {
        let holds = self.holds.is_valid(hold) && self.is_shut(hold.die);
        if holds {
            debug_assert_eq!(
                self.die_of(member, op),
                Some(hold.die),
                "page {} moved to another die",
                op.page
            );
            self.ready.refuse(member);
        }
        holds
    }

    fn admits_read(&mut self, now: Nanos, member: u32, op: &Op, agenda: &mut Agenda) -> Admission {
        let Some(page) = self.find(member, op) else { return Admission::Admitted };
        let plane = self.shape.first_plane(member) + self.shape.plane_of_page(page);
        let die = self.shape.die_of_plane(plane);
        let suspended =
            self.is_suspended(die) && self.dies[die as usize].is_idle() && !self.is_held_by_others(die);
        if !suspended && !self.can_start(die, plane) {
            let hold = if op.old_version { Hold::NONE } else { self.holds.give(member, op.page, die) };
            self.ready.refuse(member);
            self.demand(now, die, agenda);
            self.suspend_for_read(now, die, agenda);
            return Admission::Refused(hold);
        }
        if self.times.read_command == 0 || self.bus_admits(now, member, Class::Read, agenda) {
            Admission::Admitted
        } else {
            Admission::Refused(Hold::NONE)
        }
    }

    fn admits_program(&mut self, now: Nanos, member: u32, op: &Op, agenda: &mut Agenda) -> Admission {
        let needs_bus = self.times.page + self.times.program_command > 0;
        if needs_bus && !self.bus_admits(now, member, Class::Write, agenda) {
            return Admission::Closed;
        }
        // Most refusals are due to busy dies; these need no look at the planes of a pool.
        let first = member * self.shape.dies_per_member;
        let any = (first..first + self.shape.dies_per_member).any(|die| {
            let d = &self.dies[die as usize];
            d.is_idle() && d.held == 0
        });
        if any && let Some(plane) = self.startable_plane(member, op.page, op.stream) {
            self.admitted = Some((member, *op, plane));
            return Admission::Admitted;
        }
        debug_assert_eq!(self.startable_plane(member, op.page, op.stream), None);
        self.ready.refuse(member);
        self.note_refused(now, member, op.stream);
        if self.gc.start == GcStart::OnDemand {
            for die in first..first + self.shape.dies_per_member {
                self.demand(now, die, agenda);
            }
        }
        // If the whole member is one pool with one stream, a refusal of one program holds for every other program.
        if self.pools.count.get() == 1 && self.ftl.streams.count() == 1 {
            Admission::Closed
        } else {
            Admission::Refused(Hold::NONE)
        }
    }

    /// The die that holds the page of a read.
    fn die_of(&self, member: u32, op: &Op) -> Option<u32> {
        let plane = |page| self.shape.first_plane(member) + self.shape.plane_of_page(page);
        self.find(member, op).map(|page| self.shape.die_of_plane(plane(page)))
    }

    /// Whether nothing can start on a die and no collection waits for a request to begin.
    #[inline(always)]
    fn is_shut(&self, die: u32) -> bool {
        let d = &self.dies[die as usize];
        !d.is_idle() || d.held > 0 && d.collecting == 0
    }

    /// Whether the member's bus is free for it. If the bus is busy, the member queues for its turn.
    fn bus_admits(&mut self, now: Nanos, member: u32, class: Class, agenda: &mut Agenda) -> bool {
        let bus = self.shape.bus_of_die(member * self.shape.dies_per_member);
        if self.exclusive || self.buses.is_free(bus, now) {
            return true;
        }
        self.ready.refuse(member);
        if let Some(at) = self.buses.await_member(bus, member, class) {
            agenda.schedule(at, self.event_of_bus(bus));
        }
        false
    }

    /// A host operation needs a die: a collection that waits for such demand begins.
    fn demand(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        let d = &self.dies[die as usize];
        if d.collecting != 0 && !d.active && d.phase == Phase::Idle {
            self.next(now, die, agenda);
        }
    }

    /// Whether a host operation on a plane may start now on the plane's die.
    #[inline(always)]
    pub(crate) fn can_start(&self, die: u32, plane: u32) -> bool {
        let d = &self.dies[die as usize];
        d.is_idle() && d.held == 0 && !self.is_blocked(d.closed(), die, plane) && !self.is_suspended(die)
    }

    /// Whether a collection on the same die blocks host operations on a plane.
    #[inline(always)]
    pub(crate) fn is_blocked(&self, collecting: u64, die: u32, plane: u32) -> bool {
        let plane = plane - die * self.shape.by_plane.get();
        collecting != 0 && (self.gc.blocking > Domain::Plane || collecting >> plane & 1 != 0)
    }
}
