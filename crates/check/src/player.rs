//! The host of a case: sends its requests, and compares the results with the model.

use std::collections::BTreeMap;
use stripewise_array::RowNo;

use stripewise_array::geometry::Geometry;
use stripewise_array::update::{Choice, Routine};
use stripewise_array::{
    Acknowledgement, HostRequest, MemberLoad, MemberNo, Operation, OperationKind, PageMemory, PlanView,
    Purpose, RequestKind, RowLock, SubmitError, explain,
};
use stripewise_base::Nanos;
use stripewise_sim::{Host, Next};

use crate::case::{Ask, What};
use crate::model::{Model, Update};
use crate::stamp::{Found, SECTOR, UNFILLED, fill};

/// The largest number of sectors of a page.
const PAGE_SECTORS: u64 = 8;

/// Receives the lines of a trace, each with the number of its event.
pub type Tracer = Box<dyn FnMut(u64, &str)>;

/// A request that was submitted.
#[derive(Clone, Debug)]
pub(crate) struct Submitted {
    /// The request.
    pub ask: Ask,
    /// Its number in the model; 0 for reads; for flushes, the number of the last update before it.
    pub update: Update,
    /// For flushes: updates in flight at its submission.
    pub open: Vec<Update>,
    /// The oldest versions that it may find: of each of its sectors (reads), or of all sectors (flushes).
    pub floors: Vec<Update>,
    /// Number of media faults before its submission.
    pub faults_before: usize,
    /// The event of its submission.
    pub event: u64,
}

/// A request that was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct AcknowledgedRequest {
    /// Its number in the case.
    pub tag: u64,
    /// The request.
    pub request: Submitted,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it failed because the array is out of space.
    pub no_space: bool,
}

/// Statistics of a run, so that a test can check whether the run exercised its subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests acknowledged with success.
    pub succeeded: u64,
    /// Requests acknowledged with failure.
    pub failed: u64,
    /// Of those, the requests that failed because the array was out of space.
    pub no_space: u64,
    /// Times that the array's queue was full.
    pub refused: u64,
    /// Plans of updates, by routine: plain, full stripe, RMW, RCW, reconstruct, log.
    pub routines: [u64; 6],
    /// Plans that read deltas: for reads, for updates, for background commits.
    pub folds: [u64; 3],
    /// Plans of reads: direct, shared with others, single.
    pub reads: [u64; 3],
    /// Plans of trims and flushes.
    pub others: u64,
    /// Power losses.
    pub power_losses: u64,
    /// Rows whose parity was recomputed after a power loss.
    pub resyncs: u64,
    /// Updates and trims that were interrupted and repeated from persistent memory.
    pub redone: u64,
    /// Rows that were under update at a power loss and had lost a chunk, so that its content was lost.
    pub holes: u64,
    /// Plans of elastic striping: stripes, partial chunk writes, collected stripes.
    pub log: [u64; 3],
}

impl Seen {
    pub(crate) fn add(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.no_space += other.no_space;
        self.refused += other.refused;
        self.routines.iter_mut().zip(other.routines).for_each(|(sum, count)| *sum += count);
        self.reads.iter_mut().zip(other.reads).for_each(|(sum, count)| *sum += count);
        self.folds.iter_mut().zip(other.folds).for_each(|(sum, count)| *sum += count);
        self.others += other.others;
        self.power_losses += other.power_losses;
        self.resyncs += other.resyncs;
        self.redone += other.redone;
        self.holes += other.holes;
        self.log.iter_mut().zip(other.log).for_each(|(sum, count)| *sum += count);
    }
}

/// The host of a case.
pub(crate) struct Player {
    /// The expected content of the array.
    pub model: Model,
    /// Requests acknowledged since this list was last emptied.
    pub ended: Vec<AcknowledgedRequest>,
    /// The first broken promise.
    pub broken: Option<String>,
    /// Statistics.
    pub seen: Seen,
    /// Number of media faults so far. The runner of the simulation keeps it up to date, as well as `event` and
    /// `changes`.
    pub faults: usize,
    /// See [`Player::faults`].
    pub event: u64,
    /// Number of page changes started so far; see [`Player::faults`].
    pub changes: u64,
    /// For each row, the number of changes that had been started when an update last locked it.
    pub begun: BTreeMap<RowNo, u64>,
    geometry: Geometry,
    delta_rows: BTreeMap<(MemberNo, u32), RowNo>,
    /// For each page of a log, the event in which a stripe last began to be written there.
    pub(crate) appended: BTreeMap<(MemberNo, u32), u64>,
    asks: Vec<Ask>,
    next: usize,
    due: Nanos,
    /// The request that the array had no space for.
    refused: Option<(HostRequest, Box<[u8]>)>,
    under_way: Vec<Option<Submitted>>,
    count: u32,
    depth: u32,
    /// Whether a write of a chunk joins an update that reads the chunk.
    pub(crate) joins: bool,
    tracer: Option<Tracer>,
}

