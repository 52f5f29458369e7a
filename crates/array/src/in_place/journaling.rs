//! Use of the redo journal: updates wait for a record, records are written and flushed, their changes are done in place, and
//! the records are freed. One record is in flight at a time, and all updates that wait meanwhile share the next.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_format::{Area, REDO_MAGIC, RedoEntry, RedoKind, RedoRecord, Uuid, crc32c};

use crate::in_place::InPlace;
use crate::in_place::job::{FreeRecords, PlanState, WriteRecord};
use crate::in_place::journal::{Checksums, Copying, Freeing, Journal, RowsOfMember};
use crate::job::{Cx, Job};

/// The change that an update makes to its row: columns, one bit each.
struct Change {
    /// Columns that get new content.
    written: u64,
    /// Columns that become zeros.
    zeroed: u64,
    /// Of both: columns to which nothing is written.
    missing: u64,
    /// Columns whose previous content is covered by parity from now on.
    before: u64,
}

impl Change {
    fn entries(&self) -> u32 {
        (self.written | self.zeroed).count_ones() + self.before.count_ones()
    }

    fn images(&self) -> u32 {
        (self.written & !self.missing).count_ones() + self.before.count_ones()
    }
}

impl InPlace {
    /// Sets up the journal of an assembled array: empty, with the table of checksums as it is on the members.
    pub(crate) fn begin_journal<M: Memory>(
        &mut self,
        array: Uuid,
        epoch: u32,
        table: Checksums,
        area: Area,
        exec: &mut Executor<M>,
    ) {
        let missing = exec.failed_members();
        if let Some(journal) = &mut self.journal {
            (journal.array, journal.epoch, journal.table, journal.missing) = (array, epoch, table, missing);
            journal.lies_in(area);
        }
    }

