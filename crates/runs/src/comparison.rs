//! A comparison: resolves its settings, makes its runs on several threads, and puts their results in the store.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use stripewise_array::Scheme;
use stripewise_base::human;
use stripewise_flash::Shape;
use stripewise_results::steady::Steady;
use stripewise_results::summary::{CPU_NS, Entry};
use stripewise_results::totals::{WARMUP_REQUESTS, WARMUP_UNFINISHED};
use stripewise_results::{Figure, Figures, FinishedRun, Optional, RunInputs, Store, Table};
use stripewise_sim::tables::{MemberRow, Sink};
use stripewise_sim::{Pacing, Precondition, Progress, RunConfig, Totals};
use stripewise_trace::ReadReport;
use stripewise_trace::fold::FoldReport;

use crate::budget::{Bounded, Counted, Kept};
use crate::cpu::thread_cpu_ns;
use crate::describe::{self, describe_device, describe_members};
use crate::error::{Error, What};
use crate::job::{Job, arrays, simulate};
use crate::observer::Observer;
use crate::policy::NamedPolicy;
use crate::rows::{Rows, Writing};
use crate::setting::{self, Overlaid};
use crate::shared::Shared;
use crate::span;
use crate::spec::ComparisonSpec;
use crate::warm_up::WarmUp;
use crate::watching::{InMemory, ResponseTimes, Watching};
use crate::workload::{Folding, Workload};

/// A comparison that can be run: all names are resolved and all settings are parsed.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub(crate) spec: ComparisonSpec,
    /// The workload, once for each seed.
    workloads: Vec<Workload>,
    pub(crate) pacing: Pacing,
    /// The span that requests are folded onto: one for all schemes, so that all get the same requests.
    span: span::Chosen,
    /// Scheme by scheme, each with all seeds.
    jobs: Vec<Job>,
    remarks: Vec<String>,
    /// What the rows of its runs take on disk so far.
    kept: Arc<Kept>,
}

/// A run that is on disk.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Its results.
    pub run: FinishedRun,
    /// The processor time in nanoseconds if it was computed now; none if it was in the store already.
    pub cpu_ns: Option<u64>,
}

impl Finished {
    /// Its row in a comparison.
    ///
    /// # Errors
    /// When its totals cannot be read.
    pub fn entry(&self) -> Result<Entry, Error> {
        let acknowledges = acknowledges(self.run.inputs());
        Ok(Entry { acknowledges, ..Entry::of(&self.scheme, &self.run)? })
    }
}

/// What a simulation yields beside its rows.
struct Simulated {
    members: Vec<MemberRow>,
    figures: Figures,
    cpu_ns: u64,
    /// The end of the warm-up, where the run was to find it.
    found: Option<Steady>,
}

/// What a pass over the requests of a run yields beside its rows.
struct Pass {
    totals: Totals,
    fold: FoldReport,
    read: ReadReport,
    cpu_ns: u64,
}

impl Simulated {
    /// The totals, with the processor time of the run.
    fn figures(&self, cpu_ns: u64) -> Result<Figures, Error> {
        let mut figures = self.figures.clone();
        figures.add_measured(CPU_NS, Figure::Count(cpu_ns))?;
        Ok(figures)
    }
}

/// This program, as the digests of runs include it: the version, and the digest of all sources that decide results.
pub fn version() -> String {
    format!("{}+{}", env!("CARGO_PKG_VERSION"), stripewise_sim::SOURCES)
}

/// The place of a write when it is acknowledged (members or a kind of memory), by the scheme of a run. None where
/// this program does not know the scheme.
pub fn acknowledges(inputs: &RunInputs) -> Option<&'static str> {
    Scheme::acknowledges_in(inputs.configuration())
}

impl Comparison {
    /// Resolves the names and settings of `spec`, and checks that every run can be made. Reads a trace once, for its
    /// digest.
    ///
    /// # Errors
    /// A name or setting that was not understood; a trace that cannot be read; [`Error::Stopped`].
    pub fn new(spec: ComparisonSpec, observer: &dyn Observer) -> Result<Self, Error> {
        let comparison = Self::resolved(spec, |spec| {
            let workload = Workload::new(&spec.workload, spec.seed, observer)?;
            workload.check_warmup(spec.warmup, observer)?;
            Ok(workload)
        })?;
        comparison.check_budget(observer)?;
        Ok(comparison)
    }

