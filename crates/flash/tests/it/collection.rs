//! Garbage collection, computed by hand.
//!
//! The small device: 8 blocks of 4 pages in a plane, 16 of the 32 pages exported, collection when 1 block is left
//! free. Moving a page takes 10 + 2 x 4 + 100 = 118 us, an erase 1000 us.

use stripewise_flash::spec::{Domain, GcSpan, GcStart, Preemption, Victim, Watermark};
use stripewise_flash::{Collected, DeviceSpec, Flash, Level, Media, Share};

use crate::support::{Rig, pinning, read, small, trim, write};

const US: u64 = 1000;

fn log(rig: &mut Rig<impl Media>) -> Vec<Collected> {
    rig.flash.drain_gc_log().collect()
}

/// One plane whose six written blocks have 1, 1, 1, 4, 4 and 4 valid pages: one more program makes it collect.
fn about_to_collect(spec: &DeviceSpec) -> Rig {
    let mut rig = Rig::new(spec, Level::Chip);
    rig.flash.enable_gc_log();
    // Pages 0 to 15 fill four blocks. All but the last page of each of the first three blocks are written again. The
    // last three pages of the fourth block fill up with those of the first three blocks, so that one free block and
    // no open block are left.
    let again = [0, 1, 2, 4, 5, 6, 8, 9];
    for page in (0..16).chain(again).map(|page| page * u32::from(spec.geometry.planes as u16)) {
        rig.one(0, write(page));
    }
    assert!(log(&mut rig).is_empty());
    rig
}

fn one_plane() -> DeviceSpec {
    small(&[("planes = 2", "planes = 1")])
}

#[test]
fn moving_a_page_takes_its_cells_and_two_transfers_and_the_block_its_erase() {
    let mut rig = about_to_collect(&one_plane());
    let trigger = rig.one(0, write(10));
    // The first block, with page 3 valid, is the first of three blocks with one valid page.
    let rows = log(&mut rig);
    assert_eq!(rows.len(), 1);
    let expected = Collected {
        member: 0,
        plane: 0,
        block: 0,
        moved_pages: 1,
        start_ns: trigger.end,
        end_ns: trigger.end + 1118 * US,
    };
    assert_eq!(rows[0], expected);
    let counters = rig.flash.counters(rig.now, 0);
    assert_eq!((counters.gc_move_pages, counters.erase_blocks, counters.gc_busy_ns), (1, 1, 1118 * US));
    assert_eq!(counters.cell_busy_ns, (25 * 100 + 10 + 100 + 1000) * US);
    assert_eq!(counters.bus_busy_ns, (25 * 4 + 8) * US);
    rig.flash.audit().expect("consistent");
}

#[test]
fn a_busy_span_takes_the_same_cell_times_and_no_bus() {
    let mut spec = one_plane();
    spec.gc.span = GcSpan::Busy;
    let mut rig = about_to_collect(&spec);
    rig.one(0, write(10));
    let rows = log(&mut rig);
    assert_eq!((rows[0].moved_pages, rows[0].end_ns - rows[0].start_ns), (1, 1110 * US));
    assert_eq!(rig.flash.counters(rig.now, 0).bus_busy_ns, 25 * 4 * US);
}

/// The first collection of a plane whose best victim has `valid` valid pages.
fn first_collection(mut spec: DeviceSpec, level: Level, valid: u32) -> Collected {
    spec.geometry.blocks = 40;
    spec.gc.low_watermark = Watermark::BlockCount(4);
    let of = spec.data_pages();
    let g = &spec.geometry;
    let planes = match level {
        Level::Ssd => g.channels * g.chips * g.planes,
        Level::Channel => g.chips * g.planes,
        Level::Chip => g.planes,
    };
    // Static allocation, so that the pages of one plane are known.
    spec.ftl.pool = stripewise_flash::spec::Pool::Plane;
    let mut rig = Rig::new(&spec, level);
    rig.flash.enable_gc_log();
    let blocks = spec.logical_per_plane() / of;
    let pages = |block: u32, count: u32| (0..count).map(move |page| (block * of + page) * planes);
    let fill = (0..blocks).flat_map(|block| pages(block, of));
    let again = (0..blocks).flat_map(|block| pages(block, of - valid));
    for page in fill.chain(again) {
        rig.one(0, write(page));
        // The collection may wait for a host operation that needs the die.
        rig.one(0, read(page));
        if let Some(row) = log(&mut rig).pop() {
            return row;
        }
    }
    panic!("nothing was collected");
}

