//! Members that join a log: a replacement is rebuilt completely, and a returning member gets the content written since it
//! failed. Segment by segment, the member's chunk of each stripe is rebuilt from the others and written to it; stripes that
//! are appended meanwhile use the member like any other. Superblocks record the progress, so a loss of power does not restart
//! the rebuild.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationId, OperationKind, Outcome};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Plan;
use stripewise_exec::rejoin::{RejoinError, Rejoining, check_newer, check_twin};
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};

use crate::job::{BuildResult, Cx, Job};
use crate::log::addresses::NOWHERE;
use crate::log::contents::Walker;
use crate::log::durable::{Durable, Rebuild, Segments, Stage, Walk};
use crate::log::job::{RebuildStripe, RewriteCopy, Trust};
use crate::log::{Log, Role};
use crate::membership::{Halt, Part};

/// Number of plans of a walk that may be in progress at once.
const PLANS_OF_WALK: u32 = 4;

impl Durable {
    /// The members that can be rebuilt now, as a mask.
    fn due<M: Memory>(&self, exec: &Executor<M>) -> u64 {
        let lacking = self.members.rebuilds.iter().filter(|rebuild| rebuild.part.is_lacking());
        let due = lacking.filter(|rebuild| self.members.halted_by(rebuild.member, exec).is_none());
        due.fold(0, |mask, rebuild| mask | rebuild.member.bit())
    }

    /// Begins to walk over the segments that any member lacks; plans of earlier walks do not count for this one.
    fn restart_walk<M: Memory>(&mut self, exec: &Executor<M>) {
        self.walking = self.due(exec);
        let is_walking = |rebuild: &&Rebuild| rebuild.member.is_in(self.walking);
        let first = self.members.rebuilds.iter().filter(is_walking).map(|rebuild| rebuild.noted).min();
        self.turn = self.turn.wrapping_add(1);
        self.rebuilding = Walk { segment: first.unwrap_or(0) as u32, ..Walk::default() };
    }
}

impl Durable {
    /// Whether the newest checkpoint or commit record has so few copies, because members with copies failed, that parity
    /// tolerates the loss of the rest.
    fn lacks_copies<M: Memory>(&self, exec: &Executor<M>) -> bool {
        let lacks =
            |on: u64| on.count_ones() <= exec.geometry().tolerance() && !exec.has_bug(Bug::CopiesNotReplaced);
        lacks(self.checkpoint_on) || self.commit_on.is_some_and(|(_, on)| lacks(on))
    }

    /// Adds `segment` to the shaky segments.
    pub(crate) fn note_shaky(&mut self, segment: u32) {
        if !self.shaky.contains(&segment) {
            self.shaky.push(segment);
        }
    }

    /// Whether the walk is to rebuild the chunks of a member in `segment`.
    fn lacks(&self, rebuild: &Rebuild, segment: u32) -> bool {
        rebuild.member.is_in(self.walking) && rebuild.part.stale[segment as usize]
    }
}

impl Log {
    /// Lets `member`, which was checked, join the log.
    pub(crate) fn rejoin_log<M: Memory>(&mut self, member: MemberNo, how: Rejoining, exec: &mut Executor<M>) {
        let believes = exec.has_bug(Bug::StampIgnored);
        let durable = self.durable_mut();
        let superblock = &durable.members.superblock;
        let known = match how {
            Rejoining::Returned { .. } if believes => superblock.members[member.index()].failed_batch,
            Rejoining::Returned { stamp, .. } => superblock.known_of(member.number(), stamp),
            Rejoining::Replacement { .. } => 0,
        };
        durable.members.take_device(member, how);
        durable.members.record_joining(member, known, exec.reason_of(member));
        exec.trust(member.bit());
        durable.has_event = true;
        durable.sync.uncleared |= member.bit();
        durable.sync.is_requested |= durable.lacks_copies(exec);
        self.begin_rebuild(member, 0, exec);
    }