impl Player {
    /// A host without requests yet, for an array that `model` describes.
    pub(crate) fn new(geometry: Geometry, model: Model, depth: u32, tracer: Option<Tracer>) -> Self {
        Self {
            model,
            ended: Vec::new(),
            broken: None,
            seen: Seen::default(),
            faults: 0,
            event: 0,
            changes: 0,
            begun: BTreeMap::new(),
            geometry,
            delta_rows: BTreeMap::new(),
            appended: BTreeMap::new(),
            asks: Vec::new(),
            next: 0,
            due: 0,
            refused: None,
            under_way: Vec::new(),
            count: 0,
            depth,
            joins: false,
            tracer,
        }
    }

    /// Adds requests; the first is due at `now` at the earliest.
    pub(crate) fn ask(&mut self, now: Nanos, asks: &[Ask]) {
        if self.next == self.asks.len() {
            self.due = now + asks.first().map_or(0, |ask| ask.gap_ns);
        }
        self.asks.extend_from_slice(asks);
    }

    /// Number of requests that wait for an acknowledgement or have not been sent.
    pub(crate) fn left(&self) -> usize {
        self.count as usize + self.asks.len() - self.next + usize::from(self.refused.is_some())
    }

    /// Handles a power loss: submitted requests will not be answered.
    pub(crate) fn power_lost(&mut self, all_is_durable: bool) {
        self.under_way.fill(None);
        self.refused = None;
        self.count = 0;
        self.ended.clear();
        self.begun.clear();
        self.model.power_lost(all_is_durable);
    }

    /// The first request that waits for an acknowledgement, in words.
    pub(crate) fn oldest(&self) -> Option<String> {
        let (tag, waiting) =
            self.under_way.iter().enumerate().find_map(|(tag, one)| Some((tag, one.as_ref()?)))?;
        Some(format!("request {tag}, {}", words(&waiting.ask)))
    }

    /// Whether no update in flight touches a stripe that `ask` touches, or a stripe that shares addresses with one.
    pub(crate) fn is_alone(&self, ask: &Ask) -> bool {
        let geometry = &self.geometry;
        let sectors = self.model.sectors() / geometry.pages() * geometry.round_pages();
        let stripes = |ask: &Ask| (ask.sector / sectors, (ask.sector + ask.sectors - 1) / sectors);
        let (first, last) = stripes(ask);
        let is_update = |other: &&Submitted| matches!(other.ask.what, What::Write | What::Trim);
        let mut others = self.under_way.iter().flatten().filter(is_update);
        others.all(|other| {
            let (other_first, other_last) = stripes(&other.ask);
            other_last < first || last < other_first
        })
    }

    /// The row whose delta was last read from this page of a log member.
    pub(crate) fn delta_row(&self, member: MemberNo, page: u32) -> Option<RowNo> {
        self.delta_rows.get(&(member, page)).copied()
    }

    /// Adds a line to the trace.
    pub(crate) fn trace(&mut self, line: impl FnOnce() -> String) {
        if let Some(tracer) = &mut self.tracer {
            tracer(self.event, &line());
        }
    }

    /// Hands the tracer to another host.
    pub(crate) fn take_tracer(&mut self) -> Option<Tracer> {
        self.tracer.take()
    }

    /// Takes the tracer over.
    pub(crate) fn give_tracer(&mut self, tracer: Option<Tracer>) {
        self.tracer = tracer;
    }

    /// The event, and the number of faults before it, from which faults may affect `ask`, which is about to be
    /// submitted. A write that joins one in flight depends on the reads of that one.
    fn neighbours_of(&self, ask: &Ask) -> (u64, usize) {
        let mut since = (self.event, self.faults);
        if self.joins && ask.what == What::Write {
            let touches = |other: &&Submitted| {
                other.ask.what == What::Write
                    && other.ask.sector < ask.sector + ask.sectors + PAGE_SECTORS
                    && ask.sector < other.ask.sector + other.ask.sectors + PAGE_SECTORS
            };
            for other in self.under_way.iter().flatten().filter(touches) {
                since = (since.0.min(other.event), since.1.min(other.faults_before));
            }
        }
        since
    }

