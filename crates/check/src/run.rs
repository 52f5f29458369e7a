//! Runs a case, and checks the contract after every step.

mod limit;
mod log;
mod power;
mod summary;

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stripewise_array::RowNo;

use stripewise_array::placement::Commit;
use stripewise_array::{Class, Controller, MemberNo, PageMemory, Persistence, Scheme};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_flash::Flash;
use stripewise_sim::Simulation;

use crate::audit::{Audit, Unlogged};
use crate::bugs::{Options, Planted};
use crate::case::{Ask, Case, Loss, What};
use crate::durable::Durable;
use crate::log_history::LogHistory;
use crate::media::{Manner, PageMedia};
use crate::model::Model;
use crate::player::{AcknowledgedRequest, Player, Submitted, words};
use limit::Watch;
use power::Power;
pub(crate) use power::refill;
pub use summary::Summary;

/// Limit of events: a run should have ended long before this base number plus the number per request. A timer of 20 us ticks 500
/// times while an operation is 10 ms late, and a request may have to wait until a zone is empty.
pub(crate) const EVENTS: u64 = 50_000;
pub(crate) const EVENTS_PER_REQUEST: u64 = 10_000;

/// Sectors of the reads that read the whole array back. The number is odd, so that they begin and end anywhere in a
/// page.
pub(crate) const READ_BACK: u64 = 37;

/// A promise of the contract that was broken, or a case that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The event after which it was noticed.
    pub event: u64,
    /// The violation.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.event, self.what)
    }
}

impl std::error::Error for Failure {}

/// Runs `case`.
///
/// # Errors
/// The first broken promise. A panic counts as one, because the controller's own assertions are checks too.
pub fn run(case: &Case, options: Options) -> Result<Summary, Failure> {
    let event = Cell::new(0);
    let guarded = AssertUnwindSafe(|| {
        let run = CaseRun::new(case, options, &event)?;
        Ok(run.all()?.summary())
    });
    let result = catch_unwind(guarded).unwrap_or_else(|panic| Err(words_of_panic(panic.as_ref())));
    result.map_err(|what| Failure { event: event.get(), what })
}

pub(crate) fn words_of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("without a message"))
}

/// A case in progress.
struct CaseRun<'a> {
    case: &'a Case,
    simulation: Simulation<PageMemory, PageMedia, Player>,
    losses: Vec<Loss>,
    /// Events so far.
    event: &'a Cell<u64>,
    /// The event limit of the run.
    limit: u64,
    /// Requests begin at this time or later.
    not_before: Nanos,
    bug: Option<Planted>,
    played: u64,
    /// Rows with lost content, with the last event after which they were lost: a write may have repaired them since.
    stale: BTreeMap<RowNo, u64>,
    /// Chunks, by row and column, whose acknowledged content was lost, with the last event after which it was lost.
    lost: BTreeMap<(RowNo, u32), u64>,
    /// Deltas that could not be read.
    unlogged: Unlogged,
    /// Number of media faults whose effect on the log is known.
    faults_seen: usize,
    /// History of each chunk under elastic striping.
    history: LogHistory,
    power: Power,
    /// Watches the errors of members, if the case has a limit.
    watch: Option<Watch>,
    /// Determines which members are reported slow.
    slow: Prng,
}

impl<'a> CaseRun<'a> {
    fn new(case: &'a Case, options: Options, event: &'a Cell<u64>) -> Result<Self, String> {
        let text = |error: &dyn fmt::Display| error.to_string();
        let page_bytes = case.page_bytes();
        let shape = stripewise_flash::Shape::new(&case.device, case.members.level, case.members.devices)
            .map_err(|error| text(&error))?;
        let media =
            PageMedia::new(shape.members, shape.pages_per_member, page_bytes, case.faults.clone(), case.seed);
        let mut flash =
            Flash::with_media(&case.device, case.members.level, case.members.devices, case.seed, media)
                .map_err(|error| text(&error))?;
        #[cfg(debug_assertions)]
        if let Some(Planted::Flash(bug)) = options.bug {
            flash.plant(Some(bug));
        }
        let model = Model::new(case.sectors()?);
        if !case.power_losses.is_empty() {
            flash.media_mut().note_durable(case.volatile_members);
        }
        let mut run = Self::over(case, flash, model, options, event)?;
        run.power = Power::new(&case.power_losses);
        let members = shape.members as u16;
        run.watch = case.error_limit.map(|limit| Watch::new(limit, members, run.bug));
        run.losses = case.losses.clone();
        run.losses.sort_by_key(|loss| std::cmp::Reverse(loss.event));
        if let Some(loss) = run.losses.iter().find(|loss| !loss.member.is_within(shape.members)) {
            return Err(format!("there is no member {} to be lost", loss.member));
        }
        let inside = |ask: &Ask| ask.sector + ask.sectors <= run.model().sectors();
        if let Some(ask) = case.requests.iter().find(|ask| ask.what != What::Flush && !inside(ask)) {
            return Err(format!(
                "a {} extends past the array's {} sectors",
                words(ask),
                run.model().sectors()
            ));
        }
        Ok(run)
    }

