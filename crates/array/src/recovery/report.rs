//! What assembly is asked for, and what it reports.

use std::fmt;

use stripewise_core::ids::MemberNo;
use stripewise_format::Structure;

use super::named::{NamedMembers, Reconstructed};

/// How to assemble an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssemblyOptions {
    /// Writes nothing: no new epoch, no repair. The array accepts no writes.
    pub read_only: bool,
    /// Assembles an array despite losses that would otherwise be refused. [`RecoveryReport::losses`] lists them.
    pub force: bool,
    /// Which members devices without superblocks are, as named by the user; with `force`, others are recognized by their
    /// content.
    pub named: NamedMembers,
    /// A random number that no other assembly has: it identifies the serving that begins (`docs/design/format.md`, "The
    /// chain of servings"). With 0, copies of the array that are served separately cannot be distinguished.
    pub serving: u64,
    /// Flushes members before the first write only if an update of superblocks was interrupted: as programs did that wrote
    /// transcripts of format 1, for their replay.
    pub flushes_late: bool,
    /// Treats an array with the feature `serving-chain` as one without, and doubts no member: as programs did that wrote
    /// transcripts up to format 2, for their replay.
    pub unchained: bool,
    /// A known bug of recovery that the checking simulation plants; without effect unless debug assertions are on.
    pub bug: Option<stripewise_core::bugs::Bug>,
}

impl AssemblyOptions {
    pub(super) fn has_bug(self, bug: stripewise_core::bugs::Bug) -> bool {
        cfg!(debug_assertions) && self.bug == Some(bug)
    }
}

/// The result of assembling an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The epoch that began.
    pub epoch: u32,
    /// For each member of the array, its position among the offered devices; `None` if the member is absent or stale.
    pub positions: Vec<Option<u16>>,
    /// Batches, or records of the journal, that count and follow the last checkpoint.
    pub replayed: u64,
    /// Batches or records that were begun and not finished. They were never durable.
    pub dropped: u64,
    /// Descriptions of durable content that was lost.
    pub losses: Vec<String>,
    /// Copies of superblocks, of the table of checksums, of the bitmap and of journal records that are damaged while
    /// another copy is intact. Assembling the array for writing repairs or voids them.
    pub damaged: Vec<DamagedCopy>,
    /// The results for offered devices without superblocks; empty unless reconstruction was requested.
    pub reconstructed: Vec<Reconstructed>,
    /// Pages read.
    pub pages_read: u64,
}

/// A copy of metadata that cannot be read or has wrong content, while another copy is intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedCopy {
    /// The member.
    pub member: MemberNo,
    /// The page at which the copy begins.
    pub page: u32,
    /// The structure that the copy belongs to.
    pub structure: Structure,
}

impl fmt::Display for DamagedCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, page, structure } = self;
        write!(
            f,
            "member {member}, page {page}: this copy of the {structure} is damaged; another one is whole"
        )
    }
}
