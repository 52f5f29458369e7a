//! What the executor, and the array above it, ask a placement about its metadata on the members.

use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_format::Superblock;

use crate::Executor;
use crate::metadata_pieces::{Piece, PieceLocation};
use crate::metadata_walk::{ScrubCounts, Wanted};
use crate::rejoin::{RejoinError, Rejoining};

/// The metadata of a placement: who is a member, the rebuild and scrub of their content, and the copies of what describes it.
///
/// The defaults are those of a placement without metadata.
pub trait Metadata<M: Memory>: Sized {
    /// The member that is being rebuilt, with the number of segments or rows that are done, and the total.
    fn rebuilding(&self, _exec: &Executor<M>) -> Option<(MemberNo, u32, u32)> {
        None
    }

    /// The counts of the last scrub of data, and whether it is still in progress.
    fn scrubbed(&self, _exec: &Executor<M>) -> (ScrubCounts, bool) {
        Default::default()
    }

    /// The newest superblock; `None` without metadata on the members.
    fn superblock_of(&self) -> Option<&Superblock> {
        None
    }

    /// Whether `member` may join the array.
    fn check_rejoin(
        &self,
        _member: MemberNo,
        _how: Rejoining,
        _exec: &Executor<M>,
    ) -> Result<(), RejoinError> {
        Err(RejoinError::NoMetadata)
    }

    /// Brings `member` back, and begins to rebuild it.
    fn rejoin(&mut self, _member: MemberNo, _how: Rejoining, _exec: &mut Executor<M>) {}

    /// The superblock as all members have it, except for its number and identifier; `None` if the array was not assembled.
    fn superblock_on_members(&self) -> Option<&Superblock> {
        None
    }

    /// The location of a copy of metadata.
    fn piece(&self, _piece: Piece, _exec: &Executor<M>) -> PieceLocation {
        PieceLocation::Over
    }

    /// Whether `bytes`, read at the location of `piece`, are its expected content.
    fn is_piece(&self, _piece: Piece, _bytes: &[u8], _exec: &Executor<M>) -> bool {
        true
    }

    /// The first record of the redo journal that is still needed, and the number of the next.
    fn records(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Requests the update that writes the damaged `piece` again.
    fn mend(&mut self, _piece: Piece, _wanted: &mut Wanted, _exec: &Executor<M>) {}

    /// Starts another update of superblocks, unless another is in progress. Returns false if there is nothing to start.
    fn rewrite_superblocks(&mut self, _exec: &Executor<M>) -> bool {
        false
    }

    /// Whether the updates that were `wanted` are written, or cannot be written now. Those of superblocks do not count.
    fn is_mended(&mut self, _wanted: &Wanted) -> bool {
        true
    }
}
