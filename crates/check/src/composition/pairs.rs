//! Pairs of members that refuse each other.
//!
//! Only the array decides whether a combination is valid. This module determines which two members cause a refusal,
//! so that combinations need not be tried one by one. Two members refuse each other *directly* if some combination
//! with both is refused, and accepted if either of them is replaced. Other pairs never occur together because every
//! combination with both contains such a direct pair.

use super::axes::{AXES, COUNT};
use super::bits::Numbers;
use super::{At, Combination, Space, Why};

/// A refusal of two members, or of one member in every combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A member.
    pub one: At,
    /// The other member; `None` if `one` is always refused.
    pub other: Option<At>,
    /// The array's reason.
    pub why: Why,
}

/// The members that can occur together.
#[derive(Clone, Debug)]
pub struct Pairs {
    numbers: Numbers,
    /// For each member, the mask of members of all axes that occur with it in some accepted combination.
    with: Vec<u128>,
    /// Members that refuse each other directly.
    pub refusals: Vec<Refusal>,
}

impl Pairs {
    /// Determines all pairs.
    pub fn new(space: &Space) -> Self {
        let numbers = Numbers::new();
        let mut pairs = Self { numbers, with: vec![0; numbers.count], refusals: Vec::new() };
        let all: Vec<At> = Numbers::all().collect();
        for (nth, &one) in all.iter().enumerate() {
            pairs.join(one, one);
            for &other in all[nth + 1..].iter().filter(|other| other.0 != one.0) {
                if around(one, other).any(|combination| space.resolve(&combination).is_ok()) {
                    pairs.join(one, other);
                }
            }
        }
        for &one in &all {
            let is_alone = pairs.with[numbers.of(one)].count_ones() == 1;
            if is_alone {
                let why = |combination: Combination| {
                    if heals(space, &combination, one.0) { space.why(&combination) } else { None }
                };
                let why = all.iter().filter(|at| at.0 != one.0).find_map(|&at| around(one, at).find_map(why));
                let why = why.expect("each axis has a member that is accepted");
                pairs.refusals.push(Refusal { one, other: None, why });
                continue;
            }
            for &other in all.iter().filter(|other| other.0 > one.0) {
                if !pairs.go_together(one, other)
                    && let Some(why) = direct(space, one, other)
                {
                    pairs.refusals.push(Refusal { one, other: Some(other), why });
                }
            }
        }
        pairs
    }

    fn join(&mut self, one: At, other: At) {
        let (a, b) = (self.numbers.of(one), self.numbers.of(other));
        self.with[a] |= 1 << b;
        self.with[b] |= 1 << a;
    }

    /// Whether two members occur together in some accepted combination.
    pub fn go_together(&self, one: At, other: At) -> bool {
        self.with[self.numbers.of(one)] >> self.numbers.of(other) & 1 == 1
    }

    /// Whether no two members of a combination refuse each other.
    pub fn accept(&self, combination: &Combination) -> bool {
        let mut mask = 0;
        let mut may = u128::MAX;
        for (axis, &member) in combination.0.iter().enumerate() {
            let number = self.numbers.of((axis, member));
            mask |= 1_u128 << number;
            may &= self.with[number];
        }
        mask & !may == 0
    }

    /// The members that are compatible with all chosen ones.
    pub(super) fn may(&self, chosen: &[Option<u8>; COUNT]) -> u128 {
        chosen
            .iter()
            .enumerate()
            .filter_map(|(axis, member)| member.map(|member| self.with[self.numbers.of((axis, member))]))
            .fold(u128::MAX, |may, with| may & with)
    }

    /// Whether a member is in a mask.
    pub(super) fn is_in(&self, at: At, mask: u128) -> bool {
        mask >> self.numbers.of(at) & 1 == 1
    }

    /// An accepted combination with all chosen members, if there is one.
    pub fn complete(&self, chosen: &[Option<u8>; COUNT]) -> Option<Combination> {
        let mut found = None;
        self.each_from(*chosen, self.may(chosen), &mut |combination| {
            found = Some(combination);
            false
        });
        found
    }

    /// Calls `f` with each accepted combination, in order, until it returns false.
    pub fn each(&self, mut f: impl FnMut(Combination) -> bool) {
        self.each_from([None; COUNT], u128::MAX, &mut f);
    }

    fn each_from(
        &self,
        chosen: [Option<u8>; COUNT],
        may: u128,
        f: &mut dyn FnMut(Combination) -> bool,
    ) -> bool {
        let Some(axis) = chosen.iter().position(Option::is_none) else {
            let combination = Combination(chosen.map(Option::unwrap_or_default));
            return !self.accept(&combination) || f(combination);
        };
        (0..AXES[axis].members.len() as u8).filter(|&member| self.is_in((axis, member), may)).all(|member| {
            let mut chosen = chosen;
            chosen[axis] = Some(member);
            self.each_from(chosen, may & self.with[self.numbers.of((axis, member))], f)
        })
    }

    pub(super) fn numbers(&self) -> Numbers {
        self.numbers
    }
}

/// Combinations with two given members in which at most two other axes differ from the default, the simplest first.
fn around(one: At, other: At) -> impl Iterator<Item = Combination> {
    let base = Combination::default().with(one.0, one.1).with(other.0, other.1);
    let changes = move || Numbers::all().filter(move |at| at.1 != 0 && at.0 != one.0 && at.0 != other.0);
    let single = changes().map(move |(axis, member)| base.with(axis, member));
    let double = changes().flat_map(move |first| {
        let later = changes().filter(move |second| second.0 > first.0);
        later.map(move |second| base.with(first.0, first.1).with(second.0, second.1))
    });
    std::iter::once(base).chain(single).chain(double)
}

/// Whether a refused combination is accepted with some other member of `axis`.
fn heals(space: &Space, combination: &Combination, axis: usize) -> bool {
    (0..AXES[axis].members.len() as u8).any(|member| space.resolve(&combination.with(axis, member)).is_ok())
}

/// The reason why two members that never occur together refuse each other, if they do so directly.
fn direct(space: &Space, one: At, other: At) -> Option<Why> {
    let to_blame =
        |combination: &Combination| heals(space, combination, one.0) && heals(space, combination, other.0);
    around(one, other).find(to_blame).and_then(|combination| space.why(&combination))
}
