//! The chain of servings, and the members that leave it: `docs/design/format.md`, "The chain of servings".

use super::features::Features;
use super::stamp::Stamp;
use super::superblock::{FailReason, MemberRecord, MemberState, Superblock};
use super::uuid::Uuid;

impl FailReason {
    /// Whether nothing of the member's content counts when it returns.
    pub fn is_in_doubt(self) -> bool {
        matches!(self, Self::Unknown | Self::Damage)
    }
}

impl Superblock {
    /// Member `number` fails in this epoch and serving, with everything up to batch `batch` on it. A member that was being
    /// rebuilt has no more than at its first failure. Of a member in doubt nothing counts.
    pub fn fail_member(&mut self, number: usize, batch: u64, reason: FailReason) {
        let (epoch, serving, has_chain) = (self.epoch, self.serving, self.has_chain());
        let record = &mut self.members[number];
        let was = record.state;
        if was == MemberState::Active {
            (record.failed_epoch, record.failed_batch) = (epoch, batch);
            record.reason = reason;
        }
        (record.state, record.cursor) = (MemberState::Failed, 0);
        if was == MemberState::Failed {
            return;
        }
        let lacks =
            has_chain && (was == MemberState::Active && !record.is_whole || record.reason.is_in_doubt());
        // What made a member doubtful stays until a rebuild is complete.
        if reason == FailReason::Damage || lacks {
            (record.reason, record.failed_batch) = (FailReason::Damage, 0);
        }
        record.left_serving = serving;
        record.is_whole = false;
        if !has_chain {
            (record.reason, record.left_serving) = (FailReason::Unknown, 0);
        }
    }

    /// Another device takes the place of member `number`, which is out of service.
    pub fn replace_member(&mut self, number: usize, uuid: Uuid) {
        let has_chain = self.has_chain();
        let record = &mut self.members[number];
        record.uuid = uuid;
        if has_chain && record.state != MemberState::Active {
            record.reason = FailReason::Requested;
        }
    }

    /// Calls the members in the mask `doubted` not whole, as far as they are active.
    pub fn doubt(&mut self, doubted: u64) {
        let is_doubted = |number: usize| doubted >> number & 1 != 0;
        let all = self.members.iter_mut().enumerate();
        all.filter(|(number, _)| is_doubted(*number)).for_each(|(_, its)| its.is_whole = false);
    }

    /// Calls all active members whole, whose content was verified. Returns whether that changes a member.
    pub fn verify(&mut self) -> bool {
        let is_new = self.in_doubt() != 0;
        let has_chain = self.has_chain();
        let active = self.members.iter_mut().filter(|its| its.state == MemberState::Active);
        active.for_each(|its| its.is_whole = has_chain);
        is_new
    }

    /// The active members that are not known to be whole, one bit each; none without the feature.
    pub fn in_doubt(&self) -> u64 {
        let is_doubted =
            |(_, its): &(usize, &MemberRecord)| its.state == MemberState::Active && !its.is_whole;
        let all = self.members.iter().enumerate().filter(|_| self.has_chain());
        all.filter(is_doubted).fold(0, |mask, (number, _)| mask | 1 << number)
    }

    /// Removes the feature, with all of its fields.
    pub fn forget_chain(&mut self) {
        self.features.compatible &= !Features::SERVING_CHAIN;
        (self.serving, self.predecessor, self.own_bytes) = (0, 0, 0);
        (self.verified_to, self.scrub_cursor) = (0, 0);
        for member in &mut self.members {
            (member.reason, member.is_whole, member.left_serving) = (FailReason::Unknown, false, 0);
        }
    }

    /// Begins the serving with the random number `serving`, if the array records servings.
    pub fn begin_serving(&mut self, serving: u64) {
        if self.has_chain() {
            (self.predecessor, self.serving) = (self.serving, serving);
        }
    }

    /// The stamp of the device that returns as `member`, by `copies`, the superblocks at both ends of it: see [`Stamp::of`].
    /// No batch of a device counts that was in another serving than the one in which the member left: it is a copy that was
    /// served separately, or was set back.
    pub fn stamp_of(&self, number: u16, copies: [Option<&Self>; 2]) -> Option<Stamp> {
        let member = self.members.get(usize::from(number))?;
        let stamp = Stamp::of(copies, self.array, member.uuid)?;
        let is_own = copies.into_iter().flatten().all(|copy| self.was_in(number, copy));
        Some(if is_own { stamp } else { Stamp { horizon: 0, ..stamp } })
    }

