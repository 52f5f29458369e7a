//! Finished runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stripewise_base::suggest;
use stripewise_report::Source;
use stripewise_results::paired::{Kind, Ratio};
use stripewise_results::settings::{self, Settings};
use stripewise_results::summary::{Aggregate, Entry, Summary};
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
        let acknowledges = stripewise_runs::acknowledges(self.run.inputs());
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

    /// Digest of the run's inputs, which is the name of the directory.
    #[getter]
    fn run_digest(&self) -> String {
        self.run.inputs().digest().to_string()
    }

    /// Digest of the results. Equal runs have equal results digests on every machine.
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

    /// Where a write is when it is acknowledged: `members` or a kind of memory; None if unknown.
    #[getter]
    fn acknowledges(&self) -> Option<&'static str> {
        stripewise_runs::acknowledges(self.run.inputs())
    }

    /// The program's version that computed it.
    #[getter]
    fn version(&self) -> &str {
        &self.run.inputs().version
    }

    /// Scheme, device and members, as TOML.
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
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let totals = PyDict::new(py);
        for total in self.totals.iter() {
            match total.value {
                Figure::Count(count) => totals.set_item(&total.name, count)?,
                Figure::Real(real) => totals.set_item(&total.name, real)?,
            }
        }
        py.import("stripewise.names")?.getattr("Totals")?.call1((totals,))
    }

    /// The tables that it has.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        Name::ALL.into_iter().filter(|&table| self.run.has(table)).map(Name::name).collect()
    }

    /// One of its tables.
    fn table(&self, py: Python<'_>, #[pyo3(from_py_with = errors::name)] name: String) -> PyResult<Table> {
        let name = name.as_str();
        let is_former = name == "elements";
        if is_former {
            errors::former_name(py, name, Name::Members.name())?;
        }
        let name = if is_former { Name::Members.name() } else { name };
        let found = Name::ALL.into_iter().find(|table| table.name() == name);
        let table = found.map(|table| Table::of_run(py, &self.run, table)).transpose()?.flatten();
        table.ok_or_else(|| {
            let there = self.tables().join(", ");
            let near = suggest::nearest(name, self.tables());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            errors::setting(py, format!("the run has no table `{name}`; it has {there}{near}"))
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

/// The text that the command prints for a comparison: the runs side by side, in `width` columns.
#[pyfunction]
pub(crate) fn summary(py: Python<'_>, runs: Vec<PyRef<'_, Run>>, width: usize) -> PyResult<String> {
    Ok(compared(py, &runs)?.text(width))
}

/// The same as HTML, for a notebook.
#[pyfunction]
pub(crate) fn summary_html(py: Python<'_>, runs: Vec<PyRef<'_, Run>>) -> PyResult<String> {
    Ok(compared(py, &runs)?.html())
}

/// The label of each run's row in a comparison: its scheme, and the settings that distinguish it from the others.
#[pyfunction]
pub(crate) fn labels(py: Python<'_>, runs: Vec<PyRef<'_, Run>>) -> PyResult<Vec<String>> {
    Ok(compared(py, &runs)?.labels().map(str::to_owned).collect())
}

fn compared(py: Python<'_>, runs: &[PyRef<'_, Run>]) -> PyResult<Summary> {
    let entries = runs.iter().map(|run| run.entry()).collect();
    Summary::new(entries).map_err(|error| errors::store(py, error))
}

/// The totals of several runs: a row each, with scheme, seed and everything else that can vary first. Only what all of
/// them have.
#[pyfunction]
pub(crate) fn totals_table(py: Python<'_>, runs: Vec<PyRef<'_, Run>>) -> PyResult<Table> {
    let runs: Vec<&Run> = runs.iter().map(|run| &**run).collect();
    let seeds = UInt64Array::from_iter_values(runs.iter().map(|run| run.seed()));
    let mut columns = setups(&runs);
    columns.insert(1, ("seed".to_owned(), Arc::new(seeds)));
    for total in runs.first().into_iter().flat_map(|run| run.totals.iter()) {
        let values: Option<Vec<Figure>> = runs.iter().map(|run| run.totals.get(&total.name)).collect();
        columns.extend(values.map(|values| (total.name.clone(), column(&values))));
    }
    table(py, "totals", columns)
}

/// Totals over the seeds: a row each setup and total, those of `names` or all, with the mean, its 95 % interval, and the
/// difference from the first scheme. The totals' names end in their units.
#[pyfunction]
pub(crate) fn aggregate_table(
    py: Python<'_>,
    runs: Vec<PyRef<'_, Run>>,
    names: Vec<String>,
) -> PyResult<Table> {
    let has = |name: &&String| runs.iter().any(|run| run.totals.get(name).is_some());
    if let Some(name) = names.iter().find(|name| !has(name)) {
        return Err(errors::setting(py, unknown_total(name, &totals_of(&runs))));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = compared(py, &runs)?.aggregates(&names).map_err(|error| errors::store(py, error))?;
    let of_rows: Vec<&Run> = found.iter().map(|row| &*runs[row.run]).collect();
    let mut columns = setups(&of_rows);
    let mut add = |name: &str, column: ArrayRef| columns.push((name.to_owned(), column));
    let reals = |of: &dyn Fn(&Aggregate) -> Option<f64>| -> ArrayRef {
        Arc::new(found.iter().map(of).collect::<Float64Array>())
    };
    add("row", Arc::new(StringArray::from_iter_values(found.iter().map(|row| &row.label))));
    add("total", Arc::new(StringArray::from_iter_values(found.iter().map(|row| &row.total))));
    add("seeds", Arc::new(UInt64Array::from_iter_values(found.iter().map(|row| row.seeds as u64))));
    add("mean", reals(&|row| Some(row.mean)));
    add("mean_low", reals(&|row| Some(row.mean - row.margin?)));
    add("mean_high", reals(&|row| Some(row.mean + row.margin?)));
    add("first", Arc::new(found.iter().map(|row| row.first.as_deref()).collect::<StringArray>()));
    let ratio = |of: fn(&Ratio) -> f64| {
        reals(&move |row: &Aggregate| row.difference.as_ref()?.ratio.as_ref().map(of))
    };
    add("kind", Arc::new(StringArray::from_iter_values(found.iter().map(|row| Kind::of(&row.total).name()))));
    add("ratio", ratio(|it| it.typical));
    add("ratio_low", ratio(|it| it.low));
    add("ratio_high", ratio(|it| it.high));
    add("difference", reals(&|row| Some(row.difference?.mean)));
    add("difference_low", reals(&|row| row.difference.map(|it| it.mean - it.margin)));
    add("difference_high", reals(&|row| row.difference.map(|it| it.mean + it.margin)));
    let significant = found.iter().map(|row| row.difference.map(|it| it.is_significant));
    add("significant", Arc::new(significant.collect::<BooleanArray>()));
    table(py, "aggregates", columns)
}

/// The message for an unknown total, with the nearest of `known`.
#[pyfunction]
pub(crate) fn no_total(name: &str, known: Vec<String>) -> String {
    unknown_total(name, &known)
}

fn unknown_total(name: &str, known: &[String]) -> String {
    let known = || known.iter().map(String::as_str);
    // Most totals are times, whose unit is easily left out, and those of responses have a longer name.
    let full = [format!("{name}_ns"), format!("response_{name}_ns"), format!("response_{name}")];
    let meant = full.iter().find(|full| known().any(|total| total == full.as_str())).map(String::as_str);
    match meant.or_else(|| suggest::nearest(name, known())) {
        Some(near) => format!("there is no total `{name}`; did you mean `{near}`?"),
        None => format!("there is no total `{name}`; `totals` has them, as in response_p99_ns"),
    }
}

fn totals_of(runs: &[PyRef<'_, Run>]) -> Vec<String> {
    runs.iter().flat_map(|run| run.totals.iter()).map(|total| total.name.clone()).collect()
}

/// The message for an unknown `name` of a thing called `what`, with the nearest of `known`.
#[pyfunction]
pub(crate) fn unknown(what: &str, name: &str, known: Vec<String>) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    suggest::unknown(what, name, &known)
}

/// Settings that have a column in every table of runs: the column's name, the setting's, and whether its value is a
/// number.
const SETUP: [(&str, &str, bool); 8] = [
    ("request_limit", "requests", true),
    ("pacing", "pacing", false),
    ("device", "device.name", false),
    ("members", "members", false),
    ("precondition", "precondition", false),
    ("span_bytes", "fold_bytes", true),
    ("fold", "fold", false),
    ("warmup_requests", "warmup_requests", true),
];

/// Columns that identify each run, except for its seed: scheme, workload, the settings of [`SETUP`], and any others
/// that distinguish the runs.
fn setups(runs: &[&Run]) -> Vec<(String, ArrayRef)> {
    let all: Vec<Settings> = runs.iter().map(|run| settings::settings(run.run.inputs())).collect();
    let all: Vec<&Settings> = all.iter().collect();
    let texts = |name: &str| -> ArrayRef {
        Arc::new(all.iter().map(|settings| settings.get(name)).collect::<StringArray>())
    };
    let numbers = |name: &str| -> ArrayRef {
        Arc::new(all.iter().map(|settings| settings.get(name)?.parse().ok()).collect::<UInt64Array>())
    };
    let schemes = StringArray::from_iter_values(runs.iter().map(|run| run.scheme.as_str()));
    let workloads = StringArray::from_iter_values(runs.iter().map(|run| run.workload()));
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("scheme".to_owned(), Arc::new(schemes)), ("workload".to_owned(), Arc::new(workloads))];
    for (column, name, is_number) in SETUP {
        columns.push((column.to_owned(), if is_number { numbers(name) } else { texts(name) }));
    }
    let has_column = |name: &str| SETUP.iter().any(|(_, known, _)| *known == name);
    // The workload's own keys are in its column.
    let counts = |name: &str| !settings::is_of_scheme(name) && !settings::is_seed(name);
    for name in settings::distinguishing(&all, counts) {
        if !has_column(name) && !name.starts_with("workload.") {
            columns.push((name.to_owned(), texts(name)));
        }
    }
    columns
}

fn table(py: Python<'_>, name: &str, columns: Vec<(String, ArrayRef)>) -> PyResult<Table> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, Arc::clone(&column), column.is_nullable())),
    );
    let batch = batch.map_err(|error| errors::setting(py, error.to_string()))?;
    Ok(Table::of_batch(name, batch))
}

/// A column of counts if all values are counts, otherwise of floats.
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

/// The report on `runs` as one self-contained HTML file at `path`, which is overwritten.
#[pyfunction]
pub(crate) fn write_report(py: Python<'_>, runs: Vec<PyRef<'_, Run>>, path: PathBuf) -> PyResult<()> {
    let sources: Vec<Source> = runs.iter().map(|run| Source::from(run.run.clone())).collect();
    py.detach(|| stripewise_report::write(sources, &path)).map_err(|error| errors::report(py, &path, &error))
}
