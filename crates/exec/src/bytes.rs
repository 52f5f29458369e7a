//! The buffers of plans, and the bytes in them. Over a memory that carries no data, all of this does nothing.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationId, OperationKind};
use stripewise_core::request::SECTOR_BYTES;
use stripewise_policy::update::Routine;

use crate::Executor;

/// The two buffers of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The content to write.
    New,
    /// The content that was read or decoded.
    Old,
}

impl<M: Memory> Executor<M> {
    /// Index of the buffer of `column` of `plan`.
    #[inline]
    pub fn index(&self, plan: PlanId, column: u32, version: Version) -> usize {
        let width = self.geometry.columns;
        debug_assert!(
            column < width,
            "plan {plan} names the buffer of column {column}, and a row has {width}"
        );
        (plan.number() * self.buffers_each + if version == Version::New { 0 } else { width } + column)
            as usize
    }

    /// Index of the buffer for the `nth` delta read of `plan`.
    #[inline]
    fn delta_index(&self, plan: PlanId, nth: u32) -> usize {
        (plan.number() * self.buffers_each + self.geometry.columns * 2 + nth) as usize
    }

    /// Index of the buffer of operation `id`.
    #[inline]
    pub(crate) fn buffer_index(&self, id: OperationId) -> usize {
        let (plan, nth) = (self.plan_of(id), self.place_of(id));
        let operation = &self.slots[id.index()].operation;
        let deltas = self.plans[plan].deltas;
        if let Some(nth) = nth.checked_sub(deltas.first.into()).filter(|&nth| nth < deltas.count.into()) {
            return self.delta_index(plan, nth);
        }
        let is_second = self.plans[plan].path.is_second(nth);
        let is_old = operation.kind == OperationKind::Read && !is_second || operation.class == Class::Repair;
        let version = if is_old { Version::Old } else { Version::New };
        let mut column = u32::from(operation.column);
        if operation.class == Class::Repair && self.has_bug(Bug::RepairWrongContent) {
            column = (column + 1) % self.geometry.columns;
        }
        self.index(plan, column, version)
    }

    /// The buffer of a column; takes one from the memory if the column has none yet.
    pub fn buffer(&mut self, plan: PlanId, column: u32, version: Version) -> PageId {
        let index = self.index(plan, column, version);
        if self.buffers[index] == NONE {
            self.buffers[index] = self.memory.take();
        }
        self.buffers[index]
    }

    /// Ensures that a read has a buffer to fill.
    #[inline]
    pub(crate) fn provide_buffer(&mut self, id: OperationId) {
        if M::CARRIES_DATA && self.slots[id.index()].operation.kind == OperationKind::Read {
            let index = self.buffer_index(id);
            if self.buffers[index] == NONE {
                self.buffers[index] = self.memory.take();
            }
        }
    }

    /// Returns all buffers of `plan`.
    #[inline]
    pub fn return_buffers(&mut self, plan: PlanId) {
        if !M::CARRIES_DATA {
            return;
        }
        let width = self.buffers_each as usize;
        let missing = self.plans[plan].missing;
        if missing != 0 && self.has_bug(Bug::BufferLeaked) {
            let index = self.index(plan, missing.trailing_zeros(), Version::Old);
            self.buffers[index] = NONE;
        }
        let first = plan.index() * width;
        for index in first..first + width {
            if self.buffers[index] != NONE {
                self.memory.give(self.buffers[index]);
                self.buffers[index] = NONE;
            }
        }
    }

    /// Takes the buffer of a column from `plan`; [`NONE`] if it has none.
    #[inline]
    pub fn take_buffer(&mut self, plan: PlanId, column: u32, version: Version) -> PageId {
        self.replace_buffer(plan, column, version, NONE)
    }

    /// Makes `page` the buffer of a column of `plan`, and returns the one before; [`NONE`] if it had none.
    pub fn replace_buffer(&mut self, plan: PlanId, column: u32, version: Version, page: PageId) -> PageId {
        let index = self.index(plan, column, version);
        std::mem::replace(&mut self.buffers[index], page)
    }

