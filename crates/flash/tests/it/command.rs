//! The host link that transfers whole commands, computed by hand for the small device with 4 us per page on the link.

use stripewise_flash::spec::LinkUnit;
use stripewise_flash::{DeviceSpec, Level, Op};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

fn device(unit: LinkUnit) -> DeviceSpec {
    let mut device = small(&[("bus = \"1ns/B\"", "bus = \"1ns/B\"\nhost_link = \"1ns/B\"")]);
    device.timing.host_link_unit = unit;
    device
}

#[test]
fn no_page_of_a_write_starts_before_all_its_data_are_across() {
    let ends = |unit| {
        let mut rig = Rig::new(&device(unit), Level::Ssd);
        let tokens = [0, 1].map(|page| rig.submit(0, write(page)));
        rig.run();
        tokens.map(|token| rig.of(token).end / US)
    };
    // 4 us each on the link, then 4 us on the bus and 100 us in the cells.
    assert_eq!(ends(LinkUnit::Page), [108, 112]);
    assert_eq!(ends(LinkUnit::Command), [112, 112]);
}

#[test]
fn read_data_cross_when_the_last_page_is_there() {
    let ends = |unit| {
        let mut rig = Rig::new(&device(unit), Level::Ssd);
        rig.submit(0, write(0));
        rig.submit(0, write(1));
        rig.run();
        let start = rig.now;
        let tokens = [0, 1].map(|page| rig.submit(0, read(page)));
        rig.run();
        tokens.map(|token| (rig.of(token).end - start) / US)
    };
    // Both have been read after 14 us, each over its own channel.
    assert_eq!(ends(LinkUnit::Page), [18, 22]);
    assert_eq!(ends(LinkUnit::Command), [22, 22]);
}

#[test]
fn a_read_command_waits_its_turn_behind_the_data_of_a_write() {
    let end = |unit| {
        let mut rig = Rig::new(&device(unit), Level::Ssd);
        rig.one(0, write(2));
        let start = rig.now;
        (0..2).for_each(|page| _ = rig.submit(0, write(page)));
        rig.run_until(start + US);
        let token = rig.submit(0, read(2));
        rig.run();
        (rig.of(token).end - start) / US
    };
    // The write's data cross until 8 us. Pages 0 and 2 share a channel but not a chip. By page, the read senses from
    // 1 to 11 us and is on the bus until 15. As a command it is admitted at 8 us, after the write, whose page 0 then
    // takes the bus until 12; the read senses until 18 and is on the bus until 22. The link takes another 4 us.
    assert_eq!(end(LinkUnit::Page), 19);
    assert_eq!(end(LinkUnit::Command), 26);
}

#[test]
fn data_that_were_read_go_before_commands_that_wait() {
    let mut rig = Rig::new(&device(LinkUnit::Command), Level::Ssd);
    rig.one(0, write(2));
    let start = rig.now;
    let read = rig.submit(0, read(2));
    // While the page is read, from 0 to 14 us, two writes are given; the first one's data cross from 12 to 16 us.
    rig.run_until(start + 12 * US);
    let first = rig.submit(0, write(0));
    rig.run_until(start + 13 * US);
    let second = rig.submit(0, write(1));
    rig.run();
    let end = |token| (rig.of(token).end - start) / US;
    assert_eq!(end(read), 20, "its data cross from 16 to 20 us");
    assert_eq!(end(first), 16 + 104);
    assert_eq!(end(second), 24 + 104, "behind the data that were read");
}

#[test]
fn what_is_given_at_different_instants_or_is_of_another_kind_is_another_command() {
    let mut rig = Rig::new(&device(LinkUnit::Command), Level::Ssd);
    rig.one(0, write(2));
    let start = rig.now;
    let tokens = [rig.submit(0, write(0)), rig.submit(0, read(2)), rig.submit(0, write(1))];
    rig.run();
    // The first write crosses until 4 us and starts; then the read is admitted; the second write crosses from 4 to 8.
    let ends = tokens.map(|token| (rig.of(token).end - start) / US);
    assert_eq!(ends[0], 4 + 104);
    assert_eq!(ends[2], 8 + 104);
    // The read senses from 4 to 14 us, is on the bus until 18, and crosses until 22.
    assert_eq!(ends[1], 22);
}

#[test]
fn two_requests_of_one_instant_are_two_commands() {
    let ends = |requests: [u32; 2], op: fn(u32) -> Op| {
        let mut rig = Rig::new(&device(LinkUnit::Command), Level::Ssd);
        (0..2).for_each(|page| _ = rig.submit(0, write(page)));
        rig.run();
        let start = rig.now;
        let tokens = [0, 1].map(|at| {
            let request = requests[at];
            rig.submit(0, Op { request, ..op(at as u32) })
        });
        rig.run();
        tokens.map(|token| (rig.of(token).end - start) / US)
    };
    // The data of one command of two pages cross until 8 us, those of two commands until 4 and 8 us; then 104 us for each page.
    assert_eq!(ends([1, 1], write), [112, 112]);
    assert_eq!(ends([1, 2], write), [108, 112]);
    // Both pages have been read after 14 us; as two commands, the first crosses until 18 us.
    assert_eq!(ends([1, 1], read), [22, 22]);
    assert_eq!(ends([1, 2], read), [18, 22]);
}

#[test]
fn only_a_whole_ssd_has_a_link_to_move_commands_on() {
    let mut rig = Rig::new(&device(LinkUnit::Command), Level::Channel);
    assert_eq!(rig.one(0, write(0)).end, 104 * US);
}

#[test]
fn a_command_costs_its_own_time_once_however_many_pages_it_has() {
    let mut device = device(LinkUnit::Command);
    device.timing.host_link_per_command.0 = 3 * US;
    let mut rig = Rig::new(&device, Level::Ssd);
    let tokens = [0, 1].map(|page| rig.submit(0, write(page)));
    rig.run();
    // 3 us for the command and 4 us a page on the link, then 4 us on the bus and 100 us in the cells.
    assert_eq!(tokens.map(|token| rig.of(token).end / US), [115, 115]);
    let start = rig.now;
    let tokens = [0, 1].map(|page| rig.submit(0, read(page)));
    rig.run();
    // Both have been read after 14 us.
    assert_eq!(tokens.map(|token| (rig.of(token).end - start) / US), [25, 25]);
}

#[test]
fn a_time_a_command_without_commands_is_refused() {
    let mut device = device(LinkUnit::Page);
    device.timing.host_link_per_command.0 = 3 * US;
    let error = device.validate().expect_err("pages form no commands").to_string();
    assert!(error.contains("timing.host_link_per_command") && error.contains("host_link_command"), "{error}");
}
