//! What members report about themselves in addition to their queues.

use stripewise_base::Nanos;

use crate::ids::MemberNo;

/// The state of members at this time. Policies ask for it; without a caller, nothing is computed. The answer is `None` (or
/// 0 in the older methods that return no `Option`) if a member cannot know it: real devices do not report when they
/// collect.
pub trait MemberLoad {
    /// The average time of a garbage collection of `member` if one is active, otherwise 0 (paper 000, Eq. 3).
    fn gc_average_ns(&self, _member: MemberNo) -> Nanos {
        0
    }

    /// The remaining time of all garbage collections active on `member`, in any of its parts.
    fn gc_remaining_ns(&self, _member: MemberNo) -> Nanos {
        0
    }

    /// Cell time of a read of this page of `member` now, or of its pinned old version.
    fn read_ns(&self, _member: MemberNo, _page: u32, _old_version: bool) -> Option<Nanos> {
        None
    }

    /// How long garbage collection would delay a read of this page of `member` that started now; 0 if it would not. A
    /// member collects in one die or plane at a time, so the page's place decides.
    fn gc_wait_ns(&self, _member: MemberNo, _page: u32) -> Option<Nanos> {
        None
    }

    /// How long a read of this page, given to `member` now, would wait until the cells begin to read: the work of its die,
    /// the operations queued before it inside the SSD, and garbage collection. Waiting in the controller's own queues is
    /// not included.
    fn start_ns(&self, _member: MemberNo, _page: u32) -> Option<Nanos> {
        None
    }

    /// Cell time of a write.
    fn write_ns(&self, _member: MemberNo) -> Option<Nanos> {
        None
    }

    /// Whether garbage collection is active in `member` or blocks a part of it.
    fn gc_active(&self, _member: MemberNo) -> Option<bool> {
        None
    }
}
