//! Collections that yield to host operations, computed by hand, and the effect on the tail of read times.
//!
//! The small device: a move takes 10 + 4 + 4 + 100 us (sense, out, in, program), an erase 1000, a read 14, a program
//! 104. The collection moves two pages.

use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{Domain, Preemption, SuspendSpec, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Level, Op, Share, State};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

/// A device of one channel, whose dies have separate buses or share one.
fn device(alone: bool) -> DeviceSpec {
    let mut spec = small(&[("channels = 2", "channels = 1"), ("blocking = \"plane\"", "blocking = \"die\"")]);
    spec.geometry.chips = if alone { 1 } else { 2 };
    spec
}

/// Brings a plane to the start of a collection, submits operations at the given times from there, and returns the
/// ends of the operations and of the collection. Even pages of `ops` lie in the collecting plane, odd ones in the
/// other plane of its die.
fn during_a_collection(spec: &DeviceSpec, level: Level, ops: &[(u64, Op)]) -> (Vec<u64>, u64) {
    let mut rig = Rig::new(spec, level);
    let chips = spec.geometry.chips;
    // Page `n` of the first plane and of the second, in the order CWDP.
    let dies = if level == Level::Ssd { chips } else { 1 };
    let first = |page: u32| page * 2 * dies;
    rig.flash.enable_gc_log();
    rig.one(0, write(dies));
    for page in (0..16).chain([0, 1, 4, 5, 8, 9, 12, 13]) {
        rig.one(0, write(first(page)));
    }
    rig.submit(0, write(first(0)));
    rig.run_until(rig.now + 104 * US);
    let start = rig.now;
    let tokens: Vec<u32> = ops
        .iter()
        .map(|&(at, op)| {
            rig.run_until(start + at * US);
            let page = if op.page % 2 == 1 { dies } else { first(op.page / 2) };
            rig.submit(0, Op { page, ..op })
        })
        .collect();
    rig.run();
    rig.flash.audit().unwrap_or_else(|error| panic!("{error}"));
    let row = rig.flash.drain_gc_log().next().expect("a collection");
    assert_eq!((row.start_ns, row.moved_pages), (start, 2));
    let ends = tokens.iter().map(|&token| (rig.of(token).end - start) / US).collect();
    (ends, (row.end_ns - start) / US)
}

/// Tests all paths to a die: from the queue of an SSD or from outside, over a separate bus or a shared one.
fn everywhere(mut change: impl FnMut(&mut DeviceSpec), ops: &[(u64, Op)], ends: &[u64], over: u64) {
    for alone in [true, false] {
        for level in [Level::Ssd, Level::Chip] {
            let mut spec = device(alone);
            change(&mut spec);
            spec.validate().unwrap_or_else(|error| panic!("{error}"));
            let found = during_a_collection(&spec, level, ops);
            assert_eq!(found, (ends.to_vec(), over), "alone: {alone}, {level:?}, {ops:?}");
        }
    }
}

#[test]
fn without_preemption_all_wait_for_the_end() {
    everywhere(|_| {}, &[(20, read(1))], &[1250], 1236);
}

#[test]
fn between_moves_a_read_comes_in_and_the_collection_is_as_much_later() {
    let moves = |spec: &mut DeviceSpec| spec.gc.preemption = Preemption::Moves;
    // The first move ends at 118: read until 132, move until 250, erase until 1250.
    everywhere(moves, &[(20, read(1))], &[132], 1250);
    // Also before the erase, at 236.
    everywhere(moves, &[(130, read(1))], &[250], 1250);
    // A read of a page of the victim, and a program to the plane that is being collected.
    everywhere(moves, &[(20, read(2 * 3))], &[132], 1250);
    everywhere(moves, &[(20, write(2 * 15))], &[222], 1340);
    // An erase is not aborted.
    everywhere(moves, &[(300, read(1))], &[1250], 1236);
}

#[test]
fn between_the_halves_of_a_move_a_read_comes_in_sooner() {
    let phases = |spec: &mut DeviceSpec| spec.gc.preemption = Preemption::Phases;
    // Sensed at 10, out at 14: read until 28, in and programmed until 132; 1118 more.
    everywhere(phases, &[(5, read(1))], &[28], 1250);
    everywhere(phases, &[(20, read(1))], &[132], 1250);
    // Undisturbed, the collection takes its normal time.
    everywhere(phases, &[(5000, read(1))], &[5014], 1236);
}

#[test]
fn no_more_than_a_batch_comes_in_at_one_point() {
    let reads = [20, 21, 22].map(|at| (at, read(1)));
    for (batch, ends, over) in
        [(8, [132, 146, 160], 1278), (2, [132, 146, 278], 1278), (1, [132, 264, 1278], 1264)]
    {
        let change = |spec: &mut DeviceSpec| {
            (spec.gc.preemption, spec.gc.preemption_batch) = (Preemption::Moves, batch)
        };
        everywhere(change, &reads, &ends, over);
    }
}

