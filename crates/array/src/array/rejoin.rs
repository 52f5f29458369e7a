//! Members that return to an array.

use crate::array::{Array, each};
use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::Metadata;
use stripewise_exec::driver::Driver;
use stripewise_exec::rejoin::{RejoinError, Rejoining};
use stripewise_format::{MemberState, Stamp, Superblock};

impl<M: Memory> Array<M> {
    /// Brings `member` back into the array, and rebuilds it. See [`Self::rebuilding`].
    ///
    /// # Errors
    /// The reason why the member cannot join.
    pub fn rejoin<D: Driver<M>>(
        &mut self,
        now: u64,
        member: MemberNo,
        how: Rejoining,
        driver: &mut D,
    ) -> Result<(), RejoinError> {
        self.check_rejoin(member, how)?;
        self.exec_mut().advance(now);
        each!(mut self, array => array.placement.rejoin(member, how, &mut array.exec));
        self.poll(driver);
        Ok(())
    }

    /// The stamp in `copies`, the superblocks at both ends of the device that returns as `member`: see
    /// [`Superblock::stamp_of`].
    pub fn stamp_of(&self, member: MemberNo, copies: [Option<&Superblock>; 2]) -> Option<Stamp> {
        let own = each!(self, array => Metadata::<M>::superblock_of(&array.placement))?;
        if self.exec().has_bug(Bug::CopyTrusted) {
            return Stamp::of(copies, own.array, own.members[member.index()].uuid);
        }
        own.stamp_of(member.number(), copies)
    }

    /// The stamp of a member that failed in this serving and is still open: it has what was durable before it failed. `None`
    /// until superblocks record the failure.
    pub fn stamp_at_failure(&self, member: MemberNo) -> Option<Stamp> {
        let block = each!(self, array => Metadata::<M>::superblock_on_members(&array.placement))?;
        let record = block.members.get(member.index())?;
        let is_recorded = record.state == MemberState::Failed && record.failed_epoch == block.epoch;
        let horizon = record.failed_batch;
        is_recorded.then_some(Stamp { update: block.update, epoch: block.epoch, horizon })
    }

    /// Whether [`Self::rejoin`] would accept a member now.
    ///
    /// # Errors
    /// The reason why it would not.
    pub fn check_rejoin(&self, member: MemberNo, how: Rejoining) -> Result<(), RejoinError> {
        let has_metadata = each!(self, array => Metadata::<M>::superblock_of(&array.placement).is_some());
        if !has_metadata {
            return Err(RejoinError::NoMetadata);
        }
        if !self.exec().is_failed(member) {
            return Err(RejoinError::Active(member));
        }
        let (pages, needed) = (how.pages(), self.member_pages());
        if pages < needed {
            return Err(RejoinError::TooSmall { pages, needed });
        }
        each!(self, array => array.placement.check_rejoin(member, how, &array.exec))
    }
}
