//! Which studies the evaluation takes: workload, SSDs, their state and size, and which arrays.

use std::fmt;

use stripewise_flash::{Level as MemberLevel, Share, State as Wear};
use stripewise_sim::{Layout, Pacing, Precondition};
use stripewise_study::{Document, Error, SchemeSpec, Setting, StudySpec, What};

use super::variant::Policy;
use super::workload::{Access, Requests, TRACES, Workload};
use crate::evaluation::{Options, Results, Traces, over_span_of};
use crate::slice::Slice;

/// Real traces: of the shared set some that write most, two that mostly read and two between.
const SLICES: [Slice; 6] = [
    Slice::new("linux-mysql", "blkreplay/linux-mysql.load.gz", None),
    Slice::new("prxy_0", "msr/prxy_0.lines1-14000.csv.zst", None),
    Slice::new("Alibaba", "alibaba/alibaba-replaylog.lines1-32000.csv.zst", None),
    Slice::new("CloudPhysics", "cloudphysics/cloudPhysicsIO.vscsi.zst", None),
    Slice::new("MSN-FS", "msps/MSN-FS-disk5.lines1-90000.trace.zst", Some("msps")),
    Slice::new("Financial1", "ssdsim/Financial1.first10000.ascii.zst", Some("ssdsim")),
];

/// The results of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Mean response, Fig. 5.
    A,
    /// The same as the abstract has it.
    B,
    /// Standard deviation of the response, Fig. 6.
    C,
    /// Numbers of SSDs and sizes of zones, Figs. 7 and 8.
    D,
    /// Chunk sizes against request sizes, Fig. 2.
    Chunks,
}

impl Results for Row {
    const PAPER: &'static str = "004";
    const ALL: &'static [Self] = &[Self::A, Self::B, Self::C, Self::D, Self::Chunks];
    const SLICES: &'static [Slice] = &SLICES;

    fn name(self) -> &'static str {
        ["4a", "4b", "4c", "4d", "fig2"][self as usize]
    }
}

/// What a study is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The paper's comparison, Figs. 5 and 6.
    Main,
    /// Other numbers of SSDs, Fig. 7.
    Ssds,
    /// Other sizes of zones, Fig. 8.
    Zones,
    /// Chunk sizes against request sizes, Fig. 2.
    Chunks,
    /// Parts of real traces.
    Real,
}

/// What the SSDs hold before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every page, written once in order: DiskSim's begin so.
    Full,
    /// Every page, and long random writes went before.
    Used,
}

impl State {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Full, Self::Used];

    fn precondition(self) -> Precondition {
        let wear = match self {
            Self::Full => Wear::Sequential,
            Self::Used => Wear::Steady,
        };
        Precondition::Filled(wear, Share::ALL)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full SSDs",
            Self::Used => "used SSDs",
        })
    }
}

/// SSDs of the array in all figures but Fig. 7.
pub(super) const SSDS: u32 = 4;
/// Other numbers of SSDs, Fig. 7.
pub(super) const OTHER_SSDS: [u32; 2] = [3, 5];

/// Blocks of a plane for zones of 60, 90 and 120 GB, and how the paper calls these. Four SSDs whose three zones have 60 GB each
/// hold 180 GB; with 64 blocks a plane they hold 10.8: everything is some 16 times smaller. On the paper's sizes, what its
/// excerpts write is less than the reserve, and nothing would ever be collected.
pub(super) const ZONES: [(u32, &str); 3] = [(64, "60 GB"), (96, "90 GB"), (128, "120 GB")];

/// Chunk sizes of the experiment, in KiB (choice: the range of section 1 and Fig. 2 as far as an 128 KiB request can tell).
pub(super) const CHUNKS: [u32; 6] = [4, 8, 16, 32, 64, 128];
/// Request sizes of the experiment, in KiB: powers of two, and three times a chunk.
pub(super) const SIZES: [u32; 10] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128];
/// Requests under way (choice).
const DEPTH: u32 = 32;

/// Requests that are measured, in full and with `--quick`: of the traces and of random accesses.
const TRACE: [u64; 2] = [1_000_000, 100_000];
const RANDOM: [u64; 2] = [20_000, 4_000];

/// One study.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub workload: Workload,
    /// What it is for.
    pub part: Part,
    /// What the SSDs hold before.
    pub state: State,
    /// SSDs of the array.
    pub ssds: u32,
    /// Blocks of a plane of theirs.
    pub blocks: u32,
    /// The arrays.
    pub policies: Vec<Policy>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label())
    }
}

impl Cell {
    /// The workload, and in what the study differs from that of Fig. 5.
    pub fn label(&self) -> String {
        let mut label = self.workload.name.clone();
        match self.part {
            Part::Ssds => label += &format!(", {} SSDs", self.ssds),
            Part::Zones => label += &format!(", zones of {}", self.zone()),
            Part::Main | Part::Chunks | Part::Real => {}
        }
        if self.state == State::Used && self.part != Part::Real {
            label += ", used SSDs";
        }
        label
    }

