//! Who watches a study: told how far it has come, and asked whether to go on.

use stripewise_sim::Progress;

/// Watches the runs of a study. Its methods are called from the threads that make the runs, many times a second;
/// all have defaults, so that `&()` watches nothing and never stops anything.
pub trait Observer: Sync {
    /// Whether to go on. Once it is false everything that goes on ends soon with [`crate::Error::Stopped`] and
    /// leaves nothing half done.
    fn go_on(&self) -> bool {
        true
    }

    /// The run `run` (its place in the study) is being computed. Not called for what is in the store already.
    fn began(&self, _run: usize, _scheme: &str) {}

    /// How far the run has come.
    fn advanced(&self, _run: usize, _progress: Progress) {}

    /// The run has ended, well or not.
    fn ended(&self, _run: usize) {}
}

impl Observer for () {}
