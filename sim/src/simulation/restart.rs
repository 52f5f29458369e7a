//! What goes on after a loss of power.

use stripewise_array::{Memory, SchemeError};
use stripewise_base::Nanos;
use stripewise_flash::Flash;

use super::{Content, Host, Simulation};

impl<M: Memory, C: Content<M>, H: Host<M>> Simulation<M, C, H> {
    /// What goes on after a loss of power at an instant: a new controller over `flash`, which holds what elements kept. Elements
    /// that were gone stay gone; what was under way is forgotten; time goes on at `now`.
    ///
    /// # Errors
    /// When the scheme cannot be restarted, with the reason.
    pub fn restart(self, flash: Flash<C>, now: Nanos) -> Result<Self, SchemeError> {
        let Self { array, world, .. } = self;
        let mut simulation = Self::with_array(array.restart()?, flash, world.host, now);
        simulation.world.counts = world.counts;
        simulation.array.resume(now, &mut simulation.world);
        Ok(simulation)
    }
}
