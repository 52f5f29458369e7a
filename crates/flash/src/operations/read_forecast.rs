//! Forecast of the start of a read: the current operation of its die, the operations that wait there, and garbage
//! collection.
//!
//! No extra state is kept for these questions; each answer is computed from the current state of the die. The answer
//! is exact if no other operation comes before the read, no transfer waits for a bus, and victims are greedy.
//! Otherwise it is
//! - a lower bound with regard to buses, because a die in the middle of an operation may have to wait for one; and
//!   with regard to collections of other dies that are due and not begun;
//! - a lower bound if the dies of a chip wait for each other, because only the die of the read is looked at;
//! - an upper bound with regard to the collection in progress, because pages to be moved may become invalid before
//!   their turn;
//! - an estimate with regard to collections that have no victim yet: greedy victims move the pages that are valid
//!   now, others the member's average; summary pages and static wear-levelling are ignored;
//! - an estimate if collections may be both preempted and suspended, or if the planes of an SSD's die collect
//!   separately.

use stripewise_base::Nanos;

use crate::collection::gc;
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::operations::die::{NEVER, Phase};
use crate::operations::op::OpKind;
use crate::spec::{Domain, GcSpan, Preemption, Victim};

impl<M: Media> Flash<M> {
    /// How long garbage collection would delay a read of a logical page that arrived now, in addition to the host
    /// operation in progress on its die; 0 if it would not delay the read.
    ///
    /// A collection that the read may suspend or preempt counts until the point where it lets the read start. Any
    /// other collection counts until its die or plane is done, including the blocks that follow. A collection that is
    /// due begins when the die is free.
    pub fn gc_wait_ns(&self, now: Nanos, member: u32, page: u32) -> Nanos {
        self.place_of(member, page).map_or(0, |(die, plane)| {
            let (host, own) = self.before_read(now, die, plane);
            own.max(self.held_for(now, die).saturating_sub(host))
        })
    }

    /// Time until the cells would begin to read a logical page if the read arrived now, without the transfer of its
    /// command. Includes the current operation on the die, garbage collection, reads that wait in an SSD, and the
    /// wait for the bus if the command needs it. Does not include the host link of an SSD.
    pub fn start_ns(&self, now: Nanos, member: u32, page: u32) -> Nanos {
        let Some((die, plane)) = self.place_of(member, page) else { return 0 };
        let (host, own) = self.before_read(now, die, plane);
        let needs_bus = self.times.read_command > 0 && !self.exclusive;
        let bus = if needs_bus { self.bus_left(now, die) } else { 0 };
        let waiting = self.dies[die as usize].queues[0].entries(&self.slot_next);
        let queued = waiting.map(|slot| {
            let (s, t) = (&self.slots[slot as usize], &self.times);
            match s.kind {
                OpKind::Program => t.program_command + t.page + t.program,
                _ => s.bus - s.link + s.cell,
            }
        });
        (host + own).max(self.held_for(now, die)).max(bus) + queued.sum::<Nanos>()
    }

    /// Cell time of programming a page.
    pub fn program_ns(&self) -> Nanos {
        self.times.program
    }

    /// The die and the plane that a read of a logical page uses; `None` if the page is not mapped.
    fn place_of(&self, member: u32, page: u32) -> Option<(u32, u32)> {
        let page = self.ftl.lookup(member, page)?;
        let plane = self.shape.first_plane(member) + self.shape.plane_of_page(page);
        Some((self.shape.die_of_plane(plane), plane))
    }

    /// The work of a die before it can start a read of a plane: the current host operation, then the die's own
    /// collection.
    fn before_read(&self, now: Nanos, die: u32, plane: u32) -> (Nanos, Nanos) {
        let d = &self.dies[die as usize];
        if self.is_suspended(die) {
            return self.while_suspended(now, die, plane);
        }
        match d.phase {
            Phase::MoveSense | Phase::MoveOut | Phase::MoveProgram | Phase::Erase | Phase::Span => {
                (0, self.step_holds(now, die, plane))
            }
            // A read that suspends a program goes before a collection that is due after the program.
            Phase::Program if self.lets_read_suspend(now, die) => (self.until_suspended(now, die), 0),
            _ => (self.host_left(now, die), self.due_holds(die, plane)),
        }
    }

