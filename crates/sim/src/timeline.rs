//! Records a window of a run: its requests, their operations, and the activity of every die over time.
//!
//! The event loop is that of [`crate::run`], with media that receive operations and phases of dies. A run without
//! recording has no overhead.

use stripewise_array::{
    Acknowledgement, Controller, HostRequest, NoMemory, Operation, OperationId, PlanView, RequestKind,
    SubmitError,
};
use stripewise_base::Nanos;
use stripewise_flash::{Flash, Media, Shape, Stretch};
use stripewise_trace::Source;

use crate::error::RunError;
use crate::replay::Replay;
use crate::run::{EVENTS_PER_REPORT, Progress, RunConfig, page_bytes};
use crate::simulation::{Content, Host, Next, Simulation};

/// A part of a run, as a time line.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Counts of members, buses and dies.
    pub shape: Shape,
    /// When the first request of the window was sent.
    pub begin_ns: Nanos,
    /// The latest end time in the record.
    pub end_ns: Nanos,
    /// Host requests of the window, in the order in which they were sent.
    pub requests: Vec<RequestSpan>,
    /// Operations on members that started in the window, in order of their starts.
    pub operations: Vec<OperationSpan>,
    /// Activity of dies for these operations, and for garbage collection, from the begin of the window.
    pub stretches: Vec<DieSpan>,
    /// Operations that joined another operation's stretch, on another plane: indices into `stretches` and
    /// `operations`.
    pub joined: Vec<(u32, u32)>,
}

/// A host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// Position in the trace, from 0.
    pub index: u64,
    /// The kind of request.
    pub kind: RequestKind,
    /// First byte on the array.
    pub offset_bytes: u64,
    /// Length.
    pub size_bytes: u32,
    /// Arrival.
    pub arrival_ns: Nanos,
    /// Acknowledgement.
    pub acknowledged_ns: Nanos,
    /// Whether it failed.
    pub failed: bool,
}

/// An operation on a page of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationSpan {
    /// The operation, its place and its purpose.
    pub operation: Operation,
    /// When it entered its member's queue.
    pub queued_ns: Nanos,
    /// When its member accepted it.
    pub started_ns: Nanos,
    /// When it was done.
    pub ended_ns: Nanos,
    /// The requests that its plan serves, as indices into [`Timeline::requests`].
    pub requests: Vec<u32>,
}

/// One activity of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieSpan {
    /// The activity, its time and its place.
    pub stretch: Stretch,
    /// The operation, as an index into [`Timeline::operations`]; `None` for garbage collection, and for operations
    /// that started before the window.
    pub operation: Option<u32>,
}

/// No index.
const NOWHERE: u32 = u32::MAX;

/// Media that record, once enabled.
#[derive(Debug, Default)]
struct Recorder {
    records: bool,
    operations: Vec<OperationSpan>,
    stretches: Vec<DieSpan>,
    joined: Vec<(u32, u32)>,
    /// By die: the index of its last stretch.
    last: Vec<u32>,
    /// By operation in flight: its index.
    places: Vec<u32>,
    /// Operations that started since the last attribution.
    fresh: Vec<OperationId>,
}

impl Recorder {
    fn place(&self, id: OperationId) -> Option<u32> {
        self.places.get(id.index()).copied().filter(|&place| place != NOWHERE)
    }

    /// The index of the last stretch of a die, if there was one in the window.
    fn last_of(&self, die: u32) -> Option<u32> {
        self.last.get(die as usize).copied().filter(|&place| place != NOWHERE)
    }
}

impl Media for Recorder {
    const RECORDS: bool = true;

    fn stretch(&mut self, stretch: &Stretch) {
        if self.records {
            let operation = stretch.token.and_then(|token| self.place(OperationId::new(token)));
            if self.last.len() <= stretch.die as usize {
                self.last.resize(stretch.die as usize + 1, NOWHERE);
            }
            self.last[stretch.die as usize] = self.stretches.len() as u32;
            self.stretches.push(DieSpan { stretch: *stretch, operation });
        }
    }

    fn suspended(&mut self, die: u32, left: Nanos) {
        if let Some(last) = self.last_of(die) {
            self.stretches[last as usize].stretch.cell_ns -= left;
        }
    }

