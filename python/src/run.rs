//! Finished runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stripewise_report::Source;
use stripewise_results::summary::{Entry, Summary};
use stripewise_results::{Digest, Figure, Figures, FinishedRun, Store, Table as Name};

use crate::errors;
use crate::table::Table;

/// A finished run: one scheme over one workload on one device, its tables in the store.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Run {
    scheme: String,
    run: FinishedRun,
    totals: Figures,
    cpu_ns: Option<u64>,
}

impl Run {
    pub(crate) fn new(
        py: Python<'_>,
        scheme: String,
        run: FinishedRun,
        cpu_ns: Option<u64>,
    ) -> PyResult<Self> {
        let totals = run.totals().map_err(|error| errors::store(py, error))?;
        Ok(Self { scheme, run, totals, cpu_ns })
    }

    fn entry(&self) -> Entry {
        let acknowledges = stripewise_study::acknowledges(self.run.inputs());
        Entry { acknowledges, ..Entry::new(&self.scheme, &self.run, self.totals.clone()) }
    }
}

#[pymethods]
impl Run {
    /// The scheme's name, with its own settings.
    #[getter]
    fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The directory of its tables.
    #[getter]
    fn path(&self) -> PathBuf {
        self.run.path().to_owned()
    }

    /// The digest of what was run, which names the directory.
    #[getter]
    fn run_digest(&self) -> String {
        self.run.inputs().digest().to_string()
    }

    /// The digest of what came out. Equal runs have equal ones, on every machine.
    #[getter]
    fn results_digest(&self) -> String {
        self.run.results_digest().to_string()
    }

    /// Whether it was computed now, or found in the store.
    #[getter]
    fn computed(&self) -> bool {
        self.cpu_ns.is_some()
    }

    /// Processor time of computing it now, in nanoseconds; none when it was found in the store.
    #[getter]
    fn cpu_ns(&self) -> Option<u64> {
        self.cpu_ns
    }

    /// Seed of everything random.
    #[getter]
    fn seed(&self) -> u64 {
        self.run.inputs().seed
    }

    /// The workload: a trace's digest, or a generator's specification.
    #[getter]
    fn workload(&self) -> &str {
        let digest = &self.run.inputs().trace_digest;
        digest.rsplit_once(";seed=").map_or(digest, |(generator, _)| generator)
    }

    /// When requests were sent, as `compare` takes it.
    #[getter]
    fn pacing(&self) -> Option<String> {
        let replay: toml::Table = self.run.inputs().replay().parse().ok()?;
        Some(replay.get("pacing")?.as_str()?.to_owned())
    }

    /// The program's version that computed it.
    #[getter]
    fn version(&self) -> &str {
        &self.run.inputs().version
    }

    /// Scheme, device and elements, as TOML.
    #[getter]
    fn configuration(&self) -> &str {
        self.run.inputs().configuration()
    }

    /// Workload and pacing, as TOML.
    #[getter]
    fn replay(&self) -> &str {
        self.run.inputs().replay()
    }

    /// Every total by its name, which ends in its unit.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = PyDict::new(py);
        for total in self.totals.iter() {
            match total.value {
                Figure::Count(count) => totals.set_item(&total.name, count)?,
                Figure::Real(real) => totals.set_item(&total.name, real)?,
            }
        }
        Ok(totals)
    }

    /// The tables that it has.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        Name::ALL.into_iter().filter(|&table| self.run.has(table)).map(Name::name).collect()
    }

    /// One of its tables.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let found = Name::ALL.into_iter().find(|table| table.name() == name);
        let table = found.map(|table| Table::of_run(py, &self.run, table)).transpose()?.flatten();
        table.ok_or_else(|| {
            let there = self.tables().join(", ");
            errors::setting(py, format!("the run has no table `{name}`; it has {there}"))
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let open = py.import("stripewise._stripewise")?.getattr("open_run")?;
        let arguments = (self.path(), &self.scheme, self.cpu_ns).into_pyobject(py)?;
        PyTuple::new(py, [open, arguments.into_any()])
    }

    fn __repr__(&self) -> String {
        let how = if self.computed() { "computed now" } else { "found in the store" };
        format!("<stripewise.Run {}: {}, {how}>", self.scheme, self.run.path().display())
    }
}

