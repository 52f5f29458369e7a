//! Where requests come from: a trace, a generator or a profile; and how they are folded onto an array.

use std::path::{Path, PathBuf};

use clap::Args;
use stripewise_base::units::Count;
use stripewise_trace::fold::{Fold, Folded};
use stripewise_trace::generate::{Generator, catalog};
use stripewise_trace::profile::{Profile, builtin};
use stripewise_trace::slice::{Selection, Slice};
use stripewise_trace::{FormatName, OpenOptions, ReadReport, Reader, Request, Source, TraceError};

use crate::failure::{Failure, Outcome};
use crate::{human, interrupt};

/// The profile that is replayed when nothing else is asked for: paper 000, Table III and IV.
pub(crate) const DEFAULT_PROFILE: &str = "paper000/hm_0";
/// How many of its 3,993,316 requests: what two cores compare three schemes over in some ten seconds.
pub(crate) const DEFAULT_REQUESTS: u64 = 2_000_000;

/// Which requests are replayed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Replay this trace
    ///
    /// Text or Parquet, gzip or zstd; `stripewise trace formats` lists the formats.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["generator", "profile"])]
    pub(crate) trace: Option<PathBuf>,

    /// The trace's format, where it is not to be detected
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) format: Option<FormatName>,

    /// Pass over as many as N lines that are no requests, and count them
    #[arg(long, value_name = "N", default_value = "0", requires = "trace")]
    pub(crate) skip_bad: Count,

    /// Replay what a generator yields, as in `uniform:size=8KiB`
    ///
    /// `stripewise trace gen --help` lists the generators and their keys.
    #[arg(short, long = "gen", value_name = "SPEC", conflicts_with = "profile")]
    pub(crate) generator: Option<Generator>,

    /// Replay a workload with these statistics [default: paper000/hm_0]
    ///
    /// `stripewise profile list` shows those that come with the program; `trace info --profile-out` makes one
    /// from a trace.
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// Replay N requests only [default: all; of the default profile 2M]
    ///
    /// Of a trace or generator the first N. A profile is generated with N requests (with 10k, if N is less,
    /// of which the first N are taken), and its footprint scales along.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Count>,

    /// How addresses are folded onto the array: `modulo`, `dense[:UNIT]` or `regions[:N]`
    ///
    /// `modulo`: the offset modulo the array's capacity; volumes lie on top of each other. `dense`: only what
    /// the trace touches, in units of 1MiB, volume after volume. `regions`: an equal part of the array for
    /// each volume. What was moved is counted in the results.
    #[arg(long, value_name = "HOW", default_value = "modulo")]
    pub(crate) fold: Fold,
}

/// Requests that can be streamed any number of times.
pub(crate) struct Workload {
    origin: Origin,
    /// The most requests to deliver.
    limit: Option<u64>,
    fold: Fold,
}

enum Origin {
    Trace { path: PathBuf, options: OpenOptions, format: String, note: Option<String>, digest: String },
    Generator { generator: Box<Generator>, seed: u64, profile: Option<String>, shown: String },
}

/// A stream of a workload's requests, not yet folded.
pub(crate) type Stream = Slice<Watched>;

/// What a stream reads. It ends early when the user interrupts.
pub(crate) enum Watched {
    Trace(Box<Reader>),
    Generated(Box<dyn Source + Send>),
}

impl Source for Watched {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        if interrupt::requested() {
            batch.clear();
            return Ok(());
        }
        match self {
            Self::Trace(reader) => reader.next_batch(batch),
            Self::Generated(source) => source.next_batch(batch),
        }
    }

    fn progress(&self) -> Option<f64> {
        match self {
            Self::Trace(reader) => reader.progress(),
            Self::Generated(source) => source.progress(),
        }
    }
}

impl Watched {
    /// What reading a trace brought to light.
    pub(crate) fn report(&self) -> Option<ReadReport> {
        match self {
            Self::Trace(reader) => Some(reader.report()),
            Self::Generated(_) => None,
        }
    }
}

