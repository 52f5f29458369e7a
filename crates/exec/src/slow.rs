//! The members that were reported slow.

use stripewise_core::ids::MemberNo;

/// Members that were reported slow.
#[derive(Debug)]
pub(crate) struct Slow {
    members: Vec<bool>,
    /// Whether any member is slow: the rest is checked only if this is set.
    is_any: bool,
}

impl Slow {
    /// No member is slow.
    pub(crate) fn new(members: u32) -> Self {
        Self { members: vec![false; members as usize], is_any: false }
    }

    /// Whether `member` is slow.
    pub(crate) fn has(&self, member: MemberNo) -> bool {
        self.members[member.index()]
    }

    /// Whether any member is slow.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.is_any
    }

    /// Records whether `member` is slow.
    pub(crate) fn set(&mut self, member: MemberNo, is_slow: bool) {
        self.members[member.index()] = is_slow;
        self.is_any = self.members.contains(&true);
    }
}
