//! Use of the intent bitmap: updates wait until the bit of their region is on the members, and flushes wait until the members
//! record which members are missing.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_format::Uuid;

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, WriteIntent};
use crate::in_place::journal::Intent;
use crate::job::{Cx, Job};

impl InPlace {
    /// Sets up the bitmap of an assembled array, as it is on the members. The parity of marked regions is recomputed before
    /// any request is issued.
    pub(crate) fn begin_intent<M: Memory>(
        &mut self,
        array: Uuid,
        epoch: u32,
        load: impl FnOnce(&mut Intent),
        exec: &mut Executor<M>,
    ) {
        let missing = exec.failed_members();
        if let Some(intent) = &mut self.intent {
            (intent.array, intent.epoch, intent.missing) = (array, epoch, missing);
            load(intent);
        }
        self.resync_from_start();
    }

    /// Whether the bitmap says that the parity of `row` may be wrong; without a bitmap, any parity may be wrong.
    pub(crate) fn may_be_unclean<M: Memory>(&self, row: RowNo, exec: &Executor<M>) -> bool {
        let Some(intent) = &self.intent else { return true };
        let place = exec.geometry().place(row);
        let (group, _) = exec.geometry().position_of(place.base);
        intent.is_marked(group, place.page - exec.geometry().first_page)
    }

    /// The group of the plan's row, and its page of the data.
    fn region_of<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> (u32, u32) {
        let place = exec.plan(plan).place;
        (exec.geometry().position_of(place.base).0, place.page - exec.geometry().first_page)
    }

    /// Whether `plan`, which is about to change a row or to flush, must wait for the bitmap; if so, queues it.
    pub(crate) fn await_intent<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let (group, page) = self.region_of(plan, exec);
        let recorded = self.intent.as_ref().map_or(0, |intent| intent.missing);
        let missing = self.missing_to_record(recorded, exec);
        let Plan { purpose, .. } = *exec.plan(plan);
        let PlanState { record, .. } = self.jobs[plan];
        // Nothing is written to a group beyond parity, also where the region is marked: see `fails_beyond`.
        let must_fail = purpose != Purpose::Flush
            && exec.is_any_failed()
            && self.is_in_beyond(plan, exec)
            && !exec.has_bug(Bug::MarkedRowWritten);
        let Some(intent) = &mut self.intent else { return false };
        let is_update = purpose != Purpose::Flush;
        if is_update && record == 0 {
            intent.begin(group, page);
            self.jobs[plan].record = 1;
        }
        let is_marked = !is_update || intent.is_marked(group, page);
        let is_known = intent.missing == missing && is_marked && !must_fail;
        if !is_known {
            intent.waiting.push_back(plan);
        }
        !is_known
    }

    /// Continues the next plan that waited for the bitmap. Returns false if there is none.
    pub(crate) fn intended<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(plan) = self.intent.as_mut().and_then(|intent| intent.ready.pop_front()) else {
            return false;
        };
        if !self.await_intent(plan, exec) {
            exec.end_wait(plan);
            exec.step_over(plan, self, driver);
            exec.run(plan, self, driver);
        }
        true
    }

    /// Writes the bitmap for all waiting plans. Returns false if no plan waits or a write of the bitmap is in flight.
    pub(crate) fn write_intent<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self
            .intent
            .as_ref()
            .is_none_or(|intent| intent.work.is_under_way || intent.waiting.is_empty() && !intent.has_event)
        {
            return false;
        }
        if self.fails_beyond(exec, driver) {
            return true;
        }
        let Some(mut intent) = self.intent.take() else { return false };
        for nth in 0..intent.waiting.len() {
            let plan = intent.waiting[nth];
            if exec.plan(plan).purpose != Purpose::Flush {
                let (group, page) = self.region_of(plan, exec);
                intent.want(group, page);
            }
        }
        let missing = self.missing_to_record(intent.missing, exec);
        let has_event = missing != intent.missing || std::mem::take(&mut intent.has_event);
        intent.next_missing = missing;
        let plan = intent.plan;
        self.clear_own(plan, WriteIntent, exec);
        let mut writes = Vec::new();
        for group in 0..intent.groups() {
            if !has_event && !intent.wants(group) {
                continue;
            }
            let version = intent.begin_write(group);
            let mut buffer = 0;
            if M::CARRIES_DATA {
                buffer = exec.memory_mut().take();
                intent.encode(group, exec.memory_mut().bytes_mut(buffer));
                intent.work.owned.push(buffer);
            }
            let page = intent.layout.intent.first + intent.layout.intent_page(version);
            for member in exec.geometry().group(group) {
                if !exec.is_failed(member) {
                    writes.push((OperationKind::Write, member, page));
                    intent.work.pages.push(buffer);
                }
            }
        }
        let members: Vec<MemberNo> = writes.iter().map(|write| write.1).collect();
        self.push_own(plan, writes.into_iter(), exec);
        if exec.members().volatile_cache {
            intent.work.pages.resize(members.len() * 2, 0);
            self.push_own(plan, members.into_iter().map(|member| (OperationKind::Flush, member, 0)), exec);
        }
        intent.work.is_under_way = true;
        self.intent = Some(intent);
        exec.run(plan, self, driver);
        true
    }

    /// The bitmap is on the members: the plans that waited check again.
    pub(crate) fn intent_written<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let Some(intent) = &mut self.intent else { return };
        exec.end_own(intent.plan);
        intent.work.is_under_way = false;
        intent.work.pages.clear();
        intent.work.owned.drain(..).for_each(|page| exec.memory_mut().give(page));
        intent.written();
        intent.ready.append(&mut intent.waiting);
    }

    /// An update whose region was marked is done in place.
    pub(crate) fn done_as_intended<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let (group, page) = self.region_of(plan, exec);
        if let Some(intent) = &mut self.intent {
            intent.done(group, page);
        }
    }
}

impl Job<InPlace> for WriteIntent {
    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.intent_written(cx.exec);
    }
}
