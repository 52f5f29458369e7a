//! The life of an array: repeated assemblies, reads, requests and power losses, each followed by checks of the promises.

mod assembly;
mod beyond;
mod members;

use std::collections::BTreeSet;

use stripewise_array::Bug;
use stripewise_array::MemberNo;
use stripewise_base::prng::Prng;

use super::case::{CrashCase, Era};
use super::corruption::{Corruption, Doubt};
use super::counts::Counts;
use super::faults::NewFault;
use super::members::{InFlight, Members, Wrong};
use super::monitor::Policy;
use super::oracle::{Claims, Question, Questions, Suspects};
use super::server::{FLUSH, Server};
use super::shape::{Shape, sets};
use super::sim_driver::SimDriver;
use super::sim_media::SimMedia;
use super::survival::{Survival, is_torn};
use super::system_under_test::SystemUnderTest;
use crate::model::Model;
use crate::stamp::SECTOR;

/// The most operations until the requests of an era are answered: this number, and an additional number per request.
pub(super) const EVENTS: u64 = 50_000;
pub(super) const EVENTS_PER_REQUEST: u64 = 3_000;

/// An array between two assemblies.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(super) shape: Shape,
    pub(crate) members: Members,
    pub(crate) model: Model,
    /// Members that count towards the tolerance of parity: they were absent at some time, or had a fault.
    pub(super) lost: u64,
    /// Members without which the array was assembled: none of their content may be read.
    pub(super) outdated: u64,
    /// Members with a fault, and those of them that were replaced. A replacement counts when it is fully rebuilt:
    /// until superblocks record it, the faulty member may be accepted in its old role.
    pub(super) wronged: u64,
    pub(super) replaced: u64,
    /// Members without any of their earlier content: they cannot return in their old role.
    pub(super) wiped: u64,
    /// Members that were added to the array again, and that may or may not be part of it at the next assembly.
    pub(super) coming: u64,
    /// Members that were rolled back, and that the array may accept as current: they count as faulty.
    pub(super) rolled: u64,
    /// Whether the array was stopped cleanly, and not assembled since.
    pub(super) is_stopped: bool,
    /// Pages of rows whose parity may not match the data, in arrays with a write hole.
    pub(super) holes: BTreeSet<u32>,
    /// The same for rows that a failed flush should have covered, of a member that the array takes again because the server was
    /// killed before superblocks recorded the failure. Flushes succeed from then on, but the next loss of power undoes the
    /// writes, after a resync has corrected parity.
    pub(super) forsaken: BTreeSet<u32>,
    /// Whether all missing members return at the end.
    pub(super) mends: bool,
    /// The final corruption; afterwards, the possible losses, and whether assembly is forced.
    pub(super) corruption: Option<Corruption>,
    pub(super) doubt: Doubt,
    pub(super) is_forced: bool,
    /// The new fault at the end.
    pub(super) fault: Option<NewFault>,
    /// What the oracle asks, the members that may have damage, and what the array said when it was stopped.
    pub(super) questions: Questions,
    pub(super) suspects: Suspects,
    pub(super) said: Option<Claims>,
    /// The settings of the program that serves it.
    pub(super) policy: Policy,
    pub(super) random: Prng,
    pub(super) bug: Option<Bug>,
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
        let mut media =
            SimMedia::new(&mut members, MemberNo::first(shape.members.into()).collect(), None, seed);
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
            forsaken: BTreeSet::new(),
            mends: false,
            corruption: None,
            doubt: Doubt::default(),
            is_forced: false,
            fault: None,
            questions: Questions::default(),
            suspects: Suspects::default(),
            said: None,
            policy: Policy::default(),
            random: Prng::stream(seed, 0x6C69_6665),
            bug,
            counts: Counts::default(),
        };
        scenario.counts.lives = 1;
        let mut probe = scenario.clone();
        let all = MemberNo::first(shape.members.into()).collect();
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

    /// The same array, with an oracle that asks `questions`.
    pub(crate) fn with_questions(self, questions: &[Question]) -> Self {
        Self { questions: questions.iter().copied().collect(), ..self }
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
    pub(crate) fn interrupt(&mut self, in_flight: &[InFlight], keep: Survival) {
        let undecided = self.members.undecided(in_flight);
        if self.shape.kind.has_hole() {
            self.holes.extend(undecided.iter().map(|one| one.page));
            // The other writes of such an update may be durable, and the failure of the member may be forgotten.
            self.holes.extend(self.members.take_unwritten());
        }
        self.model.power_lost(false);
        self.suspects.interrupted();
        self.counts.crashes += 1;
        self.counts.undecided += u64::from(!undecided.is_empty());
        if let Survival::Killed(seed) = keep {
            self.members.kill(in_flight, seed);
            self.counts.kills += 1;
            return;
        }
        let picks = keep.picks(&undecided);
        self.members.lose_power(&undecided, |nth| picks[nth]);
        self.counts.torn += u64::from(is_torn(&undecided, &picks));
    }

    /// Whether these members may be lost in addition to those already lost.
    pub(super) fn is_tolerable(&self, members: u64) -> bool {
        (self.lost | members).count_ones() <= self.shape.kind.parity()
    }

    /// Whether `members` are more of a group than parity tolerates.
    pub(super) fn exceeds_parity(&self, members: u64) -> bool {
        let width = self.shape.members / self.shape.groups;
        let of_group = |group: u16| members >> (group * width) & ((1 << width) - 1);
        (0..self.shape.groups).any(|group| of_group(group).count_ones() > self.shape.kind.parity())
    }

    /// Stops the array cleanly, and remembers what it said.
    pub(super) fn stop<S: SystemUnderTest>(
        &mut self,
        mut server: Server<S>,
        limit: u64,
        halts: bool,
    ) -> Result<(), String> {
        server.stop(limit, halts)?;
        self.note(&mut server)?;
        let said = server.claims();
        let interrupted = server.interrupted_scrub();
        self.counts.halted += u64::from(interrupted.is_some());
        self.end(server, Survival::Nothing);
        if let Some(said) = &said {
            self.judge_superblocks(said, interrupted)?;
        }
        self.said = said;
        Ok(())
    }

    /// A power loss while `server` serves.
    pub(super) fn end<S: SystemUnderTest>(&mut self, server: Server<S>, keep: Survival) {
        self.counts.while_rebuilding += u64::from(server.joining.members() != server.joining.written());
        let (driver, model) = server.into_parts();
        let in_flight = driver.in_flight();
        (self.members, self.model) = (driver.members, model);
        self.interrupt(&in_flight, keep);
    }

    /// Runs everything before the requests of an era.
    pub(crate) fn enter<S: SystemUnderTest>(&mut self, era: &Era) -> Result<Server<S>, String> {
        era.older.iter().for_each(|&one| self.put_back(one));
        self.is_stopped = false;
        let mut absent = 0;
        for member in era.absent.iter().map(|member| member.bit()) {
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
            let keep = Survival::Seed(self.random.next_u64());
            self.end(server, keep);
        }
        let mut server = self.begin::<S>(absent, era.depth)?;
        server.ask(&era.asks);
        server.comebacks.clone_from(&era.comebacks);
        self.counts.requests += era.asks.len() as u64;
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
            let bit = strike.member.bit();
            let is_detectable = strike.wrong != Wrong::RolledBack || self.shape.kind.has_checksums();
            if is_detectable
                && self.is_tolerable(bit)
                && server.driver.members.go_wrong(strike.member, strike.wrong, strike.choice)
            {
                self.goes_wrong(bit);
                if strike.wrong == Wrong::Unreadable {
                    // Enough pages for the error limit to be reached.
                    for nth in 1..=2 * self.policy.error_limit {
                        let choice = strike.choice.rotate_left(nth as u32);
                        server.driver.members.go_wrong(strike.member, strike.wrong, choice);
                    }
                }
                if strike.wrong == Wrong::RolledBack {
                    self.rolled |= bit;
                    self.counts.rolled_back += 1;
                }
                server.may_be_full = true;
            }
        }
        if era.scrubs.contains(&event) {
            self.scrub(server);
        }
        self.comes_back(server, event);
        self.counts.events += 1;
        let continues = server.step()?;
        self.note(server)?;
        Ok(continues)
    }

    /// Runs a whole era.
    pub(crate) fn era<S: SystemUnderTest>(&mut self, era: &Era) -> Result<(), String> {
        let mut server = self.enter::<S>(era)?;
        let limit = EVENTS + EVENTS_PER_REQUEST * era.asks.len() as u64;
        let mut event = 0;
        let mut audits = era.audits.iter().copied().peekable();
        while era.crash.is_none_or(|crash| event < crash) {
            let continues = self.step(&mut server, era, event)?;
            event += 1;
            if server.is_still()
                && let Some(at) = audits.next_if(|&at| at <= event)
            {
                self.judge_redundancy(&server, Some(at))?;
            }
            if server.is_idle() && (era.crash.is_none() || !continues) {
                break;
            }
            if !continues && server.driver.flights.is_empty() || event > limit {
                return server.finish(limit);
            }
        }
        if era.stops {
            self.stop(server, limit, era.halts)?;
            self.counts.stops += 1;
            self.is_stopped = true;
            return Ok(());
        }
        self.counts.under_load += u64::from(!server.is_idle());
        self.end(server, era.keep);
        Ok(())
    }

    /// Runs the life of `case`.
    pub(crate) fn whole<S: SystemUnderTest>(&mut self, case: &CrashCase) -> Result<(), String> {
        (self.mends, self.corruption, self.fault) = (case.mends, case.corruption, case.fault);
        self.policy = case.policy.unwrap_or_default();
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
        if let Some(fault) = self.fault {
            let mut struck = self.clone();
            struck.strike::<S>(fault).map_err(|what| format!("{}: {what}", fault.kind.name()))?;
            self.counts = struck.counts;
        }
        let named = |what: String| format!("after the last era: {what}");
        let mut server = self.begin::<S>(0, 1).map_err(named)?;
        if self.mends {
            self.mend(&mut server).map_err(named)?;
        }
        server.ask(&[FLUSH]);
        server.finish(EVENTS).map_err(named)?;
        self.note(&mut server).map_err(named)?;
        if self.suspects.members() != self.lost {
            self.judge_redundancy(&server, None).map_err(named)?;
        }
        self.end(server, Survival::Nothing);
        let sets: Vec<u64> = sets(self.shape.members, self.spare(), self.lost).collect();
        for set in sets {
            let mut without = self.clone();
            let named = |what: String| format!("in the end, without members {set:#b}: {what}");
            without.begin::<S>(set, 1).map_err(named)?;
        }
        Ok(())
    }
}
