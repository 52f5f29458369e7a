//! Placement: the plane of its pool to which a program writes, and the time of that decision.
//!
//! A channel or a chip decides when it starts the program. In an SSD, the die and the plane are chosen when the
//! program is started. If the pool lies within one die, the plane is chosen later, when the die takes the program
//! from its queue, after any earlier collection.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;

use crate::flash::Flash;
use crate::geometry::Level;
use crate::media::Media;
use crate::operations::die::Phase;
use crate::operations::op::{OpKind, Slot};
use crate::spec::Choice;

impl<M: Media> Flash<M> {
    /// The plane of a channel or chip to which a program would go if it started now.
    #[inline]
    pub(crate) fn startable_plane(&self, member: u32, page: u32, stream: u8) -> Option<u32> {
        self.choose_plane(member, page, stream, |plane| {
            self.can_start(self.shape.die_of_plane(plane), plane) && self.ftl.has_space(plane, stream)
        })
    }

    /// The plane of a page's pool to which a program goes, among the `fit` ones. If possible, the plane has
    /// few enough valid pages for collection to keep up.
    #[inline]
    fn choose_plane(&self, member: u32, page: u32, stream: u8, fit: impl Fn(u32) -> bool) -> Option<u32> {
        let pool = self.pools.of_page(page);
        if let [only] = self.pools.planes(pool) {
            return Some(self.shape.first_plane(member) + only).filter(|&plane| fit(plane));
        }
        let slack = |plane: u32| {
            let p = &self.ftl.planes[plane as usize];
            p.valid + p.promised < self.max_valid
        };
        self.choose_in_pool(member, pool, stream, |plane| slack(plane) && fit(plane))
            .or_else(|| self.choose_in_pool(member, pool, stream, fit))
    }

    #[inline]
    fn choose_in_pool(&self, member: u32, pool: u32, stream: u8, fit: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.shape.first_plane(member);
        let planes = self.pools.planes(pool);
        let turn = self.turns[(member * self.pools.count.get() + pool) as usize] as usize;
        let (before, after) = planes.split_at(turn);
        let (mut best, mut most) = (None, 0);
        for &local in after.iter().chain(before) {
            let plane = first + local;
            let p = &self.ftl.planes[plane as usize];
            // Plus one, so that a plane without free pages is also considered.
            let left = self.ftl.free_pages_for(plane, stream).saturating_sub(p.promised) + 1;
            if left > most && fit(plane) {
                if self.pools.choice == Choice::RoundRobin {
                    return Some(plane);
                }
                (best, most) = (Some(plane), left);
            }
        }
        best
    }

    /// The plane to which a program in an SSD will go: if possible, a plane that is not collecting and has space.
    pub(crate) fn promise_plane(&mut self, member: u32, page: u32, stream: u8) -> u32 {
        let calm = |plane: u32| {
            let die = self.shape.die_of_plane(plane);
            let d = &self.dies[die as usize];
            d.held == 0 && !self.is_blocked(d.closed(), die, plane) && self.ftl.has_space(plane, stream)
        };
        let first = self.shape.first_plane(member);
        let planes = self.pools.planes(self.pools.of_page(page));
        let plane = match planes {
            [only] => first + only,
            _ => self
                .choose_plane(member, page, stream, calm)
                .or_else(|| self.choose_plane(member, page, stream, |_| true))
                .unwrap_or(first + planes[0]),
        };
        self.ftl.planes[plane as usize].promised += 1;
        plane
    }

    /// The plane to which an untimed write goes.
    pub(crate) fn untimed_plane(&self, member: u32, page: u32, stream: u8) -> u32 {
        let chosen = self.choose_plane(member, page, stream, |plane| self.ftl.has_space(plane, stream));
        chosen.unwrap_or_else(|| panic!("member {member} has no space for page {page}"))
    }

    /// After an allocation, advances the turn to the next plane in order.
    pub(crate) fn pass_turn(&mut self, member: u32, page: u32, plane: u32) {
        if self.pools.is_static() {
            return;
        }
        let pool = self.pools.of_page(page);
        let planes = self.pools.planes(pool);
        let local = plane - self.shape.first_plane(member);
        let turn = &mut self.turns[(member * self.pools.count.get() + pool) as usize];
        // In most cases it is the plane whose turn it was.
        let at = if planes[*turn as usize] == local {
            *turn as usize
        } else {
            planes.iter().position(|&other| other == local).unwrap_or(0)
        };
        *turn = if at + 1 == planes.len() { 0 } else { at as u32 + 1 };
    }

