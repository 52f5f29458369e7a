//! A simulation that begins with an existing array: a new one, or one that restarts after a power loss.

use stripewise_array::{Controller, MemberNo, Memory, SchemeError};
use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;
use stripewise_flash::Flash;

use super::{Content, Host, LARGE_BYTES, Simulation, World};

impl<M: Memory, C: Content<M>, H: Host<M>> Simulation<M, C, H> {
    /// Restarts after a power loss: a new controller over `flash`, which holds the data that members kept. Members
    /// that were gone stay gone; requests in flight are forgotten; time continues at `now`.
    ///
    /// # Errors
    /// If the scheme cannot be restarted, with the reason.
    pub fn restart(self, flash: Flash<C>, now: Nanos) -> Result<Self, SchemeError> {
        let Self { array, world, .. } = self;
        let mut simulation = Self::over(array.restart()?, flash, world.host, now);
        simulation.world.counts = world.counts;
        simulation.array.resume(now, &mut simulation.world);
        Ok(simulation)
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>, A: Controller<M>> Simulation<M, C, H, A> {
    /// `array` over `flash`, both in their state at time `now`.
    pub fn over(array: A, mut flash: Flash<C>, host: H, now: Nanos) -> Self {
        let count = array.members() as usize;
        if let Some(ahead) = array.gc_control() {
            flash.control_gc(ahead.blocks(flash.shape().blocks_per_plane));
        }
        let large = count as u64 * u64::from(flash.logical_pages()) * 4 > LARGE_BYTES;
        let gone: Vec<bool> = (0..count).map(|member| array.is_failed(MemberNo::at(member))).collect();
        Self {
            world: World {
                flash,
                host,
                counts: vec![[0; stripewise_array::Class::COUNT]; count],
                agenda: Agenda::new(),
                now,
                xor_ns: array.scheme().parity.xor.0,
                combine_ns: array.scheme().parity.combine.0,
                engine_busy: 0,
                in_flight: Vec::new(),
                any_gone: gone.contains(&true),
                gone,
                acknowledged: 0,
                memory: std::marker::PhantomData,
            },
            array,
            done: Vec::with_capacity(64),
            late: Vec::new(),
            next: None,
            busy_at: None,
            quiet_until: 0,
            large,
            ahead: Vec::with_capacity(64),
        }
    }
}