    /// Whether `member` may join the log.
    pub(crate) fn check_log_member<M: Memory>(
        &self,
        member: MemberNo,
        how: Rejoining,
        exec: &Executor<M>,
    ) -> Result<(), RejoinError> {
        let durable = self.durable();
        if exec.reads_only() {
            return Err(RejoinError::ReadOnly);
        }
        let needed = durable.members.needs_own(member, exec).filter(|_| !how.is_returned());
        if let Some(group) = needed.filter(|_| !exec.has_bug(Bug::NeededReplaced)) {
            return Err(RejoinError::Beyond(group));
        }
        let superblock = &durable.members.superblock;
        check_newer(superblock, Some(durable.next_batch), how)?;
        check_twin(superblock, how)
    }

    /// Starts or continues to rebuild `member` from segment `cursor` on.
    pub(crate) fn begin_rebuild<M: Memory>(&mut self, member: MemberNo, cursor: u64, exec: &mut Executor<M>) {
        exec.take_in(member);
        exec.reopen(member);
        // Open segments get no more stripes.
        for stream in 0..self.open.len() {
            self.close_batch(stream);
            if let Some(open) = self.open[stream].take() {
                self.segments.close(open.segment);
            }
        }
        let trusts = exec.has_bug(Bug::StaleMemberRead);
        let leaves_out = exec.has_bug(Bug::CleanTooEarly);
        let segments = self.segments.count();
        let since = self.durable().members.superblock.members[member.index()].failed_batch;
        let lacks = |segment: u32| {
            let durable = self.durable();
            let is_later = durable.last_batch[segment as usize] > since;
            u64::from(segment) >= cursor
                && !self.segments.is_free(segment)
                && is_later
                && !(trusts || leaves_out && segment % 2 == 1)
        };
        let stale = (0..segments).map(lacks).collect();
        let durable = self.durable_mut();
        durable.write_errors[member.index()] = 0;
        let may_mend = durable.members.unrecovered > 0;
        let part = Segments { stage: Stage::Walks, stale, may_mend };
        durable.members.begin_rebuild(Rebuild::new(member, cursor, part));
        durable.restart_walk(exec);
        self.review_groups(exec);
    }

    /// Why the rebuild in progress is halted.
    pub(crate) fn halt<M: Memory>(&self, exec: &Executor<M>) -> Option<Halt> {
        self.membership()?.halted_group(exec).map(Halt::Beyond)
    }

