//! Walks over the rows of an array in place: a rebuild restores a member, a scrub reads everything and repairs damaged
//! content. Each takes the row lock of the rows that it works on.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};
use stripewise_format::crc32c;

use crate::in_place::InPlace;
use crate::in_place::job::{RebuildRow, ScrubRow};
use crate::in_place::journal::{Rows, RowsOfMember};
use crate::job::{BuildResult, Cx, Job};

impl InPlace {
    /// Takes the next step of background work. Returns false if there is nothing to do now.
    pub(crate) fn walk_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.roster.is_none() || self.resync.is_some() {
            return false;
        }
        if let Some(begins) = self.flush_deferred_for_walk(exec) {
            return begins;
        }
        let rebuilds = self.halted_by(exec).is_none()
            && (self.update_superblocks(exec, driver) || self.rebuild_row(exec, driver));
        if rebuilds {
            return true;
        }
        // Metadata comes first.
        if exec.metadata_scrubbed().1 {
            exec.scrub_metadata(self, driver)
        } else {
            self.scrub_row(exec, driver)
        }
    }

    /// Rebuilds the chunk of the next row on the member that is being rebuilt.
    fn rebuild_row<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        let has_plan = exec.has_free_plan() && exec.is_allowed() && !exec.reads_only();
        let Some(roster) = &mut self.roster else { return false };
        let members = &roster.members;
        let due = members.rebuilds.iter().filter(|rebuild| rebuild.part.is_due());
        let mut due = due.filter(|rebuild| members.halted_by(rebuild.member, exec).is_none());
        let due = due.next().map(|rebuild| rebuild.member);
        let Some(rebuild) = due.and_then(|member| roster.members.rebuild_of(member)) else { return false };
        let behind = rebuild.part.behind;
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.ring.has_before(behind)) {
            return journal.leave_behind(behind);
        }
        if rebuild.wants_table() && self.journal.as_ref().is_none_or(|journal| !journal.wants_table) {
            match &mut self.journal {
                Some(journal) => journal.wants_table = true,
                None => {
                    rebuild.part.begin_table();
                    rebuild.part.end_table();
                }
            }
            return true;
        }
        if !has_plan || !rebuild.part.rows.has_next() {
            return false;
        }
        let (member, page, turn) = (rebuild.member, rebuild.part.rows.begin(), rebuild.part.turn);
        roster.rebuilding += 1;
        exec.spend(exec.geometry().columns);
        let (group, _) = exec.geometry().position_of(member);
        let plan = self.take_plan(exec.geometry().row_of(group, page as u32), RebuildRow { turn }, exec);
        exec.want(plan, exec.columns_on(plan, member));
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }

    /// The rebuilds in progress: they track which version of the table of checksums is on the members.
    pub(crate) fn rebuilds_in_place(&mut self) -> impl Iterator<Item = &mut RowsOfMember> {
        let rebuilds = self.roster.iter_mut().flat_map(|roster| &mut roster.members.rebuilds);
        rebuilds.map(|rebuild| &mut rebuild.part)
    }

    /// Starts a scrub of all rows, now or after the current one. A rebuild that could not restore some rows tries them again.
    pub(crate) fn begin_scrub<M: Memory>(&mut self, exec: &Executor<M>) {
        let rows = self.scrub_length(exec);
        let Some(members) = self.membership_mut() else { return };
        members.begin_scrub(Rows::new(0, rows));
        for rebuild in members.rebuilds.iter_mut().filter(|rebuild| rebuild.part.is_over()) {
            members.unrecovered = 0;
            rebuild.part.try_again();
        }
    }

    /// Continues a scrub that an earlier serving interrupted. Returns false if there is none.
    pub(crate) fn continue_scrub<M: Memory>(&mut self, exec: &Executor<M>) -> bool {
        let rows = self.scrub_length(exec);
        let Some(members) = self.membership_mut() else { return false };
        let Some(done) = members.scrub_to_continue(rows) else { return false };
        members.continue_scrub(Rows::new(done, rows), done);
        true
    }

    /// The number of rows of a complete scrub.
    pub(crate) fn scrub_length<M: Memory>(&self, exec: &Executor<M>) -> u64 {
        exec.geometry().rows()
    }

    /// Reads the next row, and repairs it.
    fn scrub_row<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        let has_plan = exec.has_free_plan() && exec.is_allowed();
        let rows = exec.geometry().rows();
        let Some(roster) = &mut self.roster else { return false };
        let Some(scrub) = &mut roster.members.scrub.walk else { return false };
        if scrub.is_over() {
            if roster.end_scrub(rows) {
                exec.trust(u64::MAX);
            }
            roster.has_repaired &= !exec.has_bug(Bug::RepairsNotFlushed);
            return true;
        }
        if !has_plan {
            return false;
        }
        let reread = roster.reread.pop();
        if reread.is_none() && !scrub.has_next() {
            return false;
        }
        let row = reread.unwrap_or_else(|| RowNo::new(scrub.begin()));
        exec.spend(exec.geometry().columns);
        let plan = self.take_plan(row, ScrubRow { is_again: reread.is_some() }, exec);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }

    /// The columns of the plan's row on members that are being rebuilt, if their rebuild has not reached the row.
    #[inline]
    pub(crate) fn stale_columns<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let Some(roster) = self.roster.as_ref().filter(|roster| !roster.members.rebuilds.is_empty()) else {
            return 0;
        };
        let page = exec.plan(plan).place.page - exec.geometry().first_page;
        roster.stale_at(page).fold(0, |mask, member| mask | exec.columns_on(plan, member))
    }

    /// Whether the content of `member` at `page` must not be read.
    pub(crate) fn is_stale_in_place<M: Memory>(
        &self,
        member: MemberNo,
        page: u32,
        exec: &Executor<M>,
    ) -> bool {
        let page = page - exec.geometry().first_page;
        self.roster.as_ref().is_some_and(|roster| roster.stale_at(page).any(|its| its == member))
    }

    /// Columns that the plan cannot use. If they seem to be too many, everything is read again once.
    fn tolerable_losses<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<u64, TooManyLost> {
        let mut lost = self.lost_columns(plan, exec);
        let Plan { purpose, wanted, lost: bad, .. } = *exec.plan(plan);
        if lost.count_ones() > exec.geometry().parity()
            && purpose == Purpose::Rebuild
            && self.journal.is_some()
        {
            // Other members that are being rebuilt may have the content; checksums show it.
            lost &= bad | wanted | exec.columns_on_failed(plan) | !self.stale_columns(plan, exec);
        }
        if lost.count_ones() <= exec.geometry().parity() {
            exec.miss(plan, lost);
            return Ok(lost);
        }
        if exec.look_again(plan) { self.tolerable_losses(plan, exec) } else { Err(TooManyLost) }
    }

    /// Builds the steps of rebuilding a row: read the other columns, decode, write. The previous content of a returned member
    /// is read first.
    fn build_rebuilt_row<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        let Plan { place, wanted, lost, .. } = *exec.plan(plan);
        let member = exec.geometry().member(place, wanted.trailing_zeros());
        let rebuilds = self.roster.iter().flat_map(|roster| &roster.members.rebuilds);
        let rebuild = rebuilds.into_iter().find(|its| its.member == member).map(|its| &its.part);
        let is_returned = rebuild.is_some_and(|its| its.is_returned);
        // The checksums of its parity were not tracked while the member was absent.
        let is_known = wanted & exec.geometry().parity_columns() == 0;
        let is_beyond = self.lost_columns(plan, exec).count_ones() > exec.geometry().parity();
        let is_verified = self.journal.is_some() && (is_returned && is_known || is_beyond);
        if is_verified && lost & wanted == 0 {
            exec.push_operations(plan, wanted, OperationKind::Read, |_| Class::Repair, place);
            exec.acknowledge_here(plan);
            return Ok(());
        }
        let lost = self.tolerable_losses(plan, exec)?;
        let sources = exec.sources(lost);
        exec.push_operations(plan, sources, OperationKind::Read, |_| Class::Decode, place);
        exec.push_compute(plan, sources.count_ones() as u16);
        exec.push_operations(plan, wanted, OperationKind::Write, |_| Class::Repair, place);
        exec.acknowledge_here(plan);
        Ok(())
    }

    /// Builds the steps of scrubbing a row: read all of it, and write parity that does not match its data; or, if a column was
    /// found bad, decode that column and write it.
    fn build_scrubbed_row<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        let lost = self.tolerable_losses(plan, exec)?;
        let bad = exec.plan(plan).lost & !exec.columns_on_failed(plan);
        let place = exec.plan(plan).place;
        exec.want(plan, bad);
        let sources = if bad == 0 { exec.geometry().all_columns() & !lost } else { exec.sources(lost) };
        exec.push_operations(plan, sources, OperationKind::Read, |_| Class::Decode, place);
        exec.push_compute(plan, sources.count_ones() as u16);
        let writes = M::CARRIES_DATA && !exec.reads_only();
        if bad != 0 && writes {
            exec.push_operations(plan, bad, OperationKind::Write, |_| Class::Repair, place);
        } else if bad == 0 && writes && lost == 0 {
            if self.writes_ahead() {
                exec.push_journal_wait(plan);
            }
            let parity = exec.geometry().parity_columns();
            exec.push_operations(plan, parity, OperationKind::Write, |_| Class::Parity, place);
        }
        if let Some(roster) = self.roster.as_mut().filter(|_| bad == 0) {
            roster.members.scrub.counts.pages += u64::from(sources.count_ones());
        }
        exec.acknowledge_here(plan);
        Ok(())
    }

    /// Decodes the column to write.
    fn combine_rebuilt_row<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.decode(plan, exec);
        let wanted = exec.plan(plan).wanted;
        if wanted & exec.geometry().parity_columns() == 0 {
            self.verify_decoded(plan, exec);
        } else {
            self.note_parity(plan, wanted, exec);
        }
    }

    /// Decodes the columns to write; without any, compares parity with the parity of the data.
    fn combine_scrubbed_row<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.decode(plan, exec);
        let Plan { missing, wanted, .. } = *exec.plan(plan);
        if !self.verify_decoded(plan, exec) || wanted != 0 {
            return;
        }
        let mut wrong = 0;
        if missing == 0 {
            exec.encode_parity_pages(plan);
            let bytes = |page: Option<u32>| page.map(|page| exec.memory().bytes(page));
            let is_wrong = |&column: &u32| {
                bytes(exec.content_of_new(plan, column)) != bytes(exec.content_of_old(plan, column))
            };
            let parity = columns(exec.geometry().parity_columns());
            wrong = parity.filter(is_wrong).fold(0, |mask, column| mask | 1 << column);
        }
        exec.set_dirty(plan, wrong);
        if wrong == 0 || exec.reads_only() {
            exec.end_here(plan);
        }
    }

    /// Records the checksums of parity that was recomputed for a member. They were unknown while the member was missing.
    fn note_parity<M: Memory>(&mut self, plan: PlanId, parity: u64, exec: &mut Executor<M>) {
        let place = exec.plan(plan).place;
        for column in columns(parity) {
            let checksum = exec.content_of_old(plan, column).map(|page| crc32c(exec.memory().bytes(page)));
            let (group, position) = exec.geometry().position_of(exec.geometry().member(place, column));
            if let (Some(journal), Some(checksum)) = (&mut self.journal, checksum) {
                journal.table.set(group, place.page - exec.geometry().first_page, position, checksum);
            }
        }
    }

    /// Number of host chunks that cannot be read in the plan's row, which cannot be decoded.
    fn lost_chunks_of_row<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let row = exec.plan(plan).row;
        let lost = self.lost_columns(plan, exec) & exec.geometry().data_columns();
        columns(lost).filter(|&column| self.host_page(row, column, exec).is_some()).count() as u64
    }

    /// Columns of the plan's row that were found bad.
    fn bad_columns<M: Memory>(plan: PlanId, exec: &Executor<M>) -> u64 {
        let Plan { lost, dirty, .. } = *exec.plan(plan);
        (lost & !exec.columns_on_failed(plan)) | dirty
    }

    /// Completes a row of a scrub.
    fn row_scrubbed<M: Memory>(&mut self, plan: PlanId, is_again: bool, exec: &mut Executor<M>) {
        let Plan { row, is_abandoned, dirty, .. } = *exec.plan(plan);
        let bad = Self::bad_columns(plan, exec);
        let has_checksums = self.journal.is_some();
        let repairs = !exec.reads_only() && !is_abandoned;
        let lost_chunks = if is_abandoned { self.lost_chunks_of_row(plan, exec) } else { 0 };
        let Some(roster) = &mut self.roster else { return };
        let scrub = &mut roster.members.scrub;
        scrub.counts.bad += u64::from(bad.count_ones());
        scrub.counts.repaired += u64::from(repairs) * u64::from(bad.count_ones());
        scrub.counts.lost += lost_chunks;
        if repairs && !has_checksums && bad & !dirty != 0 && !is_again {
            roster.reread.push(row);
        } else if let Some(walk) = &mut scrub.walk {
            walk.finish(row.number());
            scrub.noted = walk.done();
        }
    }

    /// Completes a row of the rebuild of this turn.
    fn row_rebuilt<M: Memory>(&mut self, plan: PlanId, turn: u32, exec: &mut Executor<M>) {
        let Plan { place, is_abandoned, wanted, .. } = *exec.plan(plan);
        let bad = Self::bad_columns(plan, exec);
        let has_checksums = self.journal.is_some();
        let believes = exec.has_bug(Bug::LeftOutForgotten);
        let lost_chunks = if is_abandoned { self.lost_chunks_of_row(plan, exec) } else { 0 };
        let Some(roster) = &mut self.roster else { return };
        roster.rebuilding -= 1;
        // The member may have failed since, or the rebuild was halted.
        let member = exec.geometry().member(place, wanted.trailing_zeros());
        let Some(rebuild) = roster.members.rebuild_of(member).filter(|its| its.part.turn == turn) else {
            return;
        };
        rebuild.met_damage |= bad & !wanted != 0;
        // Without checksums, the rebuild does not end before it has all rows.
        rebuild.leaves_out |= is_abandoned && has_checksums && !believes;
        let page = u64::from(place.page - exec.geometry().first_page);
        if is_abandoned && !has_checksums {
            rebuild.part.abandon(page)
        } else {
            rebuild.part.rows.finish(page)
        }
        roster.members.unrecovered += u64::from(lost_chunks > 0);
    }
}

impl Job<InPlace> for RebuildRow {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_rebuilt_row(cx.plan, cx.exec)?;
        Ok(Built::Ready)
    }

    #[inline]
    fn combine<M: Memory>(self, cx: Cx<'_, InPlace, M>) {
        cx.placement.combine_rebuilt_row(cx.plan, cx.exec);
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, InPlace, M>) -> AfterErrors {
        cx.exec.abandon(cx.plan);
        AfterErrors::NextStep
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.row_rebuilt(cx.plan, self.turn, cx.exec);
    }
}

impl Job<InPlace> for ScrubRow {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_scrubbed_row(cx.plan, cx.exec)?;
        Ok(Built::Ready)
    }

    #[inline]
    fn combine<M: Memory>(self, cx: Cx<'_, InPlace, M>) {
        cx.placement.combine_scrubbed_row(cx.plan, cx.exec);
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.row_scrubbed(cx.plan, self.is_again, cx.exec);
    }
}
