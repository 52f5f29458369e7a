//! Tests of the stress test: it passes, it repeats exactly, and it covers all features.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use stripewise_array::Class;
use stripewise_array::cache::CachePolicy;
use stripewise_array::coordination::{CoordinationPolicy, CoordinationSection};
use stripewise_array::dispatch::{Discipline, Dispatch};
use stripewise_array::geometry::Level as Raid;
use stripewise_array::placement::{ClassBy, ElasticSection, ParityLoggingSection};
use stripewise_check::{Case, Options, Seen, Summary, run, stress};

/// Totals over seeds.
#[derive(Default)]
struct Sums {
    all: Summary,
    /// Totals of RAID-6 cases.
    raid6: Summary,
    /// Number of RAID-6 cases that ended with two or more lost members.
    two_lost: u32,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.all.add(&other.all);
        self.raid6.add(&other.raid6);
        self.two_lost += other.two_lost;
    }
}

/// Runs seeds on all processors; a failure states how to replay it.
fn stress(seeds: std::ops::Range<u64>) -> Sums {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let start = |first| {
            let share = seeds.clone().skip(first).step_by(threads);
            scope.spawn(move || stress_each(share))
        };
        let shares: Vec<_> = (0..threads).map(start).collect();
        shares.into_iter().fold(Sums::default(), |mut sums, share| {
            sums.add(&share.join().unwrap_or_else(|failure| std::panic::resume_unwind(failure)));
            sums
        })
    })
}

fn stress_each(seeds: impl Iterator<Item = u64>) -> Sums {
    let mut sums = Sums::default();
    for seed in seeds {
        let case = stress::case(seed);
        match run(&case, Options::default()) {
            Ok(summary) => {
                sums.all.add(&summary);
                if case.scheme.geometry.level == Raid::Raid6 {
                    sums.raid6.add(&summary);
                    sums.two_lost += u32::from(summary.lost >= 2);
                }
            }
            Err(failure) => {
                let replay = format!("cargo run -p stripewise-check -- --seed {seed} --verbose");
                panic!("seed {seed} fails at {failure}; replay: {replay}");
            }
        }
    }
    sums
}

#[test]
fn the_first_seeds_keep_every_promise_and_go_everywhere() {
    let Sums { all, raid6, two_lost } = stress(0..4000);
    for Summary { seen, operations, .. } in [all, raid6] {
        goes_everywhere(&seen, &operations);
    }
    let Summary { seen, faults, lost, moved, erased, collected, .. } = all;
    for (whose, count) in ["reads", "updates", "commits"].iter().zip(seen.folds) {
        assert!(count > 200, "{count} {whose} read deltas");
    }
    assert!(seen.others > 200 && seen.refused > 1_000 && seen.failed > 1_000, "{seen:?}");
    for (plans, count) in ["stripes", "partial writes", "collected stripes"].iter().zip(seen.log) {
        assert!(count > 5_000, "{count} {plans} of logs");
    }
    assert!(collected > 5_000 && seen.no_space > 50, "{collected} segments collected, {seen:?}");
    assert!(faults > 1_000 && lost > 500, "{faults} faults, {lost} members lost");
    let Summary { over_limit, kept_over_limit, .. } = all;
    assert!(
        over_limit > 50 && kept_over_limit > 200,
        "{over_limit} failed by the limit, {kept_over_limit} kept"
    );
    assert!(moved > 10_000 && erased > 10_000, "{moved} pages moved, {erased} blocks erased");
    assert!(seen.succeeded > 12 * seen.failed, "{seen:?}: what fails shows little");
    assert!(raid6.seen.succeeded > 12 * raid6.seen.failed, "{:?}: what fails shows little", raid6.seen);
    assert!(seen.power_losses > 500 && seen.resyncs > 5_000, "{seen:?}");
    assert!(seen.holes > 100, "{} chunks lost in write holes", seen.holes);
    assert!(two_lost > 300, "{two_lost} runs of RAID-6 lost two members");
}

