//! A controller that serves requests. Its operations end in an order determined by a seed, and its answers are
//! compared with the model.

use std::collections::BTreeSet;

use stripewise_array::format::{FailReason, Uuid};
use stripewise_array::{
    Acknowledgement, HostRequest, MemberNo, Outcome, Rejoining, RequestKind, ScrubCounts, SubmitError,
};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;

use super::case::Comeback;
use super::corruption::Doubt;
use super::joining::Joining;
use super::monitor::{Monitor, Policy};
use super::oracle::Claims;
use super::sim_driver::SimDriver;
use super::system_under_test::SystemUnderTest;
use crate::case::{Ask, What};
use crate::model::{Model, Update};
use crate::stamp::{Found, SECTOR, UNFILLED, fill};

/// Time between the ends of two operations.
const TICK_NS: Nanos = 1_000;

/// Sectors per request of a read of the whole array.
const STRIDE: u64 = 37;

/// A request in flight.
#[derive(Clone, Debug)]
struct PendingRequest {
    ask: Ask,
    update: Update,
    /// For reads and flushes: the oldest versions that they may find, or that they cover.
    floors: Vec<Update>,
    /// For trims: a write of the same pages was in flight, and either of the two may be the later one.
    is_advice: bool,
    /// For flushes: the added members that had all content at that time, one bit each.
    behind: u64,
    /// For flushes: whether a scrub had ended.
    is_after_scrub: bool,
}

/// A controller, its members, and its requests.
pub(crate) struct Server<S> {
    system: S,
    pub(crate) driver: SimDriver,
    pub(crate) model: Model,
    now: Nanos,
    waiting: std::collections::VecDeque<Ask>,
    under_way: Vec<Option<PendingRequest>>,
    depth: usize,
    random: Prng,
    /// Whether an update may fail because the array is out of space.
    pub(crate) may_be_full: bool,
    page_sectors: u64,
    /// Host pages that may be permanently lost.
    doubtful: BTreeSet<u64>,
    /// Whether these pages may hold any version that they ever had; and whether they may be zeros, whatever they held
    /// since.
    may_be_old: bool,
    forgets: bool,
    /// Members that will be added to the array.
    pub(crate) comebacks: Vec<Comeback>,
    /// The members that were added, until each is known to be durably rebuilt.
    pub(crate) joining: Joining,
    monitor: Monitor,
    /// Whether a scrub is in progress.
    is_scrubbing: bool,
    /// What a scrub had done that a clean stop interrupted.
    interrupted_scrub: Option<u32>,
    /// Whether a flush has completed since the flag was last cleared.
    pub(crate) has_flushed: bool,
    /// The same for a flush that was submitted after a scrub had ended, and whether one has ended.
    pub(crate) has_flushed_scrub: bool,
    has_scrubbed: bool,
    /// Number of errors with which members were charged since a scrub began; `None` if another server began it.
    pub(crate) charged: Option<u64>,
    /// Whether the array said, when the scrub began, that members which serve have all of their content. It begins a scrub by
    /// itself when they may not.
    pub(crate) vouched: bool,
    /// Number of members that failed beyond the error limit.
    pub(crate) limited: u64,
    /// Whether requests may fail, because more is lost than parity tolerates.
    pub(crate) is_beyond: bool,
    /// The content found in every sector, while all sectors are read back.
    found: Option<Vec<Option<Found>>>,
}

/// A flush request.
pub(crate) const FLUSH: Ask = Ask { gap_ns: 0, what: What::Flush, sector: 0, sectors: 0 };

