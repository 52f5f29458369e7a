//! Collections in time: the steps of a collection, and the host operations that it blocks.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::bugs::Bug;
use crate::collection::gc;
use crate::counters::Collected;
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::map::ftl::Ftl;
use crate::media::Media;
use crate::operations::die::{Collection, Phase};
use crate::spec::{Domain, GcSpan, Preemption};

impl<M: Media> Flash<M> {
    /// Begins or continues to collect an idle die's planes. False if there is nothing (more) to collect.
    pub(crate) fn collect(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        if self.collections[die as usize].block == NONE {
            return self.collect_block(now, die, agenda);
        }
        if self.lets_in {
            // A collection that began in the background may be due by now, or must finish before a collection that is
            // due. A preempted collection continues.
            self.collections[die as usize].background = false;
            self.dies[die as usize].active = true;
            self.hold(now, die, Some(self.gc.blocking), agenda);
        }
        self.collect_step(now, die, agenda);
        true
    }

    /// Chooses the next block to collect, in the plane that is being collected or in another plane that is due.
    fn collect_block(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        if self.may_collect(die)
            && let Some(cold) = self.take_cold(die)
        {
            self.begin_block(now, die, cold, true, false, agenda);
            return true;
        }
        let planes = self.shape.by_plane.get();
        while self.dies[die as usize].collecting != 0 {
            let local = self.collections[die as usize].plane.wrapping_sub(die * planes);
            let due = self.dies[die as usize].collecting;
            // First the plane in progress until it is done, then the next one in order.
            let at = if local < planes { local } else { 0 };
            let later = due >> at << at;
            let local = if later != 0 { later } else { due }.trailing_zeros();
            let plane = die * planes + local;
            if let Some(block) =
                gc::choose(&mut self.ftl, plane, self.gc.victim, &mut self.random, &mut self.chooser)
            {
                self.begin_block(now, die, (plane, block), false, false, agenda);
                return true;
            }
            // Pins and valid pages fill every written block: collection must wait until a page is released or
            // invalidated.
            self.dies[die as usize].collecting &= !(1 << local);
            self.stalled.push(plane);
            let member = self.shape.member_of_die(die);
            self.members[member as usize].counters.gc_stalls += 1;
            self.note_stalled(member);
            self.reroute(now, plane, agenda);
        }
        self.end_collection(now, die, agenda);
        false
    }

    /// Takes the block that static wear-levelling moves next on a die, with its plane.
    pub(crate) fn take_cold(&mut self, die: u32) -> Option<(u32, u32)> {
        let c = &mut self.collections[die as usize];
        let block = std::mem::take(&mut c.cold).checked_sub(1)?;
        Some((c.plane, block))
    }

    /// Begins to collect a block of a plane: for wear-levelling or for its space, in the background or because it is
    /// due.
    pub(crate) fn begin_block(
        &mut self,
        now: Nanos,
        die: u32,
        (plane, block): (u32, u32),
        levels: bool,
        background: bool,
        agenda: &mut Agenda,
    ) {
        let member = self.shape.member_of_die(die);
        let local = plane - self.shape.first_plane(member);
        let first = (local * self.shape.blocks_per_plane + block) * self.shape.pages_per_block;
        let list = self.list_of(die);
        let end = self.ftl.list_valid(member, first, &mut self.valid_lists[list]) as u32;
        let held = self.collections[die as usize].held;
        self.collections[die as usize] =
            Collection { plane, block, first, end, start: now, levels, background, held, ..Collection::NONE };
        self.dies[die as usize].active = !background;
        self.begins_block(die);
        self.hold(now, die, Some(self.domain_of(die)), agenda);
        self.note_synchrony(now, die);
        match self.gc.span {
            GcSpan::Steps => self.collect_step(now, die, agenda),
            GcSpan::Busy => {
                let mut span = self.times.erase;
                while let Some(filled) = self.move_next(die, member) {
                    let t = &self.times;
                    span += self.collections[die as usize].sense
                        + t.move_program(filled)
                        + if filled { t.summary_bus } else { 0 };
                }
                self.dies[die as usize].phase = Phase::Span;
                self.record(now, die, Phase::Span, (0, span));
                self.schedule_die(now + span, die, agenda);
            }
        }
    }