/// Checks that every routine, every kind of read and every class of operations occurs.
fn goes_everywhere(seen: &Seen, operations: &[u64; Class::COUNT]) {
    for (routine, count) in
        ["plain", "full stripe", "RMW", "RCW", "reconstruct", "log"].iter().zip(seen.routines)
    {
        assert!(count > 200, "{routine}: {count} updates");
    }
    for (hold, count) in ["direct", "shared", "alone"].iter().zip(seen.reads) {
        assert!(count > 200, "{hold}: {count} reads");
    }
    for class in [
        Class::HostRead,
        Class::HostWrite,
        Class::PreRead,
        Class::Parity,
        Class::Log,
        Class::Decode,
        Class::Repair,
        Class::Metadata,
    ] {
        assert!(operations[class as usize] > 200, "{}: {}", class.name(), operations[class as usize]);
    }
}

#[test]
fn first_writes_that_wait_until_their_row_can_be_encoded_keep_every_promise() {
    for seed in 0..800 {
        let case = stress::encoding(seed);
        run(&case, Options::default()).unwrap_or_else(|failure| panic!("seed {seed} fails at {failure}"));
    }
}

#[test]
fn writes_that_share_few_rows_keep_every_promise() {
    for seed in 0..800 {
        let case = stress::hot_rows(seed);
        run(&case, Options::default()).unwrap_or_else(|failure| panic!("seed {seed} fails at {failure}"));
    }
}

#[test]
fn more_seeds_keep_every_promise() {
    stress(4000..14_000);
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let trace = |case: &Case| {
        let lines = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&lines);
        let tracer =
            Box::new(move |event: u64, line: &str| sink.borrow_mut().push(format!("{event} {line}")));
        let summary = run(case, Options { tracer: Some(tracer), ..Options::default() });
        (summary, lines.take())
    };
    for seed in 0..20 {
        let (first, second) = (trace(&stress::case(seed)), trace(&stress::case(seed)));
        assert_eq!(first, second, "seed {seed}");
        assert!(first.1.len() > 10);
        assert_eq!(first.0, run(&stress::case(seed), Options::default()), "a trace changes nothing");
    }
}