    fn submit(&mut self, ask: Ask) -> (Submitted, Box<[u8]>) {
        let sectors = ask.sector..ask.sector + ask.sectors;
        let bytes = ask.sectors as usize * SECTOR;
        let (event, faults_before) = self.neighbours_of(&ask);
        let mut request =
            Submitted { ask, update: 0, open: Vec::new(), floors: Vec::new(), faults_before, event };
        let mut payload = Box::default();
        match ask.what {
            What::Read => {
                request.floors = sectors.map(|sector| self.model.floor(sector)).collect();
                payload = vec![UNFILLED; bytes].into();
            }
            What::Write => {
                request.update = self.model.write(ask.sector, ask.sectors);
                payload = vec![0; bytes].into();
                fill(&mut payload, ask.sector, request.update);
            }
            What::Trim => request.update = self.model.trim(ask.sector, ask.sectors),
            What::Flush => {
                request.update = self.model.next_update() - 1;
                let is_update = |other: &&Submitted| matches!(other.ask.what, What::Write | What::Trim);
                let under_way = self.under_way.iter().flatten().filter(is_update);
                request.open = under_way.map(|other| other.update).collect();
                request.floors =
                    (0..self.model.sectors()).map(|sector| self.model.promised(sector)).collect();
            }
        }
        (request, payload)
    }

    /// Compares the result of a read with the model.
    fn check(&mut self, request: &Submitted, payload: &[u8]) -> Result<(), String> {
        for ((sector, bytes), floor) in
            (request.ask.sector..).zip(payload.chunks_exact(SECTOR)).zip(&request.floors)
        {
            let found = Found::of(bytes);
            self.model.check(sector, found, *floor)?;
            self.model.seen(sector, found);
        }
        Ok(())
    }

    /// Records the rows whose deltas `plan` reads.
    fn note_deltas(&mut self, plan: &PlanView<'_>) {
        let operations = plan.steps().iter().flat_map(|&step| plan.operations(step));
        let is_delta = |operation: &Operation| !operation.member.is_within(self.geometry.members);
        let is_read = |operation: &Operation| operation.kind == OperationKind::Read && is_delta(operation);
        let mut any = false;
        for operation in operations.filter(is_read) {
            any = true;
            self.delta_rows.insert((operation.member, operation.page), plan.row);
        }
        match plan.purpose {
            Purpose::Read => self.seen.folds[0] += u64::from(any),
            Purpose::Write => self.seen.folds[1] += u64::from(any),
            Purpose::Parity => self.seen.folds[2] += u64::from(any),
            _ => {}
        }
    }

    fn broke(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }
}

impl Host<PageMemory> for Player {
    const OBSERVES: bool = true;

    fn next(&mut self, now: Nanos) -> Next {
        if self.refused.is_some() {
            return Next::At(now);
        }
        match self.asks.get(self.next) {
            None => Next::End,
            Some(_) if self.count >= self.depth => Next::Waiting,
            Some(_) => Next::At(self.due.max(now)),
        }
    }

    fn take(&mut self, now: Nanos) -> (HostRequest, Box<[u8]>) {
        let (host, payload) = self.refused.take().unwrap_or_else(|| {
            let ask = self.asks[self.next];
            self.next += 1;
            self.due = now + self.asks.get(self.next).map_or(0, |ask| ask.gap_ns);
            let (request, payload) = self.submit(ask);
            let update = if ask.what == What::Flush { 0 } else { request.update };
            self.under_way.push(Some(request));
            let tag = self.under_way.len() as u64 - 1;
            self.trace(|| match update {
                0 => format!("{now} ns: request {tag}: {}", words(&ask)),
                _ => format!("{now} ns: request {tag}: {}, update {update}", words(&ask)),
            });
            let kind = match ask.what {
                What::Read => RequestKind::Read,
                What::Write => RequestKind::Write,
                What::Trim => RequestKind::Trim,
                What::Flush => RequestKind::Flush,
            };
            let bytes = if ask.what == What::Flush { 0 } else { ask.sectors as u32 * SECTOR as u32 };
            (HostRequest { tag, arrival: now, offset: ask.sector * SECTOR as u64, bytes, kind }, payload)
        });
        self.count += 1;
        (HostRequest { arrival: now, ..host }, payload)
    }

