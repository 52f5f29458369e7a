//! The life of an array: repeated assemblies, reads, requests and power losses, each followed by checks of the promises.

use std::collections::BTreeSet;

use stripewise_array::ScrubCounts;
use stripewise_array::{AssembleError, Bug, RecoveryReport};
use stripewise_base::prng::Prng;

use super::case::{Comeback, CrashCase, Cut, Era, PutBack};
use super::corruption::{Corruption, Doubt, Target};
use super::counts::Counts;
use super::keep::{Keep, is_torn};
use super::members::{InFlight, Members, Wrong};
use super::server::{FLUSH, Server};
use super::shape::{Shape, sets};
use super::sim_driver::SimDriver;
use super::sim_media::SimMedia;
use super::system_under_test::SystemUnderTest;
use crate::case::Ask;
use crate::model::Model;
use crate::stamp::SECTOR;

/// The most operations until the requests of an era are answered: this number, and an additional number per request.
const EVENTS: u64 = 50_000;
const EVENTS_PER_REQUEST: u64 = 3_000;

/// An array between two assemblies.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    shape: Shape,
    pub(crate) members: Members,
    pub(crate) model: Model,
    /// Members that count towards the tolerance of parity: they were absent at some time, or had a fault.
    lost: u64,
    /// Members without which the array was assembled: none of their content may be read.
    outdated: u64,
    /// Members with a fault, and those of them that were replaced. A replacement counts when it is fully rebuilt:
    /// until superblocks record it, the faulty member may be accepted in its old role.
    wronged: u64,
    replaced: u64,
    /// Members without any of their earlier content: they cannot return in their old role.
    wiped: u64,
    /// Members that were added to the array again, and that may or may not be part of it at the next assembly.
    coming: u64,
    /// Members that were rolled back, and that the array may accept as current: they count as faulty.
    rolled: u64,
    /// Whether the array was stopped cleanly, and not assembled since.
    is_stopped: bool,
    /// Pages of rows whose parity may not match the data, in arrays with a write hole.
    holes: BTreeSet<u32>,
    /// Whether all missing members return at the end.
    mends: bool,
    /// The final corruption; afterwards, the possible losses, and whether assembly is forced.
    corruption: Option<Corruption>,
    doubt: Doubt,
    is_forced: bool,
    random: Prng,
    bug: Option<Bug>,
    pub(crate) counts: Counts,
}

impl Scenario {
    /// A new array.
    ///
    /// # Errors
    /// The reason why it cannot be created.
    pub(crate) fn new<S: SystemUnderTest>(
        shape: &Shape,
        seed: u64,
        bug: Option<Bug>,
    ) -> Result<Self, String> {
        let mut members = Members::new(shape.members, shape.pages, shape.page_bytes);
        let mut media = SimMedia::new(&mut members, (0..shape.members).collect(), None, seed);
        S::create(shape, &mut media).map_err(|error| format!("it cannot be created: {error}"))?;
        // Creation must have flushed everything, because power may be lost right after it.
        let undecided = members.undecided(&[]);
        if let Some(one) = undecided.first() {
            return Err(format!("creation leaves page {} of member {} unflushed", one.page, one.member));
        }
        let mut scenario = Self {
            shape: shape.clone(),
            members,
            model: Model::new(0),
            lost: 0,
            outdated: 0,
            wronged: 0,
            replaced: 0,
            wiped: 0,
            coming: 0,
            rolled: 0,
            is_stopped: false,
            holes: BTreeSet::new(),
            mends: false,
            corruption: None,
            doubt: Doubt::default(),
            is_forced: false,
            random: Prng::stream(seed, 0x6C69_6665),
            bug,
            counts: Counts::default(),
        };
        scenario.counts.lives = 1;
        let mut probe = scenario.clone();
        let all = (0..shape.members).collect();
        let mut media = SimMedia::new(&mut probe.members, all, None, seed);
        let (system, _) = S::open(shape, bug, false, &mut media).map_err(|error| error.to_string())?;
        let model = Model::new(system.bytes() / SECTOR as u64);
        scenario.model = if shape.kind.has_binding_trims() { model.with_binding_trims() } else { model };
        Ok(scenario)
    }

    /// The same array, with a different order of operations from now on.
    pub(crate) fn reseeded(&self, seed: u64) -> Self {
        Self { random: Prng::stream(seed, 0x6C69_6665), ..self.clone() }
    }

