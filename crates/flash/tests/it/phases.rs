//! Times of operations that wait only for dies and buses, computed by hand.
//!
//! The small device: page `p` lies on channel `p % 2`, chip `p / 2 % 2` of it, plane `p / 4 % 2` of its die. A page
//! takes 4 us on the bus, 10 us to sense, 100 us to program.

use stripewise_flash::spec::Pool;
use stripewise_flash::{DeviceSpec, Level, Rate};

use crate::support::{Rig, read, small, trim, write};

const US: u64 = 1000;

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
    // Nothing waits, so the same page takes the same time as part of an SSD.
    let mut rig = Rig::new(&preset("ssdsim-5+1"), Level::Ssd);
    assert_eq!(rig.one(0, write(17)).end, 740_995);
}

#[test]
fn disksim_reads_4_kib_in_130_6_us_and_writes_them_in_305_6_us() {
    for name in ["disksim-suite", "disksim", "disksim-chips", "paper001", "paper003", "paper004"] {
        let mut rig = Rig::new(&preset(name), Level::Chip);
        // 8 sectors x 528 bytes x 25 ns + 200 us.
        assert_eq!(rig.one(3, write(0)).end, 305_600, "{name}");
        let found = rig.one(3, read(0));
        assert_eq!(found.end - found.start, 130_600, "{name}");
        // The whole SSD adds 8 sectors x 0.2384 us on the interface.
        let mut rig = Rig::new(&preset(name), Level::Ssd);
        assert_eq!(rig.one(0, write(0)).end, 305_600 + 1_907, "{name}");
        let found = rig.one(0, read(0));
        assert_eq!(found.end - found.start, 130_600 + 1_907, "{name}");
    }
}

#[test]
fn two_dies_of_a_bus_program_side_by_side_but_transfer_one_after_the_other() {
    let mut rig = Rig::new(&small(&[]), Level::Ssd);
    let tokens = [0, 2, 1].map(|page| rig.submit(0, write(page)));
    rig.run();
    let [first, second, other] = tokens.map(|token| rig.of(token));
    assert_eq!((first.end, first.done.queue_ns), (104 * US, 0));
    assert_eq!((second.end, second.done.queue_ns), (108 * US, 4 * US));
    // The other channel has a separate bus.
    assert_eq!((other.end, other.done.queue_ns), (104 * US, 0));
    let counters = rig.flash.counters(rig.now, 0);
    assert_eq!((counters.bus_busy_ns, counters.cell_busy_ns), (12 * US, 300 * US));
}

#[test]
fn two_reads_sense_side_by_side_and_transfer_one_after_the_other() {
    let mut rig = Rig::new(&small(&[]), Level::Ssd);
    for page in [0, 2] {
        rig.one(0, write(page));
    }
    let start = rig.now;
    let tokens = [0, 2].map(|page| rig.submit(0, read(page)));
    rig.run();
    let [first, second] = tokens.map(|token| rig.of(token));
    assert_eq!(first.end - start, 14 * US);
    assert_eq!((second.end - start, second.done.queue_ns), (18 * US, 4 * US));
}

#[test]
fn a_die_does_one_thing_at_a_time() {
    let mut rig = Rig::new(&small(&[]), Level::Ssd);
    // Two planes of one die.
    let tokens = [0, 4].map(|page| rig.submit(0, write(page)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).end), [104 * US, 208 * US]);
}

#[test]
fn a_command_waits_for_the_bus_and_no_command_does_not() {
    for (command, end) in [("0us", 14), ("1us", 19)] {
        let bus = format!("bus = \"1ns/B\"\nread_command = \"{command}\"");
        let mut rig = Rig::new(&small(&[("bus = \"1ns/B\"", &bus)]), Level::Ssd);
        rig.one(0, write(2));
        let start = rig.now;
        rig.submit(0, write(0));
        let token = rig.submit(0, read(2));
        rig.run();
        // With a command: the bus until 4 us, the command until 5, the cells until 15, the data until 19.
        assert_eq!(rig.of(token).end - start, end * US, "{command}");
    }
}

#[test]
fn commands_of_programs_and_erases_take_their_time() {
    let bus = "bus = \"1ns/B\"\nprogram_command = \"2us\"\nerase_command = \"3us\"";
    let mut rig = Rig::new(&small(&[("bus = \"1ns/B\"", bus)]), Level::Chip);
    assert_eq!(rig.one(0, write(0)).end, 106 * US);
    rig.flash.enable_gc_log();
    // Writes one page of a plane repeatedly, until a block of invalid pages only is erased.
    while rig.flash.counters(rig.now, 0).erase_blocks == 0 {
        rig.one(0, write(0));
    }
    let row = rig.flash.drain_gc_log().next().expect("a row");
    assert_eq!((row.moved_pages, row.end_ns - row.start_ns), (0, 1003 * US));
}