impl Workload {
    /// The workload that `args` ask for. A trace is opened to find its format, and read to take its digest.
    pub(crate) fn new(args: &WorkloadArgs, seed: u64) -> Outcome<Self> {
        let limit = args.requests.map(|count| count.0);
        if limit == Some(0) {
            return Err(Failure::usage("--requests 0: there is nothing to replay; give at least 1"));
        }
        let (origin, limit) = match (&args.trace, &args.generator, &args.profile) {
            (Some(path), ..) => {
                let skip_bad = args.skip_bad.0;
                let options = OpenOptions { format: args.format, skip_bad, ..OpenOptions::default() };
                (trace(path, options)?, limit)
            }
            (None, Some(generator), _) => (Origin::generator(generator.clone(), seed), limit),
            (None, None, Some(name)) => profile(name, limit, seed)?,
            (None, None, None) => profile(DEFAULT_PROFILE, limit.or(Some(DEFAULT_REQUESTS)), seed)?,
        };
        Ok(Self { origin, limit, fold: args.fold })
    }

    /// What the generator `SPEC` or the profile `NAME|FILE.toml` yields, not folded.
    pub(crate) fn generated(what: &str, requests: Option<u64>, seed: u64) -> Outcome<Self> {
        let name = what.split(':').next().unwrap_or_default();
        let (origin, limit) = if catalog().iter().any(|about| about.name == name) || what.contains(':') {
            (Origin::generator(what.parse()?, seed), requests)
        } else {
            profile(what, requests, seed)?
        };
        Ok(Self { origin, limit, fold: Fold::Modulo })
    }

    /// Streams the requests from the first.
    pub(crate) fn open(&self) -> Outcome<Stream> {
        let watched = match &self.origin {
            Origin::Trace { path, options, .. } => {
                Watched::Trace(Box::new(stripewise_trace::open(path, options)?))
            }
            Origin::Generator { generator, seed, .. } => Watched::Generated(generator.source(*seed)),
        };
        Ok(Slice::new(watched, Selection { take: self.limit, ..Selection::default() })?)
    }

    /// Streams the requests from the first, folded onto `capacity` bytes. May read the whole trace before.
    pub(crate) fn folded(&self, capacity: u64) -> Outcome<Folded<Stream>> {
        let folding = if self.fold.needs_scan() {
            self.fold.onto(capacity, Some(&mut self.open()?))
        } else {
            self.fold.onto(capacity, None)
        };
        interrupt::check()?;
        let folding = folding.map_err(|error| Failure::from(error).within(&self.name()))?;
        Ok(Folded::new(self.open()?, folding))
    }

    /// Requests that will come, if that is known.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How addresses are folded.
    pub(crate) fn fold(&self) -> Fold {
        self.fold
    }

    /// Whether all requests arrive at once, so that replaying at their times has no meaning.
    pub(crate) fn has_no_times(&self) -> bool {
        match &self.origin {
            Origin::Trace { .. } => false,
            Origin::Generator { generator, .. } => generator.to_string().contains("arrival=none"),
        }
    }

    /// What the choice of a trace's format left open, and its reader should know.
    pub(crate) fn note(&self) -> Option<String> {
        match &self.origin {
            Origin::Trace { note: Some(note), .. } => Some(format!("{}: {note}", self.name())),
            _ => None,
        }
    }

    /// What names the requests in results: equal digests, equal requests.
    pub(crate) fn digest(&self) -> String {
        match &self.origin {
            Origin::Trace { digest, .. } => format!("blake3:{digest}"),
            Origin::Generator { generator, seed, .. } => format!("{generator};seed={seed}"),
        }
    }

    /// What decides the requests beside the digest: how the trace is read, what the profile says.
    pub(crate) fn settings(&self) -> toml::Table {
        let mut table = toml::Table::new();
        let mut set = |key: &str, value: toml::Value| _ = table.insert(key.to_owned(), value);
        match &self.origin {
            Origin::Trace { format, options, .. } => {
                set("format", format.clone().into());
                set("skip_bad", (options.skip_bad as i64).into());
            }
            Origin::Generator { profile: Some(profile), .. } => set("profile", profile.clone().into()),
            Origin::Generator { .. } => {}
        }
        if let Some(limit) = self.limit {
            set("requests", limit.to_string().into());
        }
        table
    }

    /// Its name, for messages.
    fn name(&self) -> String {
        match &self.origin {
            Origin::Trace { path, .. } => path.display().to_string(),
            Origin::Generator { generator, .. } => generator.to_string(),
        }
    }

    /// Where the requests come from, for people.
    pub(crate) fn describe(&self) -> String {
        let first =
            self.limit.map_or(String::new(), |limit| format!(", first {} requests", human::count(limit)));
        match &self.origin {
            Origin::Trace { path, format, .. } => format!("trace {} ({format}){first}", path.display()),
            Origin::Generator { shown, seed, .. } => format!("{shown}{first}, seed {seed}"),
        }
    }
}

