//! What choosing a routine costs on this machine.

use std::hint::black_box;
use std::time::Instant;
use stripewise_array::RowNo;

use stripewise_array::geometry::{Geometry, GeometryError, Level, Membership, Rotation, Shape};
use stripewise_array::update::{Choice, Tgc, Tie, Update, Weights};
use stripewise_array::{CellTimes, Loads, MemberLoad, MemberNo};
use stripewise_base::Nanos;
use stripewise_base::prng::Prng;

/// Nanoseconds a decision takes: the choice alone, over 7+1 members, medians.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// Of Baseline.
    pub baseline_ns: f64,
    /// Of BPU.
    pub bpu_ns: f64,
    /// Of Adaptive.
    pub adaptive_ns: f64,
    /// What this machine calls its processor.
    pub machine: String,
}

impl Decisions {
    /// As the names that expressions find.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "baseline_ns": self.baseline_ns, "bpu_ns": self.bpu_ns, "adaptive_ns": self.adaptive_ns, "machine": self.machine,
        })
    }
}

/// Members of the array, the larger of the paper's two.
const MEMBERS: u32 = 8;
/// Decisions timed at a time, each on other loads and rows.
const BATCH: usize = 1024;
/// Times whose median is reported.
const TIMES: usize = 201;
const PAGE_BYTES: u32 = 8192;

/// What members report, read from a table: the simulator's own look-ups are no part of a decision.
struct State([Nanos; MEMBERS as usize]);

impl MemberLoad for State {
    fn gc_average_ns(&self, member: MemberNo) -> Nanos {
        self.0[member.index()]
    }

    fn read_ns(&self, member: MemberNo, page: u32, _old_version: bool) -> Option<Nanos> {
        // The first read levels of Table II, by page, so that it differs from decision to decision.
        Some([45_000, 114_000, 207_000][(u32::from(member.number()) + page) as usize % 3])
    }
}

/// Rows whose updates are decided: columns to read under RMW and RCW, and loads.
struct Situation {
    rmw: u64,
    rcw: u64,
    row: u64,
    loads: Loads,
    state: State,
}

/// Queues as an array under load has them: up to a dozen reads and thirty writes, one member in four collecting.
fn situations(geometry: &Geometry) -> Vec<Situation> {
    let mut prng = Prng::new(1);
    let situation = |_| {
        let mut loads = Loads::new(MEMBERS);
        loads.reads.iter_mut().for_each(|reads| *reads = prng.below(12) as u32);
        loads.writes.iter_mut().for_each(|writes| *writes = prng.below(30) as u32);
        let collecting = std::array::from_fn(|_| if prng.chance(1, 4) { 18_400_000 } else { 0 });
        // One to six of seven chunks are updated: with parity RMW reads them, RCW the others.
        let data = geometry.data_columns();
        let updated = loop {
            let mask = prng.below(data);
            if mask != 0 {
                break mask;
            }
        };
        let parity = geometry.all_columns() & !data;
        Situation {
            rmw: updated | parity,
            rcw: data & !updated,
            row: prng.below(geometry.rows()),
            loads,
            state: State(collecting),
        }
    };
    (0..BATCH).map(situation).collect()
}

/// Measures a decision of each policy.
///
/// # Errors
/// None as long as eight members can form a RAID-5.
pub fn measure_decisions() -> Result<Decisions, GeometryError> {
    let geometry = Geometry::new(&Shape {
        level: Level::Raid5,
        members: MEMBERS,
        groups: 1,
        chunk_bytes: PAGE_BYTES.into(),
        page_bytes: PAGE_BYTES,
        member_pages: 1 << 20,
        rotation: Rotation::LeftSymmetric,
        rotate_every: 2,
        membership: Membership::Contiguous,
    })?;
    let mut times = CellTimes::new(MEMBERS);
    MemberNo::first(MEMBERS)
        .for_each(|member| times.observe_read(member, 45_000 + 5_000 * u64::from(member.number())));
    times.observe_write(700_000);
    let situations = situations(&geometry);
    let median = |policy: Update| {
        let mut found: Vec<f64> = (0..TIMES).map(|_| once(&policy, &geometry, &times, &situations)).collect();
        found.sort_by(f64::total_cmp);
        found[TIMES / 2]
    };
    Ok(Decisions {
        baseline_ns: median(Update::Baseline { tie: Tie::Rmw }),
        bpu_ns: median(Update::Bpu { weights: Weights::Published }),
        adaptive_ns: median(Update::Adaptive { tgc: Tgc::Average }),
        machine: machine(),
    })
}

fn once(policy: &Update, geometry: &Geometry, times: &CellTimes, situations: &[Situation]) -> f64 {
    let began = Instant::now();
    for Situation { rmw, rcw, row, loads, state } in black_box(situations) {
        let choice = Choice {
            now: 0,
            row: RowNo::new(*row),
            updated: rmw & geometry.data_columns(),
            rmw: *rmw,
            rcw: *rcw,
            old: 0,
            geometry,
            place: geometry.place(RowNo::new(*row)),
            page_bytes: PAGE_BYTES,
            loads,
            times,
        };
        black_box(policy.choose(&choice, state, None));
    }
    began.elapsed().as_nanos() as f64 / situations.len() as f64
}

/// The processor's name, where the system reports it.
fn machine() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        processors.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    name.map_or_else(|| "a processor without a name".to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_takes_time_and_not_much_of_it() {
        let found = measure_decisions().unwrap();
        for ns in [found.baseline_ns, found.bpu_ns, found.adaptive_ns] {
            assert!(0.1 < ns && ns < 100_000.0, "{found:?}");
        }
        assert!(
            found.adaptive_ns > found.baseline_ns,
            "looking at queues costs more than counting: {found:?}"
        );
    }
}