#[test]
fn at_the_hard_watermark_no_operation_starts() {
    for (hard, end, over) in [(1, 1250, 1236), (0, 132, 1250)] {
        let change = |spec: &mut DeviceSpec| {
            spec.gc.preemption = Preemption::Moves;
            spec.gc.hard_watermark = Some(Watermark::BlockCount(hard));
        };
        // One free block is left.
        everywhere(change, &[(20, read(1))], &[end], over);
    }
}

#[test]
fn a_preempted_collection_lets_go_of_its_whole_domain() {
    for level in [Level::Ssd, Level::Chip] {
        let mut spec = device(false);
        (spec.gc.blocking, spec.gc.preemption) = (Domain::Channel, Preemption::Moves);
        let mut rig = Rig::new(&spec, level);
        // A page of the other chip of the channel.
        let (member, page, step) = if level == Level::Ssd { (0, 1, 4) } else { (1, 0, 2) };
        rig.one(member, write(page));
        for page in (0..16).chain([0, 1, 4, 5, 8, 9, 12, 13]) {
            rig.one(0, write(page * step));
        }
        rig.submit(0, write(0));
        rig.run_until(rig.now + 104 * US);
        let start = rig.now;
        rig.run_until(start + 20 * US);
        let token = rig.submit(member, read(page));
        rig.run();
        // Sensed during the next move, at 128 us; the read's data cross first or second.
        let end = (rig.of(token).end - start) / US;
        assert!((132..=136).contains(&end), "{level:?}: {end}");
    }
}

#[test]
fn an_idle_die_collects_at_the_soft_watermark_and_stops_between_moves() {
    for level in [Level::Ssd, Level::Chip] {
        for alone in [true, false] {
            let run = |soft: Option<Watermark>, op: Option<(u64, Op)>| {
                let mut spec = device(alone);
                (spec.geometry.planes, spec.gc.soft_watermark) = (1, soft);
                let dies = if level == Level::Ssd { spec.geometry.chips } else { 1 };
                let mut rig = Rig::new(&spec, level);
                rig.flash.enable_gc_log();
                for page in (0..16).chain([0, 1, 4, 5]) {
                    rig.one(0, write(page * dies));
                }
                // This program opens the sixth block: two blocks are left free, one more than the low watermark.
                rig.submit(0, write(8 * dies));
                rig.run_until(rig.now + 104 * US);
                let start = rig.now;
                let token = op.map(|(at, op)| {
                    rig.run_until(start + at * US);
                    rig.submit(0, op)
                });
                rig.run();
                rig.flash.audit().unwrap_or_else(|error| panic!("{error}"));
                let rows = rig.flash.drain_gc_log();
                let rows: Vec<_> =
                    rows.map(|row| (row.block, row.moved_pages, (row.end_ns - start) / US)).collect();
                (rows, token.map(|token| (rig.of(token).end - start) / US))
            };
            let soft = Some(Watermark::BlockCount(2));
            assert_eq!(run(None, None), (vec![], None));
            // Two moves of 118 us, then the erase; three blocks are free then.
            assert_eq!(run(soft, None), (vec![(0, 2, 1236)], None));
            assert_eq!(run(soft, Some((20, read(0)))), (vec![(0, 2, 1250)], Some(132)));
            // Reads that keep arriving keep the collection waiting.
            assert_eq!(run(soft, Some((300, read(0)))), (vec![(0, 2, 1236)], Some(1250)));
        }
    }
}

/// The 99.9th percentile and the mean of reads, the write amplification, and the mean of programs, under a load
/// of reads and writes.
fn tail(change: impl Fn(&mut DeviceSpec)) -> (u64, u64, f64, u64) {
    let mut spec = small(&[("blocking = \"plane\"", "blocking = \"die\"")]);
    (spec.geometry.blocks, spec.geometry.pages) = (32, 16);
    spec.ftl.over_provisioning = Share(300_000);
    change(&mut spec);
    let mut flash = Flash::new(&spec, Level::Ssd, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    flash.precondition(State::Steady, Share::ALL, 1);
    let (mut rig, mut random, mut reads) = (Rig::over(flash), Prng::new(3), Vec::new());
    let mut writes = Vec::new();
    let pages = u64::from(rig.flash.logical_pages());
    for _ in 0..30_000 {
        let at = rig.now + random.below(300 * US);
        rig.run_until(at);
        let page = random.below(pages) as u32;
        if random.chance(7, 10) {
            reads.push(rig.submit(0, read(page)));
        } else {
            writes.push(rig.submit(0, write(page)));
        }
    }
    rig.run();
    rig.flash.audit().unwrap_or_else(|error| panic!("{error}"));
    let mut of = vec![0; rig.finished.len()];
    rig.finished.iter().for_each(|finished| of[finished.token as usize] = finished.end - finished.start);
    let mut latencies: Vec<u64> = reads.iter().map(|&token| of[token as usize]).collect();
    latencies.sort_unstable();
    let counters = rig.flash.counters(rig.now, 0);
    let amplification = 1.0 + counters.gc_move_pages as f64 / counters.program_pages as f64;
    let mean =
        |tokens: &[u32]| tokens.iter().map(|&token| of[token as usize]).sum::<u64>() / tokens.len() as u64;
    (latencies[latencies.len() * 999 / 1000], mean(&reads), amplification, mean(&writes))
}

#[test]
fn preemption_shortens_the_tail_of_reads_and_more_points_do_it_more() {
    let of = |preemption| tail(|spec| spec.gc.preemption = preemption);
    let all = [Preemption::Never, Preemption::Moves, Preemption::Phases].map(of);
    println!("99.9th percentile and mean of reads, write amplification: {all:?}");
    let [never, moves, phases] = all;
    assert!(moves.0 < never.0 && moves.1 < never.1 * 9 / 10);
    assert!(phases.1 < moves.1);
}

#[test]
fn collection_in_the_background_shortens_the_tail_and_moves_more() {
    let never = tail(|_| {});
    let soft = tail(|spec| spec.gc.soft_watermark = Some(Watermark::BlockCount(4)));
    println!("99.9th percentile and mean of reads, write amplification: {never:?} {soft:?}");
    assert!(soft.0 < never.0 && soft.1 < never.1);
    assert!(soft.2 > never.2, "what is collected early has more valid pages");
}

/// Suspending takes 3 us, resuming 2.
fn suspend() -> SuspendSpec {
    let (overhead, resume) = (Span(3 * US), Span(2 * US));
    SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 }
}

