//! Assemblies of the array: what they must report, and the content that is read right after them.

use std::collections::BTreeSet;

use stripewise_array::{AssembleError, MemberNo, RecoveryReport};

use super::Scenario;
use crate::crash::case::Cut;
use crate::crash::server::Server;
use crate::crash::sim_driver::SimDriver;
use crate::crash::sim_media::SimMedia;
use crate::crash::system_under_test::SystemUnderTest;
use crate::stamp::SECTOR;

impl Scenario {
    /// The offered members, in random order.
    pub(in crate::crash) fn offered(&mut self, absent: u64) -> Vec<MemberNo> {
        let mut order: Vec<MemberNo> =
            MemberNo::first(self.shape.members.into()).filter(|member| !member.is_in(absent)).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// Assembles the array without the members of `absent`; power is lost after `cut`. `None` if power was lost.
    pub(in crate::crash) fn open<S: SystemUnderTest>(
        &mut self,
        absent: u64,
        cut: Option<Cut>,
    ) -> Result<Option<(S, u64)>, String> {
        self.lost |= absent;
        let order = self.offered(absent);
        let seed = self.random.next_u64();
        let mut media = SimMedia::new(&mut self.members, order, cut.map(|cut| cut.after), seed);
        let result = S::open(&self.shape, self.bug, self.is_forced, &mut media);
        let order = media.order().to_vec();
        if let (Some(in_flight), Some(Cut { keep, .. })) = (media.cut(), cut) {
            self.counts.while_opening += 1;
            self.interrupt(&in_flight, keep);
            return Ok(None);
        }
        let (system, opened) = result.map_err(|error| match error {
            AssembleError::Refused(reason) => format!("it is refused: {reason}"),
            error => format!("it cannot be opened: {error}"),
        })?;
        // A member recognized by its content or by force is again part of the array, and checksums find what is missing.
        let taken: u64 = opened
            .reconstructed
            .iter()
            .filter(|one| one.is_taken())
            .filter_map(|one| one.member)
            .map(MemberNo::bit)
            .sum();
        self.counts.reconstructed += u64::from(taken.count_ones());
        self.outdated &= !taken;
        let missing = self.positions(&opened, &order)?;
        self.judge_report(&system, &opened)?;
        self.counts.opened += 1;
        self.counts.degraded += u64::from(missing != 0);
        self.counts.returned += u64::from(self.outdated & !absent != 0);
        self.counts.dropped += u64::from(opened.dropped > 0);
        self.counts.replayed += opened.replayed;
        self.outdated |= missing;
        self.coming &= !missing;
        if self.shape.kind.has_hole() {
            self.forsaken.extend(self.members.forsaken(missing));
        }
        Ok(Some((system, missing)))
    }

    /// The members without which the array is assembled; they must be the expected ones.
    pub(in crate::crash) fn positions(
        &self,
        opened: &RecoveryReport,
        order: &[MemberNo],
    ) -> Result<u64, String> {
        if let Some(loss) = opened.losses.first().filter(|_| self.doubt.is_empty()) {
            return Err(format!("it says that something is lost: {loss}"));
        }
        if opened.positions.len() != usize::from(self.shape.members) {
            return Err(format!("it has {} positions", opened.positions.len()));
        }
        let mut missing = 0;
        for (member, position) in (0..).map(MemberNo::new).zip(&opened.positions) {
            let bit = member.bit();
            match position {
                Some(position) if order.get(usize::from(*position)) != Some(&member) => {
                    return Err(format!("member {member} was not offered as number {position}"));
                }
                Some(_) if self.outdated & bit != 0 => {
                    return Err(format!("stale member {member} is taken for a current one"));
                }
                None if self.lost & bit == 0 => {
                    return Err(format!("member {member} is left out though nothing is wrong with it"));
                }
                Some(_) => {}
                None => missing |= bit,
            }
        }
        Ok(missing)
    }

    /// Assembles the array and reads everything: from now on this is its content.
    pub(in crate::crash) fn begin<S: SystemUnderTest>(
        &mut self,
        absent: u64,
        depth: u32,
    ) -> Result<Server<S>, String> {
        let (system, missing) = self.open::<S>(absent, None)?.ok_or("power went by itself")?;
        let offered = system.bytes() / SECTOR as u64;
        if offered != self.model.sectors() {
            return Err(format!("it offers {offered} sectors, of {}", self.model.sectors()));
        }
        let driver = SimDriver::new(self.members.clone(), missing);
        let seed = self.random.next_u64();
        let mut server = Server::new(system, driver, self.model.clone(), depth, seed);
        server.watch(self.policy);
        server.may_be_full = self.lost != 0;
        // Only a new fault takes more members than parity tolerates.
        server.is_beyond = self.exceeds_parity(self.lost);
        server.resume();
        let whole = self.coming & !server.joining.members();
        for member in MemberNo::first(self.shape.members.into()).filter(|member| member.is_in(whole)) {
            self.is_whole(member);
        }
        let unknown = self.unknown(&server);
        unknown.iter().for_each(|&sector| server.model.restarted(sector, None));
        server.doubt(&self.doubt);
        self.judge_restart(&server, absent)?;
        let found = server.read_all()?;
        for (sector, found) in (0..).zip(found).filter(|(sector, _)| !unknown.contains(sector)) {
            // Content that is unavailable now may be available later, in its old version: a replacement may have it.
            if found.is_some() {
                server.model.restarted(sector, found);
            }
        }
        // The content found is fixed from now on, even if it is old.
        self.doubt.may_be_old = false;
        server.doubt(&self.doubt);
        self.note(&mut server)?;
        Ok(server)
    }

    /// The sectors with unknown content: of lost members and destroyed stripes, in rows whose parity may be wrong.
    pub(in crate::crash) fn unknown<S: SystemUnderTest>(&self, server: &Server<S>) -> BTreeSet<u64> {
        let is_gone =
            |member: MemberNo, page: u32| member.is_in(self.lost) || self.doubt.rows.contains(&page);
        let is_hole = |page: u32| self.holes.contains(&page) || self.forsaken.contains(&page);
        let is_unknown = |member: MemberNo, page: u32| is_hole(page) && is_gone(member, page);
        let pages = server.homes().filter(|&(member, page, _)| is_unknown(member, page));
        let sectors = u64::from(self.shape.page_bytes) / SECTOR as u64;
        pages.flat_map(|(.., first)| first..first + sectors).collect()
    }
}
