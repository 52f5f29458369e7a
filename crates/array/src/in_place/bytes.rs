//! The bytes of plans on rows: merging, decoding, parity. Over a memory that carries no data, all of this does nothing.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::request::SECTOR_BYTES;
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_policy::cache::Put;
use stripewise_policy::update::Routine;

use crate::in_place::InPlace;
use crate::in_place::parity_log::ParityLog;
use crate::in_place::window::Held;

impl InPlace {
    /// Copies the `sectors` of `column` that request `id` writes into the plan's new content. The sectors are one run.
    #[inline]
    pub(crate) fn load_sectors<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        id: RequestId,
        sectors: u64,
        is_merge: bool,
        exec: &mut Executor<M>,
    ) {
        if !M::CARRIES_DATA || (is_merge && exec.has_bug(Bug::MergeLosesSectors)) {
            return;
        }
        let page = exec.buffer(plan, column, Version::New);
        let array_page = self.array_page(exec.plan(plan).row, column, exec);
        exec.load_host(page, array_page, id, sectors);
    }

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    pub(crate) fn store_row<M: Memory>(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        if !M::CARRIES_DATA {
            return;
        }
        let slot = exec.plan(plan);
        let (row, wanted) = (slot.row, slot.wanted);
        let version = if slot.path.is_second_first { Version::New } else { Version::Old };
        for column in columns(wanted) {
            let page = exec.buffer(plan, column, version);
            exec.store_host(page, self.array_page(row, column, exec), id);
        }
        // The cached content overlays that of the members. The old buffers stay as they are: they may be written back, and
        // parity covers nothing newer.
        for column in columns(exec.plan(plan).overlaid) {
            let page = exec.buffer(plan, column, Version::New);
            let cover = exec.cover(plan, column);
            exec.store_sectors(page, self.array_page(row, column, exec), id, cover);
        }
    }

    /// The bytes of an update: merges partially written pages, decodes lost content, computes parity.
    pub(crate) fn combine_update<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let reconstructs = exec.plan(plan).decision.routine == Routine::Reconstruct;
        if reconstructs && !exec.has_bug(Bug::PartOfLostNotDecoded) {
            self.decode(plan, exec);
            if !self.verify_decoded(plan, exec) {
                return;
            }
        }
        self.merge_old(plan, exec);
        self.make_parity(plan, exec);
    }

    /// Decodes the old content of missing columns that the plan needs from the other columns, in the versions that parity
    /// covers.
    pub(crate) fn decode<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let late = self.late_of_read(plan, exec);
        let slot = exec.plan(plan);
        let (place, missing) = (slot.place, slot.missing);
        let data = exec.geometry().data_columns();
        let wanted = self.decoded(plan, exec);
        if wanted == 0 {
            return;
        }
        let sources = exec.sources(missing);
        let mut row = [NONE; COLUMNS_MAX as usize];
        let (mut lost_indices, mut wanted_indices) = (0, 0);
        for column in columns(exec.geometry().all_columns()) {
            let index = exec.geometry().code_index(place, column);
            if sources >> column & 1 != 0 {
                row[index as usize] = self.covered(plan, column, late, exec);
                continue;
            }
            lost_indices |= 1 << index;
            if wanted >> column & 1 != 0 {
                row[index as usize] = exec.buffer(plan, column, Version::Old);
                wanted_indices |= 1 << index;
            }
        }
        if exec.has_bug(Bug::TwoLostAsOne) && (missing & data).count_ones() > 1 {
            let second = 63 - (missing & data).leading_zeros();
            let index = exec.geometry().code_index(place, second);
            row[index as usize] = exec.buffer(plan, second, Version::Old);
            exec.memory_mut().zero(row[index as usize]);
            lost_indices &= !(1 << index);
            wanted_indices &= !(1 << index);
        }
        exec.decode(&row, lost_indices, wanted_indices);
    }

    /// The columns that `plan` decodes: those that it needs and cannot read.
    pub(crate) fn decoded<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let slot = exec.plan(plan);
        let needed = match slot.purpose {
            Purpose::Read => slot.wanted & !self.late_of_read(plan, exec),
            Purpose::Rebuild | Purpose::Scrub => slot.wanted,
            _ => self.jobs[plan].partial | (exec.geometry().data_columns() & !(slot.wanted | slot.dirty)),
        };
        slot.missing & needed
    }

    /// Columns whose parity is deferred while `plan` reads their row.
    fn late_of_read<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let slot = exec.plan(plan);
        if slot.purpose == Purpose::Read && slot.lock != stripewise_exec::row_locks::RowLock::None {
            self.window.dirty(slot.row)
        } else {
            0
        }
    }

    /// The buffer of a column's covered content: the content that was read, or that memory kept.
    fn covered<M: Memory>(&mut self, plan: PlanId, column: u32, late: u64, exec: &mut Executor<M>) -> PageId {
        let row = exec.plan(plan).row;
        if (late & self.covered_in_memory(row)) >> column & 1 != 0
            && let Some(entry) = self.window.entry(row)
        {
            return self.window.page(entry, column, Held::Covered);
        }
        exec.buffer(plan, column, Version::Old)
    }

    /// Overlays the new content of columns with deferred parity, which is in memory: hosts read this content.
    pub(crate) fn overlay_late<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let late = self.late_of_read(plan, exec) & exec.plan(plan).wanted;
        let Some(entry) = self.window.entry(exec.plan(plan).row) else { return };
        for column in columns(late) {
            let into = exec.buffer(plan, column, Version::Old);
            let new = self.window.page(entry, column, Held::New);
            exec.copy_page(into, new);
        }
    }

    /// Makes the plan's new content of `column` the page that was put into the write cache.
    pub(crate) fn give_to_cache<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        put: Put,
        exec: &mut Executor<M>,
    ) {
        let page = exec.take_buffer(plan, column, Version::New);
        let (Put::New(chunk) | Put::Over(chunk) | Put::Beside(chunk, ..)) = put;
        let Some(cache) = &mut self.cache else { return };
        let before = cache.store.get(chunk).page;
        cache.set_page(chunk, page);
        if let Put::Over(_) = put {
            exec.memory_mut().give(before);
        }
    }

    /// Fills, from the content in memory, the sectors of a column with deferred parity that `plan` does not write.
    pub(crate) fn fill_from_late<M: Memory>(
        &mut self,
        plan: PlanId,
        entry: u32,
        column: u32,
        exec: &mut Executor<M>,
    ) {
        if M::CARRIES_DATA {
            let late = self.window.page(entry, column, Held::New);
            self.fill(plan, column, late, exec);
        }
    }

    /// Fills, from the page `from`, the sectors of a column that `plan` does not write.
    pub(crate) fn fill<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        from: PageId,
        exec: &mut Executor<M>,
    ) {
        let cover = exec.cover(plan, column);
        let new = exec.buffer(plan, column, Version::New);
        for sector in columns(exec.whole_page() & !cover) {
            exec.memory_mut().copy(new, from, (sector * SECTOR_BYTES) as usize, SECTOR_BYTES as usize);
        }
    }

    /// Moves the content that `plan` wrote to the deferred entry of its row, whose `dirty` columns were deferred before. Old
    /// content moves too where members do not keep it.
    pub(crate) fn give_to_late<M: Memory>(
        &mut self,
        plan: PlanId,
        entry: u32,
        wanted: u64,
        dirty: u64,
        exec: &mut Executor<M>,
    ) {
        if !M::CARRIES_DATA {
            return;
        }
        let keeps = self.window.pins();
        for column in columns(wanted) {
            let new = exec.take_buffer(plan, column, Version::New);
            let before = std::mem::replace(self.window.page_mut(entry, column, Held::New), new);
            if before != NONE {
                exec.memory_mut().give(before);
            }
            if !keeps && dirty >> column & 1 == 0 {
                let old = exec.take_buffer(plan, column, Version::Old);
                *self.window.page_mut(entry, column, Held::Covered) = old;
            }
        }
    }

    /// Moves the deferred content of its row to `plan`. Content that the plan writes again replaces the deferred content.
    pub(crate) fn take_from_late<M: Memory>(
        &mut self,
        plan: PlanId,
        entry: u32,
        dirty: u64,
        exec: &mut Executor<M>,
    ) {
        if !M::CARRIES_DATA {
            return;
        }
        for column in columns(dirty) {
            for (held, version) in [(Held::New, Version::New), (Held::Covered, Version::Old)] {
                let page = std::mem::replace(self.window.page_mut(entry, column, held), NONE);
                if page == NONE {
                    continue;
                }
                if version == Version::New && exec.content_of_new(plan, column).is_some() {
                    exec.memory_mut().give(page);
                    continue;
                }
                let before = exec.replace_buffer(plan, column, version, page);
                if before != NONE {
                    exec.memory_mut().give(before);
                }
            }
        }
    }

    /// Fills sectors that no host wrote with their old content.
    fn merge_old<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let partial = self.jobs[plan].partial;
        for column in columns(partial) {
            let cover = exec.cover(plan, column);
            let new = exec.buffer(plan, column, Version::New);
            let old = exec.buffer(plan, column, Version::Old);
            if self.is_unread(plan, column, exec) {
                exec.memory_mut().zero(old);
            }
            for sector in columns(exec.whole_page() & !cover) {
                let at = (sector * SECTOR_BYTES) as usize;
                if exec.has_bug(Bug::PartialWriteClears) {
                    exec.memory_mut().zero(old);
                }
                exec.memory_mut().copy(new, old, at, SECTOR_BYTES as usize);
            }
        }
    }

    /// Computes new parity by the plan's routine.
    fn make_parity<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        match exec.plan(plan).decision.routine {
            Routine::Plain => {}
            Routine::Rmw => exec.update_parity_pages(plan),
            Routine::Log => self.make_deltas(plan, exec),
            Routine::Rcw | Routine::Reconstruct | Routine::FullStripe | Routine::ShortStripe => {
                exec.encode_parity_pages(plan);
            }
        }
    }

    /// Whether `plan` logs an update of a column that was never written and that the plan did not read.
    fn is_unread<M: Memory>(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> bool {
        let Plan { row, decision, .. } = *exec.plan(plan);
        let is_unwritten = |parity_log: &ParityLog| parity_log.written(row) >> column & 1 == 0;
        decision.routine == Routine::Log && self.parity_log.as_ref().is_some_and(is_unwritten)
    }

    /// The delta of each parity: the changes of the updated columns, added to zeros.
    fn make_deltas<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { place, wanted, .. } = *exec.plan(plan);
        let pages = exec.parity_pages(plan);
        let pages = &pages[..exec.geometry().parity() as usize];
        pages.iter().for_each(|&page| exec.memory_mut().zero(page));
        let forgets = exec.has_bug(Bug::DeltaWithoutOld);
        for column in columns(wanted) {
            let index = exec.geometry().code_index(place, column);
            let new = exec.buffer(plan, column, Version::New);
            let is_read = !self.is_unread(plan, column, exec) && !forgets;
            let old = is_read.then(|| exec.buffer(plan, column, Version::Old));
            exec.update(index, old, new, pages);
        }
    }
}
