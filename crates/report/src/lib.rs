//! Reports: one HTML file with figures of the given runs; for the evaluation of a paper, with the paper's own
//! figures. [`StudyReport`] is the report of a study, whose points have totals and no tables.
//!
//! A report is drawn only from the tables that runs leave. So it can be made long after them, and of runs of other
//! machines. The file is self-contained: it loads no script, font or picture. Every run appears under its scheme's
//! name in every figure for which it has data, and a figure without data is left out. Values that papers printed
//! appear only in the reports of their evaluations, marked.
//!
//! The charts are our own layer of SVG (`chart/`), not a library's, because of these combined requirements: the same
//! drawing in light, dark and print through variables of the style sheet; series distinguished without colour by
//! hatch, dash and marker; titles and descriptions for people who cannot see them; and text of a size that a phone
//! can show. `plotters`, the best maintained charting crate, draws fixed colours and fixed sizes, measures text with
//! fonts of the system, and has neither classes nor hatches nor descriptions. Other crates that write only SVG are
//! younger and have less.

#![forbid(unsafe_code)]

mod beside;
mod cautions;
mod chart;
mod course;
mod distribution;
mod error;
mod figures;
mod page;
pub mod perfetto;
mod run;
mod set;
mod study;
mod tables;
mod verdict;

use std::path::Path;

pub use beside::{Claims, Logging, Paper, RatioLine, RatioMap};
pub use error::Error;
pub use run::Source;
pub use study::{Change, Goal, Search, StudyAxis, StudyReport, StudyRow, StudyTotal, Trial};

use beside::Beside;
use run::LoadedRun;
use set::Set;
use stripewise_results::paired::Rate;
use stripewise_results::{RunInputs, settings, shared};

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
    rate: Rate,
}

impl Report {
    /// A report on `sources`.
    pub fn new(sources: impl IntoIterator<Item = Source>) -> Self {
        Self { sources: sources.into_iter().collect(), beside: Beside::default(), rate: Rate::FIXED }
    }

    /// Sets the error rate of intervals, for runs whose number of seeds depends on their results.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    /// Adds the time in nanoseconds that one decision of the update policy `policy` (as schemes name it, for example
    /// `adaptive`) takes on this machine. Paper 000's report shows the decisions of a run multiplied by this.
    #[must_use]
    pub fn decision_ns(mut self, policy: &str, ns: f64) -> Self {
        self.beside.decision_ns.push((policy.to_owned(), ns));
        self
    }

    /// Adds the cost of parity logging on each workload, for comparison with elastic striping in Figure 12 of paper
    /// 001.
    #[must_use]
    pub fn logging(mut self, logging: Vec<Logging>) -> Self {
        self.beside.logging = logging;
        self
    }

    /// Draws the figures of this paper, with their numbers and the values that the paper printed. A report without a
    /// paper has neither.
    #[must_use]
    pub fn figures_of(mut self, paper: Paper) -> Self {
        self.beside.paper = Some(paper);
        self
    }

    /// Adds maps of an evaluation, which stand after its figures.
    #[must_use]
    pub fn maps(mut self, maps: Vec<RatioMap>) -> Self {
        self.beside.maps = maps;
        self
    }

    /// Adds the claims of an evaluation, which stand before its figures.
    #[must_use]
    pub fn claims(mut self, claims: Claims) -> Self {
        self.beside.claims = Some(claims);
        self
    }

    /// Names a work in the head of the report: its authors, title, venue and year as one text, and its address.
    #[must_use]
    pub fn work(mut self, text: &str, address: Option<&str>) -> Self {
        self.beside.work = Some((text.to_owned(), address.map(str::to_owned)));
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
        let read = |source| LoadedRun::read(source, self.rate);
        let runs = self.sources.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut set = Set::new(runs, self.beside.clone());
        set.runs.iter_mut().try_for_each(LoadedRun::read_time_spent)?;
        page::html(&set)
    }

    /// Writes the report to the file `out`, and replaces an existing file.
    ///
    /// # Errors
    /// As [`Report::html`], and when the file cannot be written.
    pub fn write(&self, out: &Path) -> Result<(), Error> {
        let html = self.html()?;
        shared::replace(out, html.as_bytes()).map_err(|source| Error::Write { path: out.to_owned(), source })
    }
}

/// The sort key of a run: update policies in the order of paper 000, then other placements than in place, then arrays
/// without parity; workloads in the
/// order of its Table III, then others by name.
pub fn papers_order(inputs: &RunInputs) -> impl Ord + use<> {
    let settings = settings::settings(inputs);
    let of = |key: &str| settings.get(key).cloned().unwrap_or_default();
    let place =
        |list: &[&str], name: &str| list.iter().position(|known| *known == name).unwrap_or(list.len());
    let workload = inputs.workload.clone().unwrap_or_else(|| settings::workload_name(inputs));
    let policy = place(&POLICIES, &of("scheme.update.policy"));
    let workload = (place(&WORKLOADS, &workload), workload);
    let is_bare = of("scheme.geometry.level") == "raid0";
    // Schemes that update in place come first: others are compared with them.
    let is_elsewhere = !matches!(of("scheme.placement.policy").as_str(), "" | "in-place");
    (
        is_bare,
        is_elsewhere,
        policy,
        of("scheme.name").len(),
        of("scheme.name"),
        workload,
        inputs.digest().to_string(),
    )
}

/// Update policies: those of paper 000, Figure 6, with the policies that never choose after the first.
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
