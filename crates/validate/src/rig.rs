//! The rig of the checks: a run that starts from a short description of a device and a scheme.

use anyhow::Context;
use stripewise_array::{MemberNo, NoMemory, Scheme};
use stripewise_base::Nanos;
use stripewise_base::units::{Bytes, Span};
use stripewise_flash::spec::{Choice, Domain, GcSpec, Geometry, Isolation, Pool, Scheduling, Timing};
use stripewise_flash::spec::{FtlSpec, LinkUnit, Victim, Watermark};
use stripewise_flash::{DeviceSpec, Flash, Order, Share};
use stripewise_sim::tables::{GcRow, RequestRow, SampleRow, Sink};
use stripewise_sim::{ClassCounts, Layout, Pacing, Replay, RunConfig, Simulation, Totals, run_on};
use stripewise_trace::Source;

use crate::bend::Bend;
use crate::check::Lab;

/// Only striping: the scheme for a single member. Queues in the controller are served in order of arrival.
pub(crate) const ALONE: &str = "name = 'alone'\n[geometry]\nlevel = 'raid0'\n[dispatch]\norder = 'arrival'\n";

/// Zero times, for costs that a check ignores.
pub(crate) const NO_TIME: Timing = Timing {
    read: Span(0),
    program: Span(0),
    erase: Span(0),
    bus: stripewise_flash::Rate::INSTANT,
    read_command: Span(0),
    program_command: Span(0),
    erase_command: Span(0),
    host_link: stripewise_flash::Rate::INSTANT,
    host_link_command: Span(0),
    host_link_unit: LinkUnit::Page,
    host_link_per_command: Span(0),
};

/// One channel with one chip of one die of one plane, where nothing can overlap.
pub(crate) const ONE_DIE: Geometry = Geometry {
    channels: 1,
    chips: 1,
    dies: 1,
    planes: 1,
    blocks: 64,
    pages: 64,
    page_bytes: Bytes(4096),
    spare_bytes: Bytes(0),
};

/// A plain device: first come, first served; greedy collection at one free block; half of it exported.
pub(crate) fn device(geometry: Geometry, timing: Timing) -> DeviceSpec {
    DeviceSpec {
        name: "validation".into(),
        geometry,
        timing,
        ftl: FtlSpec {
            over_provisioning: Share(500_000),
            order: Order::default(),
            pool: Pool::Plane,
            choice: Choice::RoundRobin,
            summary_page: None,
            streams: 1,
            isolation: Isolation::Initial,
        },
        scheduling: Scheduling { read_priority: false, window: 1 << 16, ..Scheduling::default() },
        gc: GcSpec::new(Victim::Greedy, Watermark::BlockCount(1), Domain::Die),
        suspend: None,
        ldpc: None,
        wear: None,
        age: None,
    }
}

/// A run without its requests.
#[derive(Clone, Debug)]
pub(crate) struct Rig {
    /// The configuration that decides it.
    pub(crate) config: RunConfig,
    /// Whether cell times of reads are exponential.
    pub(crate) draws_reads: bool,
    lies: Option<Bend>,
}

impl Rig {
    /// `members` (as `ssd:1`) of `device` under `scheme` (TOML), with the flaw that the lab requests.
    ///
    /// # Errors
    /// An invalid device, members or scheme.
    pub(crate) fn new(
        lab: &Lab,
        mut device: DeviceSpec,
        members: &str,
        scheme: &str,
    ) -> anyhow::Result<Self> {
        let mut scheme = Scheme::from_toml("scheme", scheme)?;
        if let Some(bend) = lab.bend {
            bend.device(&mut device);
            bend.scheme(&mut scheme);
        }
        let members: Layout = members.parse().map_err(anyhow::Error::msg)?;
        let config = RunConfig { seed: lab.seed, ..RunConfig::new(scheme, device, members) };
        Ok(Self {
            config,
            draws_reads: false,
            lies: lab.bend.filter(|bend| matches!(bend, Bend::LostNanosecond | Bend::DoubledLatency)),
        })
    }

    /// The same rig with `depth` requests in flight.
    pub(crate) fn closed(mut self, depth: u32) -> Self {
        self.config.pacing = Pacing::Closed { depth };
        self
    }

    /// The same rig without the first `requests` in any figure.
    pub(crate) fn warm(mut self, requests: u64) -> Self {
        self.config.warmup_requests = requests;
        self
    }

    /// Bytes of the array.
    ///
    /// # Errors
    /// When the device and the scheme do not fit.
    pub(crate) fn capacity(&self) -> anyhow::Result<u64> {
        Ok(stripewise_sim::capacity(&self.config)?)
    }

    /// Runs the requests.
    ///
    /// # Errors
    /// The error that ended the run early.
    pub(crate) fn run(&self, source: &mut dyn Source, sink: &mut dyn Sink) -> anyhow::Result<Totals> {
        let RunConfig { device, members, seed, precondition, .. } = &self.config;
        let mut flash = Flash::new(device, members.level, members.devices, *seed)?;
        precondition.apply(&mut flash, *seed);
        if self.draws_reads {
            flash.draw_read_times(*seed);
        }
        let sink: &mut dyn Sink = match self.lies {
            Some(lie) => &mut Liar { lie, sink },
            None => sink,
        };
        run_on(flash, &self.config, source, sink, &mut |_| true).context("the run ended early")
    }
}

impl Rig {
    /// Runs the requests, loses `member` at `lost_at`, and returns the operations of each member after that.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_with_loss(
        &self,
        source: &mut dyn Source,
        member: MemberNo,
        lost_at: Nanos,
    ) -> anyhow::Result<Vec<ClassCounts>> {
        let RunConfig { device, members, seed, scheme, .. } = &self.config;
        let flash = Flash::new(device, members.level, members.devices, *seed)?;
        let page_bytes = u32::try_from(device.geometry.page_bytes.0)?;
        let mut sink = ();
        let replay =
            Replay::new(source, Pacing::default(), flash.shape().members, u64::MAX, 0, false, &mut sink);
        let mut simulation = Simulation::new(scheme, flash, page_bytes, NoMemory, replay)?;
        while simulation.now() < lost_at && simulation.step() {}
        simulation.fail_member(member);
        let before = simulation.world.counts.clone();
        simulation.run();
        let mut counts = simulation.world.counts.clone();
        for (of, before) in counts.iter_mut().zip(&before) {
            of.iter_mut().zip(before).for_each(|(count, before)| *count -= before);
        }
        Ok(counts)
    }
}

/// Passes rows on, with false latencies.
struct Liar<'a> {
    lie: Bend,
    sink: &'a mut dyn Sink,
}

impl Sink for Liar<'_> {
    fn request(&mut self, row: &RequestRow) {
        let latency_ns =
            if self.lie == Bend::DoubledLatency { 2 * row.latency_ns } else { row.latency_ns + 1 };
        self.sink.request(&RequestRow { latency_ns, ..*row });
    }

    fn sample(&mut self, row: &SampleRow) {
        self.sink.sample(row);
    }

    fn gc(&mut self, row: &GcRow) {
        self.sink.gc(row);
    }
}