    fn joined(&mut self, die: u32, token: u32) {
        if let (Some(last), Some(operation)) = (self.last_of(die), self.place(OperationId::new(token))) {
            self.joined.push((last, operation));
        }
    }
}

impl Content<NoMemory> for Recorder {
    fn stage(&mut self, _: OperationId, _: u32, _: &NoMemory) {}

    fn fetch(&mut self, _: OperationId, _: u32, _: &mut NoMemory) {}

    fn started(&mut self, now: Nanos, id: OperationId, operation: &Operation) {
        if self.records {
            if self.places.len() <= id.index() {
                self.places.resize(id.index() + 1, NOWHERE);
            }
            self.places[id.index()] = self.operations.len() as u32;
            self.operations.push(OperationSpan {
                operation: *operation,
                queued_ns: now,
                started_ns: now,
                ended_ns: now,
                requests: Vec::new(),
            });
            self.fresh.push(id);
        }
    }

    fn ended(&mut self, now: Nanos, id: OperationId) {
        if let Some(place) = self.place(id) {
            self.operations[place as usize].ended_ns = now;
            self.places[id.index()] = NOWHERE;
        }
    }
}

/// A replay whose requests are recorded.
struct Watched<'a> {
    replay: Replay<'a>,
    /// Position in the trace from which requests are recorded.
    from: u64,
    requests: Vec<RequestSpan>,
    /// By tag of a request in flight: its index.
    places: Vec<u32>,
    /// By plan: the requests that it serves.
    plans: Vec<Vec<u32>>,
}

impl Watched<'_> {
    fn place(&self, tag: u64) -> Option<u32> {
        self.places.get(tag as usize).copied().filter(|&place| place != NOWHERE)
    }
}

impl Host<NoMemory> for Watched<'_> {
    const OBSERVES: bool = true;

    fn next(&mut self, now: Nanos) -> Next {
        self.replay.next(now)
    }

    fn take(&mut self, now: Nanos) -> (HostRequest, ()) {
        let index = self.replay.sent();
        let (request, ()) = self.replay.take(now);
        let tag = request.tag as usize;
        if self.places.len() <= tag {
            self.places.resize(tag + 1, NOWHERE);
        }
        self.places[tag] = NOWHERE;
        if index >= self.from {
            self.places[tag] = self.requests.len() as u32;
            self.requests.push(RequestSpan {
                index,
                kind: request.kind,
                offset_bytes: request.offset,
                size_bytes: request.bytes,
                arrival_ns: request.arrival,
                acknowledged_ns: request.arrival,
                failed: false,
            });
        }
        (request, ())
    }

    fn refused(&mut self, request: HostRequest, payload: (), error: SubmitError) {
        // The request will be sent again.
        if self.place(request.tag).is_some() {
            self.requests.pop();
            self.places[request.tag as usize] = NOWHERE;
        }
        self.replay.refused(request, payload, error);
    }

    fn acknowledged(&mut self, now: Nanos, acknowledgement: &Acknowledgement, payload: ()) {
        if let Some(place) = self.place(acknowledgement.tag) {
            let request = &mut self.requests[place as usize];
            (request.acknowledged_ns, request.failed) = (acknowledgement.at, acknowledgement.failed);
            self.places[acknowledgement.tag as usize] = NOWHERE;
        }
        self.replay.acknowledged(now, acknowledgement, payload);
    }

    fn operated(&mut self, operation: &Operation, latency_ns: Nanos) {
        self.replay.operated(operation, latency_ns);
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        let id = plan.id.index();
        if self.plans.len() <= id {
            self.plans.resize(id + 1, Vec::new());
        }
        self.plans[id].clear();
    }
}

