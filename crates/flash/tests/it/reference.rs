//! Random operations, compared with a reference that is too simple to be wrong: a map from page to content. Real
//! content lies at physical pages, so a wrong map, a lost page or a block erased too early shows up as wrong content.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{
    AgeSpec, Choice, DieInterleaving, Domain, FreeBlock, GcSpan, GcStart, Isolation, LdpcSpec, LinkUnit,
    Moves, MultiPlane, Pool, Preemption, SuspendSpec, Victim, Watermark, WearSpec,
};
use stripewise_flash::{DeviceSpec, Flash, Level, Media, Op, OpKind, Share};

use crate::support::{Rig, small};

/// Content of physical pages, and content that reads returned. Content is the token of the program that wrote it.
#[derive(Default)]
struct Contents {
    pages: BTreeMap<(u32, u32), u32>,
    found: BTreeMap<u32, Option<u32>>,
    streams: Streams,
}

/// The owner of the pages in each block.
#[derive(Default)]
struct Streams {
    count: u32,
    isolation: Isolation,
    moves: Moves,
    pages_per_block: u32,
    owners: BTreeMap<(u32, u32), Owner>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Stream(u8),
    /// Moved pages.
    Moves(Option<u8>),
}

impl Streams {
    fn new(spec: &DeviceSpec) -> Self {
        let (count, isolation) = (spec.ftl.streams, spec.ftl.isolation);
        let (moves, pages_per_block) = (spec.gc.moves, spec.geometry.pages);
        Self { count, isolation, moves, pages_per_block, owners: BTreeMap::new() }
    }

    /// The stream of the operation with a token: arbitrary, but computable before the token is assigned.
    fn of(&self, token: u32) -> u8 {
        ((token.wrapping_mul(0x9E37_79B9) >> 16) % self.count) as u8
    }

    /// Records that a page of `owner` is written.
    fn write(&mut self, member: u32, page: u32, owner: Owner) {
        let block = (member, page / self.pages_per_block);
        let found = *self.owners.entry(block).or_insert(owner);
        // Without streams, moves and programs share blocks when blocks run short.
        assert!(found == owner || self.count == 1, "a page of {owner:?} in a block of {found:?}");
    }

    /// The owner of the block to which a page programmed with `token` may be moved.
    fn of_move(&self, token: u32) -> Owner {
        let stream = self.of(token);
        match (self.moves, self.isolation) {
            (Moves::Shared, Isolation::Initial) => Owner::Stream(0),
            (Moves::Shared, Isolation::Persistent) => Owner::Stream(stream),
            (Moves::Apart, Isolation::Initial) => Owner::Moves(None),
            (Moves::Apart, Isolation::Persistent) => Owner::Moves(Some(stream)),
        }
    }
}

impl Media for Contents {
    fn program(&mut self, member: u32, page: u32, token: u32) {
        let before = self.pages.insert((member, page), token);
        assert_eq!(before, None, "page {page} of member {member} was programmed twice without an erase");
        self.streams.write(member, page, Owner::Stream(self.streams.of(token)));
    }

    fn read(&mut self, member: u32, page: Option<u32>, token: u32) {
        let content = page.map(|page| self.pages.get(&(member, page)).copied().expect("a written page"));
        self.found.insert(token, content);
    }

    fn copy(&mut self, member: u32, from: u32, to: u32) {
        let content = *self.pages.get(&(member, from)).expect("a written page");
        assert_eq!(self.pages.insert((member, to), content), None, "moved onto a written page");
        self.streams.write(member, to, self.streams.of_move(content));
    }

    fn erase(&mut self, member: u32, first: u32, count: u32) {
        for page in first..first + count {
            self.pages.remove(&(member, page));
        }
        self.streams.owners.remove(&(member, first / self.streams.pages_per_block));
    }
}

#[derive(Clone, Debug)]
struct Trial {
    spec: DeviceSpec,
    level: Level,
    seed: u64,
    pins: u64,
}

