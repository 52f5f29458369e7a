//! Which studies the evaluation takes: workload, RAID level, collection, and which caches over how much of it.

use std::fmt;

use stripewise_flash::{Level as MemberLevel, Share, State};
use stripewise_sim::{Layout, Precondition};
use stripewise_study::{Document, Error, SchemeSpec, Setting, StudySpec, Tables, What};

use super::variant::{Gc, Level, Policy, Variant};
use super::workload::{EVALUATED, MIXES, Point, Requests, SPAN_MIB, WIDE_MIB, Workload, grid};
use crate::evaluation::{Options, Results, Traces, over_span_of};
use crate::slice::Slice;

/// Real traces: those of the shared set that write most.
const SLICES: [Slice; 6] = [
    Slice::new("linux-mysql", "blkreplay/linux-mysql.load.gz", None),
    Slice::new("windows-mssql", "blkreplay/windows-mssql.load.gz", None),
    Slice::new("CloudPhysics", "cloudphysics/cloudPhysicsIO.vscsi.zst", None),
    Slice::new("Alibaba", "alibaba/alibaba-replaylog.lines1-32000.csv.zst", None),
    Slice::new("rsrch_1", "msr/rsrch_1.csv.zst", None),
    Slice::new("prxy_0", "msr/prxy_0.lines1-14000.csv.zst", None),
];

/// The results of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// SIW against WOW, RAID-0.
    A,
    /// The same, RAID-5.
    B,
    /// What computing parity before caching costs.
    C,
    /// SIW against WOW with semi-preemptive collection.
    D,
    /// Synchrony of collections, RAID-0.
    E,
    /// The same, RAID-5.
    F,
    /// Large requests, RAID-0.
    G,
    /// Small requests, RAID-0.
    H,
    /// Large requests, RAID-5.
    I,
    /// Small requests, RAID-5.
    J,
    /// Where the cache is.
    K,
    /// How long a collection takes.
    L,
}

impl Results for Row {
    const PAPER: &'static str = "003";
    const ALL: &'static [Self] = &[
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
        Self::H,
        Self::I,
        Self::J,
        Self::K,
        Self::L,
    ];
    const SLICES: &'static [Slice] = &SLICES;

    fn name(self) -> &'static str {
        ["3a", "3b", "3c", "3d", "3e", "3f", "3g", "3h", "3i", "3j", "3k", "3l"][self as usize]
    }
}

/// What a study is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The paper's comparison, Fig. 4.
    Main,
    /// The grid W(R, I, W), Fig. 5.
    Grid,
    /// Fig. 4 and 5 where collections are heavy.
    Wide,
    /// Mixes that change over time.
    Changing,
    /// Variants of the caches and of who collects when.
    Sweep,
    /// Parts of real traces.
    Real,
}

/// One study.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub workload: Workload,
    /// What it is for.
    pub part: Part,
    /// The RAID level.
    pub level: Level,
    /// How the SSDs collect.
    pub gc: Gc,
    /// The schemes.
    pub variants: Vec<Variant>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label())?;
        match self.part {
            Part::Sweep => f.write_str(", sweeps"),
            Part::Wide => f.write_str(", heavy collections"),
            _ => Ok(()),
        }
    }
}

/// Requests that are measured, in full and with `--quick`.
const HPC: [u64; 2] = [20_000, 4_000];
const EXCHANGE: [u64; 2] = [30_000, 6_000];
const SMALL: [u64; 2] = [30_000, 6_000];
const LARGE: [u64; 2] = [6_000, 2_000];
const HUGE: [u64; 2] = [3_000, 1_000];

/// No more requests of warm-up than this: of the points with small requests, those that read most collect nothing then.
const MOST_WARMUP: u64 = 700_000;
/// The same with `--quick`: with small requests no collection begins.
const QUICK_WARMUP: u64 = 60_000;

impl Cell {
    /// As the paper's labels: `HPC-G-0`.
    pub fn label(&self) -> String {
        format!("{}-{}-{}", self.workload.name, self.gc.letter(), self.level.digit())
    }

    /// Requests that are measured, warm-up excluded.
    fn measured(&self, options: &Options<Row>) -> u64 {
        let all = match &self.workload.requests {
            Requests::Hpc => HPC,
            Requests::Profile(_) => EXCHANGE,
            Requests::Mix(_) => SMALL,
            Requests::Point(point) if point.size_kib < 64 => SMALL,
            Requests::Point(point) if point.size_kib > 1024 => HUGE,
            Requests::Point(_) => LARGE,
            Requests::Slice(..) => [u64::MAX, QUICK_WARMUP],
        };
        options.requests.unwrap_or(all[usize::from(options.quick)])
    }

    /// MiB in which the requests lie.
    fn span_mib(&self) -> u64 {
        if self.part == Part::Wide { WIDE_MIB } else { SPAN_MIB }
    }
}

/// All SSDs hold as much as they export: DiskSim's begin so. With real traces, which write too little to bring that to a steady
/// state, the state that long random writes leave.
const FULL: Precondition = Precondition::Filled(State::Sequential, Share(1_000_000));
const USED: Precondition = Precondition::Filled(State::Steady, Share(1_000_000));

impl crate::Cell for Cell {
    type Results = Row;

    fn traces(&self) -> Traces {
        if self.workload.is_real() { Traces::Slice } else { Traces::Generated }
    }