    /// Moves the next valid page of the victim in one step; `None` if there is none. The map changes now, so later
    /// changes to the page apply to its new place.
    fn move_next(&mut self, die: u32, member: u32) -> Option<bool> {
        let list = self.list_of(die);
        let list = &self.valid_lists[list];
        let c = &mut self.collections[die as usize];
        let first = c.first;
        // Pages that were valid when the collection began may have been replaced since; no page becomes valid in
        // place.
        let tenant = |ftl: &Ftl, at: u32| {
            let page = first + u32::from(list[at as usize]);
            ftl.tenant(member, page).map(|tenant| (page, tenant))
        };
        let (from, tenant_of) = loop {
            if c.next == c.end {
                return None;
            }
            c.next += 1;
            if let Some(found) = tenant(&self.ftl, c.next - 1) {
                break found;
            }
        };
        if self.planted.is(Bug::GcFreesEarly) && !(c.next..c.end).any(|at| tenant(&self.ftl, at).is_some()) {
            c.next = c.end;
            return None;
        }
        let keep_map = self.planted.is(Bug::GcKeepsMapping);
        let (to, filled) = self.ftl.relocate(member, c.plane, from, tenant_of, keep_map);
        let sense = self.sense(member, from);
        let c = &mut self.collections[die as usize];
        c.moved += 1;
        (c.filled, c.sense) = (filled, sense);
        let levels = c.levels;
        self.media.copy(member, from, to);
        let e = &mut self.members[member as usize];
        e.carried.sense += sense;
        let counters = &mut e.counters;
        counters.gc_move_pages += 1;
        counters.wear_move_pages += u64::from(levels);
        counters.summary_pages += u64::from(filled && self.times.summary_cell > 0);
        Some(filled)
    }

    /// Whether a page of a die's victim is still to be moved.
    pub(crate) fn has_page_to_move(&self, die: u32) -> bool {
        let (c, member) = (&self.collections[die as usize], self.shape.member_of_die(die));
        let list = &self.valid_lists[self.list_of(die)];
        let ahead = &list[c.next as usize..c.end as usize];
        ahead.iter().any(|&at| self.ftl.tenant(member, c.first + u32::from(at)).is_some())
    }

    /// The range, in the common array, of the list of valid pages of a die's victim.
    fn list_of(&self, die: u32) -> std::ops::Range<usize> {
        let pages = self.shape.data_pages as usize;
        die as usize * pages..(die as usize + 1) * pages
    }

    /// Starts the next move of the victim, or its erase.
    pub(crate) fn collect_step(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if std::mem::take(&mut self.collections[die as usize].halfway) {
            return self.begin(now, die, Phase::MoveProgram, agenda);
        }
        let member = self.shape.member_of_die(die);
        if let Some(filled) = self.move_next(die, member) {
            if !self.exclusive || self.gc.preemption == Preemption::Phases {
                return self.begin(now, die, Phase::MoveSense, agenda);
            }
            // The bus is not shared: all steps of the move end at a known time.
            let t = &self.times;
            let sense = (t.read_command, self.collections[die as usize].sense);
            let program = (t.move_bus(filled), t.move_program(filled));
            let half = now + sense.0 + sense.1;
            self.dies[die as usize].phase = Phase::MoveProgram;
            self.record(now, die, Phase::MoveSense, sense);
            self.record(half, die, Phase::MoveProgram, program);
            self.schedule_die(half + program.0 + program.1, die, agenda);
            return self.started(now, die, agenda);
        }
        self.begin(now, die, Phase::Erase, agenda);
        let domain = self.domain_of(die);
        if self.erase_blocking < domain {
            self.hold(now, die, Some(self.erase_blocking), agenda);
        }
    }

    /// Handles the end of a collection's step.
    pub(crate) fn collection_event(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        match self.dies[die as usize].phase {
            Phase::MoveSense if self.gc.preemption == Preemption::Phases => {
                return self.begin(now, die, Phase::MoveOut, agenda);
            }
            Phase::MoveSense => return self.begin(now, die, Phase::MoveProgram, agenda),
            Phase::MoveOut => self.collections[die as usize].halfway = true,
            Phase::Erase | Phase::Span => self.end_block(now, die),
            // No host operation took the offer.
            Phase::Offer => return self.offer_lapsed(now, die, agenda),
            _ => {}
        }
        if self.lets_in && self.preempt(now, die, agenda) {
            return;
        }
        if self.gc.blocking == Domain::Plane && self.chips.is_empty() && self.let_in(now, die, agenda) {
            return;
        }
        self.next(now, die, agenda);
    }

    /// Lets one host operation on another plane of the die run between two steps.
    fn let_in(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) -> bool {
        self.dies[die as usize].phase = Phase::Idle;
        if self.shape.level == Level::Ssd {
            return self.serve_next(now, die, agenda);
        }
        self.offer(now, die, agenda)
    }