    /// Under the policy `custom`: RMW, RCW and no choice in turn.
    fn choose(&mut self, choice: &Choice<'_>, _: &dyn MemberLoad) -> Option<Routine> {
        match (choice.row.number() + choice.updated) % 3 {
            0 => Some(Routine::Rmw),
            1 => Some(Routine::Rcw),
            _ => None,
        }
    }

    fn refused(&mut self, request: HostRequest, payload: Box<[u8]>, error: SubmitError) {
        if error != SubmitError::Busy {
            self.broke(format!("request {} was refused: {error}", request.tag));
        }
        self.count -= 1;
        self.seen.refused += 1;
        self.refused = Some((request, payload));
    }

    fn acknowledged(&mut self, now: Nanos, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        let Acknowledgement { tag, failed, no_space, .. } = *acknowledgement;
        let Some(request) = self.under_way[tag as usize].take() else {
            return self.broke(format!("request {tag} was acknowledged twice"));
        };
        self.count -= 1;
        self.trace(|| format!("{now} ns: request {tag} {}", if failed { "failed" } else { "succeeded" }));
        if failed {
            self.seen.failed += 1;
            self.seen.no_space += u64::from(no_space);
        } else {
            self.seen.succeeded += 1;
            match request.ask.what {
                What::Read => {
                    if let Err(what) = self.check(&request, &payload) {
                        self.broke(format!("request {tag}, {}: {what}", words(&request.ask)));
                    }
                }
                What::Write | What::Trim => self.model.acknowledged(request.update),
                What::Flush => self.model.flushed(&request.floors),
            }
        }
        self.ended.push(AcknowledgedRequest { tag, request, failed, no_space });
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        if plan.lock == RowLock::Exclusive {
            self.begun.insert(plan.row, self.changes);
        }
        match plan.purpose {
            Purpose::Read => {
                let lock = match plan.lock {
                    RowLock::None => 0,
                    RowLock::Shared => 1,
                    RowLock::Exclusive | RowLock::SharedWrite | RowLock::SharedParity => 2,
                };
                self.seen.reads[lock] += 1;
            }
            Purpose::Write | Purpose::Parity => {
                let routine = match plan.decision.routine {
                    Routine::Plain => 0,
                    Routine::FullStripe | Routine::ShortStripe => 1,
                    Routine::Rmw => 2,
                    Routine::Rcw => 3,
                    Routine::Reconstruct => 4,
                    Routine::Log => 5,
                };
                self.seen.routines[routine] += 1;
            }
            Purpose::Summary
            | Purpose::Commit
            | Purpose::Rebuild
            | Purpose::RepairSummary
            | Purpose::ReadSummary
            | Purpose::Scrub
            | Purpose::Discard
            | Purpose::JournalWrite
            | Purpose::JournalReclaim
            | Purpose::WriteSuperblocks
            | Purpose::Inspect => {}
            Purpose::Resync => self.seen.resyncs += 1,
            Purpose::Redo => self.seen.redone += 1,
            Purpose::Trim | Purpose::Flush | Purpose::Destage => self.seen.others += 1,
            Purpose::Append => {
                self.seen.log[0] += 1;
                let operations = plan.steps().iter().flat_map(|&step| plan.operations(step));
                let event = self.event;
                self.appended.extend(operations.map(|operation| ((operation.member, operation.page), event)));
            }
            Purpose::Merge => self.seen.log[1] += 1,
            Purpose::Collect => self.seen.log[2] += 1,
        }
        self.note_deltas(plan);
        if let Some(tracer) = &mut self.tracer {
            let text = explain::explain(plan, &self.geometry);
            tracer(self.event, &format!("plan {}: {}", plan.id, text.trim_end()));
        }
    }
}

/// A request in words.
pub(crate) fn words(ask: &Ask) -> String {
    let what = match ask.what {
        What::Read => "read of",
        What::Write => "write of",
        What::Trim => "trim of",
        What::Flush => return "flush".into(),
    };
    match ask.sectors {
        1 => format!("{what} sector {}", ask.sector),
        _ => format!("{what} sectors {} to {}", ask.sector, ask.sector + ask.sectors - 1),
    }
}
