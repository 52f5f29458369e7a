//! Hot spares: members that wait to replace one that fails.

use std::collections::VecDeque;

use stripewise_core::ids::MemberNo;

use crate::health::state::ArrayState;

/// Hot spares of type `E`, in the order in which they came, each with its number of pages.
#[derive(Clone, Debug)]
pub struct Spares<E> {
    waiting: VecDeque<(E, u32)>,
}

impl<E> Default for Spares<E> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<E> Spares<E> {
    /// Another spare, with this number of pages.
    pub fn add(&mut self, spare: E, pages: u32) {
        self.waiting.push_back((spare, pages));
    }

    /// The number of spares.
    pub fn count(&self) -> usize {
        self.waiting.len()
    }

    /// The next spare, with its pages, and the member that it replaces: a member that is out of service, first in the group
    /// with the least redundancy left. `accepts` returns whether the array would accept a replacement of these pages now. A
    /// member that serves is never replaced, even if it is degrading: the array would be without it during the rebuild.
    pub fn next_for(
        &mut self,
        state: &ArrayState,
        accepts: impl Fn(MemberNo, u32) -> bool,
    ) -> Option<(MemberNo, E, u32)> {
        let &(_, pages) = self.waiting.front()?;
        let failed = MemberNo::first(state.members.len() as u32).filter(|&member| !state.serves(member));
        let accepted = failed.filter(|&member| accepts(member, pages));
        let missing =
            |member: MemberNo| state.groups_of(member).map(|group| state.missing(group)).max().unwrap_or(0);
        let member = accepted.min_by_key(|&member| (u32::MAX - missing(member), member))?;
        let (spare, pages) = self.waiting.pop_front()?;
        Some((member, spare, pages))
    }
}

#[cfg(test)]
mod tests {
    use stripewise_format::MemberState::{Active, Failed, Rebuilding};

    use super::*;
    use crate::health::MemberStanding;

    #[test]
    fn a_spare_goes_to_the_group_with_the_least_redundancy_and_never_to_a_member_that_serves() {
        let states = [Active, Failed, Rebuilding, Failed, Failed, Active, Active, Active];
        let members = (0..).zip(states).map(|(nth, state)| MemberStanding { state, group: Some(nth / 3) });
        let state = ArrayState { members: members.collect(), tolerance: 2, ..ArrayState::default() };
        let mut spares = Spares::default();
        assert_eq!(spares.next_for(&state, |_, _| true), None::<(MemberNo, char, u32)>);
        spares.add('a', 10);
        spares.add('b', 20);
        assert_eq!(spares.next_for(&state, |_, _| false), None, "the array accepts none now");
        assert_eq!(spares.next_for(&state, |_, pages| pages == 10), Some((MemberNo::new(1), 'a', 10)));
        assert_eq!(
            spares.next_for(&state, |member, _| member > MemberNo::new(1)),
            Some((MemberNo::new(3), 'b', 20))
        );
        assert_eq!(spares.count(), 0);
    }
}