/// How often each member of each axis is drawn, by its text in TOML.
fn drawn(seeds: u64) -> (BTreeMap<String, u32>, u32) {
    let mut counts = BTreeMap::new();
    let mut beyond = 0;
    for seed in 0..seeds {
        let case = stress::case(seed);
        let geometry = case.geometry().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let level = match geometry.level {
            Raid::Raid0 => "RAID-0",
            Raid::Raid5 => "RAID-5",
            Raid::Raid6 => "RAID-6",
        };
        let mut count = |name: String| *counts.entry(name).or_insert(0) += 1;
        count(level.into());
        if geometry.level == Raid::Raid6 {
            count(format!("code {:?}, prime {:?}", case.scheme.code.kind, case.scheme.code.prime));
            count(format!("RAID-6 by {:?}", case.scheme.update));
        }
        count(format!("{} members", geometry.members));
        count(format!("{} groups", case.scheme.geometry.groups));
        count(format!("{level} {}", geometry.membership));
        count(format!("chunk of {}", geometry.chunk_pages));
        count(format!("{:?}", geometry.rotation));
        count(format!("{:?}", case.scheme.update));
        count(format!("{:?}", case.scheme.placement.first_writes));
        count(format!("{:?} buffer", case.scheme.placement.buffer_persistence));
        count(format!("order {:?}", case.scheme.dispatch.order));
        count(format!("lookahead {}", case.scheme.dispatch.lookahead));
        let Dispatch { policy, queue, strict, sync, overtake, .. } = case.scheme.dispatch;
        count(format!("{policy:?}"));
        count(format!("{queue:?} queued"));
        match policy {
            Discipline::AsyncFifo => {}
            Discipline::SyncFifo => count(format!("strict {strict}")),
            Discipline::Piq => count(format!("PIQ sync {sync}")),
        }
        if policy == Discipline::Piq {
            count(format!("overtakes {overtake}"));
        }
        count(format!("{} plans", case.scheme.queues.plans));
        count(format!("{:?}", case.members.level));
        count(format!("{:?}", case.device.gc.victim));
        count(format!("blocking {:?}", case.device.gc.blocking));
        count(format!("{:?}", case.device.gc.span));
        count(format!("{:?}", case.device.gc.start));
        count(format!("pool {:?}", case.device.ftl.pool));
        count(format!("{:?}", case.device.ftl.choice));
        count(format!("depth {}", case.depth));
        count(format!("{:?}", case.scheme.parity.acknowledge));
        count(format!("{:?} late", case.scheme.parity.window));
        count(format!("{:?}", case.scheme.placement.policy));
        if case.scheme.parity_log_members() > 0 {
            let ParityLoggingSection { capacity, row_deltas, commit, high_watermark, commits, .. } =
                case.scheme.parity_logging;
            count(format!(
                "log of {:?} pages",
                capacity.map(|capacity| capacity.0 / u64::from(case.page_bytes()))
            ));
            count(format!("{row_deltas} deltas a row"));
            count(format!("commit {commit:?} from {high_watermark}"));
            count(format!("{commits} commits"));
            let is_log = |loss: &&stripewise_check::Loss| !loss.member.is_within(geometry.members);
            count(format!("{} log members lost", case.losses.iter().filter(is_log).count()));
        }
        if case.scheme.placement.facts().forms_stripes {
            let ElasticSection {
                segment_rows,
                buffer,
                acknowledge,
                collect_above,
                reserve,
                classes,
                ref chunks,
                block,
                ..
            } = case.scheme.elastic;
            count(format!("{classes:?}"));
            if classes == ClassBy::HotnessAndMix {
                count(format!("blocks of {} pages", block.0 / u64::from(case.page_bytes())));
                count(format!("mix after {} accesses", case.scheme.mix.history));
            }
            chunks.iter().for_each(|chunk| {
                count(format!("class chunks of {} pages", chunk.0 / u64::from(case.page_bytes())));
            });
            if case.scheme.has_deep_stripes() {
                count("segments of deep stripes".to_owned());
            } else {
                count(format!("segments of {segment_rows} rows"));
            }
            count(format!("{buffer:?} leaves together"));
            count(format!("{acknowledge:?}"));
            count(format!("relocations {:?}", case.scheme.elastic.relocations));
            count(format!("collects above {collect_above}"));
            count(format!("reserves {reserve}"));
            count(format!("hotness {:?}", case.scheme.hotness.policy));
            count(format!("{} tiers", case.scheme.tiers()));
            count(format!("{level} elastic"));
        }
        if case.scheme.placement.facts().has_zones {
            let (zones, mix, page) = (&case.scheme.zones, case.scheme.mix, u64::from(case.page_bytes()));
            count(format!("zones, of which {} of mixed blocks", zones.mixed.0.len()));
            count(format!("zones with chunks of {:?} pages", zones.reads.chunk.0 / page));
            count(format!("zones of blocks of {} pages", zones.block.0 / page));
            count(format!("zones left below {}", zones.evict_below));
            count(format!("zones written as {:?}", zones.writes_as));
            count(format!("zones whose free pages are {:?}", zones.free_pages));
            count(format!("zones with {} open rows", zones.open_rows));
            count(format!("zones by {} accesses, mixed from {}", mix.history, mix.reads_below));
            count(format!("{level} zones"));
            if !case.power_losses.is_empty() {
                count("power lost over zones".into());
            }
        }
        if case.scheme.parity.memory_rows > 0 {
            count(format!("parity of {} rows in memory", case.scheme.parity.memory_rows));
        }
        let CoordinationSection { policy, when, turn, window, ahead, start, trigger, idle, margin, blocks } =
            case.scheme.coordination;
        count(format!("permission {policy:?}, {when:?}"));
        if policy == CoordinationPolicy::Rotating {
            count(format!("permission by {turn:?}, of {window}, {ahead} ahead"));
        }
        if policy == CoordinationPolicy::Global {
            count(format!("together, {start:?}, by {trigger:?}"));
            count(format!("together after {idle}"));
            count(format!("together below {margin}"));
            count(format!("together {blocks} blocks"));
        }
        count(format!("hides old versions {}", case.hides_old_versions));
        let cache = &case.scheme.cache;
        match cache.policy {
            CachePolicy::None => {}
            CachePolicy::ParityCaching => {
                count(format!("cache of {}", cache.chunks));
                count(format!("cache destaging {:?}", cache.destaging));
            }
            _ => {
                count(format!("cache of {} pages", cache.size.0 / u64::from(case.page_bytes())));
                count(format!("cache from {} to {}", cache.low_threshold, cache.high_threshold));
                count(format!("cache outstanding {}", cache.outstanding));
                count(format!("cache strips {}", cache.strips));
                count(format!("cache sync {}", cache.sync_wait));
                count(format!("cache striping {}", cache.striping));
                count(format!("cache reads pass {}", cache.reads_pass));
                if cache.policy != CachePolicy::Isc {
                    count(format!("cache frees a {:?}", cache.frees));
                    count(format!("cache counts {:?}", cache.count));
                }
                if cache.policy == CachePolicy::Siw {
                    count(format!("cache waits for {:?}", cache.waits_for));
                }
            }
        }
        if cache.policy != CachePolicy::None {
            count(format!("{:?} {:?} cache", cache.persistence, cache.policy));
            count(format!("cache of {}", cache.latency));
            if !case.power_losses.is_empty() {
                count(format!("power lost over {:?}", cache.policy));
                count(format!("power lost over a {:?} cache", cache.persistence));
            }
        }
        for loss in &case.losses {
            count(format!("{:?}", loss.manner));
        }
        if case.power_losses.is_empty() {
            count(format!("volatile members {}", case.volatile_members));
        } else {
            count(format!("power lost over volatile members {}", case.volatile_members));
            count(format!("{} losses of power", case.power_losses.len()));
        }
        beyond += u32::from(case.losses_in_a_group(&geometry) > geometry.parity());
    }
    (counts, beyond)
}