    /// Copies a page.
    pub fn copy_page(&mut self, into: PageId, from: PageId) {
        self.memory.copy(into, from, 0, self.members.page_bytes as usize);
    }

    /// Computes the parity of a row: `pages` has its columns in the order of the code.
    pub fn encode(&mut self, pages: &[PageId]) {
        if let Some(code) = &self.code {
            self.memory.encode(code, &pages[..self.geometry.columns as usize]);
        }
    }

    /// Decodes the columns `wanted` of a row without those in `lost`: `pages` has its columns in the order of the code, as the
    /// two masks.
    pub fn decode(&mut self, pages: &[PageId], lost: u64, wanted: u64) {
        if let Some(code) = &self.code {
            self.memory.decode(code, &pages[..self.geometry.columns as usize], lost, wanted);
        }
    }

    /// Adds to `parity` the change of the column that has this index in the order of the code.
    pub fn update(&mut self, index: u32, old: Option<PageId>, new: PageId, parity: &[PageId]) {
        if let Some(code) = &self.code {
            self.memory.update(code, index, old, new, parity);
        }
    }

    /// The sectors of a data column that a write of `plan` covers.
    #[inline]
    pub fn cover(&self, plan: PlanId, column: u32) -> u64 {
        self.covers[self.cover_of(plan, column)]
    }

    /// A write of `plan` covers `sectors` of a data column.
    #[inline]
    pub fn set_cover(&mut self, plan: PlanId, column: u32, sectors: u64) {
        let cover = self.cover_of(plan, column);
        self.covers[cover] = sectors;
    }

    /// A copy of the new content of `column`.
    pub fn copy_of_new(&mut self, plan: PlanId, column: u32) -> PageId {
        if !M::CARRIES_DATA {
            return NONE;
        }
        let (copy, new) = (self.memory.take(), self.buffers[self.index(plan, column, Version::New)]);
        self.memory.copy(copy, new, 0, self.members.page_bytes as usize);
        copy
    }

    /// Gives a full page buffer to a plan as the new content of `column`.
    pub fn adopt_buffer(&mut self, plan: PlanId, column: u32, page: PageId) {
        if M::CARRIES_DATA {
            let index = self.index(plan, column, Version::New);
            let before = self.buffers[index];
            assert!(
                page == NONE || before == NONE,
                "plan {plan} adopts page {page} for column {column}, and has page {before}"
            );
            self.buffers[index] = page;
        }
    }

    /// Copies, into a buffer, the `sectors` of the array's page that request `id` writes.
    pub fn load_host(&mut self, page: PageId, array_page: u64, id: RequestId, sectors: u64) {
        if !M::CARRIES_DATA {
            return;
        }
        let at = (sectors.trailing_zeros() * SECTOR_BYTES) as usize;
        let bytes = (sectors.count_ones() * SECTOR_BYTES) as usize;
        let start = array_page * u64::from(self.members.page_bytes) + at as u64;
        let from = (start - self.requests[id].host.offset) as usize;
        if let Some(host) = &self.payloads[id.index()] {
            self.memory.load(page, at, host, from, bytes);
        }
    }

    /// Copies, from a buffer into the host's payload, the sectors of the array's page that request `id` reads.
    pub fn store_host(&mut self, page: PageId, array_page: u64, id: RequestId) {
        let host = &self.requests[id].host;
        let page_bytes = u64::from(self.members.page_bytes);
        let start = (array_page * page_bytes).max(host.offset);
        let end = ((array_page + 1) * page_bytes).min(host.offset + u64::from(host.bytes));
        let (at, to) = ((start - array_page * page_bytes) as usize, (start - host.offset) as usize);
        if let Some(payload) = &mut self.payloads[id.index()] {
            self.memory.store(page, at, payload, to, (end - start) as usize);
        }
    }

