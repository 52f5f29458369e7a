//! Which studies the evaluation takes: workload, speed, and which schemes over how much of it.

use std::fmt;
use std::path::PathBuf;

use stripewise_flash::{Level, Share, State};
use stripewise_sim::{Layout, Precondition};
use stripewise_study::{Document, Error, Origin, SchemeSpec, Setting, StudySpec, What, WorkloadSpec};
use stripewise_trace::fold::Fold;

use super::speed::Speed;
use super::variant::{MAIN, Variant};
use crate::evaluation::{Options, Results, Traces, over_span_of};
use crate::slice::Slice;

/// A line of Table II.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The trace.
    pub name: &'static str,
    /// Its requests.
    pub requests: u64,
    /// Share of reads.
    pub read_ratio: f64,
    /// Mean size of a request in KiB.
    pub mean_kib: f64,
    /// Share of the chips that are busy under Async_FIFO.
    pub utilisation: f64,
}

const fn printed(
    name: &'static str,
    requests: u64,
    read_ratio: f64,
    mean_kib: f64,
    utilisation: f64,
) -> Printed {
    Printed { name, requests, read_ratio, mean_kib, utilisation }
}

/// Table II.
pub const WORKLOADS: [Printed; 12] = [
    printed("HM_0", 3_993_316, 0.355_03, 8.887_619, 0.157_154),
    printed("HM_1", 609_311, 0.953_365, 15.166_593, 0.349_508),
    printed("PRN_0", 5_585_886, 0.107_858, 12.537_686, 0.202_753),
    printed("PRN_1", 11_233_411, 0.753_449, 19.807_669, 0.272_018),
    printed("PROJ_1", 23_639_742, 0.894_376, 34.636_501_5, 0.278_648),
    printed("PROJ_3", 2_244_644, 0.948_17, 9.749_589, 0.285_729),
    printed("PRXY_0", 12_518_968, 0.030_635, 7.073_009, 0.085_106),
    printed("RSRCH_0", 1_433_655, 0.093_206, 9.077_885_5, 0.214_134),
    printed("SRC2_0", 1_557_814, 0.113_447, 7.594_609, 0.207_02),
    printed("STG_0", 2_030_915, 0.151_871, 11.959_399_5, 0.197_961),
    printed("USR_0", 2_237_889, 0.404_168, 22.815_757, 0.239_402),
    printed("WDEV_0", 1_143_261, 0.200_767, 9.281_464, 0.235_306),
];

/// The mean of the table's utilisations (section II-C): what slices are sped up to.
pub(super) const MEAN_UTILISATION: f64 = 0.227;

/// Real traces: those of the shared set that are of the paper's family, and busier ones.
const SLICES: [Slice; 7] = [
    Slice::new("rsrch_1", "msr/rsrch_1.csv.zst", None),
    Slice::new("wdev_1", "msr/wdev_1.csv.zst", None),
    Slice::new("prxy_0", "msr/prxy_0.lines1-14000.csv.zst", None),
    Slice::new("hm_0", "msr/hm_0.sample1000.csv.zst", None),
    Slice::new("DTRS", "ssdsim/DTRS1K.trace.zst", Some("ssdsim:us")),
    Slice::new("MSN", "msps/MSN-FS-disk5.lines1-90000.trace.zst", Some("msps")),
    Slice::new("TPC-C", "mqsim/tpcc-small.trace.zst", Some("mqsim")),
];

/// The results of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Read waiting, mean of the traces.
    A,
    /// Read waiting on HM_0.
    B,
    /// Read waiting on PROJ_3.
    C,
    /// Write waiting.
    D,
    /// Chip utilisation.
    E,
    /// Queue lengths.
    F,
    /// Group lengths.
    G,
    /// Chip utilisation of Async_FIFO.
    H,
}

impl Results for Row {
    const PAPER: &'static str = "002";
    const ALL: &'static [Self] = &[Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G, Self::H];
    const SLICES: &'static [Slice] = &SLICES;

    fn name(self) -> &'static str {
        ["2a", "2b", "2c", "2d", "2e", "2f", "2g", "2h"][self as usize]
    }
}

