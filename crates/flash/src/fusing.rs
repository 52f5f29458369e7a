//! Test that the fused phases are exact. A device whose dies have buses of their own skips the phases that could wait
//! for a bus; without that shortcut, the device must do the same things at the same times.

use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;

use crate::spec::{Domain, GcStart, Pool, Victim};
use crate::{Admission, Collected, Counters, DeviceSpec, Done, Flash, Level, Op, OpKind, Share, State};

/// 4 channels of one die each. All times are odd numbers, so that events do not coincide systematically.
fn device(blocking: Domain, start: GcStart, pool: Pool) -> DeviceSpec {
    let mut spec = DeviceSpec::preset("mqsim-gc-2gib").unwrap_or_else(|error| panic!("{error}"));
    let g = &mut spec.geometry;
    (g.channels, g.planes, g.blocks, g.pages) = (4, 2, 32, 8);
    let t = &mut spec.timing;
    (t.read.0, t.program.0, t.erase.0) = (75_013, 750_019, 3_800_027);
    (t.read_command.0, t.program_command.0, t.erase_command.0) = (293, 367, 223);
    (spec.gc.blocking, spec.gc.start, spec.ftl.pool) = (blocking, start, pool);
    spec.gc.victim = Victim::DChoices(3);
    spec
}

type Trace = (Vec<(u64, Done)>, Vec<Collected>, Vec<Counters>);

/// Random reads and programs at random times.
fn run(spec: &DeviceSpec, level: Level, fused: bool) -> Trace {
    let mut flash = Flash::new(spec, level, 1, 1).unwrap_or_else(|error| panic!("{error}"));
    assert!(flash.exclusive);
    flash.exclusive = fused;
    flash.precondition(State::Steady, Share::ALL, 1);
    flash.enable_gc_log();
    let (mut agenda, mut random, mut done) = (Agenda::new(), Prng::new(2), Vec::new());
    let mut queues = vec![std::collections::VecDeque::new(); flash.shape.members as usize];
    let mut finished = Vec::new();
    let mut arrival = 0;
    for token in 0..=4_000 {
        arrival = if token == 4_000 { u64::MAX } else { arrival + random.below(400_000) };
        while agenda.next_time().is_some_and(|at| at < arrival) {
            let Some((now, event)) = agenda.pop() else { break };
            flash.handle(now, event, &mut agenda, &mut done);
            finished.extend(done.drain(..).map(|done| (now, done)));
            while let Some(member) = flash.next_ready() {
                dispatch(&mut flash, &mut queues, now, member, &mut agenda);
            }
        }
        if token < 4_000 {
            let member = random.below(flash.shape.members.into()) as u32;
            let kind = if random.chance(1, 2) { OpKind::Read } else { OpKind::Program };
            let page = random.below(flash.logical_pages().into()) as u32;
            queues[member as usize].push_back((token, Op { kind, page, ..Op::default() }));
            dispatch(&mut flash, &mut queues, arrival, member, &mut agenda);
        }
    }
    assert_eq!(finished.len(), 4_000);
    finished.sort_by_key(|(at, done)| (*at, done.token));
    let counters = (0..flash.shape.members).map(|member| flash.counters(1 << 50, member)).collect();
    let mut log: Vec<Collected> = flash.drain_gc_log().collect();
    log.sort_by_key(|row| (row.end_ns, row.member));
    (finished, log, counters)
}

fn dispatch(
    flash: &mut Flash,
    queues: &mut [std::collections::VecDeque<(u32, Op)>],
    now: u64,
    member: u32,
    agenda: &mut Agenda,
) {
    while let Some((token, op)) = queues[member as usize].front().copied() {
        if flash.admits(now, member, &op, agenda) != Admission::Admitted {
            break;
        }
        queues[member as usize].pop_front();
        flash.start(now, member, token, op, agenda);
    }
}

#[test]
fn fused_phases_end_when_unfused_ones_do() {
    for blocking in [Domain::Plane, Domain::Die, Domain::Channel, Domain::Device] {
        let starts =
            [(GcStart::AtOnce, Pool::Plane), (GcStart::OnDemand, Pool::Die), (GcStart::OnWrite, Pool::Plane)];
        // A program that waits for its collection keeps its die.
        let has_meaning = |start: GcStart| start != GcStart::OnWrite || blocking >= Domain::Die;
        for (start, pool) in starts.into_iter().filter(|&(start, _)| has_meaning(start)) {
            for level in [Level::Ssd, Level::Channel, Level::Chip] {
                let spec = device(blocking, start, pool);
                let (fused, unfused) = (run(&spec, level, true), run(&spec, level, false));
                assert!(
                    fused.1.len() > 100,
                    "{blocking:?} {start:?} {level:?}: hardly anything was collected"
                );
                assert_eq!(fused.0, unfused.0, "{blocking:?} {start:?} {level:?}");
                assert_eq!(fused.1, unfused.1, "{blocking:?} {start:?} {level:?}");
                assert_eq!(fused.2, unfused.2, "{blocking:?} {start:?} {level:?}");
            }
        }
    }
}
