//! The record of what dies did is consistent: never two activities at a time on one die or one bus, every operation
//! once, and the same total times as the counters.

use std::collections::BTreeMap;

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{DieInterleaving, Domain, GcSpan, MultiPlane, SuspendSpec};
use stripewise_flash::{DeviceSpec, Flash, Level, Media, Share, State, Stretch, Work};

use crate::support::{Rig, read, small, write};

/// Records everything.
#[derive(Default)]
struct Recorder {
    stretches: Vec<Stretch>,
    /// Operations that joined a stretch of another operation.
    joined: Vec<(u32, Work)>,
}

impl Media for Recorder {
    const RECORDS: bool = true;

    fn stretch(&mut self, stretch: &Stretch) {
        self.stretches.push(*stretch);
    }

    fn suspended(&mut self, die: u32, left: Nanos) {
        let last = self.stretches.iter_mut().rev().find(|stretch| stretch.die == die).expect("a stretch");
        last.cell_ns -= left;
    }

    fn joined(&mut self, die: u32, token: u32) {
        let last = self.stretches.iter().rev().find(|stretch| stretch.die == die).expect("a stretch");
        assert_ne!(last.token, Some(token), "another one's");
        self.joined.push((token, last.work));
    }
}

/// Runs 2000 random reads and programs at random times on a device that collects garbage.
fn record(spec: &DeviceSpec, level: Level) -> Rig<Recorder> {
    let flash = Flash::with_media(spec, level, 1, 1, Recorder::default()).expect("a device");
    let mut rig = Rig::over(flash);
    rig.flash.precondition(State::Steady, Share::ALL, 1);
    let mut random = Prng::new(7);
    let members = u64::from(rig.flash.shape().members);
    for _ in 0..2_000 {
        rig.run_until(rig.now + random.below(150_000));
        let member = random.below(members) as u32;
        let page = random.below(rig.flash.logical_pages().into()) as u32;
        rig.submit(member, if random.chance(1, 2) { read(page) } else { write(page) });
    }
    rig.run();
    rig
}

fn assert_apart(what: &str, mut spans: Vec<(u64, u64)>) {
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{what}: {:?} and {:?} overlap", pair[0], pair[1]);
    }
}

/// Checks that the stretches of a chip that overlap are all reads, all programs or all steps of collection, and that
/// none overlap if the chip does one operation at a time. Returns the number of overlapping pairs.
fn check_chips(spec: &DeviceSpec, log: &[Stretch]) -> usize {
    let kind = |stretch: &Stretch| match stretch.work {
        Work::Sense | Work::Out => 0,
        Work::Program => 1,
        Work::MoveSense | Work::MoveProgram | Work::Erase | Work::Collection => 2,
    };
    let span = |stretch: &Stretch| {
        let end = stretch.start_ns + stretch.bus_ns + stretch.cell_ns;
        (stretch.start_ns, end, stretch.die / spec.geometry.dies, kind(stretch))
    };
    let mut spans: Vec<_> = log.iter().map(span).collect();
    spans.sort_unstable();
    let mut overlaps = 0;
    for (index, &(_, end, chip, kind)) in spans.iter().enumerate() {
        let later = spans[index + 1..].iter().take_while(|other| other.0 < end);
        for other in later.filter(|other| other.2 == chip) {
            assert_eq!(other.3, kind, "{:?} and {other:?}", spans[index]);
            overlaps += 1;
        }
    }
    assert!(spec.scheduling.die_interleaving != DieInterleaving::Off || overlaps == 0, "{overlaps}");
    overlaps
}

