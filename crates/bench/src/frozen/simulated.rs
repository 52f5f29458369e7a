//! Short runs in simulation.

use std::cell::RefCell;
use std::fmt::Debug;

use anyhow::Result;
use stripewise_array::update::{Choice, ParityUpdate, Routine};
use stripewise_array::{
    Acknowledgement, HostRequest, MemberLoad, MemberNo, NoMemory, Operation, OperationKind, PlanView, Scheme,
    SubmitError,
};
use stripewise_base::Nanos;
use stripewise_base::units::Span;
use stripewise_engine::PlanRecord;
use stripewise_flash::{DeviceSpec, Flash, Level};
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, RequestRow, SampleRow, Sink, UpdateRow};
use stripewise_sim::{Host, Layout, Next, Replay, RunConfig, Simulation, run};

use crate::digests::{Hasher, Key};
use crate::workload::Workload;

/// Devices that differ in what the controller uses of them: channels with slow reads of old blocks, SSDs whose collection can be
/// interrupted, and SSDs with streams.
/// Each with its number of blocks of a plane: as few as it can work with.
const DEVICES: [(&str, Level, u32); 3] = [
    ("ssdsim-5+1-ldpc", Level::Channel, 32),
    ("paper003-preemptive", Level::Ssd, 32),
    ("paper001-fdp", Level::Ssd, 96),
];
const CONDITIONS: [&str; 3] = ["intact", "trims", "degraded"];
const REQUESTS: u32 = 4_000;
/// Numbers of members: the first over which a scheme runs is taken. The last is for schemes of eight groups.
const MEMBERS: [u32; 3] = [6, 7, 32];

/// The runs of `scheme`.
pub(crate) fn keys(scheme: &'static str) -> impl Iterator<Item = Key> {
    let of = move |(device, ..): (&'static str, Level, u32)| {
        CONDITIONS
            .into_iter()
            .flat_map(move |condition| [1, 2].map(|seed| Key { scheme, device, condition, seed }))
    };
    DEVICES.into_iter().flat_map(of)
}

/// The digest of a run, or the reason why the scheme cannot run over this device.
pub(crate) fn digest(key: &Key) -> Result<String> {
    let config = config(key)?;
    let bytes = match stripewise_sim::capacity(&config) {
        Ok(capacity) => capacity / 10 * 7,
        Err(error) => return Ok(format!("refused: {error}")),
    };
    let source = Workload::new(key.seed, REQUESTS, bytes, key.condition == "trims");
    if key.condition == "degraded" { degraded(&config, source) } else { tables(&config, source) }
}

/// Small devices that hold 70 % of what they can.
fn config(key: &Key) -> Result<RunConfig> {
    let (_, level, blocks) =
        DEVICES.into_iter().find(|&(name, ..)| name == key.device).expect("a key names one of them");
    let over = |members: u32| -> Result<RunConfig> {
        let mut device = DeviceSpec::preset(key.device)?;
        device.geometry.blocks = blocks;
        let mut layout = Layout { level, devices: members };
        if level == Level::Channel {
            device.geometry.channels = members;
            layout.devices = 1;
        }
        Ok(RunConfig {
            precondition: "steady:70%".parse().expect("a state"),
            // One seed with a fixed number of requests in flight, one with the times of the requests.
            pacing: if key.seed == 1 { "closed:16" } else { "open:1" }.parse().expect("a pacing"),
            seed: key.seed,
            warmup_requests: u64::from(REQUESTS) / 10,
            sample_every: Span(10_000_000),
            request_rows: true,
            gc_rows: true,
            ..RunConfig::new(Scheme::preset(key.scheme)?, device, layout)
        })
    };
    let runs = |config: &RunConfig| stripewise_sim::capacity(config).is_ok();
    let fitting = MEMBERS.into_iter().find(|&members| over(members).is_ok_and(|config| runs(&config)));
    over(fitting.unwrap_or(MEMBERS[0]))
}

/// A run as users make it: all rows of all tables, and the totals.
fn tables(config: &RunConfig, mut source: Workload) -> Result<String> {
    let hasher = RefCell::new(Hasher::default());
    let totals = run(config, &mut source, &mut Rows(&hasher), &mut |_| true)?;
    let mut hasher = hasher.into_inner();
    hasher.add(&totals.figures());
    hasher.add(&totals.members);
    Ok(hasher.digest())
}

