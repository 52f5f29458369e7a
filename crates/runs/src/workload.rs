//! The sources of requests (a trace, a generator or a profile), and their folding onto an array.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stripewise_base::human;
use stripewise_trace::fold::{Fold, Folded};
use stripewise_trace::generate::{Generator, catalog};
use stripewise_trace::profile::Profile;
use stripewise_trace::slice::{Selection, Slice};
use stripewise_trace::{OpenOptions, ReadReport, Request, Source, TraceError};

use crate::ahead::Requests;
use crate::catalog::builtin_profile;
use crate::digests::trace_digest;
use crate::error::{Error, What};
use crate::named::Document;
use crate::observer::Observer;
use crate::shared::{Feed, Replayed};
use crate::warm_up::WarmUp;

/// The default profile: paper 000, Table III and IV.
pub const DEFAULT_PROFILE: &str = "paper000/hm_0";
/// The default number of its 3,993,316 requests: two cores compare four schemes with five seeds each in half a
/// minute.
pub const DEFAULT_REQUESTS: u64 = 1_000_000;

/// The specification of a workload, as plain data.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Their source.
    pub origin: Origin,
    /// The number of requests: of a trace or generator the first N. A profile is generated with N (with 10,000 if N
    /// is less, of which the first N are taken), and its footprint scales with it.
    pub requests: Option<u64>,
    /// How addresses are folded onto the array.
    pub fold: Fold,
}

impl Default for WorkloadSpec {
    fn default() -> Self {
        let origin = Origin::Profile(DEFAULT_PROFILE.to_owned());
        Self { origin, requests: Some(DEFAULT_REQUESTS), fold: Fold::Modulo }
    }
}

/// The source of requests.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A trace in a file.
    Trace(PathBuf, OpenOptions),
    /// A generator.
    Generator(Box<Generator>),
    /// A built-in profile's name, or a file that ends in `.toml`.
    Profile(String),
    /// The text of a profile.
    ProfileText(Document),
}

impl Origin {
    /// The source for the generator `SPEC` or the profile `NAME|FILE.toml`.
    ///
    /// # Errors
    /// When the text looks like a generator's specification and is none.
    pub fn generated(what: &str) -> Result<Self, Error> {
        let name = what.split(':').next().unwrap_or_default();
        if catalog().iter().any(|about| about.name == name) || what.contains(':') {
            return Ok(Self::Generator(Box::new(what.parse()?)));
        }
        Ok(Self::Profile(what.to_owned()))
    }
}

/// Requests that can be streamed repeatedly.
#[derive(Clone, Debug)]
pub struct Workload {
    source: Resolved,
    /// The most requests to deliver.
    limit: Option<u64>,
    fold: Fold,
}

#[derive(Clone, Debug)]
enum Resolved {
    Trace { path: PathBuf, options: OpenOptions, format: String, note: Option<String>, digest: String },
    Generator { generator: Box<Generator>, seed: u64, profile: Option<String>, shown: String },
}

/// A stream of a workload's requests, not yet folded.
pub type Stream<'a> = Slice<Watched<'a>>;

/// A stream of a workload's requests, folded onto an array.
pub type Folding<'a> = Folded<Stream<'a>>;

/// The source below a stream. It ends early when the observer stops the comparison: check the observer once more at the
/// end.
pub struct Watched<'a> {
    observer: &'a dyn Observer,
    requests: Requested<'a>,
}

enum Requested<'a> {
    /// Read for this stream.
    Own(Requests),
    /// Read for several runs.
    Shared(Box<Replayed<'a>>),
}

impl Source for Watched<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        if !self.observer.may_continue() {
            batch.clear();
            return Ok(());
        }
        match &mut self.requests {
            Requested::Own(requests) => requests.next_batch(batch),
            Requested::Shared(replayed) => replayed.next_batch(batch),
        }
    }

    fn progress(&self) -> Option<f64> {
        match &self.requests {
            Requested::Own(requests) => requests.progress(),
            Requested::Shared(replayed) => replayed.progress(),
        }
    }
}

