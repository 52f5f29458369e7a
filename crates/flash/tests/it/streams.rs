//! Streams: pages of one stream share erase blocks, so that pages that are invalidated together are erased together.
//!
//! The small device with one plane: blocks of 4 pages, collection when one block is left free. A move takes 118 us,
//! an erase 1000.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{Choice, Isolation, Moves, Pool, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Level, Op};

use crate::support::{Rig, small, write};

const US: u64 = 1000;

fn one_plane(streams: u32) -> DeviceSpec {
    let mut spec =
        small(&[("channels = 2", "channels = 1"), ("chips = 2", "chips = 1"), ("planes = 2", "planes = 1")]);
    spec.ftl.streams = streams;
    spec
}

fn write_to(stream: u8, page: u32) -> Op {
    Op { stream, ..write(page) }
}

#[test]
fn data_written_in_turn_lies_in_blocks_of_its_own_stream() {
    let blocks = |streams: u32| {
        let mut rig = Rig::new(&one_plane(streams), Level::Chip);
        for page in 0..8 {
            rig.one(0, write_to(0, page));
            rig.one(0, write_to((streams - 1) as u8, 8 + page));
        }
        rig.flash.audit().expect("consistent");
        (0..16).map(|page| rig.flash.lookup(0, page).expect("mapped") / 4).collect::<Vec<_>>()
    };
    assert_eq!(blocks(1), [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(blocks(2), [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3]);
}

#[test]
fn a_stream_that_is_rewritten_as_a_whole_leaves_nothing_to_move_and_half_a_block_without_streams() {
    let run = |streams: u32, rounds: u32| {
        let mut rig = Rig::new(&one_plane(streams), Level::Chip);
        rig.flash.enable_gc_log();
        for page in 0..8 {
            rig.one(0, write_to(0, page));
            rig.one(0, write_to((streams - 1) as u8, 8 + page));
        }
        // The third round over pages 0 to 7 begins the seventh of eight blocks.
        for page in (0..8 * rounds).map(|page| page % 8) {
            rig.one(0, write_to(0, page));
        }
        rig.flash.audit().expect("consistent");
        let first = rig.flash.drain_gc_log().next().expect("a collection");
        let counters = rig.flash.counters(rig.now, 0);
        let first = (first.block, first.moved_pages, first.end_ns - first.start_ns);
        (first, counters.gc_move_pages, counters.erase_blocks)
    };
    assert_eq!(run(1, 2).0, (0, 2, 1236 * US));
    assert_eq!(run(2, 2).0, (0, 0, 1000 * US));
    // However often: 8 pages per 2 blocks, all of them erased without a move.
    let (_, moved, erased) = run(2, 50);
    assert_eq!((moved, erased), (0, 98));
    assert!(run(1, 50).1 > 2);
}

#[test]
fn moves_join_stream_0_or_the_stream_that_they_come_from_or_stay_apart() {
    let place = |isolation: Isolation, moves: Moves| {
        let mut spec = one_plane(2);
        (spec.geometry.blocks, spec.ftl.isolation, spec.gc.moves) = (10, isolation, moves);
        spec.ftl.over_provisioning = "60%".parse().expect("a share");
        let mut rig = Rig::new(&spec, Level::Chip);
        let mut write = |stream: u8, pages: &[u32]| {
            for &page in pages {
                rig.one(0, write_to(stream, page));
            }
        };
        // Blocks 0 and 2 belong to stream 0, 1 and 3 to stream 1.
        write(0, &[0, 1, 2, 3]);
        write(1, &[8, 9, 10, 11]);
        write(0, &[4, 5, 6, 7]);
        write(1, &[12, 13, 14, 15]);
        // Block 4, block 5 and one page of 6, one page of 7, the rest of 6; page 13 begins block 8 and leaves one.
        write(0, &[0, 1, 4, 5]);
        write(1, &[8, 9, 10, 12, 13]);
        write(0, &[0]);
        write(1, &[8, 9, 12, 13]);
        rig.flash.audit().expect("consistent");
        // Block 1 has only page 11 valid, and no other block has fewer valid pages.
        rig.flash.lookup(0, 11).expect("mapped")
    };
    assert_eq!(place(Isolation::Initial, Moves::Shared), 7 * 4 + 1, "behind page 0");
    assert_eq!(place(Isolation::Persistent, Moves::Shared), 8 * 4 + 1, "behind page 13");
    assert_eq!(place(Isolation::Initial, Moves::Apart), 9 * 4);
}

#[test]
fn the_plane_with_most_free_pages_is_the_one_where_the_stream_has_most() {
    let mut spec = small(&[("channels = 2", "channels = 1"), ("chips = 2", "chips = 1")]);
    (spec.ftl.streams, spec.ftl.pool, spec.ftl.choice) = (2, Pool::Die, Choice::MostFree);
    let mut rig = Rig::new(&spec, Level::Chip);
    let plane = |rig: &mut Rig, stream: u8, page: u32| {
        rig.one(0, write_to(stream, page));
        rig.flash.lookup(0, page).expect("mapped") / (8 * 4)
    };
    // Stream 0 has opened a block of plane 0: 28 pages are left there for stream 1, and 32 in plane 1. Then stream 0 has
    // 31, 30 and 29 in plane 0, although plane 1 has 31 free pages: 3 of them are in the block of stream 1.
    let found = [(0, 0), (1, 1), (0, 2), (0, 3), (0, 4)].map(|(stream, page)| plane(&mut rig, stream, page));
    assert_eq!(found, [0, 1, 0, 0, 0]);
}

/// Write amplification of 256 blocks of 32 pages, in `planes` planes of a die. A tenth of the pages takes nine tenths
/// of the writes if `hot`, and otherwise a tenth of them. It forms stream 1, if there is one.
fn amplification_in(planes: u32, streams: u32, isolation: Isolation, moves: Moves, hot: bool) -> f64 {
    let mut spec = one_plane(streams);
    (spec.geometry.planes, spec.geometry.blocks, spec.geometry.pages) = (planes, 256 / planes, 32);
    (spec.ftl.pool, spec.ftl.choice) = (Pool::Die, Choice::MostFree);
    spec.ftl.over_provisioning = "15%".parse().expect("a share");
    spec.gc.low_watermark = Watermark::BlockCount(3);
    (spec.ftl.isolation, spec.gc.moves) = (isolation, moves);
    let mut flash = Flash::new(&spec, Level::Chip, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    let pages = u64::from(flash.logical_pages());
    let (mut random, bound) = (Prng::new(5), pages / 10);
    let stream = |page: u64| u8::from(streams > 1 && page < bound);
    (0..pages).for_each(|page| flash.write_untimed_to(0, page as u32, stream(page)));
    for round in 0..40 {
        if round == 20 {
            flash.reset_counters(0);
        }
        for _ in 0..pages {
            let is_hot = random.chance(if hot { 90 } else { 10 }, 100);
            let page = if is_hot { random.below(bound) } else { bound + random.below(pages - bound) };
            flash.write_untimed_to(0, page as u32, stream(page));
        }
    }
    flash.audit().unwrap_or_else(|error| panic!("{error}"));
    let counters = flash.counters(0, 0);
    let found = 1.0 + counters.gc_move_pages as f64 / counters.program_pages as f64;
    println!("{planes} planes, {streams} {isolation:?} {moves:?}, hot: {hot}: {found:.3}");
    found
}

fn amplification(streams: u32, isolation: Isolation, moves: Moves, hot: bool) -> f64 {
    amplification_in(1, streams, isolation, moves, hot)
}

#[test]
fn planes_that_take_turns_collect_as_much_as_one_that_is_as_large() {
    let (initial, persistent) = (Isolation::Initial, Isolation::Persistent);
    for (streams, isolation, moves) in
        [(3, initial, Moves::Shared), (3, persistent, Moves::Shared), (1, initial, Moves::Apart)]
    {
        let [one, two] = [1, 2].map(|planes| amplification_in(planes, streams, isolation, moves, true));
        assert!((two / one - 1.0).abs() < 0.1, "{streams} {isolation:?} {moves:?}: {one:.3} and {two:.3}");
    }
}

#[test]
fn streams_of_hot_and_cold_pages_lower_write_amplification() {
    let (shared, apart) = (Moves::Shared, Moves::Apart);
    let one = amplification(1, Isolation::Initial, shared, true);
    let one_apart = amplification(1, Isolation::Initial, apart, true);
    let two = amplification(2, Isolation::Initial, shared, true);
    let isolated = amplification(2, Isolation::Persistent, shared, true);
    let isolated_apart = amplification(2, Isolation::Persistent, apart, true);
    assert!(two < 0.9 * one, "hot pages die together");
    assert!(two < one_apart, "programs tell them apart before collection can");
    assert!(isolated < 0.9 * two, "those that collection finds alive do not dilute the cold ones");
    assert!(isolated_apart < isolated, "nor do those that lived long those just written");
}

#[test]
fn streams_of_pages_that_are_alike_gain_nothing_and_cost_an_open_block() {
    let of = |streams| amplification(streams, Isolation::Initial, Moves::Shared, false);
    let (one, two, many) = (of(1), of(2), of(12));
    assert!(one < two && two < 1.02 * one, "an open block more is space less");
    assert!((many / two - 1.0).abs() < 0.001, "a stream that nobody names costs nothing");
}

#[test]
#[should_panic(expected = "stream 2 of a device of 2")]
fn a_stream_that_the_device_does_not_have_is_a_bug_of_the_driver() {
    Rig::new(&one_plane(2), Level::Chip).submit(0, write_to(2, 0));
}
