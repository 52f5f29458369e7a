//! A member that is being rebuilt, and why a rebuild may halt.

use stripewise_core::ids::MemberNo;

/// The reason why a rebuild stops until the array is assembled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// More members of this group failed than its parity tolerates. All failed members may return together.
    Beyond(u32),
    /// This number of rows could not be rebuilt, and the list of unrecovered rows is full.
    Unmade(u64),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Beyond(group) => {
                write!(f, "more members of group {group} failed than its parity tolerates")
            }
            Self::Unmade(rows) => write!(f, "{rows} rows could not be rebuilt"),
        }
    }
}

/// A member that is being rebuilt, for every placement; `part` is what the placement tracks besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild<R> {
    pub(crate) member: MemberNo,
    /// The number of finished segments or rows that superblocks record, or soon will.
    pub(crate) noted: u64,
    /// Whether the rebuild met bad pages: a scrub follows, which repairs as many as possible.
    pub(crate) met_damage: bool,
    /// Whether something that the member should have could not be made: when the rebuild ends, the member is in doubt.
    pub(crate) leaves_out: bool,
    pub(crate) part: R,
}

/// What a placement tracks of a rebuild.
pub(crate) trait Part {
    /// Whether the member still lacks content of stripes or rows.
    fn is_lacking(&self) -> bool;
}

impl<R> Rebuild<R> {
    /// Begins to rebuild `member`, of which `noted` segments or rows are finished.
    pub(crate) fn new(member: MemberNo, noted: u64, part: R) -> Self {
        Self { member, noted, met_damage: false, leaves_out: false, part }
    }

    /// Whether the rebuild met no damage, and left nothing out.
    pub(crate) fn is_good(&self) -> bool {
        !self.met_damage && !self.leaves_out
    }
}
