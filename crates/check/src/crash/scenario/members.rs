//! Changes of members: faults, returns, replacements and rollbacks, and what is known of each member after them.

use stripewise_array::MemberNo;
use stripewise_array::ScrubCounts;

use super::{EVENTS, Scenario};
use crate::crash::case::{Comeback, PutBack};
use crate::crash::oracle::Question;
use crate::crash::server::Server;
use crate::crash::system_under_test::SystemUnderTest;

impl Scenario {
    /// Records that `member` is part of the array and has all its content.
    pub(in crate::crash) fn is_whole(&mut self, member: MemberNo) {
        self.coming &= !member.bit();
        self.lost &= !member.bit() | self.wronged;
        self.counts.rebuilt += 1;
    }

    /// Records the progress of `server`.
    pub(in crate::crash) fn note<S: SystemUnderTest>(
        &mut self,
        server: &mut Server<S>,
    ) -> Result<(), String> {
        let charges = std::mem::take(&mut server.driver.charges);
        self.judge_charges(&charges, server.joining.members())?;
        self.counts.limited += std::mem::take(&mut server.limited);
        server.charged = server.charged.map(|count| count + charges.len() as u64);
        if std::mem::take(&mut server.has_flushed_scrub) {
            self.suspects.flushed();
        }
        if std::mem::take(&mut server.has_flushed) {
            self.holes.clear();
            server.driver.members.take_unwritten().for_each(drop);
        }
        for member in server.joining.take_whole() {
            self.suspects.clear(self.replaced & member.bit());
            self.wronged &= !(self.replaced & member.bit());
            self.wiped &= !member.bit();
            self.is_whole(member);
        }
        if let Some(ScrubCounts { bad, lost, metadata_damaged, .. }) = server.take_scrubbed() {
            self.counts.scrubs += 1;
            if let Some(charged) = server.charged.take() {
                self.judge_scrub(bad, charged)?;
            }
            let is_suspect = self.suspects.met_by_scrub() != 0;
            // With a journal, a host's flush does not reach the members; what was repaired may not be durable.
            let is_durable = !self.shape.kind.has_checksums()
                || !self.shape.kind.is_in_place()
                || self.questions.has(Question::Repairs);
            if lost == 0 && is_durable {
                self.suspects.scrub_ended();
            }
            let is_attributed = self.questions.has(Question::Charges) && !is_suspect;
            let vouched = std::mem::take(&mut server.vouched);
            if vouched && (is_attributed || self.counts.wrongs == 0) && bad + lost + metadata_damaged > 0 {
                return Err(format!(
                    "a scrub finds {bad} bad pages, {lost} losses and {metadata_damaged} damaged copies of metadata where \
                     nothing went wrong"
                ));
            }
        }
        Ok(())
    }

    /// Rolls a member back to an earlier snapshot while the array is stopped.
    pub(in crate::crash) fn put_back(&mut self, PutBack { member, choice }: PutBack) {
        let bit = member.bit();
        let is_out = self.outdated & bit != 0;
        // Without checksums the rollback cannot be detected, unless the member's superblock is older.
        let is_detectable = is_out || self.is_stopped || self.shape.kind.has_checksums();
        let is_there = !self.members.is_lost(member) && self.is_tolerable(bit);
        if !is_detectable || !is_there || !self.members.put_back(member, choice) {
            return;
        }
        self.counts.put_back += 1;
        self.said = None;
        self.lost |= bit;
        if is_out {
            return;
        }
        if self.is_stopped {
            // After a clean stop, every earlier snapshot is recognized as outdated.
            self.outdated |= bit;
        } else {
            self.goes_wrong(bit);
            self.rolled |= bit;
        }
    }

    /// Records that a member of `bit` had a fault.
    pub(in crate::crash) fn goes_wrong(&mut self, bit: u64) {
        self.lost |= bit;
        self.wronged |= bit;
        self.replaced &= !bit;
        self.suspects.add(bit);
        self.counts.wrongs += 1;
    }

    /// Adds a member that is scheduled to return before `event`, if possible.
    pub(in crate::crash) fn comes_back<S: SystemUnderTest>(&mut self, server: &mut Server<S>, event: u64) {
        for one in &mut server.comebacks {
            one.is_another |= one.member.is_in(self.wiped);
            // Without checksums only superblocks reveal older content, and they record a failure at the next assembly.
            one.is_older &= self.shape.kind.has_checksums() || one.member.is_in(self.outdated);
        }
        let Some(one) = server.take_comeback(event, self.counts.comebacks) else { return };
        let bit = one.member.bit();
        self.wiped |= if one.is_another { bit } else { 0 };
        self.counts.comebacks += 1;
        self.counts.older += u64::from(one.is_older && !one.is_another);
        self.outdated &= !bit;
        self.coming |= bit;
        // The member may have failed in controller memory only.
        self.lost |= bit;
        self.replaced = self.replaced & !bit | if one.is_another { bit } else { 0 };
    }

    /// Begins a scrub. It verifies the members that serve, and whose faults have struck. False if one is in progress, which
    /// continues.
    pub(in crate::crash) fn scrub<S: SystemUnderTest>(&mut self, server: &mut Server<S>) -> bool {
        // Without checksums nothing reveals that power undid a write. With them, assembly writes again what no flush is known to
        // cover.
        let is_known = self.shape.kind.has_checksums();
        let is_out = |member| {
            let members = &server.driver.members;
            server.is_incomplete(member)
                || members.is_armed(member)
                || !is_known && members.has_forsaken(member)
        };
        let except = MemberNo::first(self.shape.members.into())
            .filter(|&member| is_out(member))
            .fold(0, |mask, member| mask | member.bit());
        let is_new = server.scrub();
        if is_new {
            self.suspects.scrub_began(except);
        }
        is_new
    }

    /// Returns or replaces all missing members.
    pub(in crate::crash) fn mend<S: SystemUnderTest>(
        &mut self,
        server: &mut Server<S>,
    ) -> Result<(), String> {
        server.finish_rebuild(EVENTS)?;
        self.note(server)?;
        for member in MemberNo::first(self.shape.members.into()) {
            let is_another = member.is_in(self.wronged) || self.random.chance(1, 2);
            let is_older = !is_another && server.driver.members.has_past(member) && self.random.chance(1, 2);
            server.comebacks = vec![Comeback { event: 0, member, is_another, is_older }];
            self.comes_back(server, 0);
            server.finish_rebuild(EVENTS)?;
            self.note(server)?;
        }
        if !self.scrub(server) {
            // The one that was under way may have passed what went wrong since.
            server.finish_scrub(EVENTS)?;
            self.note(server)?;
            self.scrub(server);
        }
        server.finish_scrub(EVENTS)?;
        self.note(server)?;
        self.mend_rolled_back(server)
    }

    /// If rollbacks are the only faults, a scrub has repaired all of them.
    pub(in crate::crash) fn mend_rolled_back<S: SystemUnderTest>(
        &mut self,
        server: &mut Server<S>,
    ) -> Result<(), String> {
        if self.rolled == 0
            || self.wronged & !self.rolled != 0
            || self.counts.wrongs > u64::from(self.rolled.count_ones())
        {
            return Ok(());
        }
        // Content moved off bad pages is written elsewhere when it leaves memory.
        server.checkpoint(EVENTS)?;
        self.scrub(server);
        server.finish_scrub(EVENTS)?;
        let ScrubCounts { bad, lost, .. } = server.take_scrubbed().unwrap_or_default();
        if bad + lost > 0 {
            return Err(format!(
                "a second scrub finds {bad} bad pages and {lost} losses on what was put back"
            ));
        }
        Ok(())
    }
}
