//! Splitting host requests into plans, one for each row that they touch.

use super::scheduler::Split;
use super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::{Acknowledgement, Driver};
use crate::geometry::RowPiece;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::plan::{Attachment, Path, Plan, PreReadTimes, Purpose, Step, Trust};
use crate::request::{RequestKind, RequestSlot};
use crate::row_locks::RowLock;
use crate::update::Decision;

impl<M: Memory> Array<M> {
    /// Builds plans for the rest of request `id`, as far as possible.
    #[inline]
    pub(super) fn split<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> Split {
        let kind = self.requests[id as usize].host.kind;
        let over = |is_done| if is_done { Split::Done } else { Split::WantsPlans };
        if self.resync.is_some() && !self.has_bug(Bug::ResyncNotAwaited) {
            return Split::WantsPlans;
        }
        if kind == RequestKind::Flush {
            return over(self.split_flush(id, driver));
        }
        if self.elastic.is_some() {
            return over(self.split_elastic(id, driver));
        }
        if self.gather.is_some() {
            return over(self.split_gathering(id, driver));
        }
        if self.zones.is_some() {
            return self.split_zones(id, kind, driver);
        }
        self.splitting = id;
        let split = self.split_rows(id, kind, driver);
        self.splitting = NONE;
        split
    }

    /// Like [`Self::split`], row by row.
    #[inline]
    fn split_rows<D: Driver<M>>(&mut self, id: u32, kind: RequestKind, driver: &mut D) -> Split {
        // Writes that go to memory need no member.
        let is_bounded = self.queue_limit != u32::MAX && (kind != RequestKind::Write || self.cache.is_none());
        if self.encode.is_some() {
            return self.split_encoding(id, kind, is_bounded, driver);
        }
        loop {
            let mut cursor = self.requests[id as usize].cursor;
            let Some(piece) = cursor.next(&self.geometry) else { return Split::Done };
            let mask = mask_of(&piece);
            if !self.may_split(kind, piece.row, mask) {
                return Split::WantsPlans;
            }
            if is_bounded && !self.has_room_for(kind, piece.row, mask) {
                return Split::WantsRoom;
            }
            self.requests[id as usize].cursor = cursor;
            match kind {
                RequestKind::Read => self.read_row(id, piece.row, mask, RowLock::None, driver),
                RequestKind::Write => self.write_row(id, piece.row, mask, driver),
                RequestKind::Trim => self.trim_row(id, piece.row, mask, driver),
                RequestKind::Flush => unreachable!("flushes touch no rows"),
            }
        }
    }

    /// The request is wholly split: it ends with its last plan, or now if it needs none.
    pub(super) fn split_done<D: Driver<M>>(&mut self, id: u32, driver: &mut D) {
        let slot = &mut self.requests[id as usize];
        slot.remaining -= 1;
        if slot.remaining > 0 {
            return;
        }
        let from_memory = slot.host.bytes > 0 && self.has_memory();
        let acknowledgement = self.acknowledgement(id);
        if from_memory {
            self.acknowledge_from_memory(id, acknowledgement, driver);
        } else {
            self.acknowledge(id, &acknowledgement, driver);
        }
    }

    fn has_memory(&self) -> bool {
        self.gather.is_some() || self.encode.is_some() || self.cache.is_some() || self.elastic.is_some()
    }

    /// Completes request `id` in controller memory, after the memory's latency.
    pub(super) fn acknowledge_from_memory<D: Driver<M>>(
        &mut self,
        id: u32,
        mut acknowledgement: Acknowledgement,
        driver: &mut D,
    ) {
        let latency = self.latency_of(id);
        acknowledgement.at += latency;
        acknowledgement.buffer_ns += latency;
        if latency == 0 {
            return self.acknowledge(id, &acknowledgement, driver);
        }
        // Most requests have the same latency.
        let at = self.buffered.iter().rposition(|(_, other)| other.at <= acknowledgement.at);
        self.buffered.insert(at.map_or(0, |at| at + 1), (id, acknowledgement));
        driver.set_timer(acknowledgement.at);
    }

    /// Reads columns `mask` of `row` for request `id`.
    pub(super) fn read_row<D: Driver<M>>(
        &mut self,
        id: u32,
        row: u64,
        mask: u64,
        lock: RowLock,
        driver: &mut D,
    ) {
        let mask = self.read_cached(id, row, mask);
        if mask == 0 {
            return;
        }
        let plan = self.take_plan(row, Purpose::Read);
        self.plans[plan as usize].wanted = mask;
        self.attach(plan, id);
        if lock != RowLock::None {
            // Content that leaves the cache while the read waits might reach the member after the read.
            self.note_cached(plan);
        }
        self.acquire(plan, lock, driver);
    }