impl Origin {
    fn generator(generator: Generator, seed: u64) -> Self {
        let shown = format!("generator {generator}");
        Self::Generator { generator: Box::new(generator), seed, profile: None, shown }
    }
}

fn trace(path: &Path, options: OpenOptions) -> Outcome<Origin> {
    if path.as_os_str() == "-" {
        return Err(Failure::usage(
            "a trace is replayed from a file, once for each scheme; write it to one first: \
             `stripewise trace convert - trace.parquet`",
        ));
    }
    let ReadReport { format, note, .. } = stripewise_trace::open(path, &options)?.report();
    let digest = stripewise_trace::digest(path)?;
    Ok(Origin::Trace { path: path.to_owned(), options, format, note, digest })
}

/// The fewest requests that a profile is generated with: fewer cannot show its distributions.
const LEAST_GENERATED: u64 = 10_000;

/// The generator of the profile that `argument` names, and how many of its requests to take where it cannot
/// be told to make fewer itself.
fn profile(argument: &str, requests: Option<u64>, seed: u64) -> Outcome<(Origin, Option<u64>)> {
    if argument.ends_with(".toml") {
        let profile = Profile::read(Path::new(argument)).map_err(unreadable)?;
        let sample = Sample::of(&profile, requests);
        let generator: Generator = format!("profile:file={argument}{}", sample.keys()).parse()?;
        let shown = format!("profile {argument}, {sample}");
        let (generator, profile) = (Box::new(generator), Some(profile.to_toml()));
        return Ok((Origin::Generator { generator, seed, profile, shown }, sample.first));
    }
    let found = find(argument)?;
    let about = format!("profile {} ({})", found.name, found.source);
    let Some(profile) = found.profile else {
        // A recipe of the paper's own, not statistics: it has its own number of requests.
        let generator: Box<Generator> = Box::new(found.generator.parse()?);
        let shown = format!("{about}, {generator}");
        return Ok((Origin::Generator { generator, seed, profile: Some(found.source), shown }, requests));
    };
    let sample = Sample::of(&profile, requests);
    let generator = Box::new(format!("profile:name={}{}", found.name, sample.keys()).parse()?);
    let shown = format!("{about}, {sample}");
    Ok((Origin::Generator { generator, seed, profile: Some(profile.to_toml()), shown }, sample.first))
}

/// How many requests a profile is generated with, and how many of them are taken where that is fewer.
struct Sample {
    generated: u64,
    first: Option<u64>,
}

impl Sample {
    fn of(profile: &Profile, requests: Option<u64>) -> Self {
        let requests = requests.unwrap_or(profile.requests.0);
        let generated = requests.max(LEAST_GENERATED.min(profile.requests.0));
        Self { generated, first: (requests < generated).then_some(requests) }
    }

    /// What a generator's specification says of it.
    fn keys(&self) -> String {
        format!(",requests={}", self.generated)
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests", human::count(self.generated))
    }
}

/// A profile that cannot be read is an argument that is wrong, not a trace.
fn unreadable(error: TraceError) -> Failure {
    Failure::usage(error.to_string())
}

/// The built-in profile of that name, or the only one that ends in `/name`.
pub(crate) fn find(name: &str) -> Outcome<stripewise_trace::profile::Builtin> {
    let all = builtin();
    if let Some(found) = all.iter().find(|profile| profile.name == name) {
        return Ok(found.clone());
    }
    let short = |profile: &&stripewise_trace::profile::Builtin| {
        profile.name.rsplit_once('/').is_some_and(|(_, last)| last == name)
    };
    let ending: Vec<_> = all.iter().filter(short).collect();
    match ending.as_slice() {
        [only] => Ok((*only).clone()),
        [] => {
            let names: Vec<&str> = all.iter().map(|profile| profile.name.as_str()).collect();
            let last = names.iter().filter_map(|name| name.rsplit_once('/')).map(|(_, last)| last);
            let near = stripewise_base::suggest::nearest(name, names.iter().copied().chain(last));
            let remedy = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(Failure::usage(format!(
                "unknown profile `{name}`{remedy}\n  \
                 `stripewise profile list` shows all; a file ends in .toml"
            )))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|profile| profile.name.as_str()).collect();
            Err(Failure::usage(format!("several profiles are called `{name}`: {}", names.join(", "))))
        }
    }
}