    /// Queues `plan` until the journal has its changes, or, with a bitmap, until its region is marked. Returns false if it
    /// need not wait.
    pub(crate) fn await_record<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let Some(journal) = &mut self.journal else { return self.await_intent(plan, exec) };
        if self.jobs[plan].covers != 0 {
            // There is room for this plan, and others may wait for the room that it frees.
            journal.waiting.push_front(plan);
        } else {
            journal.waiting.push_back(plan);
        }
        true
    }

    /// Continues the next update whose record is durable in place. Returns false if there is none.
    #[inline]
    pub(crate) fn journaled<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(plan) = self.journal.as_mut().and_then(|journal| journal.ready.pop_front()) else {
            return false;
        };
        exec.end_wait(plan);
        exec.step_over(plan, self, driver);
        exec.run(plan, self, driver);
        true
    }

    /// Writes the next record, with as many waiting updates as it has room for. Returns false if there is nothing to write, no
    /// room, or a record in flight.
    pub(crate) fn write_record<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.write_vacant(exec, driver) {
            return true;
        }
        if self.journal.as_ref().is_none_or(|journal| {
            journal.record.is_under_way || journal.waiting.is_empty() && !journal.wants_record
        }) {
            return false;
        }
        if self.fails_beyond(exec, driver) {
            return true;
        }
        // Members that joined without copies of metadata count only while the journal is here.
        let recorded = self.journal.as_ref().map_or(0, |journal| journal.missing);
        let missing = self.missing_to_record(recorded, exec);
        // The record does not say which members of a group beyond parity failed, so what they may lack stays in the journal.
        let records_freed = exec.has_bug(Bug::FreedRecordedBeyond) || exec.has_bug(Bug::RecordsFreedBeyond);
        let holds = self.is_any_beyond(exec) && !records_freed;
        let Some(mut journal) = self.journal.take() else { return false };
        // A record that may not state what is freed must not take the room of the one that will.
        journal.ring.hold(holds && !exec.has_bug(Bug::HeldRecordWritten));
        let states_freed = journal.ring.has_event();
        journal.ring.hold(holds);
        let images = self.gather_updates(&mut journal, exec);
        // A record that has no updates and reports no freed room must leave room for others.
        let is_record_due = journal.wants_record
            && journal.ring.has_room(0, journal.deferred_rows())
            && !exec.has_lost_data(self);
        let is_idle = journal.updates.is_empty() && !states_freed && !is_record_due;
        if !is_idle {
            self.make_record(&mut journal, images, missing, exec);
        }
        let plan = journal.plan;
        self.journal = Some(journal);
        if !is_idle {
            exec.run(plan, self, driver);
        }
        !is_idle || exec.has_woken()
    }

    /// Moves waiting updates into the next record, as long as there is room. Returns the number of images in the record.
    fn gather_updates<M: Memory>(&mut self, journal: &mut Journal, exec: &mut Executor<M>) -> u32 {
        journal.updates.clear();
        journal.entries.clear();
        journal.untaken.clear();
        journal.is_full = false;
        let mut images = 0;
        while let Some(&plan) = journal.waiting.front() {
            let Plan { row, defers, .. } = *exec.plan(plan);
            let PlanState { covers, .. } = self.jobs[plan];
            if defers && self.lost_columns(plan, exec) != 0 {
                // A row that has lost a column gets its parity at once.
                journal.waiting.pop_front();
                exec.wake(plan);
                continue;
            }
            let change = self.change_behind(plan, exec);
            if journal.entries.len() as u32 + change.entries() > journal.layout.entries_max() {
                break;
            }
            let more = images + change.images();
            let gets_late = defers && self.window.record(row) == 0;
            let late = journal.late + u32::from(gets_late) - u32::from(covers != 0);
            let all = late + journal.abandoned.len() as u32;
            let ring = &journal.ring;
            let has_room =
                if covers == 0 { ring.has_room(more, all) } else { ring.has_room_to_cover(more, all) };
            if !has_room {
                journal.is_full = journal.updates.is_empty();
                if journal.is_full {
                    self.send_back(journal, exec);
                }
                break;
            }
            (images, journal.late) = (more, late);
            journal.waiting.pop_front();
            journal.updates.push(plan);
            self.note_change(journal, plan, &change, exec);
        }
        images
    }

    /// Restarts waiting updates that were to defer their parity, as updates that do not defer it: they have locks of rows
    /// whose parity may free the room that earlier updates wait for.
    fn send_back<M: Memory>(&mut self, journal: &mut Journal, exec: &mut Executor<M>) {
        journal.waiting.retain(|&plan| {
            let defers = exec.plan(plan).defers;
            if defers {
                exec.wake(plan);
            }
            !defers
        });
    }

    /// Records the entries of an update, and the buffers of their images.
    fn note_change<M: Memory>(
        &mut self,
        journal: &mut Journal,
        plan: PlanId,
        change: &Change,
        exec: &mut Executor<M>,
    ) {
        let place = exec.plan(plan).place;
        let page = place.page - exec.geometry().first_page;
        let changed = change.written | change.zeroed;
        if !exec.plan(plan).defers && !exec.has_bug(Bug::StaleParityTrusted) {
            let lacking = exec.columns_on_failed(plan) | self.stale_columns(plan, exec);
            let untaken = exec.geometry().parity_columns() & lacking & !changed;
            let members = columns(untaken).map(|column| (exec.geometry().member(place, column), page));
            journal.untaken.extend(members);
        }
        for column in columns(changed) {
            let member = exec.geometry().member(place, column);
            let is_zeros = change.zeroed >> column & 1 != 0;
            let kind = match change.missing >> column & 1 != 0 {
                true => RedoKind::Missing,
                false if is_zeros => RedoKind::Zeros,
                false => RedoKind::Image,
            };
            let new = if is_zeros { None } else { exec.content_of_new(plan, column) };
            let old = exec.content_of_old(plan, column);
            let is_late = change.before >> column & 1 != 0;
            let before = is_late.then_some((RedoKind::Before, old));
            for (kind, content) in [(kind, new)].into_iter().chain(before) {
                let bytes = content.map(|page| exec.memory().bytes(page));
                let mut checksum = bytes.map_or(journal.zeros, crc32c);
                if M::CARRIES_DATA && kind == RedoKind::Missing && column >= exec.geometry().data {
                    // The new checksum of parity is unknown before its member is rebuilt.
                    checksum = Checksums::UNKNOWN;
                }
                let begins = bytes.is_some_and(|bytes| bytes.starts_with(&REDO_MAGIC));
                let is_masked = kind.has_image() && begins;
                journal.entries.push(RedoEntry { page, checksum, member, kind, is_masked });
                if kind.has_image() {
                    journal.images.push(content.unwrap_or_default());
                }
            }
        }
    }

    /// The changes that `plan` makes after its current step.
    fn change_behind<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> Change {
        let slot = exec.plan(plan);
        let (mut written, mut zeroed) = (0, 0);
        for step in &slot.steps.all()[slot.steps.current as usize + 1..] {
            for operation in exec.operations_of(plan, *step) {
                let bit = 1 << operation.column;
                match operation.kind {
                    OperationKind::Write => written |= bit,
                    OperationKind::Trim => zeroed |= bit,
                    OperationKind::Read | OperationKind::Flush => {}
                }
            }
        }
        let job = &self.jobs[plan];
        let is_trim = slot.purpose == Purpose::Trim;
        let mut changed = if is_trim { exec.geometry().all_columns() } else { slot.wanted & !job.written };
        if job.covers != 0 {
            // The row's parity is no longer deferred, even where no member can take it.
            changed |= exec.geometry().parity_columns();
        }
        let unwritten = changed & !(written | zeroed);
        *(if is_trim { &mut zeroed } else { &mut written }) |= unwritten;
        if exec.has_bug(Bug::JournalWithoutParity) {
            written &= !exec.geometry().parity_columns();
        }
        let replaced = if slot.defers { slot.wanted & !self.window.dirty(slot.row) } else { 0 };
        let before = if exec.has_bug(Bug::BeforeImageOmitted) { 0 } else { replaced };
        // A member that failed meanwhile does not have the change either.
        Change { written, zeroed, missing: exec.columns_on_failed(plan) | unwritten, before }
    }

    /// Builds the steps of the plan that writes the record of the gathered updates.
    fn make_record<M: Memory>(
        &mut self,
        journal: &mut Journal,
        images: u32,
        missing: u64,
        exec: &mut Executor<M>,
    ) {
        let begun = journal.ring.begin(images, journal.updates.len() as u32);
        for &plan in &journal.updates {
            self.jobs[plan].record = begun.number;
        }
        journal.record.is_under_way = true;
        journal.wants_record = false;
        journal.missing = missing;
        let missing = if exec.has_bug(Bug::MissingNotJournaled) { 0 } else { journal.missing };
        self.fill_record(journal, begun, missing, exec);
        journal.copying = Copying { begun, pages: journal.record.pages.len() as u32, ..Copying::default() };
        self.copy_record(journal, exec);
    }

    /// Builds the steps that write the record to the members that must keep it and were not given it yet. Returns false if
    /// there are none.
    fn copy_record<M: Memory>(&mut self, journal: &mut Journal, exec: &mut Executor<M>) -> bool {
        let plan = journal.plan;
        self.clear_own(plan, WriteRecord, exec);
        let Copying { begun, pages, keepers, .. } = journal.copying;
        let missing = journal.missing | exec.failed_members();
        let wanted = exec.geometry().keepers(journal.layout.copies, begun.number, missing);
        let targets: Vec<MemberNo> = wanted.filter(|&member| !member.is_in(keepers)).collect();
        if targets.is_empty() {
            return false;
        }
        journal.copying.keepers |= targets.iter().fold(0, |mask, &member| mask | member.bit());
        let first = journal.layout.journal.first + begun.first;
        let each = (0..pages).map(|nth| (OperationKind::Write, first + nth));
        let writes =
            targets.iter().flat_map(|&member| each.clone().map(move |(kind, page)| (kind, member, page)));
        self.push_own(plan, writes, exec);
        // All copies share their buffers.
        journal.record.pages.truncate(pages as usize);
        for _ in 1..targets.len() {
            journal.record.pages.extend_from_within(..pages as usize);
        }
        if exec.members().volatile_cache && !exec.has_bug(Bug::JournalNotFlushed) {
            self.push_own(plan, targets.iter().map(|&member| (OperationKind::Flush, member, 0)), exec);
            journal.record.pages.resize(journal.record.pages.len() + targets.len(), 0);
        }
        true
    }

    /// The pages of a record: its header, and its images as they are written.
    fn fill_record<M: Memory>(
        &mut self,
        journal: &mut Journal,
        begun: crate::in_place::journal::Begun,
        missing: u64,
        exec: &mut Executor<M>,
    ) {
        let header_pages = journal.layout.header_pages() as usize;
        journal.record.pages.clear();
        if !M::CARRIES_DATA {
            return journal.record.pages.resize(header_pages + journal.images.drain(..).count(), 0);
        }
        let record = RedoRecord {
            array: journal.array,
            epoch: journal.epoch,
            number: begun.number,
            tail: begun.tail,
            missing,
            first: begun.first,
            entries: std::mem::take(&mut journal.entries),
        };
        record.encode(&mut journal.header);
        journal.entries = record.entries;
        for bytes in journal.header.chunks_exact(exec.members().page_bytes as usize) {
            let page = exec.memory_mut().take();
            exec.memory_mut().bytes_mut(page).copy_from_slice(bytes);
            journal.record.pages.push(page);
            journal.record.owned.push(page);
        }
        let with_image = journal.entries.iter().filter(|entry| entry.kind.has_image());
        for (entry, image) in with_image.zip(journal.images.drain(..)) {
            let mut page = image;
            if entry.is_masked {
                page = exec.memory_mut().take();
                exec.copy_page(page, image);
                exec.memory_mut().bytes_mut(page)[..REDO_MAGIC.len()].fill(0);
                journal.record.owned.push(page);
            }
            journal.record.pages.push(page);
        }
    }

    /// The plan that wrote a record is over: the changes of the record continue in place. But if a member that was to keep the
    /// record failed meanwhile, another member gets the record first: the failed member might return without the record, and
    /// no record says that it failed.
    fn record_written<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let Some(mut journal) = self.journal.take() else { return };
        if self.copy_record(&mut journal, exec) {
            self.journal = Some(journal);
            return exec.run(plan, self, driver);
        }
        exec.end_own(plan);
        journal.record.is_under_way = false;
        journal.record.owned.drain(..).for_each(|page| exec.memory_mut().give(page));
        let lost = if exec.has_bug(Bug::FailedKeeperCounts) { 0 } else { journal.copying.lost };
        journal.ring.keep(journal.copying.keepers & !lost);
        journal.ring.durable();
        let ring = &journal.ring;
        journal.abandoned.retain(|&record| ring.has(record));
        for entry in journal.entries.iter().filter(|entry| entry.kind != RedoKind::Before) {
            let (group, position) = exec.geometry().position_of(entry.member);
            journal.table.set(group, entry.page, position, entry.checksum);
        }
        for (member, page) in journal.untaken.drain(..).filter(|_| M::CARRIES_DATA) {
            let (group, position) = exec.geometry().position_of(member);
            journal.table.set(group, page, position, Checksums::UNKNOWN);
        }
        journal.ready.extend(journal.updates.drain(..));
        self.journal = Some(journal);
    }

    /// `plan` is over: if a record had its changes, they are done in place.
    #[inline]
    pub(crate) fn done_in_place<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let job = &mut self.jobs[plan];
        let (record, covers) = (std::mem::take(&mut job.record), std::mem::take(&mut job.covers));
        if record != 0 && self.intent.is_some() {
            return self.done_as_intended(plan, exec);
        }
        let is_freed = exec.has_bug(Bug::BeforeImageFreed);
        let Some(journal) = self.journal.as_mut() else { return };
        if record != 0 {
            journal.ring.done(record);
        }
        if covers != 0 {
            if !is_freed {
                journal.ring.done(covers);
            }
            // An abandoned plan has no record.
            if record == 0 {
                journal.late -= 1;
                journal.abandoned.push(covers);
            }
        }
    }

    /// Continues to free records, or starts to when they take much of the journal. Returns false if there is nothing to do
    /// now.
    pub(crate) fn free_records<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let keeps = self.is_any_beyond(exec) && !exec.has_bug(Bug::RecordsFreedBeyond);
        let Some(journal) = &mut self.journal else { return false };
        if journal.cleaning.is_under_way {
            return false;
        }
        if keeps {
            // Members that return may lack what the records have, and have not flushed what they were sent.
            journal.freeing = Freeing::default();
            return false;
        }
        if journal.freeing.until.is_none() {
            if !(journal.ring.is_half_full() || journal.is_full || journal.wants_table) {
                return false;
            }
            let unwritten = usize::from(journal.record.is_under_way);
            let none = journal.wants_table.then(|| journal.ring.tail() - 1);
            // Each record is considered once: finished records are freed now.
            let until = journal.ring.finished(unwritten).or(none);
            if until.is_none() {
                return self.cover_for_room(exec, driver);
            }
            journal.freeing.until = until;
            journal.freeing.pages.extend_from_slice(journal.table.changed());
            journal.freeing.is_whole = journal.wants_table;
            if journal.wants_table {
                self.rebuilds_in_place().for_each(RowsOfMember::begin_table);
            }
        }
        let Some(mut journal) = self.journal.take() else { return false };
        let plan = self.make_cleaning(&mut journal, exec);
        if plan.is_none() {
            journal.freeing.is_flushing = false;
            if let Some(until) = journal.freeing.until.take() {
                journal.ring.free(until);
            }
            if std::mem::take(&mut journal.freeing.is_whole) {
                journal.wants_table = false;
                self.rebuilds_in_place().for_each(RowsOfMember::end_table);
            }
        }
        self.journal = Some(journal);
        if let Some(plan) = plan {
            exec.run(plan, self, driver);
        }
        true
    }

    /// The next step of freeing records: writes the changed pages of the table, then flushes all members. Returns `None` when
    /// all of that is done.
    fn make_cleaning<M: Memory>(&mut self, journal: &mut Journal, exec: &mut Executor<M>) -> Option<PlanId> {
        let plan = journal.cleaning_plan;
        let is_early = exec.has_bug(Bug::JournalFreedEarly);
        if journal.freeing.pages.is_empty() {
            let flushes = exec.members().volatile_cache && !is_early;
            if !flushes || std::mem::replace(&mut journal.freeing.is_flushing, true) {
                return None;
            }
            self.clear_own(plan, FreeRecords, exec);
            let living = MemberNo::first(exec.members().count).filter(|&member| !exec.is_failed(member));
            let flushes: Vec<_> = living.map(|member| (OperationKind::Flush, member, 0)).collect();
            journal.cleaning.pages.resize(flushes.len(), 0);
            self.push_own(plan, flushes.into_iter(), exec);
        } else {
            if is_early || exec.has_bug(Bug::TableNotWritten) {
                journal.freeing.pages.clear();
                return self.make_cleaning(journal, exec);
            }
            self.clear_own(plan, FreeRecords, exec);
            let mut writes = Vec::new();
            let left = journal
                .freeing
                .pages
                .len()
                .saturating_sub((exec.operations_each() / journal.layout.copies) as usize);
            for number in journal.freeing.pages.split_off(left) {
                self.write_table_page(journal, number, &mut writes, exec);
            }
            self.push_own(plan, writes.into_iter(), exec);
        }
        journal.cleaning.is_under_way = true;
        Some(plan)
    }

    /// Adds writes of one more page of the table, in all of its copies.
    fn write_table_page<M: Memory>(
        &mut self,
        journal: &mut Journal,
        page: u32,
        writes: &mut Vec<(OperationKind, MemberNo, u32)>,
        exec: &mut Executor<M>,
    ) {
        let version = journal.table.begin_write(page);
        let (group, number) = journal.table.locate(page);
        let mut buffer = 0;
        if M::CARRIES_DATA {
            buffer = exec.memory_mut().take();
            journal.table.encode(page, journal.array, journal.epoch, exec.memory_mut().bytes_mut(buffer));
            journal.cleaning.owned.push(buffer);
        }
        for copy in 0..journal.layout.copies {
            let (position, at) = journal.layout.copy_at(number, copy, version);
            let member = exec.geometry().member_at(group, position);
            if !exec.is_failed(member) {
                writes.push((OperationKind::Write, member, journal.layout.table.first + at));
                journal.cleaning.pages.push(buffer);
            }
        }
    }

    /// A step of freeing records is over.
    fn cleaned<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        exec.end_own(plan);
        let Some(journal) = &mut self.journal else { return };
        journal.cleaning.is_under_way = false;
        journal.cleaning.pages.clear();
        for page in journal.cleaning.owned.drain(..) {
            exec.memory_mut().give(page);
        }
    }
}

impl Job<InPlace> for WriteRecord {
    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) {
        cx.placement.record_written(cx.plan, cx.exec, driver);
    }
}

impl Job<InPlace> for FreeRecords {
    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.cleaned(cx.plan, cx.exec);
    }
}
