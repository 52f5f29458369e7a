//! One answer before and after a restart.

use super::super::scenario::Scenario;
use super::super::server::Server;
use super::super::system_under_test::SystemUnderTest;
use super::{Claims, Question};

impl Scenario {
    /// What the array said when it was stopped, and what it says now: which members are missing, which member is being
    /// rebuilt, whether rebuilds left anything unrecovered, and whether it is CLEAN.
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
        let answers =
            |claims: &Claims| (claims.missing, claims.rebuilding, claims.unrecovered > 0, claims.is_clean);
        if answers(&before) != answers(&after) {
            return Err(format!("before a restart the array says {before:?}, and after it {after:?}"));
        }
        self.counts.restarts += 1;
        Ok(())
    }

    /// After a complete scrub, without faults since, and with all members: the array is CLEAN.
    pub(crate) fn judge_recovery<S: SystemUnderTest>(&self, server: &Server<S>) -> Result<(), String> {
        let Some(claims) = server.claims() else { return Ok(()) };
        let is_asked = self.questions.has(Question::Recovery) && self.suspects.members() == 0;
        if is_asked && self.doubt.is_empty() && !claims.is_clean {
            return Err(format!("all members are back, a scrub is over, and the array says {claims:?}"));
        }
        Ok(())
    }
}