    /// [`Comparison::new`] over a workload that was resolved before, whose trace is not read again. The workload of `spec` and
    /// the length of its warm-up are not looked at.
    ///
    /// # Errors
    /// A name or setting that was not understood.
    pub fn over(spec: ComparisonSpec, workload: &Workload) -> Result<Self, Error> {
        Self::resolved(spec, |spec| Ok(workload.with_seed(spec.seed)))
    }

    fn resolved(
        spec: ComparisonSpec,
        workload: impl FnOnce(&ComparisonSpec) -> Result<Workload, Error>,
    ) -> Result<Self, Error> {
        if spec.out.to_str().is_some_and(|out| out.contains("://")) {
            let remedy =
                "give a directory of results; only the commands `run`, `compare` and `study` take buckets";
            return Err(Error::spec(format!("{}: {remedy}", spec.out.display())));
        }
        let (for_schemes, for_device) = setting::sort(&spec.settings, &spec.schemes, &spec.device)?;
        let Overlaid { spec: device, idle } = setting::overlaid_device(&spec.device, &for_device)?;
        let name = |setting| (spec.device.shown.clone(), setting);
        let mut remarks = setting::former_names(&spec.device, &for_device);
        remarks.extend(setting::former_names_of_schemes(&spec.schemes, &for_schemes));
        remarks.extend(setting::remarks(What::Device, &idle.into_iter().map(name).collect::<Vec<_>>()));
        let mut idle = Vec::new();
        let workload = workload(&spec)?;
        let last = spec.seed.checked_add(u64::from(spec.seeds.get()) - 1);
        let seeds =
            spec.seed..=last.ok_or_else(|| Error::too_many_seeds(u64::from(spec.seeds.get()), spec.seed))?;
        let default = if workload.has_no_times() { Pacing::Closed { depth: 16 } } else { Pacing::default() };
        let pacing = spec.pacing.unwrap_or(default);
        let mut jobs: Vec<Job> = Vec::new();
        for array in arrays(&spec, pacing, &for_schemes, &device, &mut idle)? {
            for (workload, seed) in seeds.clone().enumerate() {
                let config = RunConfig { seed, ..array.config.clone() };
                jobs.push(Job { config, workload, ..array.clone() });
            }
        }
        let holds = jobs.iter().map(|job| span::filled(spec.precondition, job.capacity));
        let (end, least) = (workload.end_bytes(), holds.clone().min().unwrap_or(0));
        let span = spec.span.choose(end, least, &device, spec.members, spec.precondition)?;
        span::check(span.bytes, jobs.iter().map(|job| job.config.scheme.name.as_str()).zip(holds))?;
        let workloads = seeds.map(|seed| workload.with_seed(seed)).collect();
        remarks.extend(setting::remarks(What::Scheme, &idle));
        Ok(Self { spec, workloads, pacing, span, jobs, remarks, kept: Arc::default() })
    }

    /// The same comparison with another first seed. Nothing is resolved again.
    ///
    /// # Errors
    /// A seed that is too large.
    pub fn with_seed(&self, seed: u64) -> Result<Self, Error> {
        let count = u64::from(self.spec.seeds.get());
        seed.checked_add(count - 1).ok_or_else(|| Error::too_many_seeds(count, seed))?;
        let mut other = self.clone();
        other.spec.seed = seed;
        let at = |place: usize| seed + place as u64;
        let workloads = other.workloads.iter_mut().enumerate();
        workloads.for_each(|(place, workload)| *workload = workload.with_seed(at(place)));
        other.jobs.iter_mut().for_each(|job| job.config.seed = at(job.workload));
        Ok(other)
    }

    /// Bytes of the span that requests are folded onto.
    pub fn span_bytes(&self) -> u64 {
        self.span.bytes
    }

