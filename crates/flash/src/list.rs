//! Queues without allocation: lists threaded through an array of successors.

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// A first-in first-out list of small numbers. Several lists share one array that holds the successor of each number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl List {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub(crate) fn push(&mut self, next: &mut [u32], entry: u32) {
        next[entry as usize] = NONE;
        if self.head == NONE {
            self.head = entry;
        } else {
            next[self.tail as usize] = entry;
        }
        self.tail = entry;
    }

    pub(crate) fn pop(&mut self, next: &[u32]) -> Option<u32> {
        let head = self.head;
        if head == NONE {
            return None;
        }
        self.head = next[head as usize];
        Some(head)
    }

    /// The entries, first to last.
    pub(crate) fn entries(self, next: &[u32]) -> impl Iterator<Item = u32> {
        let some = |entry: u32| (entry != NONE).then_some(entry);
        std::iter::successors(some(self.head), move |&entry| some(next[entry as usize]))
    }

    /// Removes the first entry that `fits`.
    pub(crate) fn take(&mut self, next: &mut [u32], mut fits: impl FnMut(u32) -> bool) -> Option<u32> {
        let (mut before, mut at) = (NONE, self.head);
        while at != NONE && !fits(at) {
            before = at;
            at = next[at as usize];
        }
        if at == NONE {
            return None;
        }
        let after = next[at as usize];
        if before == NONE {
            self.head = after;
        } else {
            next[before as usize] = after;
        }
        if self.tail == at {
            self.tail = before;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_behave_like_queues(steps in prop::collection::vec((0u8..3, 0u32..16), 0..200)) {
            let (mut list, mut next, mut model) = (List::default(), [NONE; 16], VecDeque::new());
            for (what, entry) in steps {
                match what {
                    0 if !model.contains(&entry) => {
                        list.push(&mut next, entry);
                        model.push_back(entry);
                    }
                    1 => prop_assert_eq!(list.pop(&next), model.pop_front()),
                    _ => {
                        let position = model.iter().position(|member| member % 3 == entry % 3);
                        let expected = position.and_then(|position| model.remove(position));
                        prop_assert_eq!(list.take(&mut next, |member| member % 3 == entry % 3), expected);
                    }
                }
                prop_assert_eq!(list.is_empty(), model.is_empty());
            }
        }
    }
}
