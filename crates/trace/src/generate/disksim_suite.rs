//! The six synthetic workloads of the validation suite that came with the SSD add-on for DiskSim (2008). They follow
//! the law of DiskSim's generator with the parameters of the suite's own files:
//!
//! - sizes: an exponential variate of mean 8 sectors, truncated to whole sectors, rounded up to blocks of 8 sectors,
//!   drawn again when zero; so m blocks with probability e^-(m-1) (1 - 1/e), 12.66 sectors on average;
//! - places: uniform over the blocks of 7,018,904 sectors (85 % of the suite's device), size and place drawn again
//!   when the request would reach the end;
//! - sequential workloads draw a place and a size *once*, continue from there with requests of that size, and draw
//!   both again only when the end is near. Sequential write of 5 M requests therefore has only a handful of sizes;
//! - intervals: uniform over 0–1 ms, open arrivals.
//!
//! The suite's own run of its generator drew 4 KiB for all of its 250 k sequential requests. For the 5 M sequential
//! writes it drew sizes with a mean of 9.13 sectors in 16 stretches. Another seed draws other sizes and so has
//! another mean response time. The key `runs` is a separate seed for those draws; its default yields these figures.

use std::sync::Arc;

use stripewise_base::prng::Prng;

use super::arrival::{self, Arrival};
use super::keys::{Key, Keys};
use super::recipe::{About, Recipe};
use crate::{Kind, Request, Source, TraceError};

const SECTOR: u64 = 512;

/// The workloads: name, requests, whether sequential, whether reads.
const CASES: [(&str, u64, bool, bool); 6] = [
    ("sr250k", 250_000, true, true),
    ("sw250k", 250_000, true, false),
    ("rr250k", 250_000, false, true),
    ("rw250k", 250_000, false, false),
    ("sw5m", 5_000_000, true, false),
    ("rw5m", 5_000_000, false, false),
];

/// The seed that draws 4 KiB first, far from the end, and a mean of 9.13 sectors in 16 stretches over 5 M requests
/// (tested).
const SUITE_RUNS: u64 = 33_898;

pub(super) const ABOUT: About = About {
    name: "disksim",
    summary: "the six synthetic workloads of the validation suite of DiskSim's SSD add-on",
    example: "disksim:case=rw5m",
    keys: &[
        Key {
            name: "case",
            default: "",
            help: "`sr250k`, `sw250k`, `rr250k`, `rw250k`, `sw5m` or `rw5m`: sequential or random, read or \
                   write, requests",
        },
        Key { name: "requests", default: "case", help: "how many, such as `250k`; `case`: as the case says" },
        Key {
            name: "sequential",
            default: "case",
            help: "the probability that a request continues the one before, such as `0.7`; `case`: 0 or 1",
        },
        Key { name: "read", default: "case", help: "the share of reads, such as `0.3`; `case`: 0 or 1" },
        Key {
            name: "mean",
            default: "4KiB",
            help: "mean of the exponential law of sizes; the suite: 8 sectors",
        },
        Key {
            name: "block",
            default: "4KiB",
            help: "what places and sizes are multiples of; the suite: 8 sectors",
        },
        Key { name: "span", default: "3593678848B", help: "the address space; the suite: 7,018,904 sectors" },
        Key { name: "arrival", default: "uniform:0..1ms", help: arrival::HELP },
        Key {
            name: "runs",
            default: "case",
            help: "a number that seeds places and sizes, `seed` for the trace's own seed; `case`: a number with \
                   the suite's own sizes for the sequential cases, `seed` for the random ones",
        },
    ],
    build,
};

