//! Multi-plane operations, computed by hand, and their gain.
//!
//! The small device with one channel of one die, as a whole SSD: page 0 lies on plane 0, page 1 on plane 1. A page
//! takes 4 us on the bus, 10 us to sense, 100 us to program.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{MultiPlane, Pool};
use stripewise_flash::{DeviceSpec, Flash, Level};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

fn device(multi_plane: MultiPlane) -> DeviceSpec {
    let mut spec = small(&[("channels = 2", "channels = 1"), ("chips = 2", "chips = 1")]);
    spec.scheduling.multi_plane = multi_plane;
    spec
}

#[test]
fn pages_of_two_planes_take_one_cell_time_and_two_transfers() {
    for (multi_plane, programmed, found) in [
        (MultiPlane::Off, [104, 208], [14, 28]),
        (MultiPlane::SamePage, [108, 108], [14, 18]),
        (MultiPlane::AnyPage, [108, 108], [14, 18]),
    ] {
        for chips in [1, 2] {
            let mut spec = device(multi_plane);
            spec.geometry.chips = chips;
            let mut rig = Rig::new(&spec, Level::Ssd);
            let pages = [0, chips];
            let tokens = pages.map(|page| rig.submit(0, write(page)));
            rig.run();
            assert_eq!(tokens.map(|token| rig.of(token).end / US), programmed, "{multi_plane:?}");
            let start = rig.now;
            let tokens = pages.map(|page| rig.submit(0, read(page)));
            rig.run();
            assert_eq!(tokens.map(|token| (rig.of(token).end - start) / US), found, "{multi_plane:?}");
            let counters = rig.flash.counters(rig.now, 0);
            let together = u64::from(multi_plane != MultiPlane::Off);
            assert_eq!(
                (counters.multi_plane_pages, counters.shared_cell_ns),
                (2 * together, 110 * US * together)
            );
            assert_eq!((counters.cell_busy_ns, counters.bus_busy_ns), (110 * US * (2 - together), 16 * US));
            rig.flash.audit().expect("consistent");
        }
    }
}

#[test]
fn commands_of_each_plane_take_their_time_on_the_bus() {
    let mut spec = device(MultiPlane::AnyPage);
    (spec.timing.read_command.0, spec.timing.program_command.0) = (US, 2 * US);
    let mut rig = Rig::new(&spec, Level::Ssd);
    let tokens = [0, 1].map(|page| rig.submit(0, write(page)));
    rig.run();
    // 2 x (2 + 4) and 100 us.
    assert_eq!(tokens.map(|token| rig.of(token).end / US), [112, 112]);
    let start = rig.now;
    let tokens = [0, 1].map(|page| rig.submit(0, read(page)));
    rig.run();
    // 2 x 1, 10 and 4 each.
    assert_eq!(tokens.map(|token| (rig.of(token).end - start) / US), [16, 20]);
}

#[test]
fn planes_that_are_not_at_the_same_page_work_together_only_if_they_need_not_be() {
    for (multi_plane, ends) in [(MultiPlane::SamePage, [104, 208]), (MultiPlane::AnyPage, [108, 108])] {
        let mut rig = Rig::new(&device(multi_plane), Level::Ssd);
        // Plane 0 is one page ahead.
        rig.one(0, write(0));
        let start = rig.now;
        let tokens = [2, 1].map(|page| rig.submit(0, write(page)));
        rig.run();
        assert_eq!(tokens.map(|token| (rig.of(token).end - start) / US), ends, "{multi_plane:?}");
    }
}

#[test]
fn two_pages_of_a_plane_never_run_together() {
    let mut rig = Rig::new(&device(MultiPlane::AnyPage), Level::Ssd);
    let tokens = [0, 2].map(|page| rig.submit(0, write(page)));
    rig.run();
    assert_eq!(tokens.map(|token| rig.of(token).end / US), [104, 208]);
}

#[test]
fn only_whole_ssds_have_the_queues_for_it() {
    for level in [Level::Channel, Level::Chip] {
        let refused = Flash::new(&device(MultiPlane::AnyPage), level, 1, 1).map(drop).expect_err("refused");
        assert!(refused.to_string().contains("scheduling.multi_plane needs the queues"), "{refused}");
    }
}

#[test]
fn a_load_of_writes_is_done_sooner_and_the_fewer_constraints_the_sooner() {
    let run = |multi_plane: MultiPlane, writes: u32| {
        let mut spec = device(multi_plane);
        (spec.geometry.blocks, spec.ftl.pool) = (64, Pool::Die);
        let mut rig = Rig::new(&spec, Level::Ssd);
        let (mut random, pages) = (Prng::new(1), u64::from(rig.flash.logical_pages()));
        for _ in 0..writes {
            rig.submit(0, write(random.below(pages) as u32));
        }
        rig.run();
        rig.flash.audit().expect("consistent");
        rig.now / US
    };
    let all = [MultiPlane::Off, MultiPlane::SamePage, MultiPlane::AnyPage];
    // 400 pages fit without collection: 104 us for each page, or 108 us for two.
    assert_eq!(all.map(|multi_plane| run(multi_plane, 400)), [41_600, 21_600, 21_600]);
    // Collection moves pages one by one, so that the planes' write points differ.
    let [off, same, any] = all.map(|multi_plane| run(multi_plane, 2_000));
    println!("{off} us, {same} us at the same page, {any} us at any");
    assert!(any < same && same < off, "{off}, {same}, {any}");
}
