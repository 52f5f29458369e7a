//! Permission to collect, computed by hand, and properties that hold under any policy of permission.

use proptest::prelude::*;
use stripewise_base::prng::Prng;
use stripewise_flash::spec::{GcSpan, GcStart, Preemption, Watermark};
use stripewise_flash::{DeviceSpec, Flash, GcTurn, Level, Permit, Share, State};

use crate::support::{Rig, permit, read, small, write};

const US: u64 = 1000;
const NOTHING: GcTurn = GcTurn { collects: false, need: None };

/// One plane per die, as in `forecast.rs`: pages 0 to 15, then eight of them again, leave two free blocks of four
/// pages. Collection begins at one free block. Times: a write 104 us, a move 118, an erase 1000.
fn about_to_collect() -> Rig {
    let mut rig = Rig::new(&small(&[("planes = 2", "planes = 1")]), Level::Chip);
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
        rig.one(0, write(page));
    }
    rig.flash.enable_gc_log();
    rig.flash.control_gc(0);
    rig
}

fn events(rig: &mut Rig) -> Vec<u32> {
    std::iter::from_fn(|| rig.flash.next_gc_event()).collect()
}

#[test]
fn a_forbidden_member_continues_until_only_the_space_of_collection_is_left() {
    let mut rig = about_to_collect();
    assert_eq!((rig.flash.gc_turn(0), events(&mut rig)), (NOTHING, vec![]));
    // The write opens the second last free block, which makes the plane due.
    rig.one(0, write(10));
    assert_eq!(events(&mut rig), [0]);
    assert_eq!(rig.flash.gc_turn(0), GcTurn { collects: false, need: Some(7) });
    for page in [12, 13, 14] {
        rig.one(0, write(page));
    }
    assert_eq!(rig.flash.gc_turn(0).need, Some(4));
    // A collection may have to move four pages.
    let token = rig.submit(0, write(15));
    let requested = rig.now;
    assert_eq!(events(&mut rig), [0], "it waits");
    rig.run_until(requested + 50 * US);
    assert_eq!(rig.flash.counters(rig.now, 0).erase_blocks, 0);
    rig.flash.permit_gc(rig.now, 0, permit(1, 0), &mut rig.agenda);
    assert!(rig.flash.gc_turn(0).collects);
    rig.run();
    let row = rig.flash.drain_gc_log().next().expect("a collection");
    assert_eq!(
        (row.start_ns - requested, row.end_ns - row.start_ns),
        (50 * US, u64::from(row.moved_pages) * 118 * US + 1000 * US)
    );
    assert_eq!(rig.of(token).start, row.end_ns);
    let counters = rig.flash.counters(rig.now, 0);
    assert_eq!((counters.permission_waits, counters.permission_wait_ns), (1, 50 * US));
    assert_eq!(events(&mut rig), [0], "a block is done");
}

#[test]
fn reads_of_a_forbidden_member_wait_for_no_collection() {
    let mut rig = about_to_collect();
    rig.submit(0, write(10));
    assert_eq!(rig.flash.gc_wait_ns(rig.now, 0, 1), 0);
    let token = rig.submit(0, read(1));
    rig.run();
    assert_eq!(rig.of(token).end - rig.of(token).start, 14 * US);
    assert_eq!(rig.of(token).start, 24 * 104 * US + 104 * US);
}

