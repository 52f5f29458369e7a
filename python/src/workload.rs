//! Traces, generators and profiles.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stripewise_runs::{Error, Observer, Origin, Workload as Resolved, WorkloadSpec};
use stripewise_trace::fold::Fold;
use stripewise_trace::profile::Profile;
use stripewise_trace::stats::{Collector, Stats};
use stripewise_trace::{OpenOptions, Source as _};

use crate::catalog::python;
use crate::errors;
use crate::patience::{Stop, patiently};
use crate::table::Table;

/// Requests to replay: of a trace, a generator or a profile.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Workload {
    pub(crate) spec: WorkloadSpec,
    /// The constructor and the arguments that pickling repeats.
    made: (&'static str, PathBuf, Option<String>, u64),
}

impl Observer for Stop {
    fn may_continue(&self) -> bool {
        !self.is_set()
    }
}

impl Workload {
    /// Opens the workload and takes its digest.
    fn open(&self, py: Python<'_>, seed: u64) -> PyResult<Resolved> {
        let stop = Stop::default();
        let opened = patiently(py, &stop, |_| Ok(()), || Resolved::new(&self.spec, seed, &stop))?;
        opened.map_err(|error| errors::raised(py, error))
    }

    fn collect(&self, py: Python<'_>, seed: u64) -> PyResult<Stats> {
        let stop = Stop::default();
        let collected = patiently(
            py,
            &stop,
            |_| Ok(()),
            || {
                let mut stream = Resolved::new(&self.spec, seed, &stop)?.open(&stop)?;
                let mut collector = Collector::default();
                let mut batch = Vec::with_capacity(4096);
                loop {
                    stream.next_batch(&mut batch)?;
                    if batch.is_empty() {
                        return if stop.is_set() { Err(Error::Stopped) } else { Ok(collector.finish()) };
                    }
                    batch.iter().for_each(|request| collector.add(request));
                }
            },
        )?;
        collected.map_err(|error| errors::raised(py, error))
    }
}

#[pymethods]
impl Workload {
    /// The requests of a trace in a file.
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, skip_bad=0, requests=None, fold="modulo"))]
    fn trace(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        skip_bad: u64,
        requests: Option<u64>,
        fold: &str,
    ) -> PyResult<Self> {
        let named = format.map(str::parse).transpose().map_err(|error| errors::trace(py, error))?;
        let options = OpenOptions { format: named, skip_bad, ..OpenOptions::default() };
        stripewise_runs::check_rereadable(&path).map_err(|error| errors::raised(py, error))?;
        // A file that is no trace is reported now, and not at its first read.
        stripewise_trace::open(&path, &options).map_err(|error| errors::trace(py, error))?;
        let made = ("trace", path.clone(), format.map(str::to_owned), skip_bad);
        let spec = WorkloadSpec { origin: Origin::Trace(path, options), requests, fold: way(py, fold)? };
        Ok(Self { spec, made })
    }

    /// What a generator yields, `uniform:write=1,size=8KiB`, or a profile by its name or file.
    #[staticmethod]
    #[pyo3(signature = (what, *, requests=None, fold="modulo"))]
    fn generated(py: Python<'_>, what: &str, requests: Option<u64>, fold: &str) -> PyResult<Self> {
        let origin = Origin::generated(what).map_err(|error| errors::raised(py, error))?;
        let spec = WorkloadSpec { origin, requests, fold: way(py, fold)? };
        // An unknown name is reported now; no request is generated yet.
        Resolved::new(&spec, 1, &()).map_err(|error| errors::raised(py, error))?;
        Ok(Self { spec, made: ("generated", what.into(), None, 0) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let again = py.import("stripewise._stripewise")?.getattr("_workload_again")?;
        let (how, what, format, skip_bad) = self.made.clone();
        let fold = self.spec.fold.to_string();
        let arguments = (how, what, format, skip_bad, self.spec.requests, fold).into_pyobject(py)?;
        PyTuple::new(py, [again, arguments.into_any()])
    }

    /// The requests as a table, not yet folded onto an array.
    #[pyo3(signature = (*, seed=1))]
    fn requests(&self, py: Python<'_>, #[pyo3(from_py_with = errors::seed)] seed: u64) -> PyResult<Table> {
        Ok(Table::of_requests(self.open(py, seed)?))
    }

    /// Statistics of the requests: mix, sizes, intervals, footprint, skew, updates.
    #[pyo3(signature = (*, seed=1))]
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = errors::seed)] seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.collect(py, seed)?)
    }

    /// A profile with these statistics, as TOML: a file of it is a workload again.
    #[pyo3(signature = (*, seed=1))]
    fn profile_toml(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = errors::seed)] seed: u64,
    ) -> PyResult<String> {
        let stats = self.collect(py, seed)?;
        let name = self.open(py, seed)?.describe();
        let profile = Profile::from_stats(&stats, &name).map_err(|error| errors::trace(py, error))?;
        Ok(profile.to_toml())
    }

    /// What it is, without reading it: where it comes from, how many requests are asked for, how they are folded.
    fn _about(&self) -> (&'static str, String, Option<u64>, String) {
        let (how, what, ..) = &self.made;
        (how, what.display().to_string(), self.spec.requests, self.spec.fold.to_string())
    }

    fn __repr__(&self) -> String {
        let (_, what, requests, _) = self._about();
        let requests = requests.map_or_else(String::new, |requests| format!(", {requests} requests"));
        format!("<stripewise.Workload {what}{requests}>")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("stripewise.notebook")?.getattr("workload")?.call1((slf,))
    }

    /// A one-line description.
    #[pyo3(signature = (*, seed=1))]
    fn describe(&self, py: Python<'_>, #[pyo3(from_py_with = errors::seed)] seed: u64) -> PyResult<String> {
        Ok(self.open(py, seed)?.describe())
    }
}

fn way(py: Python<'_>, fold: &str) -> PyResult<Fold> {
    fold.parse().map_err(|error| errors::trace(py, error))
}

/// A workload that was pickled.
#[pyfunction]
#[pyo3(name = "_workload_again")]
pub(crate) fn workload_again(
    py: Python<'_>,
    how: &str,
    what: PathBuf,
    format: Option<&str>,
    skip_bad: u64,
    requests: Option<u64>,
    fold: &str,
) -> PyResult<Workload> {
    match how {
        "trace" => Workload::trace(py, what, format, skip_bad, requests, fold),
        _ => Workload::generated(py, &what.to_string_lossy(), requests, fold),
    }
}
