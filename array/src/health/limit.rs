//! The health of all members of an array, and the error limit: which member should be failed now, or why it stays.

use std::fmt;

use stripewise_base::Nanos;
use stripewise_core::format::{FailReason, MemberState};

use crate::health::ledger::Troubles;
use crate::health::member::MemberHealth;
use crate::health::state::ArrayState;
use crate::health::window::Recent;

/// Why the array needs a member that is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// The array is read-only.
    ReadOnly,
    /// The rebuild of this member depends on it.
    ForRebuild(u16),
    /// Parity does not tolerate the loss of another member.
    ForParity,
    /// This member of its group is degrading too.
    Degrading(u16),
    /// This member of its group returned bad content of late.
    BadReads(u16),
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str("the array is read-only"),
            Self::ForRebuild(member) => write!(f, "the rebuild of member {member} depends on it"),
            Self::ForParity => f.write_str("parity does not tolerate the loss of another member"),
            Self::Degrading(member) => write!(f, "member {member} is degrading too"),
            Self::BadReads(member) => write!(f, "member {member} had bad reads of late too"),
        }
    }
}

/// A member is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// The member.
    pub member: u16,
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
}

impl MembersHealth {
    /// That number of healthy members. A member fails beyond `limit` recent errors; without a limit none does.
    pub fn new(members: u16, limit: Option<u64>) -> Self {
        Self {
            members: vec![MemberHealth::default(); usize::from(members)],
            limit: limit.filter(|&limit| limit > 0),
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
    pub fn of(&self, member: u16) -> &MemberHealth {
        &self.members[usize::from(member)]
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, member: u16) -> &mut MemberHealth {
        &mut self.members[usize::from(member)]
    }

    /// Another device has the place of `member`, or the same device with another history. Its ledger has these counters.
    pub fn welcome(&mut self, member: u16, found: Troubles) {
        self.members[usize::from(member)] = MemberHealth::fresh(found);
    }

    /// Decides whether `member` is degrading. Returns whether that changed.
    pub fn judge(&mut self, now: Nanos, member: u16) -> bool {
        let limit = self.limit;
        self.of_mut(member).judge(now, limit)
    }

    /// Whether `member` is beyond the limit, and whether it is to be failed. None if it is not, if it is out of service, and
    /// if it is still needed and that was told before.
    ///
    /// Judge all members first: no member is failed while the array depends on it because another one is degrading. Take
    /// another `state` after a member was failed.
    pub fn over_limit(&mut self, now: Nanos, member: u16, state: &ArrayState) -> Option<OverLimit> {
        let limit = self.limit.filter(|_| state.serves(member))?;
        let recent = self.of(member).recent(now);
        let errors = recent.spots;
        let is_over = errors > limit;
        let was_told = std::mem::replace(&mut self.of_mut(member).is_over_told, is_over);
        let kept_because = if is_over { self.needed(now, member, state) } else { None };
        // Content that it did not return is in doubt. A member that only stopped answering has its content.
        let is_damaged = recent.read + recent.checksum > 0;
        let reason = if is_damaged { FailReason::Damage } else { FailReason::Gone };
        let is_news = is_over && !(was_told && kept_because.is_some());
        is_news.then_some(OverLimit { member, errors, limit, reason, kept_because })
    }

    /// Why the array needs `member`. None if it does not.
    fn needed(&self, now: Nanos, member: u16, state: &ArrayState) -> Option<Needed> {
        if state.is_read_only {
            return Some(Needed::ReadOnly);
        }
        let group = state.members[usize::from(member)].group;
        let mut others = state.group(group).filter(|&(other, _)| other != member);
        let rebuilt = others.clone().find(|(_, state)| *state == MemberState::Rebuilding);
        if let Some((rebuilt, _)) = rebuilt {
            return Some(Needed::ForRebuild(rebuilt));
        }
        let missing = others.clone().filter(|(_, state)| *state != MemberState::Active).count() as u32;
        if missing + 1 > state.tolerance {
            return Some(Needed::ForParity);
        }
        // A member with bad pages, as far as anyone knows, cannot be relied on for each page of this one.
        let is_doubtful = |&(other, state): &(u16, MemberState)| {
            let Recent { read, checksum, .. } = self.of(other).recent(now);
            state == MemberState::Active && (self.of(other).is_degrading() || read + checksum > 0)
        };
        let doubtful = others.clone().filter(is_doubtful).count() as u32;
        let (first, _) = others.find(is_doubtful)?;
        let why =
            if self.of(first).is_degrading() { Needed::Degrading(first) } else { Needed::BadReads(first) };
        (missing + doubtful + 1 > state.tolerance).then_some(why)
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
            errors in prop::collection::vec((0..MEMBERS, 0..4usize, 0..12u32), 1..120),
            tolerance in 1..=3u32,
            rebuilt in prop::option::of(0..MEMBERS),
        ) {
            let standing = |member| MemberStanding { state: MemberState::Active, group: u32::from(member) / 5 };
            let members = (0..MEMBERS).map(standing).collect();
            let mut state = ArrayState { members, tolerance, ..ArrayState::default() };
            if let Some(rebuilt) = rebuilt {
                state.members[usize::from(rebuilt)].state = MemberState::Rebuilding;
            }
            let mut health = MembersHealth::new(MEMBERS, Some(LIMIT));
            let mut ledgers = vec![Ledger::default(); usize::from(MEMBERS)];
            let mut past = vec![Past::default(); usize::from(MEMBERS)];
            for (now, (member, kind, mib)) in (0..).zip(errors) {
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
                health.of_mut(member).take(now, found);
                health.judge(now, member);
                prop_assert_eq!(health.of(member).is_degrading(), past[usize::from(member)].errors >= 2);
                for member in 0..MEMBERS {
                    let its = &past[usize::from(member)];
                    let is_over = its.spots.len() as u64 > LIMIT && state.serves(member);
                    let group = state.members[usize::from(member)].group;
                    let others = || state.group(group).filter(|&(other, _)| other != member);
                    let reliable = others().filter(|&(other, state)| {
                        state == MemberState::Active && past[usize::from(other)].is_reliable()
                    });
                    let (reliable, needed) = (reliable.count() as u32, 5 - tolerance);
                    let is_whole = others().all(|(_, state)| state == MemberState::Active);
                    let over = health.over_limit(now, member, &state);
                    let fails = over.is_some_and(|over| over.kept_because.is_none());
                    if fails {
                        prop_assert!(is_over, "member {} has {:?}", member, its);
                        prop_assert!(reliable >= needed, "{} others are reliable, of {}", reliable, needed);
                        let over = over.unwrap();
                        prop_assert_eq!(over.reason == FailReason::Damage, its.bad_reads > 0);
                        state.members[usize::from(member)].state = MemberState::Failed;
                    } else {
                        prop_assert!(!(is_over && is_whole && reliable >= needed), "member {} stays", member);
                    }
                }
            }
        }
    }

    #[test]
    fn content_that_does_not_match_degrades_a_member_and_never_fails_it() {
        let standing = |_| MemberStanding { state: MemberState::Active, group: 0 };
        let state =
            ArrayState { members: (0..5).map(standing).collect(), tolerance: 1, ..ArrayState::default() };
        let mut health = MembersHealth::new(5, Some(LIMIT));
        let mut ledger = Ledger::default();
        (0..1000).for_each(|mib| ledger.mismatched(mib * 256));
        health.of_mut(2).take(0, ledger.counts());
        assert!(health.judge(0, 2) && health.of(2).is_degrading());
        assert_eq!(health.over_limit(0, 2, &state), None);
    }
}
