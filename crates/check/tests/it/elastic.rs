//! Elastic striping: exhaustive small cases, and proofs that it never gets stuck.

#![allow(clippy::unwrap_used, reason = "a test")]

use stripewise_array::geometry::Level;
use stripewise_array::hotness::HotnessPolicy;
use stripewise_array::placement::PlacementPolicy;
use stripewise_array::placement::{AcknowledgeWrites, BufferUnit, ClassBy, ElasticSection, Relocations};
use stripewise_array::{Array, MemberNo, Members, NoMemory, Scheme};
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_check::{Ask, Case, Loss, Manner, Options, Summary, What, run};
use stripewise_code::Kind;

/// Sectors of a page.
const PAGE: u64 = 2;

/// Members of 38 pages: 19 segments of two rows each.
const SMALL: &str = r#"
seed = 1
members = "ssd:4"
depth = 8
fail_each = false
losses = []
requests = []
[faults]
[scheme]
name = "small"
[scheme.placement]
policy = "elastic"
[scheme.elastic]
segment_rows = 2
reserve = "0%"
[device]
name = "small"
[device.geometry]
channels = 1
chips = 1
dies = 1
planes = 1
blocks = 24
pages = 4
page_bytes = "1KiB"
[device.timing]
read = "25us"
program = "200us"
erase = "1ms"
bus = "25ns/B"
[device.ftl]
over_provisioning = "60%"
[device.gc]
victim = "greedy"
low_watermark = { block-count = 1 }
blocking = "plane"
"#;

/// RAID-5 with this number of members, or RAID-6 with this code.
fn case(members: u32, code: Option<Kind>) -> Case {
    let mut case = Case::from_toml("small", SMALL).unwrap_or_else(|error| panic!("{error}"));
    case.members.devices = members;
    case.scheme.geometry.level = if code.is_some() { Level::Raid6 } else { Level::Raid5 };
    case.scheme.code.kind = code;
    case
}

fn check(case: &Case) -> Summary {
    run(case, Options::default()).unwrap_or_else(|failure| panic!("{failure}\n{}", case.to_toml()))
}

/// Number of chunks that hosts may fill.
fn chunks(case: &Case) -> u64 {
    case.sectors().unwrap() / PAGE
}

fn ask(what: What, chunk: u64, count: u64) -> Ask {
    Ask { gap_ns: 0, what, sector: chunk * PAGE, sectors: count * PAGE }
}

/// Writes each of the first `count` chunks once.
fn fill(count: u64) -> impl Iterator<Item = Ask> {
    (0..count).map(|chunk| ask(What::Write, chunk, 1))
}

/// Writes a few stripes, then replaces, partly writes and trims some of their chunks, with flushes in between.
fn script(case: &Case) -> Vec<Ask> {
    let few = chunks(case) / 3;
    let part = |chunk: u64| Ask { sectors: 1, ..ask(What::Write, chunk, 1) };
    let flush = Ask { gap_ns: 0, what: What::Flush, sector: 0, sectors: 0 };
    let mut asks: Vec<Ask> = fill(few).collect();
    asks.push(flush);
    asks.extend([part(1), ask(What::Write, 0, few / 2), part(1), ask(What::Trim, 2, 2), part(few - 1)]);
    asks.extend([ask(What::Read, 0, few), flush, ask(What::Write, 1, 2), ask(What::Read, 0, 4)]);
    asks
}

/// Runs `case` with each member lost before each event, but only one of every `each` events.
fn lose_any(case: &Case, each: u64) -> u64 {
    let whole = check(case);
    let mut runs = 0;
    for member in 0..case.members.devices as u16 {
        for event in (u64::from(member) % each..=whole.played).step_by(each as usize) {
            let losses = vec![Loss { event, member: MemberNo::new(member), manner: Manner::Gone }];
            let summary = check(&Case { losses, ..case.clone() });
            assert_eq!(summary.seen.failed, 0, "one loss is bearable: member {member}, event {event}");
            runs += 1;
        }
    }
    runs
}

const BUFFERS: [BufferUnit; 2] = [BufferUnit::Stripe, BufferUnit::Group];

