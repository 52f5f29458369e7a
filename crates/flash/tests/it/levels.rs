//! Read levels in time, computed by hand, and their effects.
//!
//! The small device reads in 10 us; with steps of 4 us, its levels take 10, 24, 42, 64, 90, 120 and 154 us. The rates
//! are chosen so that every read of a block is one level higher than the last, up to the seventh.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{AgeSpec, GcSpan, LEVELS, LdpcSpec};
use stripewise_flash::{DeviceSpec, Flash, Level, Share, State};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;
const TIMES: [u64; LEVELS] = [10, 24, 42, 64, 90, 120, 154];

/// A block that was just erased needs level `reads + 1`; retries do not count as reads.
fn rising(mut spec: DeviceSpec) -> DeviceSpec {
    let mut ldpc = LdpcSpec {
        rber_ppm: [0; 8],
        rber_ppb_per_read: [1_000; 8],
        retry_disturb: false,
        ..LdpcSpec::default()
    };
    ldpc.retry_step.0 = 4 * US;
    ldpc.level_rber_ppm = [1, 2, 3, 4, 5, 6];
    spec.ldpc = Some(ldpc);
    spec
}

#[test]
fn each_read_of_a_block_takes_its_level_and_the_die_is_busy_for_all_of_it() {
    // With a separate bus for the die, and with a shared one.
    for chips in ["chips = 1", "chips = 2"] {
        for level in [Level::Ssd, Level::Chip] {
            let mut rig = Rig::new(&rising(small(&[("chips = 2", chips)])), level);
            // Pages of one plane at either level; the first four share a block.
            let stride = if level == Level::Ssd { 4 * if chips == "chips = 1" { 1 } else { 2 } } else { 2 };
            for page in 0..5 {
                rig.one(0, write(page * stride));
            }
            for (reads, expected) in TIMES.into_iter().chain([154]).enumerate() {
                let page = reads as u32 % 4 * stride;
                assert_eq!(rig.flash.read_ns(0, page), expected * US);
                let start = rig.now;
                let done = rig.one(0, read(page));
                assert_eq!((done.done.cell_ns, done.end - start), (expected * US, (expected + 4) * US));
            }
            // Another block is unaffected.
            assert_eq!(rig.one(0, read(4 * stride)).done.cell_ns, 10 * US);
            let counters = rig.flash.counters(rig.now, 0);
            assert_eq!(counters.level_reads, [2, 1, 1, 1, 1, 1, 2]);
            assert_eq!(counters.read_retries(), 1 + 2 + 3 + 4 + 5 + 2 * 6);
            let reads: u64 = TIMES.iter().sum::<u64>() + 154 + 10;
            assert_eq!(counters.cell_busy_ns, (5 * 100 + reads) * US);
        }
    }
}

#[test]
fn a_retry_disturbs_its_block_as_a_read_does() {
    let mut spec = rising(small(&[]));
    if let Some(ldpc) = &mut spec.ldpc {
        ldpc.retry_disturb = true;
    }
    let mut rig = Rig::new(&spec, Level::Chip);
    rig.one(0, write(0));
    // Reads so far: 0, 1, then 1 + 2 = 3, then 3 + 4 = 7.
    let times = [0; 4].map(|page| rig.one(0, read(page)).done.cell_ns / US);
    assert_eq!(times, [10, 24, 64, 154]);
}

#[test]
fn moves_read_at_the_level_of_their_block_and_the_forecast_knows() {
    for (span, bus) in [(GcSpan::Steps, 8), (GcSpan::Busy, 0)] {
        let mut spec = rising(small(&[("planes = 2", "planes = 1")]));
        spec.gc.span = span;
        let mut rig = Rig::new(&spec, Level::Chip);
        rig.flash.enable_gc_log();
        // As in `collection.rs`: the next program starts the collection of the first block, which contains page 3.
        for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
            rig.one(0, write(page));
        }
        // Two reads; the read of the move is then at level 3.
        rig.one(0, read(3));
        rig.one(0, read(3));
        rig.one(0, write(10));
        let row = rig.flash.drain_gc_log().next().expect("a collection");
        assert_eq!(row.end_ns - row.start_ns, (42 + bus + 100 + 1000) * US, "{span:?}");
        assert_eq!(rig.flash.gc_average_ns(0), (42 + 100 + 1000) * US);
        assert_eq!(rig.flash.counters(rig.now, 0).level_reads[..3], [1, 1, 1]);
        // Page 3 lies in a block that has not been read.
        assert_eq!(rig.one(0, read(3)).done.cell_ns, 10 * US);
        rig.flash.audit().expect("consistent");
    }
}

