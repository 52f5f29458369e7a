//! Use of the intent bitmap: updates wait until the bit of their region is on the members, and flushes wait until the members
//! record which members are missing.

use super::Array;
use crate::driver::Driver;
use crate::format::Uuid;
use crate::journal::Intent;
use crate::memory::Memory;
use crate::operation::OperationKind;
use crate::plan::{Plan, Purpose};

impl<M: Memory> Array<M> {
    /// Sets up the bitmap of an assembled array, as it is on the members. The parity of marked regions is recomputed before
    /// any request is issued.
    pub(crate) fn begin_intent(&mut self, array: Uuid, epoch: u32, load: impl FnOnce(&mut Intent)) {
        let missing = self.failed_members();
        if let Some(intent) = &mut self.intent {
            (intent.array, intent.epoch, intent.missing) = (array, epoch, missing);
            load(intent);
        }
        self.resync_from_start();
    }

    /// Whether the bitmap says that the parity of `row` may be wrong; without a bitmap, any parity may be wrong.
    pub(super) fn may_be_unclean(&self, row: u64) -> bool {
        let Some(intent) = &self.intent else { return true };
        let place = self.geometry.place(row);
        let (group, _) = self.geometry.position_of(place.base.into());
        intent.is_marked(group, place.page - self.geometry.first_page)
    }

    /// The group of the plan's row, and its page of the data.
    fn region_of(&self, plan: u32) -> (u32, u32) {
        let place = self.plans[plan as usize].place;
        (self.geometry.position_of(place.base.into()).0, place.page - self.geometry.first_page)
    }

    /// Whether `plan`, which is about to change a row or to flush, must wait for the bitmap; if so, queues it.
    pub(super) fn await_intent(&mut self, plan: u32) -> bool {
        let (group, page) = self.region_of(plan);
        let told = self.intent.as_ref().map_or(0, |intent| intent.missing);
        let missing = self.missing_to_tell(told);
        let Plan { purpose, record, .. } = self.plans[plan as usize];
        let Some(intent) = &mut self.intent else { return false };
        let is_update = purpose != Purpose::Flush;
        if is_update && record == 0 {
            intent.begin(group, page);
            self.plans[plan as usize].record = 1;
        }
        let is_known = intent.missing == missing && (!is_update || intent.is_marked(group, page));
        if !is_known {
            intent.waiting.push_back(plan);
        }
        !is_known
    }

    /// Continues the next plan that waited for the bitmap. Returns false if there is none.
    pub(super) fn intended<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(plan) = self.intent.as_mut().and_then(|intent| intent.ready.pop_front()) else {
            return false;
        };
        if !self.await_intent(plan) {
            let slot = &mut self.plans[plan as usize];
            slot.rewait_ns += self.now - slot.step_begun_at;
            self.step_over(plan, driver);
            self.run(plan, driver);
        }
        true
    }

    /// Writes the bitmap for all waiting plans. Returns false if no plan waits or a write of the bitmap is in flight.
    pub(super) fn write_intent<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if self
            .intent
            .as_ref()
            .is_none_or(|intent| intent.work.is_under_way || intent.waiting.is_empty() && !intent.has_news)
        {
            return false;
        }
        if self.fails_beyond(driver) {
            return true;
        }
        let Some(mut intent) = self.intent.take() else { return false };
        for nth in 0..intent.waiting.len() {
            let plan = intent.waiting[nth];
            if self.plans[plan as usize].purpose != Purpose::Flush {
                let (group, page) = self.region_of(plan);
                intent.want(group, page);
            }
        }
        let missing = self.missing_to_tell(intent.missing);
        let is_news = missing != intent.missing || std::mem::take(&mut intent.has_news);
        intent.next_missing = missing;
        let plan = intent.plan;
        self.clear_own(plan, Purpose::JournalWrite);
        let mut writes = Vec::new();
        for group in 0..intent.groups() {
            if !is_news && !intent.wants(group) {
                continue;
            }
            let version = intent.begin_write(group);
            let mut buffer = 0;
            if M::CARRIES_DATA {
                buffer = self.memory.take();
                intent.encode(group, self.memory.bytes_mut(buffer));
                intent.work.owned.push(buffer);
            }
            let page = intent.layout.intent.first + intent.layout.intent_page(version);
            for member in self.geometry.group(group).map(|member| member as u16) {
                if !self.failed[usize::from(member)] {
                    writes.push((OperationKind::Write, member, page));
                    intent.work.pages.push(buffer);
                }
            }
        }
        let members: Vec<u16> = writes.iter().map(|write| write.1).collect();
        self.push_own(plan, writes.into_iter());
        if self.members.volatile_cache {
            intent.work.pages.resize(members.len() * 2, 0);
            self.push_own(plan, members.into_iter().map(|member| (OperationKind::Flush, member, 0)));
        }
        intent.work.is_under_way = true;
        self.intent = Some(intent);
        self.run(plan, driver);
        true
    }

    /// The bitmap is on the members: the plans that waited check again.
    pub(super) fn intent_written(&mut self) {
        let Some(intent) = &mut self.intent else { return };
        self.plans[intent.plan as usize].is_under_way = false;
        intent.work.is_under_way = false;
        intent.work.pages.clear();
        intent.work.owned.drain(..).for_each(|page| self.memory.give(page));
        intent.written();
        intent.ready.append(&mut intent.waiting);
    }

    /// An update whose region was marked is done in place.
    pub(super) fn done_as_intended(&mut self, plan: u32) {
        let (group, page) = self.region_of(plan);
        if let Some(intent) = &mut self.intent {
            intent.done(group, page);
        }
    }
}
