//! Rotating permission: at most one member of a parity group collects at a time, so that any read can be decoded from
//! members that do not collect.
//!
//! Source: Yan et al., "Tiny-Tail Flash", FAST 2017 (rotating GC: one plane of a plane group at a time); Li et al.,
//! "IODA", SOSP 2021 (time windows in which one device of the array may collect). Both bound the collections of a stripe
//! to the number that its parity tolerates. How the turn passes is our choice, see [`Turn`].

use stripewise_base::Nanos;
use stripewise_core::ids::MemberNo;

use super::groups::Groups;
use super::{Ahead, CoordinationSection, GcControl, GcPermit, GcTurn, Turn};

/// The permissions of an array.
#[derive(Debug)]
pub struct Rotating {
    section: CoordinationSection,
    groups: Groups,
    turns: Vec<GroupTurn>,
    /// When the last requested timer is due.
    timer: Nanos,
}

/// Which member of a group has the turn.
#[derive(Clone, Copy, Debug, Default)]
struct GroupTurn {
    /// The member that has permission, or that has lost it and still collects.
    holder: Option<MemberNo>,
    /// The member whose turn is next if needs are equal, as an index into the group's members.
    next: usize,
}

impl Rotating {
    /// One permission for each of `groups`.
    pub(crate) fn new(section: CoordinationSection, groups: Groups) -> Self {
        let turns = vec![GroupTurn::default(); groups.count()];
        Self { section, groups, turns, timer: Nanos::MAX }
    }

    /// A member needs permission, or has finished a block.
    pub(crate) fn gc_event<D: GcControl>(&mut self, now: Nanos, member: MemberNo, driver: &mut D) {
        self.turn(now, self.groups.of(member), driver);
    }

    /// A timer is due: the requested one or another.
    pub(crate) fn timer<D: GcControl>(&mut self, now: Nanos, driver: &mut D) {
        if now < self.timer {
            return;
        }
        self.timer = Nanos::MAX;
        for group in 0..self.groups.count() {
            self.turn(now, group, driver);
        }
    }

    /// A permission for `blocks` blocks of each die.
    fn permit(&self, blocks: u32) -> GcPermit {
        GcPermit { blocks, ahead: Ahead::Blocks(self.section.ahead), ahead_planes: u32::MAX }
    }

    fn turn<D: GcControl>(&mut self, now: Nanos, group: usize, driver: &mut D) {
        match self.section.turn {
            Turn::Token => self.pass_token(group, driver),
            Turn::Window => self.keep_window(now, group, driver),
        }
    }

    /// Passes the token when its holder has collected a block on each of its dies that had to collect. The member with the
    /// greatest need gets it, which may be the same member again.
    fn pass_token<D: GcControl>(&mut self, group: usize, driver: &mut D) {
        loop {
            if let Some(holder) = self.turns[group].holder {
                if driver.gc_turn(holder).collects {
                    return;
                }
                driver.forbid_gc(holder);
                self.turns[group].holder = None;
            }
            let Some(neediest) = self.neediest(group, driver) else { return };
            self.turns[group].holder = Some(neediest);
            // If the member cannot collect after all, it no longer needs permission, so the loop ends.
            driver.permit_gc(neediest, self.permit(1));
        }
    }

    /// Of the members that wait for permission, the one with the fewest free pages; of equals, the one whose turn was
    /// longest ago.
    fn neediest<D: GcControl>(&mut self, group: usize, driver: &D) -> Option<MemberNo> {
        let (members, next) = (self.groups.members(group), self.turns[group].next);
        let turns = (0..members.len()).map(|step| (next + step) % members.len());
        let needs = turns.filter_map(|at| Some((driver.gc_turn(members[at]).need?, at)));
        // The first of equals.
        let (_, at) = needs.min_by_key(|&(need, _)| need)?;
        self.turns[group].next = (at + 1) % members.len();
        Some(members[at])
    }

    /// The member that owns the current window may collect, once no other member of the group does. A timer is set for the
    /// end of the window while any member collects or waits.
    fn keep_window<D: GcControl>(&mut self, now: Nanos, group: usize, driver: &mut D) {
        let (members, holder) = (self.groups.members(group), self.turns[group].holder);
        let window = now / self.section.window.0;
        let own = members[(window % members.len() as u64) as usize];
        if let Some(holder) = holder.filter(|&holder| holder != own) {
            driver.forbid_gc(holder);
            if !driver.gc_turn(holder).collects {
                self.turns[group].holder = None;
            }
        }
        let turn = driver.gc_turn(own);
        if self.turns[group].holder.is_none_or(|holder| holder == own) && turn.need.is_some() {
            self.turns[group].holder = Some(own);
            driver.permit_gc(own, self.permit(u32::MAX));
        }
        let is_wanted = |&member: &MemberNo| driver.gc_turn(member) != GcTurn::default();
        let wanted = members.iter().any(is_wanted);
        // A member that is alone in its group keeps its permission.
        let held = self.turns[group].holder.is_some() && members.len() > 1;
        let end = (window + 1) * self.section.window.0;
        if (wanted || held) && end < self.timer {
            self.timer = end;
            driver.set_timer(end);
        }
    }
}
