//! Members that collect garbage only with permission: their events.

use stripewise_base::Nanos;

use super::Array;
use crate::coordination::{Activity, Ahead};
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Whether members collect garbage only when permitted, see [`Driver::permit_gc`], and how far ahead of need a plane asks
    /// for permission.
    pub fn gc_control(&self) -> Option<Ahead> {
        self.coordination.as_ref().map(|_| self.scheme.coordination.asks_ahead())
    }

    pub(super) fn activity(&self) -> Activity {
        match (self.under_way, self.loads.busy()) {
            (0, 0) => Activity::Resting { since: self.last_active },
            (0, _) => Activity::Draining,
            _ => Activity::Serving,
        }
    }

    /// Reports that a member without permission needs to collect, or that a member with permission finished a block.
    pub fn gc_news<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D) {
        self.advance(now);
        let activity = self.activity();
        if let Some(coordination) = &mut self.coordination {
            coordination.heard(now, member, activity, driver);
        }
    }
}
