//! Reports: one HTML file with figures of the runs that it is given, and for the evaluation of a paper the paper's own.
//!
//! All of it is drawn from the tables that runs leave, so a report can be made long after them and of runs of other
//! machines. The file is whole in itself: no script, no font, no picture comes from elsewhere. Every run is under its
//! scheme's name in every figure for which it has data, and a figure without data is left out. What papers printed stands in
//! the reports of their evaluations alone, marked.
//!
//! The charts are our own layer of SVG (`chart/`), not a library's, because of what is asked of them together: the same
//! drawing in light, dark and print through variables of the style sheet; series told apart without colour by hatch,
//! dash and marker; titles and descriptions for those who cannot see them; and text of a size that a phone can show.
//! `plotters`, the charting crate that is kept best, draws fixed colours and fixed sizes, measures text with fonts of the
//! system, and has neither classes nor hatches nor descriptions; others that write SVG alone are younger and have less.

#![forbid(unsafe_code)]

mod chart;
mod distribution;
mod error;
mod figures;
mod page;
pub mod perfetto;
mod run;
mod set;
mod tables;

use std::fs;
use std::path::Path;

pub use error::Error;
pub use run::Source;

use run::Run;
use set::Set;
use stripewise_results::{RunInputs, settings};

/// A report on runs, which it shows in the order given; the first scheme is what the others are compared with.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::path::Path;
/// use stripewise_report::{Report, Source};
/// use stripewise_results::Store;
///
/// let runs = Store::new("stripewise-results").runs()?;
/// Report::new(runs.into_iter().map(Source::from)).write(Path::new("report.html"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    sources: Vec<Source>,
    beside: Beside,
}

/// What a report shows beside its runs.
#[derive(Clone, Debug, Default)]
struct Beside {
    /// What one decision takes, by update policy.
    decision_ns: Vec<(String, f64)>,
    /// What parity logging would cost.
    logging: Vec<Logging>,
    /// The paper whose figures are drawn, with their numbers and what was printed.
    paper: Option<Paper>,
}

/// A paper whose figures a report has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// Paper 000: update routines.
    P000,
    /// Paper 001: elastic striping.
    P001,
    /// Paper 002: redirected reads.
    P002,
    /// Paper 003: write caches.
    P003,
    /// Paper 004: zones of several chunk sizes.
    P004,
}

/// What parity logging would cost on a workload, in chunks: a model's counts, which no run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// The workload's name in the report.
    pub workload: String,
    /// Parity chunks of a stripe.
    pub parity: u32,
    /// Chunks pre-read.
    pub pre_reads: u64,
    /// Delta chunks written to the log.
    pub log_writes: u64,
    /// Parity chunks written by full stripes.
    pub parity_writes: u64,
}

impl Report {
    /// A report on `sources`.
    pub fn new(sources: impl IntoIterator<Item = Source>) -> Self {
        Self { sources: sources.into_iter().collect(), beside: Beside::default() }
    }

    /// What one decision of the update policy `policy` (as schemes name it: `adaptive`, say) takes on this machine, in
    /// nanoseconds. Paper 000's report shows the decisions of a run times this.
    #[must_use]
    pub fn decision_ns(mut self, policy: &str, ns: f64) -> Self {
        self.beside.decision_ns.push((policy.to_owned(), ns));
        self
    }

    /// What parity logging would cost on each workload, beside elastic striping in Figure 12 of paper 001.
    #[must_use]
    pub fn logging(mut self, logging: Vec<Logging>) -> Self {
        self.beside.logging = logging;
        self
    }

    /// Draws the figures of this paper, with their numbers and what the paper printed. A report without a paper has neither.
    #[must_use]
    pub fn figures_of(mut self, paper: Paper) -> Self {
        self.beside.paper = Some(paper);
        self
    }

    /// The report as HTML.
    ///
    /// # Errors
    /// When there is no run, or a run's tables cannot be read.
    pub fn html(&self) -> Result<String, Error> {
        if self.sources.is_empty() {
            return Err(Error::NoRuns);
        }
        let runs = self.sources.iter().map(Run::read).collect::<Result<Vec<_>, _>>()?;
        Ok(page::html(&Set::new(runs, self.beside.clone())))
    }

    /// Writes the report to the file `out`, instead of what was there.
    ///
    /// # Errors
    /// As [`Report::html`], and when the file cannot be written.
    pub fn write(&self, out: &Path) -> Result<(), Error> {
        fs::write(out, self.html()?).map_err(|source| Error::Write { path: out.to_owned(), source })
    }
}

/// Where a run stands among others: update policies in the order in which paper 000 has them, arrays without parity
/// behind them; workloads in the order of its Table III, others behind them by name.
pub fn papers_order(inputs: &RunInputs) -> impl Ord + use<> {
    let settings = settings::settings(inputs);
    let of = |key: &str| settings.get(key).cloned().unwrap_or_default();
    let place =
        |list: &[&str], name: &str| list.iter().position(|known| *known == name).unwrap_or(list.len());
    let workload = inputs.workload.clone().unwrap_or_else(|| settings::workload_name(inputs));
    let policy = place(&POLICIES, &of("scheme.update.policy"));
    let workload = (place(&WORKLOADS, &workload), workload);
    let is_bare = of("scheme.geometry.level") == "raid0";
    (is_bare, policy, of("scheme.name").len(), of("scheme.name"), workload, inputs.digest().to_string())
}

/// Update policies: those of paper 000, Figure 6, and after the first those that never choose.
const POLICIES: [&str; 5] = ["baseline", "always-rmw", "always-rcw", "bpu", "adaptive"];

/// The traces of paper 000, Table III.
const WORKLOADS: [&str; 6] = ["hm_0", "lun0", "lun1", "lun2", "Ali_0", "Ali_1"];

/// Writes a report on `runs` to the file `out`.
///
/// # Errors
/// When there is no run, a run's tables cannot be read, or the file cannot be written.
pub fn write(runs: impl IntoIterator<Item = Source>, out: &Path) -> Result<(), Error> {
    Report::new(runs).write(out)
}