    /// Copies, from a buffer into the host's payload, those of `sectors` of the array's page that request `id` reads.
    pub fn store_sectors(&mut self, page: PageId, array_page: u64, id: RequestId, sectors: u64) {
        let sectors = sectors & self.sectors_of_page(id, array_page);
        let start = array_page * u64::from(self.members.page_bytes);
        let offset = self.requests[id].host.offset;
        let Some(payload) = &mut self.payloads[id.index()] else { return };
        for sector in columns(sectors) {
            let at = (sector * SECTOR_BYTES) as usize;
            let to = (start + at as u64 - offset) as usize;
            self.memory.store(page, at, payload, to, SECTOR_BYTES as usize);
        }
    }

    /// Adds deltas to the parity that they change: the sum is the parity that covers the current data.
    pub fn fold_deltas(&mut self, plan: PlanId) {
        let deltas = self.plans[plan].deltas;
        if self.has_bug(Bug::DeltaNotFolded) {
            return;
        }
        let first = self.first_operation(plan).after(u32::from(deltas.first));
        for nth in 0..u32::from(deltas.count) {
            let column = self.slots[first.after(nth).index()].operation.column;
            let parity = self.buffer(plan, column.into(), Version::Old);
            self.memory.add(parity, self.buffers[self.delta_index(plan, nth)]);
        }
    }

    /// The buffer of a column, if there is one.
    pub fn content(&self, plan: PlanId, column: u32, version: Version) -> Option<PageId> {
        self.buffers.get(self.index(plan, column, version)).copied().filter(|&page| page != NONE)
    }

    /// The buffer of the new content of `column`, if there is one.
    pub fn content_of_new(&self, plan: PlanId, column: u32) -> Option<PageId> {
        self.content(plan, column, Version::New)
    }

    /// The buffer of the old content of `column`, if there is one.
    pub fn content_of_old(&self, plan: PlanId, column: u32) -> Option<PageId> {
        self.content(plan, column, Version::Old)
    }

    /// Copies `sectors` of a page of the write cache into the plan's new content of `column`.
    pub fn copy_to_new(&mut self, plan: PlanId, column: u32, page: PageId, sectors: u64) {
        if M::CARRIES_DATA {
            let into = self.buffer(plan, column, Version::New);
            self.copy_sectors(into, page, sectors);
        }
    }

    /// Copies a page of the write cache into the plan's old content of `column`.
    pub fn copy_to_old(&mut self, plan: PlanId, column: u32, page: PageId) {
        let into = self.buffer(plan, column, Version::Old);
        self.memory.copy(into, page, 0, self.members.page_bytes as usize);
    }

    /// Copies the sectors in the mask `sectors` from one page to another.
    pub fn copy_sectors(&mut self, into: PageId, from: PageId, sectors: u64) {
        for sector in columns(sectors) {
            self.memory.copy(into, from, (sector * SECTOR_BYTES) as usize, SECTOR_BYTES as usize);
        }
    }

    /// The buffers of new parity, in order.
    pub fn parity_pages(&mut self, plan: PlanId) -> [PageId; 2] {
        let data = self.geometry.data;
        let parity = self.geometry.parity();
        std::array::from_fn(|nth| {
            if (nth as u32) < parity { self.buffer(plan, data + nth as u32, Version::New) } else { NONE }
        })
    }

    /// New parity from old parity and the change of each updated column. Skips parity whose old content was not read; that
    /// parity is not written.
    pub fn update_parity_pages(&mut self, plan: PlanId) {
        let slot = &self.plans[plan];
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
            self.update(index, (!forgets).then_some(old), new, pages);
        }
    }

    /// Parity of the whole row: from new content of the columns that the plan wants or that are dirty, from old content of the
    /// others. Columns for which a short row has no page count as zeros.
    pub fn encode_parity_pages(&mut self, plan: PlanId) {
        let slot = &self.plans[plan];
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
        self.encode(&row);
    }

    /// The bytes of the second side of a hedged read: decodes the columns that it replaces from its own reads. Returns false
    /// if the decoded content is wrong.
    pub fn decode_second_row(&mut self, plan: PlanId) -> bool {
        if !M::CARRIES_DATA {
            return true;
        }
        let slot = &self.plans[plan];
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
        self.decode(&row, lost_indices, wanted_indices);
        true
    }
}
