//! Plans as observers see them.

use stripewise_base::Nanos;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::operation::Operation;
use stripewise_policy::update::Decision;

use super::{Plan, Purpose, Slot, Step};
use crate::row_locks::RowLock;

/// A plan as observers and `stripewise explain` see it.
#[derive(Clone, Copy, Debug)]
pub struct PlanView<'a> {
    /// The plan's slot in the arena.
    pub id: PlanId,
    /// The plan's row; under the elastic placement, the first slot of its stripe.
    pub row: RowNo,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its row lock.
    pub lock: RowLock,
    /// Data columns read or written for hosts.
    pub wanted: u64,
    /// Data columns that are written, that parity does not cover, and that this plan makes it cover.
    pub dirty: u64,
    /// Columns that cannot be used.
    pub lost: u64,
    /// Columns that are decoded although they could be read, because their members are expected to take longer.
    pub around: u64,
    /// The expected time of the read without them, and of the direct read, in ns.
    pub around_ns: (Nanos, Nanos),
    /// In a hedged read whose other members are asked: the columns that those replace.
    pub hedged: u64,
    /// The routine of a parity update, and the reason.
    pub decision: Decision,
    /// Whether the plan works on a stripe of the log of the elastic placement.
    pub is_stripe: bool,
    /// Whether the plan destages content of the write cache, for which no host waits.
    pub destages: bool,
    /// Whether the plan's data goes into the write cache, with the parity that it computes.
    pub absorbs: bool,
    /// The step after which hosts are acknowledged.
    pub ack_after: u8,
    steps: &'a [Step],
    second: Step,
    slots: &'a [Slot],
}

impl<'a> PlanView<'a> {
    /// The view of `plan`, whose operations are `slots`.
    pub fn new(id: PlanId, plan: &'a Plan, slots: &'a [Slot]) -> Self {
        Self {
            id,
            row: plan.row,
            purpose: plan.purpose,
            lock: plan.lock,
            wanted: plan.wanted,
            dirty: plan.dirty,
            lost: plan.missing & !plan.path.avoided(),
            around: plan.path.avoided(),
            around_ns: plan.path.around.map_or((0, 0), |way| (way.cost, way.direct)),
            hedged: plan.path.hedged,
            decision: plan.decision,
            is_stripe: false,
            destages: false,
            absorbs: plan.ends_in_memory,
            ack_after: plan.steps.ack_after,
            steps: plan.steps.all(),
            second: Step::Operations { first: plan.path.second_first, count: plan.path.second_count },
            slots,
        }
    }

    /// The steps in order.
    pub fn steps(&self) -> &'a [Step] {
        self.steps
    }

    /// The reads of a hedged read that run beside its step; none unless other members are asked.
    pub fn beside(&self) -> impl Iterator<Item = Operation> + 'a {
        self.operations(self.second)
    }

    /// The operations of a step; none for a computation.
    pub fn operations(&self, step: Step) -> impl Iterator<Item = Operation> + 'a {
        let range = match step {
            Step::Operations { first, count } => first as usize..(first + count) as usize,
            Step::Compute { .. } | Step::Journal => 0..0,
        };
        self.slots[range].iter().map(|slot| slot.operation)
    }
}
