//! Bugs planted for the checking simulation to find; only in builds for that purpose.

use crate::bugs::Bug;
use crate::exec::Executor;
use crate::memory::Memory;

impl<M: Memory> Executor<M> {
    #[cfg(debug_assertions)]
    pub(crate) fn has_bug(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(debug_assertions))]
    #[inline]
    pub(crate) fn has_bug(&self, _bug: Bug) -> bool {
        false
    }
}
