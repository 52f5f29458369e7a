//! The options that `compare` and `run` share: the inputs and settings of a comparison, and its progress on the terminal.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use stripewise_base::units::{Bytes, Count, Span};
use stripewise_runs::{
    Comparison, ComparisonSpec, DEFAULT_BUDGET, DEFAULT_DEVICE, Document, Error, Finished, Observer, Origin,
    SchemeSpec, Setting, Tables, WarmUp, What, WorkloadSpec, built_in,
};
use stripewise_sim::{Layout, Pacing, Precondition, Timeline};
use stripewise_trace::fold::Fold;
use stripewise_trace::generate::Generator;
use stripewise_trace::{FormatName, OpenOptions, TraceError};

use crate::context::Context;
use crate::failure::{Failure, Outcome, warn};
use crate::interrupt;
use crate::place::Place;
use crate::progress::{Line, Progress};

/// Which requests are replayed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Replay this trace
    ///
    /// Text or Parquet, plain or compressed; `stripewise trace formats` lists the formats.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["generator", "profile"])]
    pub(crate) trace: Option<PathBuf>,

    /// The trace's format [default: detected]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) format: Option<FormatName>,

    /// The columns of a text in an unknown format, as in `time:ms,volume,offset:sectors,size:bytes,op:r/w`
    ///
    /// The same as `--format columns:…`. `stripewise trace info --help` lists the columns and their units.
    #[arg(
        long,
        value_name = "COLUMNS",
        requires = "trace",
        conflicts_with = "format",
        value_parser = columns,
        allow_hyphen_values = true
    )]
    pub(crate) columns: Option<FormatName>,

    /// Skip and count up to N lines that are no requests
    #[arg(long, value_name = "N", default_value = "0", requires = "trace")]
    pub(crate) skip_bad: Count,

    /// Replay the requests of a generator, as in `uniform:size=8KiB` [default: the built-in workload]
    ///
    /// `stripewise trace gen --help` lists the generators and their keys. The built-in workload is
    /// zipf:theta=0.99,write=0.7,size=4KiB,arrival=poisson:100us, a load that every scheme sustains on six SSDs of
    /// preset paper003.
    #[arg(short, long = "gen", value_name = "SPEC", conflicts_with = "profile")]
    pub(crate) generator: Option<Generator>,

    /// Replay a workload with the statistics of a profile, as in paper000/hm_0
    ///
    /// `stripewise profile list` shows the built-in profiles; `trace info --profile-out` makes a profile from a trace.
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// Replay only the first N requests [default: all; of the built-in workload 100k]
    ///
    /// A profile is generated with N requests, and its footprint scales along. With N below 10k it is generated with 10k
    /// requests, and the first N are taken.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Count>,

    /// How addresses are folded onto the array: `modulo`, `dense[:UNIT]` or `regions[:N]`
    ///
    /// `modulo`: the offset modulo the array's capacity; volumes overlap. `dense`: only the parts that the trace touches, in
    /// units of 1MiB, volume after volume. `regions`: an equal part of the array for each volume. The results count the
    /// requests that were moved.
    #[arg(long, value_name = "HOW", default_value = "modulo")]
    pub(crate) fold: Fold,
}

/// What an array consists of.
#[derive(Clone, Debug, Args)]
pub(crate) struct ArrayArgs {
    /// The device: a preset's name or a file [default: ssdsim-5+1]
    ///
    /// `stripewise device list` shows the presets. The built-in workload has six SSDs of preset paper003.
    #[arg(short, long, value_name = "NAME|FILE.toml", help_heading = "Array")]
    device: Option<String>,

    /// The array's members: `channel`, `chip` or `ssd`, and of how many devices: `ssd:5` [default: channel, of the
    /// built-in workload ssd:6]
    #[arg(
        short,
        long,
        short_alias = 'e',
        alias = "elements",
        value_name = "LEVEL[:N]",
        help_heading = "Array"
    )]
    members: Option<Layout>,
}

impl ArrayArgs {
    /// The device and its members, by default those of the built-in workload where that is replayed.
    ///
    /// # Errors
    /// A device that is unknown.
    pub(crate) fn resolved(&self, is_built_in: bool) -> Outcome<(Document, Layout)> {
        let (device, members) =
            if is_built_in { (built_in::DEVICE, built_in::MEMBERS) } else { (DEFAULT_DEVICE, "channel") };
        let document = Document::find(What::Device, self.device.as_deref().unwrap_or(device))?;
        let members = self.members.map_or_else(|| members.parse(), Ok).map_err(Failure::usage)?;
        Ok((document, members))
    }
}

