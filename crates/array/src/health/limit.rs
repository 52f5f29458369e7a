//! The health of all members of an array, and the error limit: which member should be failed now, or why it stays.

use std::fmt;

use stripewise_base::Nanos;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_format::{FailReason, MemberState};

use crate::health::ledger::Troubles;
use crate::health::member::MemberHealth;
use crate::health::state::ArrayState;
use crate::health::window::Recent;

/// Why the array needs a member that is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// The array is read-only.
    ReadOnly,
    /// Parity is recomputed after a loss of power.
    ForResync,
    /// The rebuild of this member depends on it.
    ForRebuild(MemberNo),
    /// Parity does not tolerate the loss of another member.
    ForParity,
    /// This member of its group is degrading too.
    Degrading(MemberNo),
    /// This member of its group may lack content.
    InDoubt(MemberNo),
    /// This member of its group returned bad content of late.
    BadReads(MemberNo),
    /// No spare waits to take its place. Until it is replaced, it has content that may be needed, and repairs reach it.
    Spare,
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str("the array is read-only"),
            Self::ForResync => f.write_str("parity is being recomputed after a loss of power"),
            Self::ForRebuild(member) => write!(f, "the rebuild of member {member} depends on it"),
            Self::ForParity => f.write_str("parity does not tolerate the loss of another member"),
            Self::Degrading(member) => write!(f, "member {member} is degrading too"),
            Self::InDoubt(member) => write!(f, "member {member} may lack content"),
            Self::BadReads(member) => write!(f, "member {member} had bad reads of late too"),
            Self::Spare => f.write_str("no spare waits to take its place"),
        }
    }
}

/// A member is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// The member.
    pub member: MemberNo,
    /// Its recent errors that count.
    pub errors: u64,
    /// The limit.
    pub limit: u64,
    /// What its errors mean for its content.
    pub reason: FailReason,
    /// Why it stays in service. None: fail it now.
    pub kept_because: Option<Needed>,
}

/// The health of the members of an array.
#[derive(Clone, Debug, Default)]
pub struct MembersHealth {
    members: Vec<MemberHealth>,
    limit: Option<u64>,
    /// A bug that a test planted.
    #[cfg(debug_assertions)]
    bug: Option<Bug>,
}

impl MembersHealth {
    /// Plants a bug for the checking simulation to find.
    #[cfg(debug_assertions)]
    pub fn plant(&mut self, bug: Option<Bug>) {
        self.bug = bug;
    }

