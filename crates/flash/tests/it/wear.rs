//! Victim and free-block policies that consider more than the space to be gained: cost-benefit, and wear-levelling.
//!
//! The small device with one plane: 8 blocks of 4 pages, 16 pages exported, collection when one block is left free. A
//! move takes 118 us, an erase 1000.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{AgeSpec, FreeBlock, Moves, Victim, Watermark, WearSpec};
use stripewise_flash::{Counters, DeviceSpec, Flash, Level};

use crate::support::{Rig, small, write};

const US: u64 = 1000;

fn one_plane() -> DeviceSpec {
    small(&[("channels = 2", "channels = 1"), ("chips = 2", "chips = 1"), ("planes = 2", "planes = 1")])
}

/// One plane of 256 blocks of 32 pages.
fn plane(over_provisioning: &str) -> DeviceSpec {
    let mut spec = one_plane();
    (spec.geometry.blocks, spec.geometry.pages) = (256, 32);
    spec.ftl.over_provisioning = over_provisioning.parse().expect("a share");
    spec.gc.low_watermark = Watermark::BlockCount(3);
    spec
}

/// Writes each page once, then `rounds` times as many at random, where `hot` of 100 pages take `of` of 100 writes.
fn written(spec: &DeviceSpec, hot: u64, of: u64, rounds: u64) -> Flash {
    let mut flash = Flash::new(spec, Level::Chip, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    let pages = u64::from(flash.logical_pages());
    (0..pages).for_each(|page| flash.write_untimed(0, page as u32));
    let (mut random, bound) = (Prng::new(5), pages * hot / 100);
    for round in 0..rounds {
        if round == rounds / 2 {
            flash.reset_counters(0);
        }
        for _ in 0..pages {
            let is_hot = random.chance(of, 100);
            let page = if is_hot { random.below(bound) } else { bound + random.below(pages - bound) };
            flash.write_untimed(0, page as u32);
        }
    }
    flash.audit().unwrap_or_else(|error| panic!("{error}"));
    flash
}

fn amplification(counters: Counters) -> f64 {
    1.0 + counters.gc_move_pages as f64 / counters.program_pages as f64
}

#[test]
fn cost_benefit_prefers_an_old_block_to_an_emptier_young_one() {
    let victim = |victim: Victim| {
        let mut spec = one_plane();
        spec.gc.victim = victim;
        let mut rig = Rig::new(&spec, Level::Chip);
        rig.flash.enable_gc_log();
        for page in (0..16).chain([0, 1, 8, 9, 12, 4, 5, 6, 15]) {
            rig.one(0, write(page));
        }
        rig.flash.audit().expect("consistent");
        let row = rig.flash.drain_gc_log().next().expect("a collection");
        (row.block, row.moved_pages)
    };
    // After 25 programs, blocks 0 to 5 have 2, 1, 2, 2, 4 and 4 valid pages and last changed with programs 18, 24,
    // 20, 25, 20 and 24. age x (4 - v) / 2v is 7 x 2/4 = 3.5, 1 x 3/2 = 1.5, 5 x 2/4 = 2.5, 1 x 2/4 = 0.5, 0 and 0.
    assert_eq!(victim(Victim::CostBenefit), (0, 2));
    assert_eq!(victim(Victim::Greedy), (1, 1));
}

#[test]
fn cost_benefit_lowers_write_amplification_where_some_pages_are_hot_and_moves_go_apart() {
    let run = |victim: Victim, moves: Moves, hot: u64, of: u64| {
        let mut spec = plane("15%");
        (spec.gc.victim, spec.gc.moves) = (victim, moves);
        let found = amplification(written(&spec, hot, of, 12).counters(0, 0));
        println!("{victim:?} {moves:?} {hot}/{of}: {found:.3}");
        found
    };
    // A tenth of the pages takes nine tenths of the writes.
    let greedy = run(Victim::Greedy, Moves::Shared, 10, 90);
    let greedy_apart = run(Victim::Greedy, Moves::Apart, 10, 90);
    let benefit_apart = run(Victim::CostBenefit, Moves::Apart, 10, 90);
    assert!(greedy_apart < 0.93 * greedy, "cold pages gather");
    assert!(benefit_apart < 0.75 * greedy_apart, "and age tells them from hot ones");
    // If all pages are alike, greedy is optimal, and an additional open block costs space.
    let uniform = run(Victim::Greedy, Moves::Shared, 50, 50);
    assert!(uniform < run(Victim::Greedy, Moves::Apart, 50, 50));
    assert!(uniform < run(Victim::CostBenefit, Moves::Shared, 50, 50));
}

#[test]
fn moved_pages_go_to_a_block_of_their_own_or_behind_what_was_programmed_last() {
    let place = |moves: Moves| {
        let mut spec = one_plane();
        spec.gc.moves = moves;
        let mut rig = Rig::new(&spec, Level::Chip);
        // Blocks 0 to 5 are written; page 10 opens block 6, and page 3 of block 0 is moved.
        for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9, 10]) {
            rig.one(0, write(page));
        }
        [10, 3].map(|page| rig.flash.lookup(0, page).expect("mapped"))
    };
    assert_eq!(place(Moves::Shared), [24, 25]);
    assert_eq!(place(Moves::Apart), [24, 28]);
}

