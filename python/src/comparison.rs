//! Comparisons: runs of several schemes over one workload.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyList;
use stripewise_runs::{ComparisonSpec, Error, Observer, SchemeSpec, Span, Tables};
use stripewise_sim::Progress;

use crate::catalog::{Device, Scheme, settings};
use crate::errors;
use crate::patience::{Stop, patiently};
use crate::run::Run;
use crate::workload::Workload;

/// A comparison that can be run: every name resolved, every setting understood.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Comparison {
    comparison: stripewise_runs::Comparison,
    stop: Stop,
}

#[pymethods]
impl Comparison {
    #[new]
    #[pyo3(signature = (
        *, workload, schemes, device, members, precondition, pacing, span, warmup, seed, seeds, settings, request_rows,
        gc_rows, gc_slice, sample_every, table_budget, out, force, stop
    ))]
    #[expect(clippy::too_many_arguments, reason = "all are given by name, by one caller")]
    fn new(
        py: Python<'_>,
        workload: &Workload,
        schemes: Vec<PyRef<'_, Scheme>>,
        device: &Device,
        members: &str,
        precondition: &str,
        pacing: Option<&str>,
        span: Option<&str>,
        warmup: &str,
        seed: u64,
        seeds: std::num::NonZero<u32>,
        settings: Vec<String>,
        request_rows: bool,
        gc_rows: bool,
        gc_slice: &str,
        sample_every: &str,
        table_budget: &str,
        out: std::path::PathBuf,
        force: bool,
        stop: &Stop,
    ) -> PyResult<Self> {
        let refuse = |error: String| errors::setting(py, error);
        let scheme = |scheme: &PyRef<'_, Scheme>| SchemeSpec {
            document: scheme.document.clone(),
            settings: scheme.settings.clone(),
            policy: scheme.policy.clone(),
            label: scheme.label.clone(),
        };
        let mut for_all = self::settings(py, &settings)?;
        // A setting of a device object belongs to the device, whichever section it is in.
        for setting in &device.settings {
            let text = setting.to_string();
            let text = if text.starts_with("device.") { text } else { format!("device.{text}") };
            for_all.push(text.parse().map_err(refuse)?);
        }
        let sample_every = stripewise_base::units::parse_duration(sample_every)
            .map_err(|error| refuse(format!("sample_every: {error}")))?;
        let gc_slice = stripewise_base::units::parse_duration(gc_slice)
            .map_err(|error| refuse(format!("gc_slice: {error}")))?;
        let budget = stripewise_base::units::parse_bytes(table_budget)
            .map_err(|error| refuse(format!("table_budget: {error}")))?;
        let spec = ComparisonSpec {
            workload: workload.spec.clone(),
            pacing: pacing.map(str::parse).transpose().map_err(refuse)?,
            span: span
                .map_or(Ok(Span::OfGenerator), |size| {
                    stripewise_base::units::parse_bytes(size).map(Span::Bytes)
                })
                .map_err(|error| refuse(format!("span: {error}")))?,
            warmup: warmup.parse().map_err(|error| refuse(format!("warmup: {error}")))?,
            seed,
            seeds,
            device: device.document.clone(),
            members: members.parse().map_err(refuse)?,
            precondition: precondition.parse().map_err(refuse)?,
            schemes: schemes.iter().map(scheme).collect(),
            settings: for_all,
            tables: Tables {
                requests: request_rows,
                updates: false,
                gcs: gc_rows,
                gc_slice: stripewise_base::units::Span(gc_slice),
                sample_every: stripewise_base::units::Span(sample_every),
            },
            budget: stripewise_base::units::Bytes(budget),
            out,
            remote: None,
            force,
        };
        let stop = stop.clone();
        let comparison = patiently(py, &stop, |_| Ok(()), || stripewise_runs::Comparison::new(spec, &stop))?;
        Ok(Self { comparison: comparison.map_err(|error| errors::raised(py, error))?, stop })
    }

    /// The schemes' names, in the order of the runs.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.comparison.schemes().map(str::to_owned).collect()
    }

    /// The settings that all runs share, as names and values.
    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        self.comparison.settings().map_err(|error| errors::raised(py, error))
    }

    /// A question that the choice of a trace's format left open.
    #[getter]
    fn note(&self) -> Option<String> {
        self.comparison.note()
    }

    /// Settings that equal the current value.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.comparison.remarks().to_vec()
    }

    /// Makes the runs that are not in the store, on `threads` threads; `only` one of them if it is given. `progress`
    /// is called repeatedly with a list of (scheme, requests, share or None, simulated ns) of the current runs.
    #[pyo3(signature = (*, threads=1, progress=None, only=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        only: Option<usize>,
    ) -> PyResult<Vec<Run>> {
        let watch = Watch { stop: self.stop.clone(), now: Mutex::new(Vec::new()) };
        let tick = |py: Python<'_>| -> PyResult<()> {
            let Some(progress) = &progress else { return Ok(()) };
            let now = watch.now.lock().map(|now| now.clone()).unwrap_or_default();
            let now = now.into_iter().map(|line| (line.scheme, line.requests, line.share, line.now_ns));
            progress.call1(py, (PyList::new(py, now)?,)).map(drop)
        };
        let outcomes = patiently(py, &self.stop, tick, || match only {
            Some(place) => vec![self.comparison.run_one(place, &watch)],
            None => self.comparison.run(threads, &watch),
        })?;
        let mut runs = Vec::with_capacity(outcomes.len());
        let mut failures = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(made) => runs.push(Run::new(py, made.scheme, made.run, made.cpu_ns)?),
                Err(error) => failures.push(error),
            }
        }
        failed(py, failures)?;
        Ok(runs)
    }
}

/// The first failure as an exception, with the others as its notes.
fn failed(py: Python<'_>, failures: Vec<Error>) -> PyResult<()> {
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else { return Ok(()) };
    let first = errors::raised(py, first);
    for other in failures {
        first.value(py).call_method1("add_note", (format!("another run failed too: {other}"),))?;
    }
    Err(first)
}

/// One run in progress.
#[derive(Clone)]
struct Under {
    run: usize,
    scheme: String,
    requests: u64,
    share: Option<f64>,
    now_ns: u64,
}

/// Records the progress of the runs, for the thread that reports to Python.
struct Watch {
    stop: Stop,
    now: Mutex<Vec<Under>>,
}

impl Observer for Watch {
    fn may_continue(&self) -> bool {
        !self.stop.is_set()
    }

    fn began(&self, run: usize, scheme: &str) {
        if let Ok(mut now) = self.now.lock() {
            now.push(Under { run, scheme: scheme.to_owned(), requests: 0, share: None, now_ns: 0 });
        }
    }

    fn advanced(&self, run: usize, progress: Progress) {
        if let Ok(mut now) = self.now.lock()
            && let Some(line) = now.iter_mut().find(|line| line.run == run)
        {
            (line.requests, line.share, line.now_ns) = (progress.requests, progress.share, progress.now_ns);
        }
    }

    fn ended(&self, run: usize) {
        if let Ok(mut now) = self.now.lock() {
            now.retain(|line| line.run != run);
        }
    }
}
