//! Buses: one transfer at a time, in the order of asking, or reads first.
//!
//! A bus that is free is taken at once and needs no event: the end of the transfer is known. Only when somebody waits
//! is there an event, at the end of the transfer in progress. Who waits is a die in the middle of an operation, or an
//! member (a chip or a channel, which keeps no queue) that refused an operation because its bus was busy. An
//! member's turn is an offer: it is reported ready, and if it starts nothing at that instant, the next one has its
//! turn.

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

/// Whose turn it is.
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
    /// Reads (or everybody, without priority), then the rest.
    waiting: [List; 2],
    /// An event is on the agenda.
    event: bool,
    /// At this instant a member may take the bus although others wait.
    offered: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Buses {
    buses: Vec<Bus>,
    /// Successors in waiting lists: dies, then members.
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

    /// Whether a die that is in the middle of an operation may start a transfer now: nobody asked before it.
    #[inline(always)]
    pub(crate) fn is_idle(&self, bus: u32, now: Nanos) -> bool {
        let bus = &self.buses[bus as usize];
        bus.busy_until <= now && !bus.event
    }

    /// Time that the transfer in progress still takes.
    pub(crate) fn left(&self, bus: u32, now: Nanos) -> Nanos {
        self.buses[bus as usize].busy_until.saturating_sub(now)
    }

    /// Starts a transfer.
    #[inline(always)]
    pub(crate) fn occupy(&mut self, bus: u32, until: Nanos) {
        self.buses[bus as usize].busy_until = until;
    }

    /// A die waits. Returns when the event is due that the caller has to put on the agenda, if any.
    pub(crate) fn await_die(&mut self, bus: u32, die: u32, class: Class) -> Option<Nanos> {
        self.wait(bus, die, class)
    }

    /// A member waits; waiting twice is waiting once. As [`Self::await_die`].
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

    /// The event of a bus: whose turn is it? After [`Turn::Member`] the caller calls [`Self::reschedule`] and lets the
    /// member's owner act before the next event; after [`Turn::Die`] it starts the transfer, then calls it.
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
                // It found its way by another event and waits no longer.
                Some(_) => {}
            }
        }
        None
    }

    /// When the next event of a bus is due: at the end of its transfer, if somebody still waits.
    pub(crate) fn reschedule(&mut self, bus: u32, now: Nanos) -> Option<Nanos> {
        let bus = &mut self.buses[bus as usize];
        if bus.waiting.iter().all(List::is_empty) {
            return None;
        }
        bus.event = true;
        Some(bus.busy_until.max(now))
    }
}
