//! What `compare` and `run` share: the settings of a study, its runs on several threads, and the store of
//! results.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use stripewise_array::{PRESETS as SCHEMES, Scheme};
use stripewise_base::units::{Count, Span};
use stripewise_flash::spec::PRESETS as DEVICES;
use stripewise_flash::{DeviceSpec, State};
use stripewise_results::summary::CPU_NS;
use stripewise_results::{Figure, Figures, FinishedRun, RunInputs, Store, Table};
use stripewise_sim::{Layout, Pacing, Precondition, RunConfig, capacity};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::named::{self, Document};
use crate::overlay::{self, Setting, Target};
use crate::progress::{Line, Progress};
use crate::workload::{Workload, WorkloadArgs};
use crate::{device, human, interrupt};

/// The device of the main job.
pub(crate) const DEFAULT_DEVICE: &str = "ssdsim-5+1";

/// The settings that all runs of a study share.
#[derive(Clone, Debug, Args)]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,

    /// When requests are sent: `open[:SPEED-UP]`, `closed:DEPTH` or `think:USERS,TIME` [default: open]
    ///
    /// `open`: at their times, as in open:100 (a hundred times as fast) or open:1/2. `closed`: as many at a
    /// time, as in closed:16. `think`: each user sends the next request so long after the last was
    /// acknowledged, as in think:8,1ms. Requests of a generator without times are sent closed:16 by default.
    #[arg(long, value_name = "HOW", help_heading = "Workload")]
    pub(crate) pacing: Option<Pacing>,

    /// Count and keep nothing of the first N requests
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Workload")]
    pub(crate) warmup: Count,

    /// Seed of everything random: generated requests, random choices of the device
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    pub(crate) seed: u64,

    /// The device: a preset's name or a file
    ///
    /// `stripewise device list` shows the presets.
    #[arg(short, long, value_name = "NAME|FILE.toml", default_value = DEFAULT_DEVICE, help_heading = "Array")]
    pub(crate) device: String,

    /// The array's elements: `channel`, `chip` or `ssd`, and of how many devices: `ssd:5`
    #[arg(short, long, value_name = "LEVEL[:N]", default_value = "channel", help_heading = "Array")]
    pub(crate) elements: Layout,

    /// What the devices hold before the first request: `fresh`, or STATE:SHARE of their pages, as in
    /// steady:70%
    ///
    /// `steady`: the state that random writes lead to, garbage collection under way. `sequential`: written
    /// once, in order. `written`: steady, reached by writing, which takes long. Requests are folded onto the
    /// part that is filled, so that none reads what was never written.
    #[arg(long, value_name = "STATE", default_value = "steady:70%", help_heading = "Array")]
    pub(crate) precondition: Precondition,

    /// Change a key of every scheme or of the device, as in update.tie=rcw or gc.victim=fifo
    ///
    /// Where both have such a key, write scheme.KEY or device.KEY.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Array")]
    pub(crate) set: Vec<Setting>,

    /// The directory of results
    #[arg(short, long, value_name = "DIR", default_value = "stripewise-results", help_heading = "Results")]
    pub(crate) out: PathBuf,

    /// Keep a row of every request, its latency split into parts
    #[arg(long, help_heading = "Results")]
    pub(crate) rows: bool,

    /// Keep a row of every garbage collection
    #[arg(long, help_heading = "Results")]
    pub(crate) gc_rows: bool,

    /// Keep a row of every element's state every so often, as in 10ms of simulated time
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0ns",
        hide_default_value = true,
        help_heading = "Results"
    )]
    pub(crate) sample_every: Span,

    /// Compute a run that is there already once more, and check that it yields the same
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

/// A study that can be run: every name resolved, every setting understood.
pub(crate) struct Study {
    args: StudyArgs,
    workload: Workload,
    pacing: Pacing,
    /// What is folded onto: the filled part of the smallest array of the study, so that all get the same
    /// requests.
    fold_bytes: u64,
    jobs: Vec<Job>,
}

/// One run of a study.
struct Job {
    config: RunConfig,
    capacity: u64,
}

