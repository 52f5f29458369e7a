//! A set of small numbers with fast lookup of its smallest number and of the next number after any other.

/// A tree of words. Each bit of an upper level says whether the word below it has any bit set.
#[derive(Debug)]
pub struct Bits {
    /// From the single word at the top down to the words that hold the numbers.
    levels: Vec<Vec<u64>>,
}

impl Bits {
    /// The empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        let mut levels = vec![vec![0; len.div_ceil(64).max(1)]];
        while levels[0].len() > 1 {
            let above = levels[0].len().div_ceil(64);
            levels.insert(0, vec![0; above]);
        }
        Self { levels }
    }

    /// Sets the bit of entry `index`.
    pub fn set(&mut self, mut index: usize) {
        for level in self.levels.iter_mut().rev() {
            level[index / 64] |= 1 << (index % 64);
            index /= 64;
        }
    }

    /// Clears the bit of entry `index`.
    pub fn clear(&mut self, mut index: usize) {
        for level in self.levels.iter_mut().rev() {
            level[index / 64] &= !(1 << (index % 64));
            if level[index / 64] != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// The first entry whose bit is set.
    pub fn first(&self) -> Option<usize> {
        self.below(0, 0)
    }

    /// The smallest number in the set that is `from` or greater.
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut index = from;
        for depth in (0..self.levels.len()).rev() {
            let word = index / 64;
            let rest = self.levels[depth].get(word)? & u64::MAX << (index % 64);
            if rest != 0 {
                return self.below(depth + 1, word * 64 + rest.trailing_zeros() as usize);
            }
            index = word + 1;
        }
        None
    }

    /// The smallest number under the word `word` of level `depth`.
    fn below(&self, depth: usize, word: usize) -> Option<usize> {
        self.levels[depth..].iter().try_fold(word, |word, level| {
            (level[word] != 0).then(|| word * 64 + level[word].trailing_zeros() as usize)
        })
    }

    /// Whether no bit is set.
    pub fn is_empty(&self) -> bool {
        self.levels[0][0] == 0
    }
}

/// The columns (or members) of a mask, in ascending order.
pub fn columns(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let column = mask.trailing_zeros();
            mask &= mask - 1;
            column
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_set(
            len in 1usize..10_000,
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..200),
        ) {
            let (mut bits, mut model) = (Bits::new(len), BTreeSet::new());
            for (index, is_set) in steps {
                let index = index.index(len);
                if is_set {
                    bits.set(index);
                    model.insert(index);
                } else {
                    bits.clear(index);
                    model.remove(&index);
                }
                prop_assert_eq!(bits.first(), model.first().copied());
                prop_assert_eq!(bits.is_empty(), model.is_empty());
                for from in [0, index, index + 1, len - 1] {
                    prop_assert_eq!(bits.next(from), model.range(from..).next().copied(), "from {}", from);
                }
            }
        }
    }
}
