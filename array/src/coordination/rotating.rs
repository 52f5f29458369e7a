//! Rotating permission: at most one element of a parity group collects at a time, so that whatever a read wants can be
//! decoded from elements that do not.
//!
//! Source: Yan et al., "Tiny-Tail Flash", FAST 2017 (rotating GC: one plane of a plane group at a time); Li et al.,
//! "IODA", SOSP 2021 (time windows in which one device of the array may collect). Both bound the collections of a stripe
//! to what its parity can bear. How a turn passes on is our choice, see [`Turn`].

use stripewise_base::Nanos;

use super::{CoordinationSection, GcTurn, Turn};
use crate::driver::Driver;
use crate::geometry::Geometry;
use crate::memory::Memory;

/// The permissions of an array.
#[derive(Debug)]
pub(crate) struct Rotating {
    section: CoordinationSection,
    /// The elements of all groups, group by group, then those that belong to none, each a group of its own.
    order: Vec<u16>,
    /// For each element its group.
    group_of: Vec<u16>,
    groups: Vec<Group>,
    /// When the timer is due that was asked for last.
    timer: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    /// Its members in `order`.
    first: u32,
    count: u32,
    /// Who has permission, or has lost it and still collects.
    holder: Option<u16>,
    /// Whose turn comes next where needs are equal.
    next: u32,
}

impl Rotating {
    /// One permission for each group of `geometry`; elements beyond it, of `count`, share theirs with nobody.
    pub(crate) fn new(section: CoordinationSection, geometry: &Geometry, count: u32) -> Self {
        let mut order = Vec::with_capacity(count as usize);
        let mut group_of = vec![u16::MAX; count as usize];
        let mut groups = Vec::new();
        let mut add = |members: &mut dyn Iterator<Item = u16>| {
            let first = order.len() as u32;
            order.extend(members);
            order[first as usize..]
                .iter()
                .for_each(|&member| group_of[member as usize] = groups.len() as u16);
            groups.push(Group { first, count: order.len() as u32 - first, holder: None, next: 0 });
        };
        for group in 0..geometry.groups {
            // Stripes are dealt to the groups in turn.
            let place = geometry.place(u64::from(group) * u64::from(geometry.chunk_pages));
            let mut members: Vec<u16> =
                (0..geometry.members).map(|member| geometry.element(place, member)).collect();
            members.sort_unstable();
            add(&mut members.into_iter());
        }
        for element in geometry.elements..count {
            add(&mut std::iter::once(element as u16));
        }
        Self { section, order, group_of, groups, timer: Nanos::MAX }
    }

    /// An element needs permission, or finished a block.
    pub(crate) fn heard<M: Memory, D: Driver<M>>(&mut self, now: Nanos, element: u16, driver: &mut D) {
        self.turn(now, self.group_of[element as usize].into(), driver);
    }

    /// A time has come that was asked for, or another one.
    pub(crate) fn timer<M: Memory, D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        if now < self.timer {
            return;
        }
        self.timer = Nanos::MAX;
        for group in 0..self.groups.len() {
            self.turn(now, group, driver);
        }
    }

    fn turn<M: Memory, D: Driver<M>>(&mut self, now: Nanos, group: usize, driver: &mut D) {
        match self.section.turn {
            Turn::Token => self.pass_token(group, driver),
            Turn::Window => self.keep_window(now, group, driver),
        }
    }

    /// The token goes on when its holder has collected a block on each of its dies that had to: to whoever needs it most,
    /// which may be the same again.
    fn pass_token<M: Memory, D: Driver<M>>(&mut self, group: usize, driver: &mut D) {
        loop {
            if let Some(holder) = self.groups[group].holder {
                if driver.gc_turn(holder).collects {
                    return;
                }
                driver.forbid_gc(holder);
                self.groups[group].holder = None;
            }
            let Some(neediest) = self.neediest(group, driver) else { return };
            self.groups[group].holder = Some(neediest);
            // What it cannot collect after all it needs no longer, so this comes to an end.
            driver.permit_gc(neediest, 1, self.section.ahead);
        }
    }

    /// The member with the fewest free pages of those that wait for permission; of equals the one whose turn was longest
    /// ago.
    fn neediest<M: Memory, D: Driver<M>>(&mut self, group: usize, driver: &D) -> Option<u16> {
        let Group { first, count, next, .. } = self.groups[group];
        let turns = (0..count).map(|step| (next + step) % count);
        let needs = turns.filter_map(|at| {
            let need = driver.gc_turn(self.order[(first + at) as usize]).need?;
            Some((need, at))
        });
        // The first of equals.
        let (_, at) = needs.min_by_key(|&(need, _)| need)?;
        self.groups[group].next = (at + 1) % count;
        Some(self.order[(first + at) as usize])
    }

    /// The member whose window it is may collect, once nobody else of the group does. A timer comes at the end of the
    /// window while anybody collects or waits.
    fn keep_window<M: Memory, D: Driver<M>>(&mut self, now: Nanos, group: usize, driver: &mut D) {
        let Group { first, count, holder, .. } = self.groups[group];
        let window = now / self.section.window.0;
        let own = self.order[first as usize + (window % u64::from(count)) as usize];
        if let Some(holder) = holder.filter(|&holder| holder != own) {
            driver.forbid_gc(holder);
            if !driver.gc_turn(holder).collects {
                self.groups[group].holder = None;
            }
        }
        let turn = driver.gc_turn(own);
        if self.groups[group].holder.is_none_or(|holder| holder == own) && turn.need.is_some() {
            self.groups[group].holder = Some(own);
            driver.permit_gc(own, u32::MAX, self.section.ahead);
        }
        let is_wanted = |&element: &u16| driver.gc_turn(element) != GcTurn::default();
        let wanted = self.order[first as usize..(first + count) as usize].iter().any(is_wanted);
        // A member without company keeps what it has.
        let held = self.groups[group].holder.is_some() && count > 1;
        let end = (window + 1) * self.section.window.0;
        if (wanted || held) && end < self.timer {
            self.timer = end;
            driver.set_timer(end);
        }
    }
}
