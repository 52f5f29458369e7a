//! Which studies the evaluation takes: workload and RAID level.

use std::fmt;
use std::path::PathBuf;

use stripewise_flash::{Level as MemberLevel, State};
use stripewise_sim::{Layout, Precondition};
use stripewise_study::{Document, Error, Origin, SchemeSpec, StudySpec, What, WorkloadSpec, builtin_profile};
use stripewise_trace::fold::Fold;
use stripewise_trace::stats::{PAGE_BYTES, Stats};

use super::array;
use super::variant::{Level, Variant};
use crate::evaluation::{Options, Results, Traces, over_span_of};
use crate::slice::Slice;

/// The paper's workloads, as its figures have them.
pub const WORKLOADS: [&str; 5] = ["Financial1", "Online", "Webmail", "Online+Webmail", "Synthetic"];

/// SSDs of the array (section V-B).
pub(super) const MEMBERS: u32 = 8;

/// Real traces: those of the shared set that write much more than they read, and more than a small array holds.
const SLICES: [Slice; 5] = [
    Slice::new("linux-mysql", "blkreplay/linux-mysql.load.gz", None),
    Slice::new("windows-mssql", "blkreplay/windows-mssql.load.gz", None),
    Slice::new("CloudPhysics", "cloudphysics/cloudPhysicsIO.vscsi.zst", None),
    Slice::new("Alibaba", "alibaba/alibaba-replaylog.lines1-32000.csv.zst", None),
    Slice::new("rsrch_1", "msr/rsrch_1.csv.zst", None),
];

/// The results of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// GC rewrites on Financial1, RAID-5.
    A,
    /// GC rewrites on the other workloads, RAID-5.
    B,
    /// GC rewrites, RAID-6.
    C,
    /// Mean response.
    D,
    /// Erases.
    E,
    /// MTTDL.
    F,
    /// GLRU against HCA.
    G,
    /// Three and four groups.
    H,
}

impl Results for Row {
    const PAPER: &'static str = "001";
    const ALL: &'static [Self] = &[Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::G, Self::H];
    const SLICES: &'static [Slice] = &SLICES;

    fn name(self) -> &'static str {
        ["1a", "1b", "1c", "1d", "1e", "1f", "1g", "1h"][self as usize]
    }
}

impl Row {
    /// Whether it is about a workload at a level.
    fn is_about(self, workload: &str, level: Level) -> bool {
        match self {
            Self::A => level == Level::Raid5 && workload == WORKLOADS[0],
            Self::B => level == Level::Raid5 && workload != WORKLOADS[0],
            Self::C => level == Level::Raid6,
            _ => true,
        }
    }
}

/// One study: the schemes of one RAID level over the same requests.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload's name.
    pub workload: &'static str,
    /// What it is.
    pub traces: Traces,
    /// The RAID level.
    pub level: Level,
    /// The schemes.
    pub variants: Vec<Variant>,
    /// A slice's file.
    slice: Option<(PathBuf, Slice)>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.workload, self.level)
    }
}

impl crate::Cell for Cell {
    type Results = Row;

    fn traces(&self) -> Traces {
        self.traces
    }

    fn study(&self, options: &Options<Row>) -> Result<StudySpec, Error> {
        let schemes = self.variants.iter().map(|variant| SchemeSpec::parse(&variant.scheme(self.level)));
        let schemes = schemes.collect::<Result<_, _>>()?;
        let device = Document::find(What::Device, "paper001")?;
        let (origin, requests, scale) = match &self.slice {
            Some((path, slice)) => {
                let (origin, requests) = (slice.origin(path.clone()), options.requests);
                let scale = touched_bytes(&origin, requests)? / array::UNIQUE_BYTES;
                (origin, requests, scale)
            }
            None => generated(self.workload, options)?,
        };
        let precondition = match self.traces {
            Traces::Generated => Precondition::Fresh,
            Traces::Slice => Precondition::Filled(State::Sequential, self.level.slice_fill()),
        };
        // Whole workloads lie within the array as they are. Parts of them keep the span, and the array does not.
        let is_whole = self.traces == Traces::Generated && requests.is_none();
        let fold = if is_whole { Fold::Modulo } else { Fold::Dense { unit: PAGE_BYTES } };
        let spec = StudySpec {
            workload: WorkloadSpec { origin, requests, fold },
            seed: options.seed,
            device,
            members: Layout { level: MemberLevel::Ssd, devices: MEMBERS },
            precondition,
            settings: array::settings(scale),
            out: options.out.clone(),
            ..StudySpec::new(schemes)?
        };
        let all = Variant::ALL.into_iter().filter(|variant| self.slice.is_none() || variant.on_slices());
        over_span_of(spec, all.map(|variant| variant.scheme(self.level)))
    }
}