/// A run that is on disk.
pub(crate) struct Finished {
    /// The scheme's name.
    pub(crate) scheme: String,
    /// Its results.
    pub(crate) run: FinishedRun,
    /// Whether it was computed now, and in how much time of the processor; otherwise it was there already.
    pub(crate) cpu_ns: Option<u64>,
}

impl Study {
    /// Resolves the names and settings of `args` and `schemes`, and checks that every run can be.
    ///
    /// # Errors
    /// What was not understood; a trace that cannot be read.
    pub(crate) fn new(args: StudyArgs, schemes: &[String]) -> Outcome<Self> {
        let device = named::find("device", &args.device, &DEVICES)?;
        let schemes: Vec<_> = schemes.iter().map(|name| parse_scheme(name)).collect::<Outcome<_>>()?;
        let (for_schemes, for_device) = sort(&args.set, &schemes, &device)?;
        let device = overlay::device(&device, &for_device)?;
        let workload = Workload::new(&args.workload, args.seed)?;
        let default = if workload.has_no_times() { Pacing::Closed { depth: 16 } } else { Pacing::default() };
        let pacing = args.pacing.unwrap_or(default);
        let mut jobs = Vec::new();
        for (document, own) in &schemes {
            let settings: Vec<Setting> = own.iter().chain(&for_schemes).cloned().collect();
            let mut scheme = overlay::scheme(document, &settings)?;
            for setting in own {
                scheme.name.push_str(&format!(",{setting}"));
            }
            if jobs.iter().any(|job: &Job| job.config.scheme.name == scheme.name) {
                let remedy = "give each a name of its own, or leave one out";
                return Err(Failure::usage(format!("two schemes are called `{}`; {remedy}", scheme.name)));
            }
            let config = config(&args, pacing, scheme, device.clone());
            let capacity = capacity(&config)?;
            jobs.push(Job { config, capacity });
        }
        let smallest = jobs.iter().map(|job| job.capacity).min().unwrap_or(0);
        let fold_bytes = filled(args.precondition, smallest);
        Ok(Self { args, workload, pacing, fold_bytes, jobs })
    }

    /// The settings that all runs share: what they are called and what they are.
    pub(crate) fn settings(&self) -> Outcome<Vec<(&'static str, String)>> {
        let Some(job) = self.jobs.first() else { return Ok(Vec::new()) };
        let mut lines = vec![("workload", self.workload.describe())];
        lines.push(("device", device::describe(&job.config.device)?));
        lines.push(("elements", describe_elements(self.args.elements, &job.config.device)?));
        lines.push(("pacing", self.describe_pacing()));
        if self.args.warmup.0 > 0 {
            lines.push(("warm-up", format!("{} requests", human::count(self.args.warmup.0))));
        }
        lines.push(("state", self.describe_state()));
        let capacities = || self.jobs.iter().map(|job| job.capacity);
        let filled = if self.fold_bytes < capacities().min().unwrap_or(0) { ", what is filled" } else { "" };
        let differ = capacities().min() != capacities().max();
        let least = if differ { " of the smallest of these arrays" } else { "" };
        let onto = human::bytes(self.fold_bytes);
        lines.push(("fold", format!("{} onto {onto}{filled}{least}", self.workload.fold())));
        if !self.args.set.is_empty() {
            let set: Vec<String> = self.args.set.iter().map(ToString::to_string).collect();
            lines.push(("set", set.join(" ")));
        }
        Ok(lines)
    }

    fn describe_state(&self) -> String {
        let meaning = match self.args.precondition {
            Precondition::Fresh => "nothing was ever written",
            Precondition::Filled(State::Sequential, _) => "of the pages written once, in order",
            Precondition::Filled(State::Steady | State::Written, _) => {
                "of the pages in use, after long random writes"
            }
        };
        format!("{} ({meaning})", self.args.precondition)
    }