    /// The plane to which a program in an SSD would go if its die started it now.
    #[inline]
    pub(crate) fn plane_for(&self, die: u32, slot: u32) -> Option<u32> {
        let s = &self.slots[slot as usize];
        let collecting = self.dies[die as usize].closed();
        let free = |plane: u32| self.taken >> (plane - die * self.shape.by_plane.get()) & 1 == 0;
        let fit = |plane| {
            free(plane) && !self.is_blocked(collecting, die, plane) && self.ftl.has_space(plane, s.stream)
        };
        if self.pools.is_late() {
            self.choose_plane(s.member, s.page, s.stream, fit)
        } else {
            Some(s.plane).filter(|&plane| fit(plane))
        }
    }

    /// A program takes a page of its reserved plane, or of the plane that is chosen now.
    #[inline]
    pub(crate) fn take_place(&mut self, die: u32, slot: u32, promised: u32) -> u32 {
        if self.shape.level != Level::Ssd {
            return promised;
        }
        if !self.pools.is_late() {
            self.ftl.planes[promised as usize].promised -= 1;
            return promised;
        }
        let Slot { member, page, .. } = self.slots[slot as usize];
        // The check whether the program may run has just found its plane.
        let fitting = self.fitting.take().filter(|&(whose, _)| whose == slot).map(|(_, plane)| plane);
        debug_assert!(fitting.is_none_or(|_| fitting == self.plane_for(die, slot)));
        let plane = fitting
            .or_else(|| self.plane_for(die, slot))
            .unwrap_or_else(|| panic!("die {die} took up what it cannot place"));
        self.pass_turn(member, page, plane);
        plane
    }

    /// Moves programs that wait for `plane`, which has nothing to collect, to planes of their pool that have. Such a
    /// plane always exists: a pool exports fewer pages than its planes may hold for collection to keep up.
    pub(crate) fn reroute(&mut self, now: Nanos, plane: u32, agenda: &mut Agenda) {
        if self.shape.level != Level::Ssd || self.pools.is_static() || self.pools.is_late() {
            return;
        }
        let from = self.shape.die_of_plane(plane);
        for level in 0..2 {
            loop {
                let mut queue = self.dies[from as usize].queues[level];
                let mut next = std::mem::take(&mut self.slot_next);
                let may_go = |slot: u32| {
                    let s = &self.slots[slot as usize];
                    s.kind == OpKind::Program && s.plane == plane && self.open_plane(slot).is_some()
                };
                let taken = queue.take(&mut next, may_go);
                self.slot_next = next;
                self.dies[from as usize].queues[level] = queue;
                let Some((slot, to)) = taken.and_then(|slot| Some((slot, self.open_plane(slot)?))) else {
                    break;
                };
                self.ftl.planes[plane as usize].promised -= 1;
                self.ftl.planes[to as usize].promised += 1;
                let other = self.shape.die_of_plane(to);
                let s = &mut self.slots[slot as usize];
                s.plane = to;
                let waited = self.dies[from as usize].gc_clock(now).wrapping_sub(s.gc);
                let d = &mut self.dies[other as usize];
                s.gc = d.gc_clock(now).wrapping_sub(waited);
                d.queues[level].push(&mut self.slot_next, slot);
                d.barren = 0;
                // Not immediately: this may be a step of an action that involves the other die.
                if d.phase == Phase::Idle {
                    d.phase = Phase::Offer;
                    self.schedule_die(now, other, agenda);
                }
            }
        }
    }

    /// The plane with the fewest reservations to which a waiting program can go instead, because collection can make
    /// room there.
    fn open_plane(&self, slot: u32) -> Option<u32> {
        let Slot { member, page, plane, .. } = self.slots[slot as usize];
        let first = self.shape.first_plane(member);
        let planes = self.pools.planes(self.pools.of_page(page)).iter().map(|local| first + local);
        let open =
            planes.filter(|&other| other != plane && self.ftl.planes[other as usize].valid < self.max_valid);
        open.min_by_key(|&other| self.ftl.planes[other as usize].promised)
    }

    /// Whether a die may start a host operation that waits for it.
    #[inline]
    pub(crate) fn may_run(&self, die: u32, slot: u32) -> bool {
        self.runs_on(die, slot).is_some()
    }

    /// The plane that a host operation would use if its die started it now; `None` if the operation may not start.
    #[inline]
    pub(crate) fn runs_on(&self, die: u32, slot: u32) -> Option<u32> {
        let Slot { plane, kind, .. } = self.slots[slot as usize];
        if kind == OpKind::Read {
            (!self.is_blocked(self.dies[die as usize].closed(), die, plane)).then_some(plane)
        } else {
            self.plane_for(die, slot)
        }
    }
}
