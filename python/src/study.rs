//! Studies of many runs, from a study file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use stripewise_results::paired::Kind;
use stripewise_results::summary::{Unit, significant};
use stripewise_study::{
    self as study, Counts, Error, Next, Options, Outcome, StudyFile, StudyStore, Watch, Worker,
};

use crate::catalog::python;
use crate::errors;
use crate::patience::{Stop, patiently};

/// A study file that was read and resolved, and the store of its results.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Plan {
    plan: Arc<study::Plan>,
    store: StudyStore,
    stop: Stop,
}

impl Plan {
    fn patiently<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&study::Plan, &StudyStore) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = patiently(py, &self.stop, |_| Ok(()), || work(&self.plan, &self.store))?;
        done.map_err(|error| errors::study(py, error))
    }
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (path, *, text, store, stop))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        text: Option<&str>,
        store: Option<&str>,
        stop: &Stop,
    ) -> PyResult<Self> {
        let resolve = || {
            let file = match text {
                Some(text) => StudyFile::parse(&path, text)?,
                None => StudyFile::read(&path)?,
            };
            let store = StudyStore::open(&store.map_or_else(|| file.store.clone(), PathBuf::from))?;
            Ok((Arc::new(study::Plan::new(file, stop)?), store))
        };
        let resolved = patiently(py, stop, |_| Ok(()), resolve)?;
        let (plan, store) = resolved.map_err(|error| errors::study(py, error))?;
        Ok(Self { plan, store, stop: stop.clone() })
    }

    /// The label of the study.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.file().name
    }

    /// The digest of everything that decides the runs.
    #[getter]
    fn digest(&self) -> String {
        self.plan.digest().to_string()
    }

    /// The place of the results.
    #[getter]
    fn store(&self) -> String {
        self.store.place()
    }

    /// The schemes that are compared.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.plan.file().schemes.clone()
    }

    /// The axes: keys with their values.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axis = |axis: &study::Axis| {
            (axis.key.clone(), axis.values.iter().map(|value| value.shown.clone()).collect())
        };
        self.plan.file().axes.iter().map(axis).collect()
    }

    /// What the study would run, and what it leaves out.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.patiently(py, |plan, _| study::check(plan, &self.stop))?;
        let skipped = |skipped: &study::Skipped| {
            json!({
                "reason": skipped.reason,
                "combinations": skipped.combinations,
                "example": skipped.example,
            })
        };
        let value = json!({
            "name": self.plan.file().name,
            "plan": self.digest(),
            "points": found.points,
            "combinations": found.combinations,
            "runs": { "least": found.runs_least, "most": found.runs_most },
            "cpu_ns": { "least": found.cpu_least_ns as u64, "most": found.cpu_most_ns as u64 },
            "bytes": { "least": found.bytes().0, "most": found.bytes().1 },
            "skipped": found.skipped.iter().map(skipped).collect::<Vec<_>>(),
        });
        python(py, &value)
    }

    /// How far the study is, from its store alone.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.patiently(py, |plan, store| study::status(plan, store, &self.stop))?;
        python(py, &found.json(&self.plan))
    }

    /// The runs that failed and have no result.
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let failures = self.patiently(py, |_, store| {
            let known = store.load(&[])?;
            let mut failures: Vec<_> =
                store.failures()?.into_values().filter(|it| known.get(&it.key).is_none()).collect();
            failures.sort_by(|one, other| one.run.cmp(&other.run));
            Ok(failures)
        })?;
        let value = |failed: &study::Failed| {
            json!({
                "run": failed.run,
                "attempts": failed.attempts,
                "message": failed.message,
                "refused": failed.is_refused,
            })
        };
        python(py, &failures.iter().map(value).collect::<Vec<Value>>())
    }

    /// Writes the catalogue, a table with a row for each run. Returns its place and the number of rows.
    fn index(&self, py: Python<'_>) -> PyResult<(String, u64)> {
        let (path, rows) = self.patiently(py, |plan, store| study::index(plan, store, &self.stop))?;
        Ok((path.display().to_string(), rows))
    }

    /// Writes the report of the study to the file `out`. The other arguments are what it shows: totals, axes, and points by an
    /// axis and its value.
    fn report(
        &self,
        py: Python<'_>,
        out: PathBuf,
        figures: Vec<String>,
        over: Vec<String>,
        only: Vec<String>,
    ) -> PyResult<()> {
        let requested = || -> Result<study::Requested, String> {
            Ok(study::Requested {
                totals: figures.iter().map(|name| study::figure_of(name)).collect::<Result<_, _>>()?,
                over: over.iter().map(|key| study::axis_of(&self.plan, key)).collect::<Result<_, _>>()?,
                only: only.iter().map(|text| study::point_of(&self.plan, text)).collect::<Result<_, _>>()?,
            })
        };
        let requested = requested().map_err(|message| errors::setting(py, message))?;
        let report = self.patiently(py, |plan, store| study::report(plan, store, &requested, &self.stop))?;
        report.write(&out).map_err(|error| match error {
            stripewise_report::Error::NoRuns => errors::setting(
                py,
                format!(
                    "{}: there are no such runs; make some with stripewise.study(...).run()",
                    self.store()
                ),
            ),
            other => errors::report(py, &out, &other),
        })
    }

    /// The mean of each of `figures` over all points, each the mean over its seeds and schemes.
    fn means(&self, py: Python<'_>, figures: Vec<String>) -> PyResult<Vec<f64>> {
        let figures = figures.iter().map(|name| study::figure_of(name)).collect::<Result<Vec<_>, _>>();
        let figures = figures.map_err(|error| errors::setting(py, error))?;
        self.patiently(py, |plan, store| {
            let (mut sums, mut points) = (vec![0.0; figures.len()], 0);
            study::visit(plan, store, &figures, &self.stop, &mut |point, values, _| {
                points += u32::from(!point.schemes.is_empty());
                for (sum, values) in sums.iter_mut().zip(values) {
                    let seeds = point.seeds() as usize;
                    let all: Vec<f64> =
                        values.iter().flat_map(|values| values.iter().take(seeds).copied()).collect();
                    *sum += all.iter().sum::<f64>() / all.len() as f64;
                }
                Ok(())
            })?;
            Ok(sums.into_iter().map(|sum| sum / f64::from(points)).collect())
        })
    }

    /// The results of each point and scheme: the figure's name, and for each row its axes, the scheme, the seeds, why they
    /// ended, the mean with its interval and the effect beside the scheme that the others are compared with, as numbers and
    /// as the command prints them. Without a name: the figure that decides.
    fn intervals<'py>(&self, py: Python<'py>, figure: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let figure = match figure {
            Some(name) => study::figure_of(name).map_err(|error| errors::setting(py, error))?,
            None => self.plan.file().replicate.figure.clone(),
        };
        let kind = Kind::of(&figure);
        let (mut rows, shown) = self.patiently(py, |plan, store| {
            let (mut rows, mut all) = (Vec::new(), Vec::new());
            study::visit(plan, store, std::slice::from_ref(&figure), &self.stop, &mut |point, values, _| {
                if point.seeds() == 0 {
                    return Ok(());
                }
                let shown = point.rows(plan, &values[0], kind);
                let base = shown[point.base(plan)].mean;
                let axes: Vec<(&str, &str)> = plan.values(&point.cell).collect();
                for (at, row) in shown.iter().enumerate() {
                    let ratio = row.difference.and_then(|it| it.ratio);
                    rows.push(json!({
                        "axes": axes,
                        "scheme": plan.file().schemes[point.schemes[at]],
                        "seeds": point.seeds(),
                        "end": point.why().map(study::reason),
                        "mean": row.mean,
                        "margin": row.margin,
                        "ratio": ratio.map(|it| it.typical),
                        "ratio_low": ratio.map(|it| it.low),
                        "ratio_high": ratio.map(|it| it.high),
                        "difference": row.difference.map(|it| it.mean),
                        "difference_margin": row.difference.map(|it| it.margin),
                        "significant": row.difference.map(|it| it.is_significant),
                    }));
                    all.push((*row, row.effect(base, kind)));
                }
                Ok(())
            })?;
            Ok((rows, all))
        })?;
        // As `stripewise study show` prints them.
        let unit = Unit::of(shown.iter().map(|(row, _)| (figure.as_str(), row.mean)));
        for (value, (row, effect)) in rows.iter_mut().zip(shown) {
            let in_unit = |value: f64| significant(value / unit.size);
            let margin = row.margin.map_or("-".to_owned(), in_unit);
            value["shown"] = json!([in_unit(row.mean), margin, effect]);
        }
        let title = Unit::bare(&figure);
        let found = json!({
            "figure": figure,
            "kind": kind.name(),
            "title": title,
            "unit": unit.name,
            "rows": rows,
        });
        python(py, &found)
    }

    /// Keeps a text under a name in the store's folder of trials; gives the one that is there already.
    fn kept(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<Option<String>> {
        self.patiently(py, |_, store| store.kept("tune", name, text))
    }

    /// The digests of each run in the store and of its results, also of runs of other studies.
    fn digests(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let known = self.patiently(py, |_, store| store.load(&[]))?;
        Ok(known.iter().map(|(_, row)| (row.run.to_string(), row.results.to_string())).collect())
    }

    /// What hands out the runs that the store lacks, to `workers` workers, in batches of about `batch_s` seconds each;
    /// `limit` of them at most.
    #[pyo3(signature = (*, workers, batch_s, limit))]
    fn coordinator(
        &self,
        py: Python<'_>,
        workers: usize,
        batch_s: f64,
        limit: Option<u64>,
    ) -> PyResult<Coordinator> {
        let batch = Duration::try_from_secs_f64(batch_s).unwrap_or(Duration::from_secs(30));
        let options = Options { workers, limit, batch, ..Options::default() };
        let plan = Arc::clone(&self.plan);
        let coordinator = self.patiently(py, |_, store| {
            store.sweep()?;
            study::Coordinator::new(&plan, store, options)
        })?;
        Ok(Coordinator { coordinator: Mutex::new(Some(coordinator)), stop: self.stop.clone() })
    }
}

