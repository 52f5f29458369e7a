//! Checks that no operation allocates memory. The test counts allocations of the whole process, so it is a separate
//! program.

mod support;

use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;
use stripewise_flash::spec::{Domain, Isolation, Pool, Victim};
use stripewise_flash::{Admission, DeviceSpec, Done, Flash, Level, Op, OpKind, Share, State};
use support::small;

#[global_allocator]
static COUNTING: dhat::Alloc = dhat::Alloc;

/// A closed loop of random operations, with all of its memory allocated at the start.
struct Load {
    flash: Flash,
    agenda: Agenda,
    random: Prng,
    now: u64,
    done: Vec<Done>,
    waiting: Vec<Vec<Op>>,
    pinned: Vec<(u32, u32)>,
}

impl Load {
    fn new(spec: &DeviceSpec, level: Level) -> Self {
        let mut flash = Flash::new(spec, level, 2, 1).unwrap_or_else(|error| panic!("{error}"));
        flash.precondition(State::Steady, Share::ALL, 1);
        flash.enable_gc_log();
        let members = flash.shape().members as usize;
        let waiting = (0..members).map(|_| Vec::with_capacity(1000)).collect();
        let (done, pinned) = (Vec::with_capacity(1000), Vec::with_capacity(1000));
        Self { flash, agenda: Agenda::new(), random: Prng::new(5), now: 0, done, waiting, pinned }
    }

    fn offer(&mut self, now: u64, member: u32, op: Op) -> bool {
        let admitted = self.flash.admits(now, member, &op, &mut self.agenda) == Admission::Admitted;
        if admitted {
            self.flash.start(now, member, 0, op, &mut self.agenda);
        }
        admitted
    }

    fn submit(&mut self, now: u64) {
        let member = self.random.below(self.flash.shape().members.into()) as u32;
        let page = self.random.below(self.flash.logical_pages().into()) as u32;
        let kind = match self.random.below(8) {
            0..5 => OpKind::Program,
            5..7 => OpKind::Read,
            _ => OpKind::Trim,
        };
        let old_version = kind == OpKind::Program && self.pinned.len() < 8;
        if old_version {
            self.pinned.push((member, page));
        }
        let op = Op {
            kind,
            page,
            old_version,
            stream: self.random.below(self.flash.spec().ftl.streams.into()) as u8,
            ..Op::default()
        };
        if !self.waiting[member as usize].is_empty() || !self.offer(now, member, op) {
            self.waiting[member as usize].push(op);
        }
    }

    fn run(&mut self, events: u64) {
        for _ in 0..events {
            let Some((now, event)) = self.agenda.pop() else { break };
            self.now = now;
            self.flash.handle(now, event, &mut self.agenda, &mut self.done);
            if self.pinned.len() == 8 {
                for (member, page) in self.pinned.drain(..) {
                    self.flash.release(now, member, page, &mut self.agenda);
                }
            }
            while let Some(member) = self.flash.next_ready() {
                while let Some(&op) = self.waiting[member as usize].last() {
                    if !self.offer(now, member, op) {
                        break;
                    }
                    self.waiting[member as usize].pop();
                }
            }
            for _ in 0..self.done.len() {
                self.submit(now);
            }
            self.done.clear();
            self.flash.drain_gc_log().for_each(drop);
        }
    }
}

#[test]
fn nothing_is_allocated_once_the_device_is_warm() {
    for level in [Level::Ssd, Level::Channel, Level::Chip] {
        for (pool, victim, blocking, streams) in [
            (Pool::Plane, Victim::Greedy, Domain::Plane, 1),
            (Pool::Member, Victim::Fifo, Domain::Channel, 2),
            (Pool::Die, Victim::DChoices(3), Domain::Die, 4),
        ] {
            let mut spec = small(&[
                ("window = 64", "window = 40"),
                ("bus = \"1ns/B\"", "bus = \"1ns/B\"\nhost_link = \"1ns/B\""),
            ]);
            (spec.ftl.pool, spec.gc.victim, spec.gc.blocking) = (pool, victim, blocking);
            (spec.geometry.blocks, spec.geometry.pages) = (32, 16);
            spec.ftl.streams = streams;
            if streams > 2 {
                spec.ftl.isolation = Isolation::Persistent;
            }
            let mut load = Load::new(&spec, level);
            (0..60).for_each(|_| load.submit(0));
            load.run(400_000);
            let profiler = dhat::Profiler::builder().testing().build();
            load.run(400_000);
            let stats = dhat::HeapStats::get();
            drop(profiler);
            assert_eq!(stats.total_blocks, 0, "{level:?} {pool:?} {victim:?}");
            assert!(
                load.flash.counters(load.now, 0).erase_blocks > 100,
                "{level:?} {pool:?}: collection was part of it"
            );
        }
    }
}
