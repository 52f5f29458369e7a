//! A plan: the points of a study, visited lazily.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use stripewise_results::Digest;
use stripewise_results::replicate::Of;
use stripewise_runs::{Comparison, ComparisonSpec, Observer, WarmUp, Workload, WorkloadSpec, version};
use stripewise_trace::Stamp;

use crate::axis::Axis;
use crate::choice::{Choice, Part, digest};
use crate::error::Error;
use crate::file::StudyFile;

/// A study whose points can be visited.
#[derive(Debug)]
pub struct Plan {
    file: StudyFile,
    version: String,
    /// The source of each key, in the order in which choices are made.
    order: Vec<From>,
    /// A text for each scheme that is equal for equal schemes.
    schemes: Vec<String>,
    /// Traces that were read, by the canonical text of their choice.
    traces: BTreeMap<String, Workload>,
    /// The trace files that were read.
    read: Vec<Read>,
    arrays: SubPoints,
    loads: SubPoints,
    refusals: Mutex<Refusals>,
    workloads: Mutex<BTreeMap<u64, Workload>>,
    counts: Mutex<BTreeMap<u64, Result<u64, String>>>,
    /// Comparisons of points and schemes with any seed: to resolve one takes as long as a short run.
    comparisons: Mutex<BTreeMap<(u64, usize), Arc<Comparison>>>,
}

/// The source of a key's value.
#[derive(Clone, Copy, Debug)]
enum From {
    Base(usize),
    Axis(usize),
}

/// A point, and the schemes that run at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its number in the product of the axes.
    pub index: u64,
    /// The value on each axis.
    pub at: Vec<u32>,
    /// The schemes, a bit each.
    pub schemes: u64,
}

/// A projection of points onto some axes.
#[derive(Clone, Debug)]
struct SubPoints(Vec<(usize, u64)>);

impl SubPoints {
    fn new(axes: &[Axis], takes: impl Fn(&Axis) -> bool) -> Self {
        let mut stride = 1;
        let mut taken = Vec::new();
        for (at, axis) in axes.iter().enumerate().filter(|(_, axis)| takes(axis)) {
            taken.push((at, stride));
            stride *= axis.values.len() as u64;
        }
        Self(taken)
    }

    /// The number of the point's projection.
    fn index(&self, at: &[u32]) -> u64 {
        self.0.iter().map(|&(axis, stride)| u64::from(at[axis]) * stride).sum()
    }
}

/// Whether schemes fit arrays, each asked once.
#[derive(Debug, Default)]
struct Refusals {
    /// By array and scheme: the pages of flash, or the place of the reason if the scheme does not fit.
    known: BTreeMap<u64, Result<u64, u32>>,
    reasons: Vec<String>,
}

/// Workloads that are kept. Beyond, they are resolved again.
const WORKLOADS_KEPT: usize = 4096;
/// Comparisons that are kept, of some 50 KB each.
const COMPARISONS_KEPT: usize = 64;

impl Plan {
    /// Resolves a study file. Reads each trace once, for its digest.
    ///
    /// # Errors
    /// A trace that cannot be read, or has another digest than the file says; [`stripewise_runs::Error::Stopped`].
    pub fn new(file: StudyFile, observer: &dyn Observer) -> Result<Self, Error> {
        Self::resolved(file, &BTreeMap::new(), observer)
    }

    /// Resolves a study file that came from elsewhere, with the digests of its traces by their names.
    ///
    /// # Errors
    /// A trace that cannot be read, or has another digest.
    pub(crate) fn elsewhere(
        file: StudyFile,
        digests: &BTreeMap<String, String>,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        Self::resolved(file, digests, observer)
    }