    /// Time until the current phase of a die is over; the whole phase takes `whole`.
    fn phase_left(&self, now: Nanos, die: u32, whole: Nanos) -> Nanos {
        match self.dies[die as usize].due {
            NEVER => self.bus_left(now, die) + whole,
            due => due.saturating_sub(now),
        }
    }

    fn bus_left(&self, now: Nanos, die: u32) -> Nanos {
        if self.exclusive { 0 } else { self.buses.left(self.shape.bus_of_die(die), now) }
    }

    /// Remaining time of the current host operation, if there is one.
    fn host_left(&self, now: Nanos, die: u32) -> Nanos {
        let phase = self.dies[die as usize].phase;
        if matches!(phase, Phase::Idle | Phase::Offer) {
            return 0;
        }
        let (bus, cells) = self.durations(die, phase);
        let out = if phase == Phase::Sense { self.times.page } else { 0 };
        self.phase_left(now, die, bus + cells) + out
    }

    /// Whether a read that arrives now suspends the current operation and is among the reads that are then served.
    fn lets_read_suspend(&self, now: Nanos, die: u32) -> bool {
        let reads = self.spec.suspend.map_or(0, |spec| u64::from(spec.reads));
        self.waiting(die) < reads && self.can_suspend(now, die).is_some()
    }

    /// Time until a read that arrives now has suspended the current operation.
    fn until_suspended(&self, now: Nanos, die: u32) -> Nanos {
        let overhead = self.spec.suspend.map_or(0, |spec| spec.overhead.0);
        self.can_suspend(now, die).map_or(0, |stop| stop - now + overhead)
    }

    /// Number of reads inside an SSD that wait ahead of a read that arrives now; members without a queue have none.
    fn waiting(&self, die: u32) -> u64 {
        if self.shape.level != Level::Ssd {
            return 0;
        }
        self.dies[die as usize].queues[0].entries(&self.slot_next).count() as u64
    }

    /// [`Self::before_read`] for a die whose operation is suspended and resumes after some reads.
    fn while_suspended(&self, now: Nanos, die: u32, plane: u32) -> (Nanos, Nanos) {
        let s = &self.suspensions[die as usize];
        let is_collection = s.phase != Phase::Program;
        let stopping = self.dies[die as usize].phase == Phase::Suspend;
        let mut host = if stopping { 0 } else { self.host_left(now, die) };
        let mut own = 0;
        // A channel or a chip is offered the die once, for one read, which it has started or will start.
        let more = stopping || self.dies[die as usize].is_idle() || u64::from(s.reads) > self.waiting(die);
        let stop = if stopping { self.phase_left(now, die, 0) } else { 0 };
        let resume = self.spec.suspend.map_or(0, |spec| spec.resume.0);
        let rest = if more { 0 } else { resume + s.left };
        if is_collection {
            let moves = if s.phase == Phase::MoveProgram { self.moves_left(die) } else { 0 };
            own += stop + if more { 0 } else { rest + moves + self.follow(die, plane) };
        } else {
            host += stop + rest;
        }
        (host, own)
    }

    /// How long a collection with a step in service keeps a read from its plane.
    fn step_holds(&self, now: Nanos, die: u32, plane: u32) -> Nanos {
        let (d, c) = (&self.dies[die as usize], &self.collections[die as usize]);
        if self.lets_read_suspend(now, die) {
            return self.until_suspended(now, die);
        }
        let waiting = self.waiting(die);
        let step = self.step_left(now, die);
        let whole = if c.background && d.collecting == 0 {
            step
        } else if !c.background && self.is_preempted_at_points(c.plane) {
            step + waiting / u64::from(self.gc.preemption_batch) * self.step_ns(die)
        } else if self.gc.blocking == Domain::Plane && !self.is_blocked(d.collecting, die, plane) {
            step
        } else {
            self.remaining_of(now, die) + self.follow(die, plane)
        };
        let sensing = d.phase == Phase::MoveSense && self.gc.preemption != Preemption::Phases;
        let next = match self.next_suspends(die) {
            Some(next) if !sensing => step + next,
            Some(_) if self.spec.suspend.is_some_and(|spec| spec.program) => {
                let overhead = self.spec.suspend.map_or(0, |spec| spec.overhead.0);
                step - self.times.move_program(c.filled) + overhead
            }
            _ => whole,
        };
        whole.min(next)
    }