    fn describe_pacing(&self) -> String {
        let meaning = match self.pacing {
            Pacing::Open { numerator, denominator } if numerator == denominator => {
                "at the requests' own times".into()
            }
            Pacing::Open { numerator, denominator: 1 } => {
                format!("at the requests' times, {numerator} times as fast")
            }
            Pacing::Open { .. } => "at the requests' times, scaled".to_owned(),
            Pacing::Closed { depth } => format!("{depth} at a time"),
            Pacing::Think { users, think_ns } => {
                format!("{users} users who pause {} after each request", human::time(think_ns))
            }
        };
        format!("{} ({meaning})", self.pacing)
    }

    /// How many runs there are.
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The directory of results.
    pub(crate) fn out(&self) -> &Path {
        &self.args.out
    }

    /// Makes every run that is not there, on `threads` threads. The runs come in the order of the schemes;
    /// one that failed does not keep the others from being made.
    pub(crate) fn run(&self, threads: usize, context: &Context<'_>) -> Vec<Outcome<Finished>> {
        if let Some(note) = self.workload.note() {
            context.remark(&note);
        }
        let progress = Progress::new(context.quiet);
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Outcome<Finished>>>> =
            self.jobs.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = self.jobs.get(place) else { return };
                let outcome = self.make(job, &progress);
                *results[place].lock().expect("no thread panics while it holds a result") = Some(outcome);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(self.jobs.len()) {
                scope.spawn(work);
            }
            work();
        });
        let taken = results.into_iter().map(|result| result.into_inner().ok().flatten());
        taken.map(|outcome| outcome.unwrap_or(Err(Failure::Interrupted))).collect()
    }

    /// Makes one run, or finds it.
    fn make(&self, job: &Job, progress: &Progress) -> Outcome<Finished> {
        interrupt::check()?;
        let scheme = job.config.scheme.name.clone();
        let store = Store::new(&self.args.out);
        let inputs = self.inputs(job)?;
        if !self.args.force
            && let Some(run) = store.find(inputs.digest())?
            && (!self.args.rows || run.has(Table::Requests))
        {
            return Ok(Finished { scheme, run, cpu_ns: None });
        }
        let line = progress.line(&scheme);
        let within = |failure: Failure| match self.jobs.len() {
            1 => failure,
            _ => failure.within(&format!("scheme {scheme}")),
        };
        let (run, cpu_ns) = self.compute(job, &store, &inputs, &line).map_err(within)?;
        Ok(Finished { scheme, run, cpu_ns: Some(cpu_ns) })
    }

    fn compute(
        &self,
        job: &Job,
        store: &Store,
        inputs: &RunInputs,
        line: &Line,
    ) -> Outcome<(FinishedRun, u64)> {
        let mut source = self.workload.folded(self.fold_bytes)?;
        let mut writer = store.begin(inputs, self.args.rows)?;
        let limit = self.workload.limit();
        let began_ns = thread_cpu_ns();
        let totals = stripewise_sim::run(&job.config, &mut source, &mut writer, &mut |progress| {
            let share = limit.map(|limit| progress.requests as f64 / limit as f64).or(progress.share);
            line.update(progress.requests, share, Some(progress.now_ns));
            !interrupt::requested()
        })?;
        let cpu_ns = thread_cpu_ns() - began_ns;
        // The stream ends early when the user interrupts: what was computed is then not the run that was
        // asked for.
        interrupt::check()?;
        let mut figures = Figures::from_list(&totals.figures())?;
        let fold = source.report();
        let read = source.source().source().report().unwrap_or_default();
        figures.add("array_bytes", Figure::Count(job.capacity))?;
        figures.add("folded_requests", Figure::Count(fold.moved))?;
        figures.add("shifted_requests", Figure::Count(fold.shifted))?;
        figures.add("skipped_lines", Figure::Count(read.skipped_bad))?;
        figures.add("clamped_times", Figure::Count(read.clamped_times))?;
        figures.add_measured(CPU_NS, Figure::Count(cpu_ns))?;
        Ok((writer.finish(&totals.elements, &figures)?, cpu_ns))
    }

    /// All that decides the run.
    fn inputs(&self, job: &Job) -> Outcome<RunInputs> {
        let broken =
            |error: toml::ser::Error| Failure::failed(format!("cannot write the configuration: {error}"));
        let mut configuration = toml::Table::new();
        configuration.insert("elements".to_owned(), self.args.elements.to_string().into());
        let scheme = toml::Value::try_from(&job.config.scheme).map_err(broken)?;
        configuration.insert("scheme".to_owned(), scheme);
        let device = toml::Value::try_from(&job.config.device).map_err(broken)?;
        configuration.insert("device".to_owned(), device);
        let mut replay = self.workload.settings();
        let mut set = |key: &str, value: String| _ = replay.insert(key.to_owned(), value.into());
        set("pacing", self.pacing.to_string());
        set("precondition", job.config.precondition.to_string());
        set("warmup_requests", job.config.warmup_requests.to_string());
        set("fold", self.workload.fold().to_string());
        set("fold_bytes", self.fold_bytes.to_string());
        set("sample_every", job.config.sample_every.to_string());
        set("gc_rows", job.config.gc_rows.to_string());
        let text = |table| toml::to_string(&table).map_err(broken);
        let version = format!("{}+{}", env!("CARGO_PKG_VERSION"), stripewise_sim::SOURCES);
        let digest = self.workload.digest();
        Ok(RunInputs::new(&text(configuration)?, &text(replay)?, &digest, self.args.seed, &version)?)
    }
}