    fn resolved(
        mut file: StudyFile,
        digests: &BTreeMap<String, String>,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let (mut traces, mut read) = (BTreeMap::new(), Vec::new());
        let all = file.base.iter_mut().chain(file.axes.iter_mut().flat_map(|axis| &mut axis.values));
        for choice in all {
            let Part::Trace(path, options, expected) = &choice.part else { continue };
            let origin = stripewise_runs::Origin::Trace(path.clone(), options.clone());
            let spec = WorkloadSpec { origin, requests: None, ..WorkloadSpec::default() };
            // Before it is read: a change while it is read is noticed too.
            let stamp = Stamp::of(path).ok();
            let workload = Workload::new(&spec, 1, observer)?;
            let found = workload.digest();
            if let Some(needs) = digests.get(&choice.shown)
                && found != format!("blake3:{needs}")
            {
                let needs = format!("blake3:{needs}");
                return Err(Error::OtherTrace { path: path.clone(), has: found, needs });
            }
            let stamp = Mutex::new(stamp);
            read.push(Read { name: choice.shown.clone(), path: path.clone(), stamp, digest: found.clone() });
            if expected.as_ref().is_some_and(|expected| found != format!("blake3:{expected}")) {
                return Err(Error::Spec(format!(
                    "{}: this trace is {found}, and the study file expects blake3:{}; replay the trace that was meant, or \
                     change the digest",
                    path.display(),
                    expected.as_deref().unwrap_or_default()
                )));
            }
            choice.canonical = format!("{} {found}", choice.canonical);
            traces.insert(choice.canonical.clone(), workload);
        }
        let schemes = file.specs.iter().map(|spec| {
            let settings: Vec<String> = spec.settings.iter().map(ToString::to_string).collect();
            let policy = spec.policy.as_ref().map(|named| digest("policy", &named.policy.key()));
            let policy = policy.map_or_else(String::new, |policy| format!(" {policy}"));
            format!("{} {}{policy}", digest("scheme", &spec.document.text), settings.join(","))
        });
        let schemes = schemes.collect();
        let order = order(&file);
        let is_load = |axis: &Axis| ["workload", "requests", "fold", "warmup"].contains(&axis.key.as_str());
        let arrays = SubPoints::new(&file.axes, |axis| axis.values[0].is_of_array());
        let loads = SubPoints::new(&file.axes, is_load);
        let (version, refusals) = (version(), Mutex::default());
        let (workloads, counts, comparisons) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self {
            file,
            version,
            order,
            schemes,
            traces,
            read,
            arrays,
            loads,
            refusals,
            workloads,
            counts,
            comparisons,
        })
    }

    /// Makes the policies of files in Python, whose code runs from now on: until here the files were only read.
    pub(crate) fn load_policies(&self) -> Result<(), Error> {
        let mut policies = self.file.specs.iter().filter_map(|spec| spec.policy.as_ref());
        policies.try_for_each(|named| named.policy.load().map_err(Error::Spec))
    }

    /// The study file.
    pub fn file(&self) -> &StudyFile {
        &self.file
    }

    /// This program, as runs record it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The digest of everything that decides the runs. The same file gives the same digest on each machine with the same
    /// program and the same traces.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("stripewise 2026 plan digest, format 1");
        let mut field = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        field(&self.version);
        self.schemes.iter().for_each(|scheme| field(scheme));
        for (part, choices) in std::iter::once(("base", &self.file.base))
            .chain(self.file.axes.iter().map(|axis| (axis.key.as_str(), &axis.values)))
        {
            field(part);
            // The order of keys in the base decides nothing.
            let mut texts: Vec<String> =
                choices.iter().map(|choice| format!("{}={}", choice.key, choice.canonical)).collect();
            if part == "base" {
                texts.sort();
            }
            texts.iter().for_each(|text| field(text));
        }
        for (kind, filters) in [("only", &self.file.only), ("except", &self.file.except)] {
            field(kind);
            filters.iter().for_each(|filter| field(&filter.canonical()));
        }
        field(&self.file.replicate.canonical());
        Digest(*hasher.finalize().as_bytes())
    }

    /// The points, in order. A point without schemes is left out.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }

    /// The point of this index; none if there is none, or it is left out.
    pub fn cell(&self, index: u64) -> Option<Cell> {
        let mut rest = index;
        let mut at = vec![0; self.file.axes.len()];
        for (place, axis) in at.iter_mut().zip(&self.file.axes).rev() {
            let values = axis.values.len() as u64;
            *place = (rest % values) as u32;
            rest /= values;
        }
        (rest == 0).then(|| self.cell_at(index, &at)).flatten()
    }

    fn cell_at(&self, index: u64, at: &[u32]) -> Option<Cell> {
        let all = u64::MAX >> (64 - self.file.schemes.len());
        let schemes = all & self.kept(at);
        (schemes != 0).then(|| Cell { index, at: at.to_vec(), schemes })
    }

    /// The schemes that `[[only]]` and `[[except]]` keep.
    fn kept(&self, at: &[u32]) -> u64 {
        let of = |filters: &[crate::filter::Filter]| filters.iter().fold(0, |mask, it| mask | it.schemes(at));
        let only = if self.file.only.is_empty() { u64::MAX } else { of(&self.file.only) };
        only & !of(&self.file.except)
    }

    /// The choices of a point, in the order in which they are made.
    fn choices<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a Choice> {
        self.order.iter().map(|from| match *from {
            From::Base(at) => &self.file.base[at],
            From::Axis(axis) => &self.file.axes[axis].values[cell.at[axis] as usize],
        })
    }

    /// A short digest of everything that decides a run: equal keys, equal run digests. It takes a microsecond, a run digest
    /// a thousand.
    pub fn key(&self, cell: &Cell, scheme: usize, seed: u64) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_derive_key("stripewise 2026 key of a run, format 1");
        let mut field = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        field(&self.version);
        field(&self.schemes[scheme]);
        for choice in self.choices(cell) {
            field(&choice.key);
            field(&choice.canonical);
        }
        hasher.update(&seed.to_le_bytes());
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        key
    }

    /// The run of a scheme at a point, as plain data.
    ///
    /// # Errors
    /// None as long as the default device is shipped.
    pub(crate) fn spec(&self, cell: &Cell, scheme: usize, seed: u64) -> Result<ComparisonSpec, Error> {
        let mut spec = ComparisonSpec::new(vec![self.file.specs[scheme].clone()])?;
        spec.seed = seed;
        spec.workload.requests = None;
        self.choices(cell).for_each(|choice| choice.apply(&mut spec));
        Ok(spec)
    }

    /// The comparison of one run.
    ///
    /// # Errors
    /// A combination that is refused; a workload that cannot be resolved.
    pub fn comparison(&self, cell: &Cell, scheme: usize, seed: u64) -> Result<Comparison, Error> {
        let lock = || self.comparisons.lock().expect("no thread panics while it holds the studies");
        let place = (cell.index, scheme);
        let known = lock().get(&place).cloned();
        if let Some(known) = known {
            return Ok(known.with_seed(seed)?);
        }
        let spec = self.spec(cell, scheme, seed)?;
        let workload = self.workload(cell, &spec)?;
        let comparison = Arc::new(Comparison::over(spec, &workload)?);
        let mut comparisons = lock();
        if comparisons.len() >= COMPARISONS_KEPT {
            comparisons.clear();
        }
        comparisons.insert(place, Arc::clone(&comparison));
        Ok((*comparison).clone())
    }

    /// The workload of a point.
    fn workload(&self, cell: &Cell, spec: &ComparisonSpec) -> Result<Workload, Error> {
        let index = self.loads.index(&cell.at);
        let lock = || self.workloads.lock().expect("no thread panics while it holds the workloads");
        if let Some(known) = lock().get(&index) {
            return Ok(known.clone());
        }
        let of_trace = || {
            let choice = self.choices(cell).find(|choice| choice.key == "workload")?;
            self.traces.get(&choice.canonical)?.of_trace(spec.workload.requests, spec.workload.fold)
        };
        let workload = of_trace().map_or_else(|| Workload::new(&spec.workload, 1, &()), Ok)?;
        let mut workloads = lock();
        if workloads.len() >= WORKLOADS_KEPT {
            workloads.clear();
        }
        workloads.insert(index, workload.clone());
        Ok(workload)
    }

    /// The number of requests of each run at a point.
    ///
    /// # Errors
    /// A text: a workload that cannot be resolved, or is no longer than its warm-up.
    pub(crate) fn requests(&self, cell: &Cell, observer: &dyn Observer) -> Result<u64, String> {
        let index = self.loads.index(&cell.at);
        let lock = || self.counts.lock().expect("no thread panics while it holds the counts");
        if let Some(known) = lock().get(&index) {
            return known.clone();
        }
        let count = || -> Result<u64, Error> {
            let spec = self.spec(cell, 0, self.file.replicate.first)?;
            let workload = self.workload(cell, &spec)?;
            workload.check_warmup(spec.warmup, observer)?;
            if let Some(limit) = workload.limit() {
                return Ok(limit);
            }
            let (mut stream, mut batch, mut requests) = (workload.open(observer)?, Vec::new(), 0);
            loop {
                stripewise_trace::Source::next_batch(&mut stream, &mut batch)
                    .map_err(stripewise_runs::Error::from)?;
                if batch.is_empty() {
                    return Ok(requests);
                }
                requests += batch.len() as u64;
            }
        };
        let count = count().map_err(|error| error.to_string());
        lock().insert(index, count.clone());
        count
    }

    /// The schemes that fit a point, and the reasons of the others.
    pub fn fitting(&self, cell: &Cell, observer: &dyn Observer) -> (u64, Vec<(usize, String)>) {
        let named = |scheme: &usize| cell.schemes >> scheme & 1 == 1;
        let count = self.schemes.len();
        let mut reasons = Vec::new();
        if let Err(reason) = self.requests(cell, observer) {
            return (0, (0..count).filter(named).map(|scheme| (scheme, reason.clone())).collect());
        }
        let mut fitting = 0;
        for scheme in (0..count).filter(named) {
            match self.flash_pages(cell, scheme) {
                Ok(_) => fitting |= 1 << scheme,
                Err(reason) => reasons.push((scheme, reason)),
            }
        }
        if let Of::DifferencesFrom(base) = self.file.replicate.of
            && fitting >> base & 1 == 0
            && self.file.schemes.len() > 1
        {
            let reason =
                format!("`{}`, with which all are compared, does not run here", self.file.schemes[base]);
            let others = (0..count).filter(|&scheme| fitting >> scheme & 1 == 1);
            reasons.extend(others.map(|scheme| (scheme, reason.clone())));
            fitting = 0;
        }
        (fitting, reasons)
    }

    /// Checks that no trace has changed since it was read for its digest.
    pub(crate) fn traces_are_unchanged(&self, observer: &dyn Observer) -> Result<(), Error> {
        for Read { path, stamp: known, digest, .. } in &self.read {
            let lock = || known.lock().expect("no thread panics while it holds a stamp");
            let now = Stamp::of(path).ok();
            if now == *lock() {
                continue;
            }
            // A file that was written again with the same content is the same trace.
            let found = format!("blake3:{}", stripewise_runs::trace_digest(path, observer)?);
            if found != *digest {
                return Err(Error::TraceChanged { path: path.clone(), was: digest.clone(), is: found });
            }
            *lock() = now;
        }
        Ok(())
    }

    /// The names of the traces, as the study file has them, with their digests.
    pub(crate) fn trace_digests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.read.iter().map(|read| (read.name.as_str(), read.digest.trim_start_matches("blake3:")))
    }

    /// A run, for people.
    pub(crate) fn name_of_run(&self, cell: &Cell, scheme: usize, seed: u64) -> String {
        format!("{}, seed {seed}", crate::check::name(self, cell, scheme))
    }

    /// Whether the runs of a point find the end of their warm-up.
    pub(crate) fn finds_warmup(&self, cell: &Cell) -> bool {
        self.choices(cell).any(|choice| matches!(choice.part, Part::Warmup(WarmUp::Auto)))
    }

    /// Pages of flash of a run.
    ///
    /// # Errors
    /// Why the scheme does not fit the point.
    pub(crate) fn flash_pages(&self, cell: &Cell, scheme: usize) -> Result<u64, String> {
        let index = self.arrays.index(&cell.at) * self.schemes.len() as u64 + scheme as u64;
        let lock = || self.refusals.lock().expect("no thread panics while it holds the refusals");
        let known = lock();
        if let Some(known_pages) = known.known.get(&index) {
            return known_pages.map_err(|reason| known.reasons[reason as usize].clone());
        }
        drop(known);
        let comparison = self.comparison(cell, scheme, self.file.replicate.first);
        let pages = comparison.map(|comparison| comparison.flash_pages()).map_err(|error| error.to_string());
        let mut refusals = lock();
        let place = pages.as_ref().copied().map_err(|reason| {
            let found = refusals.reasons.iter().position(|known| known == reason);
            found.unwrap_or_else(|| {
                refusals.reasons.push(reason.clone());
                refusals.reasons.len() - 1
            }) as u32
        });
        refusals.known.insert(index, place);
        pages
    }

    /// The values of a point on all axes: keys and values, as the file has them.
    pub fn values<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = (&'a str, &'a str)> {
        let value =
            |(axis, &at): (&'a Axis, &u32)| (axis.key.as_str(), axis.values[at as usize].shown.as_str());
        self.file.axes.iter().zip(&cell.at).map(value)
    }
}