    /// The settings that all runs share: their names and values.
    ///
    /// # Errors
    /// When the device is impossible.
    pub fn settings(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let Some(job) = self.jobs.first() else { return Ok(Vec::new()) };
        let mut lines = vec![("workload", self.workload().describe())];
        lines.push(("seeds", self.describe_seeds()));
        lines.push(("device", describe_device(&job.config.device)?));
        lines.push(("members", describe_members(self.spec.members, &job.config.device)?));
        lines.push(("pacing", describe::pacing(self.pacing)));
        match self.spec.warmup {
            WarmUp::Requests(0) => {}
            WarmUp::Requests(requests) => {
                lines.push(("warm-up", format!("{} requests", human::count(requests))))
            }
            WarmUp::Auto => lines.push(("warm-up", "until response times are steady (MSER-5)".to_owned())),
        }
        lines.push(("state", describe::state(self.spec.precondition)));
        lines.push(("span", format!("{}{}", human::bytes(self.span.bytes), self.span.why)));
        lines.push(("fold", format!("{} onto the span", self.workload().fold())));
        if !self.spec.settings.is_empty() {
            let set: Vec<String> = self.spec.settings.iter().map(ToString::to_string).collect();
            lines.push(("set", set.join(" ")));
        }
        Ok(lines)
    }