fn preset(name: &str) -> DeviceSpec {
    DeviceSpec::preset(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn disksim_cleans_a_block_with_7_valid_pages_in_3_075_ms() {
    for name in ["disksim-suite", "paper001", "paper003", "paper004"] {
        for level in [Level::Chip, Level::Ssd] {
            let row = first_collection(preset(name), level, 7);
            // No summary is written during the collection: 7 of the 63 pages of a block.
            assert_eq!((row.moved_pages, row.end_ns - row.start_ns), (7, 3_075_000), "{name}, {level:?}");
        }
    }
    // Steps with copy-back take the same time if no host operation starts in between.
    let mut steps = preset("paper003-preemptive");
    (steps.gc.preemption, steps.gc.hard_watermark) = (Preemption::Never, None);
    let row = first_collection(steps, Level::Ssd, 7);
    assert_eq!((row.moved_pages, row.end_ns - row.start_ns), (7, 3_075_000));
}

#[test]
fn the_ssdsim_fork_moves_20_pages_in_16_54_ms_and_erases_in_3_5_ms() {
    let row = first_collection(preset("ssdsim-5+1"), Level::Channel, 20);
    // 20 x (2 x 7 cycles of 5 ns + 45 us + 2 x 8192 x 5 ns + 700 us) + 5 cycles + 3.5 ms.
    let moves = 20 * (2 * 35 + 45_000 + 2 * 40_960 + 700_000);
    assert_eq!(moves, 16_539_800);
    assert_eq!((row.moved_pages, row.end_ns - row.start_ns), (20, moves + 25 + 3_500_000));
}

/// Ends of reads of the collecting plane, of the other plane of its die, of the other chip of its channel and of the
/// other channel, from the start of the collection; and the part of each that was waiting for the collection.
fn reads_during_a_collection(spec: &DeviceSpec) -> [(u64, u64); 4] {
    let mut rig = Rig::new(spec, Level::Ssd);
    let again = [0, 1, 2, 4, 5, 6, 8, 9];
    // Pages 0, 8, 16 … lie in one plane.
    for page in (0..16).chain(again).map(|page| page * 8).chain([4, 2, 1]) {
        rig.one(0, write(page));
    }
    let trigger = rig.submit(0, write(10 * 8));
    rig.run_until(rig.now + 104 * US);
    let start = rig.of(trigger).end;
    // The move has left the bus by then.
    rig.run_until(start + 20 * US);
    let tokens = [3 * 8, 4, 2, 1].map(|page| rig.submit(0, read(page)));
    rig.run();
    tokens.map(|token| {
        let finished = rig.of(token);
        ((finished.end - start) / US, finished.done.gc_wait_ns / US)
    })
}

#[test]
fn collection_keeps_host_operations_out_of_its_domain() {
    let mut spec = small(&[]);
    let mut during = |domain| {
        spec.gc.blocking = domain;
        reads_during_a_collection(&spec)
    };
    // A read submitted 20 us after the start and not delayed is done at 34. The move ends at 118, then the erase
    // takes until 1118. Two reads of a die follow one another.
    let free = (34, 0);
    // The other plane is served between the two steps, so the erase ends 14 us later.
    assert_eq!(during(Domain::Plane), [(1146, 1112), (132, 98), free, free]);
    assert_eq!(during(Domain::Die), [(1132, 1098), (1146, 1098), free, free]);
    // Two dies on one bus: the transfers of the other chip and of the collecting one follow one another.
    assert_eq!(during(Domain::Channel), [(1136, 1098), (1150, 1098), (1132, 1098), free]);
    assert_eq!(during(Domain::Device), [(1136, 1098), (1150, 1098), (1132, 1098), (1132, 1098)]);
}

#[test]
fn an_erase_may_block_less_than_the_moves_before_it() {
    let mut spec = small(&[]);
    (spec.gc.blocking, spec.gc.erase_blocking) = (Domain::Device, Some(Domain::Die));
    // All reads wait for the move; the erase blocks only its die.
    let during = reads_during_a_collection(&spec);
    assert_eq!(during, [(1132, 1098), (1146, 1098), (132, 98), (132, 98)]);
    spec.gc.erase_blocking = Some(Domain::Channel);
    let during = reads_during_a_collection(&spec);
    assert_eq!(during, [(1136, 1098), (1150, 1098), (1132, 1098), (132, 98)]);
}

#[test]
fn the_clock_of_a_member_counts_what_holds_it_up() {
    let mut spec = small(&[]);
    spec.gc.blocking = Domain::Channel;
    let mut rig = Rig::new(&spec, Level::Chip);
    // Pages of one plane of member 0, which shares its channel with member 1.
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9, 10]).map(|page| page * 2) {
        rig.one(0, write(page));
    }
    assert_eq!([0, 1, 2].map(|member| rig.flash.gc_clock(rig.now, member) / US), [1118, 1118, 0]);
    // The difference of readings gives a controller's queue the part of a wait that was collection.
    let mut rig = Rig::new(&spec, Level::Chip);
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]).map(|page| page * 2) {
        rig.one(0, write(page));
    }
    rig.submit(0, write(20));
    let end = rig.now + 104 * US;
    rig.run_until(end + 500 * US);
    assert!(rig.flash.is_collecting(0) && rig.flash.is_collecting(1) && !rig.flash.is_collecting(2));
    assert_eq!(rig.flash.gc_clock(rig.now, 1), 500 * US);
    rig.run();
    assert!(!rig.flash.is_collecting(0) && !rig.flash.is_collecting(1));
}

