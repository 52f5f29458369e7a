//! Members that join an array which runs degraded without them: which may join, and which are refused.

use stripewise_core::ids::MemberNo;
use stripewise_format::{Stamp, Superblock, Uuid};

/// The device that joins the array as a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Rejoining {
    /// A replacement device: its content is unknown.
    Replacement {
        /// Identifier of the device.
        uuid: Uuid,
        /// Pages of the device.
        pages: u32,
    },
    /// The member that was there before it failed, or was absent: it has the content that was durable at its stamp. Without a
    /// stamp, its content is unknown.
    Returned {
        /// Pages of the device.
        pages: u32,
        /// The stamp in its own superblocks.
        stamp: Option<Stamp>,
    },
}

impl Rejoining {
    /// Pages of the device.
    pub fn pages(self) -> u32 {
        match self {
            Self::Replacement { pages, .. } | Self::Returned { pages, .. } => pages,
        }
    }

    /// Whether the device is the member that was there before.
    pub fn is_returned(self) -> bool {
        matches!(self, Self::Returned { .. })
    }
}

/// The reason why a member cannot join the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejoinError {
    /// The member is in the array already.
    #[error("member {0} is in the array; take it out first")]
    Active(MemberNo),
    /// The member joins the array already.
    #[error("member {0} joins the array already; wait until it is in")]
    Busy(MemberNo),
    /// A returning member might supply exactly the missing content, and must not be discarded.
    #[error(
        "more members of group {0} failed than its parity tolerates; assemble the array with all available members"
    )]
    Beyond(u32),
    /// Not every page of the array has a place there.
    #[error("it has {pages} pages, and the array takes {needed} of each member; use a larger one")]
    TooSmall {
        /// Pages of the device.
        pages: u32,
        /// Pages that the array needs.
        needed: u32,
    },
    /// Identifiers distinguish members.
    #[error("it has the identifier {uuid}, which member {number} has or had; give a replacement a new one")]
    Twin {
        /// The identifier.
        uuid: Uuid,
        /// The member that has or had the identifier.
        number: u16,
    },
    /// The array's metadata may be older than that of the returning member.
    #[error(
        "it was stamped by update {} in epoch {}, and the array knows of update {update} in epoch {epoch} alone, so the other \
         members may be older copies; stop the array and start it with this member, or replace the member with --force",
        stamp.update, stamp.epoch
    )]
    Newer {
        /// The stamp of the returning member.
        stamp: Stamp,
        /// The array's own newest update.
        update: u64,
        /// The array's own newest epoch.
        epoch: u32,
    },
    /// Nothing is written to the array.
    #[error("the array is read-only; assemble it for writing")]
    ReadOnly,
    /// The array has no format on its members.
    #[error("re-adding a member requires metadata = \"on\"")]
    NoMetadata,
}

/// Checks that the returning member is not newer than the array of `superblock`. A log numbers its batches from `next_batch`
/// on.
pub fn check_newer(
    superblock: &Superblock,
    next_batch: Option<u64>,
    how: Rejoining,
) -> Result<(), RejoinError> {
    let Rejoining::Returned { stamp: Some(stamp), .. } = how else { return Ok(()) };
    let &Superblock { update, epoch, .. } = superblock;
    let is_ahead = stamp.epoch == epoch && next_batch.is_some_and(|next| stamp.horizon >= next);
    if stamp.update > update || stamp.epoch > epoch || is_ahead {
        return Err(RejoinError::Newer { stamp, update, epoch });
    }
    Ok(())
}

/// Checks that no member has the identifier of a replacement.
pub fn check_twin(superblock: &Superblock, how: Rejoining) -> Result<(), RejoinError> {
    let Rejoining::Replacement { uuid: member, .. } = how else { return Ok(()) };
    let twin = superblock.members.iter().position(|its| its.uuid == member);
    twin.map_or(Ok(()), |twin| Err(RejoinError::Twin { uuid: member, number: twin as u16 }))
}
