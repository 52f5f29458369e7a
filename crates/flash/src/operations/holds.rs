//! What reads wait for that channels and chips refused: the die of their page.
//!
//! A queue offers the same read again whenever its member reports ready, and in most cases the die is still busy. The caller
//! keeps the hold that came with the refusal and asks [`Flash::still_holds`](crate::Flash::still_holds) first. That saves the map
//! lookup, which misses the processor's cache, and the divisions after it.
//!
//! A move stays on its plane, so only a program or a trim of the page itself can end a hold before its die is free. That is rare:
//! pages of holds are noted in a small filter, and a program or trim of a page that may be noted ends all holds.

/// Bits of the filter, a power of two: enough that few programs find the bit of another page.
const BITS: u32 = 1 << 13;

/// Why a read was refused. It is valid until its page may have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The die that is busy.
    pub(crate) die: u32,
    /// The epoch of [`Holds`] in which it was given; 0 for none.
    pub(crate) epoch: u32,
}

impl Hold {
    /// Nothing is known about the refusal.
    pub const NONE: Self = Self { die: 0, epoch: 0 };

    /// The hold as a number, which is 0 for [`Self::NONE`] alone.
    #[inline(always)]
    pub fn number(self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.die)
    }

    /// The hold with this number.
    #[inline(always)]
    pub fn of_number(number: u64) -> Self {
        Self { die: number as u32, epoch: (number >> 32) as u32 }
    }
}

/// The pages of holds.
#[derive(Clone, Debug)]
pub(crate) struct Holds {
    /// A bit for the pages with the same hash; empty if no holds are given.
    noted: Box<[u64]>,
    epoch: u32,
}

impl Holds {
    /// Gives no holds if `is_needed` is false.
    pub(crate) fn new(is_needed: bool) -> Self {
        Self { noted: vec![0; if is_needed { BITS as usize / 64 } else { 0 }].into(), epoch: 1 }
    }

    #[inline(always)]
    fn at(member: u32, page: u32) -> (usize, u64) {
        let hash = page.wrapping_add(member << 16).wrapping_mul(0x9E37_79B1) >> (32 - BITS.trailing_zeros());
        (hash as usize / 64, 1 << (hash % 64))
    }

    /// The hold of a read of `page`, which waits for `die`.
    #[inline(always)]
    pub(crate) fn give(&mut self, member: u32, page: u32, die: u32) -> Hold {
        let (word, bit) = Self::at(member, page);
        let Some(word) = self.noted.get_mut(word) else { return Hold::NONE };
        *word |= bit;
        Hold { die, epoch: self.epoch }
    }

    /// Whether the page of `hold` is where it was.
    #[inline(always)]
    pub(crate) fn is_valid(&self, hold: Hold) -> bool {
        hold.epoch == self.epoch
    }

    /// `page` is rewritten or trimmed.
    #[inline(always)]
    pub(crate) fn forget(&mut self, member: u32, page: u32) {
        let (word, bit) = Self::at(member, page);
        if self.noted.get(word).is_some_and(|word| word & bit != 0) {
            self.forget_all();
        }
    }

    #[cold]
    fn forget_all(&mut self) {
        self.noted.fill(0);
        self.epoch = self.epoch.wrapping_add(1).max(1);
    }
}

#[cfg(test)]
mod tests {
    use stripewise_base::prng::Prng;

    use super::*;

    #[test]
    fn a_hold_is_valid_until_its_page_is_rewritten() {
        let mut prng = Prng::new(1);
        let mut holds = Holds::new(true);
        let mut given: Vec<(u32, u32, Hold)> = Vec::new();
        let mut valid = 0;
        for _ in 0..20_000 {
            let (member, page) = (prng.below(4) as u32, prng.below(300) as u32);
            if prng.chance(1, 20) {
                holds.forget(member, page);
                given.retain(|&(of, at, hold)| {
                    let is_its = (of, at) == (member, page);
                    assert!(!is_its || !holds.is_valid(hold), "page {page} of member {member} was rewritten");
                    !is_its
                });
            } else {
                given.push((member, page, holds.give(member, page, prng.below(16) as u32)));
            }
            valid += given.iter().filter(|(.., hold)| holds.is_valid(*hold)).count();
            given.retain(|(.., hold)| holds.is_valid(*hold));
        }
        assert!(valid > 10_000, "{valid}");
        let mut none = Holds::new(false);
        assert!(!none.is_valid(none.clone().give(0, 0, 1)), "none are given where none are needed");
        none.forget(0, 0);
    }

    #[test]
    fn a_hold_goes_through_its_number() {
        let hold = Hold { die: u32::MAX, epoch: 7 };
        assert_eq!((Hold::of_number(hold.number()), Hold::NONE.number()), (hold, 0));
    }
}