    fn study(&self, options: &Options<Row>) -> Result<StudySpec, Error> {
        let scheme = |variant: &Variant| SchemeSpec::parse(&variant.scheme());
        let schemes = self.variants.iter().map(scheme).collect::<Result<_, _>>()?;
        let settings = self.level.settings().iter();
        let setting = |text: &&str| text.parse::<Setting>().expect("a key and a value");
        let (measured, span) = (self.measured(options), self.span_mib());
        let most = if options.quick { QUICK_WARMUP } else { MOST_WARMUP };
        let warmup = self.workload.warmup(span).min(most);
        let is_fig_4 = self.part == Part::Main && matches!(self.workload.requests, Requests::Hpc);
        let spec = StudySpec {
            workload: self.workload.spec(warmup, measured, span)?,
            warmup,
            seed: options.seed,
            device: Document::find(What::Device, self.gc.device())?,
            members: Layout { level: MemberLevel::Ssd, devices: self.level.ssds() },
            precondition: if self.workload.is_real() { USED } else { FULL },
            settings: settings.map(setting).collect(),
            tables: Tables { gcs: is_fig_4, ..Tables::default() },
            out: options.out.clone(),
            ..StudySpec::new(schemes)?
        };
        over_span_of(spec, self.variants.iter().map(|variant| variant.scheme()))
    }
}

/// Points that are measured where collections are heavy too: W(512 / 1024 / 4096, 20, 60).
const WIDE: [Point; 3] = [EVALUATED[1], EVALUATED[2], EVALUATED[3]];

/// The caches of the paper's main comparison, and the hybrid.
const PAIR: [Policy; 3] = [Policy::Wow, Policy::Siw, Policy::Hybrid];

impl Row {
    /// Whether it needs a study.
    fn needs(self, cell: &Cell) -> bool {
        let (part, raid0, greedy) = (cell.part, cell.level == Level::Raid0, cell.gc == Gc::Greedy);
        let is_hpc = matches!(cell.workload.requests, Requests::Hpc);
        let size = match &cell.workload.requests {
            Requests::Point(point) => point.size_kib,
            _ => 0,
        };
        let fig_4 = matches!(part, Part::Main | Part::Wide) && greedy;
        match self {
            Self::A => fig_4 && raid0 && size == 0,
            Self::B => fig_4 && !raid0 && size == 0,
            Self::C => part == Part::Sweep && !raid0,
            Self::D => part == Part::Main && !greedy && !is_hpc,
            Self::E => fig_4 && raid0 && is_hpc,
            Self::F => fig_4 && !raid0 && is_hpc,
            Self::G => matches!(part, Part::Grid | Part::Wide) && raid0 && size > 4,
            Self::H => matches!(part, Part::Grid | Part::Wide) && raid0 && size == 4,
            Self::I => matches!(part, Part::Grid | Part::Wide) && !raid0 && size > 4,
            Self::J => matches!(part, Part::Grid | Part::Wide) && !raid0 && size == 4,
            Self::K | Self::L => fig_4 && is_hpc,
        }
    }
}

/// Every study that the evaluation takes; with `--quick` of the grid those that the paper shows. Where only some results are
/// asked for, those that they need.
pub fn cells(options: &Options<Row>) -> Vec<Cell> {
    let mut all = Vec::new();
    let mut add = |workload: &Workload, part, level, gc, variants: Vec<Variant>| {
        all.push(Cell { workload: workload.clone(), part, level, gc, variants });
    };
    let of = |policies: &[Policy]| policies.iter().map(|policy| Variant::of(*policy)).collect::<Vec<_>>();
    let main = [Workload::hpc(), Workload::exchange(), Workload::exchange_large()];
    let shown = |point: &Point| !options.quick || EVALUATED.contains(point);
    let slices: Vec<Workload> = options.slices().map(Workload::slice).collect();
    for level in Level::ALL {
        for gc in Gc::ALL {
            main.iter().for_each(|workload| add(workload, Part::Main, level, gc, of(&Policy::ALL)));
        }
        for workload in grid().filter(shown).map(Workload::point) {
            add(&workload, Part::Grid, level, Gc::Greedy, of(&PAIR));
        }
        let wide = WIDE.into_iter().filter(|_| !options.quick).map(Workload::point);
        for workload in [Workload::hpc()].into_iter().chain(wide) {
            add(&workload, Part::Wide, level, Gc::Greedy, of(&PAIR));
        }
        for workload in MIXES.map(Workload::mix) {
            let variants = of(&[Policy::Wow, Policy::Stow, Policy::Siw, Policy::Hybrid]);
            add(&workload, Part::Changing, level, Gc::Greedy, variants);
        }
        add(&main[0], Part::Sweep, level, Gc::Greedy, Variant::sweep(level));
        slices.iter().for_each(|slice| add(slice, Part::Real, level, Gc::Greedy, of(&Policy::ALL)));
    }
    if options.rows.len() < Row::ALL.len() {
        all.retain(|cell| options.rows.iter().any(|row| row.needs(cell)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cell as _;
    use stripewise_study::Study;

    fn options(rows: &[Row], quick: bool) -> Options<Row> {
        Options { requests: None, quick, traces: None, rows: rows.to_vec(), seed: 1, out: "results".into() }
    }

    #[test]
    fn every_study_resolves_in_full_and_in_part() {
        for quick in [false, true] {
            let options = options(Row::ALL, quick);
            let all = cells(&options);
            assert_eq!(
                all.iter().filter(|cell| cell.part == Part::Grid).count(),
                if quick { 16 } else { 72 }
            );
            for cell in all {
                let spec = cell.study(&options).unwrap_or_else(|error| panic!("{cell}: {error}"));
                Study::new(spec, &()).unwrap_or_else(|error| panic!("{cell}: {error}"));
            }
        }
    }

    #[test]
    fn each_result_has_studies_of_its_own_and_no_more_than_all() {
        let all = cells(&options(Row::ALL, false)).len();
        for row in Row::ALL {
            let ours = cells(&options(&[*row], false)).len();
            assert!(ours > 0 && ours < all / 2, "{}: {ours} of {all}", row.name());
        }
    }
}