fn build(keys: &Keys) -> Result<Arc<dyn Recipe>, TraceError> {
    let wanted = keys.text("case");
    let Some(&(_, requests, sequential, read)) = CASES.iter().find(|case| case.0 == wanted) else {
        let names: Vec<&str> = CASES.iter().map(|case| case.0).collect();
        return Err(keys.fail("case", stripewise_base::suggest::unknown("case", wanted, &names)));
    };
    let of_case = |key: &str| keys.text(key) == "case";
    let block = keys.bytes("block")?;
    if block == 0 || !block.is_multiple_of(SECTOR) {
        return Err(keys.fail("block", "a block is a multiple of 512 B"));
    }
    let mean_sectors = keys.bytes("mean")? as f64 / SECTOR as f64;
    let blocks = keys.bytes("span")? / block;
    // The span must hold several mean sizes: with less room nearly every draw would be rejected.
    if blocks < 16 || (blocks * block) as f64 / SECTOR as f64 <= 16.0 * mean_sectors {
        return Err(keys.fail("span", "the span must hold 16 blocks and 16 requests; widen it"));
    }
    if !(0.1..=4e6).contains(&mean_sectors) {
        return Err(keys.fail("mean", "the mean size lies between 52 B and 2 GiB"));
    }
    let share =
        |key: &str, case: bool| if of_case(key) { Ok(f64::from(u8::from(case))) } else { keys.share(key) };
    Ok(Arc::new(Suite {
        requests: if of_case("requests") { requests } else { keys.count("requests")? },
        sequential: share("sequential", sequential)?,
        read: share("read", read)?,
        mean_sectors,
        block,
        blocks,
        arrival: Arrival::parse(keys)?,
        runs: match keys.text("runs") {
            "case" if sequential => Some(SUITE_RUNS),
            "case" | "seed" => None,
            _ => Some(keys.count("runs")?),
        },
    }))
}

/// A workload of the suite.
#[derive(Clone, Debug, PartialEq)]
struct Suite {
    requests: u64,
    sequential: f64,
    read: f64,
    mean_sectors: f64,
    block: u64,
    blocks: u64,
    arrival: Arrival,
    runs: Option<u64>,
}

impl Recipe for Suite {
    fn source(&self, seed: u64) -> Box<dyn Source + Send> {
        let [choices, arrivals, places] = std::array::from_fn(|at| Prng::stream(seed, at as u64));
        let mut places = self.runs.map_or(places, Prng::new);
        let next = self.place(&mut places);
        let suite = self.clone();
        Box::new(SuiteSource { left: self.requests, clock: 0, next, choices, arrivals, places, suite })
    }

    fn end_bytes(&self) -> Option<u64> {
        self.blocks.checked_mul(self.block)
    }
}

impl Suite {
    /// Draws a new place and size, in blocks.
    fn place(&self, prng: &mut Prng) -> (u64, u64) {
        loop {
            let at = prng.below(self.blocks);
            let sectors = -self.mean_sectors * libm::log(1.0 - prng.unit());
            let size = (sectors as u64).div_ceil(self.block / SECTOR);
            if size > 0 && at + size < self.blocks && size * self.block <= u64::from(u32::MAX) {
                return (at, size);
            }
        }
    }
}

/// A running workload of the suite.
struct SuiteSource {
    suite: Suite,
    left: u64,
    clock: u64,
    /// Place and size of the next request, in blocks.
    next: (u64, u64),
    choices: Prng,
    arrivals: Prng,
    places: Prng,
}

impl Source for SuiteSource {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let count = (batch.capacity().max(1) as u64).min(self.left);
        let Suite { sequential, read, block, blocks, arrival, .. } = self.suite;
        batch.extend((0..count).map(|_| {
            let (at, size) = self.next;
            let kind = if self.choices.unit() < read { Kind::Read } else { Kind::Write };
            let continues = self.choices.unit() < sequential && at + 2 * size < blocks;
            self.next = if continues { (at + size, size) } else { self.suite.place(&mut self.places) };
            let time_ns = self.clock;
            self.clock = self.clock.saturating_add(arrival.interval(&mut self.arrivals));
            Request { time_ns, offset: at * block, bytes: (size * block) as u32, volume: 0, kind }
        }));
        self.left -= count;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(1.0 - self.left as f64 / self.suite.requests.max(1) as f64)
    }
}
