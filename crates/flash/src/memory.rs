//! The memory that a modelled device takes: how much, before it takes it; and when it takes it.

use crate::flash::Flash;
use crate::geometry::{Level, Shape};
use crate::media::Media;
use crate::spec::{DeviceSpec, Isolation, Victim};
use crate::validate::SpecError;

impl Shape {
    /// Bytes of memory that a [`Flash`](crate::Flash) of this shape takes, nearly all of them for its pages and blocks.
    pub fn memory_bytes(&self, spec: &DeviceSpec) -> u64 {
        let product = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).product::<u64>();
        let addresses =
            product(&[self.members, self.pages_per_member]) + product(&[self.members, self.logical_pages]);
        let lists = product(&[self.dies, self.data_pages]);
        // Valid pages and a place in the ring of free blocks; what victims, streams and wear need.
        let of_block = 4
            + if spec.gc.victim == Victim::Fifo { 2 } else { 0 }
            + if matches!(spec.gc.victim, Victim::CostBenefit | Victim::Custom) { 4 } else { 0 }
            + u64::from(spec.ftl.isolation == Isolation::Persistent)
            + crate::map::wear::block_bytes(spec);
        4 * addresses + 4 * lists + of_block * product(&[self.planes, self.blocks_per_plane])
    }
}

impl DeviceSpec {
    /// Bytes of memory that a simulation of `devices` of them takes, as members of `level`.
    ///
    /// # Errors
    /// As [`Shape::of_flash`].
    pub fn memory_bytes(&self, level: Level, devices: u32) -> Result<u64, SpecError> {
        Ok(Shape::of_flash(self, level, devices)?.memory_bytes(self))
    }
}

impl<M: Media> Flash<M> {
    /// Lets the system hand out the memory of the maps now, and not when entries are first written: for measurements of time.
    /// The call changes no state.
    pub fn touch_maps(&mut self) {
        /// Entries of a page of memory.
        const ENTRIES: usize = 4096 / size_of::<u32>();
        for map in [&mut self.ftl.map, &mut self.ftl.back] {
            map.iter_mut().step_by(ENTRIES).for_each(|entry| *entry = std::hint::black_box(*entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PRESETS;

    #[test]
    fn the_memory_of_a_device_is_known_before_it_is_made() {
        for (name, text) in PRESETS {
            let mut spec = DeviceSpec::from_toml(name, text).unwrap();
            spec.geometry.blocks = spec.geometry.blocks.min(256);
            for victim in [spec.gc.victim, Victim::Fifo, Victim::CostBenefit] {
                spec.gc.victim = victim;
                let Ok(flash) = Flash::<()>::new(&spec, Level::Ssd, 2, 1) else { continue };
                let shape = *flash.shape();
                let pages = f64::from(shape.members) * f64::from(shape.pages_per_member);
                let made = (flash.bytes_per_page() * pages) as u64;
                let estimate = spec.memory_bytes(Level::Ssd, 2).unwrap();
                let lists = 4 * u64::from(shape.dies) * u64::from(shape.data_pages);
                assert!(
                    estimate >= made - made / 50 && estimate <= made + lists,
                    "{name}: {estimate}, {made} and {lists}"
                );
            }
        }
    }
}