/// Which requests are sent, when, and onto what.
#[derive(Clone, Debug, Args)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,

    /// When requests are sent: `open[:SPEED-UP]`, `closed:DEPTH` or `think:USERS,TIME` [default: open]
    ///
    /// `open`: at their times, as in open:100 (a hundred times as fast) or open:1/2. `closed`: a fixed number of requests at
    /// a time, as in closed:16. `think`: each user sends the next request a fixed time after the last was acknowledged, as in
    /// think:8,1ms. The default for a generator without times is closed:16.
    #[arg(long, value_name = "HOW", help_heading = "Workload")]
    pub(crate) pacing: Option<Pacing>,

    /// Fold addresses onto this much data, as in 4GiB [default: a fifth of the data that the members hold]
    ///
    /// Members hold data in the share of their pages that --precondition fills, parity included. A fifth does not depend on the
    /// schemes, so a scheme gets the same requests no matter which other schemes are compared. All built-in schemes hold a
    /// fifth; a scheme that holds less data than the span is refused. The default of `--gen` is the generator's own span where
    /// that is larger than a fifth and all schemes hold it (not in `advise`).
    #[arg(long, value_name = "SIZE", help_heading = "Workload")]
    pub(crate) span: Option<Bytes>,

    /// Do not count the first N requests; `auto` for those before the response times of a run are steady
    ///
    /// `auto` makes each run twice. MSER-5 finds in the response times of the first pass where they are steady from, and the
    /// second pass leaves out the requests before that. The totals say how many; a run that is too short says so.
    #[arg(long, value_name = "N|auto", default_value = "0", help_heading = "Workload")]
    pub(crate) warmup: WarmUp,

    /// The seed of generated requests and of random choices of the device
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = seed,
        help_heading = "Workload"
    )]
    pub(crate) seed: u64,
}

/// What is run, and on what.
#[derive(Clone, Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    pub(crate) requests: RequestArgs,

    #[command(flatten)]
    pub(crate) array: ArrayArgs,

    /// The state of the devices before the first request: `fresh`, or STATE:SHARE of their pages, as in steady:70%
    ///
    /// `steady`: the state that random writes lead to, with garbage collection in progress. `sequential`: written once, in
    /// order. `written`: steady, reached by writing, which takes long. Requests are folded onto the filled part, so no
    /// request reads unwritten pages.
    #[arg(long, value_name = "STATE", default_value = "steady:70%", help_heading = "Array")]
    pub(crate) precondition: Precondition,

    /// Change a key of every scheme or of the device, as in update.tie=rcw or gc.victim=fifo
    ///
    /// If both have the key, write scheme.KEY or device.KEY.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Array")]
    pub(crate) set: Vec<Setting>,
}

/// How many runs are made at a time.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct JobsArgs {
    /// The number of runs at a time [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>, help_heading = "Results")]
    jobs: Option<NonZero<usize>>,
}

impl JobsArgs {
    pub(crate) fn threads(self) -> usize {
        self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get)
    }
}

/// What the runs of a comparison share.
#[derive(Clone, Debug, Args)]
pub(crate) struct ComparisonArgs {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,

    /// The results: a directory, or a URL as in s3://BUCKET/PREFIX
    ///
    /// Also gs://BUCKET/PREFIX and az://CONTAINER/PREFIX. A run is found in the bucket or put there when it is finished; a copy
    /// stays in the cache of this machine. Credentials are in the environment variables of the vendor's own programs, such as
    /// AWS_ACCESS_KEY_ID.
    #[arg(short, long, value_name = "PLACE", default_value = "stripewise-results", help_heading = "Results")]
    pub(crate) out: PathBuf,

    /// Keep a row for each request, with the parts of its latency
    #[arg(long, help_heading = "Results")]
    pub(crate) rows: bool,

    /// Keep a row for each parity update: its routine, the routine that Baseline would take, and the cost of both
    #[arg(long, help_heading = "Results")]
    pub(crate) update_rows: bool,

    /// Keep a row for each garbage collection
    #[arg(long, help_heading = "Results")]
    pub(crate) gc_rows: bool,

    /// Count slices of simulated time of this length by the number of members that collect garbage in them; 0ns for none
    #[arg(long, value_name = "TIME", default_value = "100us", help_heading = "Results")]
    pub(crate) gc_slice: Span,