/// Visits the points of a plan, in order. A plan of a million points takes the memory of one.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// The next point, and its value on each axis.
    index: u64,
    at: Vec<u32>,
}

impl Cursor {
    /// The next point that is not left out.
    pub(crate) fn next(&mut self, plan: &Plan) -> Option<Cell> {
        let axes = &plan.file.axes;
        if self.index == 0 {
            self.at = vec![0; axes.len()];
        }
        let points: u64 = axes.iter().map(|axis| axis.values.len() as u64).product();
        while self.index < points {
            let cell = plan.cell_at(self.index, &self.at);
            self.index += 1;
            advance(&mut self.at, axes);
            if cell.is_some() {
                return cell;
            }
        }
        None
    }
}

/// A trace file that was read.
#[derive(Debug)]
struct Read {
    /// As the study file has it.
    name: String,
    path: PathBuf,
    /// Its state when its content had the digest.
    stamp: Mutex<Option<Stamp>>,
    digest: String,
}

/// The order in which choices are made: by key, so that a key means the same in the base and as an axis. A policy stands
/// before its keys, which it would remove.
fn order(file: &StudyFile) -> Vec<From> {
    let base = file.base.iter().enumerate().map(|(at, choice)| (choice.key.clone(), From::Base(at)));
    let axes = file.axes.iter().enumerate().map(|(at, axis)| (axis.key.clone(), From::Axis(at)));
    let mut order: Vec<(String, From)> = base.chain(axes).collect();
    order.sort_by(|(one, _), (other, _)| {
        let key = |key: &str| (!key.ends_with(".policy"), key.to_owned());
        key(one).cmp(&key(other))
    });
    order.into_iter().map(|(_, from)| from).collect()
}

/// The next point: the last axis varies fastest.
fn advance(at: &mut [u32], axes: &[Axis]) {
    for (place, axis) in at.iter_mut().zip(axes).rev() {
        *place += 1;
        if (*place as usize) < axis.values.len() {
            return;
        }
        *place = 0;
    }
}