    /// The last batch up to which metadata counts on the device with `copies`, its superblocks, which is member `number` and is
    /// not read: it failed, but not for damage, or has an older version of the superblocks. One copy is enough, because each
    /// page of metadata shows what it is. In this epoch no number was used twice, so everything counts. A device of a copy
    /// of the array that was served separately counts for nothing.
    pub fn last_source(&self, number: u16, copies: [Option<&Self>; 2]) -> u64 {
        let Some(member) = self.members.get(usize::from(number)) else { return 0 };
        let is_its =
            |copy: &Self| (copy.array, copy.uuid) == (self.array, member.uuid) && self.was_in(number, copy);
        let is_in_doubt = member.state != MemberState::Active && member.reason.is_in_doubt();
        let found = || copies.into_iter().flatten();
        if !self.has_chain() || is_in_doubt || found().next().is_none() || !found().all(is_its) {
            return 0;
        }
        if found().all(|copy| copy.epoch == self.epoch) { u64::MAX } else { member.failed_batch }
    }

    /// Whether `copy`, a superblock of member `number`, is of the serving in which that member left this array, or of the
    /// current one.
    fn was_in(&self, number: u16, copy: &Self) -> bool {
        let member = &self.members[usize::from(number)];
        // A failure in this serving may not be recorded yet.
        let left = if member.state == MemberState::Active { self.serving } else { member.left_serving };
        // Zero was written by a program that records no servings.
        let knows = self.has_chain() && self.serving != 0 && left != 0 && copy.serving != 0;
        !knows || copy.serving == left || copy.serving == self.serving
    }

    /// Whether both have the same predecessor and are different servings of it: copies of one array that were served
    /// separately.
    pub fn is_fork_of(&self, other: &Self) -> bool {
        let is_known = [self, other].iter().all(|its| its.has_chain() && its.serving != 0);
        is_known
            && self.predecessor != 0
            && self.predecessor == other.predecessor
            && self.serving != other.serving
    }

    /// Whether this version may have been derived from `other`, in the same serving or in the next.
    pub fn may_follow(&self, other: &Self) -> bool {
        let is_known = [self, other].iter().all(|its| its.has_chain() && its.serving != 0);
        !is_known || self.serving == other.serving || self.predecessor == other.serving
    }
}

#[cfg(test)]
mod tests {
    use super::super::superblock::tests::of_five;
    use super::*;

    const IT: usize = 2;

    /// A log of serving 7, with the feature or without it, whose members are whole or not.
    fn block(has_chain: bool, is_whole: bool) -> Superblock {
        let mut block = Superblock { version: 2, epoch: 9, horizon: 50, ..of_five() };
        block.forget_chain();
        if has_chain {
            block.features.compatible |= Features::SERVING_CHAIN;
            (block.serving, block.predecessor) = (7, 6);
            block.members.iter_mut().for_each(|member| member.is_whole = is_whole);
        }
        block
    }

    #[test]
    fn damage_a_missing_reason_and_a_member_that_is_not_whole_mean_in_doubt() {
        use FailReason::{Damage, Gone, Requested, Unknown};
        // With the feature, whether it was whole, why it fails; the recorded reason, and the last batch that counts.
        for (has_chain, is_whole, reason, recorded, batch) in [
            (true, true, Gone, Gone, 40),
            (true, true, Requested, Requested, 40),
            (true, true, Damage, Damage, 0),
            (true, true, Unknown, Damage, 0),
            (true, false, Gone, Damage, 0),
            (false, false, Gone, Unknown, 40),
            (false, false, Unknown, Unknown, 40),
            (false, false, Damage, Unknown, 0),
        ] {
            let mut block = block(has_chain, is_whole);
            block.fail_member(IT, 40, reason);
            let case = format!("{has_chain}, {is_whole}, {reason:?}");
            let member = block.members[IT];
            assert_eq!(
                (member.reason, member.failed_batch, member.failed_epoch),
                (recorded, batch, 9),
                "{case}"
            );
            assert_eq!((member.is_whole, member.left_serving), (false, block.serving), "{case}");
            let stamp = Some(Stamp { update: 1, epoch: 9, horizon: 30 });
            assert_eq!(block.known_of(IT as u16, stamp), batch.min(30), "{case}");
            block.check().unwrap_or_else(|error| panic!("{case}: {error}"));
            // Whatever else happens to it.
            block.serving = if has_chain { 8 } else { 0 };
            block.fail_member(IT, 60, Requested);
            assert_eq!(block.members[IT], member, "{case}: it fails once");
            block.members[IT].state = MemberState::Rebuilding;
            block.fail_member(IT, 60, Requested);
            let again = block.members[IT];
            assert_eq!(
                (again.reason, again.failed_batch),
                (recorded, batch),
                "{case}: no more than at first"
            );
            assert_eq!(again.left_serving, block.serving, "{case}: it took part in the rebuild");
        }
    }