/// Checks the ends of a program on one plane of a die and of reads of the other plane at the given times from its
/// start.
fn suspended_program(suspend: SuspendSpec, reads: &[u64], ends: &[u64], program: u64) {
    for alone in [true, false] {
        for level in [Level::Ssd, Level::Chip] {
            let mut spec = device(alone);
            spec.suspend = Some(suspend);
            let mut rig = Rig::new(&spec, level);
            let other = if level == Level::Ssd { spec.geometry.chips } else { 1 };
            rig.one(0, write(other));
            let start = rig.now;
            let programmed = rig.submit(0, write(0));
            let tokens: Vec<u32> = reads
                .iter()
                .map(|at| {
                    rig.run_until(start + at * US);
                    rig.submit(0, read(other))
                })
                .collect();
            rig.run();
            let found: Vec<u64> = tokens.iter().map(|&token| (rig.of(token).end - start) / US).collect();
            let all = (found, (rig.of(programmed).end - start) / US);
            assert_eq!(all, (ends.to_vec(), program), "alone: {alone}, {level:?}, reads at {reads:?}");
        }
    }
}

#[test]
fn a_program_stops_for_reads_and_continues() {
    // Undisturbed: the bus until 4, the cells until 104.
    suspended_program(suspend(), &[], &[], 104);
    // At 24, 80 are left: suspended at 27, read until 41, resumed at 43.
    suspended_program(suspend(), &[24], &[41], 123);
    // On the bus: the cells begin at 4, are suspended at 7, read until 21.
    suspended_program(suspend(), &[2], &[21], 123);
    // With 2 us left, suspension would take longer.
    suspended_program(suspend(), &[102], &[118], 104);
    // A second read during the suspension, and one after it, with 63 left.
    suspended_program(suspend(), &[24, 30], &[41, 55], 137);
    suspended_program(suspend(), &[24, 60], &[41, 77], 142);
    let off = SuspendSpec { program: false, ..suspend() };
    suspended_program(off, &[24], &[118], 104);
}

#[test]
fn limits_of_suspending_are_kept() {
    let once = SuspendSpec { limit: 1, ..suspend() };
    suspended_program(once, &[24, 60], &[41, 137], 123);
    let one_read = SuspendSpec { reads: 1, ..suspend() };
    suspended_program(one_read, &[24, 30], &[41, 137], 123);
}

#[test]
fn erases_and_moves_stop_for_reads_too() {
    let both = |spec: &mut DeviceSpec| spec.suspend = Some(suspend());
    // The erase runs from 236 to 1236. At 500, 736 are left: suspended at 503, read until 517, resumed at 519.
    everywhere(both, &[(500, read(1))], &[517], 1255);
    // The first move's cells program from 18 to 118. At 20, 98 are left: read from 23 to 37, resumed at 39.
    everywhere(both, &[(20, read(1))], &[37], 1255);
    // During the sensing of the move: suspended when the cells begin to program, read from 21 to 35.
    everywhere(both, &[(5, read(1))], &[35], 1255);
    let programs = |spec: &mut DeviceSpec| spec.suspend = Some(SuspendSpec { erase: false, ..suspend() });
    everywhere(programs, &[(500, read(1))], &[1250], 1236);
}

#[test]
fn suspending_shortens_the_tail_of_reads_and_lengthens_programs() {
    let never = tail(|_| {});
    let suspended = tail(|spec| spec.suspend = Some(suspend()));
    println!(
        "99.9th percentile and mean of reads, write amplification, mean of programs: {never:?} {suspended:?}"
    );
    assert!(suspended.0 < never.0 / 2 && suspended.1 < never.1 / 2);
    assert!(suspended.3 > never.3);
}