fn cases() -> impl Strategy<Value = Trial> {
    let victims = prop_oneof![
        Just(Victim::Greedy),
        Just(Victim::DChoices(2)),
        Just(Victim::CostBenefit),
        Just(Victim::Fifo),
        Just(Victim::Random)
    ];
    let domains =
        prop_oneof![Just(Domain::Plane), Just(Domain::Die), Just(Domain::Channel), Just(Domain::Device)];
    let pools = prop_oneof![
        Just(Pool::Plane),
        Just(Pool::Die),
        Just(Pool::Chip),
        Just(Pool::Channel),
        Just(Pool::Member)
    ];
    let levels = prop_oneof![Just(Level::Ssd), Just(Level::Channel), Just(Level::Chip)];
    let shapes = (1u32..3, 1u32..3, 1u32..3, 1u32..3);
    let pins = prop_oneof![0..=MANY, 20u64..400];
    let streams = (prop_oneof![Just(1u32), 2..=5u32], any::<bool>());
    let switches = (any::<[bool; 8]>(), any::<[bool; 8]>(), 0u32..3, pins, any::<u64>(), streams);
    (victims, domains.clone(), domains, pools, levels, shapes, switches).prop_map(
        |(victim, blocking, erase, pool, level, (channels, chips, dies, planes), switches)| {
            let (switches, more, points, pins, seed, streams) = switches;
            let [priority, span, start, choice, link, command, summary, instant] = switches;
            let mut spec = small(&[]);
            let g = &mut spec.geometry;
            (g.channels, g.chips, g.dies, g.planes) = (channels, chips, dies, planes);
            (spec.gc.victim, spec.gc.blocking) = (victim, blocking);
            spec.gc.erase_blocking = Some(erase.min(blocking));
            spec.gc.span = if span { GcSpan::Busy } else { GcSpan::Steps };
            spec.gc.start = if start { GcStart::OnDemand } else { GcStart::AtOnce };
            spec.ftl.pool = pool;
            spec.ftl.choice = if choice { Choice::MostFree } else { Choice::RoundRobin };
            spec.scheduling.read_priority = priority;
            spec.scheduling.window = 8;
            if link {
                spec.timing.host_link = "1ns/B".parse().expect("a rate");
                spec.timing.host_link_unit = if command { LinkUnit::Command } else { LinkUnit::Page };
            }
            if summary {
                spec.ftl.summary_page = Some(stripewise_base::units::Bytes(528));
            }
            if instant {
                spec.timing = stripewise_flash::spec::Timing {
                    bus: stripewise_flash::Rate::INSTANT,
                    host_link: stripewise_flash::Rate::INSTANT,
                    ..Default::default()
                };
            }
            add_switches(&mut spec, more, points);
            add_streams(&mut spec, streams, seed);
            if level == Level::Ssd && planes > 1 {
                spec.scheduling.multi_plane =
                    [MultiPlane::Off, MultiPlane::SamePage, MultiPlane::AnyPage][(seed % 3) as usize];
            }
            if level == Level::Ssd && dies > 1 && seed >> 16 & 1 != 0 {
                restrict_dies(&mut spec, seed);
            }
            Trial { spec, level, seed, pins }
        },
    )
}

/// The dies of a chip depend on each other, without what cannot go with it.
fn restrict_dies(spec: &mut DeviceSpec, seed: u64) {
    let off = seed >> 17 & 1 != 0;
    spec.scheduling.die_interleaving = if off { DieInterleaving::Off } else { DieInterleaving::OneKind };
    spec.gc.preemption = Preemption::Never;
    (spec.gc.soft_watermark, spec.gc.hard_watermark, spec.suspend) = (None, None, None);
}

