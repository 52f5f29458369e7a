//! Members that collect garbage only with permission: their events.

use crate::coordination::Activity;
use crate::exec::Executor;
use crate::memory::Memory;

impl<M: Memory> Executor<M> {
    pub(crate) fn activity(&self) -> Activity {
        match (self.under_way, self.loads.busy()) {
            (0, 0) => Activity::Resting { since: self.last_active },
            (0, _) => Activity::Draining,
            _ => Activity::Serving,
        }
    }
}