    /// A new controller over `flash`, whose content `model` describes.
    fn over(
        case: &'a Case,
        flash: Flash<PageMedia>,
        model: Model,
        options: Options,
        event: &'a Cell<u64>,
    ) -> Result<Self, String> {
        let mut player = Player::new(case.geometry()?, model, case.depth, options.tracer);
        player.joins = case.scheme.placement.facts().buffers_writes;
        let memory = PageMemory::new(case.page_bytes());
        let members = case.capabilities(flash.shape());
        #[allow(unused_mut)]
        let mut simulation = Simulation::with_members(&case.scheme, members, flash, memory, player)
            .map_err(|error| error.to_string())?;
        #[cfg(debug_assertions)]
        if let Some(Planted::Array(bug)) = options.bug {
            simulation.array.plant(Some(bug));
        }
        Ok(Self {
            case,
            simulation,
            losses: Vec::new(),
            event,
            limit: EVENTS + event.get(),
            not_before: 0,
            bug: options.bug,
            played: 0,
            unlogged: BTreeMap::new(),
            faults_seen: 0,
            stale: BTreeMap::new(),
            lost: BTreeMap::new(),
            history: LogHistory::default(),
            power: Power::default(),
            watch: None,
            slow: Prng::stream(case.seed, 0x736c_6f77 ^ event.get()),
        })
    }

    fn model(&self) -> &Model {
        &self.simulation.world.host.model
    }

    fn media(&self) -> &PageMedia {
        self.simulation.world.flash.media()
    }

