//! Which contests are held: the default scheme beside a paper's own, on that paper's workloads, device and metric.

use std::fmt;

use stripewise_flash::Level;
use stripewise_runs::{ComparisonSpec, Document, Origin, SchemeSpec, What, WorkloadSpec};
use stripewise_sim::Layout;
use stripewise_trace::fold::Fold;

use crate::plan::over_span_of;
use crate::{Error, EvaluationOptions, Paper, Part, StudyPoint};

/// The results: a paper and its metric each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlannedClaim {
    /// Paper 000, mean response.
    A,
    /// Paper 001, mean response.
    B,
    /// Paper 001, erases.
    C,
    /// Paper 001, chunks that array-level GC moves.
    D,
    /// Paper 002, read waiting.
    E,
    /// Paper 003, mean response.
    F,
    /// Paper 004, mean response.
    G,
}

impl PlannedClaim {
    /// All, in order.
    pub const ALL: [Self; 7] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G];

    /// As the table names it: `5a`.
    pub fn name(self) -> &'static str {
        ["5a", "5b", "5c", "5d", "5e", "5f", "5g"][self as usize]
    }

    /// The ids of all, in order.
    pub fn ids() -> Vec<String> {
        Self::ALL.iter().map(|row| row.name().to_owned()).collect()
    }

    /// The results that are asked for.
    pub fn requested(options: &EvaluationOptions) -> Vec<Self> {
        Self::ALL.into_iter().filter(|row| options.claims.iter().any(|id| id == row.name())).collect()
    }

    /// The paper.
    pub fn paper(self) -> &'static str {
        match self {
            Self::A => "000",
            Self::B | Self::C | Self::D => "001",
            Self::E => "002",
            Self::F => "003",
            Self::G => "004",
        }
    }

    /// The paper's own scheme: its name there, and the preset.
    pub fn own(self) -> (&'static str, &'static str) {
        match self {
            Self::A => ("Adaptive", "paper000-adaptive"),
            Self::B | Self::C | Self::D => ("WAS(2)", "was"),
            Self::E => ("BRR", "paper002-brr"),
            Self::F => ("SIW", "paper003-siw"),
            Self::G => ("MC-RAIS", "paper004-mc-rais"),
        }
    }

    /// The total that is compared; less is better.
    pub fn metric(self) -> &'static str {
        match self {
            Self::A | Self::B | Self::F | Self::G => "response_mean_ns",
            Self::C => "erase_blocks",
            Self::D => "array_gc_moved_chunks",
            Self::E => "read_wait_mean_ns",
        }
    }

    /// What that is in words.
    pub fn what(self) -> &'static str {
        match self {
            Self::A => "mean response, 5+1 channels, the printed clock",
            Self::B => "mean response, eight SSDs, RAID-5",
            Self::C => "erased blocks",
            Self::D => "chunks moved by array-level GC",
            Self::E => "read waiting, 64 chips, sped up",
            Self::F => "mean response, nine SSDs, RAID-5",
            Self::G => "mean response, four SSDs with fewer blocks, RAID-5",
        }
    }

    /// What lets the default acknowledge when the paper's own scheme does; none where that is when memory has the write.
    fn acknowledge(self) -> Option<&'static str> {
        match self {
            Self::A | Self::E | Self::G => Some(DURABLE),
            Self::B | Self::C | Self::D => Some(",elastic.acknowledge=trigger-waits"),
            Self::F => None,
        }
    }

    /// When that is, in words.
    pub fn acknowledges(self) -> &'static str {
        match self {
            Self::A | Self::E | Self::G => "when a write is on the members",
            Self::B | Self::C | Self::D => "from memory, but for writes that let a group leave",
            Self::F => "from its cache, like the default",
        }
    }

    /// What the paper's array asks of the default scheme.
    fn variation(self) -> &'static str {
        match self {
            // Its stripes are over parity groups of eight chips.
            Self::E => ",geometry.groups=8,geometry.membership=longest-code-interval",
            _ => "",
        }
    }
}

/// The default scheme as it is shipped: it acknowledges when its persistent buffer has a write.
pub const OURS: &str = "stripewise";

/// The default scheme where the buffer would not survive a loss of power: acknowledged when stripes are written, which leave as
/// soon as they are complete or 100 us old (choice).
const DURABLE: &str = ",elastic.acknowledge=durable,elastic.buffer=stripe,elastic.wait=100us";

/// One study: a paper's own scheme, the default, and the default acknowledging when that scheme does, over the same requests.
pub struct Cell {
    /// The results that it serves: those of one paper.
    pub row: PlannedClaim,
    /// The workload, as the paper's evaluation names it.
    pub workload: String,
    /// The study.
    pub spec: ComparisonSpec,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paper {}, {}", self.row.paper(), self.workload)
    }
}

