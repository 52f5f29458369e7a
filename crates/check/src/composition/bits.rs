//! Sets of members of all axes, and sets of triples of them.

use super::axes::{AXES, COUNT};
use super::{At, Combination};

/// The largest number of members of all axes together; they fit into a mask.
const COLUMNS_MAX: usize = u128::BITS as usize;

/// Consecutive numbers for the members of all axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    first: [usize; COUNT],
    pub(super) count: usize,
}

impl Numbers {
    pub(super) fn new() -> Self {
        let mut numbers = Self { first: [0; COUNT], count: 0 };
        for (axis, first) in numbers.first.iter_mut().enumerate() {
            *first = numbers.count;
            numbers.count += AXES[axis].members.len();
        }
        assert!(numbers.count <= COLUMNS_MAX, "widen the masks of members");
        numbers
    }

    pub(super) fn of(&self, (axis, member): At) -> usize {
        self.first[axis] + member as usize
    }

    /// All members, in order.
    pub(super) fn all() -> impl Iterator<Item = At> {
        AXES.iter()
            .enumerate()
            .flat_map(|(axis, of)| (0..of.members.len() as u8).map(move |member| (axis, member)))
    }
}

/// A set of triples of members of three axes.
#[derive(Clone, Debug)]
pub(super) struct Triples {
    numbers: Numbers,
    has: Vec<bool>,
    pub(super) count: usize,
}

impl Triples {
    pub(super) fn new(numbers: Numbers) -> Self {
        Self { numbers, has: vec![false; numbers.count.pow(3)], count: 0 }
    }

    fn index(&self, triple: [At; 3]) -> usize {
        triple.into_iter().fold(0, |index, at| index * self.numbers.count + self.numbers.of(at))
    }

    /// Whether a triple, ordered by axis, is in the set.
    pub(super) fn has(&self, triple: [At; 3]) -> bool {
        self.has[self.index(triple)]
    }

    pub(super) fn insert(&mut self, triple: [At; 3]) {
        let index = self.index(triple);
        self.count += usize::from(!std::mem::replace(&mut self.has[index], true));
    }

    pub(super) fn remove(&mut self, triple: [At; 3]) {
        let index = self.index(triple);
        self.count -= usize::from(std::mem::replace(&mut self.has[index], false));
    }

    /// Number of its triples that contain `at` and two of the members in `chosen`.
    pub(super) fn gain(&self, at: At, chosen: &[Option<u8>; COUNT]) -> u32 {
        let others: Vec<At> = at_of(chosen).filter(|other| other.0 != at.0).collect();
        let mut gain = 0;
        for (nth, &one) in others.iter().enumerate() {
            for &two in &others[nth + 1..] {
                let mut triple = [one, two, at];
                triple.sort_unstable();
                gain += u32::from(self.has(triple));
            }
        }
        gain
    }
}

fn at_of(chosen: &[Option<u8>; COUNT]) -> impl Iterator<Item = At> {
    chosen.iter().enumerate().filter_map(|(axis, member)| member.map(|member| (axis, member)))
}

/// The triples of members of a combination.
pub(super) fn triples_of(combination: &Combination) -> impl Iterator<Item = [At; 3]> {
    let at = combination.0;
    (0..COUNT).flat_map(move |one| {
        (one + 1..COUNT).flat_map(move |two| {
            (two + 1..COUNT).map(move |three| [(one, at[one]), (two, at[two]), (three, at[three])])
        })
    })
}
