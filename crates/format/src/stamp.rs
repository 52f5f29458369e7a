//! The state of a returning member, by its own superblocks.

use serde::{Deserialize, Serialize};

use super::superblock::{MemberState, Superblock};
use super::uuid::Uuid;

/// The stamp of a member: how far its content is known to be the array's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The newest update in its superblocks.
    pub update: u64,
    /// The epoch in which the member was stamped.
    pub epoch: u32,
    /// For a log: all batches that count, up to this one, are on the member.
    pub horizon: u64,
}

impl Stamp {
    /// The stamp that `copies`, the superblocks at both ends of a member, give to member `member` of `array`. `None` if a
    /// copy is missing or damaged, belongs to another member, or has a version of the format without stamps.
    ///
    /// The older copy counts. If a file was copied while the array served, its front copy is older than most of its
    /// content and its back copy is newer. No content of a member is older than the older of the two copies.
    pub fn of(copies: [Option<&Superblock>; 2], array: Uuid, member: Uuid) -> Option<Self> {
        let [Some(front), Some(back)] = copies else { return None };
        let is_its = |block: &&Superblock| (block.array, block.uuid) == (array, member) && block.version > 1;
        let older = [front, back].into_iter().min_by_key(|block| block.update)?;
        let member = older.members.get(usize::from(older.number)).filter(|its| its.uuid == member)?;
        // A member that was being rebuilt has no more batches than when it returned.
        let horizon = match member.state {
            MemberState::Active => older.horizon,
            MemberState::Failed | MemberState::Rebuilding => older.horizon.min(member.failed_batch),
        };
        let update = front.update.max(back.update);
        [front, back].iter().all(is_its).then_some(Self { update, epoch: older.epoch, horizon })
    }
}

impl Superblock {
    /// The last batch of this log that member `number`, which returns with `stamp`, is known to have; 0 if nothing is
    /// known, or the member is in doubt.
    ///
    /// Numbers of batches are reused when an assembly dropped their batches. So the stamp is limited to the end of its
    /// epoch and to the ends of later epochs. Nothing is known of forgotten epochs; but the batch recorded when the member
    /// failed was limited at each assembly since.
    pub fn known_of(&self, number: u16, stamp: Option<Stamp>) -> u64 {
        let Some(stamp) = stamp else { return 0 };
        let member = &self.members[usize::from(number)];
        if self.has_chain() && member.state != MemberState::Active && member.reason.is_in_doubt() {
            return 0;
        }
        let known = stamp.horizon.min(member.failed_batch);
        if stamp.epoch == self.epoch || stamp.epoch == member.failed_epoch {
            return known;
        }
        // Epochs with the same end share one entry, that of the last of them. Which epochs the first entry represents is
        // unknown.
        let is_remembered = self.ended.first().is_some_and(|first| first.epoch <= stamp.epoch);
        let end = self.ended.iter().find(|ended| ended.epoch >= stamp.epoch).filter(|_| is_remembered);
        end.map_or(0, |end| known.min(end.last))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EndedEpoch;
    use super::super::superblock::tests::of_five;
    use super::*;

    fn block(epoch: u32, horizon: u64) -> Superblock {
        Superblock { version: 2, epoch, horizon, ..of_five() }
    }

    fn stamp(epoch: u32, horizon: u64) -> Option<Stamp> {
        Some(Stamp { update: 1, epoch, horizon })
    }

    /// A log in epoch 9 that has `ended`, without its member 2 since batch 50 of epoch 7.
    fn array(ended: &[(u32, u64)]) -> Superblock {
        let mut block = block(9, 90);
        block.ended = ended.iter().map(|&(epoch, last)| EndedEpoch { epoch, last }).collect();
        block.members[2].state = MemberState::Failed;
        (block.members[2].failed_epoch, block.members[2].failed_batch) = (7, 50);
        block
    }

    #[test]
    fn the_older_copy_counts_and_both_have_to_be_there() {
        let (older, newer) =
            (Superblock { update: 5, ..block(4, 40) }, Superblock { update: 6, ..block(5, 60) });
        let (uuid, member) = (older.array, older.uuid);
        let of = |front, back| Stamp::of([front, back], uuid, member);
        let expected = Some(Stamp { update: 6, epoch: 4, horizon: 40 });
        assert_eq!(of(Some(&older), Some(&newer)), expected);
        assert_eq!(of(Some(&newer), Some(&older)), expected);
        assert_eq!(of(Some(&newer), None), None);
        assert_eq!(of(None, Some(&older)), None);
        assert_eq!(Stamp::of([Some(&older), Some(&newer)], Uuid([9; 16]), member), None, "another array's");
        assert_eq!(Stamp::of([Some(&older), Some(&newer)], uuid, Uuid([9; 16])), None, "another member's");
        let first = Superblock { version: 1, horizon: 0, ..older.clone() };
        assert_eq!(of(Some(&first), Some(&first)), None, "version 1 has none");
    }

    #[test]
    fn a_member_that_was_being_rebuilt_has_what_it_came_with() {
        let mut half = block(4, 40);
        half.members[2].state = MemberState::Rebuilding;
        half.members[2].failed_batch = 7;
        let stamp = Stamp::of([Some(&half), Some(&half)], half.array, half.uuid);
        assert_eq!(stamp.map(|stamp| stamp.horizon), Some(7));
    }

    #[test]
    fn what_is_known_of_a_member_is_no_more_than_its_stamp_and_what_was_noted() {
        let array = array(&[(6, 45), (8, 80)]);
        assert_eq!(array.known_of(2, None), 0);
        assert_eq!(array.known_of(2, stamp(9, 30)), 30, "stamped in this epoch");
        assert_eq!(array.known_of(2, stamp(9, 70)), 50, "it was noted when it failed");
        assert_eq!(array.known_of(2, stamp(7, 48)), 48, "stamped in the epoch in which it failed");
    }

    #[test]
    fn a_stamp_is_cut_where_its_epoch_ended_and_of_a_forgotten_epoch_nothing_is_known() {
        let array = array(&[(4, 20), (6, 45), (8, 80)]);
        assert_eq!(array.known_of(2, stamp(4, 33)), 20);
        assert_eq!(array.known_of(2, stamp(5, 33)), 33, "epoch 5 ended where epoch 6 did");
        assert_eq!(array.known_of(2, stamp(6, 48)), 45);
        assert_eq!(array.known_of(2, stamp(3, 10)), 0);
        assert_eq!(self::array(&[]).known_of(2, stamp(8, 10)), 0);
    }
}