#[test]
fn the_erases_of_a_member_are_those_of_its_age_and_its_own() {
    let mut spec = small(&[("planes = 2", "planes = 1")]);
    assert_eq!(Rig::new(&spec, Level::Chip).flash.wear(0), None);
    spec.age = Some(AgeSpec { erases: [100, 101], ..AgeSpec::default() });
    let mut rig = Rig::new(&spec, Level::Chip);
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9, 10]) {
        rig.one(0, write(page));
    }
    let wear = rig.flash.wear(0).expect("kept");
    assert_eq!((wear.least_erases, wear.most_erases, wear.total_erases), (100, 101, 801));
    let other = rig.flash.wear(1).expect("kept");
    assert_eq!((other.most_erases, other.total_erases), (100, 800));
}

#[test]
fn preconditioning_leaves_a_device_at_its_age() {
    let mut spec = DeviceSpec::preset("ssdsim-5+1-ldpc").unwrap_or_else(|error| panic!("{error}"));
    spec.geometry.blocks = 64;
    let wear = |state| {
        let mut flash = Flash::new(&spec, Level::Channel, 1, 9).unwrap_or_else(|error| panic!("{error}"));
        flash.precondition(state, Share(700_000), 3);
        flash.audit().unwrap_or_else(|error| panic!("{error}"));
        (0..6).map(|member| flash.wear(member).expect("kept")).collect::<Vec<_>>()
    };
    let steady = wear(State::Steady);
    assert_eq!(steady, wear(State::Written));
    assert!(steady.iter().all(|wear| wear.least_erases >= 4_000 && wear.most_erases < 8_000));
}

#[test]
fn an_aged_device_reads_more_slowly_than_a_new_one_and_says_how_often() {
    // Mean response time of random reads, one at a time, and the share of reads above level 1.
    let run = |preset: &str, aged: bool| {
        let mut spec = DeviceSpec::preset(preset).unwrap_or_else(|error| panic!("{error}"));
        spec.geometry.blocks = 64;
        spec.age = spec.age.filter(|_| aged);
        let mut flash = Flash::new(&spec, Level::Channel, 1, 1).unwrap_or_else(|error| panic!("{error}"));
        flash.precondition(State::Steady, Share(700_000), 1);
        let (mut rig, mut random) = (Rig::over(flash), Prng::new(3));
        let pages = Share(700_000).of(rig.flash.logical_pages().into()) / 2;
        let mut busy = 0;
        for _ in 0..4_000 {
            let found = rig.one(random.below(6) as u32, read(random.below(pages) as u32));
            busy += found.end - found.start;
        }
        let counters = (0..6).map(|member| rig.flash.counters(rig.now, member));
        let beyond: u64 = counters.map(|c| c.level_reads[1..].iter().sum::<u64>()).sum();
        (busy / 4_000, beyond)
    };
    let (plain, none) = run("ssdsim-5+1", true);
    let (new, few) = run("ssdsim-5+1-ldpc", false);
    let (aged, many) = run("ssdsim-5+1-ldpc", true);
    println!(
        "mean read: {plain} ns without levels, {new} ns new, {aged} ns aged; {many} of 4000 beyond level 1"
    );
    assert_eq!((plain, none, few), (new, 0, 0));
    // Reads of N(9000, 2500) lie around the limits of the second level, 9.2, 8.5, 8.1 and 7.5 thousand.
    assert!((1_600..3_200).contains(&many), "{many}");
    assert!(aged > plain + 30_000, "{aged} and {plain}");
}