    /// Takes the next step of the rebuild. Returns false if there is nothing to do now.
    pub(crate) fn rebuild_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !self.is_rebuilding() || exec.reads_only() {
            return false;
        }
        let log = &*self;
        let durable = log.durable();
        if durable.walking == 0 {
            return false;
        }
        let Walk { segment, next, under_way } = durable.rebuilding;
        if segment == log.segments.count() {
            self.end_walk();
            return true;
        }
        let slots = log.segment_slots() as u32;
        if next == slots || !durable.members.rebuilds.iter().any(|its| durable.lacks(its, segment)) {
            if under_way > 0 {
                return false;
            }
            self.end_segment(segment);
            return true;
        }
        let slot = u64::from(segment) * u64::from(slots) + u64::from(next);
        if log.directory.role(slot) == Role::Copy {
            return self.pass_copy(slot, exec, driver);
        }
        if !log.directory.is_in_stripe(slot) {
            self.durable_mut().rebuilding.next += 1;
            return true;
        }
        self.pass_stripe(slot, exec, driver)
    }

    /// The walk over segments has written all that members lacked.
    fn end_walk(&mut self) {
        let durable = self.durable_mut();
        let walking = std::mem::take(&mut durable.walking);
        let done = durable.members.rebuilds.iter_mut().filter(|its| its.member.is_in(walking));
        done.for_each(|its| its.part.stage = Stage::Written);
        self.segments.try_again();
    }

    /// The walk is over with `segment`, and continues with the next one.
    fn end_segment(&mut self, segment: u32) {
        let durable = self.durable_mut();
        // A collected segment stays stale. Until a checkpoint frees it, it may have to be read again.
        let is_collected = durable.collected.contains(&segment);
        let walking = durable.walking;
        let done = durable.members.rebuilds.iter_mut().filter(|its| its.member.is_in(walking));
        done.for_each(|its| its.part.stale[segment as usize] &= is_collected);
        durable.rebuilding = Walk { segment: segment + 1, next: 0, under_way: 0 };
    }

    /// Lets the walk pass the copy of a summary in `slot`, which it rewrites if a member lacks it. Returns false if it must wait.
    fn pass_copy<M: Memory, D: Driver<M>>(
        &mut self,
        slot: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let (durable, is_its) = (self.durable(), self.is_lacking(slot));
        let (turn, under_way) = (durable.turn, durable.rebuilding.under_way);
        // While the summary is in flight, no other copy of it is readable yet.
        if is_its && (durable.is_writing(slot) || !self.may_walk(under_way, exec)) {
            return false;
        }
        self.durable_mut().rebuilding.next += 1;
        if is_its {
            exec.spend(2);
            self.durable_mut().rebuilding.under_way += 1;
            self.recopy(slot, turn, exec, driver);
        }
        true
    }

    /// Lets the walk pass the stripe of `slot`, which it rebuilds if a member lacks chunks of it. Returns false if it must wait.
    fn pass_stripe<M: Memory, D: Driver<M>>(
        &mut self,
        slot: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let (log, durable) = (&*self, self.durable());
        let (turn, under_way) = (durable.turn, durable.rebuilding.under_way);
        let stripe = log.directory.stripe(slot);
        let is_its = |slot: u64| log.directory.is_in_stripe(slot) && log.is_lacking(slot);
        let is_any = (stripe.0..stripe.1).any(is_its);
        if is_any && !self.may_walk(under_way, exec) {
            return false;
        }
        if is_any && !log.is_known(Walker::Rebuild, slot) {
            // Content in flight is not readable yet.
            let is_writing = durable.is_writing(slot);
            return !is_writing && self.ask_contents(Walker::Rebuild, slot, exec, driver);
        }
        let walk = &mut self.durable_mut().rebuilding;
        walk.next += (stripe.1 - slot) as u32;
        if is_any {
            walk.under_way += 1;
            exec.spend((stripe.1 - stripe.0) as u32);
            let plan = self.plan_of_stripe(stripe, RebuildStripe { turn }, exec);
            // One of each member, except in a deep stripe.
            let is_its = |slot: u64| slot != NOWHERE && self.is_lacking(slot);
            let columns = self.homes(plan).iter().enumerate().filter(|&(_, &slot)| is_its(slot));
            exec.want(plan, columns.fold(0, |mask, (column, _)| mask | 1 << column));
            if exec.has_bug(Bug::FirstRowRebuilt) {
                let wanted = exec.plan(plan).wanted;
                exec.want(plan, wanted & wanted.wrapping_neg());
            }
            exec.begin(plan, self, driver);
        }
        true
    }

    /// Whether a walk with `under_way` plans in progress may begin another.
    pub(crate) fn may_walk<M: Memory>(&self, under_way: u32, exec: &Executor<M>) -> bool {
        exec.has_free_plan() && under_way < PLANS_OF_WALK && exec.is_allowed()
    }

    /// Whether the walk over segments is to rebuild the content of `slot`.
    fn is_lacking(&self, slot: u64) -> bool {
        let (segment, member) = (self.segment_of(slot), self.member(slot).0);
        let durable = self.durable();
        durable.members.rebuilds.iter().any(|its| its.member == member && durable.lacks(its, segment))
    }

    /// Builds the steps that rebuild the member's chunks of a stripe: read the others, decode, write.
    pub(crate) fn build_rebuild<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let present = self.present(plan);
        let is_salvage = self.jobs[plan].trust == Trust::Nothing;
        let mut target = if is_salvage { 0 } else { exec.plan(plan).wanted };
        let bad = exec.plan(plan).lost & present;
        let mut lost = bad | self.slots_on_failed(plan, present, exec) | target;
        let mut held = 0;
        if !is_salvage && self.is_beyond(lost, target, exec) {
            // A member that returned may have the content, though it was not known to be durable there.
            held = self.held_columns(plan, present & !bad, exec);
            (lost, target) = (lost & !held, target & !held);
        }
        if is_salvage || self.is_beyond(lost, target, exec) {
            if self.looks_again(plan, exec) {
                return self.build_rebuild(plan, exec);
            }
            return self.build_salvage(plan, lost, exec);
        }
        exec.miss(plan, lost);
        let sources = self.stripe_sources(present, lost, target, exec) | held;
        self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode, exec);
        if target != 0 {
            exec.push_compute(plan, sources.count_ones() as u16);
            self.push_slots(plan, target, OperationKind::Write, |_| Class::Repair, exec);
        }
        exec.acknowledge_here(plan);
    }

    /// The columns of `mask` on members that are being rebuilt whose content can be verified, although the segment is not yet
    /// done.
    fn held_columns<M: Memory>(&self, plan: PlanId, mask: u64, exec: &Executor<M>) -> u64 {
        let is_held = |&column: &u32| {
            let slot = self.homes(plan)[column as usize];
            let is_verified = M::CARRIES_DATA && self.column(plan, column).checksum.is_some();
            is_verified && !self.is_on_failed(slot, exec) && self.is_stale(slot)
        };
        columns(mask).filter(is_held).fold(0, |held, column| held | 1 << column)
    }

    /// Rewrites the copy of a summary in `slot` from another copy, for the rebuild of this turn.
    fn recopy<M: Memory, D: Driver<M>>(
        &mut self,
        slot: u64,
        turn: u32,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let plan = self.take_plan(slot, RewriteCopy { turn }, exec);
        let segment = self.segment_of(slot);
        self.segments.lock(segment);
        exec.begin(plan, self, driver);
    }

    /// Builds the steps of rewriting a copy: read another copy that was not found bad, and write.
    pub(crate) fn build_recopy<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        let slot = exec.plan(plan).first_slot();
        let width = u64::from(exec.geometry().width);
        let lost = exec.plan(plan).lost;
        let source =
            self.good_copy(slot, lost, Some(slot), exec).filter(|_| !exec.reads_only()).ok_or(TooManyLost)?;
        let column = (source % width) as u8;
        let ways = [(OperationKind::Read, self.member(source)), (OperationKind::Write, self.member(slot))];
        for (kind, (member, page)) in ways {
            let class = Class::Repair;
            exec.push_step(plan, [Operation { page, member, kind, class, column, ..Operation::default() }]);
        }
        exec.acknowledge_here(plan);
        Ok(())
    }

    /// A readable copy of the same summary as the copy in `slot`, not on a column in `lost`, and not `besides`.
    pub(crate) fn good_copy<M: Memory>(
        &self,
        slot: u64,
        lost: u64,
        besides: Option<u64>,
        exec: &Executor<M>,
    ) -> Option<u64> {
        let width = u64::from(exec.geometry().width);
        let start = u64::from(self.segment_of(slot)) * self.segment_slots();
        let mut near =
            start.max((slot + 1).saturating_sub(width))..(slot + width).min(start + self.segment_slots());
        let first = self.first_of_batch(slot);
        near.find(|&other| {
            let is_copy = besides != Some(other) && self.directory.role(other) == Role::Copy;
            let is_good =
                lost >> (other % width) & 1 == 0 && !self.is_on_failed(other, exec) && !self.is_stale(other);
            is_copy && is_good && self.first_of_batch(other) == first
        })
    }

    /// The first slot of the group of copies that `slot`, one of them, belongs to.
    fn first_of_batch(&self, mut slot: u64) -> u64 {
        let start = u64::from(self.segment_of(slot)) * self.segment_slots();
        while slot > start && !self.directory.is_first(slot) {
            slot -= 1;
        }
        slot
    }

    /// Verifies that the content that was read is a copy of the expected summary.
    pub(crate) fn verified_copy<M: Memory>(
        &self,
        id: OperationId,
        outcome: Outcome,
        exec: &Executor<M>,
    ) -> Outcome {
        let slot = exec.plan(exec.plan_of(id)).first_slot();
        let is_it = self.is_copy_of(slot, exec.memory().bytes(exec.buffer_of(id, self)));
        if is_it { outcome } else { Outcome::Corrupt }
    }

    /// Handles a failed write to the member that is rebuilt: the chunk is not on the member.
    pub(crate) fn rebuild_failed<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        exec.abandon(plan);
        AfterErrors::NextStep
    }

    /// The chunks of a stripe are rebuilt by the walk of this turn, or cannot be.
    fn rebuilt<M: Memory>(&mut self, plan: PlanId, turn: u32, exec: &Executor<M>) {
        let &Plan { is_abandoned, lost, .. } = exec.plan(plan);
        let row = exec.plan(plan).first_slot();
        let is_unrecovered = self.lost_live_columns(plan, exec) != 0;
        let is_damaged = is_abandoned || lost & !self.slots_on_failed(plan, lost, exec) != 0;
        self.segments.let_go(self.segment_of(row));
        if self.is_walked(turn, is_damaged, is_abandoned) {
            self.durable_mut().members.unrecovered += u64::from(is_unrecovered);
        }
    }

    /// A copy of a summary is written by the walk of this turn, or cannot be.
    fn recopied<M: Memory>(&mut self, plan: PlanId, turn: u32, exec: &Executor<M>) {
        let &Plan { is_abandoned, lost, .. } = exec.plan(plan);
        let row = exec.plan(plan).first_slot();
        let segment = self.segment_of(row);
        self.segments.let_go(segment);
        if self.is_walked(turn, is_abandoned || lost != 0, is_abandoned) && is_abandoned && !exec.reads_only()
        {
            // No other copy of the summary is left.
            self.durable_mut().note_shaky(segment);
        }
    }

    /// A plan of the walk of this turn is over. Returns false if it does not count: an earlier walk began it, perhaps of a
    /// member that failed since.
    fn is_walked(&mut self, turn: u32, is_damaged: bool, is_abandoned: bool) -> bool {
        let durable = self.durable_mut();
        let counts = turn == durable.turn && !durable.members.rebuilds.is_empty();
        if counts {
            durable.rebuilding.under_way -= 1;
            for rebuild in &mut durable.members.rebuilds {
                rebuild.met_damage |= is_damaged;
                rebuild.leaves_out |= is_abandoned;
            }
        }
        counts
    }

    /// Lets superblocks record the progress of the rebuild, as soon as the progress is durable; or its end.
    pub(crate) fn note_rebuild<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let is_any_failed = exec.is_any_failed();
        let believes = exec.has_bug(Bug::LeftOutForgotten);
        let durable = self.durable_mut();
        let (mut at, mut scrubs) = (0, false);
        while at < durable.members.rebuilds.len() {
            let rebuild = &durable.members.rebuilds[at];
            let (member, done) = (rebuild.member, durable.rebuilt_segments(rebuild));
            if rebuild.part.stage == Stage::Covered {
                // Chunks that an earlier rebuild could not recover without this member can be recovered now: checksums show
                // where it lacks content. And the rebuild only read around damaged content.
                let mends = rebuild.met_damage || rebuild.part.may_mend && !is_any_failed;
                let is_missing = !rebuild.is_good() || durable.members.unrecovered > 0;
                durable.members.rebuilds.remove(at);
                durable.members.record_active(member, is_missing && !believes);
                scrubs |= mends;
                durable.has_event = true;
                continue;
            }
            if done > rebuild.noted {
                durable.members.rebuilds[at].noted = done;
                durable.members.record_progress(member, done);
                durable.has_event = true;
            }
            at += 1;
        }
        if scrubs {
            self.begin_scrub(exec);
        }
    }

    /// Ends the rebuild of a member that fails, and halts those that cannot continue without it. Copies written to the member no
    /// longer count.
    pub(crate) fn stop_rebuild<M: Memory>(&mut self, member: MemberNo, exec: &Executor<M>) {
        let Some(durable) = self.durable.as_mut() else { return };
        durable.checkpoint_on &= !member.bit();
        if let Some((_, on)) = &mut durable.commit_on {
            *on &= !member.bit();
        }
        // Others take over its copies.
        durable.sync.is_requested |= durable.lacks_copies(exec);
        durable.sync.covers &= !member.bit();
        let had = durable.members.end_rebuild(member).is_some();
        if had || durable.due(exec) != durable.walking {
            durable.restart_walk(exec);
        }
    }
}

impl Job<Log> for RebuildStripe {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_rebuild(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.decode_stripe(cx.plan, cx.exec);
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, Log, M>) -> AfterErrors {
        cx.placement.rebuild_failed(cx.plan, cx.exec)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.rebuilt(cx.plan, self.turn, cx.exec);
    }
}

impl Job<Log> for RewriteCopy {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_recopy(cx.plan, cx.exec)?;
        Ok(Built::Ready)
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, Log, M>) -> AfterErrors {
        cx.placement.rebuild_failed(cx.plan, cx.exec)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.recopied(cx.plan, self.turn, cx.exec);
    }
}
