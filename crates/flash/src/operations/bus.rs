//! Buses: one transfer at a time, first come first served, or reads first.
//!
//! A free bus is taken at once and needs no event, because the end of the transfer is known. The bus has an event, at
//! the end of the transfer in progress, only while a die or a member waits. A die waits in the middle of an
//! operation. A member (a chip or a channel, which keeps no queue) waits after it refused an operation because its
//! bus was busy. The turn of a member is an offer: the member is reported ready, and if it starts nothing at that
//! instant, the next in line has its turn.

use stripewise_base::Nanos;

use crate::list::{List, NONE};

/// What a transfer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A host read.
    Read,
    /// A host program, or garbage collection.
    Write,
}

/// The die or member whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// This die's transfer starts.
    Die(u32),
    /// This member may start an operation.
    Member(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Bus {
    busy_until: Nanos,
    /// Waiting reads (or all waiting transfers, without read priority), then the rest.
    waiting: [List; 2],
    /// An event is on the agenda.
    event: bool,
    /// At this instant a member may take the bus although others wait.
    offered: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Buses {
    buses: Vec<Bus>,
    /// The next entry in the waiting lists: dies, then members.
    next: Vec<u32>,
    waits: Vec<bool>,
    dies: u32,
    read_priority: bool,
}

impl Buses {
    pub(crate) fn new(buses: u32, dies: u32, members: u32, read_priority: bool) -> Self {
        let entries = (dies + members) as usize;
        Self {
            buses: vec![Bus::default(); buses as usize],
            next: vec![NONE; entries],
            waits: vec![false; entries],
            dies,
            read_priority,
        }
    }

    /// Whether a member may start a transfer now.
    #[inline(always)]
    pub(crate) fn is_free(&self, bus: u32, now: Nanos) -> bool {
        let bus = &self.buses[bus as usize];
        bus.busy_until <= now && (bus.offered || !bus.event)
    }

    /// Whether a die in the middle of an operation may start a transfer now, with no earlier request in the queue.
    #[inline(always)]
    pub(crate) fn is_idle(&self, bus: u32, now: Nanos) -> bool {
        let bus = &self.buses[bus as usize];
        bus.busy_until <= now && !bus.event
    }

    /// Remaining time of the transfer in progress.
    pub(crate) fn left(&self, bus: u32, now: Nanos) -> Nanos {
        self.buses[bus as usize].busy_until.saturating_sub(now)
    }

    /// Starts a transfer.
    #[inline(always)]
    pub(crate) fn occupy(&mut self, bus: u32, until: Nanos) {
        self.buses[bus as usize].busy_until = until;
    }

    /// Queues a die. Returns the time of the event that the caller must schedule, if any.
    pub(crate) fn await_die(&mut self, bus: u32, die: u32, class: Class) -> Option<Nanos> {
        self.wait(bus, die, class)
    }

    /// Queues a member; a second call for the same member has no effect. Returns the same as [`Self::await_die`].
    pub(crate) fn await_member(&mut self, bus: u32, member: u32, class: Class) -> Option<Nanos> {
        self.wait(bus, self.dies + member, class)
    }

    fn wait(&mut self, bus: u32, entry: u32, class: Class) -> Option<Nanos> {
        if std::mem::replace(&mut self.waits[entry as usize], true) {
            return None;
        }
        let bus = &mut self.buses[bus as usize];
        let list = usize::from(self.read_priority && class == Class::Write);
        bus.waiting[list].push(&mut self.next, entry);
        (!std::mem::replace(&mut bus.event, true)).then_some(bus.busy_until)
    }

    /// Handles the event of a bus: returns the die or member whose turn it is. After [`Turn::Member`] the caller
    /// calls [`Self::reschedule`] and lets the member's owner act before the next event. After [`Turn::Die`] the
    /// caller starts the transfer, then calls [`Self::reschedule`].
    pub(crate) fn turn(&mut self, bus: u32, now: Nanos, is_refused: impl Fn(u32) -> bool) -> Option<Turn> {
        let bus = &mut self.buses[bus as usize];
        bus.event = false;
        bus.offered = false;
        if bus.busy_until > now {
            return None;
        }
        while let Some(entry) = bus.waiting[0].pop(&self.next).or_else(|| bus.waiting[1].pop(&self.next)) {
            self.waits[entry as usize] = false;
            match entry.checked_sub(self.dies) {
                None => return Some(Turn::Die(entry)),
                Some(member) if is_refused(member) => {
                    bus.offered = true;
                    return Some(Turn::Member(member));
                }
                // Another event already made the member ready; it no longer waits.
                Some(_) => {}
            }
        }
        None
    }

    /// When the next event of a bus is due: at the end of its transfer, if a die or member still waits.
    pub(crate) fn reschedule(&mut self, bus: u32, now: Nanos) -> Option<Nanos> {
        let bus = &mut self.buses[bus as usize];
        if bus.waiting.iter().all(List::is_empty) {
            return None;
        }
        bus.event = true;
        Some(bus.busy_until.max(now))
    }
}
