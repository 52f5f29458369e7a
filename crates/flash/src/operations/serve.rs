//! Host operations: queues, and the phases of reads and programs.

use stripewise_base::Nanos;
use stripewise_base::agenda::{Agenda, Event};

use crate::bugs::Bug;
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::{List, NONE};
use crate::media::Media;
use crate::operations::bus::{Class, Turn};
use crate::operations::die::{NEVER, Phase};
use crate::operations::op::{Done, Op, OpKind, Slot};
use crate::spec::{GcStart, MultiPlane, Preemption};

impl<M: Media> Flash<M> {
    /// The physical page that holds the page of a read.
    #[inline(always)]
    pub(crate) fn find(&self, member: u32, op: &Op) -> Option<u32> {
        if op.old_version { self.ftl.lookup_old(member, op.page) } else { self.ftl.lookup(member, op.page) }
    }

    /// Starts an operation that was admitted at this instant. `token` is returned with the result.
    #[inline]
    pub fn start(&mut self, now: Nanos, member: u32, token: u32, op: Op, agenda: &mut Agenda) {
        let admitted = self.admitted.take();
        match op.kind {
            OpKind::Read => self.start_read(now, member, token, op, agenda),
            OpKind::Program => self.start_program(now, member, token, op, admitted, agenda),
            OpKind::Trim => {
                let pin = op.old_version && !self.planted.is(Bug::PinSkipped);
                self.holds.forget(member, op.page);
                self.ftl.unmap(member, op.page, pin);
                self.members[member as usize].counters.trims += 1;
                self.retry_stalled(now, agenda);
                self.finish_without_flash(now, member, token, agenda);
            }
            OpKind::Flush => {
                self.members[member as usize].counters.flushes += 1;
                self.finish_without_flash(now, member, token, agenda);
            }
        }
    }

    fn start_read(&mut self, now: Nanos, member: u32, token: u32, op: Op, agenda: &mut Agenda) {
        let found = self.find(member, &op);
        self.media.read(member, found, token);
        let Some(page) = found else {
            self.members[member as usize].counters.unmapped_reads += 1;
            return self.finish_without_flash(now, member, token, agenda);
        };
        self.members[member as usize].counters.read_pages += 1;
        let plane = self.shape.first_plane(member) + self.shape.plane_of_page(page);
        let slot = self.new_slot(now, member, token, op, plane);
        let sense = self.sense(member, page);
        self.slots[slot as usize].cell = self.service.read(sense);
        self.slots[slot as usize].bus = self.times.read_command + self.times.page;
        if self.shape.level != Level::Ssd {
            let die = self.shape.die_of_plane(plane);
            self.read_came(die);
            self.serve(now, die, slot, agenda);
        } else if self.commands.is_empty() {
            self.arrive(now, slot, agenda);
        } else {
            self.give(now, member, slot, op.request, agenda);
        }
    }

    /// Reads a physical page of a member: counts the read for its block, and returns its cell time.
    #[inline(always)]
    pub(crate) fn sense(&mut self, member: u32, page: u32) -> Nanos {
        if !self.ftl.wear.has_levels() {
            return self.times.read;
        }
        let block = self.ftl.block_at(member, page);
        let Some((level, time)) = self.ftl.wear.read(block) else { return self.times.read };
        self.members[member as usize].counters.level_reads[level] += 1;
        time
    }

    fn start_program(
        &mut self,
        now: Nanos,
        member: u32,
        token: u32,
        op: Op,
        admitted: Option<(u32, Op, u32)>,
        agenda: &mut Agenda,
    ) {
        let streams = self.ftl.streams.count();
        assert!(u32::from(op.stream) < streams, "stream {} of a device of {streams}", op.stream);
        self.members[member as usize].counters.program_pages += 1;
        if self.shape.level != Level::Ssd {
            // The state has not changed since the program was admitted to its plane.
            let known = admitted.filter(|known| (known.0, known.1) == (member, op)).map(|known| known.2);
            debug_assert!(known.is_none_or(|_| known == self.startable_plane(member, op.page, op.stream)));
            let plane = known.or_else(|| self.startable_plane(member, op.page, op.stream));
            let Some(plane) = plane else {
                panic!("member {member} was started without being asked whether it admits a program");
            };
            self.pass_turn(member, op.page, plane);
            let slot = self.new_slot(now, member, token, op, plane);
            return self.serve(now, self.shape.die_of_plane(plane), slot, agenda);
        }
        let plane = if self.pools.is_late() {
            self.shape.first_plane(member) + self.pools.planes(self.pools.of_page(op.page))[0]
        } else {
            let plane = self.promise_plane(member, op.page, op.stream);
            self.pass_turn(member, op.page, plane);
            plane
        };
        let slot = self.new_slot(now, member, token, op, plane);
        if !self.commands.is_empty() {
            self.give(now, member, slot, op.request, agenda);
        } else if self.links.is_empty() {
            self.arrive(now, slot, agenda);
        } else {
            self.cross_link(now, member, slot, agenda);
        }
    }