    fn end_block(&mut self, now: Nanos, die: u32) {
        let member = self.shape.member_of_die(die);
        let c = &mut self.collections[die as usize];
        let row = Collected {
            member,
            plane: c.plane - self.shape.first_plane(member),
            block: c.block,
            moved_pages: c.moved,
            start_ns: c.start,
            end_ns: now,
        };
        let (plane, block, first) = (c.plane, std::mem::replace(&mut c.block, NONE), c.first);
        let levels = c.levels;
        self.ftl.erase(plane, block);
        if !levels && let Some(cold) = self.cold_block(plane, block) {
            self.collections[die as usize].cold = cold + 1;
        }
        self.dies[die as usize].barren = 0;
        self.media.erase(member, first, self.shape.pages_per_block);
        let counters = &mut self.members[member as usize].counters;
        counters.erase_blocks += 1;
        counters.wear_erase_blocks += u64::from(levels);
        if let Some(log) = &mut self.log {
            log.push(row);
        }
        let bit = 1 << (plane - die * self.shape.by_plane.get());
        let continues = self.ftl.below_high(plane) || self.runs_ahead(die, plane);
        let d = &mut self.dies[die as usize];
        if !continues {
            d.collecting &= !bit;
        }
        if d.eager & bit != 0 && !self.ftl.is_soft(plane) {
            d.eager &= !bit;
        }
        self.ends_block(die);
        self.note_synchrony(now, die);
    }

    /// The block of a plane that static wear-levelling moves after another block was erased, if there is one.
    pub(crate) fn cold_block(&self, plane: u32, erased: u32) -> Option<u32> {
        self.static_gap.and_then(|gap| self.ftl.coldest(plane, erased, gap))
    }

    /// Ends the last collection of a die.
    fn end_collection(&mut self, now: Nanos, die: u32, agenda: &mut Agenda) {
        if std::mem::take(&mut self.dies[die as usize].active) {
            self.hold(now, die, None, agenda);
        }
    }

    /// Holds back host operations from the dies of `domain` around a collecting die, and releases the dies that the
    /// collection held back before. Released dies start their waiting operations.
    pub(crate) fn hold(&mut self, now: Nanos, die: u32, domain: Option<Domain>, agenda: &mut Agenda) {
        let before = std::mem::replace(&mut self.collections[die as usize].held, domain);
        if before == domain {
            return;
        }
        self.note_synchrony(now, die);
        // The new domain first: dies in both domains stay held back throughout.
        for other in self.dies_of(die, domain) {
            let d = &mut self.dies[other as usize];
            d.held += u32::from(domain > Some(Domain::Plane));
            d.gc_count += 1;
            if d.gc_count == 1 {
                d.gc_since = now;
                let member = &mut self.members[self.shape.member_of_die(other) as usize];
                member.gc_count += 1;
                if member.gc_count == 1 {
                    member.gc_since = now;
                }
            }
        }
        for other in self.dies_of(die, before) {
            let d = &mut self.dies[other as usize];
            d.held -= u32::from(before > Some(Domain::Plane));
            d.gc_count -= 1;
            if d.gc_count == 0 {
                d.gc_total += now - d.gc_since;
                let member = &mut self.members[self.shape.member_of_die(other) as usize];
                member.gc_count -= 1;
                if member.gc_count == 0 {
                    member.gc_total += now - member.gc_since;
                }
            }
        }
        for other in self.dies_of(die, before) {
            let d = &self.dies[other as usize];
            if other != die && d.held == 0 && d.phase == Phase::Idle {
                self.next(now, other, agenda);
            }
        }
    }

    /// Ends the pin of a page's old version, if there is one. Call it after the program that pinned the version is
    /// done. Members that waited for space may be ready then, see [`Self::next_ready`].
    pub fn release(&mut self, now: Nanos, member: u32, page: u32, agenda: &mut Agenda) {
        self.admitted = None;
        self.ftl.release(member, page);
        if !self.stalled.is_empty() {
            self.retry_stalled(now, agenda);
        }
    }

    /// After a page became invalid: abandoned collections are due again.
    pub(crate) fn retry_stalled(&mut self, now: Nanos, agenda: &mut Agenda) {
        for plane in std::mem::take(&mut self.stalled) {
            let die = self.shape.die_of_plane(plane);
            if !self.ftl.is_low(plane) {
                continue;
            }
            self.note_due(die, 1 << (plane - die * self.shape.by_plane.get()));
            if self.dies[die as usize].phase == Phase::Idle {
                self.next(now, die, agenda);
            }
        }
    }
}
