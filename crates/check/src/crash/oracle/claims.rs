//! What an array says about its redundancy.

use stripewise_array::format::MemberState;
use stripewise_array::health::{ArrayState, MembersHealth, Reason, health_of};
use stripewise_array::{Array, Controller, MemberNo, PageMemory};

/// The parts of an array's state from which users learn whether it is redundant: `status`, events, metrics and the reports of
/// rebuilds and scrubs are made of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// Members without which the array serves, one bit each.
    pub(crate) missing: u64,
    /// Members that are being rebuilt.
    pub(crate) rebuilding: u64,
    /// Number of stripes or rows that rebuilds could not recover.
    pub(crate) unrecovered: u64,
    /// Members that serve and may lack content, one bit each.
    pub(crate) in_doubt: u64,
    /// Number of chunks that the last scrub found lost.
    pub(crate) lost: u64,
    /// Whether the health of the array is clean, apart from a want of space, which takes no redundancy.
    pub(crate) is_clean: bool,
}

impl Claims {
    /// What `array` says.
    pub(crate) fn of(array: &Array<PageMemory>) -> Self {
        let state = array.state();
        let health = MembersHealth::new(array.members() as u16, None);
        let reasons = health_of(&state, &health).reasons;
        Self {
            missing: in_state(&state, MemberState::Failed),
            rebuilding: in_state(&state, MemberState::Rebuilding),
            unrecovered: state.rebuild_lost,
            in_doubt: state.in_doubt,
            lost: state.scrub_lost,
            is_clean: reasons.iter().all(|reason| matches!(reason, Reason::Full | Reason::OutOfSpace)),
        }
    }
}

/// The members in `state`, as a mask.
fn in_state(array: &ArrayState, state: MemberState) -> u64 {
    let all = (0..).map(MemberNo::new).zip(&array.members).filter(|(_, member)| member.state == state);
    all.fold(0, |mask, (member, _)| mask | member.bit())
}