#[test]
fn reads_go_before_writes_on_a_die_unless_it_is_first_come_first_served() {
    for (priority, read_end, write_end) in [("true", 118, 222), ("false", 222, 208)] {
        let change = ("read_priority = true", format!("read_priority = {priority}"));
        let mut rig = Rig::new(&small(&[(change.0, &change.1)]), Level::Ssd);
        rig.one(0, write(0));
        let start = rig.now;
        rig.submit(0, write(0));
        let second = rig.submit(0, write(4));
        let found = rig.submit(0, read(0));
        rig.run();
        assert_eq!(rig.of(found).end - start, read_end * US, "{priority}");
        assert_eq!(rig.of(second).end - start, write_end * US, "{priority}");
    }
}

#[test]
fn reads_go_before_writes_on_a_bus_unless_it_is_first_come_first_served() {
    let bus = "bus = \"1ns/B\"\nread_command = \"1us\"";
    for (priority, read_end, write_end) in [("true", 19, 109), ("false", 23, 108)] {
        let priority_line = format!("read_priority = {priority}");
        let changes =
            [("bus = \"1ns/B\"", bus), ("read_priority = true", &priority_line), ("chips = 2", "chips = 3")];
        let mut rig = Rig::new(&small(&changes), Level::Ssd);
        // Pages 0, 2 and 4 are the three chips of channel 0.
        rig.one(0, write(4));
        let start = rig.now;
        rig.submit(0, write(0));
        let second = rig.submit(0, write(2));
        let found = rig.submit(0, read(4));
        rig.run();
        // The bus is free at 4 us. Reads first: command to 5, write 5 to 9, sense to 15, out to 19. Otherwise: write 4 to 8,
        // command to 9, sense to 19, out to 23.
        assert_eq!(rig.of(found).end - start, read_end * US, "{priority}");
        assert_eq!(rig.of(second).end - start, write_end * US, "{priority}");
    }
}

#[test]
fn a_chip_admits_what_it_can_start_and_is_reported_when_it_can() {
    let mut rig = Rig::new(&small(&[]), Level::Chip);
    // Members 0 and 1 share a bus; a chip's two planes share a die.
    let first = rig.submit(0, write(0));
    let same_die = rig.submit(0, write(1));
    let same_bus = rig.submit(1, write(0));
    let other_bus = rig.submit(2, write(0));
    rig.run();
    let times = |token: u32| (rig.of(token).start / US, rig.of(token).end / US);
    assert_eq!(times(first), (0, 104));
    assert_eq!(times(same_bus), (4, 108));
    assert_eq!(times(other_bus), (0, 104));
    assert_eq!(times(same_die), (104, 208));
    // A chip keeps no queue: no operation waited inside.
    assert!(rig.finished.iter().all(|finished| finished.done.queue_ns == 0));
}

#[test]
fn chips_that_wait_for_a_bus_have_it_in_turn() {
    let mut rig = Rig::new(&small(&[("chips = 2", "chips = 4")]), Level::Chip);
    let tokens = [0, 3, 1, 2].map(|member| rig.submit(member, write(0)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).start / US), [0, 4, 8, 12]);
}

#[test]
fn a_channel_uses_all_its_dies_and_one_bus() {
    let mut rig = Rig::new(&small(&[("pool = \"plane\"", "pool = \"member\"")]), Level::Channel);
    let tokens: Vec<u32> = (0..3).map(|_| rig.submit(0, write(0))).collect();
    rig.run();
    // The same page three times: two dies at once, then the first die again.
    let starts: Vec<u64> = tokens.iter().map(|&token| rig.of(token).start / US).collect();
    assert_eq!(starts, [0, 4, 104]);
}

#[test]
fn static_allocation_serialises_what_dynamic_allocation_spreads() {
    let end = |pool: Pool| {
        let mut spec = small(&[]);
        spec.ftl.pool = pool;
        let mut rig = Rig::new(&spec, Level::Ssd);
        for _ in 0..4 {
            rig.submit(0, write(0));
        }
        rig.run();
        rig.now / US
    };
    assert_eq!(end(Pool::Plane), 4 * 104);
    assert_eq!(end(Pool::Die), 4 * 104);
    assert_eq!(end(Pool::Chip), 4 * 104);
    // Two chips of a channel; then both channels.
    assert_eq!(end(Pool::Channel), 212);
    assert_eq!(end(Pool::Member), 108);
}

