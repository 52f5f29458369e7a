//! One answer from all who are asked: the array before and after a restart, the report of its assembly, and the superblocks of
//! its members.

use stripewise_array::MemberNo;
use stripewise_array::RecoveryReport;
use stripewise_array::format::{MemberRecord, MemberState};

use super::super::corruption::superblocks;
use super::super::scenario::Scenario;
use super::super::server::Server;
use super::super::system_under_test::SystemUnderTest;
use super::{Claims, Question};

impl Scenario {
    /// What the array says right after its assembly is what the report of the assembly says: which members are missing, and
    /// whether something is lost.
    pub(crate) fn judge_report<S: SystemUnderTest>(
        &self,
        system: &S,
        report: &RecoveryReport,
    ) -> Result<(), String> {
        let Some(claims) = system.claims().filter(|_| self.questions.has(Question::Restart)) else {
            return Ok(());
        };
        let absent =
            (0..).map(MemberNo::new).zip(&report.positions).filter(|(_, position)| position.is_none());
        let missing = absent.fold(0, |mask, (member, _)| mask | member.bit());
        if claims.missing != missing {
            return Err(format!(
                "its assembly reports that members {missing:#b} are missing, and it says {claims:?}"
            ));
        }
        Ok(())
    }

    /// After a clean stop the superblocks of all members that served record what the array `said`: which members are missing,
    /// which are being rebuilt, and which are in doubt. If the stop interrupted a scrub, they record what it had done, or a
    /// little less; `interrupted` is that number.
    pub(crate) fn judge_superblocks(
        &mut self,
        said: &Claims,
        interrupted: Option<u32>,
    ) -> Result<(), String> {
        // Beyond parity nothing is recorded; and a fault may have struck a superblock itself.
        let is_checked = self.questions.has(Question::Restart) && self.suspects.members() == 0;
        if !is_checked || self.exceeds_parity(said.missing | said.rebuilding) {
            return Ok(());
        }
        for (member, block) in superblocks(&self.shape, &self.members) {
            if member.is_in(said.missing) {
                continue;
            }
            let mask = |is_it: &dyn Fn(&MemberRecord) -> bool| {
                let all = (0..).map(MemberNo::new).zip(&block.members).filter(|(_, record)| is_it(record));
                all.fold(0, |mask, (member, _)| mask | member.bit())
            };
            let missing = mask(&|record| record.state == MemberState::Failed);
            let rebuilding = mask(&|record| record.state == MemberState::Rebuilding);
            let recorded = (missing, rebuilding, block.in_doubt());
            if recorded != (said.missing, said.rebuilding, said.in_doubt) {
                return Err(format!(
                    "it was stopped, the superblocks of member {member} call {missing:#b} failed, {rebuilding:#b} rebuilding and \
                     {:#b} in doubt, and it said {said:?}",
                    block.in_doubt()
                ));
            }
            let is_recorded = |&done: &u32| (1..=u64::from(done)).contains(&block.scrub_cursor);
            if let Some(done) = interrupted.filter(|done| !is_recorded(done)) {
                return Err(format!(
                    "it was stopped when a scrub had done {done}, and the superblocks of member {member} record {}",
                    block.scrub_cursor
                ));
            }
            self.counts.recorded += 1;
        }
        Ok(())
    }

    /// What the array said when it was stopped, and what it says now: which members are missing, being rebuilt or in doubt,
    /// whether rebuilds left anything unrecovered, whether something is lost, and whether the array is CLEAN.
    pub(crate) fn judge_restart<S: SystemUnderTest>(
        &mut self,
        server: &Server<S>,
        absent: u64,
    ) -> Result<(), String> {
        let (Some(before), Some(after)) = (self.said.take(), server.claims()) else { return Ok(()) };
        // Beyond parity nothing is recorded, so that all members may return: the restart takes them back.
        let was_beyond = self.exceeds_parity(before.missing | before.rebuilding);
        if !self.questions.has(Question::Restart) || absent != 0 || self.suspects.members() != 0 || was_beyond
        {
            return Ok(());
        }
        let answers = |claims: &Claims| {
            let &Claims { missing, rebuilding, unrecovered, in_doubt, lost, is_clean } = claims;
            (missing, rebuilding, unrecovered > 0, in_doubt, lost > 0, is_clean)
        };
        if answers(&before) != answers(&after) {
            return Err(format!("before a restart the array says {before:?}, and after it {after:?}"));
        }
        self.counts.restarts += 1;
        Ok(())
    }

    /// After a complete scrub, without faults since, and with all members: the array is CLEAN.
    pub(crate) fn judge_recovery<S: SystemUnderTest>(&self, server: &Server<S>) -> Result<(), String> {
        let Some(claims) = server.claims() else { return Ok(()) };
        let is_checked = self.questions.has(Question::Recovery) && self.suspects.members() == 0;
        if is_checked && self.doubt.is_empty() && !claims.is_clean {
            return Err(format!("all members are back, a scrub is over, and the array says {claims:?}"));
        }
        Ok(())
    }
}