    /// Time from the start of a collection's next step until a waiting read has suspended that step or a later one.
    fn next_suspends(&self, die: u32) -> Option<Nanos> {
        let (spec, t, c) = (self.spec.suspend?, &self.times, &self.collections[die as usize]);
        if self.gc.span == GcSpan::Busy || self.waiting(die) >= u64::from(spec.reads) {
            return None;
        }
        let moves = self.moves_ahead(die);
        let sense = if c.halfway { 0 } else { t.read_command + t.read };
        let bus = t.move_bus(false) - if c.halfway { t.page } else { 0 };
        if (moves > 0 || c.halfway) && spec.program && t.program > spec.overhead.0 {
            return Some(sense + bus + spec.overhead.0);
        }
        let before = u64::from(moves) * (t.read_command + t.read + t.move_bus(false) + t.program);
        (spec.erase && t.erase > spec.overhead.0).then_some(before + t.erase_command + spec.overhead.0)
    }

    /// How long a collection without a step in service keeps a read from its plane after the die is free. The
    /// collection is due, or has let a host operation in.
    fn due_holds(&self, die: u32, plane: u32) -> Nanos {
        let (d, c) = (&self.dies[die as usize], &self.collections[die as usize]);
        if d.yields {
            if c.block == NONE && d.collecting == 0 {
                return 0;
            }
            let beyond = self.waiting(die).checked_sub(d.batch.into());
            let steps = beyond.map_or(0, |more| more / u64::from(self.gc.preemption_batch) + 1);
            return steps * self.step_ns(die);
        }
        let in_hand = c.block != NONE;
        if !self.is_blocked(d.closed(), die, plane) {
            // Another plane of the die is collected: one of its steps follows each operation that is let in.
            let is_next = !d.is_idle() || self.shape.level == Level::Ssd;
            let continues = d.collecting != 0 || in_hand && !c.background;
            return if is_next && continues { self.step_ns(die) } else { 0 };
        }
        let due = if in_hand { c.plane } else { self.first_due(die) };
        let whole = if self.is_preempted_at_points(due) {
            self.step_ns(die)
        } else {
            self.follow(die, plane) + if in_hand { self.moves_left(die) } else { 0 }
        };
        self.next_suspends(die).map_or(whole, |next| whole.min(next))
    }

    fn is_preempted_at_points(&self, plane: u32) -> bool {
        self.gc.preemption != Preemption::Never && !self.ftl.is_hard(plane)
    }

    /// How long collections of other dies hold back host operations from this die.
    fn held_for(&self, now: Nanos, die: u32) -> Nanos {
        if !self.is_held_by_others(die) {
            return 0;
        }
        let holds = |other: &u32| {
            let held = self.collections[*other as usize].held;
            *other != die && held > Some(Domain::Plane) && self.dies_of(*other, held).contains(&die)
        };
        let around = self.dies_of(die, Some(self.gc.blocking)).filter(holds);
        around.map(|other| self.lets_go(now, other, die)).max().unwrap_or(0)
    }

    /// How long the collection of die `other` holds back host operations from another die.
    fn lets_go(&self, now: Nanos, other: u32, die: u32) -> Nanos {
        if !self.is_suspended(other) && self.is_preempted_at_points(self.collections[other as usize].plane) {
            return self.step_left(now, other);
        }
        let left = self.remaining_of(now, other);
        if self.dies_of(other, Some(self.erase_blocking)).contains(&die) {
            return left + self.follow(other, self.collections[other as usize].plane);
        }
        // The erase does not hold back this die. A suspended die resumes the erase, or has yet to begin it.
        left.saturating_sub(self.times.erase_command + self.times.erase)
    }

    /// Time until the current step of a collection ends at a point where host operations may start.
    fn step_left(&self, now: Nanos, die: u32) -> Nanos {
        let phase = self.dies[die as usize].phase;
        let (bus, cells) = self.durations(die, phase);
        let (t, c) = (&self.times, &self.collections[die as usize]);
        let later = match phase {
            Phase::MoveSense if self.gc.preemption == Preemption::Phases => t.page,
            Phase::MoveSense => t.move_bus(c.filled) + t.move_program(c.filled),
            _ => 0,
        };
        self.phase_left(now, die, bus + cells) + later
    }