/// The finished run in the directory `path`.
#[pyfunction]
#[pyo3(signature = (path, scheme=None, cpu_ns=None))]
pub(crate) fn open_run(
    py: Python<'_>,
    path: PathBuf,
    scheme: Option<String>,
    cpu_ns: Option<u64>,
) -> PyResult<Run> {
    let refuse = |reason: &str| errors::setting(py, format!("{}: {reason}", path.display()));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digest: Digest =
        name.parse().map_err(|_| refuse("a run's directory is named by its digest of 64 digits"))?;
    let store = Store::new(path.parent().unwrap_or(Path::new("")));
    let found = store.find(digest).map_err(|error| errors::store(py, error))?;
    let run = found.ok_or_else(|| refuse("there is no such run"))?;
    let named = || {
        let configuration: toml::Table = run.inputs().configuration().parse().ok()?;
        Some(configuration.get("scheme")?.get("name")?.as_str()?.to_owned())
    };
    let scheme = scheme.or_else(named).unwrap_or_default();
    Run::new(py, scheme, run, cpu_ns)
}

/// What the command prints of a comparison: the runs side by side, in `width` columns.
#[pyfunction]
pub(crate) fn summary(py: Python<'_>, runs: Vec<PyRef<'_, Run>>, width: usize) -> PyResult<String> {
    let entries = runs.iter().map(|run| run.entry()).collect();
    Ok(Summary::new(entries).map_err(|error| errors::store(py, error))?.text(width))
}

/// The totals of several runs: a row each, with scheme, seed, pacing and workload first. Only what all of them have.
#[pyfunction]
pub(crate) fn totals_table(py: Python<'_>, runs: Vec<PyRef<'_, Run>>) -> PyResult<Table> {
    let names = StringArray::from_iter_values(runs.iter().map(|run| run.scheme.as_str()));
    let seeds = UInt64Array::from_iter_values(runs.iter().map(|run| run.seed()));
    let pacings: StringArray = runs.iter().map(|run| run.pacing()).collect();
    let workloads = StringArray::from_iter_values(runs.iter().map(|run| run.workload()));
    let mut fields = vec![
        Field::new("scheme", DataType::Utf8, false),
        Field::new("seed", DataType::UInt64, false),
        Field::new("pacing", DataType::Utf8, true),
        Field::new("workload", DataType::Utf8, false),
    ];
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(names), Arc::new(seeds), Arc::new(pacings), Arc::new(workloads)];
    for total in runs.first().into_iter().flat_map(|run| run.totals.iter()) {
        let values: Option<Vec<Figure>> = runs.iter().map(|run| run.totals.get(&total.name)).collect();
        let Some(values) = values else { continue };
        let column = column(&values);
        fields.push(Field::new(&total.name, column.data_type().clone(), false));
        columns.push(column);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    let batch = batch.map_err(|error| errors::setting(py, error.to_string()))?;
    Ok(Table::of_batch("totals", batch))
}

/// Counts as such where all are counts, else as floats.
fn column(values: &[Figure]) -> ArrayRef {
    let count = |value: &Figure| if let Figure::Count(count) = value { Some(*count) } else { None };
    if let Some(counts) = values.iter().map(count).collect::<Option<Vec<u64>>>() {
        return Arc::new(UInt64Array::from(counts));
    }
    let real = |value: &Figure| match *value {
        Figure::Count(count) => count as f64,
        Figure::Real(real) => real,
    };
    Arc::new(values.iter().map(|value| Some(real(value))).collect::<Float64Array>())
}

/// The report on `runs` as one self-contained HTML file at `path`, instead of what was there.
#[pyfunction]
pub(crate) fn write_report(py: Python<'_>, runs: Vec<PyRef<'_, Run>>, path: PathBuf) -> PyResult<()> {
    let sources: Vec<Source> = runs.iter().map(|run| Source::from(run.run.clone())).collect();
    py.detach(|| stripewise_report::write(sources, &path)).map_err(|error| errors::report(py, &path, &error))
}