    /// Writes columns `mask` of `row` for request `id`: joins an update that waits for the row, or makes a new one.
    pub(super) fn write_row<D: Driver<M>>(&mut self, id: u32, row: u64, mask: u64, driver: &mut D) {
        let absorbs = self.makes_parity_first();
        if self.cache.is_some() && !absorbs {
            self.write_cached(id, row, mask);
            return self.cached_in_zones(id, row, mask);
        }
        let skips = if absorbs { Bug::AbsorbNotHeld } else { Bug::HoldSkipped };
        if self.has_bug(skips) {
            let plan = self.take_plan(row, Purpose::Write);
            self.cover(plan, id, mask);
            self.moves_in_zones(plan, id, mask);
            self.attach(plan, id);
            if absorbs {
                self.absorbs(plan);
            }
            self.begin(plan, driver);
            return;
        }
        let taken = self.row_locks.try_take(row, true);
        if taken || !self.merge(id, row, mask) {
            let plan = self.take_plan(row, Purpose::Write);
            self.cover(plan, id, mask);
            self.moves_in_zones(plan, id, mask);
            if !(absorbs && self.has_bug(Bug::AcknowledgedBeforeCached)) {
                self.attach(plan, id);
            }
            if absorbs {
                self.absorbs(plan);
            }
            self.plans[plan as usize].lock = RowLock::Exclusive;
            if taken { self.begin(plan, driver) } else { self.wait(plan) }
        }
        if self.window.is_open() {
            self.enter_window(id, row, mask, driver);
        }
    }

    /// Whether there are enough plans to split one more row of a request: with a parity window, a write may make parity
    /// updates due. And requests that wait for room in the journal must leave plans for the parity updates that free it.
    #[inline]
    pub(super) fn has_plans_for(&self, kind: RequestKind) -> bool {
        let waits = kind == RequestKind::Write || kind == RequestKind::Trim && self.journal.is_some();
        if !waits || !self.window.is_open() {
            return self.free_plan != NONE;
        }
        let mut plan = self.free_plan;
        for _ in 0..self.geometry.data {
            if plan == NONE {
                return false;
            }
            plan = self.plans[plan as usize].next;
        }
        plan != NONE
    }

    /// Merges a write into the last update that waits for `row`, if there is one.
    fn merge(&mut self, id: u32, row: u64, mask: u64) -> bool {
        let Some(entry) = self.row_locks.entry_mut(row) else { return false };
        let waiting = entry.last_waiter;
        if waiting == NONE
            || self.plans[waiting as usize].purpose != Purpose::Write
            || self.plans[waiting as usize].carried != 0
            || self.free_attachment == NONE
        {
            return false;
        }
        self.cover(waiting, id, mask);
        self.moves_in_zones(waiting, id, mask);
        if self.plans[waiting as usize].absorbs {
            self.absorbs(waiting);
        }
        if !self.has_bug(Bug::AcknowledgeMerged) {
            self.attach(waiting, id);
        }
        true
    }

    /// Trims columns `mask` of `row` for request `id`, as far as parity allows.
    pub(super) fn trim_row<D: Driver<M>>(&mut self, id: u32, row: u64, mask: u64, driver: &mut D) {
        // With parity, only a whole row can be trimmed, or its parity would no longer match.
        let partial = self.partial_columns(id, row, mask);
        let mask = mask & !partial;
        let whole = self.geometry.parity() == 0 || mask == self.geometry.data_columns();
        if !self.members.discard || mask == 0 || !whole || self.cached_columns(row) != 0 {
            return;
        }
        let plan = self.take_plan(row, Purpose::Trim);
        self.plans[plan as usize].wanted = mask;
        self.attach(plan, id);
        self.acquire(plan, RowLock::Exclusive, driver);
    }

