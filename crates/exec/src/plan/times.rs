//! Where the time of a plan went.

use stripewise_base::Nanos;
use stripewise_core::operation::Timing;

/// The mark of a plan that has not begun.
pub const NEVER: Nanos = Nanos::MAX;

/// The times of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The time when the plan got its row, or [`NEVER`].
    pub begun_at: Nanos,
    /// The time when the current step began, or when the plan began to wait for its row.
    pub step_begun_at: Nanos,
    /// Time of waiting for the row after the plan had begun: for a read that had to decode.
    pub rewait_ns: Nanos,
    /// The time breakdown of its pre-reads, for each step by the operation that ended it.
    pub pre_read: PreReadTimes,
    /// The time of its parity computations.
    pub parity_ns: Nanos,
    /// The operation that ended its last step of operations.
    pub last: LastOperation,
}

impl Default for Times {
    #[inline]
    fn default() -> Self {
        Self {
            begun_at: NEVER,
            step_begun_at: 0,
            rewait_ns: 0,
            pre_read: PreReadTimes::default(),
            parity_ns: 0,
            last: LastOperation::default(),
        }
    }
}

/// The time breakdown of a plan's pre-reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreReadTimes {
    /// All their time: waiting, transfers and cell time.
    pub all_ns: Nanos,
    /// Their transfers.
    pub bus_ns: Nanos,
    /// Their cell time.
    pub cell_ns: Nanos,
}

impl PreReadTimes {
    /// The last step of operations was not the last after all: others follow it.
    #[inline]
    pub fn add(&mut self, last: &LastOperation) {
        self.all_ns += last.step_ns;
        self.bus_ns += last.timing.bus_ns;
        self.cell_ns += last.timing.cell_ns;
    }
}

/// The time breakdown of the operation that ended the last step of operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastOperation {
    /// The time from the beginning of the step to the end of the operation.
    pub step_ns: Nanos,
    /// Its wait in the queue of its member.
    pub queue_ns: Nanos,
    /// The rest, as its member reports it.
    pub timing: Timing,
}
