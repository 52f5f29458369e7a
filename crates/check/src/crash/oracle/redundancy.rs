//! CLEAN: all redundancy is there.

use stripewise_base::prng::Prng;

use super::super::scenario::Scenario;
use super::super::server::Server;
use super::super::shape::sets;
use super::super::survival::Survival;
use super::super::system_under_test::SystemUnderTest;
use super::Question;

impl Scenario {
    /// If the array that `server` serves is CLEAN, no request is in flight and power is lost now: without any members that
    /// parity tolerates, a copy of the media assembles, and each durable sector reads with its content. Injected faults that
    /// no scrub has verified count towards the tolerance. With `choice` one of the largest sets is removed, otherwise every
    /// set is.
    pub(crate) fn judge_redundancy<S: SystemUnderTest>(
        &mut self,
        server: &Server<S>,
        choice: Option<u64>,
    ) -> Result<(), String> {
        let is_checked =
            self.questions.has(Question::Redundancy) && self.doubt.is_empty() && server.is_still();
        let is_clean = server.claims().is_some_and(|claims| claims.is_clean);
        // Superblocks record at the next flush that a member is whole.
        let is_settled = self.coming == 0 && server.joining.members() == 0;
        let suspects = self.suspects.members();
        // Without checksums nothing reveals rot; a scrub trusts the data.
        let is_known = suspects == 0 || self.shape.kind.has_checksums();
        if !(is_checked && is_clean && is_settled && is_known) {
            return Ok(());
        }
        self.counts.judged += 1;
        let spare = self.shape.kind.parity().saturating_sub(suspects.count_ones());
        let mut all: Vec<u64> = sets(self.shape.members, spare, suspects).collect();
        if let Some(choice) = choice {
            all.retain(|set| set.count_ones() == spare);
            all = vec![all[(choice % all.len() as u64) as usize]];
        }
        let mut copy = self.clone();
        (copy.members, copy.model) = (server.driver.members.clone(), server.model.clone());
        (copy.lost, copy.wronged, copy.outdated, copy.said) = (suspects, suspects, 0, None);
        let seed = Prng::stream(choice.unwrap_or(0), 0x636f_7079).next_u64();
        copy.interrupt(&server.driver.in_flight(), Survival::Seed(seed));
        for set in all {
            let mut without = copy.clone();
            without
                .begin::<S>(set, 1)
                .map_err(|what| format!("the array is CLEAN, and without members {set:#b}: {what}"))?;
        }
        Ok(())
    }
}