/// What a study is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A step of the search for the speed-up: Async_FIFO over a part of the workload.
    Calibration,
    /// The paper's comparison in real time.
    RealTime,
    /// The paper's comparison, sped up.
    SpedUp,
    /// Sweeps and variants over a part of the workload, sped up.
    Sweep,
    /// The paper's comparison over the same part on new chips.
    Fresh,
}

/// A workload, generated or real.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Utilisation that it is sped up to.
    pub target: f64,
    /// Of a generated one: its line of Table II.
    pub printed: Option<Printed>,
    slice: Option<(PathBuf, Slice)>,
}

/// One study.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub workload: Workload,
    /// What it is for.
    pub part: Part,
    /// How fast requests are sent.
    pub speed: Speed,
    /// The schemes.
    pub variants: Vec<Variant>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload: Workload { name, .. }, part, speed, .. } = self;
        match part {
            Part::Calibration => write!(f, "{name}, calibration at speed-up {speed}"),
            Part::RealTime => write!(f, "{name}, real time"),
            Part::SpedUp => write!(f, "{name}, speed-up {speed}"),
            Part::Sweep => write!(f, "{name}, sweeps at speed-up {speed}"),
            Part::Fresh => write!(f, "{name}, new chips at speed-up {speed}"),
        }
    }
}

/// Requests of the parts that are not about whole workloads, and of all with `--quick`.
const PREFIX: u64 = 100_000;
const QUICK: u64 = 10_000;

/// Requests for which a plane of this many blocks is enough: an eighth of Table I's, so that a run begins at once. What they
/// overwrite of it is less than what it keeps free, so that no chip collects.
const SMALL_BLOCKS: u32 = 256;

/// All chips hold as much as they export: DiskSim's chips begin so, and the paper's reads take time.
const FULL: Precondition = Precondition::Filled(State::Sequential, Share(1_000_000));

impl Cell {
    /// How a run is named in the report: workload, and how it was made.
    pub fn label(&self) -> String {
        let name = self.workload.name;
        let real = if self.workload.slice.is_some() { "slices, " } else { "" };
        match self.part {
            Part::RealTime => format!("{name}, {real}real time"),
            Part::SpedUp | Part::Calibration => format!("{name}, {real}sped up"),
            Part::Sweep => format!("{name}, {real}sweeps"),
            Part::Fresh => format!("{name}, {real}new chips"),
        }
    }

    /// Requests that are replayed; none for all.
    fn requests(&self, options: &Options<Row>) -> Option<u64> {
        let asked = options.requests.or(options.quick.then_some(QUICK));
        let is_whole = matches!(self.part, Part::RealTime | Part::SpedUp) || self.workload.slice.is_some();
        if is_whole { asked } else { Some(asked.map_or(PREFIX, |asked| asked.min(PREFIX))) }
    }
}

impl crate::Cell for Cell {
    type Results = Row;

    fn traces(&self) -> Traces {
        if self.workload.slice.is_some() { Traces::Slice } else { Traces::Generated }
    }

    fn study(&self, options: &Options<Row>) -> Result<StudySpec, Error> {
        let scheme = |variant: &Variant| SchemeSpec::parse(&variant.scheme());
        let schemes = self.variants.iter().map(scheme).collect::<Result<_, _>>()?;
        let requests = self.requests(options);
        let origin = match &self.workload.slice {
            Some((path, slice)) => slice.origin(path.clone()),
            None => Origin::Profile(format!("paper002/{}", self.workload.name)),
        };
        let is_small = self.workload.slice.is_some() || requests.is_some_and(|requests| requests <= PREFIX);
        let blocks = || format!("device.geometry.blocks={SMALL_BLOCKS}").parse().expect("a key and a number");
        let settings: Option<Setting> = is_small.then(blocks);
        let spec = StudySpec {
            workload: WorkloadSpec { origin, requests, fold: Fold::Modulo },
            pacing: Some(self.speed.pacing()),
            seed: options.seed,
            device: Document::find(What::Device, "paper002")?,
            members: Layout { level: Level::Chip, devices: 1 },
            precondition: if self.part == Part::Fresh { Precondition::Fresh } else { FULL },
            settings: settings.into_iter().collect(),
            out: options.out.clone(),
            ..StudySpec::new(schemes)?
        };
        let all = if self.part == Part::Sweep { Variant::sweep() } else { MAIN.to_vec() };
        over_span_of(spec, all.into_iter().map(Variant::scheme))
    }
}

