//! Permission to collect: whoever drives the flash says which members may collect garbage, and when.
//!
//! Without control a member collects when it has to. Under control it begins a block only while it is permitted to. A
//! plane that is due, or at its soft watermark, is *withheld* until then: reads and programs go on in it, and when it is
//! down to the space that collection itself needs, programs wait. A block in hand is always finished. Every change that
//! may matter to whoever permits is news of the member.
//!
//! Permitted collections do not wait for demand or for an idle die: a permission that is not used holds up others.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::die::Phase;
use crate::flash::Flash;
use crate::gc;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::ready::Ready;

/// What a member tells of its permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcTurn {
    /// It collects a block, or is about to begin one that it is permitted to.
    pub collects: bool,
    /// Free pages of the fullest plane that waits for permission, if there is one.
    pub need: Option<u32>,
}

/// A permission to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    /// Blocks that each die may begin, of planes that wait for permission, the fullest first.
    pub blocks: u32,
    /// Dies where none waits collect planes that are no more than so many blocks above their low watermark.
    pub ahead: u32,
    /// At most so many such planes of a die, the fullest of them. What a die is permitted to run ahead with and has no
    /// block left for waits for permission from then on.
    pub ahead_planes: u32,
}

/// What a member has to do with permission.
#[derive(Clone, Copy, Debug, Default)]
struct Permitted {
    /// Blocks being collected.
    in_hand: u32,
    /// Blocks above the low watermark up to which its planes are collected.
    ahead: u32,
    /// Since when programs wait for permission.
    starves_from: Option<Nanos>,
}

#[derive(Clone, Debug)]
pub(crate) struct Control {
    members: Vec<Permitted>,
    /// For each die, the blocks that it may still begin.
    quota: Vec<u32>,
    news: Ready,
    /// Blocks above its low watermark at which a plane asks for permission.
    asks_ahead: u32,
}

impl<M: Media> Flash<M> {
    /// From now on members collect with [`Self::permit_gc`] alone, and ask for it when a plane comes within so many blocks
    /// of its low watermark, 0: when it reaches it. None of them has it.
    pub fn control_gc(&mut self, asks_ahead: u32) {
        let shape = &self.shape;
        self.control = Some(Control {
            members: vec![Permitted::default(); shape.members as usize],
            quota: vec![0; shape.dies as usize],
            news: Ready::new(shape.members),
            asks_ahead,
        });
        for die in 0..self.shape.dies {
            let in_hand = u32::from(self.collections[die as usize].block != NONE);
            let member = self.shape.member_of_die(die);
            self.permitted_mut(member, |permitted| permitted.in_hand += in_hand);
            let d = &mut self.dies[die as usize];
            d.collecting |= std::mem::take(&mut d.eager);
            self.withhold(die);
        }
    }

    /// A member may begin to collect. What it was permitted before is forgotten.
    pub fn permit_gc(&mut self, now: Nanos, member: u32, permit: Permit, agenda: &mut Agenda) {
        self.admitted = None;
        let Some(control) = &mut self.control else { return };
        let own = &mut control.members[member as usize];
        own.ahead = permit.ahead;
        if let Some(since) = own.starves_from.take() {
            self.members[member as usize].counters.permission_wait_ns += now - since;
        }
        let dies = self.dies_of_member(member);
        for die in dies.clone() {
            self.set_quota(die, permit.blocks);
            let withheld = std::mem::take(&mut self.dies[die as usize].withheld);
            // What can wait must not take the place of what cannot.
            let near = if withheld == 0 { self.near_low(die, permit) } else { 0 };
            self.dies[die as usize].collecting |= withheld | near;
            self.begin_with_fullest(die);
        }
        for die in dies {
            let d = &self.dies[die as usize];
            if d.phase == Phase::Idle && d.collecting != 0 && !d.active {
                self.next(now, die, agenda);
            }
        }
    }