    #[cfg(debug_assertions)]
    fn has_bug(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(debug_assertions))]
    fn has_bug(&self, _bug: Bug) -> bool {
        false
    }

    /// That number of healthy members. A member fails beyond `limit` recent errors; without a limit none does.
    pub fn new(members: u16, limit: Option<u64>) -> Self {
        Self {
            members: vec![MemberHealth::default(); usize::from(members)],
            limit: limit.filter(|&limit| limit > 0),
            #[cfg(debug_assertions)]
            bug: None,
        }
    }

    /// The number of members.
    pub fn count(&self) -> u16 {
        self.members.len() as u16
    }

    /// The limit.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The health of a member.
    pub fn of(&self, member: MemberNo) -> &MemberHealth {
        &self.members[member.index()]
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, member: MemberNo) -> &mut MemberHealth {
        &mut self.members[member.index()]
    }

    /// Another device has the place of `member`, or the same device with another history. Its ledger has these counters.
    pub fn welcome(&mut self, member: MemberNo, found: Troubles) {
        self.members[member.index()] = MemberHealth::fresh(found);
    }

    /// Decides whether `member` is degrading. Returns whether that changed.
    pub fn judge(&mut self, now: Nanos, member: MemberNo) -> bool {
        let limit = self.limit;
        self.of_mut(member).judge(now, limit)
    }

    /// Whether `member` is beyond the limit, and whether it is to be failed. None if it is not, if it is out of service, and
    /// if it is still needed and that was reported before.
    ///
    /// Judge all members first: no member is failed while the array depends on it because another one is degrading. Take
    /// another `state` after a member was failed.
    pub fn over_limit(&mut self, now: Nanos, member: MemberNo, state: &ArrayState) -> Option<OverLimit> {
        let limit = self.limit.filter(|_| state.serves(member))?;
        let recent = self.of(member).recent(now);
        let errors = recent.spots;
        let is_over = errors > limit;
        let was_reported = std::mem::replace(&mut self.of_mut(member).is_over_reported, is_over);
        let kept_because = if is_over { self.needed(now, member, state) } else { None };
        // Content that it did not return is in doubt. A member that only stopped answering has its content.
        let is_damaged = recent.read + recent.checksum > 0;
        let reason = if is_damaged { FailReason::Damage } else { FailReason::Gone };
        let is_new = is_over && !(was_reported && kept_because.is_some());
        is_new.then_some(OverLimit { member, errors, limit, reason, kept_because })
    }

    /// Why the array needs `member`. None if it does not.
    fn needed(&self, now: Nanos, member: MemberNo, state: &ArrayState) -> Option<Needed> {
        if self.has_bug(Bug::LimitIgnoresNeed) {
            return None;
        }
        if state.is_read_only {
            return Some(Needed::ReadOnly);
        }
        // Content that parity does not cover yet would be lost.
        if state.is_resyncing && !self.has_bug(Bug::LimitIgnoresResync) {
            return Some(Needed::ForResync);
        }
        let for_group = state.groups_of(member).find_map(|group| self.needed_in(group, now, member, state));
        // Of the others, some may have bad pages that no one knows of. What this member still has is then all there is, until
        // another one has its place.
        let taken = state.members.iter().filter(|its| its.state == MemberState::Failed).count();
        for_group.or((state.spares <= taken).then_some(Needed::Spare))
    }

    /// Why `group` needs `member`, which belongs to it.
    fn needed_in(&self, group: u32, now: Nanos, member: MemberNo, state: &ArrayState) -> Option<Needed> {
        let others = state.group(group).filter(|&(other, _)| other != member);
        let rebuilt = others.clone().find(|(_, state)| *state == MemberState::Rebuilding);
        if let Some((rebuilt, _)) = rebuilt {
            return Some(Needed::ForRebuild(rebuilt));
        }
        let missing = others.clone().filter(|(_, state)| *state != MemberState::Active).count() as u32;
        if missing + 1 > state.tolerance {
            return Some(Needed::ForParity);
        }
        // A member that lacks content or has bad pages, as far as anyone knows, cannot be relied on for each page of this one.
        let active = others.filter(|(_, state)| *state == MemberState::Active);
        let mut doubts = active.filter_map(|(other, _)| self.doubt(now, other, state));
        let why = doubts.next()?;
        let doubtful = 1 + doubts.count() as u32;
        (missing + doubtful + 1 > state.tolerance).then_some(why)
    }

    /// Why `member`, which is active, cannot be relied on for all of its content.
    fn doubt(&self, now: Nanos, member: MemberNo, state: &ArrayState) -> Option<Needed> {
        let Recent { read, checksum, .. } = self.of(member).recent(now);
        let doubts = [
            (self.of(member).is_degrading(), Needed::Degrading(member)),
            (member.is_in(state.in_doubt), Needed::InDoubt(member)),
            (read + checksum > 0, Needed::BadReads(member)),
        ];
        doubts.into_iter().find(|(is_it, _)| *is_it).map(|(_, why)| why)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stripewise_core::operation::{OperationKind, Outcome};

    use super::*;
    use crate::health::{Ledger, MemberStanding};

    const LIMIT: u64 = 4;
    /// Two groups.
    const MEMBERS: u16 = 10;
    /// A member with deltas of the parity of both groups.
    const LOG: u16 = MEMBERS;

    /// An error: of read, write, or none in time; and content that does not match.
    const KINDS: [Option<(OperationKind, Outcome)>; 4] = [
        Some((OperationKind::Read, Outcome::MediumError)),
        Some((OperationKind::Write, Outcome::MediumError)),
        Some((OperationKind::Read, Outcome::Timeout)),
        None,
    ];

    /// All that happened to a member: spots of its own errors, its errors, and its bad reads.
    #[derive(Clone, Debug, Default)]
    struct Past {
        spots: Vec<u32>,
        errors: u64,
        bad_reads: u64,
    }

    impl Past {
        /// Whether nothing says that a page of it may be bad.
        fn is_reliable(&self) -> bool {
            self.bad_reads == 0 && self.errors < LIMIT.div_ceil(2)
        }
    }

    proptest! {
        /// Within a minute, so that nothing decays and no spot counts twice.
        #[test]
        fn members_fail_beyond_the_limit_and_never_while_content_depends_on_them(
            errors in prop::collection::vec((0..200u16, 0..4usize, 0..12u32), 1..120),
            // Most errors are those of few members: otherwise no member could be spared.
            culprits in prop::array::uniform2(0..=LOG),
            tolerance in 1..=3u32,
            rebuilt in prop::option::of(0..MEMBERS),
            doubted in prop::option::of(0..MEMBERS),
            resync_ends in prop::option::of(0..120u64),
            spares in 0..4usize,
        ) {
            let standing = |member| MemberStanding {
                state: MemberState::Active,
                group: (member != LOG).then_some(u32::from(member) / 5),
            };
            let members = (0..=LOG).map(standing).collect();
            let in_doubt = doubted.map_or(0, |member| MemberNo::new(member).bit());
            let mut state = ArrayState { members, tolerance, in_doubt, spares, ..ArrayState::default() };
            if let Some(rebuilt) = rebuilt {
                state.members[usize::from(rebuilt)].state = MemberState::Rebuilding;
            }
            let mut health = MembersHealth::new(MEMBERS + 1, Some(LIMIT));
            let mut ledgers = vec![Ledger::default(); usize::from(MEMBERS) + 1];
            let mut past = vec![Past::default(); usize::from(MEMBERS) + 1];
            for (now, (member, kind, mib)) in (0..).zip(errors) {
                let member = if member <= LOG { member } else { culprits[usize::from(member % 2)] };
                let (ledger, its) = (&mut ledgers[usize::from(member)], &mut past[usize::from(member)]);
                let kind = KINDS[kind];
                its.errors += 1;
                match kind {
                    Some((kind, outcome)) => {
                        ledger.failed(now, kind, outcome, (mib * 256, 4096));
                        if !its.spots.contains(&mib) {
                            its.spots.push(mib);
                        }
                        its.bad_reads += u64::from((kind, outcome) == (OperationKind::Read, Outcome::MediumError));
                    }
                    None => {
                        ledger.mismatched(mib * 256);
                        its.bad_reads += 1;
                    }
                }
                let found = ledger.counts();
                health.of_mut(MemberNo::new(member)).take(now, found);
                health.judge(now, MemberNo::new(member));
                prop_assert_eq!(health.of(MemberNo::new(member)).is_degrading(), past[usize::from(member)].errors >= 2);
                state.is_resyncing = resync_ends.is_some_and(|end| now < end);
                for member in 0..=LOG {
                    let its = &past[usize::from(member)];
                    let is_over = its.spots.len() as u64 > LIMIT && state.serves(MemberNo::new(member));
                    // The largest number of others of a group that cannot be relied on.
                    let is_unreliable = |other: MemberNo, its: MemberStanding| {
                        its.state != MemberState::Active
                            || other.is_in(in_doubt)
                            || !past[other.index()].is_reliable()
                    };
                    let is_of = |its: MemberStanding, group| its.group.is_none_or(|its| its == group);
                    let its_group = state.members[usize::from(member)].group;
                    let groups = (0..2).filter(|&group| its_group.is_none_or(|its| its == group));
                    let of = |group: u32| {
                        let all = (0..).zip(state.members.iter().copied());
                        all.filter(move |&(other, its)| other != member && is_of(its, group))
                    };
                    let unreliable = groups.clone().map(|group| {
                        of(group).filter(|&(other, its)| is_unreliable(MemberNo::new(other), its)).count() as u32
                    });
                    let is_out = |its: &&MemberStanding| its.state == MemberState::Failed;
                    let has_spare = spares > state.members.iter().filter(is_out).count();
                    let can_fail = unreliable.max().unwrap_or(0) < tolerance && !state.is_resyncing && has_spare;
                    let is_whole = groups.flat_map(of).all(|(_, its)| its.state == MemberState::Active);
                    let over = health.over_limit(now, MemberNo::new(member), &state);
                    let fails = over.is_some_and(|over| over.kept_because.is_none());
                    if fails {
                        prop_assert!(is_over, "member {} has {:?}", member, its);
                        prop_assert!(can_fail, "member {} is needed", member);
                        let over = over.unwrap();
                        prop_assert_eq!(over.reason == FailReason::Damage, its.bad_reads > 0);
                        state.members[usize::from(member)].state = MemberState::Failed;
                    } else {
                        prop_assert!(!(is_over && is_whole && can_fail), "member {} stays", member);
                    }
                }
            }
        }
    }

    #[test]
    fn content_that_does_not_match_degrades_a_member_and_never_fails_it() {
        let standing = |_| MemberStanding { state: MemberState::Active, group: Some(0) };
        let state =
            ArrayState { members: (0..5).map(standing).collect(), tolerance: 1, ..ArrayState::default() };
        let mut health = MembersHealth::new(5, Some(LIMIT));
        let mut ledger = Ledger::default();
        (0..1000).for_each(|mib| ledger.mismatched(mib * 256));
        health.of_mut(MemberNo::new(2)).take(0, ledger.counts());
        assert!(health.judge(0, MemberNo::new(2)) && health.of(MemberNo::new(2)).is_degrading());
        assert_eq!(health.over_limit(0, MemberNo::new(2), &state), None);
    }
}
