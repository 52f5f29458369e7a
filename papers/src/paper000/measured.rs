//! What the runs of a study measured, as far as the paper's results need it.

use stripewise_results::{Error, Figures};
use stripewise_study::Finished;

use super::plan::{Cell, SCHEMES};
use crate::text::total;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The scheme, as the paper calls it.
    pub scheme: String,
    /// Host requests.
    pub requests: f64,
    /// Mean response times, in nanoseconds: of all requests, of reads, of writes.
    pub mean_ns: [f64; 3],
    /// The response time that 99.9 % of requests do not exceed.
    pub p999_ns: f64,
    /// Coefficient of variation of blocked requests: on arrival, after service.
    pub cv: [f64; 2],
    /// χ² of them.
    pub chi2: [f64; 2],
    /// Parity updates, and those whose routine is not Baseline's.
    pub updates: f64,
    /// Those whose routine is not Baseline's.
    pub adjusted: f64,
    /// Pages pre-read.
    pub pre_reads: f64,
    /// Blocks erased: 0 means that no garbage was collected.
    pub erases: f64,
    /// Pages programmed for each that the array wrote.
    pub programs_per_member_page: f64,
    /// Simulated time.
    pub simulated_ns: f64,
}

impl Run {
    /// The run whose totals are `totals`.
    pub fn of(scheme: &str, totals: &Figures) -> Self {
        let value = |name: &str| total(totals, name);
        Self {
            scheme: scheme.trim_start_matches("paper000-").to_owned(),
            requests: value("requests"),
            mean_ns: ["response_mean_ns", "read_mean_ns", "write_mean_ns"].map(value),
            p999_ns: value("response_p999_ns"),
            cv: ["blocked_cv", "blocked_cv_served"].map(value),
            chi2: ["blocked_chi2", "blocked_chi2_served"].map(value),
            updates: value("updates"),
            adjusted: value("updates_adjusted"),
            pre_reads: value("pre_read_pages"),
            erases: value("erase_blocks"),
            programs_per_member_page: value("programs_per_member_page"),
            simulated_ns: value("simulated_ns"),
        }
    }

    /// Share of the updates that were adjusted; 0 without updates.
    pub fn adjusted_share(&self) -> f64 {
        if self.updates == 0.0 { 0.0 } else { self.adjusted / self.updates }
    }
}

/// The runs of one study.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The study.
    pub cell: Cell,
    /// Its runs, in the order of [`SCHEMES`].
    pub runs: Vec<Run>,
    /// How long the trace took, at the clock of the study; 0 where it was not looked at.
    pub trace_ns: f64,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured.
    ///
    /// # Errors
    /// When their totals cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished]) -> Result<Self, Error> {
        let runs = finished.iter().map(|run| Ok(Run::of(&run.scheme, &run.run.totals()?)));
        Ok(Self { cell: cell.clone(), runs: runs.collect::<Result<_, Error>>()?, trace_ns: 0.0 })
    }

    /// The run of the scheme whose name ends so.
    pub fn run(&self, scheme: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.scheme == scheme)
    }

    /// Whether the array fell behind its trace: it was busy for a tenth longer than requests came.
    pub fn lags(&self) -> bool {
        self.trace_ns > 0.0 && self.runs.iter().any(|run| run.simulated_ns > 1.1 * self.trace_ns)
    }

    /// Whether a run collected no garbage.
    pub fn without_gc(&self) -> bool {
        self.runs.iter().any(|run| run.erases == 0.0)
    }

    /// Whether every scheme was run.
    pub fn is_whole(&self) -> bool {
        self.runs.len() == SCHEMES.len()
    }
}
