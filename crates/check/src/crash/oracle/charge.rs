//! What the array says against a member.

use stripewise_array::MemberNo;

/// What a member is charged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offence {
    /// Content that does not match its checksum.
    Mismatch,
    /// An operation that ended with an error.
    Error,
    /// The array failed the member.
    Failed,
}

/// A report about a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) member: MemberNo,
    pub(crate) page: u32,
    pub(crate) offence: Offence,
}
