//! A run: one trace through one scheme on one device.

use serde::{Deserialize, Serialize};
use stripewise_array::cache::CacheCounts;
use stripewise_array::log::LogCounts;
use stripewise_array::read::ReadCounts;
use stripewise_array::zones::ZoneCounts;
use stripewise_array::{Class, Controller, NoMemory, RowWaits, Scheme};
use stripewise_base::Nanos;
use stripewise_base::units::Span;
use stripewise_flash::{ChooseBlock, DeviceSpec, Flash, Shape};
use stripewise_trace::Source;

use crate::error::RunError;
use crate::layout::Layout;
use crate::metrics::Metrics;
use crate::policies::Policies;
use crate::precondition::Precondition;
use crate::replay::{Pacing, Replay};
use crate::simulation::{ClassCounts, Host, Next, Simulation, members};
use crate::tables::{GcRow, MemberRow, SampleRow, Sink};
use crate::totals::{GcSlices, Totals, array_writes_of};

/// Everything that determines a run, except the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The array's members.
    #[serde(alias = "elements")]
    pub members: Layout,
    /// The state of the devices before the first request.
    #[serde(default)]
    pub precondition: Precondition,
    /// How requests are paced.
    pub pacing: Pacing,
    /// Requests at the start that are not counted: counters and tables begin with the arrival of the next request.
    pub warmup_requests: u64,
    /// The most requests to replay.
    pub limit_requests: u64,
    /// Seed of all random choices in the device.
    pub seed: u64,
    /// Length of the time slices that are counted by the number of collecting members; zero for none.
    #[serde(default = "gc_slice")]
    pub gc_slice: Span,
    /// Time between two samples of the members' state; zero for none.
    pub sample_every: Span,
    /// Whether the run records a row for every request.
    pub request_rows: bool,
    /// Whether the run records a row for every garbage collection.
    pub gc_rows: bool,
    /// The scheme.
    pub scheme: Scheme,
    /// The device.
    pub device: DeviceSpec,
}

/// The slice printed in paper 003, section 4.
pub const GC_SLICE: Span = Span(100_000);

fn gc_slice() -> Span {
    GC_SLICE
}

