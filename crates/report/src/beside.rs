//! What a report shows besides its runs.

/// Content of a report that does not come from its runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    /// The time of one decision, by update policy.
    pub(crate) decision_ns: Vec<(String, f64)>,
    /// The cost of parity logging.
    pub(crate) logging: Vec<Logging>,
    /// The paper whose figures are drawn, with their numbers and printed values.
    pub(crate) paper: Option<Paper>,
    /// The maps of an evaluation.
    pub(crate) maps: Vec<RatioMap>,
    /// The claims of an evaluation.
    pub(crate) claims: Option<Claims>,
    /// The work that the head names, and its address.
    pub(crate) work: Option<(String, Option<String>)>,
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

/// The cost of parity logging on a workload, in chunks: a model's counts, which no run has.
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

/// A map of an evaluation. Its values come from the evaluation, not from the runs of the report.
#[derive(Clone, Debug)]
pub struct RatioMap {
    /// Its title.
    pub title: String,
    /// What it shows, and why.
    pub about: String,
    /// What is divided by what; below 1 the first is better.
    pub ratio: String,
    /// What the places are.
    pub axis: String,
    /// Whether the axis is logarithmic.
    pub is_log: bool,
    /// Its panels, each with a title and lines.
    pub panels: Vec<(String, Vec<RatioLine>)>,
}

/// A line of a map.
#[derive(Clone, Debug)]
pub struct RatioLine {
    /// Its name.
    pub name: String,
    /// Places, upwards, with what was measured.
    pub points: Vec<(f64, f64)>,
    /// The places where it crosses 1, each with the ends of its interval.
    pub break_evens: Vec<(f64, (f64, f64))>,
}

/// The claims of an evaluation with their verdicts, as texts.
#[derive(Clone, Debug)]
pub struct Claims {
    /// The titles of the columns; the verdict is the last.
    pub head: Vec<String>,
    /// A row for each claim.
    pub rows: Vec<Vec<String>>,
    /// What the numbers are.
    pub about: String,
}
