//! The error limit: errors of members are counted, and members beyond the limit failed, as a server does it. Independently of
//! the counts, each such failure is compared with all errors that the members returned.

use std::collections::BTreeSet;

use stripewise_array::health::{ArrayState, Ledger, MembersHealth, OverLimit};
use stripewise_array::{Controller, MemberNo, OperationKind, Outcome};

use super::CaseRun;
use crate::bugs::Planted;
use crate::case::ErrorLimit;
use crate::media::Fault;

/// The size that pages have for the count of errors: errors within a MiB count once, and all pages of a small device are
/// within it. Here each page stands for a place of its own.
const PLACE_BYTES: u32 = 1 << 20;

/// The errors that a member returned since the controller started.
#[derive(Clone, Debug, Default)]
struct Errors {
    /// Pages that it could not read, and whose reads or writes it did not answer.
    places: BTreeSet<u32>,
    /// Whether any read returned no good content.
    has_bad_reads: bool,
}

/// The errors of all members, and the limit.
pub(super) struct Watch {
    limit: ErrorLimit,
    health: MembersHealth,
    ledgers: Vec<Ledger>,
    errors: Vec<Errors>,
    /// Number of media faults that are counted.
    seen: usize,
    /// Members that were failed by the limit, and members that stayed in service although they were beyond it.
    failed: BTreeSet<MemberNo>,
    kept: BTreeSet<MemberNo>,
}

impl Watch {
    pub(super) fn new(limit: ErrorLimit, members: u16, bug: Option<Planted>) -> Self {
        let count = usize::from(members);
        #[allow(unused_mut)]
        let mut health = MembersHealth::new(members, Some(limit.errors));
        #[cfg(debug_assertions)]
        if let Some(Planted::Array(bug)) = bug {
            health.plant(Some(bug));
        }
        #[cfg(not(debug_assertions))]
        let _ = bug;
        Self {
            limit,
            health,
            ledgers: vec![Ledger::default(); count],
            errors: vec![Errors::default(); count],
            seen: 0,
            failed: BTreeSet::new(),
            kept: BTreeSet::new(),
        }
    }

    /// Another controller starts, and counts the errors after the first `seen` from zero.
    pub(super) fn restarted(self, seen: usize, bug: Option<Planted>) -> Self {
        let Self { failed, kept, .. } = self;
        Self { seen, failed, kept, ..Self::new(self.limit, self.health.count(), bug) }
    }

    /// Number of members that were failed by the limit.
    pub(super) fn failed(&self) -> u64 {
        self.failed.len() as u64
    }

    /// Number of members that stayed in service beyond the limit.
    pub(super) fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Counts the new ones of all media `faults`.
    fn count(&mut self, now: u64, faults: &[Fault]) {
        for &Fault { member, page, kind, outcome } in &faults[self.seen..] {
            let member = member.index();
            // A checksum would have found content that is known to be corrupt.
            let is_mismatch = outcome == Outcome::Corrupt;
            match is_mismatch {
                true => self.ledgers[member].mismatched(page),
                false => self.ledgers[member].failed(now, kind, outcome, (page, PLACE_BYTES)),
            }
            let errors = &mut self.errors[member];
            errors.places.extend((!is_mismatch).then_some(page));
            errors.has_bad_reads |= kind == OperationKind::Read && outcome != Outcome::Timeout;
        }
        self.seen = faults.len();
    }
}

impl CaseRun<'_> {
    /// Counts the errors of members and, if a look is due, fails the members beyond the limit that the array can do without.
    ///
    /// # Errors
    /// A member was failed on which the array depended, or it stays without a reason.
    pub(super) fn enforce_limit(&mut self) -> Result<(), String> {
        let (now, event) = (self.simulation.now(), self.event.get());
        let array = &self.simulation.array;
        let Some(watch) = self.watch.as_mut().filter(|watch| event.is_multiple_of(watch.limit.every)) else {
            return Ok(());
        };
        watch.count(now, self.simulation.world.flash.media().log());
        let members = watch.health.count();
        for member in MemberNo::first(members.into()) {
            let found = watch.ledgers[member.index()].counts();
            watch.health.of_mut(member).take(now, found);
            if !array.is_failed(member) {
                watch.health.judge(now, member);
            }
        }
        for member in MemberNo::first(members.into()) {
            // As if spares waited: without one no member is failed.
            let state = ArrayState { spares: usize::from(members) + 1, ..self.simulation.array.state() };
            let over = self.watch.as_mut().and_then(|watch| watch.health.over_limit(now, member, &state));
            let Some(OverLimit { errors, kept_because, .. }) = over else { continue };
            let host = &mut self.simulation.world.host;
            match kept_because {
                Some(why) => {
                    host.trace(|| format!("member {member} has {errors} errors, but {why}"));
                    self.watch.iter_mut().for_each(|watch| {
                        watch.kept.insert(member);
                    });
                }
                None => {
                    host.trace(|| format!("member {member} is failed for {errors} errors"));
                    self.judge_failure(member)
                        .map_err(|what| format!("member {member} is failed for its errors, but {what}"))?;
                    self.simulation.fail_member(member);
                    self.watch.iter_mut().for_each(|watch| {
                        watch.failed.insert(member);
                    });
                }
            }
        }
        let array = &self.simulation.array;
        let stays = |&member: &MemberNo| !array.is_failed(member) && self.judge_failure(member).is_ok();
        match MemberNo::first(members.into()).find(stays).filter(|_| !array.is_resyncing()) {
            Some(member) => {
                Err(format!("member {member} has more errors than the limit, and stays in service"))
            }
            None => Ok(()),
        }
    }

    /// Whether `member` may be failed for its errors: it has them, and as far as anyone knows the array does not depend on it.
    fn judge_failure(&self, member: MemberNo) -> Result<(), String> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let array = &self.simulation.array;
        let geometry = array.geometry();
        let count = watch.errors[member.index()].places.len() as u64;
        if count <= watch.limit.errors {
            return Err(format!(
                "it had errors in {count} places, of {} that are tolerated",
                watch.limit.errors
            ));
        }
        // A member with deltas of parity belongs to every group.
        let is_log = !member.is_within(geometry.members);
        let groups = (0..geometry.groups).filter(|&group| is_log || geometry.group_of(member) == group);
        let log = MemberNo::first(watch.health.count().into()).skip(geometry.members as usize);
        for group in groups {
            let others = geometry.group(group).chain(log.clone());
            let is_lacking = |&other: &MemberNo| {
                other != member && (array.is_failed(other) || watch.errors[other.index()].has_bad_reads)
            };
            let lacking: Vec<MemberNo> = others.filter(is_lacking).collect();
            if lacking.len() as u32 + 1 > geometry.tolerance() {
                return Err(format!("members {lacking:?} of its group failed too, or had bad reads"));
            }
        }
        self.is_redundant_without(member)
    }

    /// Whether what is on `member` can be decoded in each row that had no valid parity.
    fn is_redundant_without(&self, member: MemberNo) -> Result<(), String> {
        if self.is_elastic() {
            return Ok(());
        }
        let audit = self.audit();
        let rows = self.power.torn.iter().copied().chain(audit.array.stale_rows());
        let mut lost = rows.filter(|&row| audit.depends_on(row, member));
        lost.next().map_or(Ok(()), |row| Err(format!("parity of row {row} is not valid")))
    }
}