/// Switches that are off by default, in every combination that is valid.
fn add_switches(spec: &mut DeviceSpec, switches: [bool; 8], points: u32) {
    let [apart, copy_back, soft, hard, wear, levels, ldpc, suspend] = switches;
    // Space for one more open block and an earlier start.
    spec.geometry.blocks = 10;
    spec.gc.moves = if apart { Moves::Apart } else { Moves::Shared };
    spec.gc.copy_back = copy_back && !ldpc && spec.gc.span == GcSpan::Steps;
    if spec.gc.span == GcSpan::Steps {
        spec.gc.preemption = match points {
            0 => Preemption::Never,
            2 if !spec.gc.copy_back => Preemption::Phases,
            _ => Preemption::Moves,
        };
        spec.gc.preemption_batch = 1 + points;
        spec.gc.soft_watermark = soft.then_some(Watermark::BlockCount(2));
        spec.gc.hard_watermark =
            (hard && spec.gc.preemption != Preemption::Never).then_some(Watermark::BlockCount(1));
    }
    if suspend && spec.scheduling.read_priority {
        let (overhead, resume) = (Span(3_000), Span(2_000));
        let erase = spec.gc.span == GcSpan::Steps;
        spec.suspend =
            Some(SuspendSpec { program: true, erase, overhead, resume, limit: 2, reads: 1 + points });
    }
    if wear {
        let free_block = if hard { FreeBlock::LeastWorn } else { FreeBlock::FirstFreed };
        let static_gap = (levels && spec.gc.victim != Victim::Fifo).then_some(1);
        spec.wear = Some(WearSpec { free_block, static_gap });
    }
    if ldpc {
        // Levels increase after a few reads.
        let fast = LdpcSpec { rber_ppb_per_read: [900_000; 8], ..LdpcSpec::default() };
        spec.ldpc = Some(fast);
        spec.age = soft.then_some(AgeSpec { erases: [900, 1100], reads_mean: 5, ..AgeSpec::default() });
    }
}

/// Streams, with space for their open blocks.
fn add_streams(spec: &mut DeviceSpec, (streams, persistent): (u32, bool), seed: u64) {
    let persistent = persistent && streams > 1;
    spec.ftl.streams = streams;
    spec.ftl.isolation = if persistent { Isolation::Persistent } else { Isolation::Initial };
    let open = match spec.gc.moves {
        Moves::Shared => streams,
        Moves::Apart => streams + if persistent { streams } else { 1 },
    };
    // Half of all pages are exported, and a block has four pages: 2b + 4 x 2 + 4 x open < 4b.
    spec.geometry.blocks = spec.geometry.blocks.max(5 + 2 * open);
    // Pages of open blocks count as free here.
    if seed >> 8 & 1 != 0 && spec.gc.soft_watermark.is_none() && spec.gc.hard_watermark.is_none() {
        let block = 1_000_000_u32.div_ceil(spec.geometry.blocks);
        spec.gc.low_watermark = Watermark::Pages(Share(block));
    }
}

/// The expected content of one logical page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    content: Option<u32>,
    pinned: Option<Option<u32>>,
    in_flight: Option<OpKind>,
}

/// More pins than this can fill a plane's spare pages, so that collection stalls until some are released.
const MANY: u64 = 7;

type Model = BTreeMap<(u32, u32), Page>;

/// Releases a pin, unless the program that set it may still be in flight.
fn release(
    rig: &mut Rig<Contents>,
    case: &Trial,
    model: &mut Model,
    pins: &mut Vec<(u32, u32)>,
    index: usize,
) {
    let (member, page) = pins[index];
    let entry = model.get_mut(&(member, page)).expect("known");
    if entry.in_flight.is_none() || case.pins > MANY && entry.in_flight == Some(OpKind::Read) {
        pins.swap_remove(index);
        entry.pinned = None;
        rig.release(member, page);
    }
}