    /// A flush first drains volatile controller memory, then flushes every member.
    fn split_flush<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        if self.read_only {
            return true;
        }
        if self.is_kept() {
            self.join_sync(id);
            return true;
        }
        let is_drained = self.gather_flush_for(id)
            && self.encode_flush_for(id)
            && self.cache_flush_for(id, driver)
            && self.elastic_flush_for(id, driver)
            && self.flush_deferred_for(id, driver);
        if !is_drained {
            return false;
        }
        let slot = &mut self.requests[id as usize];
        let is_whole = slot.remaining == 1 && !slot.flushed;
        if is_whole && self.flushes_members() {
            return self.flush_members(id, driver);
        }
        true
    }

    /// Whether a flush of a host flushes every member: not where the journal is flushed with each record.
    pub(super) fn flushes_members(&self) -> bool {
        let has_to = self.members.volatile_cache && self.journal.is_none() || self.intent.is_some();
        has_to && !self.has_bug(Bug::MembersNotFlushed)
    }

    /// Whether updates in place write to the journal or the bitmap first.
    pub(super) fn writes_ahead(&self) -> bool {
        self.journal.is_some() || self.intent.is_some()
    }

    /// Flushes every member for request `id`; returns false if no plan is free.
    pub(super) fn flush_members<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        if self.free_plan == NONE {
            return false;
        }
        self.requests[id as usize].flushed = true;
        let plan = self.take_plan(0, Purpose::Flush);
        self.attach(plan, id);
        self.begin(plan, driver);
        true
    }

    /// Builds the steps of a trim.
    pub(super) fn build_trim(&mut self, plan: u32) {
        let Plan { row, place, wanted, .. } = self.plans[plan as usize];
        if self.cached_columns(row) != 0 {
            // The content was written again, or is in flight, while this plan waited.
            self.plans[plan as usize].gave_up = true;
            return;
        }
        let parity = self.geometry.parity_columns();
        // Deferred content is trimmed with the rest of the row.
        self.take_late(plan);
        let mut targets = (wanted | parity) & !self.columns_on_failed(plan);
        if self.has_bug(Bug::TrimKeepsParity) {
            targets &= !parity;
        }
        if self.writes_ahead() && targets != 0 {
            self.plans[plan as usize].push_step(Step::Journal);
        }
        self.push_operations(plan, targets, OperationKind::Trim, |_| Class::Metadata, place);
        self.plans[plan as usize].acknowledge_here();
    }

    /// Builds the steps of a flush.
    pub(super) fn build_flush(&mut self, plan: u32) {
        self.build_flush_of(plan, |_| true);
    }

    /// Builds the steps of a flush of the members for which `is_meant` returns true.
    pub(super) fn build_flush_of(&mut self, plan: u32, is_meant: impl Fn(u16) -> bool) {
        let base = (plan * self.stride) as usize;
        let mut count = 0u16;
        for member in 0..self.members.count as u16 {
            if !self.failed[member as usize] && is_meant(member) {
                self.slots[base + count as usize].operation = Operation {
                    page: 0,
                    member,
                    kind: OperationKind::Flush,
                    class: Class::Metadata,
                    column: 0,
                    ..Operation::default()
                };
                count += 1;
            }
        }
        let slot = &mut self.plans[plan as usize];
        slot.operations = count;
        slot.push_step(Step::Operations { first: 0, count });
        if let Some(intent) = &mut self.intent {
            // Content written without a missing member is durable once metadata records that the member is missing.
            slot.push_step(Step::Journal);
            intent.flush_begun();
        }
        slot.acknowledge_here();
    }

    /// Takes a plan from the arena; there must be one.
    pub(super) fn take_plan(&mut self, row: u64, purpose: Purpose) -> u32 {
        let id = self.free_plan;
        let place = self.geometry.place(row);
        let plan = &mut self.plans[id as usize];
        self.free_plan = plan.next;
        plan.row = row;
        plan.place = place;
        plan.purpose = purpose;
        plan.is_under_way = true;
        plan.lock = RowLock::None;
        plan.wanted = 0;
        plan.partial = 0;
        plan.lost = 0;
        plan.unread_once = 0;
        plan.missing = 0;
        plan.dirty = 0;
        plan.moves = 0;
        plan.kept = 0;
        plan.written = 0;
        plan.pinned = 0;
        plan.defers = false;
        plan.delta = NONE;
        plan.gave_up = false;
        plan.record = 0;
        plan.covers = 0;
        plan.doubts = false;
        plan.trust = Trust::Result;
        plan.anew = false;
        plan.carried = 0;
        plan.unit = NONE;
        plan.absorbs = false;
        plan.reserved = 0;
        plan.overlaid = 0;
        if self.reads.is_active {
            plan.path = Path { life: plan.path.life.wrapping_add(1), ..Path::default() };
        }
        plan.looked_again = false;
        plan.decision = Decision::default();
        plan.told = false;
        plan.clear_steps();
        plan.first_request = NONE;
        plan.request = 0;
        plan.next = NONE;
        plan.begun_at = super::run::NEVER;
        plan.rewait_ns = 0;
        plan.pre_read = PreReadTimes::default();
        plan.parity_ns = 0;
        plan.last = crate::plan::LastOperation::default();
        id
    }

    /// Lets request `id` wait for `plan`: with the plan's own attachment if it is the first, else with one of those for merged
    /// requests, of which one must be free.
    pub(super) fn attach(&mut self, plan: u32, id: u32) {
        let first = self.plans[plan as usize].first_request;
        let mut node = plan;
        if first != NONE {
            node = self.free_attachment;
            self.free_attachment = self.attachments[node as usize].next;
        }
        self.attachments[node as usize] = Attachment { request: id, next: first };
        let request = &mut self.requests[id as usize];
        request.remaining += 1;
        let slot = &mut self.plans[plan as usize];
        slot.first_request = node;
        // A flush also waits for plans that began without it.
        if first == NONE && slot.begun_at == super::run::NEVER {
            slot.request = request.number;
        }
    }

    /// Whether `count` attachments for merged requests are free.
    pub(super) fn has_attachments(&self, count: usize) -> bool {
        let mut node = self.free_attachment;
        (0..count).all(|_| {
            let is_free = node != NONE;
            if is_free {
                node = self.attachments[node as usize].next;
            }
            is_free
        })
    }

    /// Lets the flush `id` wait for every plan for which `is_meant` returns true. Returns false if attachments are lacking;
    /// then the flush waits for no plan more than before.
    pub(super) fn wait_for_all(&mut self, id: u32, is_meant: impl Fn(&Self, u32) -> bool) -> bool {
        let plans = 0..self.plans.len() as u32;
        let is_new = |array: &Self, plan: u32| is_meant(array, plan) && !array.is_attached(plan, id);
        let is_shared = |&plan: &u32| self.plans[plan as usize].first_request != NONE && is_new(self, plan);
        if !self.has_attachments(plans.clone().filter(is_shared).count()) {
            return false;
        }
        for plan in plans {
            if is_new(self, plan) {
                self.attach(plan, id);
            }
        }
        true
    }

    pub(super) fn is_attached(&self, plan: u32, id: u32) -> bool {
        let mut node = self.plans[plan as usize].first_request;
        while node != NONE && self.attachments[node as usize].request != id {
            node = self.attachments[node as usize].next;
        }
        node != NONE
    }

    /// Adds columns `mask`, as far as request `id` covers them, to the writes of `plan`, bytes included.
    pub(super) fn cover(&mut self, plan: u32, id: u32, mask: u64) {
        let row = self.plans[plan as usize].row;
        let partial = self.partial_columns(id, row, mask);
        let before = self.plans[plan as usize].wanted;
        if M::CARRIES_DATA || (partial | before) != 0 {
            for column in columns(mask) {
                let bit = 1 << column;
                let mut sectors = self.whole_page;
                if partial & bit != 0 {
                    sectors = self.sectors_of_page(id, self.array_page(row, column));
                }
                self.load_sectors(plan, column, id, sectors, before & bit != 0);
                let cover = &mut self.covers[plan as usize * self.geometry.data as usize + column as usize];
                *cover = if before & bit != 0 { *cover | sectors } else { sectors };
                let slot = &mut self.plans[plan as usize];
                slot.wanted |= bit;
                slot.partial =
                    if *cover == self.whole_page { slot.partial & !bit } else { slot.partial | bit };
            }
        } else {
            self.plans[plan as usize].wanted = mask;
            // A later merge needs the covered sectors; without merges they are not used.
            let base = plan as usize * self.geometry.data as usize;
            for column in columns(mask) {
                self.covers[base + column as usize] = self.whole_page;
            }
        }
    }

    /// Those of columns `mask` of `row` that request `id` covers only in part.
    #[inline]
    pub(super) fn partial_columns(&self, id: u32, row: u64, mask: u64) -> u64 {
        if !self.requests[id as usize].in_part {
            return 0;
        }
        columns(mask)
            .filter(|&column| self.sectors_of_page(id, self.array_page(row, column)) != self.whole_page)
            .fold(0, |partial, column| partial | 1 << column)
    }

    /// The sectors of the array's `page` that request `id` covers.
    pub(super) fn sectors_of_page(&self, id: u32, page: u64) -> u64 {
        let RequestSlot { host, pages: (first, last), .. } = &self.requests[id as usize];
        let sector = u64::from(super::SECTOR_BYTES);
        let mut sectors = self.whole_page;
        if page == *first {
            sectors &= u64::MAX << (self.bytes_into_page(host.offset) / sector);
        }
        let tail = self.bytes_into_page(host.offset + u64::from(host.bytes));
        if page == *last && tail != 0 {
            sectors &= u64::MAX >> (64 - tail.div_ceil(sector));
        }
        sectors
    }

    /// The host page that `column` of `row` holds.
    #[inline]
    pub(super) fn array_page(&self, row: u64, column: u32) -> u64 {
        if let Some(gather) = &self.gather {
            return gather.page(row, column);
        }
        let page = self.geometry.array_page(row, column);
        self.zones.as_ref().map_or(page, |zones| zones.owner(page))
    }
}

/// The columns that a piece covers, as a mask.
#[inline]
pub(super) fn mask_of(piece: &RowPiece) -> u64 {
    (u64::MAX >> (63 - piece.last)) & (u64::MAX << piece.first)
}
