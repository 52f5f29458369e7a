//! Members that join an array in place: superblocks record them before anything is written to them, then how far they are
//! rebuilt, and finally that they are whole.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::rejoin::{RejoinError, Rejoining, check_newer, check_twin};
use stripewise_exec::{AfterErrors, Executor};
use stripewise_format::{Copy, MemberState, Superblock, superblock_pages};

use crate::in_place::InPlace;
use crate::in_place::job::WriteSuperblocks;
use crate::in_place::journal::{
    MemberEvent, NO_MEMBER, Roster, Rows, RowsOfMember, Stage, SuperblockUpdate, Unchanged,
};
use crate::job::{Cx, Job};
use crate::membership::{Halt, Membership, Rebuild, encode_superblock, short};

impl InPlace {
    /// Sets up the members of an assembled array, as its superblocks record them, with the first page of each back copy.
    pub(crate) fn begin_members<M: Memory>(
        &mut self,
        superblock: Superblock,
        back: Vec<u32>,
        exec: &mut Executor<M>,
    ) {
        let rows = exec.rows_of_group();
        let Some(roster) = &mut self.roster else { return };
        let is_rebuilt = |number: &usize| superblock.members[*number].state == MemberState::Rebuilding;
        for number in (0..superblock.members.len())
            .filter(is_rebuilt)
            .filter(|number| !exec.is_failed(MemberNo::at(*number)))
        {
            let cursor = superblock.members[number].cursor.min(rows);
            // The new epoch has no records yet.
            roster.begin_rebuild(MemberNo::at(number), (cursor, rows), false, 0);
        }
        roster.members.on_members = Some(superblock.clone());
        (roster.members.superblock, roster.members.back) = (superblock, back);
    }

    /// Records the content of the superblocks on the members, where it differs from the superblocks of a writable array.
    pub(crate) fn has_on_members(&mut self, superblock: Superblock) {
        if let Some(roster) = &mut self.roster {
            roster.members.on_members = Some(superblock);
        }
    }

    /// Whether `member` may join the array in place.
    pub(crate) fn check_member<M: Memory>(
        &self,
        roster: &Roster,
        member: MemberNo,
        how: Rejoining,
        exec: &Executor<M>,
    ) -> Result<(), RejoinError> {
        if exec.reads_only() {
            return Err(RejoinError::ReadOnly);
        }
        if roster.coming().any(|(coming, _)| coming == member) {
            return Err(RejoinError::Busy(member));
        }
        let returning = how.is_returned().then_some(member);
        if let Some(group) = self.group_beyond(returning, exec) {
            return Err(RejoinError::Beyond(group));
        }
        let others = roster.members.halted_without(member, exec);
        let alone = roster.members.needs_own(member, exec).filter(|_| !how.is_returned());
        if let Some(group) = others.or(alone) {
            return Err(RejoinError::Beyond(group));
        }
        check_newer(&roster.members.superblock, None, how)?;
        check_twin(&roster.members.superblock, how)
    }

    /// A group in which more members failed than parity tolerates, `returning` not counted.
    fn group_beyond<M: Memory>(&self, returning: Option<MemberNo>, exec: &Executor<M>) -> Option<u32> {
        let returning = returning.map_or(0, |member| member.bit());
        (0..exec.geometry().groups).find(|&group| self.is_beyond(group, returning, exec))
    }

    /// Whether `group` cannot do without the members that failed, those of the mask `returning` not counted: they are more
    /// than parity tolerates, together with members that joined and still lack rows or may lack copies of metadata.
    pub(crate) fn is_beyond<M: Memory>(&self, group: u32, returning: u64, exec: &Executor<M>) -> bool {
        if !exec.is_any_failed() {
            return false;
        }
        let is_failed = |member: &MemberNo| exec.is_failed(*member) && !member.is_in(returning);
        let failed = exec.geometry().group(group).filter(is_failed).count() as u32;
        let ring = self.journal.as_ref().map(|journal| &journal.ring);
        let joined = self.roster.as_ref().map_or(0, |roster| roster.lacking(group, ring, exec));
        failed > 0 && failed + joined > exec.geometry().parity()
    }

