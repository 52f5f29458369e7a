//! Which studies the evaluation takes: workload, stripe structure, clock.

use std::fmt;

use stripewise_sim::Pacing;
use stripewise_study::{Document, Error, Origin, SchemeSpec, StudySpec, What, WorkloadSpec};
use stripewise_trace::fold::Fold;

use crate::evaluation::{Options, Results, Traces, over_span_of};
use crate::slice::Slice;

/// The schemes of every study: the paper's three, and its comparator BPU with weights scaled to the device.
pub const SCHEMES: [&str; 4] =
    ["paper000-baseline", "paper000-bpu", "paper000-bpu-scaled", "paper000-adaptive"];

/// The paper's workloads, and how many times faster than real time their printed intervals are.
const PROFILES: [(&str, u64); 6] =
    [("hm_0", 100), ("lun0", 1), ("lun1", 1), ("lun2", 1), ("Ali_0", 1000), ("Ali_1", 1000)];

/// Real traces.
const SLICES: [Slice; 6] = [
    Slice::new("linux-mysql", "blkreplay/linux-mysql.load.gz", None),
    Slice::new("windows-mssql", "blkreplay/windows-mssql.load.gz", None),
    Slice::new("MSN file server", "msps/MSN-FS-disk5.lines1-90000.trace.zst", None),
    Slice::new("DTRS", "ssdsim/DTRS1K.trace.zst", Some("ssdsim:us")),
    Slice::new("Financial1", "ssdsim/Financial1.first10000.ascii.zst", Some("ssdsim:ns")),
    Slice::new("prxy_0", "msr/prxy_0.lines1-14000.csv.zst", None),
];

/// Real traces are replayed in real time and, like the paper's hm_0, this many times as fast.
const SLICE_SPEED: u64 = 100;

/// Requests of each workload where a part is enough.
const QUICK_REQUESTS: u64 = 50_000;

/// Bytes of the units in which what a slice touches is packed, so that its volumes do not lie on top of each other.
const SLICE_UNIT: u64 = 1 << 16;

/// The results of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// 99.9th percentile, the best case.
    A,
    /// Overall I/O time, the mean.
    B,
    /// Adjusted updates against BPU.
    C,
    /// cv of blocked requests against BPU.
    D,
    /// Overall I/O latency against BPU, the best case.
    E,
    /// 99.9th percentile, the mean.
    F,
    /// cv of the LUN traces.
    G,
    /// What decisions cost.
    H,
    /// χ² of the LUN traces.
    I,
}

impl Row {
    /// Whether the LUN traces over 5+1 are all that it needs.
    fn needs_only_luns(self) -> bool {
        matches!(self, Self::G | Self::I)
    }
}

impl Results for Row {
    const PAPER: &'static str = "000";
    const ALL: &'static [Self] =
        &[Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G, Self::H, Self::I];
    const SLICES: &'static [Slice] = &SLICES;

    fn name(self) -> &'static str {
        ["0a", "0b", "0c", "0d", "0e", "0f", "0g", "0h", "0i"][self as usize]
    }
}

/// Which of the two clocks a study runs by. Where both are the same, it counts for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// As the paper printed it (or, for a slice, sped up as hm_0 is).
    pub printed: bool,
    /// As requests really came.
    pub real: bool,
    /// How many times as fast as they really came.
    pub speed: u64,
}

/// One study: four schemes over the same requests.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload's name.
    pub workload: &'static str,
    /// What it is.
    pub traces: Traces,
    /// Data chunks of a stripe: 5 or 7, and one of parity.
    pub data: u32,
    /// The clock.
    pub clock: Clock,
    pacing: Pacing,
    origin: Origin,
    requests: Option<u64>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ×{}, {}+1", self.workload, self.clock.speed, self.data)
    }
}

impl crate::Cell for Cell {
    type Results = Row;

    fn traces(&self) -> Traces {
        self.traces
    }

    fn study(&self, options: &Options<Row>) -> Result<StudySpec, Error> {
        let schemes = SCHEMES.iter().map(|name| SchemeSpec::parse(name)).collect::<Result<_, _>>()?;
        let fold = match self.traces {
            Traces::Generated => Fold::Modulo,
            Traces::Slice => Fold::Dense { unit: SLICE_UNIT },
        };
        let spec = StudySpec {
            workload: WorkloadSpec { origin: self.origin.clone(), requests: self.requests, fold },
            pacing: Some(self.pacing),
            seed: options.seed,
            device: Document::find(What::Device, &format!("ssdsim-{}+1-ldpc", self.data))?,
            out: options.out.clone(),
            ..StudySpec::new(schemes)?
        };
        over_span_of(spec, SCHEMES.map(str::to_owned))
    }
}

impl Cell {
    /// How many times longer its intervals are than those of the trace.
    pub fn slower(&self) -> u64 {
        match self.pacing {
            Pacing::Open { denominator, .. } => denominator,
            Pacing::Closed { .. } | Pacing::Think { .. } => 1,
        }
    }

    /// Whether the paper prints the intervals of its requests.
    pub fn has_printed_intervals(&self) -> bool {
        self.traces == Traces::Generated && self.clock.printed && self.data == 5
    }
}

/// Every study that the evaluation takes, those with the printed clock first.
pub fn cells(options: &Options<Row>) -> Vec<Cell> {
    let requests = options.requests.or(options.quick.then_some(QUICK_REQUESTS));
    let only_luns = options.rows.iter().all(|row| row.needs_only_luns());
    let mut cells = Vec::new();
    for printed in [true, false] {
        for (workload, speed) in PROFILES {
            if !printed && speed == 1 || only_luns && !workload.starts_with("lun") {
                continue;
            }
            let clock =
                Clock { printed, real: !printed || speed == 1, speed: if printed { speed } else { 1 } };
            let denominator = if printed { 1 } else { speed };
            for data in if only_luns { &[5][..] } else { &[5, 7][..] } {
                cells.push(Cell {
                    workload,
                    traces: Traces::Generated,
                    data: *data,
                    clock,
                    pacing: Pacing::Open { numerator: 1, denominator },
                    origin: Origin::Profile(format!("paper000/{workload}")),
                    requests,
                });
            }
        }
    }
    for (path, slice) in options.slices() {
        for (printed, speed) in [(true, SLICE_SPEED), (false, 1)] {
            for data in [5, 7] {
                cells.push(Cell {
                    workload: slice.workload,
                    traces: Traces::Slice,
                    data,
                    clock: Clock { printed, real: !printed, speed },
                    pacing: Pacing::Open { numerator: speed, denominator: 1 },
                    origin: slice.origin(path.clone()),
                    requests,
                });
            }
        }
    }
    cells
}
