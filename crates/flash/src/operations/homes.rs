//! Cache of the dies of reads that channels and chips refused.
//!
//! A queue offers the same read again whenever its member reports ready, and in most cases the die is still busy. The
//! die found at the first refusal saves the map lookup, which misses the processor's cache, and the divisions after
//! it. A move stays on its plane, so only a program or a trim of the page itself invalidates an entry.

/// Number of entries, a power of two: more than the reads that usually wait at a time, and few enough for the fastest
/// cache.
const ENTRIES: u32 = 512;

#[derive(Clone, Copy, Debug)]
struct Home {
    member: u32,
    page: u32,
    die: u32,
}

/// The dies of some pages. Each page has exactly one possible entry; a later page replaces an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct Homes {
    entries: Box<[Home]>,
}

const NOWHERE: Home = Home { member: u32::MAX, page: 0, die: 0 };

impl Homes {
    /// Keeps no entries if `is_needed` is false.
    pub(crate) fn new(is_needed: bool) -> Self {
        Self { entries: vec![NOWHERE; if is_needed { ENTRIES as usize } else { 0 }].into() }
    }

    #[inline(always)]
    fn at(member: u32, page: u32) -> usize {
        (page.wrapping_add(member << 16).wrapping_mul(0x9E37_79B1) >> (32 - ENTRIES.trailing_zeros()))
            as usize
    }

    /// The die of a page, if it is known.
    #[inline(always)]
    pub(crate) fn get(&self, member: u32, page: u32) -> Option<u32> {
        let home = self.entries.get(Self::at(member, page))?;
        (home.page == page && home.member == member).then_some(home.die)
    }

    /// Stores the die of a page.
    #[inline(always)]
    pub(crate) fn note(&mut self, member: u32, page: u32, die: u32) {
        if let Some(home) = self.entries.get_mut(Self::at(member, page)) {
            *home = Home { member, page, die };
        }
    }

    /// Removes the entry of a page that is rewritten or trimmed.
    #[inline(always)]
    pub(crate) fn forget(&mut self, member: u32, page: u32) {
        if let Some(home) = self.entries.get_mut(Self::at(member, page))
            && home.page == page
            && home.member == member
        {
            *home = NOWHERE;
        }
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn what_is_known_is_what_was_noted_last_and_not_forgotten() {
        let mut prng = Prng::new(1);
        let (mut homes, mut all) = (Homes::new(true), std::collections::BTreeMap::new());
        let mut known = 0;
        for _ in 0..20_000 {
            let (member, page) = (prng.below(4) as u32, prng.below(300) as u32);
            if prng.chance(1, 4) {
                homes.forget(member, page);
                all.remove(&(member, page));
            } else if prng.chance(1, 2) {
                let die = prng.below(16) as u32;
                homes.note(member, page, die);
                all.insert((member, page), die);
            }
            if let Some(die) = homes.get(member, page) {
                assert_eq!(all.get(&(member, page)), Some(&die));
                known += 1;
            }
        }
        assert!(known > 1_000, "{known}");
        let mut none = Homes::new(false);
        none.note(0, 0, 1);
        none.forget(0, 0);
        assert_eq!(none.get(0, 0), None);
    }
}