    /// Number of further members that may be lost.
    pub(crate) fn spare(&self) -> u32 {
        self.shape.kind.parity().saturating_sub(self.lost.count_ones())
    }

    /// Members that count as lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// A power loss with the writes `in_flight`, or a kill of the server.
    pub(crate) fn interrupt(&mut self, in_flight: &[InFlight], keep: Keep) {
        let undecided = self.members.undecided(in_flight);
        if self.shape.kind.has_hole() {
            self.holes.extend(undecided.iter().map(|one| one.page));
            // The other writes of such an update may be durable, and the failure of the member may be forgotten.
            self.holes.extend(self.members.take_unwritten());
        }
        self.model.power_lost(false);
        self.counts.crashes += 1;
        self.counts.undecided += u64::from(!undecided.is_empty());
        if let Keep::Killed(seed) = keep {
            self.members.kill(in_flight, seed);
            self.counts.kills += 1;
            return;
        }
        let picks = keep.picks(&undecided);
        self.members.lose_power(&undecided, |nth| picks[nth]);
        self.counts.torn += u64::from(is_torn(&undecided, &picks));
    }

    /// The offered members, in random order.
    fn offered(&mut self, absent: u64) -> Vec<u16> {
        let mut order: Vec<u16> =
            (0..self.shape.members).filter(|member| absent & 1 << member == 0).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// Assembles the array without the members of `absent`; power is lost after `cut`. `None` if power was lost.
    fn open<S: SystemUnderTest>(
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
            .map(|its| 1 << its)
            .sum();
        self.counts.reconstructed += u64::from(taken.count_ones());
        self.outdated &= !taken;
        let missing = self.positions(&opened, &order)?;
        self.counts.opened += 1;
        self.counts.degraded += u64::from(missing != 0);
        self.counts.returned += u64::from(self.outdated & !absent != 0);
        self.counts.dropped += u64::from(opened.dropped > 0);
        self.counts.replayed += opened.replayed;
        self.outdated |= missing;
        self.coming &= !missing;
        Ok(Some((system, missing)))
    }

    /// The members without which the array is assembled; they must be the expected ones.
    fn positions(&self, opened: &RecoveryReport, order: &[u16]) -> Result<u64, String> {
        if let Some(loss) = opened.losses.first().filter(|_| self.doubt.is_empty()) {
            return Err(format!("it says that something is lost: {loss}"));
        }
        if opened.positions.len() != usize::from(self.shape.members) {
            return Err(format!("it has {} positions", opened.positions.len()));
        }
        let mut missing = 0;
        for (member, position) in (0u16..).zip(&opened.positions) {
            let bit = 1 << member;
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
    fn begin<S: SystemUnderTest>(&mut self, absent: u64, depth: u32) -> Result<Server<S>, String> {
        let (system, missing) = self.open::<S>(absent, None)?.ok_or("power went by itself")?;
        let offered = system.bytes() / SECTOR as u64;
        if offered != self.model.sectors() {
            return Err(format!("it offers {offered} sectors, of {}", self.model.sectors()));
        }
        let driver = SimDriver::new(self.members.clone(), missing);
        let seed = self.random.next_u64();
        let mut server = Server::new(system, driver, self.model.clone(), depth, seed);
        server.may_be_full = self.lost != 0;
        server.resume();
        let rebuilt = server.coming.map_or(0, |coming| 1 << coming.member);
        let whole = self.coming & !rebuilt;
        for member in (0..self.shape.members).filter(|member| whole & 1 << member != 0) {
            self.is_whole(member);
        }
        let unknown = self.unknown(&server);
        unknown.iter().for_each(|&sector| server.model.restarted(sector, None));
        server.doubt(&self.doubt);
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
    fn unknown<S: SystemUnderTest>(&self, server: &Server<S>) -> BTreeSet<u64> {
        let is_gone =
            |member: u16, page: u32| self.lost & 1 << member != 0 || self.doubt.rows.contains(&page);
        let is_unknown = |member: u16, page: u32| self.holes.contains(&page) && is_gone(member, page);
        let pages = server.homes().filter(|&(member, page, _)| is_unknown(member, page));
        let sectors = u64::from(self.shape.page_bytes) / SECTOR as u64;
        pages.flat_map(|(.., first)| first..first + sectors).collect()
    }

    /// Records that `member` is part of the array and has all its content.
    fn is_whole(&mut self, member: u16) {
        self.coming &= !(1 << member);
        self.lost &= !(1 << member) | self.wronged;
        self.counts.rebuilt += 1;
    }

    /// Records the progress of `server`.
    fn note<S: SystemUnderTest>(&mut self, server: &mut Server<S>) -> Result<(), String> {
        if std::mem::take(&mut server.has_flushed) {
            self.holes.clear();
            server.driver.members.take_unwritten().for_each(drop);
        }
        if let Some(coming) = server.coming.take_if(|coming| coming.is_whole) {
            self.wronged &= !(self.replaced & 1 << coming.member);
            self.wiped &= !(1 << coming.member);
            self.is_whole(coming.member);
        }
        if let Some(ScrubCounts { bad, lost, metadata_damaged, .. }) = server.take_scrubbed() {
            self.counts.scrubs += 1;
            if self.counts.wrongs == 0 && bad + lost + metadata_damaged > 0 {
                return Err(format!(
                    "a scrub finds {bad} bad pages, {lost} losses and {metadata_damaged} damaged copies of metadata where \
                     nothing went wrong"
                ));
            }
        }
        Ok(())
    }

    /// Whether these members may be lost in addition to those already lost.
    fn is_tolerable(&self, members: u64) -> bool {
        (self.lost | members).count_ones() <= self.shape.kind.parity()
    }

    /// A power loss while `server` serves.
    fn end<S: SystemUnderTest>(&mut self, server: Server<S>, keep: Keep) {
        self.counts.while_rebuilding += u64::from(server.coming.is_some_and(|coming| !coming.is_written));
        let (driver, model) = server.into_parts();
        let in_flight = driver.in_flight();
        (self.members, self.model) = (driver.members, model);
        self.interrupt(&in_flight, keep);
    }

    /// Rolls a member back to an earlier snapshot while the array is stopped.
    fn put_back(&mut self, PutBack { member, choice }: PutBack) {
        let bit = 1 << member;
        let is_out = self.outdated & bit != 0;
        // Without checksums the rollback cannot be detected, unless the member's superblock is older.
        let can_tell = is_out || self.is_stopped || self.shape.kind.has_checksums();
        let is_there = !self.members.is_lost(member) && self.is_tolerable(bit);
        if !can_tell || !is_there || !self.members.put_back(member, choice) {
            return;
        }
        self.counts.put_back += 1;
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
    fn goes_wrong(&mut self, bit: u64) {
        self.lost |= bit;
        self.wronged |= bit;
        self.replaced &= !bit;
        self.counts.wrongs += 1;
    }

    /// Runs everything before the requests of an era.
    pub(crate) fn enter<S: SystemUnderTest>(&mut self, era: &Era) -> Result<Server<S>, String> {
        era.older.iter().for_each(|&one| self.put_back(one));
        self.is_stopped = false;
        let mut absent = 0;
        for member in era.absent.iter().map(|member| 1 << member) {
            // Members lost earlier in this life may exhaust the tolerance.
            absent |= if self.is_tolerable(absent | member) { member } else { 0 };
        }
        for &cut in &era.cuts {
            let without = if cut.is_whole { 0 } else { absent };
            if let Some((system, missing)) = self.open::<S>(without, Some(cut))? {
                // The assembly needed fewer writes than that, so power is lost right after it.
                let server = Server::new(
                    system,
                    SimDriver::new(self.members.clone(), missing),
                    self.model.clone(),
                    1,
                    0,
                );
                self.counts.at_once += 1;
                self.end(server, cut.keep);
            }
        }
        if era.twice {
            let server = self.begin::<S>(absent, era.depth)?;
            self.counts.at_once += 1;
            let keep = Keep::Seed(self.random.next_u64());
            self.end(server, keep);
        }
        let mut server = self.begin::<S>(absent, era.depth)?;
        server.ask(&era.asks);
        server.comebacks.clone_from(&era.comebacks);
        self.counts.asked += era.asks.len() as u64;
        Ok(server)
    }

    /// Runs one event of an era, and the faults before it. False if no work is left.
    pub(crate) fn step<S: SystemUnderTest>(
        &mut self,
        server: &mut Server<S>,
        era: &Era,
        event: u64,
    ) -> Result<bool, String> {
        for moment in era.moments.iter().filter(|moment| moment.event == event) {
            server.driver.members.remember(moment.member);
        }
        for strike in era.strikes.iter().filter(|strike| strike.event == event) {
            let bit = 1 << strike.member;
            let can_tell = strike.wrong != Wrong::RolledBack || self.shape.kind.has_checksums();
            if can_tell
                && self.is_tolerable(bit)
                && server.driver.members.go_wrong(strike.member, strike.wrong, strike.choice)
            {
                self.goes_wrong(bit);
                if strike.wrong == Wrong::RolledBack {
                    self.rolled |= bit;
                    self.counts.rolled_back += 1;
                }
                server.may_be_full = true;
            }
        }
        if era.scrubs.contains(&event) {
            server.scrub();
        }
        self.comes_back(server, event);
        self.counts.events += 1;
        let goes_on = server.step()?;
        self.note(server)?;
        Ok(goes_on)
    }

    /// Adds a member that is scheduled to return before `event`, if possible.
    fn comes_back<S: SystemUnderTest>(&mut self, server: &mut Server<S>, event: u64) {
        for one in &mut server.comebacks {
            one.is_another |= self.wiped & 1 << one.member != 0;
            // Without checksums only superblocks reveal older content, and they record a failure at the next assembly.
            one.is_older &= self.shape.kind.has_checksums() || self.outdated & 1 << one.member != 0;
        }
        let Some(one) = server.take_comeback(event, self.counts.comebacks) else { return };
        let bit = 1 << one.member;
        self.wiped |= if one.is_another { bit } else { 0 };
        self.counts.comebacks += 1;
        self.counts.older += u64::from(one.is_older && !one.is_another);
        self.outdated &= !bit;
        self.coming |= bit;
        // The member may have failed in controller memory only.
        self.lost |= bit;
        self.replaced = self.replaced & !bit | if one.is_another { bit } else { 0 };
    }

    /// Returns or replaces all missing members.
    fn mend<S: SystemUnderTest>(&mut self, server: &mut Server<S>) -> Result<(), String> {
        server.finish_rebuild(EVENTS)?;
        self.note(server)?;
        for member in 0..self.shape.members {
            let is_another = self.wronged & 1 << member != 0 || self.random.chance(1, 2);
            let is_older = !is_another && server.driver.members.has_past(member) && self.random.chance(1, 2);
            server.comebacks = vec![Comeback { event: 0, member, is_another, is_older }];
            self.comes_back(server, 0);
            server.finish_rebuild(EVENTS)?;
            self.note(server)?;
        }
        server.scrub();
        server.finish_scrub(EVENTS)?;
        self.note(server)?;
        self.mend_rolled_back(server)
    }

    /// If rollbacks are the only faults, a scrub has repaired all of them.
    fn mend_rolled_back<S: SystemUnderTest>(&mut self, server: &mut Server<S>) -> Result<(), String> {
        if self.rolled == 0
            || self.wronged & !self.rolled != 0
            || self.counts.wrongs > u64::from(self.rolled.count_ones())
        {
            return Ok(());
        }
        // Content moved off bad pages is written elsewhere when it leaves memory.
        server.checkpoint(EVENTS)?;
        server.scrub();
        server.finish_scrub(EVENTS)?;
        let ScrubCounts { bad, lost, .. } = server.take_scrubbed().unwrap_or_default();
        if bad + lost > 0 {
            return Err(format!(
                "a second scrub finds {bad} bad pages and {lost} losses on what was put back"
            ));
        }
        Ok(())
    }

    /// Runs a whole era.
    pub(crate) fn era<S: SystemUnderTest>(&mut self, era: &Era) -> Result<(), String> {
        let mut server = self.enter::<S>(era)?;
        let limit = EVENTS + EVENTS_PER_REQUEST * era.asks.len() as u64;
        let mut event = 0;
        while era.crash.is_none_or(|crash| event < crash) {
            let goes_on = self.step(&mut server, era, event)?;
            event += 1;
            if server.is_idle() && (era.crash.is_none() || !goes_on) {
                break;
            }
            if !goes_on && server.driver.flights.is_empty() || event > limit {
                return server.finish(limit);
            }
        }
        if era.stops {
            server.stop(limit)?;
            self.note(&mut server)?;
            self.counts.stops += 1;
            self.end(server, Keep::Nothing);
            self.is_stopped = true;
            return Ok(());
        }
        self.counts.under_load += u64::from(!server.is_idle());
        self.end(server, era.keep);
        Ok(())
    }

    /// Runs the life of `case`.
    pub(crate) fn whole<S: SystemUnderTest>(&mut self, case: &CrashCase) -> Result<(), String> {
        (self.mends, self.corruption) = (case.mends, case.corruption);
        self.eras::<S>(&case.eras)
    }

    /// Runs the eras, then the last assembly, and reads everything once more with each tolerable set of members
    /// removed.
    pub(crate) fn eras<S: SystemUnderTest>(&mut self, eras: &[Era]) -> Result<(), String> {
        for (nth, era) in eras.iter().enumerate() {
            self.era::<S>(era).map_err(|what| format!("era {nth}: {what}"))?;
        }
        if let Some(corruption) = self.corruption {
            let mut corrupted = self.clone();
            corrupted.members.write_back();
            let asks = eras.last().map_or(&[][..], |era| &era.asks);
            corrupted.corrupted::<S>(corruption, asks).map_err(|what| format!("after ruin: {what}"))?;
            self.counts = corrupted.counts;
        }
        let named = |what: String| format!("after the last era: {what}");
        let mut server = self.begin::<S>(0, 1).map_err(named)?;
        if self.mends {
            self.mend(&mut server).map_err(named)?;
        }
        server.ask(&[FLUSH]);
        server.finish(EVENTS).map_err(named)?;
        self.note(&mut server).map_err(named)?;
        self.end(server, Keep::Nothing);
        let sets: Vec<u64> = sets(self.shape.members, self.spare(), self.lost).collect();
        for set in sets {
            let mut without = self.clone();
            let named = |what: String| format!("in the end, without members {set:#b}: {what}");
            without.begin::<S>(set, 1).map_err(named)?;
        }
        Ok(())
    }

    /// Corruption beyond the contract: losses are reported, or the array is assembled only by force. The array
    /// returns no wrong content, and continues to work.
    fn corrupted<S: SystemUnderTest>(&mut self, corruption: Corruption, asks: &[Ask]) -> Result<(), String> {
        let Some(doubt) = corruption.strike(&self.shape, &mut self.members, self.lost) else { return Ok(()) };
        self.doubt = doubt;
        self.counts.corrupted += 1;
        let is_refused = self.is_refused::<S>()?;
        self.is_forced = is_refused;
        if self.doubt.is_hopeless {
            let is_opened = !is_refused || !self.is_refused::<S>()?;
            return if is_opened { Err("it is opened out of nothing".into()) } else { Ok(()) };
        }
        if is_refused && self.doubt.may_be_hopeless && self.is_refused::<S>()? {
            return Ok(());
        }
        if is_refused && self.doubt.is_empty() {
            return Err("it is refused though nothing is lost".into());
        }
        self.counts.forced += u64::from(is_refused);
        if is_refused && corruption.target == Target::Superblocks {
            let all = (1 << self.shape.members) - 1;
            let nameless = self.doubt.nameless;
            // A complete member with superblocks shows which other members with superblocks are outdated. A member
            // without superblocks may be recognized, even if it is outdated, or be left out.
            let is_told = all & !(nameless | self.lost | self.outdated) != 0;
            self.lost = if is_told { self.lost | self.outdated | nameless } else { all };
            self.outdated &= if is_told { !nameless } else { 0 };
        }
        if !is_refused && !matches!(corruption.target, Target::Stripe | Target::Commits) {
            // An array that assembles silently has lost nothing.
            self.doubt = Doubt::default();
        }
        let mut server = self.begin::<S>(0, 4)?;
        server.may_be_full = true;
        server.ask(asks);
        server.ask(&[FLUSH]);
        server.finish(EVENTS + EVENTS_PER_REQUEST * asks.len() as u64)?;
        let keep = Keep::Seed(self.random.next_u64());
        self.end(server, keep);
        self.is_forced = false;
        let server = self.begin::<S>(0, 1).map_err(|what| format!("opened once more: {what}"))?;
        self.end(server, Keep::Nothing);
        Ok(())
    }

    /// Whether the array refuses to assemble in its present state; a refusal changes nothing.
    fn is_refused<S: SystemUnderTest>(&mut self) -> Result<bool, String> {
        let order = self.offered(0);
        let seed = self.random.next_u64();
        let mut members = self.members.clone();
        let mut media = SimMedia::new(&mut members, order, None, seed);
        match S::open(&self.shape, self.bug, self.is_forced, &mut media) {
            Ok(_) => Ok(false),
            Err(AssembleError::Refused(reason)) if !reason.is_empty() => Ok(true),
            // Also, one of the remaining members may fail on writes and flushes.
            Err(AssembleError::Failed(_)) if self.doubt.may_be_hopeless || self.wronged != 0 => Ok(true),
            Err(error) => Err(format!("it cannot be opened: {error}")),
        }
    }
}