/// `NAME|FILE.toml[,KEY=VALUE]...`: a scheme and settings that are its own.
fn parse_scheme(argument: &str) -> Outcome<(Document, Vec<Setting>)> {
    if Path::new(argument).is_file() || !argument.contains(',') {
        return Ok((named::find("scheme", argument, &SCHEMES)?, Vec::new()));
    }
    let mut parts = argument.split(',');
    let document = named::find("scheme", parts.next().unwrap_or_default(), &SCHEMES)?;
    let refuse = |error: String| Failure::usage(format!("--scheme {argument}: {error}"));
    let settings = parts.map(|part| part.parse::<Setting>().map_err(refuse)).collect::<Outcome<_>>()?;
    Ok((document, settings))
}

/// Settings of schemes and settings of the device.
fn sort(
    settings: &[Setting],
    schemes: &[(Document, Vec<Setting>)],
    device: &Document,
) -> Outcome<(Vec<Setting>, Vec<Setting>)> {
    let (mut for_schemes, mut for_device) = (Vec::new(), Vec::new());
    let Some((first, _)) = schemes.first() else { return Ok((for_schemes, for_device)) };
    for setting in settings {
        match setting.target(first, device)? {
            Target::Scheme => for_schemes.push(setting.clone()),
            Target::Device => for_device.push(setting.clone()),
        }
    }
    Ok((for_schemes, for_device))
}

fn config(args: &StudyArgs, pacing: Pacing, scheme: Scheme, device: DeviceSpec) -> RunConfig {
    RunConfig {
        elements: args.elements,
        precondition: args.precondition,
        pacing,
        warmup_requests: args.warmup.0,
        // The workload ends by itself, so that only what is replayed is folded and counted.
        limit_requests: u64::MAX,
        seed: args.seed,
        sample_every: args.sample_every,
        request_rows: args.rows,
        gc_rows: args.gc_rows,
        scheme,
        device,
    }
}

/// The part of an array of so many bytes that holds data before the first request; all of it where nothing
/// does. Whole MiB where there are any, so that no chunk is cut.
fn filled(precondition: Precondition, bytes: u64) -> u64 {
    if precondition == Precondition::Fresh {
        return bytes;
    }
    let filled = precondition.pages(bytes);
    if filled >> 20 > 0 { filled >> 20 << 20 } else { filled / 4096 * 4096 }
}

/// How many elements there are, and what.
pub(crate) fn describe_elements(layout: Layout, device: &DeviceSpec) -> Outcome<String> {
    let shape = stripewise_flash::Shape::new(device, layout.level, layout.devices)?;
    let size = human::bytes(u64::from(shape.logical_pages) * device.geometry.page_bytes.0);
    Ok(format!("{layout} ({} elements of {size})", shape.elements))
}

/// Processor time of this thread.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
