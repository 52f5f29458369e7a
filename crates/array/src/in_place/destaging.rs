//! How pages leave the write cache: as an update of their row, which computes parity, or, where parity already covers them,
//! page by page. A page stays in the cache until it is written.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Plan;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};
use stripewise_policy::cache::store::Stage;
use stripewise_policy::update::{Decision, Reason, Routine};

use crate::in_place::InPlace;
use crate::in_place::job::{Destage, PlanState, Write};
use crate::job::{BuildResult, Cx, Job};

impl InPlace {
    /// Destages the content that is due, one plan at a time. Returns false if there is nothing to do or no plan is free.
    #[inline]
    pub(crate) fn destage_due<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.resync.is_some() {
            // Recomputed parity replaces the cached parity, which must not reach its member after it.
            return false;
        }
        let Some(cache) = &mut self.cache else { return false };
        if cache.next_out().is_some() {
            return self.destage_next(RequestId::NONE, exec, driver);
        }
        match cache.depart(exec.now()) {
            Ok(is_any) => {
                cache.draining &= is_any || cache.has_more();
                is_any
            }
            Err(time) => {
                if cache.timer > time || cache.timer <= exec.now() {
                    cache.timer = time;
                    driver.set_timer(time);
                }
                false
            }
        }
    }

    /// Destages the next content; request `id` waits for it. Returns false if there is nothing to destage or no plan is
    /// available: a quarter of the plans is left to hosts.
    pub(crate) fn destage_next<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(out) = self.cache.as_ref().and_then(|cache| cache.next_out()) else { return false };
        let is_last = self.destaging_plans + 1 > (exec.plans().count() * 3 / 4).max(1);
        if is_last || !self.has_plans_for(RequestKind::Write, exec) {
            return false;
        }
        self.destaging_plans += 1;
        let plan = if out.is_covered {
            self.take_plan(out.row, Destage, exec)
        } else {
            self.take_plan(out.row, Write, exec)
        };
        if !id.is_none() {
            exec.attach(plan, id);
        }
        let (mut wanted, mut partial) = (0u64, 0u64);
        for column in columns(out.columns) {
            let bit = 1 << column;
            if wanted != 0 && exec.has_bug(Bug::CacheDropsChunk) {
                continue;
            }
            let cache = self.cache.as_ref();
            let chunk =
                cache.and_then(|cache| cache.store.find(out.row, column).map(|id| *cache.store.get(id)));
            let Some(chunk) = chunk else { continue };
            wanted |= bit;
            if chunk.sectors != exec.whole_page() && !exec.has_bug(Bug::CacheTakesPartForWhole) {
                partial |= bit;
            }
            if column < exec.geometry().data {
                exec.set_cover(plan, column, chunk.sectors);
            }
            exec.adopt_buffer(plan, column, chunk.page);
        }
        let Some(cache) = &mut self.cache else { return false };
        cache.counts.destages += 1;
        cache.counts.destaged += u64::from((wanted & exec.geometry().data_columns()).count_ones());
        exec.want(plan, wanted);
        let unit = cache.carry(&out, plan);
        self.jobs[plan] = PlanState { partial, carried: out.columns, unit, ..self.jobs[plan] };
        if out.is_covered {
            exec.begin(plan, self, driver);
            return true;
        }
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        if self.window.is_open() {
            self.enter_window(RequestId::NONE, out.row, wanted, exec, driver);
            self.window.flushes_deferred |= self.cache.as_ref().is_some_and(|cache| cache.draining);
        }
        true
    }

    /// Builds the step of a plan that writes a page which parity covers. A page of a lost member need not be written: the
    /// other columns replace it, as far as the row tolerates the loss.
    pub(crate) fn build_destage<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let failed = exec.columns_on_failed(plan);
        let is_parity = wanted & exec.geometry().parity_columns() != 0;
        if wanted & failed == 0 {
            let class = if is_parity { Class::Parity } else { Class::HostWrite };
            exec.push_operations(plan, wanted, OperationKind::Write, |_| class, place);
            return exec.acknowledge_here(plan);
        }
        if failed.count_ones() > exec.geometry().parity()
            && !is_parity
            && let Some(cache) = &mut self.cache
        {
            cache.lost.extend(columns(wanted).map(|column| (row, column)));
        }
        exec.want_no_longer(plan, failed);
    }

    /// The end of a plan: if it destaged cached content, that content is on its members now.
    #[inline]
    pub(crate) fn destaged<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.free_redirtied(plan, exec);
        let Some(cache) = &mut self.cache else { return };
        let Plan { row, wanted, .. } = *exec.plan(plan);
        let PlanState { carried, unit, .. } = self.jobs[plan];
        if carried != 0 {
            self.destaging_plans -= 1;
            cache.arrived(row, carried, unit, plan);
        }
        if !cache.lost.is_empty() {
            for column in columns(wanted & exec.geometry().data_columns())
                .filter(|&column| exec.cover(plan, column) == exec.whole_page())
            {
                cache.lost.remove(&(row, column));
            }
        }
    }

    /// Part of a planted bug: drops content that was written again meanwhile together with the older version.
    fn free_redirtied<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if !exec.has_bug(Bug::RedirtiedPageFreed) {
            return;
        }
        let Plan { row, .. } = *exec.plan(plan);
        let PlanState { carried, .. } = self.jobs[plan];
        let Some(cache) = &mut self.cache else { return };
        let newer = cache.store.columns(row, |chunk| chunk.stage == Stage::Kept);
        for column in columns(carried & newer) {
            if let Some(page) = cache.drop_chunk(row, column).filter(|_| M::CARRIES_DATA) {
                exec.memory_mut().give(page);
            }
        }
    }

    /// Builds the steps of the update `plan` that destages a row which has lost more than its code tolerates: writable content
    /// is written, without parity. The remaining content is lost although it was acknowledged.
    pub(crate) fn build_abandoning<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        lost: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<(), TooManyLost> {
        // A column that cannot be read now may be read a second time.
        if exec.look_again(plan) {
            return self.build_update(plan, exec, driver);
        }
        let failed = exec.columns_on_failed(plan);
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let PlanState { partial, .. } = self.jobs[plan];
        let nowhere = wanted & (failed | partial & lost);
        exec.fail_requests(plan, nowhere, self);
        if let Some(cache) = self.cache.as_mut().filter(|_| nowhere != 0) {
            cache.lost.extend(columns(nowhere).map(|column| (row, column)));
        }
        if exec.has_bug(Bug::CacheLossHidden)
            && let Some(cache) = &mut self.cache
        {
            cache.lost.clear();
        }
        let reason = if exec.geometry().parity() == 0 { Reason::NoParity } else { Reason::ParityLost };
        let wanted = wanted & !nowhere;
        exec.want(plan, wanted);
        exec.abandon(plan);
        exec.decide(plan, Decision::forced(Routine::Plain, reason));
        let job = &mut self.jobs[plan];
        job.partial &= !nowhere;
        // These columns have old content for the next write of a part.
        job.blank &= !wanted;
        let PlanState { partial, written, .. } = *job;
        if partial != 0 {
            exec.push_operations(plan, partial, OperationKind::Read, |_| Class::PreRead, place);
            exec.push_compute(plan, 0);
        }
        exec.push_operations(plan, wanted & !written, OperationKind::Write, |_| Class::HostWrite, place);
        exec.acknowledge_here(plan);
        Ok(())
    }
}

impl Job<InPlace> for Destage {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_destage(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn step_failed<M: Memory>(self, _cx: Cx<'_, InPlace, M>) -> AfterErrors {
        // The content to write may be lost now.
        AfterErrors::BuildAgain
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.destaged(cx.plan, cx.exec);
    }
}