    /// Time of the next step of a die's collection; of the whole collection if it has no steps.
    fn step_ns(&self, die: u32) -> Nanos {
        let (c, t) = (&self.collections[die as usize], &self.times);
        let program = t.move_bus(false) + t.move_program(false);
        let moves = self.moves_ahead(die);
        match (self.gc.span, self.gc.preemption) {
            (GcSpan::Busy, _) => self.block_ns(moves),
            (_, Preemption::Phases) if c.halfway => program - t.page,
            _ if moves == 0 => self.block_ns(0),
            (_, Preemption::Phases) => t.read_command + t.read + t.page,
            _ => t.read_command + t.read + program,
        }
    }

    /// Pages that the collection of a die has yet to move, or those of the next one if none is in progress. Some of them may
    /// be invalid by now, but not all: then an erase comes next.
    fn moves_ahead(&self, die: u32) -> u32 {
        let c = &self.collections[die as usize];
        if c.block == NONE {
            self.next_moves(self.first_due(die))
        } else if self.has_page_to_move(die) {
            c.end - c.next
        } else {
            0
        }
    }

    /// The plane that a die collects next.
    fn first_due(&self, die: u32) -> u32 {
        self.due_planes(die).next().unwrap_or(self.collections[die as usize].plane)
    }

    /// The planes of a die that are due: first the plane in progress until it is done, then the others in order.
    fn due_planes(&self, die: u32) -> impl Iterator<Item = u32> {
        let (due, planes) = (self.dies[die as usize].collecting, self.shape.by_plane.get());
        let last = self.collections[die as usize].plane.wrapping_sub(die * planes);
        let first = if last < planes { last } else { 0 };
        let order = (first..planes).chain(0..first);
        order.filter(move |local| due >> local & 1 != 0).map(move |local| die * planes + local)
    }

    /// Time of the blocks that a die collects after the current one, until `plane` is open to host operations: the
    /// blocks of this plane only if planes collect separately, otherwise of all planes that are due.
    fn follow(&self, die: u32, plane: u32) -> Nanos {
        let apart = self.gc.blocking == Domain::Plane;
        let mut time = 0;
        for due in self.due_planes(die) {
            time += self.follow_in(die, due);
            if apart && due == plane {
                break;
            }
        }
        time
    }

    /// Time of the blocks of a plane that its die collects after the current one.
    fn follow_in(&self, die: u32, plane: u32) -> Nanos {
        let c = &self.collections[die as usize];
        let (mut time, mut gained) = (0, (0, 0));
        if c.block != NONE && c.plane == plane && !c.levels {
            gained = self.ftl.gains(plane, gained, c.end - c.next);
            if !self.ftl.below_high_after(plane, gained) {
                return 0;
            }
        }
        let moves = self.next_moves(plane);
        if moves >= self.shape.data_pages {
            return 0;
        }
        loop {
            time += self.block_ns(moves);
            gained = self.ftl.gains(plane, gained, moves);
            if !self.ftl.below_high_after(plane, gained) {
                return time;
            }
        }
    }

    /// Pages that the next collection of a plane moves.
    fn next_moves(&self, plane: u32) -> u32 {
        let valid = self.ftl.valid_of(plane);
        if self.gc.victim == Victim::Greedy {
            return gc::least_valid(valid)
                .map_or(self.shape.data_pages, |block| valid[block as usize].into());
        }
        let (moves, blocks) = self.mean_moves(self.shape.member_of_die(self.shape.die_of_plane(plane)));
        // Less than a full block, since otherwise collection would gain nothing and would not begin.
        ((moves + blocks / 2) / blocks).min(u64::from(self.shape.data_pages) - 1) as u32
    }

    /// Time to collect a block with `moves` valid pages.
    fn block_ns(&self, moves: u32) -> Nanos {
        let t = &self.times;
        let (a_move, erase) = match self.gc.span {
            GcSpan::Busy => (t.read + t.program, t.erase),
            GcSpan::Steps => (
                t.read_command + t.read + t.move_bus(false) + t.move_program(false),
                t.erase_command + t.erase,
            ),
        };
        u64::from(moves) * a_move + erase
    }
}
