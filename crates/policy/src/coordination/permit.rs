//! What a scheme of coordination, the array and its members report to each other.

use stripewise_base::Nanos;
use stripewise_base::share::Share;
use stripewise_core::ids::MemberNo;
use stripewise_core::timer::Timer;

/// How close a plane is to having to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// This number of blocks above its low watermark.
    Blocks(u32),
    /// This share of its blocks above its low watermark, rounded down, but at least one block unless the share is zero.
    Share(Share),
}

impl Ahead {
    /// The number of blocks for a plane of `plane_blocks` blocks.
    pub fn blocks(self, plane_blocks: u32) -> u32 {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Share(Share(0)) => 0,
            Self::Share(share) => (share.of(plane_blocks.into()) as u32).max(1),
        }
    }
}

/// A permission to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcPermit {
    /// The number of blocks that each die may begin, of planes that wait for permission, the fullest first.
    pub blocks: u32,
    /// A die without a waiting plane may collect planes that are within this distance of having to collect.
    pub ahead: Ahead,
    /// The largest number of such planes of a die; the fullest come first.
    pub ahead_planes: u32,
}

/// A member's report of its garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcTurn {
    /// Whether the member collects a block, or is about to begin a block for which it has permission.
    pub collects: bool,
    /// The number of free pages of the plane that needs permission most, if any plane waits for it.
    pub need: Option<u32>,
}

/// The activity of hosts and members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A request is in flight.
    Serving,
    /// No request is in flight, but operations are queued or in flight.
    Draining,
    /// No request and no operation is queued or in flight.
    Resting {
        /// When the last request was acknowledged.
        since: Nanos,
    },
}

/// The part of a driver that conducts the collections of its members. Only members with the capability
/// [`gc_control`](stripewise_core::members::Members::gc_control) are asked and told.
pub trait GcControl: Timer {
    /// Permits the member to begin to collect and replaces any earlier permission. The controller calls this only for
    /// members with that capability. Such members start without permission and report relevant changes with
    /// `Controller::gc_event`.
    fn permit_gc(&mut self, _member: MemberNo, _permit: GcPermit) {}

    /// Forbids the member to begin to collect more blocks; it finishes the blocks that it is collecting.
    fn forbid_gc(&mut self, _member: MemberNo) {}

    /// Whether the member is collecting, and whether it waits for permission.
    fn gc_turn(&self, _member: MemberNo) -> GcTurn {
        GcTurn::default()
    }

    /// Whether the member is within this distance of having to collect.
    fn is_near_gc(&self, _member: MemberNo, _ahead: Ahead) -> bool {
        false
    }
}