/// Hands out the batches of a study, and takes the reports of workers.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Coordinator {
    coordinator: Mutex<Option<study::Coordinator>>,
    stop: Stop,
}

impl Coordinator {
    fn lock(&self) -> MutexGuard<'_, Option<study::Coordinator>> {
        self.coordinator.lock().expect("no thread panics while it plans")
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut study::Coordinator) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = patiently(py, &self.stop, |_| Ok(()), || self.lock().as_mut().map(work))?;
        match done {
            Some(done) => done.map_err(|error| errors::study(py, error)),
            None => Err(PyRuntimeError::new_err("the coordinator has finished")),
        }
    }
}

#[pymethods]
impl Coordinator {
    /// The next batch: its number, the number of its runs, and its bytes for `study_work`. `wait` if a batch must end
    /// first; None when all runs are made.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let next = self.with(py, |coordinator| Ok(coordinator.next(&self.stop)))?;
        match next {
            Next::Batch(batch) => {
                let bytes = PyBytes::new(py, &batch.to_bytes());
                Ok((batch.id(), batch.runs(), bytes).into_pyobject(py)?.into_any())
            }
            Next::Wait => Ok("wait".into_pyobject(py)?.into_any()),
            Next::Done => Ok(py.None().into_bound(py)),
        }
    }

    /// Takes a report of a worker.
    fn report(&self, py: Python<'_>, report: Vec<u8>) -> PyResult<()> {
        self.with(py, |coordinator| coordinator.report(&report).map(drop))
    }

    /// The worker of a batch died with the runs of the batch that it has not reported.
    fn lost(&self, py: Python<'_>, batch: u64, reason: &str) -> PyResult<()> {
        self.with(py, |coordinator| coordinator.lost(batch, reason).map(drop))
    }

    /// The counts so far.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counts = self.with(py, |coordinator| Ok(coordinator.counts()))?;
        python(py, &shown(&counts))
    }

    /// Ends: joins small files of the store, and gives the counts.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let finish = || self.lock().take().map(study::Coordinator::finish);
        match patiently(py, &self.stop, |_| Ok(()), finish)? {
            Some(done) => {
                let Outcome { counts, is_stopped } = done.map_err(|error| errors::study(py, error))?;
                let mut value = shown(&counts);
                value["stopped"] = is_stopped.into();
                python(py, &value)
            }
            None => Err(PyRuntimeError::new_err("the coordinator has finished")),
        }
    }
}