    /// Whether a group cannot do without the members that failed: what is durable then stays as it is.
    pub(crate) fn is_any_beyond<M: Memory>(&self, exec: &Executor<M>) -> bool {
        self.group_beyond(None, exec).is_some()
    }

    /// Whether the row of `plan` is in such a group.
    pub(crate) fn is_in_beyond<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let member = exec.geometry().member(exec.plan(plan).place, 0);
        self.is_beyond(exec.geometry().group_of(member), 0, exec)
    }

    /// The group that has lost too much for superblocks to be updated or for a member to be rebuilt: the superblocks would
    /// call all failed members failed, and the array could never be assembled again, even if they returned.
    pub(crate) fn halted_by<M: Memory>(&self, exec: &Executor<M>) -> Option<u32> {
        let roster = self.roster.as_ref()?;
        let unchanged =
            roster.coming().filter(|&(member, is_returned)| is_returned && roster.is_unchanged(member));
        let returning = unchanged.fold(0, |mask, (member, _)| mask | member.bit());
        // What superblocks say already, another version may say again.
        let joins = roster.writing.map_or(0, |writing| writing.joins());
        let unrecorded = roster.members.unrecorded(exec.failed_members() & !returning & !joins);
        let has_unrecorded = |group: u32| exec.geometry().group(group).any(|member| member.is_in(unrecorded));
        let mut groups = 0..exec.geometry().groups;
        groups.find(|&group| has_unrecorded(group) && self.is_beyond(group, returning, exec))
    }

    /// Lets `member`, which was checked, join the array in place.
    pub(crate) fn rejoin_in_place<M: Memory>(
        &mut self,
        member: MemberNo,
        how: Rejoining,
        exec: &mut Executor<M>,
    ) {
        exec.reopen(member);
        let Some(roster) = &mut self.roster else { return };
        roster.members.take_device(member, how);
        roster.joining.push_back((member, how.is_returned()));
        if let Some(Unchanged { update, .. }) = roster.unchanged[member.index()] {
            // An older copy of the member has older rows.
            let is_newest =
                matches!(how, Rejoining::Returned { stamp: Some(stamp), .. } if stamp.update >= update);
            roster.unchanged[member.index()].take_if(|_| !is_newest);
        }
    }

    /// A member failed: it is no longer rebuilt or announced.
    pub(crate) fn member_lost<M: Memory>(&mut self, member: MemberNo, exec: &Executor<M>) {
        let Some(roster) = &mut self.roster else { return };
        let is_at_back = |writing: &SuperblockUpdate| matches!(writing.stage, Stage::Back | Stage::FlushBack);
        if roster.writing.as_ref().is_some_and(is_at_back) && !exec.has_bug(Bug::FrontCopyFirst) {
            roster.members.note_without_back(member.bit());
        }
        let ring = self.journal.as_ref().map(|journal| &journal.ring);
        let was_lacking = roster.members.end_rebuild(member).is_some_and(|its| its.part.lacks_anything(ring));
        roster.halt_rebuilds(exec);
        let update = roster.members.superblock.update;
        let group = exec.geometry().group_of(member);
        let is_beyond = self.is_beyond(group, 0, exec);
        let recorded = self.journal.as_ref().map_or(0, |journal| journal.missing)
            | self.intent.as_ref().map_or(0, |intent| intent.next_missing);
        let Some(roster) = &mut self.roster else { return };
        let unchanged = is_beyond.then_some(Unchanged { update, is_replayed: false });
        roster.unchanged[member.index()] = unchanged.filter(|_| !was_lacking);
        if is_beyond {
            // Members that failed just before: what no metadata records did not happen without them.
            let recorded = recorded | roster.writing.map_or(0, |writing| writing.failed);
            let failed = exec.geometry().group(group).filter(|&other| exec.is_failed(other));
            for other in failed {
                let is_active = roster.members.superblock.members[other.index()].state == MemberState::Active;
                if is_active && !other.is_in(recorded) && roster.unchanged[other.index()].is_none() {
                    roster.unchanged[other.index()] = unchanged;
                }
            }
        }
        // Copies are written some pages at a time, and a version may be written no further.
        let is_written = roster.writing.is_some() || roster.work.is_under_way;
        if is_written && !exec.has_bug(Bug::TornCopyCharged) {
            roster.members.note_torn(u64::MAX);
        }
        if roster.writing.take_if(|writing| writing.member == member).is_some() {
            roster.replay = None;
        }
        if let Some(writing) = &mut roster.writing {
            writing.gone |= member.bit();
        }
        roster.joining.retain(|&(joining, _)| joining != member);
    }

    /// Takes the next step of recording a member event in the superblocks. Returns false if there is nothing to do now.
    pub(crate) fn update_superblocks<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(roster) = self.roster.as_mut().filter(|_| !exec.reads_only()) else { return false };
        if roster.work.is_under_way {
            return false;
        }
        let out = exec.failed_members();
        let failed = roster.to_record(out, exec);
        let Some(writing) = roster.writing else {
            let joining = roster.joining.pop_front();
            let comes = joining
                .map(|(member, is_returned)| (member, MemberEvent::Comes { is_returned }, Stage::Clear));
            let event = || roster.event().map(|(member, event)| (member, event, Stage::Mend));
            let Some((member, event, stage)) = comes.or_else(event) else { return false };
            roster.has_repaired &= event != MemberEvent::Scrubbed;
            roster.writing =
                Some(SuperblockUpdate { member, event, stage, targets: 0, begun: 0, failed, out, gone: 0 });
            return true;
        };
        let restarts = match writing.stage {
            // A member is back that may have a front copy alone.
            Stage::Front if writing.begun == 0 => {
                let takes_part = |member: &MemberNo| !member.is_in(failed & !writing.joins());
                let mut members = MemberNo::first(exec.members().count).filter(takes_part);
                members.any(|member| roster.members.is_without_back(member))
            }
            Stage::Front | Stage::FlushFront => writing.gone != 0 && !exec.has_bug(Bug::TornFrontCounts),
            _ => false,
        };
        if restarts {
            roster.writing = Some(SuperblockUpdate { stage: Stage::Mend, begun: 0, ..writing });
            return true;
        }
        if writing.stage == Stage::Clear {
            // Operations that were in flight to the member when it failed must not arrive after these writes.
            let is_idle = roster.rebuilding == 0;
            if !(is_idle && self.is_known_to_fail(writing.member, exec)) {
                return false;
            }
        }
        let Some(mut roster) = self.roster.take() else { return false };
        let is_begun = match writing.stage {
            Stage::Replay => self.begin_replay(&mut roster, writing.member, exec),
            _ => self.begin_stage(&mut roster, writing, exec),
        };
        if let Some(writing) = roster.writing.as_mut().filter(|its| is_begun && its.stage == Stage::Replay) {
            writing.begun += 1;
        }
        let (plan, writing) = (roster.plan, roster.writing.unwrap_or(writing));
        self.roster = Some(roster);
        if is_begun {
            exec.run(plan, self, driver);
        } else {
            self.next_stage(writing, exec);
        }
        true
    }

    /// Whether durable metadata calls `member`, which failed, missing. Until then, assembly after a loss of power would take
    /// the member for whole, so its copies of the journal and the table are needed. If not yet, the next record calls it
    /// missing.
    fn is_known_to_fail<M: Memory>(&mut self, member: MemberNo, exec: &mut Executor<M>) -> bool {
        let recorded = self.journal.as_ref().map_or(0, |journal| journal.missing);
        // For a group that has lost too much, nothing is recorded.
        let is_recorded = !member.is_in(recorded ^ self.missing_to_record(recorded, exec));
        let Some(journal) = &mut self.journal else { return true };
        journal.wants_record |= !is_recorded;
        is_recorded && !journal.record.is_under_way
    }

    /// The members that `stage` writes or flushes, while those of the mask `out` are left out, one bit each.
    fn targets_of<M: Memory>(
        roster: &Roster,
        member: MemberNo,
        stage: Stage,
        out: u64,
        exec: &Executor<M>,
    ) -> u64 {
        let lacks_back = |other: MemberNo| roster.members.is_without_back(other);
        let is_meant = |other: MemberNo| match stage {
            Stage::Clear => other == member,
            Stage::Mend => lacks_back(other),
            Stage::FlushData if member != NO_MEMBER => other == member || lacks_back(other),
            _ => true,
        };
        let takes_part = |other: &MemberNo| (*other == member || !other.is_in(out)) && is_meant(*other);
        MemberNo::first(exec.members().count).filter(takes_part).fold(0, |mask, other| mask | other.bit())
    }

    /// Plans the rest of a stage. Returns false if nothing is left.
    fn begin_stage<M: Memory>(
        &mut self,
        roster: &mut Roster,
        writing: SuperblockUpdate,
        exec: &mut Executor<M>,
    ) -> bool {
        let SuperblockUpdate { member, stage, begun, mut failed, mut gone, event, .. } = writing;
        if stage == Stage::Clear && begun == 0 {
            roster.replay = None;
        }
        if matches!(stage, Stage::Mend | Stage::Front) && begun == 0 {
            let out = exec.failed_members();
            (failed, gone) = (roster.to_record(out, exec), 0);
            roster.writing = Some(SuperblockUpdate { failed, out, gone, ..writing });
        }
        let span = superblock_pages(roster.members.superblock.page_bytes);
        let targets = match exec.has_bug(Bug::TargetsShift) {
            true => Self::targets_of(roster, member, stage, failed | gone, exec),
            false if begun == 0 => Self::targets_of(roster, member, stage, failed, exec),
            false => writing.targets,
        };
        if stage == Stage::Front && begun == 0 {
            roster.begin_update(member, event, failed, exec);
        }
        let flushes = u32::from(exec.members().volatile_cache);
        // Operations on each target, from its first page on.
        let (kind, count) = match stage {
            Stage::Clear if self.keeps_metadata(roster, member, exec) => (OperationKind::Write, 0),
            Stage::Clear => (OperationKind::Write, exec.geometry().first_page - span),
            Stage::Mend | Stage::Front | Stage::Back => (OperationKind::Write, span),
            Stage::FlushData | Stage::FlushFront | Stage::FlushBack => (OperationKind::Flush, flushes),
            Stage::Replay => unreachable!("it has steps of its own"),
        };
        let copy = if stage == Stage::Front { Copy::Front } else { Copy::Back };
        let first_page = |member: MemberNo| match stage {
            Stage::Clear => span,
            Stage::Mend | Stage::Front | Stage::Back => roster.members.place_of(member, copy),
            Stage::Replay | Stage::FlushData | Stage::FlushFront | Stage::FlushBack => 0,
        };
        let targets_in_order: Vec<MemberNo> =
            columns(targets).map(|member| MemberNo::at(member as usize)).collect();
        let place_of = |nth: u32| (nth, targets_in_order[(nth / count) as usize], nth % count);
        let rest = (begun..targets.count_ones() * count).map(place_of);
        let left = rest.filter(|(_, member, _)| !member.is_in(gone));
        let now: Vec<(u32, MemberNo, u32)> = left.take(exec.operations_each() as usize).collect();
        let Some(&(last, ..)) = now.last() else { return false };
        let operations: Vec<(OperationKind, MemberNo, u32)> =
            now.iter().map(|&(_, member, page)| (kind, member, first_page(member) + page)).collect();
        for &(_, member, page) in &now {
            let mut buffer = 0;
            if M::CARRIES_DATA && kind == OperationKind::Write {
                buffer = exec.memory_mut().take();
                roster.work.owned.push(buffer);
                let bytes = exec.memory_mut().bytes_mut(buffer);
                bytes.fill(0);
                let place = (member, roster.members.back[member.index()], page);
                match stage {
                    Stage::Clear => {}
                    Stage::Mend => roster.members.encode_back(member, page, bytes),
                    _ => encode_superblock(&mut roster.recorded, place, copy, bytes),
                }
            }
            roster.work.pages.push(buffer);
        }
        roster.work.is_under_way = true;
        if let Some(writing) = &mut roster.writing {
            (writing.targets, writing.begun) = (targets, last + 1);
        }
        self.clear_own(roster.plan, WriteSuperblocks, exec);
        self.push_own(roster.plan, operations.into_iter(), exec);
        true
    }

    /// Whether `member`, which returns, keeps its copies of metadata, which others may lack.
    fn keeps_metadata<M: Memory>(&self, roster: &Roster, member: MemberNo, exec: &Executor<M>) -> bool {
        self.journal.is_some() && roster.is_unchanged(member) && !exec.has_bug(Bug::KeptMetadataCleared)
    }

    /// A part of a stage is over.
    fn superblocks_written<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        exec.end_own(plan);
        let is_abandoned = exec.plan(plan).is_abandoned;
        let replays = self.roster.as_ref().and_then(|roster| roster.writing);
        if let Some(SuperblockUpdate { member, .. }) =
            replays.filter(|writing| writing.stage == Stage::Replay)
        {
            self.replayed(member, exec);
        }
        let Some(roster) = &mut self.roster else { return };
        let out = exec.failed_members();
        let now = roster.to_record(out, exec);
        roster.work.is_under_way = false;
        roster.work.pages.clear();
        roster.work.owned.drain(..).for_each(|page| exec.memory_mut().give(page));
        // An event from the time of the failure and an event since the member returned are distinct: nothing is written of the
        // latter yet.
        let Some(writing) = roster.writing.as_mut().filter(|writing| is_abandoned && writing.begun > 0)
        else {
            return;
        };
        if writing.out != out {
            // Other members failed, and the superblocks must record it. But no front copy may be overwritten before all back
            // copies of the same version are durable: otherwise a loss of power could leave a member with neither copy.
            let stage = match writing {
                SuperblockUpdate { stage: Stage::Clear | Stage::Replay, .. } => Stage::Clear,
                SuperblockUpdate { stage: Stage::Back | Stage::FlushBack, .. } => Stage::Back,
                _ => Stage::Mend,
            };
            (writing.failed, writing.out, writing.stage, writing.begun) = (now, out, stage, 0);
            return;
        }
        let SuperblockUpdate { member, event, .. } = *writing;
        if member == NO_MEMBER {
            roster.writing = None;
            roster.is_stopping &= event != MemberEvent::Stopped;
            return;
        }
        // The joining member itself failed: it does not join.
        roster.members.record_failed(member.bit(), 0, |member| exec.reason_of(member));
        roster.writing = None;
    }

    /// A stage is over.
    fn next_stage<M: Memory>(&mut self, writing: SuperblockUpdate, exec: &mut Executor<M>) {
        let stage = match writing.stage {
            Stage::Clear => Stage::Replay,
            Stage::Replay => Stage::Mend,
            Stage::Mend => Stage::FlushData,
            Stage::FlushData => Stage::Front,
            Stage::Front => Stage::FlushFront,
            Stage::FlushFront => Stage::Back,
            Stage::Back => Stage::FlushBack,
            Stage::FlushBack => return self.event_recorded(writing, exec),
        };
        if let Some(roster) = &mut self.roster {
            if stage == Stage::Front {
                roster.members.has_back(writing.failed & !writing.joins() | writing.gone);
            }
            roster.writing = Some(SuperblockUpdate { stage, begun: 0, ..writing });
        }
    }

    /// The superblocks record the event of a member.
    fn event_recorded<M: Memory>(&mut self, writing: SuperblockUpdate, exec: &mut Executor<M>) {
        let SuperblockUpdate { member, event, failed, .. } = writing;
        let (rows, all_rows) = (exec.rows_of_group(), exec.geometry().rows());
        let behind = self.journal.as_ref().map_or(0, |journal| journal.ring.next_number());
        let believes = exec.has_bug(Bug::ReturnBelieved);
        let Some(roster) = &mut self.roster else { return };
        roster.members.recorded(roster.recorded.clone(), exec.failed_members());
        roster.members.note_torn(writing.gone);
        // Members that failed while the back copies were written are recorded by another version.
        let has_more = roster.members.unrecorded(failed & !writing.joins()) != 0;
        roster.writing = has_more.then_some(SuperblockUpdate {
            event: if event == MemberEvent::Stopped { event } else { MemberEvent::Again },
            stage: Stage::Mend,
            begun: 0,
            ..writing
        });
        if has_more && event == MemberEvent::Stopped {
            return;
        }
        match event {
            MemberEvent::Comes { is_returned } => {
                let is_whole = roster.is_whole_on_return(member) || believes && is_returned;
                let done = if is_whole { rows } else { 0 };
                roster.begin_rebuild(member, (done, rows), is_returned, behind);
                exec.take_in(member);
                self.welcome(member, exec);
                let group = exec.geometry().group_of(member);
                let is_beyond = self.is_beyond(group, 0, exec);
                if let Some(roster) = self.roster.as_mut().filter(|_| !is_beyond) {
                    roster.forget_unchanged(group, exec);
                }
            }
            MemberEvent::Done(rows) => {
                if let Some(rebuild) = roster.members.rebuild_of(member) {
                    rebuild.noted = rows;
                }
            }
            MemberEvent::Whole => {
                let rebuild = roster.members.end_rebuild(member);
                if rebuild.is_some_and(|rebuild| rebuild.met_damage) {
                    roster.members.begin_scrub(Rows::new(0, all_rows));
                }
            }
            MemberEvent::Stopped => roster.is_stopping = false,
            MemberEvent::Scrubbed | MemberEvent::Again => {}
        }
    }

    /// Schedules writing the copies of metadata of `member`; the next version of all other metadata no longer calls it
    /// missing.
    fn welcome<M: Memory>(&mut self, member: MemberNo, exec: &mut Executor<M>) {
        if let Some(journal) = &mut self.journal {
            journal.wants_record = true;
            let (group, position) = exec.geometry().position_of(member);
            for page in 0..journal.table.pages() {
                let (its, number) = journal.table.locate(page);
                let mut places =
                    (0..journal.layout.copies).map(|copy| journal.layout.copy_at(number, copy, 0));
                if its == group && places.any(|(its, _)| its == position) {
                    journal.table.mark(page);
                }
            }
        }
        if let Some(intent) = &mut self.intent {
            intent.has_event = true;
        }
    }
}

