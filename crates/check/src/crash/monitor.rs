//! What the serving program does about members with errors, after every operation: it fails a member beyond the error limit,
//! and lets a hot spare take the place of a member that is out.

use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;
use stripewise_array::format::FailReason;
use stripewise_array::health::{ArrayState, Ledger, MembersHealth, Spares};
use stripewise_base::Nanos;

/// The settings of the serving program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// A member fails beyond this number of errors. With 0 none does.
    pub error_limit: u64,
    /// The number of hot spares.
    pub spares: u32,
}

/// The monitor of a server.
#[derive(Debug)]
pub(crate) struct Monitor {
    health: MembersHealth,
    spares: Spares<()>,
    /// The number of errors at the last look.
    seen: u64,
}

impl Monitor {
    pub(crate) fn new(policy: Policy, members: u16, pages: u32) -> Self {
        let mut spares = Spares::default();
        (0..policy.spares).for_each(|_| spares.add((), pages));
        Self { health: MembersHealth::new(members, Some(policy.error_limit)), spares, seen: 0 }
    }

    /// Whether a look at `ledgers` can lead to anything.
    pub(crate) fn is_due(&self, ledgers: &[Ledger]) -> bool {
        self.health.limit().is_some() && errors(ledgers) != self.seen
    }

    /// Takes the counters of all members.
    pub(crate) fn look(&mut self, now: Nanos, ledgers: &[Ledger]) {
        self.seen = errors(ledgers);
        for (member, ledger) in (0..).zip(ledgers) {
            self.health.of_mut(MemberNo::new(member)).take(now, ledger.counts());
            self.health.judge(now, MemberNo::new(member));
        }
    }

    /// Whether to fail `member` now, and why.
    pub(crate) fn fails(&mut self, now: Nanos, member: MemberNo, state: &ArrayState) -> Option<FailReason> {
        let state = ArrayState { spares: self.spares.count(), ..state.clone() };
        let over = self.health.over_limit(now, member, &state)?;
        over.kept_because.is_none().then_some(over.reason)
    }

    /// Another device has the place of `member`, or the same one with another history.
    pub(crate) fn welcome(&mut self, member: MemberNo, ledger: &Ledger) {
        self.health.welcome(member, ledger.counts());
    }

    /// Whether a spare waits.
    pub(crate) fn has_spare(&self) -> bool {
        self.spares.count() > 0
    }

    /// The member whose place the next spare takes, if the array `accepts` it there.
    pub(crate) fn next_spare(
        &mut self,
        state: &ArrayState,
        accepts: impl Fn(MemberNo, u32) -> bool,
    ) -> Option<MemberNo> {
        self.spares.next_for(state, accepts).map(|(member, ..)| member)
    }
}

/// The number of all errors.
fn errors(ledgers: &[Ledger]) -> u64 {
    ledgers.iter().map(|ledger| ledger.counts().errors()).sum()
}