#[test]
fn a_permission_is_for_n_blocks_of_each_die() {
    let mut rig = about_to_collect();
    let blocks = |rig: &Rig| rig.flash.counters(rig.now, 0).erase_blocks;
    rig.flash.permit_gc(rig.now, 0, permit(1, 0), &mut rig.agenda);
    assert!(!rig.flash.gc_turn(0).collects, "nothing is due");
    rig.one(0, write(10));
    assert_eq!(blocks(&rig), 1, "it began as soon as it was due");
    while rig.flash.gc_turn(0).need.is_none() {
        rig.one(0, write(10));
    }
    assert_eq!(blocks(&rig), 1, "and no second time");
    // Far ahead of its due time: block after block, as long as that gains space.
    rig.flash.permit_gc(rig.now, 0, permit(u32::MAX, 4), &mut rig.agenda);
    rig.run();
    assert_eq!(rig.flash.gc_turn(0), NOTHING);
    assert!(blocks(&rig) >= 3);
    assert_eq!(rig.flash.counters(rig.now, 0).gc_stalls, 0);
    rig.flash.audit().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_is_forbidden_while_it_collects_ends_with_its_block() {
    let mut rig = about_to_collect();
    rig.flash.permit_gc(rig.now, 0, permit(u32::MAX, 4), &mut rig.agenda);
    rig.submit(0, write(10));
    rig.run_until(rig.now + 200 * US);
    assert!(rig.flash.gc_turn(0).collects);
    rig.flash.forbid_gc(0);
    assert!(rig.flash.gc_turn(0).collects, "a block in hand is finished");
    rig.run();
    assert!(!rig.flash.gc_turn(0).collects);
    assert_eq!(rig.flash.counters(rig.now, 0).erase_blocks, 1);
}

#[test]
fn of_several_planes_that_are_due_the_fullest_is_collected_first() {
    // Two planes; even pages lie in the first.
    let mut rig = Rig::new(&small(&[]), Level::Chip);
    rig.flash.enable_gc_log();
    rig.flash.control_gc(0);
    for page in (0..32).chain((0..32).filter(|page| page % 4 < 2)).cycle().take(300) {
        let free = |rig: &Rig| rig.flash.gc_turn(0).need;
        if free(&rig).is_some_and(|free| free <= 5) {
            break;
        }
        // The second plane takes two pages for each page of the first.
        rig.one(0, write(page | 1));
        if page % 4 == 0 {
            rig.one(0, write(page));
        }
    }
    assert_eq!(rig.flash.gc_turn(0).need, Some(5));
    rig.permit(0, 1, 4);
    rig.run();
    let row = rig.flash.drain_gc_log().next().expect("a collection");
    assert_eq!(row.plane, 1);
}

#[test]
fn planes_without_need_are_collected_at_once_although_collection_waits_for_demand_and_n_of_a_die() {
    // Two planes of eight blocks; all but two blocks are full, and half of their pages are invalid.
    let mut device = small(&[]);
    device.gc.start = GcStart::OnDemand;
    let mut rig = Rig::new(&device, Level::Chip);
    (0..32).chain((0..32).filter(|page| page % 4 < 2).take(8)).for_each(|page| _ = rig.one(0, write(page)));
    rig.flash.enable_gc_log();
    rig.flash.control_gc(0);
    assert_eq!(rig.flash.gc_turn(0), NOTHING, "no plane has to be collected");
    let begun = rig.now + 70 * US;
    rig.run_until(begun);
    let near = |ahead, ahead_planes| Permit { blocks: 1, ahead, ahead_planes };
    rig.flash.permit_gc(begun, 0, near(0, 2), &mut rig.agenda);
    assert_eq!(rig.flash.gc_turn(0), NOTHING, "nor are they near");
    rig.flash.permit_gc(begun, 0, near(3, 1), &mut rig.agenda);
    assert_eq!(rig.flash.gc_turn(0), GcTurn { collects: true, need: None });
    rig.run();
    let rows: Vec<_> = rig.flash.drain_gc_log().map(|row| (row.plane, row.start_ns)).collect();
    assert_eq!((rows, rig.flash.gc_turn(0)), (vec![(0, begun)], NOTHING), "one plane, and no leftover need");
    // Of two planes, the second gets no block of the quota, and asks for permission.
    rig.flash.permit_gc(rig.now, 0, near(4, 2), &mut rig.agenda);
    rig.run();
    assert_eq!(rig.flash.drain_gc_log().count(), 1);
    assert!(rig.flash.gc_turn(0).need.is_some());
}

#[test]
fn a_plane_asks_n_blocks_before_it_has_to() {
    let free_when_it_asks = |asks_ahead| {
        let mut rig = Rig::new(&small(&[("planes = 2", "planes = 1")]), Level::Chip);
        rig.flash.control_gc(asks_ahead);
        for page in (0..16).cycle() {
            if let Some(free) = rig.flash.gc_turn(0).need {
                assert_eq!(events(&mut rig), [0]);
                return free;
            }
            rig.one(0, write(page));
        }
        unreachable!("writes use up all space");
    };
    // A plane is low with one free block; the block being written has three pages left just after it is opened.
    assert_eq!([0, 1, 2].map(free_when_it_asks), [7, 11, 15]);
}

/// Permits members at random, and in the end every member that needs it. Checks that every write completes and no
/// member collects without permission.
fn flood(spec: &DeviceSpec, level: Level, asks_ahead: u32, seed: u64) {
    let mut flash = Flash::new(spec, level, 1, seed).unwrap_or_else(|error| panic!("{error}"));
    flash.precondition(State::Steady, Share::ALL, seed);
    flash.control_gc(asks_ahead);
    let (mut rig, mut random) = (Rig::over(flash), Prng::new(seed));
    let (members, pages) = (u64::from(rig.flash.shape().members), u64::from(rig.flash.logical_pages()));
    for _ in 0..400 {
        let (member, page) = (random.below(members) as u32, random.below(pages) as u32);
        rig.submit(member, if random.chance(1, 5) { read(page) } else { write(page) });
        rig.run_until(rig.now + random.below(400 * US));
        match random.below(4) {
            0 => {
                let [blocks, ahead, ahead_planes] = [1, 0, 0].map(|least| least + random.below(3) as u32);
                let permit = Permit { blocks, ahead, ahead_planes };
                rig.flash.permit_gc(rig.now, member, permit, &mut rig.agenda);
                rig.dispatch_ready();
            }
            1 => rig.flash.forbid_gc(member),
            _ => {}
        }
        while random.chance(1, 2) && rig.flash.next_gc_event().is_some() {}
    }
    // From here on, every member with an event is examined.
    let mut look: Vec<u32> = (0..members as u32).collect();
    loop {
        for member in look.drain(..) {
            let turn = rig.flash.gc_turn(member);
            if !turn.collects && turn.need.is_some() {
                rig.permit(member, 1, 0);
            }
        }
        let more = rig.step();
        look.extend(std::iter::from_fn(|| rig.flash.next_gc_event()));
        if !more && look.is_empty() {
            break;
        }
    }
    rig.run();
    assert!((0..members as u32).all(|member| rig.flash.gc_turn(member) == NOTHING));
    rig.flash.audit().unwrap_or_else(|error| panic!("{error}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_member_waits_forever_that_is_permitted_on_request(
        level in prop_oneof![Just(Level::Ssd), Just(Level::Channel), Just(Level::Chip)],
        preemption in prop_oneof![Just(Preemption::Never), Just(Preemption::Moves)],
        on_demand: bool,
        soft: bool,
        busy: bool,
        asks_ahead in 0..3u32,
        seed: u64,
    ) {
        let mut spec = small(&[("blocks = 8", "blocks = 16")]);
        // A busy span has no points for preemption.
        spec.gc.preemption = if busy { Preemption::Never } else { preemption };
        spec.gc.start = if on_demand { GcStart::OnDemand } else { GcStart::AtOnce };
        spec.gc.span = if busy { GcSpan::Busy } else { GcSpan::Steps };
        spec.gc.soft_watermark = (soft && !busy).then_some(Watermark::BlockCount(3));
        flood(&spec, level, asks_ahead, seed);
    }
}
