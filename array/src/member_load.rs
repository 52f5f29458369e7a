//! What members tell of themselves beside their queues.

use stripewise_base::Nanos;

/// News of members at this instant. Policies ask; nothing is worked out where nobody does. An answer is `None`, or 0
/// where an older question has no `None`, of members that cannot know it: real ones do not say that they collect.
pub trait MemberLoad {
    /// The average time of a garbage collection of `member` if one is active, else 0 (paper 000, Eq. 3).
    fn gc_average_ns(&self, _member: u16) -> Nanos {
        0
    }

    /// Time left of the garbage collections active on `member`, wherever in it.
    fn gc_remaining_ns(&self, _member: u16) -> Nanos {
        0
    }

    /// Cell time of reading this page of `member` now, or its pinned old version.
    fn read_ns(&self, _member: u16, _page: u32, _old_version: bool) -> Option<Nanos> {
        None
    }

    /// How long garbage collection would hold up a read of this page of `member` that started now; 0 if it would not.
    /// A member collects in one die or plane at a time, and the page's place decides.
    fn gc_wait_ns(&self, _member: u16, _page: u32) -> Option<Nanos> {
        None
    }

    /// How long until the cells of this page of `member` would begin to read it, if a read was given to the member
    /// now: what its die has in hand, what waits there before it (inside an SSD), and garbage collection. What waits in
    /// the controller's own queues is not part of it.
    fn start_ns(&self, _member: u16, _page: u32) -> Option<Nanos> {
        None
    }

    /// Cell time of a write.
    fn write_ns(&self, _member: u16) -> Option<Nanos> {
        None
    }

    /// Whether garbage collection is active in `member`, or holds a part of it up.
    fn gc_active(&self, _member: u16) -> Option<bool> {
        None
    }
}