#[test]
fn every_member_of_every_axis_is_drawn() {
    let (counts, beyond) = drawn(3400);
    let listed = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect::<Vec<_>>().join("\n");
    // 3 levels, 9 codes and primes of RAID-6 and the 8 updates with it, 10 numbers of members, 3 of groups, 5 of
    // memberships and levels, 4 chunks, 5 rotations, 8 updates, 2 first writes, 2 buffers, 2 and 3 of dispatch, 6 of
    // plans, 3 member levels, 5 victims, 4 domains, 2 spans, 3 starts, 5 pools, 2 choices, 6 depths, 3 manners of
    // loss, 2 acknowledgements, 6 windows, old versions or not; of write caches 7 sizes, 4 limits of destaging, 2
    // persistences and 3 latencies; and the numbers of plans that windows need. 4 placements; of zones 3 largest
    // chunks, 4 numbers of those of mixed blocks, 5 sizes of blocks, 4 shares of
    // space, 3 histories from 3 shares of reads each, 3 levels, with power
    // lost, 2 readings of writes, 2 of free pages and 4 numbers of open rows; 4 numbers of rows with their parity in memory;
    // of logs 6 sizes, 4 numbers of deltas per row, 2 commits from 5 watermarks each, 3 numbers of commits, one
    // lost or none; of elastic striping 4 lengths of segments and those of deep stripes, 2 buffer units,
    // 3 acknowledgements, 2 places of live chunks, 4 limits of collection, 4 reserves, 4 policies of hotness,
    // 4 numbers of tiers, and 2 levels; 2
    // classifications of chunks, 5 chunk sizes of classes, 3 blocks and 4 histories of the mix. Of dispatch 3
    // disciplines, 5 limits of queues, 2 more orders, 2 variants of sync-fifo and of PIQ, and 5 limits of overtaking;
    // permission to collect, always or of buffered writes, or none, 2 turns, 2 windows, 3 blocks ahead; global
    // collection with 3 starts, 3 idle
    // times, 3 margins and 3 numbers of blocks. Members volatile or not, with power lost and without, and 5 numbers
    // of power losses. Of write caches other than parity caching 8 sizes, 5 pairs of thresholds, 3 numbers each of
    // groups and strips in flight, 3 waits and 2 times of striping, 2 units of freed room, 2 of thresholds, 2 kinds of members
    // that strips wait for, and reads that pass or not; 6 caches, persistent and volatile, with power
    // lost and without.
    assert_eq!(counts.len(), 353, "{listed}");
    for (name, count) in &counts {
        assert!(*count >= 10, "{name} is drawn only {count} times");
    }
    assert!((230..1080).contains(&beyond), "{beyond} cases lose more than their code tolerates");
}