    /// The workload with the first seed.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workloads[0]
    }

    /// The seeds, and the inputs that differ with them.
    fn describe_seeds(&self) -> String {
        let (first, count) = (self.spec.seed, u64::from(self.spec.seeds.get()));
        let seeds = if count == 1 { first.to_string() } else { format!("{first} to {}", first + count - 1) };
        let mut varies = Vec::new();
        if self.workload().is_generated() {
            varies.push("the requests");
        }
        if self.spec.precondition != Precondition::Fresh {
            varies.push("where the first data lies on flash");
        }
        let varies = match varies[..] {
            [] => "random choices of the device".to_owned(),
            _ => varies.join(" and "),
        };
        format!("{seeds} ({varies})")
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether the comparison has no runs.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The name of each run's scheme, in the order of the runs: scheme by scheme, each with all seeds.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().map(|job| job.config.scheme.name.as_str())
    }

    /// Each run's seed, in the order of the runs.
    pub fn seeds(&self) -> impl Iterator<Item = u64> {
        self.jobs.iter().map(|job| job.config.seed)
    }

    /// Bytes that each run's array holds, in the order of the runs.
    pub fn capacities(&self) -> impl Iterator<Item = u64> {
        self.jobs.iter().map(|job| job.capacity)
    }

    /// The directory of results.
    pub fn out(&self) -> &Path {
        &self.spec.out
    }

    /// The configuration of each run, which decides it together with the requests.
    pub(crate) fn configs(&self) -> impl Iterator<Item = &RunConfig> {
        self.jobs.iter().map(|job| &job.config)
    }

    /// The requests that all runs with the first seed get, folded onto the span. They end early when the observer
    /// stops the comparison.
    ///
    /// # Errors
    /// A trace that cannot be read or folded; [`Error::Stopped`].
    pub fn folded<'a>(&self, observer: &'a dyn Observer) -> Result<Folding<'a>, Error> {
        self.workload().folded(self.span.bytes, observer)
    }

    /// A question that the choice of a trace's format left open, for the reader of the results.
    pub fn note(&self) -> Option<String> {
        self.workload().note()
    }

    /// Remarks before the runs: settings that change nothing. A value that the key has already is no error, since a
    /// sweep over values includes it.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Makes every run that is not in the store, on at most `threads` threads, the current one included. The runs are
    /// in the order of the schemes; a failed run does not stop the others.
    ///
    /// With more threads than runs, threads read requests ahead of the runs and write the rows of requests and updates.
    /// They mostly wait, and so may outnumber the threads that are left.
    pub fn run(&self, threads: usize, observer: &dyn Observer) -> Vec<Result<Finished, Error>> {
        let next = AtomicUsize::new(0);
        let results: Vec<_> = self.jobs.iter().map(|_| Mutex::new(None)).collect();
        let shared = self.shared(threads > self.jobs.len());
        // The runs of one workload are made one after the other, so that few workloads are in memory at a time.
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&place| self.jobs[place].workload);
        let work = || {
            loop {
                let Some(&place) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                let job = &self.jobs[place];
                let outcome = self.make(place, job, &shared, observer);
                shared.ended(self.requests_of(job));
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
        taken.map(|outcome| outcome.unwrap_or(Err(Error::Stopped))).collect()
    }

    /// Makes the run at `place`, or finds it; it is the same as when all are made.
    ///
    /// # Errors
    /// As those of [`Comparison::run`]; when there is no such run.
    pub fn run_one(&self, place: usize, observer: &dyn Observer) -> Result<Finished, Error> {
        let apart = Shared::new(self.workloads.iter().map(|workload| (workload, 1)), false);
        self.make(place, self.job(place)?, &apart, observer)
    }

    /// The requests that the runs replay; with `ahead`, threads read them.
    fn shared(&self, ahead: bool) -> Shared {
        let mut runs = vec![0; self.workloads.len()];
        self.jobs.iter().for_each(|job| runs[self.requests_of(job)] += 1);
        Shared::new(self.workloads.iter().zip(runs), ahead)
    }

    /// The index of the first workload with the requests of `job`: those of a trace do not depend on the seed.
    fn requests_of(&self, job: &Job) -> usize {
        if self.workloads[job.workload].is_generated() { job.workload } else { 0 }
    }

    /// Makes one run, or finds it.
    fn make(
        &self,
        place: usize,
        job: &Job,
        shared: &Shared,
        observer: &dyn Observer,
    ) -> Result<Finished, Error> {
        may_continue(observer)?;
        let (scheme, seed) = (job.config.scheme.name.clone(), job.config.seed);
        let finished = |run, cpu_ns| Finished { scheme: scheme.clone(), seed, run, cpu_ns };
        let store = Store::new(&self.spec.out);
        let inputs = self.inputs(job)?;
        let mut optional = self.optional();
        let is_kept = match &self.spec.remote {
            None => true,
            Some(remote) => match remote.fetch(&store, inputs.digest()) {
                Err(Error::Store(error)) if self.spec.force && error.is_damage() => false,
                fetched => fetched?,
            },
        };
        let found = match store.find(inputs.digest()) {
            // A damaged run is replaced by the new one.
            Err(error) if self.spec.force && error.is_damage() => None,
            found => found?,
        };
        if let Some(run) = found {
            if !self.spec.force && optional.all(|table| run.has(table)) {
                run.verify()?;
                if !is_kept {
                    self.keep(&run)?;
                }
                return Ok(finished(run, None));
            }
            // A repeated run keeps the tables that it had.
            optional.requests |= run.has(Table::Requests);
            optional.updates |= run.has(Table::Updates);
        }
        let many = self.spec.seeds.get() > 1;
        let called = if many { format!("{scheme}, seed {seed}") } else { scheme.clone() };
        observer.began(place, &called);
        let outcome = self.compute(job, shared, &inputs, optional, observer, place);
        observer.ended(place);
        match outcome {
            Ok((run, cpu_ns)) => Ok(finished(run, Some(cpu_ns))),
            Err(source) if self.jobs.len() > 1 && !matches!(source, Error::Stopped) => {
                Err(Error::Within { scheme: called, source: Box::new(source) })
            }
            Err(error) => Err(error),
        }
    }

    fn compute(
        &self,
        job: &Job,
        shared: &Shared,
        inputs: &RunInputs,
        optional: Optional,
        observer: &dyn Observer,
        place: usize,
    ) -> Result<(FinishedRun, u64), Error> {
        let writer = Store::new(&self.spec.out).begin(inputs, optional)?;
        let mut rows = if shared.is_ahead() && (optional.requests || optional.updates) {
            Writing::Beside(Rows::new(writer))
        } else {
            Writing::Here(Box::new(writer))
        };
        let bounded = Bounded { observer, kept: &self.kept, budget: self.spec.budget };
        let mut counted = Counted::new(rows.sink(), &self.kept);
        let made = self.simulated(job, shared, optional.requests, &bounded, place, &mut counted);
        let made = made.map_err(|error| bounded.reason(error))?;
        let (writer, rows_cpu_ns) = rows.finish();
        let cpu_ns = made.cpu_ns + rows_cpu_ns;
        let run = writer.finish(&made.members, &made.figures(cpu_ns)?)?;
        self.keep(&run)?;
        Ok((run, cpu_ns))
    }

    /// Keeps a finished run beside the directory of results too.
    fn keep(&self, run: &FinishedRun) -> Result<(), Error> {
        self.spec.remote.as_ref().map_or(Ok(()), |remote| remote.keep(run, self.spec.force))
    }

    /// Pages of flash that each run simulates: most of the time of a short run is spent on them.
    pub fn flash_pages(&self) -> u64 {
        let pages = |job: &Job| {
            let RunConfig { device, members, .. } = &job.config;
            let shape = Shape::new(device, members.level, members.devices);
            shape.map_or(0, |shape| u64::from(shape.pages_per_member) * u64::from(shape.members))
        };
        self.jobs.first().map_or(0, pages)
    }

    /// The inputs of the run at `place`.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn run_inputs(&self, place: usize) -> Result<RunInputs, Error> {
        self.inputs(self.job(place)?)
    }

    /// Makes the run at `place` without keeping its tables, whether it is in the store or not. Its results digest is that of
    /// a run in the store that keeps no optional tables.
    ///
    /// # Errors
    /// As those of [`Comparison::run`]; when there is no such run.
    pub fn in_memory(&self, place: usize, observer: &dyn Observer) -> Result<InMemory, Error> {
        may_continue(observer)?;
        let job = self.job(place)?;
        let inputs = self.inputs(job)?;
        let apart = Shared::new(self.workloads.iter().map(|workload| (workload, 1)), false);
        let mut sink = Watching::default();
        let made = self.simulated(job, &apart, true, observer, place, &mut sink)?;
        let (sink, steady) = sink.finish();
        let steady = made.found.unwrap_or(steady);
        let run = sink.finish(&made.members, &made.figures(made.cpu_ns)?);
        Ok(InMemory { inputs, run, steady, cpu_ns: made.cpu_ns })
    }

    fn job(&self, place: usize) -> Result<&Job, Error> {
        let count = self.jobs.len();
        let none = || Error::spec(format!("there is no run {place}: the study has {count}, counted from 0"));
        self.jobs.get(place).ok_or_else(none)
    }

    /// Makes the run of `job` and passes its rows to `sink`, those of requests if `request_rows`.
    fn simulated(
        &self,
        job: &Job,
        shared: &Shared,
        request_rows: bool,
        observer: &dyn Observer,
        place: usize,
        sink: &mut dyn Sink,
    ) -> Result<Simulated, Error> {
        let mut job = job.clone();
        let (mut found, mut cpu_ns) = (None, 0);
        if self.spec.warmup == WarmUp::Auto {
            let apart = Shared::new(self.workloads.iter().map(|workload| (workload, 1)), false);
            let mut times = ResponseTimes::default();
            job.config.request_rows = true;
            let passed = self.replayed(&job, &apart, observer, (place, 0), &mut times)?;
            let steady = times.verdict();
            if let Steady::From(first) = steady {
                job.config.warmup_requests = first;
            }
            (found, cpu_ns) = (Some(steady), passed.cpu_ns);
        }
        job.config.request_rows = request_rows;
        let pass = u32::from(found.is_some());
        let Pass { totals, fold, read, cpu_ns: again_ns } =
            self.replayed(&job, shared, observer, (place, pass), sink)?;
        let mut figures = Figures::from_list(&totals.figures())?;
        figures.add("array_bytes", Figure::Count(job.capacity))?;
        figures.add("folded_requests", Figure::Count(fold.moved))?;
        figures.add("shifted_requests", Figure::Count(fold.shifted))?;
        figures.add("skipped_lines", Figure::Count(read.skipped_bad))?;
        figures.add("clamped_times", Figure::Count(read.clamped_times))?;
        figures.add_derived(&totals.derived())?;
        if let Some(steady) = found {
            figures.add(WARMUP_REQUESTS, Figure::Count(job.config.warmup_requests))?;
            figures.add(WARMUP_UNFINISHED, Figure::Count(u64::from(!matches!(steady, Steady::From(_)))))?;
        }
        Ok(Simulated { members: totals.members, figures, cpu_ns: cpu_ns + again_ns, found })
    }

    /// Replays the requests of `job`: its only pass over them if the pass is 0 and the warm-up is given, else the first or
    /// the second of two.
    fn replayed(
        &self,
        job: &Job,
        shared: &Shared,
        observer: &dyn Observer,
        (place, pass): (usize, u32),
        sink: &mut dyn Sink,
    ) -> Result<Pass, Error> {
        let workload = &self.workloads[job.workload];
        let feed = shared.feed(self.requests_of(job));
        let mut source = workload.folded_from(Some(feed), self.span.bytes, observer)?;
        let limit = workload.limit();
        let passes = if self.spec.warmup == WarmUp::Auto { 2.0 } else { 1.0 };
        let began_ns = thread_cpu_ns();
        let totals = simulate(job, &mut source, sink, &mut |progress| {
            let share = limit.map(|limit| progress.requests as f64 / limit as f64).or(progress.share);
            let share = share.map(|share| (f64::from(pass) + share) / passes);
            observer.advanced(place, Progress { share, ..progress });
            observer.may_continue()
        })?;
        let cpu_ns = source.source().source().cpu_ns(thread_cpu_ns() - began_ns);
        // The stream ends early when the observer stops the comparison: the computed run is then incomplete.
        may_continue(observer)?;
        let (fold, read) = (source.report().clone(), source.source().source().report().unwrap_or_default());
        Ok(Pass { totals, fold, read, cpu_ns })
    }

    fn optional(&self) -> Optional {
        Optional { requests: self.spec.tables.requests, updates: self.spec.tables.updates }
    }

    /// All inputs that decide the run.
    fn inputs(&self, job: &Job) -> Result<RunInputs, Error> {
        let known = match job.inputs.get() {
            Some(known) => known,
            None => {
                let resolved = self.resolved_inputs(job)?;
                job.inputs.get_or_init(|| resolved)
            }
        };
        Ok(known.with_seed(job.config.seed, &self.workloads[job.workload].digest()))
    }

    fn resolved_inputs(&self, job: &Job) -> Result<RunInputs, Error> {
        let broken =
            |error: toml::ser::Error| Error::spec(format!("cannot write the configuration: {error}"));
        let mut configuration = toml::Table::new();
        configuration.insert("members".to_owned(), self.spec.members.to_string().into());
        let scheme = toml::Value::try_from(&job.config.scheme).map_err(broken)?;
        configuration.insert("scheme".to_owned(), scheme);
        let device = toml::Value::try_from(&job.config.device).map_err(broken)?;
        configuration.insert("device".to_owned(), device);
        if let Some(NamedPolicy { policy, .. }) = &job.policy {
            configuration.insert("policy".to_owned(), policy.identity().into());
        }
        let workload = &self.workloads[job.workload];
        let mut replay = workload.settings();
        let mut set = |key: &str, value: String| _ = replay.insert(key.to_owned(), value.into());
        set("pacing", self.pacing.to_string());
        set("precondition", job.config.precondition.to_string());
        set("warmup_requests", self.spec.warmup.to_string());
        set("fold", workload.fold().to_string());
        set("fold_bytes", self.span.bytes.to_string());
        set("gc_slice", job.config.gc_slice.to_string());
        set("sample_every", job.config.sample_every.to_string());
        set("gc_rows", job.config.gc_rows.to_string());
        let text = |table| toml::to_string(&table).map_err(broken);
        let version = version();
        let digest = workload.digest();
        let mut inputs =
            RunInputs::new(&text(configuration)?, &text(replay)?, &digest, job.config.seed, &version)?;
        inputs.workload = workload.label();
        Ok(inputs)
    }
}

fn may_continue(observer: &dyn Observer) -> Result<(), Error> {
    if observer.may_continue() { Ok(()) } else { Err(Error::Stopped) }
}
