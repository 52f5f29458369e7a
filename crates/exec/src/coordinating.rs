//! Members that collect garbage only with permission: their events.

use stripewise_core::memory::Memory;
use stripewise_policy::coordination::Activity;

use crate::Executor;

impl<M: Memory> Executor<M> {
    /// What the coordination of garbage collection needs to know about requests and members.
    pub fn activity(&self) -> Activity {
        match (self.under_way, self.loads.busy()) {
            (0, 0) => Activity::Resting { since: self.last_active },
            (0, _) => Activity::Draining,
            _ => Activity::Serving,
        }
    }
}