impl Watched<'_> {
    /// The findings of the reader of a trace.
    pub fn report(&self) -> Option<ReadReport> {
        match &self.requests {
            Requested::Own(requests) => requests.report(),
            Requested::Shared(replayed) => replayed.report(),
        }
    }

    /// Processor time of a run over these requests, whose thread used `thread_ns`: with that of the thread that reads
    /// ahead for it, and without what its own thread spent on reading for other runs too.
    pub(crate) fn cpu_ns(&self, thread_ns: u64) -> u64 {
        match &self.requests {
            Requested::Own(requests) => thread_ns + requests.cpu_ns(),
            Requested::Shared(replayed) => replayed.cpu_ns(thread_ns),
        }
    }
}

impl Workload {
    /// The workload of `spec`. A trace is opened to detect its format, and read for its digest.
    ///
    /// # Errors
    /// An unknown profile; a trace that cannot be read; [`Error::Stopped`].
    pub fn new(spec: &WorkloadSpec, seed: u64, observer: &dyn Observer) -> Result<Self, Error> {
        let limit = spec.requests;
        if limit == Some(0) {
            return Err(Error::spec("0 requests: there is nothing to replay; give at least 1"));
        }
        let (source, limit) = match &spec.origin {
            Origin::Trace(path, options) => (trace(path, options.clone(), observer)?, limit),
            Origin::Generator(generator) => (Resolved::generator((**generator).clone(), seed), limit),
            Origin::Profile(name) if name.ends_with(".toml") => {
                profile_text(&Document::find(What::Profile, name)?, limit, seed)?
            }
            Origin::Profile(name) => profile(name, limit, seed)?,
            Origin::ProfileText(document) => profile_text(document, limit, seed)?,
        };
        Ok(Self { source, limit, fold: spec.fold })
    }