    fn audit(&self) -> Audit<'_> {
        let Simulation { array, world, .. } = &self.simulation;
        let Self { unlogged, .. } = self;
        Audit { array, flash: &world.flash, model: &world.host.model, unlogged, is_alone: false }
    }

    /// Plays the whole case.
    fn all(mut self) -> Result<Self, String> {
        self.ask(&self.case.requests);
        self = self.play_losing_power()?;
        self.played = self.event.get();
        self.settle()?;
        self = self.lose_power_at_rest()?;
        // Losses scheduled for later happen now.
        self.limit += self.event.get();
        while let Some(loss) = self.losses.pop() {
            self.lose(loss);
        }
        self.simulation.world.flash.media_mut().calm();
        self.read_back()?;
        if self.case.fail_each {
            self.fail_each()?;
        }
        Ok(self)
    }

    fn ask(&mut self, asks: &[Ask]) {
        let now = self.simulation.now().max(self.not_before);
        self.simulation.world.host.ask(now, asks);
        self.limit += EVENTS_PER_REQUEST * asks.len() as u64;
    }

    /// Runs until no work is left.
    fn play(&mut self) -> Result<(), String> {
        loop {
            while let Some(loss) = self.losses.pop_if(|loss| loss.event <= self.event.get()) {
                self.lose(loss);
            }
            if self.power.is_due(self.event.get()) {
                return Ok(());
            }
            self.report_slow();
            self.enforce_limit()?;
            self.event.set(self.event.get() + 1);
            let host = &mut self.simulation.world.host;
            host.event = self.event.get();
            let media = self.simulation.world.flash.media();
            host.faults = media.log().len();
            host.changes = media.durable().map_or(0, Durable::changes);
            let continues = self.simulation.step();
            self.look()?;
            if !continues {
                break;
            }
            if self.event.get() > self.limit {
                let left = self.simulation.world.host.left();
                let now = self.simulation.now();
                return Err(format!("no end in sight at {now} ns: {left} requests are left"));
            }
        }
        match self.simulation.world.host.left() {
            0 => Ok(()),
            left => {
                let oldest = self.simulation.world.host.oldest().unwrap_or_else(|| "none was taken".into());
                Err(format!("the array stands still with {left} requests left: {oldest}"))
            }
        }
    }

    /// Reports a member slow, or that it answers again, at random.
    fn report_slow(&mut self) {
        let ppm = self.media().slow_ppm();
        if ppm == 0 || !self.slow.chance(ppm.into(), 1_000_000) {
            return;
        }
        let member = self.slow.below(self.simulation.array.members().into()) as u16;
        // Reports may be repeated.
        let is_slow = !self.simulation.array.is_slow(MemberNo::new(member)) || self.slow.chance(1, 4);
        self.simulation.world.host.trace(|| format!("member {member} is reported slow: {is_slow}"));
        self.simulation.report_slow(MemberNo::new(member), is_slow);
    }

    fn lose(&mut self, loss: Loss) {
        let Loss { member, manner, .. } = loss;
        self.simulation.world.host.trace(|| format!("member {member} is lost: {manner:?}"));
        match manner {
            Manner::Gone => self.simulation.fail_member(member),
            Manner::Silent | Manner::FailedWrite => {
                self.simulation.world.flash.media_mut().doom(member, manner);
            }
        }
    }

    /// Checks the results of the last event.
    fn look(&mut self) -> Result<(), String> {
        if let Some(what) = self.simulation.world.host.broken.take() {
            return Err(what);
        }
        if let Some(what) = self.media().wrong() {
            return Err(what.to_owned());
        }
        for row in self.simulation.array.stale_rows() {
            self.stale.insert(row, self.event.get());
        }
        for chunk in self.simulation.array.lost_content() {
            self.lost.insert(chunk, self.event.get());
        }
        self.look_at_parity_log();
        self.look_at_elastic()?;
        self.look_at_power()?;
        if self.simulation.world.host.ended.is_empty() {
            return Ok(());
        }
        let mut ended = std::mem::take(&mut self.simulation.world.host.ended);
        for one in &ended {
            self.check_ended(one)
                .map_err(|what| format!("request {}, {}: {what}", one.tag, words(&one.request.ask)))?;
        }
        ended.clear();
        self.simulation.world.host.ended = ended;
        Ok(())
    }

    /// Records the rows with unreadable deltas: a delta is on a lost log member, or its read failed.
    fn look_at_parity_log(&mut self) {
        let array = &self.simulation.array;
        let geometry = array.geometry();
        for parity in 0..geometry.parity() {
            let Some(member) = array.parity_log_member(parity) else { return };
            let rows = if array.is_failed(member) { geometry.rows() } else { 0 };
            for row in (0..rows).filter(|&row| array.delta_pages(RowNo::new(row)).next().is_some()) {
                self.unlogged.insert((row, parity), self.event.get());
            }
        }
        let faults = &self.simulation.world.flash.media().log()[self.faults_seen..];
        self.faults_seen += faults.len();
        for fault in faults {
            if let Some(parity) = u32::from(fault.member.number()).checked_sub(geometry.members)
                && let Some(row) = self.simulation.world.host.delta_row(fault.member, fault.page)
            {
                self.unlogged.insert((row.number(), parity), self.event.get());
            }
        }
    }

    /// Parity columns of `row` that could not be determined at some time since event `since`.
    fn parity_lost(&self, row: RowNo, since: u64) -> u64 {
        let geometry = self.simulation.array.geometry();
        if self.stale.get(&row).is_some_and(|&last| last >= since) {
            return geometry.parity_columns();
        }
        let is_lost =
            |parity: &u32| self.unlogged.get(&(row.number(), *parity)).is_some_and(|&last| last >= since);
        (0..geometry.parity()).filter(is_lost).fold(0, |mask, parity| mask | 1 << (geometry.data + parity))
    }

    fn check_ended(&self, ended: &AcknowledgedRequest) -> Result<(), String> {
        if self.is_elastic() {
            return self.check_ended_log(ended);
        }
        let audit = self.audit();
        let ask = &ended.request.ask;
        let sectors_per_page = (self.media().page_bytes() / crate::stamp::SECTOR) as u64;
        let pages = ask.sector / sectors_per_page..(ask.sector + ask.sectors).div_ceil(sectors_per_page);
        if ended.failed {
            let faults = &self.media().log()[ended.request.faults_before..];
            // A state before the end of the previous event still applied when the request was submitted.
            let since = ended.request.event.saturating_sub(1);
            let may = match ask.what {
                // A later write may have repaired a row whose parity could not be determined.
                What::Flush => {
                    let mut losses = self.stale.values().chain(self.lost.values());
                    audit.is_broken() || losses.any(|&last| last >= since)
                }
                _ => {
                    let was_lost =
                        |row, member| self.lost.get(&(row, member)).is_some_and(|&last| last >= since);
                    let parity_lost = |row| self.parity_lost(row, since);
                    audit.may_fail(pages, ask.what == What::Read, faults, parity_lost, was_lost)
                }
            };
            return if may { Ok(()) } else { Err("it failed though its rows are redundant enough".into()) };
        }
        match ask.what {
            What::Read => Ok(()),
            What::Write | What::Trim => {
                // A gathered write is acknowledged before it is on a member.
                let in_place = !audit.gathers() && !audit.caches() && !audit.moves();
                let is_alone =
                    in_place && audit.waits_for_parity() && self.simulation.world.host.is_alone(ask);
                let audit = Audit { is_alone, ..audit };
                pages.into_iter().try_for_each(|page| {
                    audit.page(page, false, |sector| self.model().floor(sector))?;
                    audit.array.locate(page).map_or(Ok(()), |(row, _)| audit.row(row))
                })
            }
            What::Flush => {
                let Scheme { placement, cache, .. } = &self.case.scheme;
                // A cache holds content that gathering memory has written out once.
                let is_volatile = (!audit.gathers() || placement.buffer_persistence == Persistence::Volatile)
                    && (!audit.caches() || cache.persistence == Persistence::Volatile);
                let floor = |sector: u64| ended.request.floors[sector as usize];
                (0..audit.array.host_pages()).try_for_each(|page| audit.page(page, is_volatile, floor))?;
                let rows = 0..audit.array.geometry().rows();
                let mut covered = rows.filter(|&row| {
                    !audit.gathers() && is_volatile && self.is_covered(RowNo::new(row), &ended.request)
                });
                covered.try_for_each(|row| audit.durable_row(RowNo::new(row)))
            }
        }
    }

    /// Whether a flush covers everything ever written to the stripe of `row`: no update of the stripe was in flight
    /// when the flush was submitted, and none came since.
    fn is_covered(&self, row: RowNo, flush: &Submitted) -> bool {
        let array = &self.simulation.array;
        let geometry = array.geometry();
        if self.audit().moves() && !array.is_quiet() {
            // A block that moves back may share the row.
            return false;
        }
        let sectors_per_page = (self.media().page_bytes() / crate::stamp::SECTOR) as u64;
        let chunk_pages = u64::from(geometry.chunk_pages);
        let first_row = RowNo::new(row.number() - row.number() % chunk_pages);
        let is_within = |update| {
            (0..geometry.data).any(|member| {
                let first = geometry.array_page(first_row, member) * sectors_per_page;
                self.model().touches(update, first, chunk_pages * sectors_per_page)
            })
        };
        let is_within = |update| self.audit().moves() || is_within(update);
        let mut uncovered = flush.open.iter().copied().chain(flush.update + 1..self.model().next_update());
        !uncovered.any(is_within)
    }

    /// Empties controller memory; then it must hold no content, and all checks must pass.
    fn settle(&mut self) -> Result<(), String> {
        let now = self.simulation.now();
        self.simulation.array.drain(now, &mut self.simulation.world);
        self.play()?;
        if !self.simulation.array.is_quiet() {
            return Err(
                "all requests have ended, but the array is not quiet: a hold or an operation remains".into(),
            );
        }
        if self.is_elastic() {
            return self.settled_log();
        }
        let late = self.simulation.array.deferred_rows();
        let kept = self.simulation.world.flash.pinned();
        if late > 0 || kept > 0 {
            return Err(format!(
                "all was written out, but {late} rows are late and {kept} old versions kept"
            ));
        }
        let taken = self.simulation.array.parity_log_pages_taken();
        if taken > 0 && self.case.scheme.parity_logging.commit == Commit::Watermark {
            return Err(format!("all was written out, but {taken} pages of the log are taken"));
        }
        let pages = self.simulation.array.memory().in_use();
        if pages > 0 {
            return Err(format!("all requests have ended, but {pages} page buffers were never given back"));
        }
        self.audit().everything()
    }

    /// Reads the whole array.
    fn read_back(&mut self) -> Result<(), String> {
        let sectors = self.model().sectors();
        let read = |sector: u64| {
            let sectors = READ_BACK.min(sectors - sector);
            Ask { gap_ns: 0, what: What::Read, sector, sectors }
        };
        let asks: Vec<Ask> = (0..sectors).step_by(READ_BACK as usize).map(read).collect();
        self.ask(&asks);
        self.play()?;
        self.settle()
    }

    /// Removes each member in turn, with as many other members of its group as the code still tolerates, and decodes
    /// everything. A gathering controller is needed to find its pages, so it loses members only once, permanently.
    /// Otherwise a new controller finds everything at its address.
    fn fail_each(&mut self) -> Result<(), String> {
        let losses = self.tolerable_losses();
        // The controller is also needed for its marks of rows with invalid parity and of lost content, and for its
        // state of a log.
        let array = &self.simulation.array;
        let has_marks = array.stale_rows().next().is_some() || array.lost_content().next().is_some();
        if self.is_elastic()
            || self.audit().gathers()
            || self.audit().moves()
            || has_marks
            || array.parity_log_pages_taken() > 0
        {
            let Some(lost) = losses.get(self.case.seed as usize % losses.len().max(1)) else {
                return Ok(());
            };
            lost.iter().for_each(|&member| self.lose(gone(member)));
            return self.read_back();
        }
        for lost in losses {
            let flash = self.simulation.world.flash.clone();
            let tracer = self.simulation.world.host.take_tracer();
            let options = Options { tracer, bug: self.bug };
            let mut other = CaseRun::over(self.case, flash, self.model().clone(), options, self.event)?;
            other.not_before = self.simulation.now();
            other.simulation.array.assume_written(self.simulation.array.host_pages());
            let members = MemberNo::first(self.simulation.array.members());
            let before = members.filter(|&member| self.simulation.array.is_failed(member));
            before.chain(lost.iter().copied()).for_each(|member| other.lose(gone(member)));
            let result = other.read_back();
            self.simulation.world.host.give_tracer(other.simulation.world.host.take_tracer());
            result.map_err(|what| format!("with members {lost:?} taken away in the end, {what}"))?;
        }
        Ok(())
    }

    /// For each group, the sets of members that may still be lost together: each member, with other members of the
    /// group.
    fn tolerable_losses(&self) -> Vec<Vec<MemberNo>> {
        let geometry = self.simulation.array.geometry();
        let mut losses = Vec::new();
        for group in 0..geometry.groups {
            let is_live = |member: &MemberNo| !self.simulation.array.is_failed(*member);
            let live: Vec<MemberNo> = geometry.group(group).filter(is_live).collect();
            let failed = geometry.width - live.len() as u32;
            let together = geometry.tolerance().saturating_sub(failed) as usize;
            if together == 0 {
                continue;
            }
            // The choice of the other members depends on the seed.
            let apart = 1 + self.case.seed as usize % (live.len() - 1);
            let set =
                |first: usize| (0..together).map(|nth| live[(first + nth * apart) % live.len()]).collect();
            losses.extend((0..live.len()).map(set));
        }
        losses
    }

    fn summary(&self) -> Summary {
        let Simulation { array, world, .. } = &self.simulation;
        let mut operations = [0; Class::COUNT];
        for counts in &world.counts {
            operations.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let members = 0..array.members();
        let counters: Vec<_> =
            members.map(|member| world.flash.counters(self.simulation.now(), member)).collect();
        Summary {
            events: self.event.get(),
            played: self.played,
            time_ns: self.simulation.now(),
            seen: world.host.seen,
            operations,
            faults: self.media().log().len() as u64,
            lost: (0..counters.len()).filter(|&member| array.is_failed(MemberNo::at(member))).count() as u64,
            moved: counters.iter().map(|counters| counters.gc_move_pages).sum(),
            erased: counters.iter().map(|counters| counters.erase_blocks).sum(),
            collected: array.log_counts().collected,
            over_limit: self.watch.as_ref().map_or(0, Watch::failed),
            kept_over_limit: self.watch.as_ref().map_or(0, Watch::kept),
        }
    }
}

fn gone(member: MemberNo) -> Loss {
    Loss { event: 0, member, manner: Manner::Gone }
}