    /// The planes of a die, one bit each, that it may collect ahead of what is due.
    fn near_low(&self, die: u32, permit: Permit) -> u64 {
        if permit.ahead == 0 {
            return 0;
        }
        let (planes, collecting) = (self.shape.by_plane.get(), self.dies[die as usize].collecting);
        let near =
            |local: &u32| collecting >> local & 1 == 0 && self.is_ahead(die * planes + local, permit.ahead);
        let mut near = (0..planes).filter(near).fold(0, |mask, local| mask | 1u64 << local);
        let room = permit.ahead_planes.saturating_sub(collecting.count_ones());
        while near.count_ones() > room {
            let among = (0..planes).filter(|local| near >> local & 1 != 0);
            let emptiest = among.max_by_key(|local| self.ftl.free_pages(die * planes + local));
            near &= !(1 << emptiest.unwrap_or(0));
        }
        near
    }

    /// Of the planes that a die is about to collect, the one with the fewest free pages is the first.
    fn begin_with_fullest(&mut self, die: u32) {
        let (planes, due) = (self.shape.by_plane.get(), self.dies[die as usize].collecting);
        let due = (0..planes).filter(|local| due >> local & 1 != 0).map(|local| die * planes + local);
        let c = &mut self.collections[die as usize];
        if c.block == NONE && c.cold == 0 {
            let fullest = due.min_by_key(|&plane| self.ftl.free_pages(plane));
            c.plane = fullest.unwrap_or(c.plane);
        }
    }

    /// A member begins no more blocks; those in hand it finishes.
    pub fn forbid_gc(&mut self, member: u32) {
        for die in self.dies_of_member(member) {
            self.set_quota(die, 0);
            self.withhold(die);
        }
    }

    /// A member of which there is news since it was last told: it waits for permission, more urgently than before, or
    /// it finished a block.
    pub fn next_gc_news(&mut self) -> Option<u32> {
        self.control.as_mut().and_then(|control| control.news.take())
    }

    /// Whether a member collects, and whether it waits for permission to. Takes time in proportion to its planes.
    pub fn gc_turn(&self, member: u32) -> GcTurn {
        let planes = self.shape.by_plane.get();
        let in_hand = self.control.as_ref().map_or(0, |control| control.members[member as usize].in_hand);
        let due = self.dies_of_member(member).any(|die| self.dies[die as usize].collecting != 0);
        let withheld = self.dies_of_member(member).flat_map(|die| {
            let mask = self.dies[die as usize].withheld;
            (0..planes).filter(move |local| mask >> local & 1 != 0).map(move |local| die * planes + local)
        });
        GcTurn { collects: in_hand > 0 || due, need: withheld.map(|plane| self.ftl.free_pages(plane)).min() }
    }

    /// Whether a die may begin to collect a block.
    #[inline(always)]
    pub(crate) fn may_collect(&self, die: u32) -> bool {
        self.control.as_ref().is_none_or(|control| control.quota[die as usize] > 0)
    }

    /// Planes of a die, one bit each, are to be collected: now, or when that is permitted.
    pub(crate) fn note_due(&mut self, die: u32, planes: u64) {
        let may = self.may_collect(die);
        let d = &mut self.dies[die as usize];
        if may {
            d.collecting |= planes;
        } else if planes & !d.withheld != 0 {
            d.withheld |= planes;
            self.tell_of(self.shape.member_of_die(die));
        }
    }

    /// A die begins to collect a block.
    pub(crate) fn begins_block(&mut self, die: u32) {
        let member = self.shape.member_of_die(die);
        if let Some(control) = &mut self.control {
            control.quota[die as usize] = control.quota[die as usize].saturating_sub(1);
            control.members[member as usize].in_hand += 1;
        }
    }

    /// A die has collected a block.
    pub(crate) fn ends_block(&mut self, die: u32) {
        if self.control.is_none() {
            return;
        }
        let member = self.shape.member_of_die(die);
        self.permitted_mut(member, |permitted| permitted.in_hand -= 1);
        if !self.may_collect(die) {
            self.withhold(die);
        }
        self.tell_of(member);
    }