    /// The same workload with another seed. A trace has none, and stays as it is.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        if let Resolved::Generator { seed: its, .. } = &mut other.source {
            *its = seed;
        }
        other
    }

    /// The same trace, cut and folded otherwise; none for a workload that is generated. The trace is not read again.
    #[must_use]
    pub fn of_trace(&self, requests: Option<u64>, fold: Fold) -> Option<Self> {
        let is_trace = matches!(self.source, Resolved::Trace { .. });
        is_trace.then(|| Self { source: self.source.clone(), limit: requests, fold })
    }

    /// Whether its requests differ with the seed.
    pub fn is_generated(&self) -> bool {
        matches!(self.source, Resolved::Generator { .. })
    }

    /// Streams the requests from the first.
    ///
    /// # Errors
    /// A trace that cannot be opened.
    pub fn open<'a>(&self, observer: &'a dyn Observer) -> Result<Stream<'a>, Error> {
        self.watched(Requested::Own(self.requests(false)?), observer)
    }

    /// All requests from the first, those beyond the limit included; read by a thread of their own if `ahead`.
    pub(crate) fn requests(&self, ahead: bool) -> Result<Requests, TraceError> {
        let requests = match &self.source {
            Resolved::Trace { path, options, .. } => {
                Requests::Trace(Box::new(stripewise_trace::open(path, options)?))
            }
            Resolved::Generator { generator, seed, .. } => Requests::Generated(generator.source(*seed)),
        };
        Ok(if ahead { requests.ahead() } else { requests })
    }

    /// [`Self::requests`] up to the limit.
    pub(crate) fn sliced(&self, ahead: bool) -> Result<Slice<Requests>, TraceError> {
        Slice::new(self.requests(ahead)?, self.selection())
    }

    fn selection(&self) -> Selection {
        Selection { take: self.limit, ..Selection::default() }
    }

    fn watched<'a>(&self, requests: Requested<'a>, observer: &'a dyn Observer) -> Result<Stream<'a>, Error> {
        // Shared requests end at the limit.
        let selection = match requests {
            Requested::Own(_) => self.selection(),
            Requested::Shared(_) => Selection::default(),
        };
        Ok(Slice::new(Watched { observer, requests }, selection)?)
    }

    /// Checks that a warm-up leaves some requests to count. Stops reading when it has found one more.
    ///
    /// # Errors
    /// A warm-up as long as the workload, or longer; a trace that cannot be read; [`Error::Stopped`].
    pub fn check_warmup(&self, warmup: WarmUp, observer: &dyn Observer) -> Result<(), Error> {
        let WarmUp::Requests(warmup @ 1..) = warmup else { return Ok(()) };
        let mut stream = self.open(observer)?;
        let (mut batch, mut requests) = (Vec::with_capacity(4096), 0);
        while requests <= warmup {
            stream.next_batch(&mut batch)?;
            if batch.is_empty() {
                if !observer.may_continue() {
                    return Err(Error::Stopped);
                }
                return Err(Error::spec(format!(
                    "a warm-up of {warmup} requests leaves none to count: the workload has {requests}; give a shorter one"
                )));
            }
            requests += batch.len() as u64;
        }
        Ok(())
    }

    /// Streams the requests from the first, folded onto `capacity` bytes. May read the whole trace first.
    ///
    /// # Errors
    /// A trace that cannot be read or folded; [`Error::Stopped`].
    pub fn folded<'a>(&self, capacity: u64, observer: &'a dyn Observer) -> Result<Folding<'a>, Error> {
        self.folded_from(None, capacity, observer)
    }

    /// [`Self::folded`], from the requests of this workload that its runs share, if there are any.
    pub(crate) fn folded_from<'a>(
        &self,
        feed: Option<&Arc<Feed>>,
        capacity: u64,
        observer: &'a dyn Observer,
    ) -> Result<Folding<'a>, Error> {
        let open = || match feed {
            Some(feed) => {
                let shared = feed.open(observer)?;
                let requests =
                    shared.map_or_else(Requested::Own, |shared| Requested::Shared(Box::new(shared)));
                self.watched(requests, observer)
            }
            None => self.open(observer),
        };
        let folding = if self.fold.needs_scan() {
            self.fold.onto(capacity, Some(&mut open()?))
        } else {
            self.fold.onto(capacity, None)
        };
        if !observer.may_continue() {
            return Err(Error::Stopped);
        }
        let folding = folding.map_err(|error| match error {
            TraceError::Fold(reason) => TraceError::Fold(format!("{}: {reason}", self.name())),
            other => other,
        })?;
        Ok(Folded::new(open()?, folding))
    }

    /// The number of requests that will come, if it is known.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How addresses are folded.
    pub fn fold(&self) -> Fold {
        self.fold
    }

    /// The end of the address space that a generator's parameters set. The recipe of a profile has none: its name stands for
    /// the statistics.
    pub(crate) fn end_bytes(&self) -> Option<u64> {
        match &self.source {
            Resolved::Generator { generator, profile: None, .. } => generator.end_bytes(),
            _ => None,
        }
    }

    /// Whether all requests arrive at once, which makes a replay at their times meaningless.
    pub fn has_no_times(&self) -> bool {
        match &self.source {
            Resolved::Trace { .. } => false,
            Resolved::Generator { generator, .. } => generator.to_string().contains("arrival=none"),
        }
    }

    /// A question that the choice of a trace's format left open, for its reader.
    pub fn note(&self) -> Option<String> {
        match &self.source {
            Resolved::Trace { note: Some(note), .. } => Some(format!("{}: {note}", self.name())),
            _ => None,
        }
    }

    /// The digest of the requests in results: equal digests, equal requests.
    pub fn digest(&self) -> String {
        match &self.source {
            Resolved::Trace { digest, .. } => format!("blake3:{digest}"),
            Resolved::Generator { generator, seed, .. } => format!("{generator};seed={seed}"),
        }
    }

    /// The settings that decide the requests in addition to the digest: how the trace is read, the text of the
    /// profile.
    pub fn settings(&self) -> toml::Table {
        let mut table = toml::Table::new();
        let mut set = |key: &str, value: toml::Value| _ = table.insert(key.to_owned(), value);
        match &self.source {
            Resolved::Trace { format, options, .. } => {
                set("format", format.clone().into());
                set("skip_bad", (options.skip_bad as i64).into());
            }
            Resolved::Generator { profile: Some(profile), .. } => set("profile", profile.clone().into()),
            Resolved::Generator { .. } => {}
        }
        if let Some(limit) = self.limit {
            set("requests", limit.to_string().into());
        }
        table
    }

    /// The name of its file without directory and ending, for readers of the results; none when it has no file.
    pub fn label(&self) -> Option<String> {
        match &self.source {
            Resolved::Trace { path, .. } => {
                let name = path.file_name()?.to_string_lossy();
                let name = stripewise_trace::without_compression(&name);
                Some(name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned())
            }
            Resolved::Generator { .. } => None,
        }
    }

    /// Its name, for messages.
    fn name(&self) -> String {
        match &self.source {
            Resolved::Trace { path, .. } => path.display().to_string(),
            Resolved::Generator { generator, .. } => generator.to_string(),
        }
    }

    /// The description of its source, without the seed, for people.
    pub fn describe(&self) -> String {
        let first =
            self.limit.map_or(String::new(), |limit| format!(", first {} requests", human::count(limit)));
        match &self.source {
            Resolved::Trace { path, format, .. } => format!("trace {} ({format}){first}", path.display()),
            Resolved::Generator { shown, .. } => format!("{shown}{first}"),
        }
    }
}