    /// Keep a row of each member's state at this interval of simulated time, as in 10ms
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0ns",
        hide_default_value = true,
        help_heading = "Results"
    )]
    pub(crate) sample_every: Span,

    /// The most that rows of requests, updates, collections and samples may take on disk, of all runs together
    ///
    /// What would take more is refused before it runs, where that is known then; otherwise the run ends when it takes more.
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_BUDGET, help_heading = "Results")]
    pub(crate) table_budget: Bytes,

    /// Compute an existing run again, and check that the results are the same; a damaged run is replaced
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,

    /// The form of the output: text, JSON, or the JSON of fio, which programs that plot results of fio read [default: text]
    ///
    /// With `fio` each run is a job with the fields of `fio --output-format=json+`, distributions of response times included.
    #[arg(long, value_name = "FORMAT", conflicts_with = "json", help_heading = "Results")]
    pub(crate) output_format: Option<OutputFormat>,
}

/// The forms of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Fio,
}

impl WorkloadArgs {
    /// Whether the built-in workload is replayed.
    fn is_built_in(&self) -> bool {
        self.trace.is_none() && self.generator.is_none() && self.profile.is_none()
    }

    /// The format that was named, by its name or its columns.
    pub(crate) fn format(&self) -> Option<FormatName> {
        self.columns.or(self.format)
    }

    pub(crate) fn spec(&self) -> Outcome<WorkloadSpec> {
        let requests = self.requests.map(|count| count.0);
        if requests == Some(0) {
            return Err(Failure::usage("--requests 0: there is nothing to replay; give at least 1"));
        }
        let origin = match (&self.trace, &self.generator, &self.profile) {
            (Some(path), ..) => {
                let skip_bad = self.skip_bad.0;
                let format = self.format();
                let options = OpenOptions { format, skip_bad, ..OpenOptions::default() };
                Origin::Trace(path.clone(), options)
            }
            (None, Some(generator), _) => Origin::Generator(Box::new(generator.clone())),
            (None, None, Some(name)) => Origin::Profile(name.clone()),
            (None, None, None) => {
                let count = requests.unwrap_or(built_in::REQUESTS);
                Origin::generated(&built_in::workload(count))?
            }
        };
        Ok(WorkloadSpec { origin, requests, fold: self.fold })
    }
}

impl RequestArgs {
    /// The specification of a comparison of these requests, with the tables that every comparison keeps, and no scheme yet.
    pub(crate) fn spec(&self) -> Outcome<ComparisonSpec> {
        Ok(ComparisonSpec {
            workload: self.workload.spec()?,
            pacing: self.pacing,
            span: self
                .span
                .map_or(stripewise_runs::Span::OfGenerator, |span| stripewise_runs::Span::Bytes(span.0)),
            warmup: self.warmup,
            seed: self.seed,
            ..ComparisonSpec::new(Vec::new())?
        })
    }
}

impl SetupArgs {
    /// The specification of the comparison of `schemes`, each `NAME|FILE.toml[,KEY=VALUE]...`, with the tables that every
    /// comparison keeps.
    fn spec(self, schemes: &[String]) -> Outcome<ComparisonSpec> {
        let (device, members) = self.array.resolved(self.requests.workload.is_built_in())?;
        Ok(ComparisonSpec {
            schemes: schemes.iter().map(|name| SchemeSpec::labelled(name)).collect::<Result<_, _>>()?,
            device,
            members,
            precondition: self.precondition,
            settings: self.set,
            ..self.requests.spec()?
        })
    }

    /// The comparison of `schemes`, to be inspected and not kept.
    ///
    /// # Errors
    /// As [`ComparisonArgs::comparison`].
    pub(crate) fn comparison(self, schemes: &[String]) -> Outcome<Comparison> {
        Ok(Comparison::new(self.spec(schemes)?, &Patient)?)
    }
}

impl ComparisonArgs {
    pub(crate) fn output(&self) -> OutputFormat {
        let default = if self.json { OutputFormat::Json } else { OutputFormat::Text };
        self.output_format.unwrap_or(default)
    }

