//! Forecasts of reads are exact: at a random time of a random run the test asks for the forecast of a read, then
//! sends the read with nothing after it, and compares.

use proptest::prelude::*;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{Domain, GcSpan, GcStart, Preemption, SuspendSpec, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Level, Share, State};

use crate::support::{Rig, read, small, write};

const US: u64 = 1000;

/// Dies with separate buses, times that never coincide, and space to collect.
fn device() -> DeviceSpec {
    let mut spec = small(&[("chips = 2", "chips = 1"), ("blocks = 8", "blocks = 16")]);
    let t = &mut spec.timing;
    (t.read.0, t.program.0, t.erase.0) = (10_013, 100_019, 1_000_027);
    (t.read_command.0, t.program_command.0, t.erase_command.0) = (293, 367, 223);
    spec
}

/// Runs random reads and programs up to a random time at which no operation waits in front of a member, since members
/// know nothing of such operations.
fn busy(spec: &DeviceSpec, level: Level, random: &mut Prng) -> Rig {
    let mut flash = Flash::new(spec, level, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    flash.precondition(State::Steady, Share::ALL, random.next_u64());
    let mut rig = Rig::over(flash);
    let (members, pages) = (u64::from(rig.flash.shape().members), u64::from(rig.flash.logical_pages()));
    for _ in 0..10 + random.below(50) {
        let (member, page) = (random.below(members) as u32, random.below(pages) as u32);
        rig.submit(member, if random.chance(1, 4) { read(page) } else { write(page) });
        while rig.waits(member) && rig.step() {}
        let pause = if random.chance(1, 4) { 300 * US } else { 40 * US };
        rig.run_until(rig.now + random.below(pause));
    }
    rig
}

/// Time to the start of a read's cells, and the part due to garbage collection.
#[derive(Debug, PartialEq)]
struct Start {
    start_ns: u64,
    gc_ns: u64,
}

/// The forecast of a read at a random time of a random run, and the result when the read was sent.
fn forecast_and_seen(spec: &DeviceSpec, level: Level, seed: u64) -> (Start, Start) {
    let mut random = Prng::new(seed);
    let mut rig = busy(spec, level, &mut random);
    let member = random.below(rig.flash.shape().members.into()) as u32;
    let page = random.below(rig.flash.logical_pages().into()) as u32;
    let queried = rig.now;
    let start_ns = rig.flash.start_ns(queried, member, page);
    let forecast = Start { start_ns, gc_ns: rig.flash.gc_wait_ns(queried, member, page) };
    let before = rig.flash.gc_clock(queried, member);
    let token = rig.submit(member, read(page));
    while rig.waits(member) && rig.step() {}
    let in_front = rig.flash.gc_clock(rig.now, member) - before;
    rig.run();
    let (done, end) = (rig.of(token).done, rig.of(token).end);
    let start_ns = end - done.bus_ns - done.cell_ns - queried;
    (forecast, Start { start_ns, gc_ns: in_front + done.gc_wait_ns })
}

fn levels() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Ssd), Just(Level::Channel), Just(Level::Chip)]
}

/// Excludes an SSD whose planes collect separately, because there programs that wait inside run in between.
fn levels_and_domains() -> impl Strategy<Value = (Level, Domain)> {
    let plane = prop_oneof![Just(Level::Channel), Just(Level::Chip)].prop_map(|level| (level, Domain::Plane));
    prop_oneof![levels().prop_map(|level| (level, Domain::Die)), plane]
}