fn shown(counts: &Counts) -> Value {
    json!({
        "points_done": counts.points_done,
        "points_failed": counts.points_failed,
        "points_open": counts.points_open,
        "points_left": counts.points_left,
        "combinations_refused": counts.refused,
        "found": counts.found,
        "made": counts.made,
        "failed": counts.failed,
        "pending": counts.pending,
        "cpu_ns": counts.cpu_ns,
        "left_ns": counts.left_ns,
        "narrowest": counts.narrowest,
        "widest": counts.widest,
    })
}

impl Watch for Stop {
    fn may_continue(&self) -> bool {
        !self.is_set()
    }
}

/// Values of one total as tables show them: the total's name for a head, the unit, which may be empty, and the numbers in it.
#[pyfunction]
pub(crate) fn in_unit(figure: &str, values: Vec<f64>) -> (String, &'static str, Vec<String>) {
    let unit = Unit::of(values.iter().map(|value| (figure, *value)));
    let shown = values.iter().map(|value| significant(value / unit.size));
    (Unit::bare(figure).to_owned(), unit.name, shown.collect())
}

/// Makes the runs of a batch, commits them to the store of its study, and gives the reports for the coordinator. `name` is
/// what errors call this worker.
#[pyfunction]
#[pyo3(signature = (batch, *, name, stop))]
pub(crate) fn study_work<'py>(
    py: Python<'py>,
    batch: Vec<u8>,
    name: String,
    stop: &Stop,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    // Plans are kept between batches.
    static WORKER: OnceLock<Worker> = OnceLock::new();
    let worker = WORKER.get_or_init(|| Worker::new(name));
    let mut reports = Vec::new();
    let work = || {
        worker.execute(&batch, stop, &mut |report| {
            reports.push(report);
            Ok(())
        })
    };
    patiently(py, stop, |_| Ok(()), work)?.map_err(|error| errors::study(py, error))?;
    Ok(reports.iter().map(|report| PyBytes::new(py, report)).collect())
}