    /// The place of the results.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub(crate) fn place(&self) -> Outcome<Place> {
        Place::open(&self.out)
    }

    /// The comparison of `schemes`, each `NAME|FILE.toml[,KEY=VALUE]...`, with its results at `place`.
    ///
    /// # Errors
    /// An option that was not understood; a trace that cannot be read; the user's interruption.
    pub(crate) fn comparison(self, schemes: &[String], place: &Place) -> Outcome<Comparison> {
        self.comparison_of_seeds(schemes, NonZero::<u32>::MIN, place)
    }

    /// [`Self::comparison`], with `seeds` seeds for each scheme.
    ///
    /// # Errors
    /// As [`Self::comparison`].
    pub(crate) fn comparison_of_seeds(
        self,
        schemes: &[String],
        seeds: NonZero<u32>,
        place: &Place,
    ) -> Outcome<Comparison> {
        let tables = Tables {
            requests: self.rows,
            updates: self.update_rows,
            gcs: self.gc_rows,
            gc_slice: self.gc_slice,
            sample_every: self.sample_every,
        };
        let (out, remote) = (place.directory().to_owned(), place.remote());
        let spec = self.setup.spec(schemes)?;
        let spec = ComparisonSpec {
            tables,
            seeds,
            out,
            remote,
            force: self.force,
            budget: self.table_budget,
            ..spec
        };
        Ok(Comparison::new(spec, &Patient)?)
    }
}

/// Continues until the user interrupts.
pub(crate) struct Patient;

impl Observer for Patient {
    fn may_continue(&self) -> bool {
        !interrupt::requested()
    }
}

/// Shows a line of progress for each run, until the user interrupts.
struct Lines {
    progress: Progress,
    lines: Vec<Mutex<Option<Line>>>,
}

impl Lines {
    fn set(&self, run: usize, line: Option<Line>) {
        if let Ok(mut place) = self.lines[run].lock() {
            *place = line;
        }
    }
}

impl Observer for Lines {
    fn may_continue(&self) -> bool {
        Patient.may_continue()
    }

    fn began(&self, run: usize, scheme: &str) {
        self.set(run, Some(self.progress.line(scheme)));
    }

    fn advanced(&self, run: usize, progress: stripewise_sim::Progress) {
        if let Ok(place) = self.lines[run].lock()
            && let Some(line) = &*place
        {
            line.update(progress.requests, progress.share, Some(progress.now_ns));
        }
    }

    fn ended(&self, run: usize) {
        self.set(run, None);
    }
}

/// Prints the remarks about `comparison` that matter before its runs.
pub(crate) fn remark(comparison: &Comparison, quiet: bool) {
    for remark in comparison.note().iter().chain(comparison.remarks()).filter(|_| !quiet) {
        warn(remark);
    }
}

/// Parses a seed. The error names the range.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("seeds are whole numbers from 0 to {}", u64::MAX))
}

/// Parses the value of `--columns`.
pub(crate) fn columns(text: &str) -> Result<FormatName, TraceError> {
    format!("columns:{text}").parse()
}

/// Parses a count of at least 1.
pub(crate) fn at_least_one<N: TryFrom<NonZero<u64>>>(text: &str) -> Result<N, String> {
    let count: Count = text.parse().map_err(|error| format!("{error}"))?;
    let count = NonZero::new(count.0).ok_or("give at least 1")?;
    N::try_from(count).map_err(|_| "give a smaller number".to_owned())
}

/// Makes the runs of `comparison` on `threads` threads, and shows their progress.
pub(crate) fn run(
    comparison: &Comparison,
    threads: usize,
    context: &Context<'_>,
) -> Vec<Result<Finished, Error>> {
    remark(comparison, context.quiet);
    make(comparison, threads, &Progress::new(context.quiet))
}

/// [`run`] beside other comparisons that show their progress at the same place.
pub(crate) fn run_beside(
    comparison: &Comparison,
    threads: usize,
    quiet: bool,
    progress: &Progress,
) -> Vec<Result<Finished, Error>> {
    remark(comparison, quiet);
    make(comparison, threads, progress)
}

/// [`run`] without remarks, for a comparison that continues another one.
pub(crate) fn make(
    comparison: &Comparison,
    threads: usize,
    progress: &Progress,
) -> Vec<Result<Finished, Error>> {
    let lines = (0..comparison.len()).map(|_| Mutex::new(None)).collect();
    comparison.run(threads, &Lines { progress: progress.clone(), lines })
}

/// Makes the time line of a window of the first run of `comparison`, and shows its progress.
pub(crate) fn timeline(
    comparison: &Comparison,
    window: (u64, u64),
    context: &Context<'_>,
) -> Result<Timeline, Error> {
    remark(comparison, context.quiet);
    let lines = vec![Mutex::new(None)];
    comparison.timeline(window, &Lines { progress: Progress::new(context.quiet), lines })
}
