//! Observers of a comparison: they receive its progress, and decide whether it continues.

use stripewise_sim::Progress;

/// Observes the runs of a comparison. The threads that make the runs call its methods many times a second. All have
/// defaults, so `&()` observes nothing and never stops a comparison.
pub trait Observer: Sync {
    /// Whether to continue. Once it is false, all running work ends soon with [`crate::Error::Stopped`] and leaves
    /// nothing half done.
    fn may_continue(&self) -> bool {
        true
    }

    /// The run `run` (its place in the comparison) is being computed. Not called for a run that is in the store already.
    fn began(&self, _run: usize, _scheme: &str) {}

    /// The progress of the run.
    fn advanced(&self, _run: usize, _progress: Progress) {}

    /// The run has ended, successfully or not.
    fn ended(&self, _run: usize) {}
}

impl Observer for () {}