impl InPlace {
    /// Why the rebuild in progress is halted.
    pub(crate) fn halt<M: Memory>(&self, exec: &Executor<M>) -> Option<Halt> {
        let roster = self.roster.as_ref()?;
        let members = &roster.members;
        let is_full = members.rebuilds.iter().any(|rebuild| rebuild.part.is_full);
        let unmade = is_full.then_some(Halt::Unmade(members.unrecovered));
        // A member that returns counts as failed until superblocks record its return; then the rebuild continues.
        let comes_back = |group: u32| {
            let is_its = |member: MemberNo| exec.geometry().group_of(member) == group;
            roster.coming().any(|(member, is_returned)| is_returned && is_its(member))
        };
        let halted = members.halted_group(exec).filter(|&group| !comes_back(group));
        self.halted_by(exec).or(halted).map(Halt::Beyond).or(unmade)
    }

    /// The members; `None` without metadata.
    pub(crate) fn membership(&self) -> Option<&Membership<Rows, RowsOfMember>> {
        self.roster.as_ref().map(|roster| &roster.members)
    }

    pub(crate) fn membership_mut(&mut self) -> Option<&mut Membership<Rows, RowsOfMember>> {
        self.roster.as_mut().map(|roster| &mut roster.members)
    }

    /// Whether `member` waits to be recorded, or is being rebuilt.
    pub(crate) fn is_joining(&self, member: MemberNo) -> bool {
        self.roster.as_ref().is_some_and(|roster| {
            let is_rebuilt =
                |rebuild: &Rebuild<RowsOfMember>| rebuild.member == member && !rebuild.part.is_over();
            roster.members.rebuilds.iter().any(is_rebuilt)
                || roster.coming().any(|(coming, _)| coming == member)
        })
    }

    /// The member that is being rebuilt, with the number of rows that are done, and the total.
    pub(crate) fn rebuilding_in_place<M: Memory>(&self, exec: &Executor<M>) -> Option<(MemberNo, u32, u32)> {
        let roster = self.roster.as_ref()?;
        let all = short(exec.rows_of_group());
        let rebuild = roster.members.rebuilds.iter().find(|rebuild| !rebuild.part.is_over());
        let rebuilt = rebuild.map(|rebuild| (rebuild.member, short(rebuild.part.rows.cursor), all));
        rebuilt.or(roster.coming().next().map(|(member, _)| (member, 0, all)))
    }
}

impl Job<InPlace> for WriteSuperblocks {
    fn step_failed<M: Memory>(self, cx: Cx<'_, InPlace, M>) -> AfterErrors {
        cx.exec.abandon(cx.plan);
        AfterErrors::NextStep
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.superblocks_written(cx.plan, cx.exec);
    }
}
