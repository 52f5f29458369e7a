//! Which members the array charges with errors. The engine counts the same reports; its error limit and the health of
//! members rest on them.

use super::super::scenario::Scenario;
use super::{Charge, Offence, Question};

impl Scenario {
    /// No member is charged on which no fault was injected since it was last verified. The members that join, of the mask
    /// `joining`, are charged with nothing: what they lack is no error.
    pub(crate) fn judge_charges(&mut self, charges: &[Charge], joining: u64) -> Result<(), String> {
        self.counts.charges += charges.len() as u64;
        if !self.questions.has(Question::Charges) {
            return Ok(());
        }
        // An error that a member reports is one, even on a page that counts no longer.
        let is_wrong = |charge: &&Charge| {
            charge.offence != Offence::Error && self.suspects.members() & charge.member.bit() == 0
        };
        let Some(Charge { member, page, offence }) = charges.iter().find(is_wrong) else { return Ok(()) };
        let role = if member.is_in(joining) { "joining member" } else { "member" };
        let what = match offence {
            Offence::Mismatch => format!("is charged with the content of page {page}"),
            Offence::Error => format!("reports an error at page {page}"),
            Offence::Failed => "is failed".into(),
        };
        Err(format!("{role} {member} {what}, and nothing is wrong with it"))
    }

    /// Every bad page that a scrub counts is an error of a member, which is charged: `bad` pages, against `charged` reports.
    pub(crate) fn judge_scrub(&self, bad: u64, charged: u64) -> Result<(), String> {
        let is_checked = self.questions.has(Question::Charges) && self.shape.kind.has_checksums();
        if is_checked && bad > charged {
            return Err(format!("a scrub finds {bad} bad pages, and charges members with {charged}"));
        }
        Ok(())
    }
}