impl Resolved {
    fn generator(generator: Generator, seed: u64) -> Self {
        let shown = format!("generator {generator}");
        Self::Generator { generator: Box::new(generator), seed, profile: None, shown }
    }
}

/// Refuses a trace that can be read once only: standard input, a pipe. Does not open it, so it waits for no writer.
///
/// # Errors
/// The reason and the remedy.
pub fn check_rereadable(path: &Path) -> Result<(), Error> {
    let is_stdin = path.as_os_str() == "-";
    if !is_stdin && !stripewise_trace::is_read_once(path) {
        return Ok(());
    }
    let what =
        if is_stdin { String::new() } else { format!("{} is neither a file nor a folder: ", path.display()) };
    Err(Error::spec(format!(
        "{what}a trace is replayed from a file, once for each scheme; write it to one first: \
         `stripewise trace convert {} trace.parquet`",
        path.display()
    )))
}

fn trace(path: &Path, options: OpenOptions, observer: &dyn Observer) -> Result<Resolved, Error> {
    check_rereadable(path)?;
    let ReadReport { format, note, .. } = stripewise_trace::open(path, &options)?.report();
    let digest = trace_digest(path, observer)?;
    Ok(Resolved::Trace { path: path.to_owned(), options, format, note, digest })
}

/// The fewest requests that a profile is generated with: fewer cannot show its distributions.
const LEAST_GENERATED: u64 = 10_000;

/// The generator of a profile, and the number of its requests to take where it cannot generate fewer itself.
fn profile_text(
    document: &Document,
    requests: Option<u64>,
    seed: u64,
) -> Result<(Resolved, Option<u64>), Error> {
    let profile = Profile::from_toml(&document.shown, &document.text).map_err(Error::Profile)?;
    let sample = Sample::of(&profile, requests);
    let generator = Box::new(Generator::of_profile(&profile, sample.generated)?);
    let shown = format!("profile {}, {sample}", document.shown);
    Ok((Resolved::Generator { generator, seed, profile: Some(profile.to_toml()), shown }, sample.first))
}

/// The generator of the built-in profile of that name, and the number of its requests to take where it cannot
/// generate fewer itself.
fn profile(argument: &str, requests: Option<u64>, seed: u64) -> Result<(Resolved, Option<u64>), Error> {
    let found = builtin_profile(argument)?;
    let about = format!("profile {} ({})", found.name, found.source);
    let Some(profile) = found.profile else {
        // The paper's own recipe, not statistics: it has its own number of requests.
        let generator: Box<Generator> = Box::new(found.generator.parse()?);
        let shown = format!("{about}, {generator}");
        return Ok((Resolved::Generator { generator, seed, profile: Some(found.source), shown }, requests));
    };
    let sample = Sample::of(&profile, requests);
    let generator = Box::new(format!("profile:name={}{}", found.name, sample.keys()).parse()?);
    let shown = format!("{about}, {sample}");
    Ok((Resolved::Generator { generator, seed, profile: Some(profile.to_toml()), shown }, sample.first))
}

/// The number of requests that a profile is generated with, and the number that are taken where that is fewer.
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

    /// The keys in a generator's specification.
    fn keys(&self) -> String {
        format!(",requests={}", self.generated)
    }
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests", human::count(self.generated))
    }
}
