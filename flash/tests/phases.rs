//! Times of single operations, worked out by hand.

mod support;

use stripewise_flash::{DeviceSpec, Level};
use support::{Rig, read, write};

fn preset(name: &str) -> DeviceSpec {
    DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_ssdsim_fork_reads_8_kib_in_86_us_and_writes_them_in_741_us() {
    let mut rig = Rig::new(&preset("ssdsim-5+1"), Level::Channel);
    // 7 cycles of 5 ns + 8192 x 5 ns + 700 us.
    let written = rig.one(2, write(17));
    assert_eq!((written.done.bus_ns, written.done.cell_ns, written.end), (35 + 40_960, 700_000, 740_995));
    // 7 cycles of 5 ns + 45 us + 8192 x 5 ns.
    let found = rig.one(2, read(17));
    assert_eq!(
        (found.done.bus_ns, found.done.cell_ns, found.end - found.start),
        (35 + 40_960, 45_000, 85_995)
    );
    // Nothing waited: the same pages in an SSD take the same time.
    let mut spec = preset("ssdsim-5+1");
    spec.timing.host_link = stripewise_flash::Rate::INSTANT;
    let mut rig = Rig::new(&spec, Level::Ssd);
    assert_eq!(rig.one(0, write(17)).end, 740_995);
}

#[test]
fn disksim_reads_4_kib_in_130_6_us_and_writes_them_in_305_6_us() {
    let mut rig = Rig::new(&preset("disksim-suite"), Level::Chip);
    // 8 sectors x 528 bytes x 25 ns + 200 us.
    assert_eq!(rig.one(3, write(0)).end, 305_600);
    let found = rig.one(3, read(0));
    assert_eq!(found.end - found.start, 130_600);
}