    /// The size of a zone as the paper has it.
    pub(super) fn zone(&self) -> &'static str {
        ZONES.iter().find(|(blocks, _)| *blocks == self.blocks).map_or("other size", |(_, name)| name)
    }

    /// Bytes of all SSDs together, reserve included (Table 1: 64 packages, 4 planes, 64 pages of 4 KiB in a block).
    fn raw_bytes(&self) -> u64 {
        u64::from(self.ssds) * u64::from(self.blocks) * (64 * 4 * 64 * 4096)
    }

    /// Requests before those that count, and those.
    fn counts(&self, options: &Options<Row>) -> (u64, u64) {
        let all = match self.workload.requests {
            Requests::Profile(_) => TRACE,
            Requests::Random(..) => RANDOM,
            Requests::Slice(..) => [u64::MAX; 2],
        };
        let measured = options.requests.unwrap_or(all[usize::from(options.quick)]);
        let warmup = match self.state {
            State::Full => self.workload.warmup(self.raw_bytes()),
            State::Used => 0,
        };
        (warmup, measured)
    }

    /// Changes to the device. Where requests come many at a time, pages cross the host link one by one (choice).
    fn settings(&self) -> Vec<String> {
        let mut settings = vec![format!("device.geometry.blocks={}", self.blocks)];
        if self.part == Part::Chunks {
            settings.push("device.timing.host_link_unit=page".to_owned());
        }
        settings
    }
}

impl crate::Cell for Cell {
    type Results = Row;

    fn traces(&self) -> Traces {
        if self.workload.is_real() { Traces::Slice } else { Traces::Generated }
    }

    fn study(&self, options: &Options<Row>) -> Result<StudySpec, Error> {
        let scheme = |policy: &Policy| SchemeSpec::parse(&policy.scheme());
        let schemes = self.policies.iter().map(scheme).collect::<Result<_, _>>()?;
        let setting = |text: String| text.parse::<Setting>().expect("a key and a value");
        let (warmup, measured) = self.counts(options);
        let spec = StudySpec {
            workload: self.workload.spec(warmup, measured)?,
            pacing: (self.part == Part::Chunks).then_some(Pacing::Closed { depth: DEPTH }),
            warmup,
            seed: options.seed,
            device: Document::find(What::Device, "paper004")?,
            members: Layout { level: MemberLevel::Ssd, devices: self.ssds },
            precondition: self.state.precondition(),
            settings: self.settings().into_iter().map(setting).collect(),
            out: options.out.clone(),
            ..StudySpec::new(schemes)?
        };
        over_span_of(spec, self.policies.iter().map(|policy| policy.scheme()))
    }
}

impl Row {
    /// Whether it needs a study.
    fn needs(self, part: Part) -> bool {
        match self {
            Self::A | Self::B | Self::C => matches!(part, Part::Main | Part::Real),
            // The studies of Fig. 5 have the four SSDs and the zones of 60 GB.
            Self::D => matches!(part, Part::Main | Part::Ssds | Part::Zones),
            Self::Chunks => part == Part::Chunks,
        }
    }
}

/// Every study that the evaluation takes; where only some results are asked for, those that they need.
pub fn cells(options: &Options<Row>) -> Vec<Cell> {
    let mut all = Vec::new();
    let mut add = |workload: Workload, part, state, (ssds, blocks), policies: &[Policy]| {
        all.push(Cell { workload, part, state, ssds, blocks, policies: policies.to_vec() });
    };
    let [(first, _), (second, _), (third, _)] = ZONES;
    for state in State::ALL {
        for trace in TRACES {
            add(Workload::trace(trace), Part::Main, state, (SSDS, first), &Policy::ALL);
        }
        for ssds in OTHER_SSDS {
            add(Workload::trace(TRACES[0]), Part::Ssds, state, (ssds, first), &Policy::ALL);
        }
        for trace in TRACES {
            // The fixed arrays of Fig. 8 have the capacity of the largest zones.
            add(Workload::trace(trace), Part::Zones, state, (SSDS, second), &[Policy::McRais]);
            add(Workload::trace(trace), Part::Zones, state, (SSDS, third), &Policy::ALL);
        }
    }
    for access in Access::ALL {
        for kib in SIZES {
            let policies = CHUNKS.map(Policy::Chunk);
            add(Workload::random(access, kib), Part::Chunks, State::Full, (SSDS, first), &policies);
        }
    }
    for slice in options.slices() {
        add(Workload::slice(slice), Part::Real, State::Used, (SSDS, first), &Policy::ALL);
    }
    if options.rows.len() < Row::ALL.len() {
        all.retain(|cell| options.rows.iter().any(|row| row.needs(cell.part)));
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
            assert_eq!(all.iter().filter(|cell| cell.part == Part::Chunks).count(), 2 * SIZES.len());
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
            assert!(ours > 0 && ours < all, "{}: {ours} of {all}", row.name());
        }
    }

    #[test]
    fn each_study_has_a_name_of_its_own() {
        let mut names: Vec<String> = cells(&options(Row::ALL, false)).iter().map(Cell::label).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn full_ssds_are_worn_in_by_a_tenth_of_what_they_hold_and_used_ones_are_not() {
        // stg_0: 16 GiB, a tenth of them in pairs of pages of 6992 bytes a request.
        let find = |state| {
            let all = cells(&options(&[Row::A], false));
            all.into_iter()
                .find(|cell| cell.state == state && cell.workload.name == "stg_0")
                .expect("a study")
        };
        let options = options(&[Row::A], true);
        assert_eq!(find(State::Full).counts(&options), ((16 << 30) / 10 / (2 * 6_992), 100_000));
        assert_eq!(find(State::Used).counts(&options), (0, 100_000));
    }
}
