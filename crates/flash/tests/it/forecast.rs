//! Forecasts of members about collections and reads, computed by hand.

use stripewise_flash::spec::{Domain, GcSpan, Pool, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Level, Share, State};

use crate::support::{Rig, read, small, trim, write};

const US: u64 = 1000;

/// One plane per die, as in `collection.rs`: pages 0 to 15, then eight of them again, leave one free block and no
/// open block. One more program starts a collection that moves one page.
fn about_to_collect(spec: &DeviceSpec) -> Rig {
    let mut rig = Rig::new(spec, Level::Chip);
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
        rig.one(0, write(page));
    }
    rig
}

fn one_plane() -> DeviceSpec {
    small(&[("planes = 2", "planes = 1")])
}

#[test]
fn the_average_is_equation_3_of_paper_000() {
    let mut rig = about_to_collect(&one_plane());
    // No erase yet: 16 valid pages in 8 blocks are 2 per block, so (10 + 100) x 2 + 1000 us.
    assert_eq!(rig.flash.gc_average_ns(0), 1220 * US);
    // The other chip has no valid pages.
    assert_eq!(rig.flash.gc_average_ns(1), 1000 * US);
    rig.one(0, write(10));
    // One move, one erase.
    assert_eq!(rig.flash.gc_average_ns(0), 1110 * US);
    // A reset keeps the averages: the next two victims have one valid page each, the third has more.
    rig.flash.reset_counters(rig.now);
    while rig.flash.counters(rig.now, 0).erase_blocks < 3 {
        rig.one(0, write(15));
    }
    let moves = 1 + rig.flash.counters(rig.now, 0).gc_move_pages;
    assert_eq!(rig.flash.gc_average_ns(0), (110 * US * moves + 2) / 4 + 1000 * US);
}

#[test]
fn twenty_moves_of_the_ssdsim_fork_average_18_4_ms() {
    let mut spec = DeviceSpec::preset("ssdsim-5+1").unwrap_or_else(|error| panic!("{error}"));
    (spec.geometry.blocks, spec.ftl.pool) = (40, Pool::Plane);
    spec.gc.low_watermark = Watermark::BlockCount(4);
    let mut rig = Rig::new(&spec, Level::Channel);
    // In each block of the first plane, all but 20 pages are written again.
    let blocks = spec.logical_per_plane() / 64;
    let pages =
        |count: u32| (0..blocks).flat_map(move |block| (0..count).map(move |page| (block * 64 + page) * 16));
    for page in pages(64).chain(pages(44)) {
        rig.one(0, write(page));
        if rig.flash.counters(rig.now, 0).erase_blocks == 1 {
            break;
        }
    }
    // 20 x (0.045 + 0.7) + 3.5 ms.
    assert_eq!(rig.flash.gc_average_ns(0), 18_400_000);
}

#[test]
fn preconditioning_is_not_part_of_the_average() {
    let spec = small(&[("blocks = 8", "blocks = 32")]);
    let mut flash = Flash::new(&spec, Level::Ssd, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    flash.precondition(State::Written, Share::ALL, 1);
    // 64 of a plane's 128 pages are valid: 2 of the 4 pages of a block.
    assert_eq!(flash.gc_average_ns(0), (2 * 110 + 1000) * US);
}

/// Remaining times at the given times from the start of a collection that moves one page.
fn remaining(spec: &DeviceSpec, at_us: &[u64]) -> Vec<u64> {
    let mut rig = about_to_collect(spec);
    assert_eq!(rig.flash.gc_remaining_ns(rig.now, 0), 0);
    rig.submit(0, write(10));
    let start = rig.now + 104 * US;
    let forecast = |at: &u64| {
        rig.run_until(start + at * US);
        rig.flash.gc_remaining_ns(rig.now, 0) / US
    };
    let forecast = at_us.iter().map(forecast).collect();
    rig.run();
    assert_eq!(rig.flash.gc_remaining_ns(rig.now, 0), 0);
    forecast
}

#[test]
fn the_remaining_time_of_an_undisturbed_collection_is_exact() {
    // A move takes 10 + 8 + 100 us, the erase 1000 us.
    let instants = [0, 5, 10, 60, 118, 500, 1117];
    let stepwise = [1118, 1113, 1108, 1058, 1000, 618, 1];
    assert_eq!(remaining(&one_plane(), &instants), stepwise);
    // A separate bus for each die fuses the steps of a move.
    let alone = small(&[("planes = 2", "planes = 1"), ("chips = 2", "chips = 1")]);
    assert_eq!(remaining(&alone, &instants), stepwise);
    let mut spec = one_plane();
    spec.gc.span = GcSpan::Busy;
    assert_eq!(remaining(&spec, &[0, 60, 1109, 1110]), [1110, 1050, 1, 0]);
}

#[test]
fn a_delayed_operation_gets_the_length_of_its_delay() {
    let mut spec = one_plane();
    spec.gc.blocking = Domain::Channel;
    spec.gc.erase_blocking = Some(Domain::Die);
    let mut rig = about_to_collect(&spec);
    rig.submit(0, write(10));
    rig.run_until(rig.now + 104 * US);
    let forecast = |rig: &Rig| [0, 1, 2].map(|member| rig.flash.gc_remaining_ns(rig.now, member) / US);
    // Members 0 and 1 share a channel.
    assert_eq!(forecast(&rig), [1118, 1118, 0]);
    rig.run_until(rig.now + 200 * US);
    assert_eq!(forecast(&rig), [918, 0, 0]);
}

#[test]
fn a_read_takes_the_cell_time_of_the_device_and_none_where_nothing_is_mapped() {
    let mut rig = Rig::new(&small(&[]), Level::Ssd);
    assert_eq!(rig.flash.read_ns(0, 3), 0);
    rig.one(0, write(3));
    assert_eq!(rig.flash.read_ns(0, 3), 10 * US);
    assert_eq!(rig.one(0, read(3)).done.cell_ns, 10 * US);
    rig.one(0, trim(3));
    assert_eq!(rig.flash.read_ns(0, 3), 0);
}