/// A device of one die, which collects when `start` says so.
fn one_die(start: GcStart) -> DeviceSpec {
    let mut spec =
        small(&[("planes = 2", "planes = 1"), ("channels = 2", "channels = 1"), ("chips = 2", "chips = 1")]);
    (spec.gc.start, spec.gc.blocking) = (start, Domain::Die);
    spec
}

/// Pages whose writes, one after the other, make a collection of that die due with the last.
fn until_due() -> impl Iterator<Item = u32> {
    (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9, 10])
}

#[test]
fn collection_on_demand_waits_for_somebody_who_wants_the_die() {
    for level in [Level::Ssd, Level::Chip] {
        let ends = [GcStart::AtOnce, GcStart::OnDemand].map(|start| {
            let mut rig = Rig::new(&one_die(start), level);
            until_due().for_each(|page| _ = rig.one(0, write(page)));
            // A read arrives much later.
            rig.now += 5000 * US;
            let now = rig.now;
            (rig.one(0, read(3)).end - now) / US
        });
        assert_eq!(ends, [14, 1118 + 14], "{level:?}");
    }
}

#[test]
fn collection_on_write_ends_the_program_that_made_it_due_and_delays_no_later_operation() {
    for level in [Level::Ssd, Level::Chip] {
        let of = |start: GcStart| {
            let mut rig = Rig::new(&one_die(start), level);
            let mut took = Vec::new();
            for page in until_due() {
                let now = rig.now;
                took.push((rig.one(0, write(page)).end - now) / US);
            }
            rig.run();
            let now = rig.now;
            let read = (rig.one(0, read(3)).end - now) / US;
            (took, read, rig.flash.counters(rig.now, 0).erase_blocks)
        };
        let ((on_write, read, erases), (at_once, ..)) = (of(GcStart::OnWrite), of(GcStart::AtOnce));
        assert_eq!((read, erases), (14, 1), "{level:?}: the read finds the die idle");
        let (last, before) = (on_write.len() - 1, on_write[0]);
        assert_eq!(on_write[..last], at_once[..last], "{level:?}: no other program waits");
        assert_eq!(on_write[last], before + 1118, "{level:?}: the last one waits for its collection");
    }
}