    #[test]
    fn a_reason_of_an_older_program_counts_as_doubt_only_with_the_feature() {
        for (has_chain, known) in [(true, 0), (false, 30)] {
            let mut block = block(has_chain, true);
            let member = &mut block.members[IT];
            (member.state, member.failed_epoch, member.failed_batch) = (MemberState::Failed, 9, 40);
            let stamp = Some(Stamp { update: 1, epoch: 9, horizon: 30 });
            assert_eq!(block.known_of(IT as u16, stamp), known);
        }
    }

    #[test]
    fn active_members_are_in_doubt_until_they_are_verified() {
        let mut sound = block(true, true);
        assert_eq!((sound.in_doubt(), sound.verify()), (0, false));
        sound.doubt(0b01110);
        assert_eq!(sound.in_doubt(), 0b00110, "member 3 had failed before");
        sound.fail_member(1, 40, FailReason::Gone);
        assert_eq!(sound.in_doubt(), 0b100, "a member that failed is not counted on");
        assert!(sound.verify() && sound.in_doubt() == 0 && !sound.members[1].is_whole);
        let mut before = block(false, false);
        before.doubt(u64::MAX);
        assert_eq!((before.in_doubt(), before.verify()), (0, false), "without the feature nothing is known");
        before.check().unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn a_stamp_counts_only_in_the_serving_in_which_its_member_left() {
        let of = |left: u64, front: u64, back: u64| {
            let mut array = block(true, true);
            array.members[IT].left_serving = left;
            array.members[IT].state = MemberState::Failed;
            let copy = |serving| Superblock { serving, ..block(true, true) };
            let (front, back) = (copy(front), copy(back));
            array.stamp_of(IT as u16, [Some(&front), Some(&back)]).map(|stamp| stamp.horizon)
        };
        assert_eq!(of(5, 5, 5), Some(50), "it left two servings ago");
        assert_eq!(of(7, 7, 7), Some(50), "it left in this serving");
        assert_eq!(of(5, 7, 5), Some(50), "it failed again before its superblocks were complete");
        assert_eq!(of(5, 4, 4), Some(0), "it was set back");
        assert_eq!(of(5, 30, 30), Some(0), "it is a member of a copy");
        assert_eq!(of(5, 5, 30), Some(0), "in part");
        for (left, front, back) in [(0, 30, 30), (5, 0, 0), (5, 0, 5)] {
            assert_eq!(of(left, front, back), Some(50), "an older program wrote it: nothing is concluded");
        }
    }

    #[test]
    fn a_member_that_is_not_read_is_a_last_source_of_what_it_is_known_to_have() {
        let of = |state, reason, copies: [Option<(u32, u64)>; 2]| {
            let mut array = block(true, true);
            let its = &mut array.members[IT];
            (its.state, its.reason, its.failed_batch, its.left_serving) = (state, reason, 40, 7);
            let uuid = its.uuid;
            let copy = |(epoch, serving)| Superblock { epoch, serving, uuid, ..block(true, true) };
            let [front, back] = copies.map(|copy_of| copy_of.map(copy));
            array.last_source(IT as u16, [front.as_ref(), back.as_ref()])
        };
        use MemberState::{Active, Failed};
        let (now, before, elsewhere) = (Some((9, 7)), Some((8, 7)), Some((9, 30)));
        assert_eq!(
            of(Failed, FailReason::Gone, [now, now]),
            u64::MAX,
            "in its epoch no number was used twice"
        );
        assert_eq!(of(Failed, FailReason::Requested, [now, None]), u64::MAX, "one copy is enough");
        assert_eq!(
            of(Active, FailReason::Unknown, [now, now]),
            u64::MAX,
            "superblocks do not record its failure yet"
        );
        assert_eq!(
            of(Failed, FailReason::Gone, [now, before]),
            40,
            "an assembly may have dropped what came later"
        );
        for reason in [FailReason::Damage, FailReason::Unknown] {
            assert_eq!(of(Failed, reason, [now, now]), 0, "it is in doubt");
        }
        assert_eq!(of(Failed, FailReason::Gone, [now, elsewhere]), 0, "it is a member of a copy");
        assert_eq!(of(Failed, FailReason::Gone, [None, None]), 0, "nothing shows what it is");
    }

    #[test]
    fn forks_have_a_known_predecessor_in_common() {
        let version = |serving, predecessor| Superblock { serving, predecessor, ..block(true, true) };
        assert!(version(10, 5).is_fork_of(&version(20, 5)));
        for (one, other) in [((10, 5), (10, 5)), ((10, 5), (20, 10)), ((10, 0), (20, 0)), ((10, 5), (0, 5))] {
            assert!(!version(one.0, one.1).is_fork_of(&version(other.0, other.1)), "{one:?} and {other:?}");
        }
        assert!(version(20, 10).may_follow(&version(10, 5)) && version(10, 5).may_follow(&version(10, 5)));
        assert!(!version(10, 5).may_follow(&version(20, 10)) && !version(20, 5).may_follow(&version(10, 5)));
    }
}
