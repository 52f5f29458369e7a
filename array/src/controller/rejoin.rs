//! Members that come into an array which serves without them: what may come, and what may not.

use super::Array;
use crate::driver::Driver;
use crate::format::{Stamp, Superblock, Uuid};
use crate::memory::Memory;

/// What comes into the array in the place of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Rejoining {
    /// One of which nothing is known, of so many pages.
    Replacement {
        /// Its identifier.
        #[serde(rename = "element")]
        uuid: Uuid,
        /// Pages that it has.
        pages: u32,
    },
    /// The one that was there before it failed, or was absent: it has what was durable at its stamp. Without a stamp nothing is
    /// known of what it has.
    Returned {
        /// Pages that it has.
        pages: u32,
        /// What its own superblocks say.
        stamp: Option<Stamp>,
    },
}

impl Rejoining {
    /// Pages of what comes.
    pub fn pages(self) -> u32 {
        match self {
            Self::Replacement { pages, .. } | Self::Returned { pages, .. } => pages,
        }
    }

    /// Whether it is the one that was there before.
    pub fn is_returned(self) -> bool {
        matches!(self, Self::Returned { .. })
    }
}

/// Why a member cannot come into the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejoinError {
    /// It would change nothing.
    #[error("element {0} is in the array; take it out first")]
    Active(u16),
    /// Another is being rebuilt, or lacks rows that could not be made.
    #[error(
        "element {0} is being rebuilt; wait for its end, or scrub after the rows that it lacks were written again"
    )]
    Busy(u16),
    /// What comes back might be all that is wanting, and is not to be given up.
    #[error(
        "more members of group {0} failed than its parity tolerates; assemble the array with all available members"
    )]
    Beyond(u32),
    /// Not every page of the array has a place there.
    #[error("it has {pages} pages, and the array takes {needed} of each member; use a larger one")]
    TooSmall {
        /// Pages that it has.
        pages: u32,
        /// Pages that it needs.
        needed: u32,
    },
    /// Identifiers tell members apart.
    #[error("it has the identifier {uuid}, which member {number} has or had; give a replacement a new one")]
    Twin {
        /// The identifier.
        uuid: Uuid,
        /// Whose it is.
        number: u16,
    },
    /// The array may be what is older.
    #[error(
        "it was stamped by update {} in epoch {}, and the array knows of update {update} in epoch {epoch} alone, so the other \
         members may be older copies; stop the array and start it with this member, or replace the member with --force",
        stamp.update, stamp.epoch
    )]
    Newer {
        /// What it says of itself.
        stamp: Stamp,
        /// The array's own newest update and epoch.
        update: u64,
        /// See there.
        epoch: u32,
    },
    /// Nothing is written to the array.
    #[error("the array is read-only; assemble it for writing")]
    ReadOnly,
    /// The array has no format on its members.
    #[error("re-adding a member requires metadata = \"on\"")]
    NoMetadata,
}

impl<M: Memory> Array<M> {
    /// Brings `member` back into the array, whole in the end. See [`Self::rebuilding`].
    ///
    /// # Errors
    /// Why not.
    pub fn rejoin<D: Driver<M>>(
        &mut self,
        now: u64,
        member: u16,
        how: Rejoining,
        driver: &mut D,
    ) -> Result<(), RejoinError> {
        self.check_rejoin(member, how)?;
        self.advance(now);
        if self.is_kept() {
            self.rejoin_log(member, how);
        } else {
            self.rejoin_in_place(member, how);
        }
        self.poll(driver);
        Ok(())
    }

    /// What `copies`, the superblocks at both ends of what returns as `member`, say that it has: see [`Stamp::of`].
    pub fn stamp_of(&self, member: u16, copies: [Option<&Superblock>; 2]) -> Option<Stamp> {
        let own = match &self.roster {
            Some(roster) => &roster.superblock,
            None => &self.elastic.as_ref()?.durable.as_ref()?.superblock,
        };
        Stamp::of(copies, own.array, own.members[member as usize].uuid)
    }

    /// Whether [`Self::rejoin`] would take a member now.
    ///
    /// # Errors
    /// Why not.
    pub fn check_rejoin(&self, member: u16, how: Rejoining) -> Result<(), RejoinError> {
        if !self.is_kept() && self.roster.is_none() {
            return Err(RejoinError::NoMetadata);
        }
        if !self.failed[member as usize] {
            return Err(RejoinError::Active(member));
        }
        let (pages, needed) = (how.pages(), self.member_pages());
        if pages < needed {
            return Err(RejoinError::TooSmall { pages, needed });
        }
        match &self.roster {
            Some(roster) => self.check_member(roster, member, how),
            None => self.check_log_member(how),
        }
    }
}

/// Whether what returns is no newer than the array of `superblock`. That of a log gives batches numbers from `next_batch` on.
pub(super) fn check_newer(
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

/// Whether a replacement has an identifier that no member has.
pub(super) fn check_twin(superblock: &Superblock, how: Rejoining) -> Result<(), RejoinError> {
    let Rejoining::Replacement { uuid: member, .. } = how else { return Ok(()) };
    let twin = superblock.members.iter().position(|its| its.uuid == member);
    twin.map_or(Ok(()), |twin| Err(RejoinError::Twin { uuid: member, number: twin as u16 }))
}