#[test]
fn a_program_that_waits_for_its_collection_ends_before_what_waits_behind_it() {
    for level in [Level::Ssd, Level::Chip] {
        let mut rig = Rig::new(&one_die(GcStart::OnWrite), level);
        let pages: Vec<u32> = until_due().collect();
        let (last, before) = pages.split_last().expect("pages");
        before.iter().for_each(|page| _ = rig.one(0, write(*page)));
        let (program, behind) = (rig.submit(0, write(*last)), rig.submit(0, read(3)));
        // No operation is lost, which the rig checks.
        rig.run();
        let (program, behind) = (rig.of(program), rig.of(behind));
        assert_eq!(program.done.gc_wait_ns / US, 1118, "{level:?}: its wait is one for garbage collection");
        assert_eq!(
            (behind.end - program.end) / US,
            14,
            "{level:?}: the read begins when the program is done"
        );
    }
}

#[test]
fn what_contradicts_collection_on_write_is_refused() {
    let refusal = |change: fn(&mut DeviceSpec)| {
        let mut spec = one_plane();
        (spec.gc.start, spec.gc.blocking) = (GcStart::OnWrite, Domain::Die);
        assert_eq!(spec.validate().err(), None);
        change(&mut spec);
        spec.validate().expect_err("a contradiction").to_string()
    };
    for text in [
        refusal(|spec| spec.gc.blocking = Domain::Plane),
        refusal(|spec| spec.gc.erase_blocking = Some(Domain::Plane)),
        refusal(|spec| spec.gc.preemption = Preemption::Moves),
    ] {
        assert!(text.contains("gc.start = \"on-write\" cannot go with gc."), "{text}");
    }
}

#[test]
fn collection_starts_at_the_low_watermark_and_ends_above_the_high_one() {
    // A plane has 32 pages, 16 of them exported. Returns free pages at the start of a collection, and when the device
    // is idle.
    let run = |low: Watermark, high: Option<Watermark>| {
        let mut spec = one_plane();
        (spec.gc.low_watermark, spec.gc.high_watermark) = (low, high);
        let mut rig = Rig::new(&spec, Level::Chip);
        rig.flash.enable_gc_log();
        let mut random = stripewise_base::prng::Prng::new(1);
        let (mut at_start, mut after) = (Vec::new(), Vec::new());
        for page in 0..300 {
            let before = rig.flash.estimate(0).free_pages;
            rig.one(0, write(if page < 16 { page } else { random.below(16) as u32 }));
            if !log(&mut rig).is_empty() {
                at_start.push(before - 1);
                after.push(rig.flash.estimate(0).free_pages);
            }
        }
        let range = |counts: Vec<u32>| (counts.iter().min().copied(), counts.iter().max().copied());
        (range(at_start), range(after), rig.flash.counters(rig.now, 0).erase_blocks)
    };
    // A quarter of 32 pages is 8: a collection starts when exactly 8 are left, and frees at least one page.
    let (start, (least, _), _) = run(Watermark::Pages(Share(250_000)), None);
    assert_eq!(start, (Some(8), Some(8)));
    assert!(least >= Some(9));
    // Two free blocks are left when the third last is opened: 3 of its pages and 2 x 4.
    let (start, (least, _), _) = run(Watermark::BlockCount(2), None);
    assert_eq!(start, (Some(11), Some(11)));
    assert!(least >= Some(12));
    assert_eq!(run(Watermark::Blocks(Share(250_000)), None).0, (Some(11), Some(11)));
    // With a higher high watermark, a collection frees more, so there are fewer collections.
    let (start, (least, _), _) =
        run(Watermark::Pages(Share(125_000)), Some(Watermark::Pages(Share(300_000))));
    assert_eq!(start, (Some(4), Some(4)));
    assert!(least >= Some(10));
}

