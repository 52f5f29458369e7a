//! Chips whose dies depend on each other, computed by hand.
//!
//! The small device with one channel of one chip of two dies, as a whole SSD: page 0 lies on die 0, page 1 on die 1. A
//! page takes 4 us on the bus, 10 us to sense, 100 us to program.

use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{DieInterleaving, Domain, MultiPlane, Pool, Preemption, SuspendSpec, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Level, Op, Share, State};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

const ALL: [DieInterleaving; 3] = [DieInterleaving::Free, DieInterleaving::OneKind, DieInterleaving::Off];

fn device(interleaving: DieInterleaving) -> DeviceSpec {
    let changes = [("channels = 2", "channels = 1"), ("chips = 2", "chips = 1"), ("dies = 1", "dies = 2")];
    let mut spec = small(&changes);
    spec.scheduling.die_interleaving = interleaving;
    spec
}

/// When each of the operations ends that arrive at the given times, in us. All pages are written before.
fn ends<const N: usize>(spec: &DeviceSpec, operations: [(u64, Op); N]) -> [u64; N] {
    let mut rig = Rig::new(spec, Level::Ssd);
    for page in 0..8 {
        rig.one(0, write(page));
    }
    let origin = rig.now;
    let tokens = operations.map(|(at, op)| {
        if origin + at * US > rig.now {
            rig.run_until(origin + at * US);
        }
        rig.submit(0, op)
    });
    rig.run();
    rig.flash.audit().expect("consistent");
    tokens.map(|token| (rig.of(token).end - origin) / US)
}

fn assert_ends<const N: usize>(operations: [(u64, Op); N], expected: [[u64; N]; 3]) {
    for (interleaving, expected) in ALL.into_iter().zip(expected) {
        assert_eq!(ends(&device(interleaving), operations), expected, "{interleaving:?} {operations:?}");
    }
}

#[test]
fn reads_of_one_instant_overlap_unless_a_chip_does_one_thing_at_a_time() {
    // Both sense from 0 to 10 and take turns on the bus; or the second begins after the first.
    assert_ends([(0, read(0)), (0, read(1))], [[14, 18], [14, 18], [14, 28]]);
    assert_ends([(0, write(0)), (0, write(1))], [[104, 108], [104, 108], [104, 208]]);
}

#[test]
fn a_read_that_arrives_while_the_other_die_reads_waits_for_it() {
    assert_ends([(0, read(0)), (2, read(1))], [[14, 18], [14, 28], [14, 28]]);
    assert_ends([(0, read(0)), (12, read(1))], [[14, 26], [14, 28], [14, 28]]);
}

#[test]
fn a_program_and_a_read_never_share_a_chip() {
    assert_ends([(0, write(0)), (10, read(1))], [[104, 24], [104, 118], [104, 118]]);
    // Given at one instant, the read goes first; a free die 1 programs from 0 to 104, and its bus transfer is over
    // when die 0 has sensed.
    assert_ends([(0, write(1)), (0, read(0))], [[104, 14], [118, 14], [118, 14]]);
}

#[test]
fn reads_go_before_programs_and_without_priority_the_oldest_kind_goes_first() {
    // At 104 us a program of die 1 and a younger read of die 0 wait.
    let operations = [(0, write(0)), (5, write(1)), (6, read(0))];
    for interleaving in [DieInterleaving::OneKind, DieInterleaving::Off] {
        let mut spec = device(interleaving);
        assert_eq!(ends(&spec, operations), [104, 222, 118], "{interleaving:?}");
        spec.scheduling.read_priority = false;
        assert_eq!(ends(&spec, operations), [104, 208, 222], "{interleaving:?}");
    }
}

#[test]
fn the_die_with_the_oldest_operation_is_served_first() {
    // Two reads of die 0 wait since 1 and 3 us, one of die 1 since 2 us.
    let operations = [(0, read(0)), (1, read(0)), (2, read(1)), (3, read(0))];
    assert_eq!(ends(&device(DieInterleaving::Off), operations), [14, 28, 42, 56]);
    // The second round has one of each die, which take turns on the bus: 14 + 10 + 4, and + 4.
    assert_eq!(ends(&device(DieInterleaving::OneKind), operations), [14, 28, 32, 46]);
}

#[test]
fn a_chip_and_its_neighbour_are_independent() {
    for interleaving in ALL {
        let mut spec = device(interleaving);
        spec.geometry.chips = 2;
        // Pages 0 and 1 lie on chips 0 and 1.
        assert_eq!(ends(&spec, [(0, read(0)), (2, read(1))]), [14, 18], "{interleaving:?}");
    }
}

#[test]
fn planes_of_a_die_still_work_together() {
    // Pages 0 and 2 lie on the planes of die 0, pages 1 and 3 on those of die 1.
    let operations = [(0, write(0)), (0, write(1)), (0, write(2)), (0, write(3))];
    // 8 us on the bus and 100 us in the cells for two pages; the second die's transfers follow.
    let expected = [[108, 116, 108, 116], [108, 116, 108, 116], [108, 216, 108, 216]];
    for (interleaving, expected) in ALL.into_iter().zip(expected) {
        let mut spec = device(interleaving);
        spec.scheduling.multi_plane = MultiPlane::SamePage;
        assert_eq!(ends(&spec, operations), expected, "{interleaving:?}");
    }
}

