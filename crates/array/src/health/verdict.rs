//! The health of an array in a word, with the reasons. The status, the metrics, the events and the checkers all ask here.

use std::fmt;

use serde::{Deserialize, Serialize};
use stripewise_core::ids::MemberNo;
use stripewise_format::MemberState;

use crate::health::limit::MembersHealth;
use crate::health::state::ArrayState;

/// The health of an array, in a word; the worst that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// All members serve, with all their redundancy, and no error is known.
    Clean,
    /// All members serve, but an operator should act: the last rebuild or scrub lost data, a member is in doubt, metadata is
    /// damaged, or there is no space for writes.
    Impaired,
    /// All members serve, but one may be lost soon: because of its recent errors, its damaged superblocks, its SMART verdict,
    /// or its deleted file.
    Degrading,
    /// A member is being rebuilt.
    Rebuilding,
    /// Members are out of service, at most as many as parity tolerates.
    Degraded,
    /// More members are out of service than parity tolerates: some data cannot be read.
    Failed,
}

impl Health {
    /// All values, the best first.
    pub const ALL: [Self; 6] =
        [Self::Clean, Self::Impaired, Self::Degrading, Self::Rebuilding, Self::Degraded, Self::Failed];

    /// The name of the value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Impaired => "impaired",
            Self::Degrading => "degrading",
            Self::Rebuilding => "rebuilding",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

/// A reason why an array is not clean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// More members of a group cannot be counted on than its parity tolerates.
    BeyondParity {
        /// The group.
        group: u32,
        /// The number of its members that are out of service or being rebuilt.
        missing: u32,
    },
    /// A member is out of service.
    MemberFailed(MemberNo),
    /// A member is being rebuilt.
    MemberRebuilding(MemberNo),
    /// The rebuild is halted.
    RebuildHalted,
    /// A member has many recent errors.
    MemberErrors(MemberNo),
    /// The SMART verdict of a member is that it fails.
    MemberSmart(MemberNo),
    /// The file of a member is lost when the server ends.
    MemberUnlinked(MemberNo),
    /// Superblocks of a member are damaged.
    MemberSuperblocks(MemberNo),
    /// A member is not known to have all of its content.
    MemberInDoubt(MemberNo),
    /// Copies of metadata are damaged and not repaired.
    MetadataDamaged(u64),
    /// Stripes or rows whose data the last rebuild could not recover.
    RebuildLost(u64),
    /// Chunks of hosts that cannot be read.
    ScrubLost(u64),
    /// A log has no space.
    Full,
    /// Members are out of space.
    OutOfSpace,
}

impl Reason {
    /// The health of an array that has no other reason.
    pub fn health(self) -> Health {
        match self {
            Self::BeyondParity { .. } => Health::Failed,
            Self::MemberFailed(_) => Health::Degraded,
            Self::MemberRebuilding(_) | Self::RebuildHalted => Health::Rebuilding,
            Self::MemberErrors(_)
            | Self::MemberSmart(_)
            | Self::MemberUnlinked(_)
            | Self::MemberSuperblocks(_) => Health::Degrading,
            Self::MemberInDoubt(_)
            | Self::MetadataDamaged(_)
            | Self::RebuildLost(_)
            | Self::ScrubLost(_)
            | Self::Full
            | Self::OutOfSpace => Health::Impaired,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondParity { group, missing } => {
                write!(
                    f,
                    "{missing} members of group {group} are out of service or being rebuilt, more than its parity tolerates"
                )
            }
            Self::MemberFailed(member) => write!(f, "member {member} is out of service"),
            Self::MemberRebuilding(member) => write!(f, "member {member} is being rebuilt"),
            Self::RebuildHalted => f.write_str("the rebuild is halted"),
            Self::MemberErrors(member) => write!(f, "member {member} has many recent errors"),
            Self::MemberSmart(member) => write!(f, "the SMART verdict of member {member} is that it fails"),
            Self::MemberUnlinked(member) => {
                write!(f, "the file of member {member} is lost when the server ends")
            }
            Self::MemberSuperblocks(member) => write!(f, "superblocks of member {member} are damaged"),
            Self::MemberInDoubt(member) => {
                write!(f, "member {member} may lack content until a scrub has verified it")
            }
            Self::MetadataDamaged(copies) => write!(f, "{copies} copies of metadata are damaged"),
            Self::RebuildLost(stripes) => write!(f, "the last rebuild lost data of {stripes} stripes"),
            Self::ScrubLost(chunks) => write!(f, "{chunks} chunks cannot be read"),
            Self::Full => f.write_str("the log has no space"),
            Self::OutOfSpace => f.write_str("members are out of space"),
        }
    }
}