/// Cases with every buffer unit and acknowledgement; chunks leave memory after 100 us.
fn variants(members: u32, code: Option<Kind>) -> Vec<Case> {
    let mut cases = Vec::new();
    for buffer in BUFFERS {
        for acknowledge in
            [AcknowledgeWrites::TriggerWaits, AcknowledgeWrites::Buffered, AcknowledgeWrites::Durable]
        {
            let mut case = case(members, code);
            case.scheme.elastic.buffer = buffer;
            case.scheme.elastic.acknowledge = acknowledge;
            case.scheme.elastic.wait = Span(100_000);
            case.scheme.placement.buffer_persistence = stripewise_array::Persistence::Volatile;
            case.requests = script(&case);
            cases.push(case);
        }
    }
    cases
}

#[test]
fn any_member_may_be_lost_before_any_event() {
    let runs: u64 = variants(4, None).iter().map(|case| lose_any(case, 1)).sum();
    assert!(runs > 1_000, "{runs} runs");
}

#[test]
fn any_two_members_of_raid6_may_be_lost_before_any_two_events() {
    let mut runs = 0;
    for code in [Kind::Pq, Kind::Rdp, Kind::Evenodd] {
        for case in variants(5, Some(code)) {
            let played = check(&case).played;
            for (nth, first) in (0..=played).step_by(5).enumerate() {
                for second in (first..=played).step_by(11) {
                    let member = (nth as u64 + second) % 5;
                    let other = (member + 1 + second % 4) % 5;
                    let losses = [(first, member), (second, other)].map(|(event, member)| Loss {
                        event,
                        member: MemberNo::new(member as u16),
                        manner: Manner::Gone,
                    });
                    let summary = check(&Case { losses: losses.to_vec(), ..case.clone() });
                    assert_eq!(summary.seen.failed, 0, "two losses are bearable: {losses:?}");
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 900, "{runs} runs");
}

/// Fills an array to the last chunk, and then overwrites it many times, uniformly or mostly in an eighth of it.
fn overwritten(mut case: Case, times: u64, is_skewed: bool) -> Summary {
    let chunks = chunks(&case);
    let mut random = Prng::stream(7, chunks);
    case.requests = fill(chunks).collect();
    case.requests.extend((0..times * chunks).map(|_| {
        let room = if is_skewed && random.chance(90, 100) { chunks.div_ceil(8) } else { chunks };
        // Slow enough that few chunks wait in memory; otherwise all writes would be absorbed there.
        Ask { gap_ns: 500_000, ..ask(What::Write, random.below(room), 1) }
    }));
    check(&case)
}

#[test]
fn a_full_array_that_is_overwritten_always_makes_progress() {
    let arrays = [
        (3, None),
        (4, None),
        (7, None),
        (4, Some(Kind::Pq)),
        (6, Some(Kind::Rdp)),
        (7, Some(Kind::Evenodd)),
    ];
    for (members, code) in arrays {
        let mut collected = 0;
        for tiers in 1..=4 {
            for buffer in BUFFERS {
                let mut case = case(members, code);
                case.scheme.elastic.relocations =
                    if tiers % 2 == 0 { Relocations::Apart } else { Relocations::Coldest };
                case.scheme.hotness.policy = HotnessPolicy::Direct;
                case.scheme.hotness.tiers = tiers;
                case.scheme.elastic.buffer = buffer;
                case.scheme.elastic.collect_above = Share::ALL;
                for is_skewed in [false, true] {
                    let summary = overwritten(case.clone(), 8, is_skewed);
                    let what = format!("{members} members, {code:?}, {tiers} tiers, {buffer:?}");
                    assert_eq!(summary.seen.failed, 0, "{what}");
                    collected += summary.collected;
                }
            }
        }
        // Of the smallest, with many tiers, most is replaced in memory.
        assert!(collected > 300, "{members} members, {code:?}: {collected} segments collected");
    }
}

#[test]
fn a_full_array_whose_classes_move_always_makes_progress() {
    for (members, code, tiers) in
        [(3, None, 1), (4, None, 2), (4, Some(Kind::Pq), 1), (6, Some(Kind::Rdp), 1)]
    {
        let mut collected = 0;
        for (number, buffer) in (0u64..).zip(BUFFERS) {
            for relocations in [Relocations::Apart, Relocations::Coldest] {
                let mut case = case(members, code);
                // Segments of five rows, 64 of them.
                case.device.geometry.blocks = 200;
                case.scheme.hotness.policy =
                    if tiers > 1 { HotnessPolicy::Direct } else { HotnessPolicy::None };
                case.scheme.hotness.tiers = if tiers > 1 { tiers } else { 2 };
                case.scheme.elastic = ElasticSection {
                    segment_rows: 5,
                    buffer,
                    relocations,
                    collect_above: Share::ALL,
                    classes: ClassBy::HotnessAndMix,
                    chunks: [4, 2, 1].map(|pages| Bytes(pages << 10)).to_vec(),
                    block: Bytes(4 << 10),
                    ..case.scheme.elastic
                };
                case.scheme.mix.history = 2;
                let chunks = chunks(&case);
                let mut random = Prng::stream(7 + number, chunks);
                case.requests = fill(chunks).collect();
                // A third of the array is mostly read, a third mostly written, and the thirds change roles.
                case.requests.extend((0..12 * chunks).map(|nth| {
                    let chunk = random.below(chunks);
                    let reads = 20 + 30 * ((chunk * 3 / chunks + nth / (3 * chunks)) % 3);
                    let what = if random.chance(reads, 100) { What::Read } else { What::Write };
                    Ask { gap_ns: 500_000, ..ask(what, chunk, 1) }
                }));
                let summary = check(&case);
                assert_eq!(summary.seen.failed, 0, "{members} members, {code:?}, {tiers} tiers, {buffer:?}");
                collected += summary.collected;
            }
        }
        assert!(collected > 100, "{members} members, {code:?}: {collected} segments collected");
    }
}

#[test]
fn a_degraded_array_that_is_full_says_so_and_continues_after_trims() {
    // 1024 rows of four members hold 2541 chunks. Rows of three members hold 2048, and 204 chunks may wait in memory.
    let mut case = case(4, None);
    case.device.geometry.blocks = 640;
    case.scheme.elastic.segment_rows = 8;
    let chunks = chunks(&case);
    assert!(chunks > 2048 + 204);
    case.losses = vec![Loss { event: 0, member: MemberNo::new(1), manner: Manner::Gone }];
    case.requests = fill(chunks).collect();
    let full = check(&case);
    assert!(full.seen.no_space > 0, "{:?}", full.seen);
    assert_eq!(full.seen.no_space, full.seen.failed);
    case.requests.push(Ask { gap_ns: 1_000_000_000, ..ask(What::Trim, 0, chunks) });
    case.requests.extend(fill(chunks / 3));
    let after = check(&case);
    assert_eq!(after.seen.no_space, full.seen.no_space, "there is room again");
}

#[test]
fn the_maps_of_a_whole_array_take_four_bytes_a_chunk_and_less_than_five_a_slot() {
    let scheme = Scheme::from_toml(
        "maps",
        "name = \"maps\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n[elastic]\nreserve = \"10%\"",
    )
    .unwrap();
    assert_eq!(scheme.placement.policy, PlacementPolicy::Elastic);
    let members = Members { volatile_cache: false, ..Members::opaque(5, 4096, 1 << 18) };
    let array = Array::new(&scheme, members, NoMemory).unwrap();
    let (chunks, slots) = (array.capacity() / 4096, 5u64 << 18);
    let segments = slots / (5 * 64);
    // Segments with their lists, and entries for memory: two units of 256 chunks, and 65 rows of live chunks.
    let rest = segments * (24 + 4) + 8 * 257 + (2 * 256 + 65 * 4) * 64;
    assert!(array.map_bytes() <= 4 * chunks + 9 * slots / 2 + rest, "{} bytes", array.map_bytes());
    assert!(array.map_bytes() > 4 * chunks + 9 * slots / 2);
}