impl Cell {
    /// `spec`, a study of the paper's evaluation, with the schemes of the contest.
    fn new(row: PlannedClaim, workload: String, spec: ComparisonSpec) -> Result<Self, Error> {
        let variation = row.variation();
        let mut schemes = vec![row.own().1.to_owned(), format!("{OURS}{variation}")];
        schemes.extend(row.acknowledge().map(|alike| format!("{OURS}{variation}{alike}")));
        let parsed = schemes.iter().map(|scheme| SchemeSpec::parse(scheme)).collect::<Result<_, _>>()?;
        let spec = over_span_of(ComparisonSpec { schemes: parsed, ..spec }, schemes)?;
        Ok(Self { row, workload, spec })
    }
}

/// Of paper 002's workloads one of half reads (its best there), the busiest, one of few and one of long reads, each with the
/// speed-up, in hundredths, at which as many chips are busy as its Table II prints, as its evaluation finds it (`stripewise paper
/// 002 --rows 2a` says so for each workload).
const SPED_UP: [(&str, u64); 4] = [("HM_0", 179), ("HM_1", 11_591), ("PRN_0", 108), ("PROJ_1", 241)];

/// The number of these requests (choice).
const PREFIX: u64 = 100_000;

/// Every study that the results take.
///
/// # Errors
/// None as long as the papers' schemes and devices are shipped.
pub fn cells(options: &EvaluationOptions) -> Result<Vec<Cell>, Error> {
    let mut all = Vec::new();
    let rows = PlannedClaim::requested(options);
    let has = |paper: &str| rows.iter().any(|row| row.paper() == paper);
    if has("000") {
        let shown = |point: &StudyPoint| {
            let is_plain = point.text("part") == "main" && point.text("updates") == "row";
            is_plain && point.is("printed") && point.count("data") == Some(5)
        };
        add(&mut all, PlannedClaim::A, "000", "workload", options, shown)?;
    }
    if has("001") {
        let shown = |point: &StudyPoint| point.text("part") == "main" && point.text("level") == "RAID-5";
        add(&mut all, PlannedClaim::B, "001", "workload", options, shown)?;
    }
    if has("002") {
        let paper = Paper::find("002")?;
        let whole = options_of(&paper, options);
        let requested =
            EvaluationOptions { requests: whole.requests.or((!whole.quick).then_some(PREFIX)), ..whole };
        for (workload, speed) in SPED_UP {
            let points = paper.points_at(workload, speed, &requested)?;
            let Some(point) = points.iter().find(|point| point.text("part") == "sweep") else { continue };
            let spec = paper.comparison(point, &requested)?;
            all.push(Cell::new(PlannedClaim::E, workload.to_owned(), spec)?);
        }
    }
    if has("003") {
        let shown = |point: &StudyPoint| {
            let is_judged = point.text("part") == "main" && point.text("gc") == "greedy";
            is_judged && point.text("level") == "RAID-5" && point.count("mib") == Some(8)
        };
        add(&mut all, PlannedClaim::F, "003", "label", options, shown)?;
    }
    if has("004") {
        for workload in WORKLOADS_004 {
            all.push(Cell::new(PlannedClaim::G, workload.to_owned(), paper004(workload, options)?)?);
        }
    }
    Ok(all)
}

/// All claims of a paper, as far as they are asked for.
fn options_of(paper: &Paper, options: &EvaluationOptions) -> EvaluationOptions {
    EvaluationOptions { traces: None, claims: paper.claims(), part: Part::All, ..options.clone() }
}

/// Adds the studies of a paper's points that are `shown`, each named by an attribute of its point.
fn add(
    all: &mut Vec<Cell>,
    row: PlannedClaim,
    number: &str,
    name: &str,
    options: &EvaluationOptions,
    shown: impl Fn(&StudyPoint) -> bool,
) -> Result<(), Error> {
    let paper = Paper::find(number)?;
    let requested = options_of(&paper, options);
    for point in paper.points(&requested)?.iter().filter(|point| shown(point)) {
        all.push(Cell::new(row, point.text(name), paper.comparison(point, &requested)?)?);
    }
    Ok(())
}

/// The workloads of paper 004's Table 2 that are shipped.
const WORKLOADS_004: [&str; 3] = ["proj_0", "stg_0", "hm_0"];
/// The number of requests of each, over SSDs with this number of blocks per plane: with its 512 blocks a part of a workload
/// collects nothing (choice).
const REQUESTS_004: u64 = 60_000;
const BLOCKS_004: &str = "device.geometry.blocks=48";

/// A workload of paper 004 over its four SSDs.
fn paper004(workload: &str, options: &EvaluationOptions) -> Result<ComparisonSpec, Error> {
    let requests = Some(options.requests.unwrap_or(REQUESTS_004));
    let origin = Origin::Profile(format!("paper004/{workload}"));
    Ok(ComparisonSpec {
        workload: WorkloadSpec { origin, requests, fold: Fold::Modulo },
        seed: options.seed,
        device: Document::find(What::Device, "paper004")?,
        members: Layout { level: Level::Ssd, devices: 4 },
        settings: vec![BLOCKS_004.parse().expect("a key and a number")],
        out: options.out.clone(),
        ..ComparisonSpec::new(Vec::new())?
    })
}
