//! Global garbage collection (GGC, Harmonia): the members of a group collect in the same window of time, which leaves more
//! time in which no member collects.
//!
//! Source: Kim, Oral, Shipman, Lee, Dillow and Wang, "Harmonia: A Globally Coordinated Garbage Collector for Arrays of
//! Solid-State Drives", MSST 2011; Kim, Lee, Oral, Dillow, Wang and Shipman, "Coordinating Garbage Collection for Arrays
//! of Solid-State Drives", IEEE Transactions on Computers 63(4), 2014. Printed: when one member must collect, all are made
//! to; collecting may also begin proactively, at a soft limit or while the array is idle. Choices: a member with enough
//! space does not take part, a window is one block of each die, and the meaning of proactive, see [`Trigger`].

use stripewise_base::Nanos;
use stripewise_base::share::Share;
use stripewise_core::ids::MemberNo;

use super::groups::Groups;
use super::{Activity, Ahead, CoordinationSection, GcControl, GcPermit, Start, Trigger};

/// The windows of an array.
#[derive(Debug)]
pub struct Global {
    groups: Groups,
    pub(super) permit: GcPermit,
    /// How close one member must be to having to collect for a window while the array is idle.
    wanted: Ahead,
    /// How long the array is idle before windows begin without need; `None` means never.
    idle: Option<Nanos>,
    /// When the last requested timer is due.
    timer: Nanos,
}

impl Global {
    /// Windows for each of `groups`.
    pub(crate) fn new(section: &CoordinationSection, groups: Groups) -> Self {
        let is_soft = section.start == Start::Proactive && section.trigger == Trigger::SoftLimit;
        // A member that asks at the soft limit would find no other member below the same limit.
        let margin = if is_soft { section.margin.0.saturating_mul(2) } else { section.margin.0 };
        let permit = GcPermit {
            blocks: section.blocks,
            ahead: Ahead::Share(Share(margin)),
            // A collection that began without need must not become a need of its own later.
            ahead_planes: section.blocks,
        };
        let wanted = Ahead::Share(Share(section.margin.0 / 2));
        let idles = section.start == Start::Proactive && section.trigger == Trigger::Idle;
        Self { groups, permit, wanted, idle: idles.then_some(section.idle.0), timer: Nanos::MAX }
    }

    /// A member must collect, or has finished a block.
    pub(crate) fn gc_event<D: GcControl>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        activity: Activity,
        driver: &mut D,
    ) {
        let turn = driver.gc_turn(member);
        if !turn.collects {
            driver.forbid_gc(member);
        }
        let group = self.groups.of(member);
        if turn.need.is_some() {
            self.open(group, driver);
        } else if !turn.collects && self.is_idle(now, activity) {
            self.open_if_wanted(group, driver);
        }
    }

    /// The last request is acknowledged.
    pub(crate) fn rests<D: GcControl>(&mut self, now: Nanos, driver: &mut D) {
        if let Some(idle) = self.idle {
            self.look_at(now + idle, driver);
        }
    }

    /// A timer is due: the requested one or another.
    pub(crate) fn timer<D: GcControl>(&mut self, now: Nanos, activity: Activity, driver: &mut D) {
        let Some(idle) = self.idle.filter(|_| now >= self.timer) else { return };
        self.timer = Nanos::MAX;
        match activity {
            // The end of service requests a timer again.
            Activity::Serving => {}
            Activity::Draining => self.look_at(now + idle, driver),
            Activity::Resting { since } if now < since + idle => self.look_at(since + idle, driver),
            Activity::Resting { .. } => {
                (0..self.groups.count()).for_each(|group| self.open_if_wanted(group, driver));
            }
        }
    }

    fn is_idle(&self, now: Nanos, activity: Activity) -> bool {
        let Activity::Resting { since } = activity else { return false };
        self.idle.is_some_and(|idle| now >= since + idle)
    }

    fn look_at<D: GcControl>(&mut self, at: Nanos, driver: &mut D) {
        if self.timer == Nanos::MAX {
            self.timer = at;
            driver.set_timer(at);
        }
    }

    /// Opens a window while the array is idle, if one member will soon have to collect.
    fn open_if_wanted<D: GcControl>(&self, group: usize, driver: &mut D) {
        if self.groups.members(group).iter().any(|&member| driver.is_near_gc(member, self.wanted)) {
            self.open(group, driver);
        }
    }

    /// Every member that has to collect, or is below the soft limit, begins now. The others lose their permission, so that
    /// they ask when they have to collect, and a window then opens for all.
    fn open<D: GcControl>(&self, group: usize, driver: &mut D) {
        for &member in self.groups.members(group) {
            driver.permit_gc(member, self.permit);
            if !driver.gc_turn(member).collects {
                driver.forbid_gc(member);
            }
        }
    }
}