/// Runs the first `from + count` requests of `source` as [`crate::run`] does, and records from request `from` until
/// all are done. The record takes about 300 bytes per operation. Calls `report` with the progress; if `report`
/// returns false, the run ends.
///
/// # Errors
/// As [`crate::run`].
pub fn timeline(
    config: &RunConfig,
    source: &mut dyn Source,
    (from, count): (u64, u64),
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Timeline, RunError> {
    let (level, devices) = (config.members.level, config.members.devices);
    let mut flash = Flash::with_media(&config.device, level, devices, config.seed, Recorder::default())?;
    let mut may_continue = || report(Progress { requests: 0, share: Some(0.0), now_ns: 0 });
    if !config.precondition.apply_while(&mut flash, config.seed, &mut may_continue) {
        return Err(RunError::Stopped { requests: 0 });
    }
    let limit = from.saturating_add(count).min(config.limit_requests);
    let mut sink = ();
    let members = flash.shape().members;
    let replay = Replay::new(source, config.pacing, members, limit, 0, false, &mut sink);
    let host = Watched { replay, from, requests: Vec::new(), places: Vec::new(), plans: Vec::new() };
    let mut simulation = Simulation::new(&config.scheme, flash, page_bytes(config), NoMemory, host)?;
    let pages = simulation.array.capacity() / u64::from(page_bytes(config));
    simulation.array.assume_written(config.precondition.pages(pages));
    let mut begin_ns = None;
    loop {
        let mut is_moving = true;
        for _ in 0..EVENTS_PER_REPORT {
            if begin_ns.is_none() && simulation.world.host.replay.sent() >= from {
                begin_ns = begin(&mut simulation);
            }
            let arrival = simulation.arrive();
            attribute(&mut simulation);
            if !simulation.advance(arrival) {
                is_moving = false;
                break;
            }
            attribute(&mut simulation);
        }
        if let Some(error) = simulation.world.host.replay.take_error() {
            return Err(error.into());
        }
        let requests = simulation.world.host.replay.sent();
        if !report(Progress { requests, share: None, now_ns: simulation.now() }) {
            return Err(RunError::Stopped { requests });
        }
        if !is_moving {
            break;
        }
    }
    simulation.drain();
    attribute(&mut simulation);
    if !simulation.array.is_quiet() {
        return Err(RunError::Stuck { now_ns: simulation.now() });
    }
    let shape = *simulation.world.flash.shape();
    let recorder = std::mem::take(simulation.world.flash.media_mut());
    let requests = std::mem::take(&mut simulation.world.host.requests);
    let begin_ns = begin_ns.unwrap_or(simulation.now());
    let end = |span: &DieSpan| span.stretch.start_ns + span.stretch.bus_ns + span.stretch.cell_ns;
    let ends = recorder.stretches.iter().map(end);
    let ends = ends.chain(recorder.operations.iter().map(|operation| operation.ended_ns));
    let end_ns = ends.chain(requests.iter().map(|request| request.acknowledged_ns)).max().unwrap_or(begin_ns);
    let Recorder { operations, stretches, joined, .. } = recorder;
    Ok(Timeline { shape, begin_ns, end_ns, requests, operations, stretches, joined })
}

type Recorded<'a> = Simulation<NoMemory, Recorder, Watched<'a>>;

/// Begins to record when the next request is due; `None` until then.
fn begin(simulation: &mut Recorded<'_>) -> Option<Nanos> {
    let now = simulation.now();
    let Next::At(at) = simulation.world.host.next(now) else { return None };
    if at > now {
        return None;
    }
    simulation.world.flash.media_mut().records = true;
    Some(now)
}

/// Determines the requests that newly started operations serve.
fn attribute(simulation: &mut Recorded<'_>) {
    let fresh = std::mem::take(&mut simulation.world.flash.media_mut().fresh);
    for &id in &fresh {
        let plan = simulation.array.plan_of(id);
        let nth = plan.index();
        let host = &mut simulation.world.host;
        if host.plans.len() <= nth {
            host.plans.resize(nth + 1, Vec::new());
        }
        // Requests that were acknowledged meanwhile no longer belong to the plan.
        for tag in simulation.array.hosts_of(plan) {
            if let Some(place) = host.place(tag)
                && !host.plans[nth].contains(&place)
            {
                host.plans[nth].push(place);
            }
        }
        let requests = host.plans[nth].clone();
        let queued_ns = simulation.array.queued_at(id);
        let recorder = simulation.world.flash.media_mut();
        if let Some(place) = recorder.place(id) {
            let operation = &mut recorder.operations[place as usize];
            (operation.requests, operation.queued_ns) = (requests, queued_ns);
        }
    }
    // The list keeps its memory.
    let recorder = simulation.world.flash.media_mut();
    recorder.fresh = fresh;
    recorder.fresh.clear();
}
