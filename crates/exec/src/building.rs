//! What a placement says of its plans: the columns that they are for, their steps, and how they end.
//!
//! A placement reads a plan through [`Executor::plan`], and changes it only with these functions, with those of
//! [`operations`](crate::operations), which add operations, and with those of row locks.

use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_policy::update::{Decision, Reason, Routine};

use crate::Executor;
use crate::plan::{DeltaReads, Purpose, Step};
use crate::row_locks::RowLock;

/// The columns of a plan.
impl<M: Memory> Executor<M> {
    /// `plan` reads or writes these data columns for hosts.
    #[inline]
    pub fn want(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].wanted = columns;
    }

    /// `plan` reads or writes these data columns, too.
    #[inline]
    pub fn want_also(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].wanted |= columns;
    }

    /// `plan` no longer reads or writes these data columns.
    #[inline]
    pub fn want_no_longer(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].wanted &= !columns;
    }

    /// The steps of `plan` do not use these columns, which are lost, and no others are missing.
    #[inline]
    pub fn miss(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].missing = columns;
    }

    /// Whether `plan` reads the columns that returned errors once more, because too much of its row seems lost: it may do so
    /// once. If it does, they count as readable again.
    #[inline]
    pub fn look_again(&mut self, plan: PlanId) -> bool {
        let slot = &mut self.plans[plan];
        let looks = slot.lost != 0 && !slot.looked_again;
        if looks {
            (slot.looked_again, slot.lost) = (true, 0);
        }
        looks
    }

    /// The columns that returned errors in `plan` count as readable again.
    #[inline]
    pub fn forget_losses(&mut self, plan: PlanId) {
        self.plans[plan].lost = 0;
    }

    /// Parity does not cover these data columns either: `plan` makes it cover them.
    #[inline]
    pub fn add_dirty(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].dirty |= columns;
    }

    /// Parity covers all but these columns.
    #[inline]
    pub fn set_dirty(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].dirty = columns;
    }

    /// Members keep the old versions of these columns for `plan`, and of no others.
    #[inline]
    pub fn pin(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].pinned = columns;
    }

    /// Members keep the old versions of these columns for `plan`, too.
    #[inline]
    pub fn pin_also(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].pinned |= columns;
    }

    /// Members no longer keep the old versions of these columns for `plan`.
    #[inline]
    pub fn unpin(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].pinned &= !columns;
    }

    /// The read `plan` has recorded the cached content of these columns, too.
    #[inline]
    pub fn overlay(&mut self, plan: PlanId, columns: u64) {
        self.plans[plan].overlaid |= columns;
    }
}

/// The row of a plan, its routine, and how it ends.
impl<M: Memory> Executor<M> {
    /// The stripe of `plan`, which has no row lock, begins with this slot of the log. The plan keeps the place that it was taken
    /// with.
    #[inline]
    pub fn set_row(&mut self, plan: PlanId, row: RowNo) {
        let slot = &mut self.plans[plan];
        debug_assert!(
            slot.lock == RowLock::None,
            "plan {plan} leaves row {}, and has it as {:?}",
            slot.row,
            slot.lock
        );
        slot.row = row;
    }

    /// `plan` updates parity by this routine.
    #[inline]
    pub fn decide(&mut self, plan: PlanId, decision: Decision) {
        self.plans[plan].decision = decision;
    }

    /// `plan` writes data and defers its parity. Members keep the old versions of the columns `pinned`.
    #[inline]
    pub fn defer_parity(&mut self, plan: PlanId, pinned: u64) {
        self.plans.set_defers(plan, true);
        let slot = &mut self.plans[plan];
        slot.pinned = pinned;
        slot.decision = Decision::forced(Routine::Plain, Reason::Late);
    }

    /// `plan` no longer defers the parity of its data.
    #[inline]
    pub fn defer_no_longer(&mut self, plan: PlanId) {
        self.plans.set_defers(plan, false);
    }