impl RunConfig {
    /// A whole trace at its own times over new devices, with seed 1 and no rows of single requests, collections or
    /// samples.
    pub fn new(scheme: Scheme, device: DeviceSpec, members: Layout) -> Self {
        Self {
            members,
            precondition: Precondition::default(),
            pacing: Pacing::default(),
            warmup_requests: 0,
            limit_requests: u64::MAX,
            seed: 1,
            gc_slice: GC_SLICE,
            sample_every: Span(0),
            request_rows: false,
            gc_rows: false,
            scheme,
            device,
        }
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests sent.
    pub requests: u64,
    /// Share of the trace that was read, if known.
    pub share: Option<f64>,
    /// Simulated time.
    pub now_ns: Nanos,
}

/// Events between two calls of the caller's `report`.
pub(crate) const EVENTS_PER_REPORT: u32 = 1 << 16;

/// The capacity in bytes of an array of `config`; traces must be folded onto it.
///
/// # Errors
/// If the device or the scheme is invalid.
pub fn capacity(config: &RunConfig) -> Result<u64, RunError> {
    let Layout { level, devices } = config.members;
    let shape = Shape::of_flash(&config.device, level, devices)?;
    let page_bytes = page_bytes(config);
    let geometry = config.scheme.resolve(&members(&config.device, &shape), false)?;
    Ok(config.scheme.pages(&geometry) * u64::from(page_bytes))
}

/// Runs `source`, which must already be folded onto the array's capacity, and passes rows to `sink` during the run.
/// Calls `report` with the progress, first during preconditioning and then from time to time. If `report` returns
/// false, the run stops.
///
/// # Errors
/// The error in the configuration, or the error that ended the trace early.
pub fn run(
    config: &RunConfig,
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Totals, RunError> {
    run_choosing(config, source, sink, Policies::default(), report)
}

/// [`run`] with `policies` for the choices that the scheme and the device leave to the user.
///
/// # Errors
/// As [`run`].
pub fn run_choosing<'a>(
    config: &RunConfig,
    source: &'a mut dyn Source,
    sink: &'a mut dyn Sink,
    mut policies: Policies<'a>,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Totals, RunError> {
    if let Some(key) = policies.missing(&config.scheme, &config.device) {
        return Err(RunError::NoPolicy { scheme: config.scheme.name.clone(), key });
    }
    let flash = prepared(config, policies.block.take(), report)?;
    replay_on(flash, config, source, sink, policies, report)
}

/// The device of `config`, preconditioned.
fn prepared(
    config: &RunConfig,
    chooser: Option<Box<dyn ChooseBlock>>,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Flash, RunError> {
    let Layout { level, devices } = config.members;
    let mut flash = Flash::<()>::new(&config.device, level, devices, config.seed)?;
    if let Some(chooser) = chooser {
        flash.install(chooser);
    }
    let mut may_continue = || report(Progress { requests: 0, share: Some(0.0), now_ns: 0 });
    if !config.precondition.apply_while(&mut flash, config.seed, &mut may_continue) {
        return Err(RunError::Stopped { requests: 0 });
    }
    Ok(flash)
}

/// [`run`] on flash that the caller created from `config.device` and prepared.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    flash: Flash,
    config: &RunConfig,
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Totals, RunError> {
    let policies = Policies::default();
    if let Some(key) = policies.missing(&config.scheme, &config.device) {
        return Err(RunError::NoPolicy { scheme: config.scheme.name.clone(), key });
    }
    replay_on(flash, config, source, sink, policies, report)
}

fn replay_on<'a>(
    mut flash: Flash,
    config: &RunConfig,
    source: &'a mut dyn Source,
    sink: &'a mut dyn Sink,
    policies: Policies<'a>,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Totals, RunError> {
    if config.gc_rows {
        flash.enable_gc_log();
    }
    if config.gc_slice.0 > 0 {
        flash.count_gc_slices(0, config.gc_slice.0);
    }
    let page_bytes = page_bytes(config);
    let replay = Replay::new(
        source,
        config.pacing,
        flash.shape().members,
        config.limit_requests,
        config.warmup_requests,
        config.request_rows,
        sink,
    )
    .choosing(policies.update);
    let mut simulation = Simulation::new(&config.scheme, flash, page_bytes, NoMemory, replay)?;
    simulation.array.install(policies.array);
    let pages = simulation.array.capacity() / u64::from(page_bytes);
    simulation.array.assume_written(config.precondition.pages(pages));
    let mut meter = Meter::new(&simulation, config);
    // Samples look at the flash between its own events, too.
    simulation.quiet_until = if config.sample_every.0 == 0 { Nanos::MAX } else { 0 };
    if !report(Progress { requests: 0, share: Some(0.0), now_ns: 0 }) {
        return Err(RunError::Stopped { requests: 0 });
    }
    loop {
        let mut is_moving = true;
        for _ in 0..EVENTS_PER_REPORT {
            meter.begin(&mut simulation);
            let arrival = simulation.arrive();
            meter.look(&mut simulation, arrival, report)?;
            if !simulation.advance(arrival) {
                is_moving = false;
                break;
            }
        }
        let replay = &mut simulation.world.host;
        if let Some(error) = replay.take_error() {
            return Err(error.into());
        }
        let replay = &simulation.world.host;
        let progress =
            Progress { requests: replay.sent(), share: replay.progress(), now_ns: simulation.now() };
        if !report(progress) {
            return Err(RunError::Stopped { requests: progress.requests });
        }
        if !is_moving {
            break;
        }
    }
    let written_before = array_writes_of(&meter.members(&simulation));
    simulation.drain();
    if !simulation.array.is_quiet() {
        return Err(RunError::Stuck { now_ns: simulation.now() });
    }
    meter.give_gc_rows(&mut simulation);
    meter.look_at_served(&simulation);
    let members = meter.members(&simulation);
    let drained_pages = array_writes_of(&members) - written_before;
    let requests = std::mem::replace(&mut simulation.world.host.metrics, Metrics::new(0, 0));
    requests.latencies(&mut |row| simulation.world.host.sink().latency(row));
    let gc_slices = GcSlices {
        slice_ns: config.gc_slice.0,
        by_collecting: simulation.world.flash.gc_slices(simulation.now()),
    };
    gc_slices.rows(&mut |row| simulation.world.host.sink().gc_slice(row));
    let cache = simulation.array.cache_counts().since(&meter.cache);
    let log = simulation.array.log_counts().since(&meter.log);
    let zones = simulation.array.zone_counts().since(&meter.zones);
    let reads = simulation.array.read_counts().since(&meter.reads);
    let rows = simulation.array.row_waits().since(&meter.rows);
    let memory = crate::totals::Memories {
        map_bytes: simulation.array.map_bytes(),
        zone_blocks: simulation.array.zone_map_blocks(),
        hotness_bytes: simulation.array.hotness_bytes(),
        persistent_bytes: simulation.array.persistent_bytes(),
        persistent_peak_bytes: meter.persistent_pages * u64::from(page_bytes)
            + simulation.array.persistent_map_bytes(),
    };
    let simulated_ns = simulation.now() - meter.began_ns;
    Ok(Totals {
        requests,
        members,
        cache,
        log,
        zones,
        reads,
        rows,
        memory,
        gc_slices,
        drained_pages,
        simulated_ns,
        page_bytes,
        dies_per_bus: simulation.world.flash.shape().dies_per_bus,
        is_open_loop: matches!(config.pacing, Pacing::Open { .. }),
    })
}

pub(crate) fn page_bytes(config: &RunConfig) -> u32 {
    u32::try_from(config.device.geometry.page_bytes.0).unwrap_or(u32::MAX)
}

type Timed<'a> = Simulation<NoMemory, (), Replay<'a>>;

/// Readings of a simulation while it runs.
struct Meter {
    warmup: u64,
    warm: bool,
    began_ns: Nanos,
    /// Operations by class at the end of warm-up.
    base: Vec<ClassCounts>,
    /// Counters of the write cache at that time.
    cache: CacheCounts,
    /// Counters of the log at that time.
    log: LogCounts,
    /// Counters of zones at that time.
    zones: ZoneCounts,
    /// Counters of redirected reads at that time.
    reads: ReadCounts,
    rows: RowWaits,
    arrivals: u64,
    served: u64,
    blocked: Vec<u64>,
    blocked_served: Vec<u64>,
    queue_max: Vec<u64>,
    /// The most pages of persistent memory in use since the end of warm-up, and whether the scheme has such memory.
    persistent_pages: u64,
    has_persistent: bool,
    sample_every: Nanos,
    next_sample: Nanos,
    sample_rows: u64,
    gc_rows: bool,
    looks: u32,
}

/// The largest number of sample rows of a run. Each takes a byte or more on disk.
pub const MOST_SAMPLE_ROWS: u64 = 1_000_000_000;
/// Samples between two calls of the caller's `report`.
const SAMPLES_PER_REPORT: u64 = 1 << 16;

/// Events between two times that the flash's log of garbage collections is drained.
const LOOKS_PER_GC_ROWS: u32 = 1 << 12;

impl Meter {
    fn new(simulation: &Timed<'_>, config: &RunConfig) -> Self {
        let count = simulation.world.counts.len();
        Self {
            warmup: config.warmup_requests,
            warm: config.warmup_requests == 0,
            began_ns: 0,
            base: simulation.world.counts.clone(),
            cache: CacheCounts::default(),
            log: LogCounts::default(),
            zones: ZoneCounts::default(),
            reads: ReadCounts::default(),
            rows: RowWaits::default(),
            arrivals: 0,
            served: 0,
            blocked: vec![0; count],
            blocked_served: vec![0; count],
            queue_max: vec![0; count],
            persistent_pages: 0,
            has_persistent: simulation.array.persistent_bytes() > 0,
            sample_every: config.sample_every.0,
            next_sample: 0,
            sample_rows: 0,
            gc_rows: config.gc_rows,
            looks: 0,
        }
    }

