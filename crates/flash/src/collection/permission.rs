//! Permission to collect: the caller decides which members may collect garbage, and when.
//!
//! Without control, a member collects when it must. Under control, a member begins to collect a block only with
//! permission. A plane that is due, or at its soft watermark, is *withheld* until then. Reads and programs in a
//! withheld plane continue; when the plane is down to the space that collection itself needs, programs wait. A block
//! whose collection has begun is always finished. The member reports an event for every change that may matter to the
//! caller.
//!
//! Permitted collections do not wait for demand or for an idle die, because an unused permission delays other
//! members.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::collection::control::{Control, GcTurn, Permit, Permitted};
use crate::collection::gc;
use crate::flash::Flash;
use crate::geometry::Level;
use crate::list::NONE;
use crate::media::Media;
use crate::operations::die::Phase;
use crate::operations::ready::Ready;

impl<M: Media> Flash<M> {
    /// From now on members collect only with [`Self::permit_gc`]. They ask for permission when a plane comes within
    /// `asks_ahead` blocks of its low watermark (0: when the plane reaches it). Initially no member has permission.
    pub fn control_gc(&mut self, asks_ahead: u32) {
        let shape = &self.shape;
        self.control = Some(Control {
            members: vec![Permitted::default(); shape.members as usize],
            quota: vec![0; shape.dies as usize],
            events: Ready::new(shape.members),
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

    /// Permits a member to collect. Replaces its earlier permission.
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
            // Planes that can wait must not delay planes that cannot.
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

    /// The planes of a die, one bit each, that it may collect before they are due.
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

    /// Makes the plane with the fewest free pages the first one that a die collects.
    fn begin_with_fullest(&mut self, die: u32) {
        let (planes, due) = (self.shape.by_plane.get(), self.dies[die as usize].collecting);
        let due = (0..planes).filter(|local| due >> local & 1 != 0).map(|local| die * planes + local);
        let c = &mut self.collections[die as usize];
        if c.block == NONE && c.cold == 0 {
            let fullest = due.min_by_key(|&plane| self.ftl.free_pages(plane));
            c.plane = fullest.unwrap_or(c.plane);
        }
    }

    /// Withdraws the permission of a member: it begins no more blocks but finishes the current ones.
    pub fn forbid_gc(&mut self, member: u32) {
        for die in self.dies_of_member(member) {
            self.set_quota(die, 0);
            self.withhold(die);
        }
    }

    /// A member with an event since it was last reported: it waits for permission, or does so more urgently than
    /// before, or it finished a block.
    pub fn next_gc_event(&mut self) -> Option<u32> {
        self.control.as_mut().and_then(|control| control.events.take())
    }

    /// Whether a member collects, and whether it waits for permission. Takes time in proportion to the number of its
    /// planes.
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

    /// Marks planes of a die, one bit each, as due for collection: now, or when permitted.
    pub(crate) fn note_due(&mut self, die: u32, planes: u64) {
        let may = self.may_collect(die);
        let d = &mut self.dies[die as usize];
        if may {
            d.collecting |= planes;
        } else if planes & !d.withheld != 0 {
            d.withheld |= planes;
            self.notify_of(self.shape.member_of_die(die));
        }
    }

    /// Records that a die begins to collect a block.
    pub(crate) fn begins_block(&mut self, die: u32) {
        let member = self.shape.member_of_die(die);
        if let Some(control) = &mut self.control {
            control.quota[die as usize] = control.quota[die as usize].saturating_sub(1);
            control.members[member as usize].in_hand += 1;
        }
    }

    /// Records that a die has collected a block.
    pub(crate) fn ends_block(&mut self, die: u32) {
        if self.control.is_none() {
            return;
        }
        let member = self.shape.member_of_die(die);
        self.permitted_mut(member, |permitted| permitted.in_hand -= 1);
        if !self.may_collect(die) {
            self.withhold(die);
        }
        self.notify_of(member);
    }

    /// A plane of a member has no block to collect after all: reports the member, so that its permission can go to
    /// another one.
    pub(crate) fn note_stalled(&mut self, member: u32) {
        self.notify_of(member);
    }

    /// Whether a collected plane continues because it is permitted to run ahead.
    pub(crate) fn runs_ahead(&self, die: u32, plane: u32) -> bool {
        self.control.as_ref().is_some_and(|control| {
            let ahead = control.members[self.shape.member_of_die(die) as usize].ahead;
            ahead > 0 && control.quota[die as usize] > 0 && self.is_ahead(plane, ahead)
        })
    }

    /// A program of a stream found no space. If permission would make space, the member is out of space from now on.
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
            self.notify_of(member);
        }
    }

    /// [`Self::note_refused`] for programs that wait for a die of an SSD.
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

    /// Whether some plane of a member could be collected and is at most `ahead` blocks above its low watermark. Takes
    /// time in proportion to the number of the member's planes, and of the blocks of planes near the watermark.
    pub fn is_near_gc(&self, member: u32, ahead: u32) -> bool {
        self.planes_of(member).any(|plane| self.is_ahead(plane, ahead))
    }

    /// Whether a plane is close enough to its low watermark to ask for permission.
    #[inline]
    pub(crate) fn asks_ahead(&self, plane: u32) -> bool {
        let ahead = self.control.as_ref().map_or(0, |control| control.asks_ahead);
        ahead > 0 && self.ftl.is_near_low(plane, ahead)
    }

    /// Whether a plane is close enough to its low watermark and has a block worth collecting.
    fn is_ahead(&self, plane: u32, ahead: u32) -> bool {
        let valid = self.ftl.valid_of(plane);
        let gains = |block: u32| u32::from(valid[block as usize]) < self.shape.data_pages;
        self.ftl.is_near_low(plane, ahead) && gc::least_valid(valid).is_some_and(gains)
    }

    /// Makes collections of a die that are due and not begun wait for permission.
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

    fn notify_of(&mut self, member: u32) {
        if let Some(control) = &mut self.control {
            control.events.refuse(member);
            control.events.report(member);
        }
    }

    fn dies_of_member(&self, member: u32) -> std::ops::Range<u32> {
        let first = member * self.shape.dies_per_member;
        first..first + self.shape.dies_per_member
    }
}