#[test]
fn an_ssd_takes_its_window_and_no_more() {
    let mut rig = Rig::new(&small(&[("window = 64", "window = 2")]), Level::Ssd);
    let tokens = [0, 1, 3].map(|page| rig.submit(0, write(page)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).start / US), [0, 0, 104]);
}

#[test]
fn a_read_of_a_page_that_is_not_mapped_costs_its_command_only() {
    let bus = "bus = \"1ns/B\"\nread_command = \"1us\"";
    for level in [Level::Ssd, Level::Channel, Level::Chip] {
        let mut rig = Rig::new(&small(&[("bus = \"1ns/B\"", bus)]), level);
        let found = rig.one(0, read(3));
        assert_eq!((found.end, found.done.bus_ns, found.done.cell_ns), (US, US, 0));
        rig.one(0, write(3));
        assert_eq!(rig.one(0, read(3)).done.cell_ns, 10 * US);
        rig.one(0, trim(3));
        assert_eq!(rig.one(0, read(3)).done.cell_ns, 0);
        let counters = rig.flash.counters(rig.now, 0);
        assert_eq!((counters.unmapped_reads, counters.read_pages, counters.trims), (2, 1, 1));
    }
}

#[test]
fn the_host_link_serves_one_page_at_a_time_and_only_whole_ssds_have_one() {
    let bus = "bus = \"1ns/B\"\nhost_link = \"1ns/B\"\nhost_link_command = \"1us\"";
    let mut rig = Rig::new(&small(&[("bus = \"1ns/B\"", bus)]), Level::Ssd);
    // 4 + 1 us on the link, then 104 us; the second page's transfer starts when the first's ends.
    let tokens = [0, 1].map(|page| rig.submit(0, write(page)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).end / US), [109, 114]);
    assert_eq!(tokens.map(|token| rig.of(token).done.queue_ns / US), [0, 5]);
    let start = rig.now;
    let tokens = [0, 1].map(|page| rig.submit(0, read(page)));
    rig.run();
    // Both are on the bus of their channel from 10 to 14 us, then on the link.
    assert_eq!(tokens.map(|token| (rig.of(token).end - start) / US), [19, 24]);
    assert_eq!(rig.of(tokens[0]).done.bus_ns, 9 * US);
    let mut rig = Rig::new(&small(&[("bus = \"1ns/B\"", bus)]), Level::Channel);
    assert_eq!(rig.one(0, write(0)).end, 104 * US);
}

#[test]
fn links_of_two_devices_are_apart() {
    let bus = "bus = \"1ns/B\"\nhost_link = \"1ns/B\"";
    let flash =
        stripewise_flash::Flash::new(&small(&[("bus = \"1ns/B\"", bus)]), Level::Ssd, 2, 1).expect("valid");
    let mut rig = Rig::over(flash);
    let tokens = [0, 1].map(|member| rig.submit(member, write(0)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).end / US), [108, 108]);
}

#[test]
fn the_program_that_fills_a_block_pays_for_its_summary() {
    let summary = "pool = \"plane\"\nsummary_page = \"500B\"";
    let mut rig = Rig::new(&small(&[("pool = \"plane\"", summary)]), Level::Chip);
    // Three data pages of four; filling the block takes 0.5 us more on the bus and another program.
    let times = [0, 2, 4, 6].map(|page| {
        let finished = rig.one(0, write(page));
        (finished.done.bus_ns, finished.done.cell_ns / US)
    });
    assert_eq!(times, [(4000, 100), (4000, 100), (4500, 200), (4000, 100)]);
    let counters = rig.flash.counters(rig.now, 0);
    assert_eq!((counters.summary_pages, counters.flash_program_pages()), (1, 5));
    assert_eq!((counters.cell_busy_ns, counters.bus_busy_ns), (500 * US, 16_500));
}

#[test]
fn the_spare_area_crosses_the_bus_but_not_the_host_link() {
    let bytes = ("page_bytes = \"4000B\"", "page_bytes = \"4000B\"\nspare_bytes = \"100B\"");
    let mut spec = small(&[bytes]);
    spec.timing.host_link = "1ns/B".parse::<Rate>().expect("a rate");
    let written = Rig::new(&spec, Level::Ssd).one(0, write(0));
    assert_eq!(written.done.bus_ns, 4_000 + 4_100);
}
