//! Runs that do not fit the memory of this machine. To ask the system for too much ends the program, so it is not asked.

use stripewise_sim::{RunConfig, RunError, capacity};

use crate::error::Error;

/// Bytes of memory that a run of `config` takes for its devices and its array, before it takes any: it is bounded by the device
/// and not by the trace. Queues and caches are small beside it.
fn memory_bytes(config: &RunConfig) -> Result<u64, RunError> {
    let devices = config.device.memory_bytes(config.members.level, config.members.devices)?;
    // A map has an address of four or five bytes for each page, and one back; an array in place has a bit.
    let keeps_map = config.scheme.placement.facts().keeps_map;
    let pages = capacity(config)? / config.device.geometry.page_bytes.0.max(1);
    Ok(devices + if keeps_map { 8 * pages } else { 0 })
}

/// Bytes of physical memory.
fn physical_bytes() -> u64 {
    let found = rustix::system::sysinfo();
    u64::from(found.mem_unit).saturating_mul(found.totalram as u64)
}

/// Checks that a run of `config` fits this machine.
///
/// # Errors
/// [`Error::Memory`]; a device or a scheme that is invalid.
pub(crate) fn check(config: &RunConfig) -> Result<(), Error> {
    check_for(config, physical_bytes())
}

fn check_for(config: &RunConfig, has_bytes: u64) -> Result<(), Error> {
    let needed_bytes = memory_bytes(config)?;
    if needed_bytes <= has_bytes {
        return Ok(());
    }
    // Memory grows with the blocks, nearly in proportion.
    let with = |blocks: u32| {
        let mut config = config.clone();
        config.device.geometry.blocks = blocks;
        memory_bytes(&config)
    };
    let share = has_bytes as f64 / needed_bytes as f64;
    let mut blocks = (f64::from(config.device.geometry.blocks) * share) as u32;
    while blocks > 1 && with(blocks).is_ok_and(|bytes| bytes > has_bytes) {
        blocks -= blocks.div_ceil(16);
    }
    Err(Error::Memory { needed_bytes, has_bytes, blocks })
}

#[cfg(test)]
mod tests {
    use stripewise_array::{PRESETS, Scheme};
    use stripewise_flash::DeviceSpec;
    use stripewise_sim::Layout;

    use super::*;

    fn config(scheme: &str, layout: &str, blocks: u32) -> RunConfig {
        let mut device = DeviceSpec::preset("ssdsim-5+1").unwrap();
        device.geometry.blocks = blocks;
        let layout: Layout = layout.parse().unwrap();
        let (name, text) = PRESETS.iter().find(|(name, _)| *name == scheme).unwrap();
        RunConfig::new(Scheme::from_toml(name, text).unwrap(), device, layout)
    }

    #[test]
    fn a_run_beyond_the_memory_is_refused_with_a_size_that_fits() {
        for scheme in ["baseline", "was"] {
            let large = config(scheme, "ssd:8", 2048);
            let needed = memory_bytes(&large).unwrap();
            assert!(check_for(&large, needed).is_ok());
            for has in [needed - 1, needed / 3] {
                let Err(Error::Memory { needed_bytes, has_bytes, blocks }) = check_for(&large, has) else {
                    panic!("{scheme}: refused")
                };
                assert_eq!((needed_bytes, has_bytes), (needed, has));
                assert!(
                    check_for(&config(scheme, "ssd:8", blocks), has).is_ok(),
                    "{scheme}: {blocks} blocks fit {has}"
                );
            }
        }
    }

    #[test]
    fn the_memory_of_this_machine_is_known() {
        assert!(physical_bytes() > 64 << 20);
    }
}