#[test]
fn each_policy_takes_the_block_that_it_is_named_after() {
    // Written blocks 0 to 5 have 3, 1, 1, 4, 4 and 4 valid pages when the seventh is opened.
    let victims = |victim: Victim, seed: u64| {
        let mut spec = one_plane();
        spec.gc.victim = victim;
        let mut rig = Rig::over(Flash::new(&spec, Level::Chip, 1, seed).expect("valid"));
        rig.flash.enable_gc_log();
        for page in (0..16).chain([0, 4, 5, 6, 8, 9, 10, 12, 12]) {
            rig.one(0, write(page));
        }
        log(&mut rig)[0].block
    };
    assert_eq!(victims(Victim::Greedy, 1), 1);
    assert_eq!(victims(Victim::Fifo, 1), 0);
    let of =
        |victim| -> std::collections::BTreeSet<u32> { (0..200).map(|seed| victims(victim, seed)).collect() };
    assert_eq!(of(Victim::Random), (0..6).collect());
    assert_eq!(of(Victim::DChoices(1)), (0..6).collect());
    // With this many choices, only a block with the fewest valid pages is taken.
    assert_eq!(of(Victim::DChoices(60)), [1, 2].into());
}

#[test]
fn a_pinned_version_is_moved_as_if_it_were_valid_and_released_as_invalid() {
    let moved = |pin: bool, release: bool| {
        let mut rig = Rig::new(&one_plane(), Level::Chip);
        rig.flash.enable_gc_log();
        for page in 0..16 {
            rig.one(0, write(page));
        }
        // Page 3 of the first block stays valid, and so does page 0 if its old version is pinned.
        rig.one(0, if pin { pinning(0) } else { write(0) });
        if release {
            rig.release(0, 0);
        }
        for page in [1, 2, 4, 5, 8, 9, 12, 13] {
            rig.one(0, write(page));
        }
        rig.flash.audit().expect("consistent");
        let row = log(&mut rig)[0];
        (row.block, row.moved_pages)
    };
    assert_eq!(moved(false, false), (0, 1));
    assert_eq!(moved(true, true), (0, 1));
    // Then every block has two valid pages, and the first block is taken.
    assert_eq!(moved(true, false), (0, 2));
}

#[test]
fn trimmed_pages_are_not_moved() {
    let moved = |trimmed: bool| {
        let mut rig = about_to_collect(&one_plane());
        if trimmed {
            rig.one(0, trim(3));
        }
        rig.one(0, write(10));
        log(&mut rig)[0].moved_pages
    };
    assert_eq!((moved(false), moved(true)), (1, 0));
}

#[test]
fn a_plane_full_of_valid_and_pinned_pages_stops_collecting_until_one_is_released() {
    let mut rig = Rig::new(&one_plane(), Level::Chip);
    for page in 0..16 {
        rig.one(0, write(page));
    }
    let mut held = 0;
    // Every version that can be pinned is pinned.
    for page in 0..16 {
        rig.submit(0, pinning(page));
        rig.run_until(rig.now + 5000 * US);
        held = rig.flash.pinned();
        if held == page as usize {
            break;
        }
    }
    // 16 valid and 12 pinned pages; the last free block is kept for collection.
    assert_eq!((held, rig.flash.estimate(0).free_pages), (12, 4));
    assert!(rig.flash.counters(rig.now, 0).gc_stalls > 0);
    rig.release(0, 5);
    rig.run();
    assert_eq!(rig.flash.pinned(), 12);
    rig.flash.audit().expect("consistent");
}