    /// Takes readings of the last event's consequences, before any request is sent. Ends the warm-up just before the
    /// first counted request is sent.
    #[inline]
    fn begin(&mut self, simulation: &mut Timed<'_>) {
        self.look_at_served(simulation);
        if !self.warm && simulation.world.host.arrivals >= self.warmup {
            self.begin_counting(simulation);
        }
    }

    fn begin_counting(&mut self, simulation: &mut Timed<'_>) {
        let now = simulation.now();
        if !matches!(simulation.world.host.next(now), Next::At(at) if at <= now) {
            return;
        }
        self.warm = true;
        self.began_ns = now;
        self.next_sample = now;
        self.base.clone_from(&simulation.world.counts);
        self.cache = simulation.array.cache_counts();
        self.log = simulation.array.log_counts();
        self.zones = simulation.array.zone_counts();
        self.reads = simulation.array.read_counts();
        self.rows = simulation.array.row_waits();
        simulation.world.flash.reset_counters(now);
        simulation.world.flash.drain_gc_log().for_each(drop);
    }

    /// Takes readings after arrivals and before the next event.
    #[inline]
    fn look(
        &mut self,
        simulation: &mut Timed<'_>,
        arrival: Option<Nanos>,
        report: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(), RunError> {
        let arrivals = simulation.world.host.arrivals;
        if arrivals != self.arrivals {
            // Counts the operations that an arriving request finds in the queues, including its own. This is a
            // choice, as in the public fork of the simulator of paper 000. Its section II-C counts after a request is
            // serviced.
            let new = arrivals - self.arrivals;
            self.arrivals = arrivals;
            if self.warm {
                self.count_blocked(simulation, new);
            }
        }
        if self.has_persistent && self.warm {
            self.persistent_pages = self.persistent_pages.max(simulation.array.persistent_pages_used());
        }
        if self.sample_every > 0 && self.warm {
            let until = simulation.next_time(arrival).unwrap_or(simulation.now());
            if self.next_sample < until {
                self.samples(simulation, until, report)?;
            }
        }
        self.looks = self.looks.wrapping_add(1);
        if self.gc_rows && self.looks.is_multiple_of(LOOKS_PER_GC_ROWS) {
            self.give_gc_rows(simulation);
        }
        Ok(())
    }

    /// Takes every sample that is due before `until`, unless there are too many or the run is to stop.
    fn samples(
        &mut self,
        simulation: &mut Timed<'_>,
        until: Nanos,
        report: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(), RunError> {
        let due = (until - self.next_sample).div_ceil(self.sample_every);
        self.sample_rows = self.sample_rows.saturating_add(due.saturating_mul(self.blocked.len() as u64));
        if self.sample_rows > MOST_SAMPLE_ROWS {
            return Err(RunError::Samples { every_ns: self.sample_every, until_ns: until });
        }
        for taken in 1..=due {
            self.sample(simulation);
            if taken.is_multiple_of(SAMPLES_PER_REPORT) {
                let replay = &simulation.world.host;
                let (requests, share) = (replay.sent(), replay.progress());
                if !report(Progress { requests, share, now_ns: self.next_sample }) {
                    return Err(RunError::Stopped { requests });
                }
            }
        }
        Ok(())
    }

    /// Counts the operations left in the queues by requests that were acknowledged meanwhile.
    #[inline]
    fn look_at_served(&mut self, simulation: &Timed<'_>) {
        let served = simulation.world.host.served;
        if served != self.served {
            let new = served - self.served;
            self.served = served;
            let loads = simulation.array.loads();
            let sides = loads.reads.iter().zip(&loads.writes);
            for (blocked, (reads, writes)) in self.blocked_served.iter_mut().zip(sides) {
                *blocked += u64::from(reads + writes) * new;
            }
        }
    }

    #[inline]
    fn count_blocked(&mut self, simulation: &Timed<'_>, arrivals: u64) {
        let loads = simulation.array.loads();
        let sides = loads.reads.iter().zip(&loads.writes);
        for ((blocked, max), (reads, writes)) in self.blocked.iter_mut().zip(&mut self.queue_max).zip(sides) {
            let queued = u64::from(reads + writes);
            *blocked += queued * arrivals;
            *max = (*max).max(queued);
        }
    }

    /// Takes a sample. The current state lasts until the next event, so it is also the state at the time of the
    /// sample.
    fn sample(&mut self, simulation: &mut Timed<'_>) {
        let time_ns = self.next_sample;
        self.next_sample = self.next_sample.saturating_add(self.sample_every);
        for member in 0..self.blocked.len() {
            let flash = &simulation.world.flash;
            let loads = simulation.array.loads();
            let row = SampleRow {
                time_ns,
                member: member as u32,
                reads: loads.reads[member],
                writes: loads.writes[member],
                collecting: u8::from(flash.is_collecting(member as u32)),
                free_pages: flash.estimate(member as u32).free_pages,
            };
            simulation.world.host.sink().sample(&row);
        }
    }

    fn give_gc_rows(&mut self, simulation: &mut Timed<'_>) {
        let world = &mut simulation.world;
        for gc in world.flash.drain_gc_log().filter(|_| self.warm) {
            world.host.sink().gc(&GcRow {
                member: gc.member,
                plane: gc.plane,
                block: gc.block,
                start_ns: gc.start_ns,
                end_ns: gc.end_ns,
                moved_pages: gc.moved_pages,
            });
        }
    }

    fn members(&self, simulation: &Timed<'_>) -> Vec<MemberRow> {
        let world = &simulation.world;
        let classes = world.counts.iter().zip(&self.base).enumerate();
        classes
            .map(|(member, (class, class_base))| {
                let flash = world.flash.counters(simulation.now(), member as u32);
                let operations = &world.host.metrics.operations[member];
                let of = |which: Class| class[which as usize] - class_base[which as usize];
                MemberRow {
                    member: member as u32,
                    host_read_pages: of(Class::HostRead),
                    host_write_pages: of(Class::HostWrite),
                    pre_read_pages: of(Class::PreRead),
                    parity_write_pages: of(Class::Parity),
                    log_write_pages: of(Class::Log),
                    array_gc_read_pages: of(Class::ArrayGcRead),
                    array_gc_write_pages: of(Class::ArrayGcWrite),
                    decode_read_pages: of(Class::Decode),
                    repair_write_pages: of(Class::Repair),
                    flash_read_pages: flash.flash_read_pages(),
                    flash_program_pages: flash.flash_program_pages(),
                    erase_blocks: flash.erase_blocks,
                    gc_move_pages: flash.gc_move_pages,
                    gc_stalls: flash.gc_stalls,
                    read_retries: flash.read_retries(),
                    permission_waits: flash.permission_waits,
                    permission_wait_ns: flash.permission_wait_ns,
                    suspends: flash.suspends,
                    wear_move_pages: flash.wear_move_pages,
                    unmapped_read_pages: flash.unmapped_reads,
                    trim_pages: flash.trims,
                    gc_busy_ns: flash.gc_busy_ns,
                    cell_busy_ns: flash.cell_busy_ns,
                    dies: world.flash.shape().dies_per_member,
                    busiest_die_ns: world.flash.dies_busy_ns(member as u32).max().unwrap_or(0),
                    bus_busy_ns: flash.bus_busy_ns,
                    blocked_sum: self.blocked[member],
                    blocked_sum_served: self.blocked_served[member],
                    queue_max: self.queue_max[member],
                    operation_mean_ns: operations.mean_ns(),
                    operation_p99_ns: operations.percentile_ns(9_900),
                    operation_p999_ns: operations.percentile_ns(9_990),
                }
            })
            .collect()
    }
}
