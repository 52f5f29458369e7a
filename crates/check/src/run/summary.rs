//! The results of a run.

use stripewise_array::Class;

use crate::player::Seen;

/// Results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Events.
    pub events: u64,
    /// Of those, events until the case's requests had ended. Losses come before one of them, or after the last.
    pub played: u64,
    /// Simulated time.
    pub time_ns: u64,
    /// Statistics of the host.
    pub seen: Seen,
    /// Operations of each class.
    pub operations: [u64; Class::COUNT],
    /// Operations that ended in an error.
    pub faults: u64,
    /// Members that were lost.
    pub lost: u64,
    /// Pages that garbage collection moved.
    pub moved: u64,
    /// Blocks erased.
    pub erased: u64,
    /// Segments of a log that were collected.
    pub collected: u64,
    /// Members that were failed by the error limit.
    pub over_limit: u64,
    /// Members that stayed in service beyond the limit, because the array needed them.
    pub kept_over_limit: u64,
}

impl Summary {
    /// Adds the results of another run.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.played += other.played;
        self.time_ns += other.time_ns;
        self.seen.add(&other.seen);
        self.operations.iter_mut().zip(other.operations).for_each(|(sum, count)| *sum += count);
        self.faults += other.faults;
        self.lost += other.lost;
        self.moved += other.moved;
        self.erased += other.erased;
        self.collected += other.collected;
        self.over_limit += other.over_limit;
        self.kept_over_limit += other.kept_over_limit;
    }
}