impl<S: SystemUnderTest> Server<S> {
    pub(crate) fn new(system: S, driver: SimDriver, model: Model, depth: u32, seed: u64) -> Self {
        let page_sectors = (driver.members.page_bytes() / SECTOR) as u64;
        let monitor = Monitor::new(Policy::default(), driver.members.count(), 0);
        Self {
            system,
            driver,
            model,
            now: 0,
            waiting: std::collections::VecDeque::new(),
            under_way: vec![None; depth.max(1) as usize],
            depth: depth.max(1) as usize,
            random: Prng::stream(seed, 0x7365_7276),
            may_be_full: false,
            page_sectors,
            doubtful: BTreeSet::new(),
            may_be_old: false,
            forgets: false,
            comebacks: Vec::new(),
            joining: Joining::default(),
            monitor,
            is_scrubbing: false,
            interrupted_scrub: None,
            has_flushed: false,
            has_flushed_scrub: false,
            has_scrubbed: false,
            charged: None,
            vouched: false,
            limited: 0,
            is_beyond: false,
            found: None,
        }
    }

    pub(crate) fn ask(&mut self, asks: &[Ask]) {
        self.waiting.extend(asks);
    }

    /// Whether every request was answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.under_way.iter().all(Option::is_none)
    }

    /// Whether no request is in flight, though some may wait.
    pub(crate) fn is_still(&self) -> bool {
        self.under_way.iter().all(Option::is_none)
    }

    /// What the array says about its redundancy.
    pub(crate) fn claims(&self) -> Option<Claims> {
        self.system.claims()
    }

    /// Whether the array serves without all content of `member`.
    pub(crate) fn is_incomplete(&self, member: MemberNo) -> bool {
        self.system.is_without(member) || self.system.is_joining(member)
    }

    /// Takes `member` out of the array.
    pub(crate) fn fail(&mut self, member: MemberNo, reason: FailReason) {
        self.system.fail(self.now, member, reason, &mut self.driver);
        self.driver.gone |= member.bit();
    }

    /// From now on the array is monitored as `policy` says.
    pub(crate) fn watch(&mut self, policy: Policy) {
        let members = &self.driver.members;
        let pages = members.all().map(|member| members.pages(member)).max().unwrap_or(0);
        self.monitor = Monitor::new(policy, members.count(), pages);
    }

    /// Fails the members beyond the error limit, and lets spares come.
    fn monitor(&mut self) {
        if self.monitor.is_due(&self.driver.ledgers) {
            self.monitor.look(self.now, &self.driver.ledgers);
            for member in self.driver.members.all() {
                let Some(state) = self.system.state() else { return };
                if let Some(reason) = self.monitor.fails(self.now, member, &state) {
                    self.limited += 1;
                    self.fail(member, reason);
                }
            }
        }
        let mut members = self.driver.members.all();
        if self.monitor.has_spare() && members.any(|member| self.system.is_without(member)) {
            self.send_spare();
        }
    }

    /// Lets the next spare take the place of a member that is out.
    fn send_spare(&mut self) {
        let Some(state) = self.system.state() else { return };
        let (system, comebacks, joining) = (&self.system, &self.comebacks, &self.joining);
        let is_free = |member: MemberNo| {
            !member.is_in(joining.members()) && comebacks.iter().all(|one| one.member != member)
        };
        let accepts = |member, pages| {
            is_free(member) && system.accepts(member, Rejoining::Replacement { uuid: Uuid([1; 16]), pages })
        };
        if let Some(member) = self.monitor.next_spare(&state, accepts) {
            self.comebacks.push(Comeback { event: 0, member, is_another: true, is_older: false });
        }
    }

    /// Submits as many requests as possible, lets one operation end or time pass, and checks the answers. False if no
    /// work is left.
    ///
    /// # Errors
    /// The broken promise.
    pub(crate) fn step(&mut self) -> Result<bool, String> {
        self.submit()?;
        self.system.dispatch(&mut self.driver);
        while let Some(at) = self.driver.take_timer(self.now) {
            debug_assert!(at <= self.now);
            self.system.timer(self.now, &mut self.driver);
            self.system.dispatch(&mut self.driver);
        }
        let continues = if let Some(last) = self.driver.flights.len().checked_sub(1) {
            let nth = self.random.below(last as u64 + 1) as usize;
            let (flight, outcome, found) = self.driver.take(nth);
            if let Some(content) = found {
                self.system.fill(flight.page, &content);
            }
            self.now += TICK_NS;
            self.driver.now = self.now;
            self.driver.was_answered = outcome == Outcome::Done;
            self.system.completed(self.now, flight.id, outcome, &mut self.driver);
            true
        } else if let Some(at) = self.driver.take_timer(Nanos::MAX) {
            self.now = self.now.max(at);
            self.system.timer(self.now, &mut self.driver);
            true
        } else {
            !self.driver.acknowledged.is_empty()
        };
        self.driver.wrong.take().map_or(Ok(()), Err)?;
        let system = &self.system;
        self.joining.look(|member| system.is_joining(member), |member| system.is_without(member));
        self.look()?;
        self.monitor();
        Ok(continues)
    }

    /// Steps until every request is answered.
    ///
    /// # Errors
    /// The broken promise; termination is one of the promises.
    pub(crate) fn finish(&mut self, mut limit: u64) -> Result<(), String> {
        while !self.is_idle() {
            limit = limit.checked_sub(1).ok_or("no end in sight of what was asked")?;
            if !self.step()? && !self.is_idle() && self.driver.flights.is_empty() {
                let oldest = self.under_way.iter().flatten().next();
                let words = oldest.map_or("none was taken".into(), |entry| crate::player::words(&entry.ask));
                return Err(format!("the array stands still with requests left: {words}"));
            }
        }
        Ok(())
    }

    /// Reads everything, and returns the content of each sector.
    ///
    /// # Errors
    /// The broken promise.
    pub(crate) fn read_all(&mut self) -> Result<Vec<Option<Found>>, String> {
        let sectors = self.model.sectors();
        self.found = Some(vec![None; sectors as usize]);
        // A failed read gives no information about other pages.
        let stride = if self.doubtful.is_empty() { STRIDE } else { self.page_sectors };
        let reads = (0..sectors).step_by(stride as usize).map(|sector| Ask {
            gap_ns: 0,
            what: What::Read,
            sector,
            sectors: stride.min(sectors - sector),
        });
        let reads: Vec<Ask> = reads.collect();
        self.ask(&reads);
        self.finish(100_000)?;
        Ok(self.found.take().unwrap_or_default())
    }

    /// Lets the array continue the work that assembly has begun.
    pub(crate) fn resume(&mut self) {
        self.system.resume(self.now, &mut self.driver);
        for member in self.driver.members.all().filter(|&member| self.system.is_joining(member)) {
            self.joining.add(member);
        }
    }

    /// The fixed places of host pages: member, page, and first sector.
    pub(crate) fn homes(&self) -> impl Iterator<Item = (MemberNo, u32, u64)> + '_ {
        let pages = self.model.sectors() / self.page_sectors;
        (0..pages).filter_map(|page| {
            let (member, at) = self.system.home(page)?;
            Some((member, at, page * self.page_sectors))
        })
    }

    /// From now on, the losses that `doubt` describes are allowed.
    pub(crate) fn doubt(&mut self, doubt: &Doubt) {
        let sectors = self.page_sectors;
        let rows =
            self.homes().filter(|(_, page, _)| doubt.rows.contains(page)).map(|(.., first)| first / sectors);
        self.doubtful = rows.chain(doubt.pages.iter().copied()).collect();
        (self.may_be_old, self.forgets) = (doubt.may_be_old, doubt.forgets);
    }

    /// Whether any page of `ask` may be lost.
    fn is_doubtful(&self, ask: &Ask) -> bool {
        let pages = ask.sector / self.page_sectors..(ask.sector + ask.sectors).div_ceil(self.page_sectors);
        self.doubtful.range(pages).next().is_some()
    }

    /// Adds the next member that is scheduled before `event` to the array, if possible.
    pub(crate) fn take_comeback(&mut self, event: u64, choice: u64) -> Option<Comeback> {
        (0..self.comebacks.len()).find_map(|nth| {
            let one = self.take_back(self.comebacks[nth], event, choice)?;
            self.comebacks.remove(nth);
            self.joining.add(one.member);
            Some(one)
        })
    }

    /// Adds the member of `one`, if it can return before `event` and the array accepts it.
    fn take_back(&mut self, mut one: Comeback, event: u64, choice: u64) -> Option<Comeback> {
        let SimDriver { members, flights, .. } = &mut self.driver;
        let bit = one.member.bit();
        let can_come = one.event <= event
            && self.system.is_without(one.member)
            && self.joining.members() & bit == 0
            && (one.is_another || !members.is_lost(one.member))
            && flights.iter().all(|flight| flight.operation.member != one.member);
        if !can_come {
            return None;
        }
        let pages = members.pages(one.member);
        if one.is_older && !one.is_another {
            one.is_older = members.put_back(one.member, choice);
        }
        let mut how = self.system.returned(one.member, members);
        if one.is_another {
            let uuid = Uuid([&[0xE2; 8][..], &choice.to_le_bytes()].concat().try_into().expect("16 bytes"));
            how = Rejoining::Replacement { uuid, pages };
        }
        if !self.system.accepts(one.member, how) {
            return None;
        }
        if one.is_another {
            members.replace(one.member, choice);
        }
        self.driver.absent &= !bit;
        self.driver.gone &= !bit;
        self.system.rejoin(self.now, one.member, how, &mut self.driver);
        self.monitor.welcome(one.member, &self.driver.ledgers[one.member.index()]);
        Some(one)
    }

    /// Begins a scrub. False if one is in progress, which continues.
    pub(crate) fn scrub(&mut self) -> bool {
        let is_new = !self.system.scrubbed().1;
        let claims = self.claims().unwrap_or_default();
        self.vouched = is_new && claims.unrecovered == 0 && claims.in_doubt == 0;
        self.system.scrub(self.now, &mut self.driver);
        self.is_scrubbing = self.system.scrubbed().1;
        // A scrub that continues has counts of an earlier server.
        self.charged = is_new.then_some(0);
        is_new
    }

    /// The counts of the last scrub.
    pub(crate) fn scrub_counts(&self) -> ScrubCounts {
        self.system.scrubbed().0
    }

    /// What a scrub had done that a clean stop interrupted. A scrub that found a loss begins again.
    pub(crate) fn interrupted_scrub(&self) -> Option<u32> {
        self.interrupted_scrub.filter(|_| self.scrub_counts().lost == 0)
    }

    /// The counts of the scrub, if it ended since the last call.
    pub(crate) fn take_scrubbed(&mut self) -> Option<ScrubCounts> {
        let (counts, continues) = self.system.scrubbed();
        let is_over = self.is_scrubbing && !continues;
        self.is_scrubbing = continues;
        self.has_scrubbed |= is_over;
        is_over.then_some(counts)
    }

    /// Steps until the added members are rebuilt, or removed again.
    ///
    /// # Errors
    /// The broken promise; termination of the rebuild is one of them.
    pub(crate) fn finish_rebuild(&mut self, mut limit: u64) -> Result<(), String> {
        while self.joining.members() != 0 {
            limit = limit.checked_sub(1).ok_or("no end in sight of a rebuild")?;
            if self.joining.written() != 0 && self.is_idle() {
                self.ask(&[FLUSH]);
            }
            if !self.step()? && self.is_idle() && self.driver.flights.is_empty() {
                let is_written = self.joining.written() == self.joining.members();
                is_written.then_some(()).ok_or("a rebuild stands still")?;
            }
        }
        Ok(())
    }

    /// Steps until the scrub is over.
    ///
    /// # Errors
    /// The broken promise; termination is one of them.
    pub(crate) fn finish_scrub(&mut self, mut limit: u64) -> Result<(), String> {
        while self.system.scrubbed().1 {
            limit = limit.checked_sub(1).ok_or("no end in sight of a scrub")?;
            self.step()?;
        }
        Ok(())
    }

    /// Steps until no work is left.
    fn settle(&mut self, mut limit: u64) -> Result<(), String> {
        while self.step()? || !self.driver.flights.is_empty() {
            limit = limit.checked_sub(1).ok_or("background work does not end")?;
        }
        Ok(())
    }

    /// Writes out everything that waits in memory, and requests a checkpoint.
    ///
    /// # Errors
    /// The broken promise.
    pub(crate) fn checkpoint(&mut self, limit: u64) -> Result<(), String> {
        self.comebacks.clear();
        self.finish(limit)?;
        self.system.checkpoint(self.now, &mut self.driver);
        self.settle(limit)?;
        self.ask(&[FLUSH]);
        self.finish(limit)?;
        self.settle(limit)
    }

    /// Stops the array cleanly. With `halts`, rebuilds and scrubs stop where they are, and superblocks are verified, as the
    /// serving program does it; otherwise they end before.
    ///
    /// # Errors
    /// The broken promise.
    pub(crate) fn stop(&mut self, limit: u64, halts: bool) -> Result<(), String> {
        if halts {
            self.system.halt_walks(self.now, &mut self.driver);
        }
        self.checkpoint(limit)?;
        self.interrupted_scrub = self.system.scrubbing().filter(|&done| done > 0);
        if halts {
            self.system.verify_superblocks(self.now, &mut self.driver);
            self.settle(limit)?;
        }
        self.system.stop(self.now, &mut self.driver);
        self.settle(limit)
    }

    /// The controller's members and the model, for a power loss.
    pub(crate) fn into_parts(self) -> (SimDriver, Model) {
        (self.driver, self.model)
    }

    fn submit(&mut self) -> Result<(), String> {
        while let Some(&ask) = self.waiting.front() {
            let Some(tag) = self.under_way[..self.depth].iter().position(Option::is_none) else { break };
            let (entry, payload) = self.prepare(ask);
            let kind = match ask.what {
                What::Read => RequestKind::Read,
                What::Write => RequestKind::Write,
                What::Trim => RequestKind::Trim,
                What::Flush => RequestKind::Flush,
            };
            let host = HostRequest {
                tag: tag as u64,
                arrival: self.now,
                offset: ask.sector * SECTOR as u64,
                bytes: (ask.sectors * SECTOR as u64) as u32,
                kind,
            };
            self.waiting.pop_front();
            self.under_way[tag] = Some(entry);
            match self.system.submit(self.now, host, payload, &mut self.driver) {
                Ok(()) => {}
                Err((SubmitError::Busy, _)) => {
                    // A refused update was not submitted, but the model may keep it.
                    self.under_way[tag] = None;
                    self.waiting.push_front(ask);
                    break;
                }
                Err((error, _)) => return Err(format!("{} is refused: {error}", crate::player::words(&ask))),
            }
        }
        Ok(())
    }

    fn prepare(&mut self, ask: Ask) -> (PendingRequest, Box<[u8]>) {
        let mut entry = PendingRequest {
            ask,
            update: 0,
            floors: Vec::new(),
            is_advice: false,
            behind: 0,
            is_after_scrub: false,
        };
        let sectors = ask.sector..ask.sector + ask.sectors;
        let bytes = ask.sectors as usize * SECTOR;
        let mut payload = Box::default();
        match ask.what {
            What::Read => {
                entry.floors = sectors.map(|sector| self.model.floor(sector)).collect();
                payload = vec![UNFILLED; bytes].into();
            }
            What::Write => {
                entry.update = self.model.write(ask.sector, ask.sectors);
                payload = vec![0; bytes].into();
                fill(&mut payload, ask.sector, entry.update);
            }
            What::Trim => {
                // Partly trimmed pages are not trimmed.
                let first = ask.sector.next_multiple_of(self.page_sectors);
                let end = (ask.sector + ask.sectors) / self.page_sectors * self.page_sectors;
                entry.update = self.model.trim(first.min(end), end.saturating_sub(first));
                entry.is_advice = self.meets_a_write(&ask);
            }
            What::Flush => {
                entry.is_after_scrub = self.has_scrubbed;
                entry.behind = self.joining.written();
                entry.floors = (0..self.model.sectors()).map(|sector| self.model.promised(sector)).collect();
            }
        }
        (entry, payload)
    }

    /// A write failed: parity may not match what it wrote, so the rows count as those of writes that a member did not take.
    fn left_half_done(&mut self, ask: &Ask) {
        let pages = ask.sector / self.page_sectors..(ask.sector + ask.sectors).div_ceil(self.page_sectors);
        for (member, page) in pages.filter_map(|page| self.system.home(page)) {
            self.driver.members.leave_unwritten(member, page);
        }
    }

    /// Whether a write to some page of `ask` is in flight.
    fn meets_a_write(&self, ask: &Ask) -> bool {
        let pages =
            |ask: &Ask| (ask.sector / self.page_sectors, (ask.sector + ask.sectors - 1) / self.page_sectors);
        let (first, last) = pages(ask);
        let writes = self.under_way.iter().flatten().filter(|entry| entry.ask.what == What::Write);
        writes.map(|entry| pages(&entry.ask)).any(|(from, to)| from <= last && first <= to)
    }

    /// Checks the answers.
    fn look(&mut self) -> Result<(), String> {
        for (acknowledgement, payload) in std::mem::take(&mut self.driver.acknowledged) {
            let Acknowledgement { tag, failed, no_space, .. } = acknowledgement;
            let place = self.under_way.get_mut(tag as usize).ok_or("an answer to nothing")?;
            let entry = place.take().ok_or("a request is answered twice")?;
            let words = || crate::player::words(&entry.ask);
            if failed {
                if entry.ask.what == What::Write {
                    self.left_half_done(&entry.ask);
                }
                if !(self.is_beyond || self.is_doubtful(&entry.ask) || no_space && self.may_be_full) {
                    let why = if no_space { ": there is no space, it says" } else { "" };
                    return Err(format!("{} failed though enough is left{why}", words()));
                }
                continue;
            }
            match entry.ask.what {
                What::Trim if entry.is_advice => {}
                What::Write | What::Trim => self.model.acknowledged(entry.update),
                What::Flush => {
                    self.has_flushed = true;
                    if entry.is_after_scrub {
                        (self.has_flushed_scrub, self.has_scrubbed) = (true, false);
                    }
                    self.joining.flushed(entry.behind);
                    self.model.flushed(&entry.floors);
                }
                What::Read => self.check(&entry, &payload).map_err(|what| format!("{}: {what}", words()))?,
            }
        }
        Ok(())
    }

    fn check(&mut self, entry: &PendingRequest, payload: &[u8]) -> Result<(), String> {
        let mut sectors = entry.ask.sector..entry.ask.sector + entry.ask.sectors;
        let is_known = self.may_be_old && !self.forgets && sectors.any(|sector| self.model.was_found(sector));
        if is_known && payload.iter().all(|&byte| byte == 0) {
            return Err("the content of the last assembly reads as zeros".into());
        }
        let sectors = (entry.ask.sector..).zip(payload.chunks_exact(SECTOR)).zip(&entry.floors);
        for ((sector, bytes), &floor) in sectors {
            let found = Found::of(bytes);
            if self.may_be_old && self.doubtful.contains(&(sector / self.page_sectors)) {
                self.model.check_ever(sector, found)?;
            } else {
                self.model.check(sector, found, floor)?;
                self.model.seen(sector, found);
            }
            if let Some(all) = &mut self.found {
                all[sector as usize] = Some(found);
            }
        }
        Ok(())
    }
}