#[test]
fn dynamic_levelling_writes_the_free_block_that_was_erased_least() {
    let order = |free_block: FreeBlock| {
        let mut spec = one_plane();
        spec.wear = Some(WearSpec { free_block, ..WearSpec::default() });
        spec.age = Some(AgeSpec { erases: [0, 100], ..AgeSpec::default() });
        let mut rig = Rig::new(&spec, Level::Chip);
        let erases: Vec<u32> = rig.flash.erases(0).collect();
        (0..16).for_each(|page| assert!(rig.one(0, write(page)).end > 0));
        let block = |page: u32| rig.flash.lookup(0, page).map_or(0, |at| at / 4);
        ([0, 4, 8, 12].map(block), erases)
    };
    assert_eq!(order(FreeBlock::FirstFreed).0, [0, 1, 2, 3]);
    let (blocks, erases) = order(FreeBlock::LeastWorn);
    let mut expected: Vec<u32> = (0..8).collect();
    expected.sort_by_key(|&block| (erases[block as usize], block));
    assert_ne!(expected[..4], [0, 1, 2, 3], "the draw is worth the test");
    assert_eq!(blocks, expected[..4]);
}

/// The difference of erases between the most and the least erased block.
fn spread(flash: &Flash) -> u32 {
    let wear = flash.wear(0).expect("kept");
    wear.most_erases - wear.least_erases
}

#[test]
fn dynamic_levelling_evens_out_what_blocks_bring_along_at_no_cost() {
    let run = |free_block: FreeBlock| {
        let mut spec = plane("15%");
        spec.wear = Some(WearSpec { free_block, ..WearSpec::default() });
        spec.age = Some(AgeSpec { erases: [0, 60], ..AgeSpec::default() });
        // The more blocks are free at a time, the larger the choice.
        spec.gc.low_watermark = Watermark::BlockCount(20);
        let flash = written(&spec, 50, 50, 30);
        (spread(&flash), amplification(flash.counters(0, 0)))
    };
    let ((first_freed, cost), (least_worn, same)) = (run(FreeBlock::FirstFreed), run(FreeBlock::LeastWorn));
    println!("spread {first_freed} and {least_worn}, write amplification {cost:.3} and {same:.3}");
    assert!(first_freed > 50 && least_worn < first_freed * 2 / 3, "{first_freed} and {least_worn}");
    assert!((same / cost - 1.0).abs() < 0.02, "{cost:.3} and {same:.3}");
}

#[test]
fn static_levelling_moves_the_coldest_block_right_after_a_collection() {
    let mut spec = one_plane();
    spec.wear = Some(WearSpec { static_gap: Some(0), ..WearSpec::default() });
    let mut rig = Rig::new(&spec, Level::Chip);
    rig.flash.enable_gc_log();
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
        rig.one(0, write(page));
    }
    let start = rig.one(0, write(10)).end;
    // Block 0 with its one valid page is erased once; then block 1, also with one valid page, the first of the blocks
    // never erased.
    let rows: Vec<_> = rig.flash.drain_gc_log().collect();
    let found: Vec<_> =
        rows.iter().map(|row| (row.block, row.moved_pages, row.end_ns - row.start_ns)).collect();
    assert_eq!(found, [(0, 1, 1118 * US), (1, 1, 1118 * US)]);
    assert_eq!([rows[0].start_ns, rows[1].start_ns], [start, start + 1118 * US]);
    let counters = rig.flash.counters(rig.now, 0);
    assert_eq!((counters.gc_move_pages, counters.wear_move_pages), (2, 1));
    assert_eq!((counters.erase_blocks, counters.wear_erase_blocks), (2, 1));
    assert_eq!(rig.flash.erases(0).collect::<Vec<_>>(), [1, 1, 0, 0, 0, 0, 0, 0]);
    rig.flash.audit().expect("consistent");
}

#[test]
fn static_levelling_bounds_the_spread_of_erases_and_costs_moves() {
    let run = |static_gap: Option<u32>| {
        let mut spec = plane("15%");
        spec.wear = Some(WearSpec { static_gap, ..WearSpec::default() });
        // Half of the pages are never written again.
        let flash = written(&spec, 50, 100, 60);
        let counters = flash.counters(0, 0);
        println!("{static_gap:?}: spread {}, {:.3}", spread(&flash), amplification(counters));
        assert!(
            2 * counters.wear_erase_blocks <= counters.erase_blocks,
            "one block for a collection at most"
        );
        (spread(&flash), amplification(counters), counters.wear_move_pages, counters.gc_move_pages)
    };
    let (wide, cheap, none, _) = run(None);
    let (narrow, dear, moved, all) = run(Some(10));
    let (middle, dear_too, ..) = run(Some(30));
    assert_eq!(none, 0);
    assert!(moved > 0 && moved < all);
    // The limit, plus the erases that blocks gain while others wait for their turn.
    assert!(narrow <= 10 + 20 && middle <= 30 + 20 && wide > 150, "{narrow}, {middle}, {wide}");
    // Cold pages are moved, and then mix with hot ones.
    assert!(dear > 1.2 * cheap && dear_too > 1.2 * cheap, "{cheap:.3}, {dear_too:.3}, {dear:.3}");
}
