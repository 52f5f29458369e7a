//! What RAID in place keeps with a plan.

/// The job of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    /// Of the columns that the plan writes: those that are covered only in part.
    pub(crate) partial: u64,
    /// Columns whose covered content is in memory: deferred ones, and those in the write cache.
    pub(crate) kept: u64,
    /// Of the columns that the plan writes: those that were written before its steps were built.
    pub(crate) written: u64,
    /// Columns that the plan writes from the write cache; 0 if hosts wait for its writes.
    pub(crate) carried: u64,
    /// Columns for which the write cache has reserved room for the plan.
    pub(crate) reserved: u64,
    /// The unit with which the content of the plan leaves the write cache.
    pub(crate) unit: u32,
    /// Over zones: columns to which the plan's writes move pages.
    pub(crate) moves: u64,
    /// Over zones: data columns that the row's parity takes for zeros once the plan has ended.
    pub(crate) blank: u64,
    /// Whether the parity that the plan computes stays in persistent memory.
    pub(crate) keeps_parity: bool,
    /// The slot of the parity log for the plan's deltas.
    pub(crate) delta: Option<u32>,
    /// The record of the redo journal with the plan's changes, or 0.
    pub(crate) record: u64,
    /// The first record of the redo journal with deferred content of the row that the plan is to cover, or 0.
    pub(crate) covers: u64,
    /// Whether the decision of the plan was reported to the driver.
    pub(crate) is_reported: bool,
    /// What a walk over the rows knows of this one.
    pub(crate) walk: RowWalk,
}

/// What a walk over the rows knows of the row of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum RowWalk {
    /// Nothing.
    #[default]
    Plain,
    /// The rebuild of this turn took the row.
    Rebuild(u32),
    /// A scrub reads the row again, which it has repaired.
    Reread,
    /// A resync: columns that returned an error once.
    Resync(u64),
}
