//! Bugs planted for the checking simulation to find; only in builds for that purpose.

use stripewise_core::bugs::Bug;
use stripewise_core::memory::Memory;

use crate::Executor;

impl<M: Memory> Executor<M> {
    /// The bug that a test planted.
    #[cfg(debug_assertions)]
    pub fn bug(&self) -> Option<Bug> {
        self.bug
    }

    /// Plants a bug for the checking simulation to find.
    #[cfg(debug_assertions)]
    pub fn plant(&mut self, bug: Option<Bug>) {
        self.bug = bug;
    }

    /// Whether a test planted `bug`; never where debug assertions are off.
    #[cfg(debug_assertions)]
    pub fn has_bug(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// False: no bug can be planted.
    #[cfg(not(debug_assertions))]
    #[inline]
    pub fn has_bug(&self, _bug: Bug) -> bool {
        false
    }
}