/// A workload of the paper, how many of its requests are replayed where not all are, and how large its array is then
/// beside the paper's: a profile's footprint scales with its requests, and so does the span of Synthetic here.
fn generated(workload: &str, options: &Options<Row>) -> Result<(Origin, Option<u64>, f64), Error> {
    let found = builtin_profile(&format!("paper001/{workload}"))?;
    let all = found.profile.as_ref().map_or(SYNTHETIC_REQUESTS, |profile| profile.requests.0);
    let requests = options.requests.or(options.quick.then_some(all / QUICK_PART));
    let Some(some) = requests else { return Ok((Origin::Profile(found.name), None, 1.0)) };
    let scale = some as f64 / all as f64;
    if found.profile.is_some() {
        return Ok((Origin::Profile(found.name), requests, scale));
    }
    let span = ((array::UNIQUE_BYTES * scale) as u64 / PAGE_BYTES).max(1) * PAGE_BYTES;
    let spec = found.generator.replace("span=1GB", &format!("span={span}B"));
    let spec = spec.replace(&format!("requests={SYNTHETIC_REQUESTS}"), &format!("requests={some}"));
    Ok((Origin::generated(&spec)?, requests, scale))
}

/// Requests of Synthetic: 10 GB.
const SYNTHETIC_REQUESTS: u64 = 2_441_406;

/// Where a part is enough, it is one in so many of a workload's requests, over an array that is as much smaller.
const QUICK_PART: u64 = 10;

/// Bytes of the 4 KiB pages that the first `requests` of a trace touch.
fn touched_bytes(origin: &Origin, requests: Option<u64>) -> Result<f64, Error> {
    let workload = stripewise_study::Workload::new(
        &WorkloadSpec { origin: origin.clone(), requests, fold: Fold::Modulo },
        0,
        &(),
    )?;
    let stats = Stats::collect(&mut workload.open(&())?)?;
    Ok((stats.footprint.touched_pages_4k * PAGE_BYTES) as f64)
}

/// Every study that the evaluation takes.
pub fn cells(options: &Options<Row>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |workload: &'static str, level: Level, slice: Option<(PathBuf, Slice)>| {
        let asked = |row: &&Row| slice.is_some() || row.is_about(workload, level);
        let rows: Vec<Row> = options.rows.iter().filter(asked).copied().collect();
        let serves = |variant: &Variant| {
            rows.iter().any(|row| variant.serves(*row)) && (slice.is_none() || variant.on_slices())
        };
        let variants: Vec<Variant> = Variant::ALL.into_iter().filter(serves).collect();
        let traces = if slice.is_some() { Traces::Slice } else { Traces::Generated };
        if !variants.is_empty() {
            cells.push(Cell { workload, traces, level, variants, slice });
        }
    };
    for level in Level::ALL {
        for workload in WORKLOADS {
            add(workload, level, None);
        }
    }
    for level in Level::ALL {
        for (path, slice) in options.slices() {
            add(slice.workload, level, Some((path, slice)));
        }
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
    fn all_results_take_every_workload_at_both_levels_and_few_results_take_less() {
        let all = cells(&options(Row::ALL, None));
        assert_eq!(all.len(), 10);
        assert!(all.iter().all(|cell| cell.variants.len() == Variant::ALL.len()));
        let one = cells(&options(&[Row::A], None));
        let [cell] = one.as_slice() else { panic!("{one:?}") };
        assert_eq!(cell.to_string(), "Financial1, RAID-5");
        assert_eq!(cell.variants, [Variant::Esap, Variant::Was(2), Variant::EsapGroup, Variant::Threshold]);
        assert_eq!(cells(&options(&[Row::C], None)).len(), 5);
    }

    #[test]
    fn every_generated_study_resolves_in_full_and_in_part() {
        for requests in [None, Some(300_000)] {
            for cell in cells(&options(Row::ALL, requests)) {
                let spec = cell
                    .study(&options(Row::ALL, requests))
                    .unwrap_or_else(|error| panic!("{cell}: {error}"));
                assert_eq!(spec.settings.is_empty(), requests.is_none(), "{cell}");
                stripewise_study::Study::new(spec, &()).unwrap_or_else(|error| panic!("{cell}: {error}"));
            }
        }
    }

    #[test]
    fn a_part_of_synthetic_has_a_part_of_its_span() {
        let options = Options { quick: true, ..options(Row::ALL, None) };
        let (origin, requests, scale) = generated("Synthetic", &options).expect("shipped");
        assert!((scale - 0.1).abs() < 1e-6 && requests == Some(244_140));
        let Origin::Generator(generator) = origin else { panic!("{origin:?}") };
        let text = generator.to_string();
        assert!(text.contains("requests=244140") && text.contains("span=9999"), "{text}");
    }
}