    /// Hosts of `plan` are acknowledged from controller memory.
    #[inline]
    pub fn end_in_memory(&mut self, plan: PlanId) {
        self.plans[plan].ends_in_memory = true;
    }

    /// `plan` ends without having done its work.
    #[inline]
    pub fn abandon(&mut self, plan: PlanId) {
        self.plans[plan].is_abandoned = true;
    }

    /// `plan`, which the placement owns, begins other work, without steps.
    pub fn take_own(&mut self, plan: PlanId, purpose: Purpose) {
        assert!(self.plans.is_own(plan), "plan {plan} belongs to hosts, and the placement takes it");
        let slot = &mut self.plans[plan];
        slot.purpose = purpose;
        slot.is_under_way = true;
        slot.lost = 0;
        slot.is_abandoned = false;
        slot.clear_steps();
    }

    /// `plan`, which the placement owns, is at rest.
    pub fn end_own(&mut self, plan: PlanId) {
        assert!(self.plans.is_own(plan), "plan {plan} belongs to hosts, and the placement ends it");
        self.plans[plan].is_under_way = false;
    }

    /// `plan`, which has its row since [`Executor::try_lock`], continues soon.
    #[inline]
    pub fn wake_with(&mut self, plan: PlanId, lock: RowLock) {
        self.plans[plan].lock = lock;
        self.wake(plan);
    }
}

/// The steps of a plan, and when its hosts are acknowledged.
impl<M: Memory> Executor<M> {
    /// Appends a computation over this number of pages.
    #[inline]
    pub fn push_compute(&mut self, plan: PlanId, pages: u16) {
        self.plans[plan].steps.push(Step::Compute { pages });
    }

    /// Appends a wait until the redo journal has all content that the following steps write.
    #[inline]
    pub fn push_journal_wait(&mut self, plan: PlanId) {
        self.plans[plan].steps.push(Step::Journal);
    }

    /// These operations of `plan` read deltas.
    #[inline]
    pub fn set_delta_reads(&mut self, plan: PlanId, deltas: DeltaReads) {
        self.plans[plan].deltas = deltas;
    }

    /// Hosts are acknowledged after the last of the steps so far.
    #[inline]
    pub fn acknowledge_here(&mut self, plan: PlanId) {
        self.plans[plan].steps.acknowledge_here();
    }

    /// Hosts that are not acknowledged yet are acknowledged after the last step.
    #[inline]
    pub fn acknowledge_last(&mut self, plan: PlanId) {
        self.plans[plan].steps.acknowledge_last();
    }

    /// Hosts are acknowledged after the first step.
    #[inline]
    pub fn acknowledge_first(&mut self, plan: PlanId) {
        self.plans[plan].steps.ack_after = 0;
    }

    /// Hosts are not acknowledged by these steps: others will follow.
    #[inline]
    pub fn acknowledge_none(&mut self, plan: PlanId) {
        self.plans[plan].steps.ack_after = u8::MAX;
    }

    /// The result of the current computation requires the steps of `plan` to be built again.
    #[inline]
    pub fn build_again(&mut self, plan: PlanId) {
        self.plans[plan].build_again = true;
    }

    /// `plan` ends after its current step.
    #[inline]
    pub fn end_here(&mut self, plan: PlanId) {
        self.plans[plan].steps.end_here();
    }
}

/// The requests that wait for a plan.
impl<M: Memory> Executor<M> {
    /// The request of attachment `node` waits for `plan`, before the others. Returns what followed it in its list.
    #[inline]
    pub fn attach_node(&mut self, plan: PlanId, node: u32) -> u32 {
        let first = std::mem::replace(&mut self.plans[plan].first_request, node);
        self.attachments.set_next(node, first)
    }

    /// Reverses the list of requests that wait for `plan`, so that it begins with the first. Returns its head.
    pub fn reverse_requests(&mut self, plan: PlanId) -> u32 {
        let mut node = std::mem::replace(&mut self.plans[plan].first_request, NONE);
        while node != NONE {
            node = self.attach_node(plan, node);
        }
        self.plans[plan].first_request
    }
}
