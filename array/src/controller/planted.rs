//! Bugs planted for the checking simulation to find; only in builds for that purpose.

use super::Array;
use crate::bugs::Bug;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Plants a bug for the checking simulation to find.
    #[cfg(debug_assertions)]
    pub fn plant(&mut self, bug: Option<Bug>) {
        self.bug = bug;
    }

    #[cfg(debug_assertions)]
    pub(super) fn has_bug(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(debug_assertions))]
    #[inline]
    pub(super) fn has_bug(&self, _bug: Bug) -> bool {
        false
    }
}
