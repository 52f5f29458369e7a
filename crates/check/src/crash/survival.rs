//! Survival of sectors for which several contents may be durable at a power loss.

use serde::{Deserialize, Serialize};
use stripewise_base::prng::Prng;

use super::members::Undecided;

/// Which contents survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survival {
    /// Only content that a flush has covered.
    Nothing,
    /// All writes that were answered or in flight.
    Everything,
    /// The combination with this number, counted from nothing to everything.
    State(u64),
    /// A combination drawn from this seed.
    Seed(u64),
    /// Power stays on and the server is killed: members keep the writes that they answered, and a part drawn from this
    /// seed of those in flight. A later loss of power may still undo all of them.
    Killed(u64),
}

/// Number of combinations of `undecided` sectors, or [`u64::MAX`] if there are too many to count.
pub(crate) fn states(undecided: &[Undecided]) -> u64 {
    undecided.iter().fold(1, |states: u64, one| states.saturating_mul(one.versions.len() as u64))
}

/// Whether `picks` leave a page with old and new sectors.
pub(crate) fn is_torn(undecided: &[Undecided], picks: &[usize]) -> bool {
    let sectors = undecided.iter().zip(picks);
    sectors.clone().zip(sectors.skip(1)).any(|((one, pick), (next, other))| {
        (one.member, one.page) == (next.member, next.page) && (*pick == 0) != (*other == 0)
    })
}

impl Survival {
    /// The index of the surviving version of each of `undecided`.
    pub(crate) fn picks(self, undecided: &[Undecided]) -> Vec<usize> {
        let last = |one: &Undecided| one.versions.len() - 1;
        match self {
            Self::Nothing => vec![0; undecided.len()],
            Self::Everything | Self::Killed(_) => undecided.iter().map(last).collect(),
            Self::State(state) => {
                let mut rest = state;
                let digit = |one: &Undecided| {
                    let of = one.versions.len() as u64;
                    let picked = rest % of;
                    rest /= of;
                    picked as usize
                };
                undecided.iter().map(digit).collect()
            }
            Self::Seed(seed) => drawn(undecided, &mut Prng::stream(seed, 0x6B65_6570)),
        }
    }
}

/// The unit whose sectors share their fate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Member,
    Page,
    Sector,
}

/// Real losses are seldom even: often a member has kept all or nothing, or nearly everything survives.
fn drawn(undecided: &[Undecided], random: &mut Prng) -> Vec<usize> {
    let grain = [Grain::Member, Grain::Page, Grain::Sector][random.below(3) as usize];
    let kept_percent = [3, 20, 50, 80, 97][random.below(5) as usize];
    let mut picks: Vec<usize> = Vec::with_capacity(undecided.len());
    let mut fate = 0;
    for (nth, one) in undecided.iter().enumerate() {
        let before = nth.checked_sub(1).map(|before| &undecided[before]);
        let is_same = before.is_some_and(|before| match grain {
            Grain::Member => before.member == one.member,
            Grain::Page => (before.member, before.page) == (one.member, one.page),
            Grain::Sector => false,
        });
        if !is_same {
            fate = if random.chance(kept_percent, 100) { random.next_u64() | 1 } else { 0 };
        }
        let later = one.versions.len() as u64 - 1;
        // Most sectors that keep some later version keep the last one.
        let picked = match fate {
            0 => 0,
            fate if fate & 6 != 0 => later,
            fate => 1 + (fate >> 3) % later,
        };
        picks.push(picked as usize);
    }
    picks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stripewise_array::MemberNo;

    use super::*;

    fn undecided(member: MemberNo, page: u32, sector: u32, versions: usize) -> Undecided {
        Undecided { member, page, sector, versions: vec![vec![].into(); versions] }
    }

    #[test]
    fn the_states_are_all_combinations_from_nothing_to_everything() {
        let sectors = [
            undecided(MemberNo::new(0), 1, 0, 2),
            undecided(MemberNo::new(0), 1, 1, 3),
            undecided(MemberNo::new(2), 5, 0, 2),
        ];
        assert_eq!(states(&sectors), 12);
        let all: BTreeSet<Vec<usize>> = (0..12).map(|state| Survival::State(state).picks(&sectors)).collect();
        assert_eq!(all.len(), 12);
        assert_eq!(Survival::State(0).picks(&sectors), Survival::Nothing.picks(&sectors));
        assert_eq!(Survival::State(11).picks(&sectors), Survival::Everything.picks(&sectors));
    }

    #[test]
    fn seeds_come_to_every_state_of_a_few_sectors() {
        let sectors = [
            undecided(MemberNo::new(0), 1, 0, 2),
            undecided(MemberNo::new(0), 1, 1, 2),
            undecided(MemberNo::new(2), 5, 0, 3),
        ];
        let all: BTreeSet<Vec<usize>> = (0..500).map(|seed| Survival::Seed(seed).picks(&sectors)).collect();
        assert_eq!(all.len(), 12);
    }
}
