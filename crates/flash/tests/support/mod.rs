//! A minimal driver: every member has a first-in first-out queue in front of it.
#![allow(dead_code, unreachable_pub)]

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;
use stripewise_flash::{Admission, DeviceSpec, Done, Flash, Level, Media, Op, OpKind, Permit};

/// The device of most tests: 2 channels x 2 chips x 1 die x 2 planes x 8 blocks x 4 pages of 4 KiB. Cell times are
/// 10, 100 and 1000 us; a page takes 4 us on the bus; commands take no time.
pub const SMALL: &str = r#"
name = "small"
[geometry]
channels = 2
chips = 2
dies = 1
planes = 2
blocks = 8
pages = 4
page_bytes = "4000B"
[timing]
read = "10us"
program = "100us"
erase = "1ms"
bus = "1ns/B"
[ftl]
over_provisioning = "50%"
order = "CWDP"
pool = "plane"
[scheduling]
read_priority = true
window = 64
[gc]
victim = "greedy"
low_watermark = { block-count = 1 }
blocking = "plane"
"#;

pub fn spec(text: &str) -> DeviceSpec {
    DeviceSpec::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The small device, with lines of its file replaced.
pub fn small(changes: &[(&str, &str)]) -> DeviceSpec {
    let mut text = SMALL.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}` to change");
        text = text.replace(from, to);
    }
    spec(&text)
}

/// Permission for `blocks` blocks of each die, and for all planes within `ahead` blocks of their low watermark on
/// dies with no plane due.
pub fn permit(blocks: u32, ahead: u32) -> Permit {
    Permit { blocks, ahead, ahead_planes: u32::MAX }
}

pub fn read(page: u32) -> Op {
    Op { kind: OpKind::Read, page, ..Op::default() }
}

pub fn write(page: u32) -> Op {
    Op { kind: OpKind::Program, page, ..Op::default() }
}

pub fn pinning(page: u32) -> Op {
    Op { old_version: true, ..write(page) }
}

pub fn trim(page: u32) -> Op {
    Op { kind: OpKind::Trim, page, ..Op::default() }
}

/// A finished operation with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub token: u32,
    /// When the flash started the operation, and when it was done.
    pub start: Nanos,
    pub end: Nanos,
    pub done: Done,
}

pub struct Rig<M: Media = ()> {
    pub flash: Flash<M>,
    pub agenda: Agenda,
    pub now: Nanos,
    queues: Vec<VecDeque<(u32, Op)>>,
    starts: Vec<Nanos>,
    pub finished: Vec<Finished>,
    done: Vec<Done>,
}

impl Rig<()> {
    pub fn new(spec: &DeviceSpec, level: Level) -> Self {
        Self::over(Flash::new(spec, level, 1, 1).unwrap_or_else(|error| panic!("{error}")))
    }
}

impl<M: Media> Rig<M> {
    pub fn over(flash: Flash<M>) -> Self {
        let queues = vec![VecDeque::new(); flash.shape().members as usize];
        let (agenda, starts, finished, done) = (Agenda::new(), Vec::new(), Vec::new(), Vec::new());
        Self { flash, agenda, now: 0, queues, starts, finished, done }
    }

    /// Queues an operation now; returns its token.
    pub fn submit(&mut self, member: u32, op: Op) -> u32 {
        let token = self.starts.len() as u32;
        self.starts.push(0);
        self.queues[member as usize].push_back((token, op));
        self.dispatch(member);
        token
    }

    /// Permits a member to collect, and offers the waiting operations.
    pub fn permit(&mut self, member: u32, blocks: u32, ahead: u32) {
        self.flash.permit_gc(self.now, member, permit(blocks, ahead), &mut self.agenda);
        self.dispatch_ready();
    }

    /// Whether an operation waits in front of a member.
    pub fn waits(&self, member: u32) -> bool {
        !self.queues[member as usize].is_empty()
    }

    fn dispatch(&mut self, member: u32) {
        while let Some(&(token, op)) = self.queues[member as usize].front() {
            if self.flash.admits(self.now, member, &op, &mut self.agenda) != Admission::Admitted {
                break;
            }
            self.queues[member as usize].pop_front();
            self.starts[token as usize] = self.now;
            self.flash.start(self.now, member, token, op, &mut self.agenda);
        }
    }

    /// Offers waiting operations to members that may accept them.
    pub fn dispatch_ready(&mut self) {
        while let Some(member) = self.flash.next_ready() {
            self.dispatch(member);
        }
    }

    /// Handles one event; false if there was none.
    pub fn step(&mut self) -> bool {
        let Some((now, event)) = self.agenda.pop() else { return false };
        assert!(now >= self.now);
        self.now = now;
        self.flash.handle(now, event, &mut self.agenda, &mut self.done);
        for done in self.done.drain(..) {
            let start = self.starts[done.token as usize];
            assert_eq!(
                start + done.queue_ns + done.gc_wait_ns + done.bus_ns + done.cell_ns,
                now,
                "the parts of {done:?} do not add up"
            );
            self.finished.push(Finished { token: done.token, start, end: now, done });
        }
        self.dispatch_ready();
        true
    }

    /// Handles all events up to `end`, inclusive.
    pub fn run_until(&mut self, end: Nanos) {
        while self.agenda.next_time().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Handles all events. No queue may have entries left.
    pub fn run(&mut self) {
        while self.step() {}
        let left: usize = self.queues.iter().map(VecDeque::len).sum();
        assert_eq!(left, 0, "{left} operations were never started");
        assert_eq!(self.finished.len(), self.starts.len(), "operations were lost");
    }

    /// Submits and finishes one operation.
    pub fn one(&mut self, member: u32, op: Op) -> Finished {
        let token = self.submit(member, op);
        self.run();
        self.of(token)
    }

    pub fn of(&self, token: u32) -> Finished {
        *self.finished.iter().find(|finished| finished.token == token).expect("finished")
    }

    pub fn release(&mut self, member: u32, page: u32) {
        self.flash.release(self.now, member, page, &mut self.agenda);
        self.dispatch_ready();
    }
}