/// The workloads that are asked for: those of Table II, then slices of real traces.
pub fn workloads(options: &Options<Row>) -> Vec<Workload> {
    // Two results are about one trace each.
    let only = match options.rows.as_slice() {
        [Row::B] => Some("HM_0"),
        [Row::C] => Some("PROJ_3"),
        _ => None,
    };
    let generated = WORKLOADS.into_iter().filter(|line| only.is_none_or(|name| line.name == name));
    let generated = generated.map(|line| Workload {
        name: line.name,
        target: line.utilisation,
        printed: Some(line),
        slice: None,
    });
    let slice = |(path, slice): (PathBuf, Slice)| Workload {
        name: slice.workload,
        target: MEAN_UTILISATION,
        printed: None,
        slice: Some((path, slice)),
    };
    generated.chain(options.slices().map(slice)).collect()
}

impl Workload {
    /// One step of the search for its speed-up.
    pub fn calibration(&self, speed: Speed) -> Cell {
        Cell { workload: self.clone(), part: Part::Calibration, speed, variants: vec![Variant::Fifo] }
    }
}

/// The studies of a workload whose speed-up was found.
pub fn cells(workload: &Workload, speed: Speed, options: &Options<Row>) -> Vec<Cell> {
    let of = |part, speed, variants| Cell { workload: workload.clone(), part, speed, variants };
    let mut cells =
        vec![of(Part::RealTime, Speed::REAL_TIME, MAIN.to_vec()), of(Part::SpedUp, speed, MAIN.to_vec())];
    let has_sweeps = options.rows.iter().any(|row| matches!(row, Row::A | Row::F | Row::G));
    if workload.slice.is_none() && has_sweeps {
        cells.push(of(Part::Sweep, speed, Variant::sweep()));
        cells.push(of(Part::Fresh, speed, MAIN.to_vec()));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cell as _;

    fn options(rows: &[Row], requests: Option<u64>) -> Options<Row> {
        let rows = rows.to_vec();
        Options { requests, quick: false, traces: None, rows, seed: 1, out: "results".into() }
    }

    #[test]
    fn the_profiles_are_those_of_table_2() {
        for line in WORKLOADS {
            let name = format!("paper002/{}", line.name);
            let found = stripewise_study::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}"));
            let profile = found.profile.expect("a profile");
            assert_eq!(profile.requests.0, line.requests, "{name}");
            assert!((profile.write_ratio + line.read_ratio - 1.0).abs() < 1e-9, "{name}");
        }
        let mean = WORKLOADS.iter().map(|line| line.utilisation).sum::<f64>() / 12.0;
        assert!((mean - MEAN_UTILISATION).abs() < 0.0005, "section II-C prints 22.7 %: {mean}");
    }

    #[test]
    fn every_study_resolves_in_full_and_in_part() {
        for requests in [None, Some(10_000)] {
            let options = options(Row::ALL, requests);
            let all = workloads(&options);
            assert_eq!(all.len(), 12);
            for cell in all.iter().take(2).flat_map(|workload| {
                let mut cells = cells(workload, Speed::REAL_TIME, &options);
                cells.push(workload.calibration(Speed::REAL_TIME));
                cells
            }) {
                let spec = cell.study(&options).unwrap_or_else(|error| panic!("{cell}: {error}"));
                let is_whole = matches!(cell.part, Part::RealTime | Part::SpedUp) && requests.is_none();
                assert_eq!(
                    (spec.settings.is_empty(), spec.workload.requests.is_none()),
                    (is_whole, is_whole)
                );
                stripewise_study::Study::new(spec, &()).unwrap_or_else(|error| panic!("{cell}: {error}"));
            }
        }
    }

    #[test]
    fn results_about_one_trace_take_that_one() {
        let names =
            |rows: &[Row]| workloads(&options(rows, None)).iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!((names(&[Row::B]), names(&[Row::C])), (vec!["HM_0"], vec!["PROJ_3"]));
        let hm_0 = &workloads(&options(&[Row::B], None))[0];
        assert_eq!(cells(hm_0, Speed::REAL_TIME, &options(&[Row::B], None)).len(), 2, "no sweeps");
    }
}
