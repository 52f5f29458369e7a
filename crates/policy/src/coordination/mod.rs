//! Coordination of garbage collection: which members collect, and when.
//!
//! Each published scheme has one file. Members that collect by themselves need no coordination. Members with the
//! capability `gc_control` begin a block only while they have permission, and report relevant changes; a scheme of this
//! axis turns these reports into permissions. How a device conducts its own collections (preemption, suspension) is up to
//! the device.

mod global;
mod groups;
mod permit;
mod rotating;
mod section;

use stripewise_base::Nanos;
use stripewise_core::geometry::{Geometry, Level};
use stripewise_core::ids::MemberNo;

use global::Global;
use groups::Groups;
pub use permit::{Activity, Ahead, GcControl, GcPermit, GcTurn};
use rotating::Rotating;
pub use section::{CoordinationPolicy, CoordinationSection, MEMBERS, Start, Trigger, Turn, When};

/// The state of a scheme of this axis.
#[derive(Debug)]
pub enum Coordination {
    /// Turns that rotate over the members of each group.
    Rotating(Rotating),
    /// All members at once.
    Global(Global),
}

impl Coordination {
    /// The scheme of `section` over `geometry`, for an array of `count` members; `None` if members collect by themselves.
    pub fn new(section: CoordinationSection, level: Level, geometry: &Geometry, count: u32) -> Option<Self> {
        match section.policy {
            CoordinationPolicy::None => None,
            CoordinationPolicy::Rotating => {
                Some(Self::Rotating(Rotating::new(section, Groups::of_parity(geometry, count))))
            }
            CoordinationPolicy::Global => {
                Some(Self::Global(Global::new(&section, Groups::of_requests(level, geometry, count))))
            }
        }
    }

    /// A member needs permission, or has finished a block.
    pub fn gc_event<D: GcControl>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        activity: Activity,
        driver: &mut D,
    ) {
        match self {
            Self::Rotating(rotating) => rotating.gc_event(now, member, driver),
            Self::Global(global) => global.gc_event(now, member, activity, driver),
        }
    }

    /// A timer is due: the requested one or another.
    pub fn timer<D: GcControl>(&mut self, now: Nanos, activity: Activity, driver: &mut D) {
        match self {
            Self::Rotating(rotating) => rotating.timer(now, driver),
            Self::Global(global) => global.timer(now, activity, driver),
        }
    }

    /// The last request in flight is acknowledged.
    #[inline]
    pub fn rests<D: GcControl>(&mut self, now: Nanos, driver: &mut D) {
        if let Self::Global(global) = self {
            global.rests(now, driver);
        }
    }
}

#[cfg(test)]
mod tests;