/// Preemption, a soft watermark and suspension. Preemption and suspension together are forecast by estimate only, so
/// they are not combined.
fn ways_in() -> impl Strategy<Value = (Preemption, bool, bool)> {
    let preemption = prop_oneof![Just(Preemption::Never), Just(Preemption::Moves), Just(Preemption::Phases)];
    prop_oneof![(preemption, any::<bool>(), Just(false)), Just((Preemption::Never, false, true))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_read_starts_when_it_was_forecast_where_no_die_shares_a_bus(
        (level, blocking) in levels_and_domains(),
        span in prop_oneof![Just(GcSpan::Steps), Just(GcSpan::Busy)],
        start in prop_oneof![Just(GcStart::AtOnce), Just(GcStart::OnDemand)],
        seed: u64,
    ) {
        let mut spec = device();
        (spec.gc.blocking, spec.gc.span, spec.gc.start) = (blocking, span, start);
        let (forecast, seen) = forecast_and_seen(&spec, level, seed);
        prop_assert_eq!(forecast.start_ns, seen.start_ns);
        // If planes collect separately, the wait of a read includes the operations that the collection lets in.
        if blocking == Domain::Die || seen.gc_ns == 0 {
            prop_assert_eq!(forecast.gc_ns, seen.gc_ns);
        } else {
            prop_assert!(forecast.gc_ns <= seen.gc_ns);
        }
    }

    #[test]
    fn the_start_of_a_read_that_preempts_or_suspends_is_forecast(
        level in levels(),
        (preemption, soft, suspends) in ways_in(),
        seed: u64,
    ) {
        let mut spec = device();
        (spec.gc.blocking, spec.gc.preemption) = (Domain::Die, preemption);
        // As large as the queue can be: the number of steps between longer queues is an estimate.
        spec.gc.preemption_batch = spec.scheduling.window;
        spec.gc.soft_watermark = soft.then_some(Watermark::BlockCount(4));
        let (overhead, resume) = (Span(5_003), Span(2_017));
        spec.suspend = suspends.then_some(SuspendSpec { program: true, erase: true, overhead, resume, limit: 4, reads: 8 });
        let (forecast, seen) = forecast_and_seen(&spec, level, seed);
        prop_assert_eq!(forecast.start_ns, seen.start_ns);
    }

    #[test]
    fn a_read_that_other_dies_delay_does_not_start_before_its_forecast(level in levels(), seed: u64) {
        let mut spec = device();
        (spec.gc.blocking, spec.gc.erase_blocking) = (Domain::Device, Some(Domain::Die));
        let (forecast, seen) = forecast_and_seen(&spec, level, seed);
        prop_assert!(forecast.start_ns <= seen.start_ns, "{:?} {:?}", forecast, seen);
    }
}

/// Chips of one channel share its bus, and collections hold back the channel except during their erase.
#[test]
fn a_chip_behind_a_channel_that_collects_knows_when_the_erase_lets_it_in() {
    let mut spec = small(&[("planes = 2", "planes = 1"), ("channels = 2", "channels = 1")]);
    (spec.gc.blocking, spec.gc.erase_blocking) = (Domain::Channel, Some(Domain::Die));
    let mut rig = Rig::new(&spec, Level::Chip);
    rig.one(1, write(3));
    for page in (0..16).chain([0, 1, 2, 4, 5, 6, 8, 9]) {
        rig.one(0, write(page));
    }
    // The write takes 104 us; then one move of 118 us and an erase of 1000.
    rig.submit(0, write(10));
    let of = |rig: &Rig, member: u32, page: u32| {
        [rig.flash.start_ns(rig.now, member, page), rig.flash.gc_wait_ns(rig.now, member, page)]
            .map(|ns| ns / US)
    };
    assert_eq!(of(&rig, 0, 1), [104 + 1118, 1118], "due as soon as the write is done");
    assert_eq!(of(&rig, 1, 3), [0, 0]);
    rig.run_until(rig.now + 104 * US);
    assert_eq!([of(&rig, 0, 1), of(&rig, 1, 3)], [[1118, 1118], [118, 118]]);
    let (queried, token) = (rig.now, rig.submit(1, read(3)));
    rig.run();
    assert_eq!((rig.of(token).start - queried) / US, 118);
    assert_eq!(of(&rig, 1, 15), [0, 0], "nothing is read where nothing is mapped");
}

/// Found by [`the_start_of_a_read_that_preempts_or_suspends_is_forecast`]: writes have replaced all pages that the collection
/// was still to move.
#[test]
fn a_collection_whose_last_pages_became_invalid_erases_next() {
    let mut spec = device();
    (spec.gc.blocking, spec.gc.preemption) = (Domain::Die, Preemption::Moves);
    spec.gc.preemption_batch = spec.scheduling.window;
    spec.gc.soft_watermark = Some(Watermark::BlockCount(4));
    let (forecast, seen) = forecast_and_seen(&spec, Level::Channel, 16_930_598_605_114_447_595);
    assert_eq!(forecast.start_ns, seen.start_ns);
    assert_eq!(seen.gc_ns, spec.timing.erase_command.0 + spec.timing.erase.0);
}
