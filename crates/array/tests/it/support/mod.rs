//! An array whose members carry out one operation at a time, each in one slot of time unless its member is slow.

use std::collections::BTreeMap;
use stripewise_core::ids::{MemberNo, PlanId};

use stripewise_array::coordination::GcControl;
use stripewise_array::{
    Acknowledgement, Admission, Array, Controller, Driver, HostRequest, MemberLoad, Members, NoMemory,
    Operation, OperationId, Outcome, RequestKind, Scheme, SubmitError, Timer, Timing,
};

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;

/// Events, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A member began an operation.
    Started(Operation),
    /// A host was notified of the end of a request.
    Acknowledged(u64),
}

/// Members and hosts.
#[derive(Default)]
pub(crate) struct World {
    slot: u64,
    running: BTreeMap<u16, (u64, OperationId)>,
    timers: Vec<u64>,
    pub(crate) seen: Vec<(u64, Seen)>,
    /// The number of slots per operation, for members that need more than one.
    pub(crate) takes: BTreeMap<u16, u64>,
    /// How long garbage collection delays reads, by member.
    pub(crate) gc_waits: BTreeMap<u16, u64>,
    /// The tags of failed requests.
    pub(crate) failed: Vec<u64>,
}

impl MemberLoad for World {
    fn gc_wait_ns(&self, member: MemberNo, _page: u32) -> Option<u64> {
        Some(self.gc_waits.get(&member.number()).copied().unwrap_or(0))
    }
}

impl Timer for World {
    fn set_timer(&mut self, at: u64) {
        self.timers.push(at);
    }
}

impl GcControl for World {}

impl Driver<NoMemory> for World {
    fn admits(&mut self, operation: &Operation) -> Admission {
        if self.running.contains_key(&operation.member.number()) {
            Admission::Closed
        } else {
            Admission::Admitted
        }
    }

    fn start(&mut self, id: OperationId, operation: &Operation, _page: u32, _memory: &mut NoMemory) {
        let takes = self.takes.get(&operation.member.number()).copied().unwrap_or(1);
        self.running.insert(operation.member.number(), (self.slot + takes, id));
        self.seen.push((self.slot, Seen::Started(*operation)));
    }

    fn compute(&mut self, _plan: PlanId, _pages: u32) -> bool {
        true
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, (): ()) {
        self.seen.push((self.slot, Seen::Acknowledged(acknowledgement.tag)));
        if acknowledgement.failed {
            self.failed.push(acknowledgement.tag);
        }
    }
}

/// The array and its world.
pub(crate) struct Rig {
    pub(crate) array: Array<NoMemory>,
    pub(crate) world: World,
    tag: u64,
}

impl Rig {
    /// `scheme` over `count` members of `pages` pages.
    pub(crate) fn new(scheme: &str, count: u32, pages: u32) -> Self {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Members {
            count,
            page_bytes: PAGE as u32,
            pages,
            volatile_cache: true,
            discard: true,
            old_versions: 0,
            streams: 1,
            gc_control: false,
            gc_state: true,
        };
        let array = Array::new(&scheme, members, NoMemory).unwrap_or_else(|error| panic!("{error}"));
        Self { array, world: World::default(), tag: 0 }
    }

    /// Submits a request of `pages` pages from `page` on. Returns its tag, or `None` if the array is busy.
    pub(crate) fn submit(&mut self, kind: RequestKind, page: u64, pages: u64) -> Option<u64> {
        let bytes = if kind == RequestKind::Flush { 0 } else { (pages * PAGE) as u32 };
        let host = HostRequest { tag: self.tag, arrival: self.world.slot, offset: page * PAGE, bytes, kind };
        match self.array.submit(self.world.slot, host, (), &mut self.world) {
            Ok(()) => {
                self.tag += 1;
                Some(self.tag - 1)
            }
            Err((SubmitError::Busy, ())) => None,
            Err((error, ())) => panic!("{error}"),
        }
    }

    /// Starts all possible operations, and advances by one slot. Returns false when nothing is left to do.
    pub(crate) fn step(&mut self) -> bool {
        self.array.dispatch(&mut self.world);
        let next_timer = self.world.timers.iter().copied().min();
        if self.world.running.is_empty() && next_timer.is_none() {
            return false;
        }
        self.world.slot += 1;
        if self.world.running.is_empty() {
            self.world.slot = self.world.slot.max(next_timer.unwrap_or(0));
        }
        let now = self.world.slot;
        let ended: Vec<_> = self.world.running.extract_if(.., |_, (end, _)| *end <= now).collect();
        for (member, (_, id)) in ended {
            self.array.completed(now, id, Outcome::Done, Timing::default(), &mut self.world);
            self.array.member_ready(MemberNo::new(member));
        }
        if self.world.timers.extract_if(.., |at| *at <= now).count() > 0 {
            self.array.timer(now, &mut self.world);
        }
        true
    }

    /// Power is lost and returns.
    pub(crate) fn lose_power(self) -> Self {
        let array = self.array.restart().unwrap_or_else(|error| panic!("{error}"));
        let World { slot, takes, gc_waits, .. } = self.world;
        let world = World { slot, takes, gc_waits, ..World::default() };
        let mut rig = Self { array, world, tag: self.tag };
        rig.array.resume(slot, &mut rig.world);
        rig
    }

    /// Runs until nothing is left to do.
    pub(crate) fn run(&mut self) {
        while self.step() {}
    }

    /// The current slot.
    pub(crate) fn now(&self) -> u64 {
        self.world.slot
    }

    /// The operations that were started.
    pub(crate) fn started(&self) -> impl Iterator<Item = Operation> {
        self.world.seen.iter().filter_map(|&(_, seen)| match seen {
            Seen::Started(operation) => Some(operation),
            Seen::Acknowledged(_) => None,
        })
    }

    /// The acknowledged requests in order: tag and slot.
    pub(crate) fn acknowledged(&self) -> Vec<(u64, u64)> {
        let ended = |&(at, seen): &(u64, Seen)| match seen {
            Seen::Acknowledged(tag) => Some((tag, at)),
            Seen::Started(_) => None,
        };
        self.world.seen.iter().filter_map(ended).collect()
    }
}
