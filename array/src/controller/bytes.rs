//! The bytes of plans: buffers, merging, parity. Over a memory that carries no data, all of this does nothing.

use super::{Array, SECTOR_BYTES, columns};
use crate::bugs::Bug;
use crate::cache::Put;
use crate::geometry::COLUMNS_MAX;
use crate::ids::NONE;
use crate::memory::{Memory, PageId};
use crate::operation::{Class, OperationKind};
use crate::placement::parity_logging::ParityLog;
use crate::plan::{Plan, Purpose};
use crate::update::Routine;
use crate::window::Held;

/// The two buffers of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// The content to write.
    New,
    /// The content that was read or decoded.
    Old,
}

impl<M: Memory> Array<M> {
    #[inline]
    fn index(&self, plan: u32, column: u32, version: Version) -> usize {
        let width = self.geometry.columns;
        (plan * self.buffers_each + if version == Version::New { 0 } else { width } + column) as usize
    }

    /// Index of the buffer for the `nth` delta read of `plan`.
    #[inline]
    fn delta_index(&self, plan: u32, nth: u32) -> usize {
        (plan * self.buffers_each + self.geometry.columns * 2 + nth) as usize
    }

    /// Index of the buffer of operation `id`.
    #[inline]
    pub(super) fn buffer_index(&self, id: u32) -> usize {
        let (plan, nth) = (id / self.stride, id % self.stride);
        let operation = &self.slots[id as usize].operation;
        let Plan { delta_first, delta_reads, .. } = self.plans[plan as usize];
        if let Some(nth) = nth.checked_sub(delta_first.into()).filter(|&nth| nth < delta_reads.into()) {
            return self.delta_index(plan, nth);
        }
        let is_second = self.plans[plan as usize].path.is_second(nth);
        let is_old = operation.kind == OperationKind::Read && !is_second || operation.class == Class::Repair;
        let version = if is_old { Version::Old } else { Version::New };
        let mut column = u32::from(operation.column);
        if operation.class == Class::Repair && self.has_bug(Bug::RepairWrongContent) {
            column = (column + 1) % self.geometry.columns;
        }
        self.index(plan, column, version)
    }

    /// The buffer of a column; takes one from the memory if the column has none yet.
    fn buffer(&mut self, plan: u32, column: u32, version: Version) -> PageId {
        let index = self.index(plan, column, version);
        if self.buffers[index] == NONE {
            self.buffers[index] = self.memory.take();
        }
        self.buffers[index]
    }

    /// Ensures that a read has a buffer to fill.
    #[inline]
    pub(super) fn provide_buffer(&mut self, id: u32) {
        if M::CARRIES_DATA && self.slots[id as usize].operation.kind == OperationKind::Read {
            let index = self.buffer_index(id);
            if self.buffers[index] == NONE {
                self.buffers[index] = self.memory.take();
            }
        }
    }

    /// Returns all buffers of `plan`.
    #[inline]
    pub(super) fn return_buffers(&mut self, plan: u32) {
        if !M::CARRIES_DATA {
            return;
        }
        let width = self.buffers_each as usize;
        let missing = self.plans[plan as usize].missing;
        if missing != 0 && self.has_bug(Bug::BufferLeaked) {
            let index = self.index(plan, missing.trailing_zeros(), Version::Old);
            self.buffers[index] = NONE;
        }
        for index in plan as usize * width..(plan as usize + 1) * width {
            if self.buffers[index] != NONE {
                self.memory.give(self.buffers[index]);
                self.buffers[index] = NONE;
            }
        }
    }