/// A run in which as many members fail as parity tolerates, one after the other: all rows of requests and updates, all
/// operations, and all plans.
fn degraded(config: &RunConfig, mut source: Workload) -> Result<String> {
    let hasher = RefCell::new(Hasher::default());
    let Layout { level, devices } = config.members;
    let mut flash = Flash::<()>::new(&config.device, level, devices, config.seed)?;
    config.precondition.apply_while(&mut flash, config.seed, &mut || true);
    let page_bytes = config.device.geometry.page_bytes.0 as u32;
    let mut sink = Rows(&hasher);
    let replay = Replay::new(
        &mut source,
        config.pacing,
        flash.shape().members,
        u64::MAX,
        config.warmup_requests,
        true,
        &mut sink,
    );
    let host = Watching { replay, hasher: &hasher, acknowledged: 0 };
    let mut simulation = Simulation::new(&config.scheme, flash, page_bytes, NoMemory, host)?;
    let pages = simulation.array.capacity() / u64::from(page_bytes);
    simulation.array.assume_written(config.precondition.pages(pages));
    for (member, share) in [(1, 3), (4, 2)] {
        while simulation.world.host.acknowledged < u64::from(REQUESTS / share) && simulation.step() {}
        if simulation.array.tolerates_loss_of(MemberNo::new(member)) {
            simulation.fail_member(MemberNo::new(member));
        }
    }
    simulation.run();
    simulation.drain();
    let end = (simulation.now(), simulation.array.is_quiet(), &simulation.world.counts);
    hasher.borrow_mut().add(&end);
    drop(simulation);
    Ok(hasher.into_inner().digest())
}

/// Hashes the rows of tables.
struct Rows<'a>(&'a RefCell<Hasher>);

impl Rows<'_> {
    fn add(&self, row: &dyn Debug) {
        self.0.borrow_mut().add(row);
    }
}

impl Sink for Rows<'_> {
    fn request(&mut self, row: &RequestRow) {
        self.add(row);
    }
    fn sample(&mut self, row: &SampleRow) {
        self.add(row);
    }
    fn update(&mut self, row: &UpdateRow) {
        self.add(row);
    }
    fn gc(&mut self, row: &GcRow) {
        self.add(row);
    }
    fn latency(&mut self, row: &LatencyRow) {
        self.add(row);
    }
    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.add(row);
    }
}

/// A replay that also hashes plans and operations.
struct Watching<'a> {
    replay: Replay<'a>,
    hasher: &'a RefCell<Hasher>,
    acknowledged: u64,
}

impl Host<NoMemory> for Watching<'_> {
    const OBSERVES: bool = true;

    fn next(&mut self, now: Nanos) -> Next {
        self.replay.next(now)
    }
    fn take(&mut self, now: Nanos) -> (HostRequest, ()) {
        self.replay.take(now)
    }
    fn submitted(&mut self, busy_before: u32, busy_after: u32) {
        self.replay.submitted(busy_before, busy_after);
    }
    fn refused(&mut self, request: HostRequest, (): (), error: SubmitError) {
        self.hasher.borrow_mut().add(&(request, error));
        self.replay.refused(request, (), error);
    }
    fn acknowledged(&mut self, now: Nanos, acknowledgement: &Acknowledgement, (): ()) {
        self.acknowledged += 1;
        self.hasher.borrow_mut().add(&(now, acknowledgement));
        self.replay.acknowledged(now, acknowledgement, ());
    }
    fn operated(&mut self, operation: &Operation, latency_ns: Nanos) {
        // Operations that move no page have an order of their own.
        if matches!(operation.kind, OperationKind::Read | OperationKind::Write) {
            self.hasher.borrow_mut().add(&(operation, latency_ns));
        }
        self.replay.operated(operation, latency_ns);
    }
    fn planned(&mut self, plan: &PlanView<'_>) {
        self.hasher.borrow_mut().add(&PlanRecord::from(plan));
    }
    fn updated(&mut self, update: &ParityUpdate) {
        self.replay.updated(update);
    }
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine> {
        self.replay.choose(choice, state)
    }
    fn next_arrival(
        &mut self,
        until: Nanos,
        is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        self.replay.next_arrival(until, is_meant)
    }
    fn preview(&mut self) -> &[u64] {
        self.replay.preview()
    }
}