/// Checks a device's record. Returns the number of resumed stretches, and the number of operations that joined.
fn check(spec: &DeviceSpec, level: Level) -> (usize, usize) {
    let rig = record(spec, level);
    let (shape, log) = (rig.flash.shape(), &rig.flash.media().stretches);
    let end = |stretch: &Stretch| stretch.start_ns + stretch.bus_ns + stretch.cell_ns;
    for die in 0..shape.dies {
        let of_die = || log.iter().filter(|stretch| stretch.die == die);
        assert_apart("a die", of_die().map(|stretch| (stretch.start_ns, end(stretch))).collect());
        let member = die / shape.dies_per_member;
        let busy = rig.flash.dies_busy_ns(member).nth((die % shape.dies_per_member) as usize);
        assert_eq!(busy, Some(of_die().map(|stretch| stretch.cell_ns).sum()), "die {die}");
    }
    for bus in 0..shape.buses {
        let of_bus =
            log.iter().filter(|stretch| stretch.die / shape.dies_per_bus == bus && stretch.bus_ns > 0);
        assert_apart(
            "a bus",
            of_bus.map(|stretch| (stretch.start_ns, stretch.start_ns + stretch.bus_ns)).collect(),
        );
    }
    if spec.scheduling.die_interleaving != DieInterleaving::Free {
        let overlaps = check_chips(spec, log);
        assert!(overlaps > 20 || spec.scheduling.die_interleaving == DieInterleaving::Off, "{overlaps}");
    }
    let (mut cell, mut bus, mut moves, mut erases) = (0, 0, 0, 0);
    for member in 0..shape.members {
        let counters = rig.flash.counters(rig.now, member);
        cell += counters.cell_busy_ns;
        bus += counters.bus_busy_ns;
        moves += counters.gc_move_pages;
        erases += counters.erase_blocks;
    }
    let sum = |of: fn(&Stretch) -> u64| log.iter().map(of).sum::<u64>();
    assert!(erases > 20, "{erases} erases");
    assert_eq!(sum(|stretch| stretch.bus_ns), bus);
    assert_eq!(sum(|stretch| stretch.cell_ns), cell);
    assert_eq!(sum(|stretch| stretch.moves.into()), moves);
    let is_erase =
        |stretch: &&Stretch| matches!(stretch.work, Work::Erase | Work::Collection) && !stretch.is_rest;
    assert_eq!(log.iter().filter(is_erase).count() as u64, erases);
    // Every operation that needed the flash: a read is sensed and transferred out, a program is one stretch.
    let mut works = BTreeMap::<u32, Vec<Work>>::new();
    for &(token, work) in &rig.flash.media().joined {
        works.entry(token).or_default().push(work);
    }
    for stretch in log.iter().filter(|stretch| !stretch.is_rest) {
        if let Some(token) = stretch.token {
            works.entry(token).or_default().push(stretch.work);
        }
    }
    let pages: u64 = (0..shape.members)
        .map(|member| rig.flash.counters(rig.now, member))
        .map(|counters| counters.read_pages + counters.program_pages)
        .sum();
    assert_eq!(works.len() as u64, pages);
    assert!(works.values().all(|works| *works == [Work::Program] || *works == [Work::Sense, Work::Out]));
    let finished = |token: &u32| rig.of(*token);
    // Without a host link, an operation ends with its last stretch.
    let ends: BTreeMap<u32, u64> =
        log.iter().filter_map(|stretch| stretch.token.map(|token| (token, end(stretch)))).collect();
    for (token, end) in ends {
        assert_eq!(end, finished(&token).end, "operation {token}");
    }
    (log.iter().filter(|stretch| stretch.is_rest).count(), rig.flash.media().joined.len())
}

#[test]
fn dies_do_one_thing_at_a_time_and_what_the_counters_say() {
    let shared_bus = small(&[]);
    assert_eq!(check(&shared_bus, Level::Channel), (0, 0));
    assert_eq!(check(&shared_bus, Level::Ssd), (0, 0));
    let own_bus = small(&[("chips = 2", "chips = 1")]);
    check(&own_bus, Level::Chip);
    let busy_span = small(&[("blocking = \"plane\"", "blocking = \"die\"\nspan = \"busy\"")]);
    check(&busy_span, Level::Channel);

    let mut suspends = small(&[]);
    let (overhead, resume) = (Span(3_000), Span(2_000));
    suspends.suspend = Some(SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 });
    for level in [Level::Channel, Level::Ssd] {
        assert!(check(&suspends, level).0 > 20, "{level:?}: something is suspended");
    }
    let mut together = small(&[]);
    together.scheduling.multi_plane = MultiPlane::AnyPage;
    assert!(check(&together, Level::Ssd).1 > 20, "planes work together");
    let aged = DeviceSpec::preset("ssdsim-5+1-ldpc").expect("a preset");
    let mut levels = small(&[]);
    (levels.ldpc, levels.wear, levels.age) = (aged.ldpc, aged.wear, aged.age);
    check(&levels, Level::Channel);
}

#[test]
fn dies_of_a_chip_overlap_only_as_its_interleaving_allows() {
    for die_interleaving in [DieInterleaving::OneKind, DieInterleaving::Off] {
        for blocking in [Domain::Plane, Domain::Die, Domain::Channel, Domain::Device] {
            for (span, multi_plane) in [(GcSpan::Steps, MultiPlane::AnyPage), (GcSpan::Busy, MultiPlane::Off)]
            {
                for read_priority in [true, false] {
                    let mut spec = small(&[("dies = 1", "dies = 2")]);
                    (spec.scheduling.die_interleaving, spec.scheduling.multi_plane) =
                        (die_interleaving, multi_plane);
                    spec.scheduling.read_priority = read_priority;
                    (spec.gc.blocking, spec.gc.span) = (blocking, span);
                    check(&spec, Level::Ssd);
                }
            }
        }
    }
}