#[test]
fn an_erase_of_one_die_delays_the_other() {
    for interleaving in ALL {
        let mut rig = Rig::new(&device(interleaving), Level::Ssd);
        rig.flash.enable_gc_log();
        rig.one(0, write(1));
        // Overwrites die 0 until it collects a block without valid pages: an erase of 1000 us.
        while rig.flash.counters(rig.now, 0).erase_blocks == 0 && !rig.flash.is_collecting(0) {
            let token = rig.submit(0, write(0));
            while !rig.finished.iter().any(|finished| finished.token == token) {
                rig.step();
            }
        }
        let erase = rig.now;
        rig.run_until(erase + US);
        let token = rig.submit(0, read(1));
        rig.run();
        let collected: Vec<_> = rig.flash.drain_gc_log().collect();
        assert_eq!((collected[0].moved_pages, collected[0].end_ns - erase), (0, 1000 * US));
        let waited = if interleaving == DieInterleaving::Free { US } else { 1000 * US };
        assert_eq!(rig.of(token).end - erase, waited + 14 * US, "{interleaving:?}");
    }
}

#[test]
fn a_load_takes_longer_the_less_the_dies_may_overlap() {
    let run = |interleaving: DieInterleaving| {
        let mut spec = device(interleaving);
        spec.geometry.blocks = 64;
        let mut rig = Rig::new(&spec, Level::Ssd);
        let (mut random, pages) = (Prng::new(1), u64::from(rig.flash.logical_pages()));
        for page in 0..pages {
            rig.submit(0, write(page as u32));
        }
        rig.run();
        for _ in 0..2_000 {
            let page = random.below(pages) as u32;
            rig.submit(0, if random.chance(1, 2) { read(page) } else { write(page) });
        }
        rig.run();
        rig.flash.audit().expect("consistent");
        rig.now / US
    };
    let [free, one_kind, off] = ALL.map(run);
    println!("{free} us, {one_kind} us with one kind, {off} us with one die at a time");
    assert!(free < one_kind && one_kind < off, "{free}, {one_kind}, {off}");
}

#[test]
fn combinations_without_a_meaning_are_refused() {
    let refused = |change: fn(&mut DeviceSpec)| {
        let mut spec = device(DieInterleaving::OneKind);
        change(&mut spec);
        spec.validate().expect_err("refused").to_string()
    };
    let of = [
        (refused(|spec| spec.geometry.dies = 1), "one die has none to take turns with"),
        (refused(|spec| spec.gc.preemption = Preemption::Moves), "between its own rounds"),
        (refused(|spec| spec.gc.soft_watermark = Some(Watermark::BlockCount(2))), "may have to wait"),
        (
            refused(|spec| {
                let (overhead, resume) = (Span(3_000), Span(2_000));
                let suspend =
                    SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 };
                spec.suspend = Some(suspend);
            }),
            "a die would read while",
        ),
    ];
    for (message, expected) in of {
        assert!(message.contains("scheduling.die_interleaving") && message.contains(expected), "{message}");
    }
    for level in [Level::Channel, Level::Chip] {
        let refused = Flash::new(&device(DieInterleaving::Off), level, 1, 1).map(drop).expect_err("refused");
        assert!(refused.to_string().contains("scheduling.die_interleaving needs the queues"), "{refused}");
    }
    let mut wide = device(DieInterleaving::Off);
    wide.gc.blocking = Domain::Channel;
    assert_eq!(wide.validate(), Ok(()));
}

/// The device of DiskSim's validation suite in gangs of 4 elements: a gang is a chip, an element is a die. Consecutive
/// pages go to the elements of a gang, then to the next gang.
fn gangs(interleaving: DieInterleaving) -> DeviceSpec {
    let mut spec = DeviceSpec::preset("disksim-suite").unwrap_or_else(|error| panic!("{error}"));
    (spec.geometry.channels, spec.geometry.dies, spec.geometry.blocks) = (2, 4, 64);
    (spec.ftl.order, spec.ftl.pool) = ("DCWP".parse().expect("an order"), Pool::Die);
    (spec.timing.host_link, spec.timing.host_link_unit) = Default::default();
    spec.scheduling.die_interleaving = interleaving;
    spec
}

#[test]
fn a_gang_of_disksim_that_shares_its_pins_does_one_operation_at_a_time() {
    // An element reads a page in 25 us and transfers it in 105.6 us; it programs one in 200 us.
    let ends = |interleaving: DieInterleaving, op: fn(u32) -> Op| {
        let mut rig = Rig::new(&gangs(interleaving), Level::Ssd);
        rig.flash.precondition(State::Sequential, Share::ALL, 1);
        let tokens = [0, 1, 2, 3, 4].map(|page| rig.submit(0, op(page)));
        rig.run();
        tokens.map(|token| rig.of(token).end / 100)
    };
    // Page 4 lies in the other gang. DiskSim's gang with a shared bus begins a request when the one before is done.
    assert_eq!(ends(DieInterleaving::Off, read), [1306, 2612, 3918, 5224, 1306]);
    assert_eq!(ends(DieInterleaving::Off, write), [3056, 6112, 9168, 12_224, 3056]);
    // Cells at the same time, and transfers in turn.
    assert_eq!(ends(DieInterleaving::OneKind, read), [1306, 2362, 3418, 4474, 1306]);
    assert_eq!(ends(DieInterleaving::OneKind, write), [3056, 4112, 5168, 6224, 3056]);
}
