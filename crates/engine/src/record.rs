//! Plans as values that tests keep and compare: two drivers must make equal plans for the same requests.

use stripewise_array::update::Decision;
use stripewise_array::{Operation, PlanView, Purpose, RowLock, Step};

/// A plan, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRecord {
    /// Its row.
    pub row: u64,
    /// Its purpose.
    pub purpose: Purpose,
    /// How it locks its row.
    pub lock: RowLock,
    /// Data columns that hosts read or write.
    pub wanted: u64,
    /// Data columns that parity did not cover before the plan, and covers after it.
    pub dirty: u64,
    /// Columns that cannot be used.
    pub lost: u64,
    /// The routine of a parity update, why it was chosen, and the terms of the decision.
    pub decision: Decision,
    /// The step after which hosts are acknowledged.
    pub ack_after: u8,
    /// The steps in order.
    pub steps: Vec<StepRecord>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepRecord {
    /// Operations that run together.
    Operations(Vec<Operation>),
    /// A parity computation.
    Compute {
        /// Pages combined.
        pages: u16,
    },
    /// A wait for the redo journal.
    Journal,
}

impl From<&PlanView<'_>> for PlanRecord {
    fn from(plan: &PlanView<'_>) -> Self {
        let record = |&step: &Step| match step {
            Step::Operations { .. } => StepRecord::Operations(plan.operations(step).collect()),
            Step::Compute { pages } => StepRecord::Compute { pages },
            Step::Journal => StepRecord::Journal,
        };
        Self {
            row: plan.row.number(),
            purpose: plan.purpose,
            lock: plan.lock,
            wanted: plan.wanted,
            dirty: plan.dirty,
            lost: plan.lost,
            decision: plan.decision,
            ack_after: plan.ack_after,
            steps: plan.steps().iter().map(record).collect(),
        }
    }
}
