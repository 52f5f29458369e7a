//! Sets of members.
//!
//! Source: paper 002, section III-D (each request records its target chips in as many bits as there are chips).

use stripewise_core::geometry::MEMBERS_MAX;
use stripewise_core::ids::MemberNo;

const WORDS: usize = MEMBERS_MAX.div_ceil(64) as usize;

/// A set of members of an array: the target chips of a request or of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberSet([u64; WORDS]);

impl MemberSet {
    /// Adds `member`.
    #[inline]
    pub fn insert(&mut self, member: MemberNo) {
        self.0[member.index() / 64] |= 1 << (member.index() % 64);
    }

    /// Removes `member`.
    #[inline]
    pub fn remove(&mut self, member: MemberNo) {
        self.0[member.index() / 64] &= !(1 << (member.index() % 64));
    }

    /// Whether `member` is in the set.
    #[inline]
    pub fn contains(&self, member: MemberNo) -> bool {
        self.0[member.index() / 64] >> (member.index() % 64) & 1 != 0
    }

    /// Whether the set has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Whether some member is in both sets.
    #[inline]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |any, (one, other)| any | (one & other)) != 0
    }

    /// Adds all members of `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    #[inline]
    pub(crate) fn take_away(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// The members of the set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = MemberNo> {
        let words = self.0.into_iter().zip((0..).step_by(64));
        words.flat_map(|(word, first): (u64, u16)| {
            stripewise_core::bits::columns(word).map(move |bit| MemberNo::new(first + bit as u16))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_inserted_and_not_removed_up_to_the_last_member() {
        let mut set = MemberSet::default();
        for member in [511, 0, 63, 64, 200] {
            set.insert(MemberNo::new(member));
        }
        set.remove(MemberNo::new(63));
        assert_eq!(set.iter().map(MemberNo::number).collect::<Vec<_>>(), [0, 64, 200, 511]);
        let mut other = MemberSet::default();
        other.insert(MemberNo::new(65));
        assert!(!set.meets(&other));
        other.insert(MemberNo::new(200));
        assert!(set.meets(&other));
        set.take_away(&other);
        assert_eq!(set.iter().map(MemberNo::number).collect::<Vec<_>>(), [0, 64, 511]);
        set.add(&other);
        assert_eq!(set.iter().map(MemberNo::number).collect::<Vec<_>>(), [0, 64, 65, 200, 511]);
        set.take_away(&{ set });
        assert!(set.is_empty());
    }
}
