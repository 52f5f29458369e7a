//! What dies are recorded to do is what they did: no two things at a time on one die or one bus, every operation once,
//! and the same times in sum as the counters.

mod support;

use std::collections::BTreeMap;

use stripewise_base::prng::Prng;
use stripewise_flash::{DeviceSpec, Flash, Level, Media, Share, State, Stretch, Work};
use support::{Rig, read, small, write};

/// Keeps all of it.
#[derive(Default)]
struct Recorder(Vec<Stretch>);

impl Media for Recorder {
    const RECORDS: bool = true;

    fn stretch(&mut self, stretch: &Stretch) {
        self.0.push(*stretch);
    }
}

/// 2000 random reads and programs at random times on a device that collects garbage.
fn record(spec: &DeviceSpec, level: Level) -> Rig<Recorder> {
    let flash = Flash::with_media(spec, level, 1, 1, Recorder::default()).expect("a device");
    let mut rig = Rig::over(flash);
    rig.flash.precondition(State::Steady, Share::ALL, 1);
    let mut random = Prng::new(7);
    let elements = u64::from(rig.flash.shape().elements);
    for _ in 0..2_000 {
        rig.run_until(rig.now + random.below(150_000));
        let element = random.below(elements) as u32;
        let page = random.below(rig.flash.logical_pages().into()) as u32;
        rig.submit(element, if random.chance(1, 2) { read(page) } else { write(page) });
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

fn check(spec: &DeviceSpec, level: Level) {
    let rig = record(spec, level);
    let (shape, log) = (rig.flash.shape(), &rig.flash.media().0);
    let end = |stretch: &Stretch| stretch.start_ns + stretch.bus_ns + stretch.cell_ns;
    for die in 0..shape.dies {
        let of_die = log.iter().filter(|stretch| stretch.die == die);
        assert_apart("a die", of_die.map(|stretch| (stretch.start_ns, end(stretch))).collect());
    }
    for bus in 0..shape.buses {
        let of_bus =
            log.iter().filter(|stretch| stretch.die / shape.dies_per_bus == bus && stretch.bus_ns > 0);
        assert_apart(
            "a bus",
            of_bus.map(|stretch| (stretch.start_ns, stretch.start_ns + stretch.bus_ns)).collect(),
        );
    }
    let (mut cell, mut bus, mut moves, mut erases) = (0, 0, 0, 0);
    for element in 0..shape.elements {
        let counters = rig.flash.counters(rig.now, element);
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
    let is_erase = |stretch: &&Stretch| matches!(stretch.work, Work::Erase | Work::Collection);
    assert_eq!(log.iter().filter(is_erase).count() as u64, erases);
    // Every operation that needed the flash: a read is sensed and given out, a program is one stretch.
    let mut works = BTreeMap::<u32, Vec<Work>>::new();
    for stretch in log {
        if let Some(token) = stretch.token {
            works.entry(token).or_default().push(stretch.work);
        }
    }
    let pages: u64 = (0..shape.elements)
        .map(|element| rig.flash.counters(rig.now, element))
        .map(|counters| counters.read_pages + counters.program_pages)
        .sum();
    assert_eq!(works.len() as u64, pages);
    assert!(works.values().all(|works| *works == [Work::Program] || *works == [Work::Sense, Work::Out]));
    let finished = |token: &u32| rig.of(*token);
    for stretch in log.iter().filter(|stretch| matches!(stretch.work, Work::Program | Work::Out)) {
        let token = stretch.token.expect("an operation");
        assert_eq!(
            end(stretch),
            finished(&token).end,
            "no link behind the flash: the operation ends with it"
        );
    }
}

#[test]
fn dies_do_one_thing_at_a_time_and_what_the_counters_say() {
    let shared_bus = small(&[]);
    check(&shared_bus, Level::Channel);
    check(&shared_bus, Level::Ssd);
    let own_bus = small(&[("chips = 2", "chips = 1")]);
    check(&own_bus, Level::Chip);
    let busy_span = small(&[("blocking = \"plane\"", "blocking = \"die\"\nspan = \"busy\"")]);
    check(&busy_span, Level::Channel);
}