    /// A plane of a member has nothing to collect after all: the permission that it had for that is somebody else's.
    pub(crate) fn note_stalled(&mut self, member: u32) {
        self.tell_of(member);
    }

    /// Whether a plane that was collected goes on for being permitted to run ahead.
    pub(crate) fn runs_ahead(&self, die: u32, plane: u32) -> bool {
        self.control.as_ref().is_some_and(|control| {
            let ahead = control.members[self.shape.member_of_die(die) as usize].ahead;
            ahead > 0 && control.quota[die as usize] > 0 && self.is_ahead(plane, ahead)
        })
    }

    /// A program of a stream found no space. If permission would make some, the member starves.
    pub(crate) fn note_refused(&mut self, now: Nanos, member: u32, stream: u8) {
        let Some(control) = &self.control else { return };
        if control.members[member as usize].starves_from.is_some() {
            return;
        }
        let planes = self.shape.by_plane.get();
        let lacks = |die: u32| {
            let mask = self.dies[die as usize].withheld;
            let mut withheld = (0..planes).filter(|local| mask >> local & 1 != 0);
            withheld.any(|local| !self.ftl.has_space(die * planes + local, stream))
        };
        if self.dies_of_member(member).any(lacks) {
            self.permitted_mut(member, |permitted| permitted.starves_from = Some(now));
            self.members[member as usize].counters.permission_waits += 1;
            self.tell_of(member);
        }
    }

    /// [`Self::note_refused`] of programs that wait for a die of an SSD.
    pub(crate) fn note_waiting(&mut self, now: Nanos, die: u32) {
        if self.dies[die as usize].withheld == 0 || self.shape.level != Level::Ssd {
            return;
        }
        let level = usize::from(self.read_priority);
        let waiting = self.dies[die as usize].queues[level].head;
        if waiting != NONE {
            let stream = self.slots[waiting as usize].stream;
            self.note_refused(now, self.shape.member_of_die(die), stream);
        }
    }

    /// Whether a plane of a member could be collected and is no more than so many blocks above its low watermark. Takes
    /// time in proportion to its planes, and to the blocks of those that are.
    pub fn is_near_gc(&self, member: u32, ahead: u32) -> bool {
        self.planes_of(member).any(|plane| self.is_ahead(plane, ahead))
    }

    /// Whether a plane is so near to its low watermark that it asks for permission.
    #[inline]
    pub(crate) fn asks_ahead(&self, plane: u32) -> bool {
        let ahead = self.control.as_ref().map_or(0, |control| control.asks_ahead);
        ahead > 0 && self.ftl.is_near_low(plane, ahead)
    }

    /// A plane is near enough to its low watermark, and a block of it is worth collecting.
    fn is_ahead(&self, plane: u32, ahead: u32) -> bool {
        let valid = self.ftl.valid_of(plane);
        let gains = |block: u32| u32::from(valid[block as usize]) < self.shape.data_pages;
        self.ftl.is_near_low(plane, ahead) && gc::least_valid(valid).is_some_and(gains)
    }

    /// What is due on a die and not begun waits for permission.
    fn withhold(&mut self, die: u32) {
        if self.collections[die as usize].block != NONE {
            return;
        }
        let d = &mut self.dies[die as usize];
        let due = std::mem::take(&mut d.collecting);
        if due != 0 {
            self.note_due(die, due);
        }
    }

    fn set_quota(&mut self, die: u32, blocks: u32) {
        if let Some(control) = &mut self.control {
            control.quota[die as usize] = blocks;
        }
    }

    fn permitted_mut(&mut self, member: u32, change: impl FnOnce(&mut Permitted)) {
        if let Some(control) = &mut self.control {
            change(&mut control.members[member as usize]);
        }
    }

    fn tell_of(&mut self, member: u32) {
        if let Some(control) = &mut self.control {
            control.news.refuse(member);
            control.news.report(member);
        }
    }

    fn dies_of_member(&self, member: u32) -> std::ops::Range<u32> {
        let first = member * self.shape.dies_per_member;
        first..first + self.shape.dies_per_member
    }
}