    #[inline]
    fn new_slot(&mut self, now: Nanos, member: u32, token: u32, op: Op, plane: u32) -> u32 {
        let slot = if self.shape.level == Level::Ssd {
            let in_flight = &mut self.members[member as usize].in_flight;
            *in_flight += 1;
            assert!(*in_flight <= self.window, "member {member} was started beyond its window");
            self.vacant.pop().unwrap_or_else(|| self.add_slot())
        } else {
            let die = self.shape.die_of_plane(plane);
            if self.is_suspended(die) { self.shape.dies + die } else { die }
        };
        let Op { kind, page, old_version, stream, request: _ } = op;
        let times =
            Slot { start: now, token, member, page, plane, kind, old_version, stream, ..Slot::VACANT };
        self.slots[slot as usize] = times;
        slot
    }

    /// Adds a slot, because more operations are in flight in SSDs than ever before.
    #[cold]
    fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot::VACANT);
        self.slot_next.push(NONE);
        self.slots.len() as u32 - 1
    }

    /// Handles the arrival of an operation of an SSD at its die.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Nanos, slot: u32, agenda: &mut Agenda) {
        let Slot { plane, kind, .. } = self.slots[slot as usize];
        let die = self.shape.die_of_plane(plane);
        let alone = self.starts_at_once;
        let d = &self.dies[die as usize];
        if alone
            && d.phase == Phase::Idle
            && d.held == 0
            && d.collecting == 0
            && let Some(plane) = self.runs_on(die, slot)
        {
            // A program takes its page at once; a read already has its page.
            self.fitting = (kind == OpKind::Program).then_some((slot, plane));
            return self.serve(now, die, slot, agenda);
        }
        let d = &mut self.dies[die as usize];
        self.slots[slot as usize].gc = d.gc_clock(now);
        let queue = usize::from(self.read_priority && kind == OpKind::Program);
        d.queues[queue].push(&mut self.slot_next, slot);
        d.barren = 0;
        if d.phase == Phase::Idle && alone {
            self.next(now, die, agenda);
        } else if d.phase == Phase::Idle {
            // Other operations of this instant may join it.
            self.await_takers(now, die, agenda);
        } else if kind == OpKind::Read {
            self.suspend_for_read(now, die, agenda);
        }
        if self.stalled.contains(&plane) {
            self.reroute(now, plane, agenda);
        }
    }

    /// Starts a host operation on a die.
    #[inline]
    pub(crate) fn serve(&mut self, now: Nanos, die: u32, slot: u32, agenda: &mut Agenda) {
        self.dies[die as usize].slot = slot;
        if self.has_multi_plane() {
            self.gather(now, die, slot);
        }
        if self.slots[slot as usize].kind == OpKind::Read {
            let t = &self.times;
            if self.exclusive && !(self.has_multi_plane() && self.slot_next[slot as usize] != NONE) {
                let cell = self.slots[slot as usize].cell;
                let (command, page) = (t.read_command, t.page);
                self.dies[die as usize].phase = Phase::Out;
                self.record(now, die, Phase::Sense, (command, cell));
                self.record(now + command + cell, die, Phase::Out, (page, 0));
                return self.schedule_die(now + command + cell + page, die, agenda);
            }
            return self.begin(now, die, Phase::Sense, agenda);
        }
        if !self.has_multi_plane() {
            self.place(die, slot);
        }
        self.begin(now, die, Phase::Program, agenda);
        if !self.stalled.is_empty() {
            self.retry_stalled(now, agenda);
        }
    }

    /// Gives a program that a die starts its physical page: the map changes.
    #[inline]
    pub(crate) fn place(&mut self, die: u32, slot: u32) {
        let Slot { member, page, plane, token, old_version, stream, .. } = self.slots[slot as usize];
        let plane = self.take_place(die, slot, plane);
        let pin = old_version && !self.planted.is(Bug::PinSkipped);
        if !self.planted.is(Bug::HoldKept) {
            self.holds.forget(member, page);
        }
        let placed = self.ftl.program(member, page, plane, stream, pin);
        self.media.program(member, placed.page, token);
        let (t, s) = (&self.times, &mut self.slots[slot as usize]);
        s.plane = plane;
        s.bus += t.program_command + t.page;
        s.cell = t.program;
        if placed.filled {
            s.bus += t.summary_bus;
            s.cell += t.summary_cell;
            self.members[member as usize].counters.summary_pages += u64::from(t.summary_cell > 0);
        }
        if placed.low {
            self.note_due(die, 1 << (plane - die * self.shape.by_plane.get()));
        }
        self.note_soft(die, plane);
    }

    /// Begins a phase of a die: on the bus, if it needs the bus and the bus is free; otherwise the die waits for the
    /// bus.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos, die: u32, phase: Phase, agenda: &mut Agenda) {
        self.dies[die as usize].phase = phase;
        let (bus_time, then) = self.durations(die, phase);
        if self.exclusive || bus_time == 0 {
            self.record(now, die, phase, (bus_time, then));
            self.schedule_die(now + bus_time + then, die, agenda);
            return self.started(now, die, agenda);
        }
        let bus = self.shape.bus_of_die(die);
        // An operation that was just admitted may take the bus that its member was offered.
        let admitted = matches!(phase, Phase::Sense | Phase::Program);
        if self.buses.is_idle(bus, now) || admitted && self.buses.is_free(bus, now) {
            self.buses.occupy(bus, now + bus_time);
            self.record(now, die, phase, (bus_time, then));
            self.schedule_die(now + bus_time + then, die, agenda);
            return self.started(now, die, agenda);
        }
        self.dies[die as usize].due = NEVER;
        let class = if matches!(phase, Phase::Sense | Phase::Out) { Class::Read } else { Class::Write };
        if let Some(at) = self.buses.await_die(bus, die, class) {
            agenda.schedule(at, self.event_of_bus(bus));
        }
    }

    /// Bus time of a phase of a die, and cell time after it.
    #[inline(always)]
    pub(crate) fn durations(&self, die: u32, phase: Phase) -> (Nanos, Nanos) {
        let t = &self.times;
        match phase {
            Phase::Program | Phase::Sense if self.has_multi_plane() => self.chain_durations(die, phase),
            Phase::Program => {
                let slot = &self.slots[self.dies[die as usize].slot as usize];
                (slot.bus - slot.link, slot.cell)
            }
            Phase::Sense => (t.read_command, self.slots[self.dies[die as usize].slot as usize].cell),
            Phase::MoveSense => (t.read_command, self.collections[die as usize].sense),
            Phase::Out | Phase::MoveOut => (t.page, 0),
            Phase::MoveProgram => {
                let filled = self.collections[die as usize].filled;
                let out = if self.gc.preemption == Preemption::Phases { t.page } else { 0 };
                (t.move_bus(filled) - out, t.move_program(filled))
            }
            Phase::Erase => (t.erase_command, t.erase),
            Phase::Idle | Phase::Offer | Phase::Span | Phase::Suspend => (0, 0),
        }
    }

    /// Handles an event below [`Self::event_count`]. Appends finished operations to `done`.
    #[inline]
    pub fn handle(&mut self, now: Nanos, event: Event, agenda: &mut Agenda, done: &mut Vec<Done>) {
        self.admitted = None;
        if event < self.shape.dies {
            return self.handle_die(now, event, agenda, done);
        }
        let event = event - self.shape.dies;
        if event < self.shape.buses {
            return self.handle_bus(now, event, agenda);
        }
        let event = event - self.shape.buses;
        if event < self.shape.devices {
            if !self.commands.is_empty() {
                return self.handle_commands(now, event, agenda, done);
            }
            return self.handle_link(now, event, agenda, done);
        }
        if let Some((_, finished)) = self.immediate.pop_front() {
            self.leave(finished, done);
        }
        if let Some((at, _)) = self.immediate.front() {
            agenda.schedule(*at, self.event_count() - 1);
        }
    }

    fn handle_die(&mut self, now: Nanos, die: u32, agenda: &mut Agenda, done: &mut Vec<Done>) {
        let d = &mut self.dies[die as usize];
        if d.due != now {
            return;
        }
        match d.phase {
            Phase::Program if self.gc.start == GcStart::OnWrite => {
                // From here on it waits for garbage collection.
                let slot = &mut self.slots[d.slot as usize];
                slot.gc = slot.gc.wrapping_sub(d.gc_clock(now));
                self.next(now, die, agenda);
                self.end_waiting_program(now, die, agenda, done);
            }
            Phase::Program | Phase::Out if self.multi_plane == MultiPlane::Off => {
                let slot = std::mem::replace(&mut d.slot, NONE);
                self.finish(now, slot, agenda, done);
                self.next(now, die, agenda);
            }
            Phase::Program | Phase::Out => {
                if self.finish_chain(now, die, agenda, done) {
                    self.next(now, die, agenda);
                }
            }
            Phase::Suspend => self.serve_suspended(now, die, agenda),
            Phase::Sense => self.begin(now, die, Phase::Out, agenda),
            Phase::Idle => {}
            _ => {
                self.collection_event(now, die, agenda);
                if self.gc.start == GcStart::OnWrite {
                    self.end_waiting_program(now, die, agenda, done);
                }
            }
        }
    }

    /// Whether a program has ended on flash and waits for the collection that it made due.
    #[inline]
    fn has_waiting_program(&self, die: u32) -> bool {
        self.gc.start == GcStart::OnWrite && self.dies[die as usize].slot != NONE
    }

    /// A program that waited for its collection ends, if that is over.
    fn end_waiting_program(&mut self, now: Nanos, die: u32, agenda: &mut Agenda, done: &mut Vec<Done>) {
        let d = &mut self.dies[die as usize];
        if d.phase != Phase::Idle || d.slot == NONE {
            return;
        }
        let slot = std::mem::replace(&mut d.slot, NONE);
        let waiting = &mut self.slots[slot as usize];
        waiting.gc = waiting.gc.wrapping_add(d.gc_clock(now));
        self.finish(now, slot, agenda, done);
        self.next(now, die, agenda);
    }

    fn handle_bus(&mut self, now: Nanos, bus: u32, agenda: &mut Agenda) {
        let turn = self.buses.turn(bus, now, |member| self.ready.is_refused(member));
        match turn {
            Some(Turn::Die(die)) => {
                let phase = self.dies[die as usize].phase;
                let (bus_time, then) = self.durations(die, phase);
                self.buses.occupy(bus, now + bus_time);
                self.record(now, die, phase, (bus_time, then));
                self.schedule_die(now + bus_time + then, die, agenda);
                self.started(now, die, agenda);
            }
            Some(Turn::Member(member)) => self.ready.report(member),
            None => {}
        }
        if let Some(at) = self.buses.reschedule(bus, now) {
            agenda.schedule(at, self.event_of_bus(bus));
        }
    }

    /// Queues the transfer of an operation on the host link.
    fn cross_link(&mut self, now: Nanos, member: u32, slot: u32, agenda: &mut Agenda) {
        let s = &mut self.slots[slot as usize];
        s.link = self.times.link;
        s.bus += self.times.link;
        if let Some(at) = self.links[member as usize].transfer(now, self.times.link, slot) {
            agenda.schedule(at, self.event_of_link(member));
        }
    }

    fn handle_link(&mut self, now: Nanos, device: u32, agenda: &mut Agenda, done: &mut Vec<Done>) {
        let Some((slot, next)) = self.links[device as usize].ended() else { return };
        if let Some(at) = next {
            agenda.schedule(at, self.event_of_link(device));
        }
        let s = &self.slots[slot as usize];
        if s.kind == OpKind::Program {
            return self.arrive(now, slot, agenda);
        }
        let finished = s.done(now);
        self.vacant.push(slot);
        self.leave(finished, done);
    }

    /// Handles the end of an operation's work on flash.
    #[inline]
    pub(crate) fn finish(&mut self, now: Nanos, slot: u32, agenda: &mut Agenda, done: &mut Vec<Done>) {
        let s = &self.slots[slot as usize];
        if s.kind == OpKind::Read && !self.commands.is_empty() {
            return self.give_back(now, s.member, slot, agenda);
        }
        if s.kind == OpKind::Read && !self.links.is_empty() {
            return self.cross_link(now, s.member, slot, agenda);
        }
        let finished = s.done(now);
        if self.shape.level == Level::Ssd {
            self.vacant.push(slot);
        }
        self.leave(finished, done);
    }

    /// Removes a finished operation from its member.
    #[inline]
    pub(crate) fn leave(&mut self, finished: Done, done: &mut Vec<Done>) {
        done.push(finished);
        if self.shape.level == Level::Ssd {
            self.members[finished.member as usize].in_flight -= 1;
            self.ready.report(finished.member);
        }
    }

    /// Finishes an operation that needs no flash, after the time of a command.
    fn finish_without_flash(&mut self, now: Nanos, member: u32, token: u32, agenda: &mut Agenda) {
        let command = self.times.read_command;
        let finished = Done { token, member, bus_ns: command, ..Done::default() };
        if self.shape.level == Level::Ssd {
            self.members[member as usize].in_flight += 1;
        }
        if self.immediate.is_empty() {
            agenda.schedule(now + command, self.event_count() - 1);
        }
        self.immediate.push_back((now + command, finished));
    }

    /// Gives an idle die its next work: collection that is due goes first, then waiting operations.
    pub(crate) fn next(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if self.is_suspended(die) {
            return self.serve_suspended(now, die, agenda);
        }
        if !self.chips.is_empty() {
            return self.next_of_chip(now, die, agenda);
        }
        let d = &mut self.dies[die as usize];
        d.phase = Phase::Idle;
        d.due = NEVER;
        if d.yields {
            return self.next_of_batch(now, die, agenda);
        }
        if d.active || d.collecting != 0 {
            let at_once = self.gc.start != GcStart::OnDemand || self.control.is_some();
            let due = d.active || at_once || self.is_wanted(die);
            if due && self.collect(now, die, agenda) {
                return;
            }
        }
        // Releasing other dies may have started work on this one.
        if self.dies[die as usize].phase != Phase::Idle || self.has_waiting_program(die) {
            return;
        }
        if self.serve_next(now, die, agenda) {
            return;
        }
        if self.lets_in && self.has_background(die) {
            // An operation that waits for the member may need this die.
            if self.shape.level == Level::Ssd || !self.offer(now, die, agenda) {
                self.collect_in_background(now, die, agenda);
            }
        } else if self.shape.level != Level::Ssd {
            self.ready.report(self.shape.member_of_die(die));
        }
    }

    /// Whether a host operation waits for a die.
    pub(crate) fn is_wanted(&self, die: u32) -> bool {
        if self.shape.level == Level::Ssd {
            self.dies[die as usize].queues.iter().any(|queue| !queue.is_empty())
        } else {
            self.ready.is_refused(self.shape.member_of_die(die))
        }
    }

    /// A die with a suspended operation starts the next waiting read.
    pub(crate) fn serve_read(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        let d = &mut self.dies[die as usize];
        let Some(slot) = d.queues[0].pop(&self.slot_next) else { return false };
        let waited = d.gc_clock(now).wrapping_sub(self.slots[slot as usize].gc);
        self.slots[slot as usize].gc = waited;
        self.serve(now, die, slot, agenda);
        true
    }

    /// A die starts the next waiting host operation that may run, if there is one.
    pub(crate) fn serve_next(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        let d = &self.dies[die as usize];
        if self.shape.level != Level::Ssd || d.held > 0 {
            return false;
        }
        // A current collection may have used space without being due.
        let calm = !self.lets_in || self.collections[die as usize].block == NONE;
        let all_may = d.collecting | d.withheld == 0 && calm && self.stalled.is_empty();
        let shut = d.closed() | d.withheld;
        if shut != 0 && d.barren == shut {
            return false;
        }
        let mut queues = d.queues;
        let mut next = std::mem::take(&mut self.slot_next);
        let mut take = |queue: &mut List| {
            if all_may { queue.pop(&next) } else { queue.take(&mut next, |slot| self.may_run(die, slot)) }
        };
        let taken = take(&mut queues[0]).or_else(|| take(&mut queues[1]));
        self.slot_next = next;
        let d = &mut self.dies[die as usize];
        let Some(slot) = taken else {
            // Collections have stalled: space of a plane may become available without notice.
            d.barren = if self.stalled.is_empty() { shut } else { 0 };
            self.note_waiting(now, die);
            return false;
        };
        d.queues = queues;
        let waited = d.gc_clock(now).wrapping_sub(self.slots[slot as usize].gc);
        self.slots[slot as usize].gc = waited;
        self.serve(now, die, slot, agenda);
        true
    }
}