/// The health of an array, and all reasons for it, the worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The worst health of the reasons; clean without reasons.
    pub health: Health,
    /// The reasons. None for a clean array.
    pub reasons: Vec<Reason>,
}

/// The health of an array in this state, whose members have this health.
pub fn health_of(state: &ArrayState, members: &MembersHealth) -> Verdict {
    let mut reasons = Vec::new();
    let missing = state.groups().map(|group| (group, state.missing(group)));
    let beyond = missing.filter(|(_, missing)| *missing > state.tolerance);
    reasons.extend(beyond.map(|(group, missing)| Reason::BeyondParity { group, missing }));
    for (number, member) in (0..).map(MemberNo::new).zip(&state.members) {
        match member.state {
            MemberState::Failed => {
                reasons.push(Reason::MemberFailed(number));
                continue;
            }
            MemberState::Rebuilding => reasons.push(Reason::MemberRebuilding(number)),
            MemberState::Active => {}
        }
        let health = members.of(number);
        let signs = [
            (health.is_degrading(), Reason::MemberErrors(number)),
            (health.smart == Some(false), Reason::MemberSmart(number)),
            (health.unlinked.is_some(), Reason::MemberUnlinked(number)),
            (health.damaged_superblocks > 0, Reason::MemberSuperblocks(number)),
            (number.is_in(state.in_doubt), Reason::MemberInDoubt(number)),
        ];
        reasons.extend(signs.into_iter().filter(|(is_it, _)| *is_it).map(|(_, reason)| reason));
    }
    let others = [
        (state.is_rebuild_halted, Reason::RebuildHalted),
        (state.metadata_damaged > 0, Reason::MetadataDamaged(state.metadata_damaged)),
        (state.rebuild_lost > 0, Reason::RebuildLost(state.rebuild_lost)),
        (state.scrub_lost > 0, Reason::ScrubLost(state.scrub_lost)),
        (state.is_full, Reason::Full),
        (state.is_out_of_space, Reason::OutOfSpace),
    ];
    reasons.extend(others.into_iter().filter(|(is_it, _)| *is_it).map(|(_, reason)| reason));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.health()));
    let health = reasons.first().map_or(Health::Clean, |reason| reason.health());
    Verdict { health, reasons }
}

#[cfg(test)]
mod tests {
    use stripewise_format::MemberState::{Active, Failed, Rebuilding};

    use super::*;
    use crate::health::MemberStanding;

    /// Two groups of three members, of which one may be lost.
    fn state(states: [MemberState; 6]) -> ArrayState {
        let members = (0..).zip(states).map(|(nth, state)| MemberStanding { state, group: Some(nth / 3) });
        ArrayState { members: members.collect(), tolerance: 1, ..ArrayState::default() }
    }

    #[test]
    fn the_worst_reason_decides() {
        let healthy = MembersHealth::new(6, None);
        let verdict = |states| health_of(&state(states), &healthy);
        let clean = Verdict { health: Health::Clean, reasons: vec![] };
        assert_eq!(verdict([Active; 6]), clean);
        let one = verdict([Active, Failed, Active, Active, Active, Rebuilding]);
        assert_eq!(
            one.reasons,
            [Reason::MemberFailed(MemberNo::new(1)), Reason::MemberRebuilding(MemberNo::new(5))]
        );
        assert_eq!(one.health, Health::Degraded);
        let two = verdict([Active, Failed, Rebuilding, Active, Active, Active]);
        assert_eq!(
            (two.health, two.reasons[0]),
            (Health::Failed, Reason::BeyondParity { group: 0, missing: 2 })
        );
        let changes: [fn(&mut ArrayState); 6] = [
            |state| state.in_doubt = 1 << 2,
            |state| state.is_full = true,
            |state| state.is_out_of_space = true,
            |state| state.rebuild_lost = 1,
            |state| state.scrub_lost = 1,
            |state| state.metadata_damaged = 1,
        ];
        for change in changes {
            let mut state = state([Active; 6]);
            change(&mut state);
            assert_eq!(health_of(&state, &healthy).health, Health::Impaired, "{state:?}");
        }
    }

    #[test]
    fn signs_of_a_member_count_while_it_serves() {
        let changes: [fn(&mut crate::health::MemberHealth); 3] = [
            |member| member.smart = Some(false),
            |member| member.unlinked = Some("why".to_owned()),
            |member| member.damaged_superblocks = 1,
        ];
        for change in changes {
            let mut members = MembersHealth::new(6, None);
            change(members.of_mut(MemberNo::new(2)));
            assert_eq!(health_of(&state([Active; 6]), &members).health, Health::Degrading);
            let failed = state([Active, Active, Failed, Active, Active, Active]);
            assert_eq!(health_of(&failed, &members).reasons, [Reason::MemberFailed(MemberNo::new(2))]);
        }
    }
}