/// Runs a case; returns the number of collections that stalled.
fn run(case: &Trial, steps: u32) -> Result<u64, TestCaseError> {
    let contents = Contents { streams: Streams::new(&case.spec), ..Contents::default() };
    let flash = Flash::with_media(&case.spec, case.level, 2, case.seed, contents);
    let flash = flash.map_err(|error| TestCaseError::reject(error.to_string()))?;
    let (members, pages) = (flash.shape().members, flash.logical_pages());
    let mut rig = Rig::over(flash);
    let mut model = Model::new();
    let mut reads: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    let mut of_token: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let mut pins = Vec::new();
    let mut random = Prng::new(case.seed);
    let (mut seen, mut programs) = (0, 0);
    for _ in 0..steps {
        let (member, page) = (random.below(members.into()) as u32, random.below(pages.into()) as u32);
        let entry = model.entry((member, page)).or_default();
        if entry.in_flight.is_none() {
            let mut old_version = pins.len() < case.pins as usize && random.chance(1, 4);
            let mut kind = match random.below(10) {
                0..7 => OpKind::Program,
                7..9 => OpKind::Read,
                _ => OpKind::Trim,
            };
            if case.pins > MANY && entry.pinned.is_some() {
                // An operation that waits for space must not delay the release of the pins that take the space.
                (kind, old_version) = (OpKind::Read, false);
            }
            entry.in_flight = Some(kind);
            let expected = match entry.pinned {
                Some(version) if old_version => version,
                _ => entry.content,
            };
            if matches!(kind, OpKind::Program | OpKind::Trim) && old_version && entry.pinned.is_none() {
                entry.pinned = Some(entry.content);
                pins.push((member, page));
            }
            let stream = rig.flash.media().streams.of(of_token.len() as u32);
            let token = rig.submit(member, Op { kind, page, old_version, stream, request: 0 });
            of_token.insert(token, (member, page));
            match kind {
                OpKind::Read => drop(reads.insert(token, expected)),
                OpKind::Trim => entry.content = None,
                _ => entry.content = Some(token),
            }
            programs += u64::from(kind == OpKind::Program);
        }
        for _ in 0..random.below(4) {
            rig.step();
        }
        for finished in &rig.finished[seen..] {
            let at = of_token[&finished.token];
            model.get_mut(&at).expect("known").in_flight = None;
            if let Some(expected) = reads.remove(&finished.token) {
                let found = rig.flash.media().found[&finished.token];
                prop_assert_eq!(found, expected, "read {} of {:?}", finished.token, at);
            }
        }
        seen = rig.finished.len();
        if !pins.is_empty() && random.chance(1, if case.pins > MANY { 40 } else { 3 }) {
            let index = random.below(pins.len() as u64) as usize;
            release(&mut rig, case, &mut model, &mut pins, index);
        }
        if random.chance(1, 50) {
            rig.flash.audit().map_err(TestCaseError::fail)?;
        }
    }
    // If programs wait for pins, all pins are released; otherwise some remain.
    while case.pins > MANY && !pins.is_empty() {
        while rig.step() {}
        for finished in &rig.finished[seen..] {
            model.get_mut(&of_token[&finished.token]).expect("known").in_flight = None;
        }
        seen = rig.finished.len();
        let before = pins.len();
        for index in (0..before).rev() {
            release(&mut rig, case, &mut model, &mut pins, index);
        }
        prop_assert!(pins.len() < before, "programs and pins wait for each other");
    }
    rig.run();
    rig.flash.audit().map_err(TestCaseError::fail)?;
    prop_assert_eq!(rig.flash.pinned(), pins.len());
    for ((member, page), entry) in &model {
        let content = rig.flash.lookup(*member, *page).map(|at| rig.flash.media().pages[&(*member, at)]);
        prop_assert_eq!(content, entry.content, "member {} page {}", member, page);
    }
    let counters: Vec<_> = (0..members).map(|member| rig.flash.counters(rig.now, member)).collect();
    prop_assert_eq!(counters.iter().map(|c| c.program_pages).sum::<u64>(), programs);
    // Every programmed page has been erased since, or still has content.
    let shape = rig.flash.shape();
    let written: u64 = counters.iter().map(|c| c.program_pages + c.gc_move_pages).sum();
    let erased: u64 = counters.iter().map(|c| c.erase_blocks).sum::<u64>() * u64::from(shape.data_pages);
    prop_assert_eq!(written - erased, rig.flash.media().pages.len() as u64);
    Ok(counters.iter().map(|c| c.gc_stalls).sum())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_device_behaves_like_a_map_from_pages_to_contents(case in cases()) {
        run(&case, 1500)?;
    }
}

#[test]
fn programs_that_pins_leave_no_space_for_wait_until_pins_are_released() {
    for level in [Level::Ssd, Level::Channel, Level::Chip] {
        for (pool, streams) in [(Pool::Plane, 1), (Pool::Member, 1), (Pool::Plane, 3), (Pool::Member, 3)] {
            let mut spec = small(&[]);
            (spec.ftl.pool, spec.scheduling.window) = (pool, 8);
            if streams > 1 {
                add_streams(&mut spec, (streams, true), 0);
            }
            let case = Trial { spec, level, seed: 5, pins: 400 };
            let stalls =
                run(&case, 6000).unwrap_or_else(|error| panic!("{level:?} {pool:?} {streams}: {error}"));
            let free = pool == Pool::Member;
            assert!(stalls > 0 || free, "{level:?} {pool:?} {streams}: nothing stalled");
        }
    }
}