    /// A copy of the new content of `column`.
    pub(super) fn copy_of_new(&mut self, plan: u32, column: u32) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let (copy, new) = (self.memory.take(), self.buffers[self.index(plan, column, Version::New)]);
        self.memory.copy(copy, new, 0, self.members.page_bytes as usize);
        copy
    }

    /// Gives a full page buffer to a plan as the new content of `column`.
    pub(super) fn adopt_buffer(&mut self, plan: u32, column: u32, page: PageId) {
        if M::CARRIES_DATA {
            let index = self.index(plan, column, Version::New);
            self.buffers[index] = page;
        }
    }

    /// Copies the `sectors` of `column` that request `id` writes into the plan's new content. The sectors are one run.
    #[inline]
    pub(super) fn load_sectors(&mut self, plan: u32, column: u32, id: u32, sectors: u64, is_merge: bool) {
        if !M::CARRIES_DATA || (is_merge && self.has_bug(Bug::MergeLosesSectors)) {
            return;
        }
        let page = self.buffer(plan, column, Version::New);
        let array_page = self.array_page(self.plans[plan as usize].row, column);
        self.load_host(page, array_page, id, sectors);
    }

    /// Copies, into a buffer, the `sectors` of the array's page that request `id` writes.
    pub(super) fn load_host(&mut self, page: PageId, array_page: u64, id: u32, sectors: u64) {
        if !M::CARRIES_DATA {
            return;
        }
        let at = (sectors.trailing_zeros() * SECTOR_BYTES) as usize;
        let bytes = (sectors.count_ones() * SECTOR_BYTES) as usize;
        let start = array_page * u64::from(self.members.page_bytes) + at as u64;
        let from = (start - self.requests[id as usize].host.offset) as usize;
        if let Some(host) = &self.payloads[id as usize] {
            self.memory.load(page, at, host, from, bytes);
        }
    }

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    pub(super) fn store_row(&mut self, plan: u32, id: u32) {
        if !M::CARRIES_DATA {
            return;
        }
        if self.elastic.is_some() {
            return self.store_chunks(plan, id);
        }
        let slot = &self.plans[plan as usize];
        let (row, wanted) = (slot.row, slot.wanted);
        let version = if slot.path.is_second_first { Version::New } else { Version::Old };
        for column in columns(wanted) {
            let page = self.buffer(plan, column, version);
            self.store_host(page, self.array_page(row, column), id);
        }
        // The cached content overlays that of the members. The old buffers stay as they are: they may be written back, and
        // parity covers nothing newer.
        for column in columns(self.plans[plan as usize].overlaid) {
            let page = self.buffer(plan, column, Version::New);
            let cover = self.covers[plan as usize * self.geometry.data as usize + column as usize];
            self.store_sectors(page, self.array_page(row, column), id, cover);
        }
    }

    /// Copies, from a buffer into the host's payload, the sectors of the array's page that request `id` reads.
    pub(super) fn store_host(&mut self, page: PageId, array_page: u64, id: u32) {
        let host = &self.requests[id as usize].host;
        let page_bytes = u64::from(self.members.page_bytes);
        let start = (array_page * page_bytes).max(host.offset);
        let end = ((array_page + 1) * page_bytes).min(host.offset + u64::from(host.bytes));
        let (at, to) = ((start - array_page * page_bytes) as usize, (start - host.offset) as usize);
        if let Some(payload) = &mut self.payloads[id as usize] {
            self.memory.store(page, at, payload, to, (end - start) as usize);
        }
    }

    /// Copies, from a buffer into the host's payload, those of `sectors` of the array's page that request `id` reads.
    fn store_sectors(&mut self, page: PageId, array_page: u64, id: u32, sectors: u64) {
        let sectors = sectors & self.sectors_of_page(id, array_page);
        let start = array_page * u64::from(self.members.page_bytes);
        let offset = self.requests[id as usize].host.offset;
        let Some(payload) = &mut self.payloads[id as usize] else { return };
        for sector in columns(sectors) {
            let at = (sector * SECTOR_BYTES) as usize;
            let to = (start + at as u64 - offset) as usize;
            self.memory.store(page, at, payload, to, SECTOR_BYTES as usize);
        }
    }

    /// The bytes of a computing step: merges partially written pages, decodes lost content, computes parity.
    pub(super) fn combine(&mut self, plan: u32) {
        if !M::CARRIES_DATA {
            return;
        }
        self.fold_deltas(plan);
        match self.plans[plan as usize].purpose {
            Purpose::Rebuild | Purpose::Scrub if self.roster.is_some() => self.combine_row(plan),
            Purpose::Append => self.encode_stripe(plan),
            Purpose::Merge | Purpose::Collect | Purpose::Rebuild | Purpose::Scrub => self.decode_stripe(plan),
            Purpose::Read if self.elastic.is_some() => self.decode_stripe(plan),
            Purpose::Read => {
                self.decode(plan);
                self.verify_decoded(plan);
                self.overlay_late(plan);
            }
            Purpose::Write | Purpose::Parity | Purpose::Resync => {
                let reconstructs = self.plans[plan as usize].decision.routine == Routine::Reconstruct;
                if reconstructs && !self.has_bug(Bug::PartOfLostNotDecoded) {
                    self.decode(plan);
                    if !self.verify_decoded(plan) {
                        return;
                    }
                }
                self.merge_old(plan);
                self.make_parity(plan);
            }
            Purpose::Trim
            | Purpose::Flush
            | Purpose::Destage
            | Purpose::Redo
            | Purpose::RepairSummary
            | Purpose::ReadSummary
            | Purpose::Discard
            | Purpose::Summary
            | Purpose::Commit
            | Purpose::JournalWrite
            | Purpose::JournalReclaim
            | Purpose::WriteSuperblocks
            | Purpose::Inspect => {}
        }
    }

    /// Adds deltas to the parity that they change: the sum is the parity that covers the current data.
    fn fold_deltas(&mut self, plan: u32) {
        let Plan { delta_first, delta_reads, .. } = self.plans[plan as usize];
        if self.has_bug(Bug::DeltaNotFolded) {
            return;
        }
        for nth in 0..u32::from(delta_reads) {
            let column =
                self.slots[(plan * self.stride + u32::from(delta_first) + nth) as usize].operation.column;
            let parity = self.buffer(plan, column.into(), Version::Old);
            self.memory.add(parity, self.buffers[self.delta_index(plan, nth)]);
        }
    }

    /// The bytes of the second side of a hedged read: decodes the columns that it replaces from its own reads. Returns false
    /// if the decoded content is wrong.
    pub(super) fn decode_second(&mut self, plan: u32) -> bool {
        if !M::CARRIES_DATA {
            return true;
        }
        if self.elastic.is_some() {
            return self.decode_stripe_again(plan);
        }
        let slot = &self.plans[plan as usize];
        let (place, wanted, missing) = (slot.place, slot.wanted, slot.path.hedged);
        let sources = self.sources(slot.path.without);
        let keeps = self.has_bug(Bug::HedgeKeepsReads);
        let mut row = [NONE; COLUMNS_MAX as usize];
        let (mut lost_indices, mut wanted_indices) = (0, 0);
        for column in columns(self.geometry.all_columns()) {
            let index = self.geometry.code_index(place, column);
            if (sources | missing) >> column & 1 != 0 {
                row[index as usize] = self.buffer(plan, column, Version::New);
            }
            if keeps && sources & wanted >> column & 1 != 0 {
                let (new, old) = (row[index as usize], self.buffer(plan, column, Version::Old));
                self.memory.copy(new, old, 0, self.members.page_bytes as usize);
            }
            if sources >> column & 1 == 0 {
                lost_indices |= 1 << index;
            }
            if missing >> column & 1 != 0 {
                wanted_indices |= 1 << index;
            }
        }
        if let Some(code) = &self.code {
            let row = &row[..self.geometry.columns as usize];
            self.memory.decode(code, row, lost_indices, wanted_indices);
        }
        true
    }

    /// Decodes the old content of missing columns that the plan needs from the other columns, in the versions that parity
    /// covers.
    pub(super) fn decode(&mut self, plan: u32) {
        let late = self.late_of_read(plan);
        let slot = &self.plans[plan as usize];
        let (place, missing) = (slot.place, slot.missing);
        let data = self.geometry.data_columns();
        let wanted = self.decoded(plan);
        if wanted == 0 {
            return;
        }
        let sources = self.sources(missing);
        let mut row = [NONE; COLUMNS_MAX as usize];
        let (mut lost_indices, mut wanted_indices) = (0, 0);
        for column in columns(self.geometry.all_columns()) {
            let index = self.geometry.code_index(place, column);
            if sources >> column & 1 != 0 {
                row[index as usize] = self.covered(plan, column, late);
                continue;
            }
            lost_indices |= 1 << index;
            if wanted >> column & 1 != 0 {
                row[index as usize] = self.buffer(plan, column, Version::Old);
                wanted_indices |= 1 << index;
            }
        }
        if self.has_bug(Bug::TwoLostAsOne) && (missing & data).count_ones() > 1 {
            let second = 63 - (missing & data).leading_zeros();
            let index = self.geometry.code_index(place, second);
            row[index as usize] = self.buffer(plan, second, Version::Old);
            self.memory.zero(row[index as usize]);
            lost_indices &= !(1 << index);
            wanted_indices &= !(1 << index);
        }
        if let Some(code) = &self.code {
            let row = &row[..self.geometry.columns as usize];
            self.memory.decode(code, row, lost_indices, wanted_indices);
        }
    }

    /// The columns that `plan` decodes: those that it needs and cannot read.
    pub(super) fn decoded(&self, plan: u32) -> u64 {
        let slot = &self.plans[plan as usize];
        let needed = match slot.purpose {
            Purpose::Read => slot.wanted & !self.late_of_read(plan),
            Purpose::Rebuild | Purpose::Scrub => slot.wanted,
            _ => slot.partial | (self.geometry.data_columns() & !(slot.wanted | slot.dirty)),
        };
        slot.missing & needed
    }

    /// The buffer of the new content of `column`, if there is one.
    pub(super) fn content_of_new(&self, plan: u32, column: u32) -> Option<PageId> {
        self.page_if_any(self.index(plan, column, Version::New))
    }

    /// The buffer of the old content of `column`, if there is one.
    pub(super) fn content_of_old(&self, plan: u32, column: u32) -> Option<PageId> {
        self.page_if_any(self.index(plan, column, Version::Old))
    }

    fn page_if_any(&self, index: usize) -> Option<PageId> {
        self.buffers.get(index).copied().filter(|&page| page != NONE)
    }

    /// Columns whose parity is deferred while `plan` reads their row.
    fn late_of_read(&self, plan: u32) -> u64 {
        let slot = &self.plans[plan as usize];
        if slot.purpose == Purpose::Read && slot.lock != crate::row_locks::RowLock::None {
            self.window.dirty(slot.row)
        } else {
            0
        }
    }

    /// The buffer of a column's covered content: the content that was read, or that memory kept.
    fn covered(&mut self, plan: u32, column: u32, late: u64) -> PageId {
        if late >> column & 1 != 0
            && !self.window.pins()
            && let Some(entry) = self.window.entry(self.plans[plan as usize].row)
        {
            return self.window.page(entry, column, Held::Covered);
        }
        self.buffer(plan, column, Version::Old)
    }

    /// Overlays the new content of columns with deferred parity, which is in memory: hosts read this content.
    fn overlay_late(&mut self, plan: u32) {
        let late = self.late_of_read(plan) & self.plans[plan as usize].wanted;
        let Some(entry) = self.window.entry(self.plans[plan as usize].row) else { return };
        for column in columns(late) {
            let into = self.buffer(plan, column, Version::Old);
            let new = self.window.page(entry, column, Held::New);
            self.memory.copy(into, new, 0, self.members.page_bytes as usize);
        }
    }

    /// Copies `sectors` of a page of the write cache into the plan's new content of `column`.
    pub(super) fn copy_to_new(&mut self, plan: u32, column: u32, page: PageId, sectors: u64) {
        if M::CARRIES_DATA {
            let into = self.buffer(plan, column, Version::New);
            self.copy_sectors(into, page, sectors);
        }
    }

    /// Copies a page of the write cache into the plan's old content of `column`.
    pub(super) fn copy_to_old(&mut self, plan: u32, column: u32, page: PageId) {
        let into = self.buffer(plan, column, Version::Old);
        self.memory.copy(into, page, 0, self.members.page_bytes as usize);
    }

    /// Makes the plan's new content of `column` the page that was put into the write cache.
    pub(super) fn give_to_cache(&mut self, plan: u32, column: u32, put: Put) {
        let index = self.index(plan, column, Version::New);
        let page = std::mem::replace(&mut self.buffers[index], NONE);
        let (Put::New(chunk) | Put::Over(chunk) | Put::Beside(chunk, ..)) = put;
        let Some(cache) = &mut self.cache else { return };
        let before = cache.store.get(chunk).page;
        cache.set_page(chunk, page);
        if let Put::Over(_) = put {
            self.memory.give(before);
        }
    }

    pub(super) fn copy_sectors(&mut self, into: PageId, from: PageId, sectors: u64) {
        for sector in columns(sectors) {
            self.memory.copy(into, from, (sector * SECTOR_BYTES) as usize, SECTOR_BYTES as usize);
        }
    }

    /// Fills, from the content in memory, the sectors of a column with deferred parity that `plan` does not write.
    pub(super) fn fill_from_late(&mut self, plan: u32, entry: u32, column: u32) {
        if !M::CARRIES_DATA {
            return;
        }
        let cover = self.covers[plan as usize * self.geometry.data as usize + column as usize];
        let new = self.buffer(plan, column, Version::New);
        let late = self.window.page(entry, column, Held::New);
        for sector in columns(self.whole_page & !cover) {
            self.memory.copy(new, late, (sector * SECTOR_BYTES) as usize, SECTOR_BYTES as usize);
        }
    }

    /// Moves the content that `plan` wrote to the deferred entry of its row, whose `dirty` columns were deferred before. Old
    /// content moves too where members do not keep it.
    pub(super) fn give_to_late(&mut self, plan: u32, entry: u32, wanted: u64, dirty: u64) {
        if !M::CARRIES_DATA {
            return;
        }
        let keeps = self.window.pins();
        for column in columns(wanted) {
            let index = self.index(plan, column, Version::New);
            let new = std::mem::replace(&mut self.buffers[index], NONE);
            let before = std::mem::replace(self.window.page_mut(entry, column, Held::New), new);
            if before != NONE {
                self.memory.give(before);
            }
            if !keeps && dirty >> column & 1 == 0 {
                let index = self.index(plan, column, Version::Old);
                let old = std::mem::replace(&mut self.buffers[index], NONE);
                *self.window.page_mut(entry, column, Held::Covered) = old;
            }
        }
    }

    /// Moves the deferred content of its row to `plan`. Content that the plan writes again replaces the deferred content.
    pub(super) fn take_from_late(&mut self, plan: u32, entry: u32, dirty: u64) {
        if !M::CARRIES_DATA {
            return;
        }
        for column in columns(dirty) {
            for (held, version) in [(Held::New, Version::New), (Held::Covered, Version::Old)] {
                let page = std::mem::replace(self.window.page_mut(entry, column, held), NONE);
                let index = self.index(plan, column, version);
                if page == NONE {
                    continue;
                }
                if version == Version::New && self.buffers[index] != NONE {
                    self.memory.give(page);
                    continue;
                }
                let before = std::mem::replace(&mut self.buffers[index], page);
                if before != NONE {
                    self.memory.give(before);
                }
            }
        }
    }

    /// Fills sectors that no host wrote with their old content.
    fn merge_old(&mut self, plan: u32) {
        let partial = self.plans[plan as usize].partial;
        for column in columns(partial) {
            let cover = self.covers[plan as usize * self.geometry.data as usize + column as usize];
            let new = self.buffer(plan, column, Version::New);
            let old = self.buffer(plan, column, Version::Old);
            if self.is_unread(plan, column) {
                self.memory.zero(old);
            }
            for sector in columns(self.whole_page & !cover) {
                let at = (sector * SECTOR_BYTES) as usize;
                if self.has_bug(Bug::PartialWriteClears) {
                    self.memory.zero(old);
                }
                self.memory.copy(new, old, at, SECTOR_BYTES as usize);
            }
        }
    }

    /// Computes new parity by the plan's routine.
    fn make_parity(&mut self, plan: u32) {
        match self.plans[plan as usize].decision.routine {
            Routine::Plain => {}
            Routine::Rmw => self.update_parity_pages(plan),
            Routine::Log => self.make_deltas(plan),
            Routine::Rcw | Routine::Reconstruct | Routine::FullStripe | Routine::ShortStripe => {
                self.encode_parity_pages(plan);
            }
        }
    }

    /// The buffers of new parity, in order.
    fn parity_pages(&mut self, plan: u32) -> [PageId; 2] {
        let data = self.geometry.data;
        let parity = self.geometry.parity();
        std::array::from_fn(|nth| {
            if (nth as u32) < parity { self.buffer(plan, data + nth as u32, Version::New) } else { NONE }
        })
    }

    /// New parity from old parity and the change of each updated column. Skips parity whose old content was not read; that
    /// parity is not written.
    fn update_parity_pages(&mut self, plan: u32) {
        let slot = &self.plans[plan as usize];
        let (place, updated) = (slot.place, slot.wanted | slot.dirty);
        let pages = self.parity_pages(plan);
        let pages = &pages[..self.geometry.parity() as usize];
        for (column, &new) in (self.geometry.data..).zip(pages) {
            let old = self.buffer(plan, column, Version::Old);
            self.memory.copy(new, old, 0, self.members.page_bytes as usize);
        }
        let forgets = self.has_bug(Bug::OldDataForgotten);
        for column in columns(updated) {
            let by_position = self.has_bug(Bug::QByPosition);
            let index = if by_position { column } else { self.geometry.code_index(place, column) };
            let new = self.buffer(plan, column, Version::New);
            let old = self.buffer(plan, column, Version::Old);
            if let Some(code) = &self.code {
                self.memory.update(code, index, (!forgets).then_some(old), new, pages);
            }
        }
    }

    /// Whether `plan` logs an update of a column that was never written and that the plan did not read.
    fn is_unread(&self, plan: u32, column: u32) -> bool {
        let Plan { row, decision, .. } = self.plans[plan as usize];
        let is_unwritten = |log: &ParityLog| log.written(row) >> column & 1 == 0;
        decision.routine == Routine::Log && self.log.as_ref().is_some_and(is_unwritten)
    }

    /// The delta of each parity: the changes of the updated columns, added to zeros.
    fn make_deltas(&mut self, plan: u32) {
        let Plan { place, wanted, .. } = self.plans[plan as usize];
        let pages = self.parity_pages(plan);
        let pages = &pages[..self.geometry.parity() as usize];
        pages.iter().for_each(|&page| self.memory.zero(page));
        let forgets = self.has_bug(Bug::DeltaWithoutOld);
        for column in columns(wanted) {
            let index = self.geometry.code_index(place, column);
            let new = self.buffer(plan, column, Version::New);
            let is_read = !self.is_unread(plan, column) && !forgets;
            let old = is_read.then(|| self.buffer(plan, column, Version::Old));
            if let Some(code) = &self.code {
                self.memory.update(code, index, old, new, pages);
            }
        }
    }

    /// Parity of the whole row, from new content where there is any, else old. Columns for which a short row has no page count
    /// as zeros.
    pub(super) fn encode_parity_pages(&mut self, plan: u32) {
        let slot = &self.plans[plan as usize];
        let (place, updated, routine) = (slot.place, slot.wanted | slot.dirty, slot.decision.routine);
        let mut row = [NONE; COLUMNS_MAX as usize];
        for column in 0..self.geometry.data {
            let is_new = updated >> column & 1 != 0;
            let page = self.buffer(plan, column, if is_new { Version::New } else { Version::Old });
            if !is_new && routine == Routine::ShortStripe {
                self.memory.zero(page);
            }
            row[self.geometry.code_index(place, column) as usize] = page;
        }
        let pages = self.parity_pages(plan);
        row[self.geometry.data as usize..self.geometry.columns as usize]
            .copy_from_slice(&pages[..self.geometry.parity() as usize]);
        if let Some(code) = &self.code {
            self.memory.encode(code, &row[..self.geometry.columns as usize]);
        }
    }
}
