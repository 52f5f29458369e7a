//! One die as a server with requests of a Poisson process as its customers: the best understood queue of theory.

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::spec::{Geometry, Timing};
use stripewise_flash::{DeviceSpec, Rate};
use stripewise_sim::tables::{RequestRow, SampleRow, Sink};
use stripewise_trace::{Kind, Request};

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::{self, Rig};
use crate::stats::BatchMeans;
use crate::theory;
use crate::workload::{Made, Poisson, pages};

pub(crate) const WAITS: Check = Check {
    name: "queue-waits",
    title: "Waiting at one die",
    about: "Reads of a Poisson process at one die wait as the formula of Pollaczek and Khinchine predicts. Service is \
            the device's own (M/D/1), exponential (M/M/1; an override that exists only for validation), exponential in \
            the cells and fixed on the bus, or a mixture of reads and programs (M/G/1). The queue is that of the member \
            (`ssd`) or of the controller (`channel`). With read priority, each class waits as Cobham's formula predicts. \
            The theory's value must be in our confidence interval of 99.9 % (31 batch means).",
    bends: &[Bend::SlowService],
    run: waits,
};

pub(crate) const INSTRUMENTS: Check = Check {
    name: "queue-instruments",
    title: "Counters of a queue",
    about: "The same queues are checked for three properties. The share of time that the die is busy is the load ρ. The \
            mean number in the system, sampled at regular instants, is arrival rate times mean response (Little). An \
            arriving request finds the same number as an outside observer (Poisson arrivals see time averages), not \
            counting itself.",
    bends: &[Bend::SlowService],
    run: instruments,
};

const PAGE: u64 = 4096;
/// Pages that exist before the first read; all are in one plane.
const FILLED: u64 = 256;
const CELL: Nanos = 60_000;
const PROGRAM: Nanos = 240_000;
/// One page on the bus of 10 ns a byte.
const TRANSFER: Nanos = 40_960;
/// The place of the queue: in the member, or in the controller.
const PLACES: [(&str, &str); 2] = [("ssd:1", "in the member"), ("channel:1", "in the controller")];
const LOADS: [f64; 4] = [0.3, 0.5, 0.7, 0.9];

/// A law of service.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// M/D/1: reads, cell and bus.
    Fixed,
    /// M/M/1: reads without a bus, cell times drawn.
    Exponential,
    /// M/G/1: reads, cell times drawn, bus fixed.
    Shifted,
    /// M/G/1: this percentage of programs, otherwise reads.
    Mixed(u64),
}

impl Law {
    fn name(self) -> String {
        match self {
            Self::Fixed => "M/D/1".into(),
            Self::Exponential => "M/M/1".into(),
            Self::Shifted => "M/G/1, exponential cell and fixed bus".into(),
            Self::Mixed(percent) => format!("M/G/1, {percent} % programs"),
        }
    }

    /// Mean and mean square of the service time, in nanoseconds.
    fn moments(self) -> (f64, f64) {
        let (cell, bus) = (CELL as f64, TRANSFER as f64);
        let (read, program) = (cell + bus, PROGRAM as f64 + bus);
        match self {
            Self::Fixed => (read, read * read),
            Self::Exponential => (cell, 2.0 * cell * cell),
            Self::Shifted => (read, read * read + cell * cell),
            Self::Mixed(percent) => {
                let programs = percent as f64 / 100.0;
                let mix = |read: f64, program: f64| (1.0 - programs) * read + programs * program;
                (mix(read, program), mix(read * read, program * program))
            }
        }
    }

    fn device(self, count: u64) -> DeviceSpec {
        let bus = if self == Self::Exponential {
            Rate::INSTANT
        } else {
            Rate { femtoseconds: 10_000_000, bytes: 1 }
        };
        // Programs must never lead to collection: room for all of them and the same amount again.
        let written = FILLED + if let Self::Mixed(percent) = self { count * percent / 100 } else { 0 };
        let blocks = (2 * written / 256 + 8) as u32;
        let geometry = Geometry { blocks, pages: 256, ..rig::ONE_DIE };
        let timing = Timing { read: Span(CELL), program: Span(PROGRAM), bus, ..rig::NO_TIME };
        rig::device(geometry, timing)
    }
}

/// Observations of a queue.
struct Queue {
    /// The index of the first request that counts: earlier requests only fill the device.
    first: u64,
    /// Waits of reads and of programs; and of all requests.
    waits: [BatchMeans; 2],
    all: BatchMeans,
    response_ns: u64,
    responses: u64,
    /// At regular times: the number in the system, and whether it is above zero.
    number: BatchMeans,
    busy: BatchMeans,
}

impl Queue {
    fn new(count: u64, programs: u64, samples: u64) -> Self {
        // A random count may be slightly below its expected value.
        let few = |expected: u64| expected * 98 / 100;
        Self {
            first: FILLED,
            waits: [BatchMeans::new(few(count - programs)), BatchMeans::new(few(programs))],
            all: BatchMeans::new(count),
            response_ns: 0,
            responses: 0,
            number: BatchMeans::new(few(samples)),
            busy: BatchMeans::new(few(samples)),
        }
    }
}

impl Sink for Queue {
    fn request(&mut self, row: &RequestRow) {
        if row.request < self.first {
            return;
        }
        let wait = (row.latency_ns - row.cell_ns - row.bus_ns) as f64;
        self.waits[usize::from(row.kind)].add(wait);
        self.all.add(wait);
        self.response_ns += row.latency_ns;
        self.responses += 1;
    }

    fn sample(&mut self, row: &SampleRow) {
        let number = row.reads + row.writes;
        self.number.add(f64::from(number));
        self.busy.add(f64::from(u8::from(number > 0)));
    }
}

/// The results of one run.
struct Observed {
    queue: Queue,
    rate: f64,
    /// The mean number of requests that an arriving one finds, itself included.
    found: f64,
}

fn observe(
    lab: &Lab,
    law: Law,
    members: &str,
    load: f64,
    priority: bool,
    count: u64,
) -> anyhow::Result<Observed> {
    let (mean, _) = law.moments();
    let gap = mean / load;
    let mut device = law.device(count);
    device.scheduling.read_priority = priority;
    let mut rig = Rig::new(lab, device, members, rig::ALONE)?.warm(FILLED);
    rig.draws_reads = matches!(law, Law::Exponential | Law::Shifted);
    rig.config.request_rows = true;
    rig.config.sample_every = Span((mean / 3.0) as Nanos);
    // First the pages for the reads are written, one by one; then the queue is empty.
    let spacing = 2 * (PROGRAM + TRANSFER);
    let mut arrivals = Poisson::new(lab.seed, spacing * (FILLED + 1), gap);
    let mut choice = Prng::stream(lab.seed, 1);
    let percent = if let Law::Mixed(percent) = law { percent } else { 0 };
    let make = |index: u64| -> Request {
        if index < FILLED {
            return pages(Kind::Write, index * spacing, index, 1, PAGE);
        }
        let kind = if choice.chance(percent, 100) { Kind::Write } else { Kind::Read };
        pages(kind, arrivals.next(), choice.below(FILLED), 1, PAGE)
    };
    let samples = count as f64 * gap / (mean / 3.0);
    let mut queue = Queue::new(count, count * percent / 100, samples as u64);
    let totals = rig.run(&mut Made::new(FILLED + count, make), &mut queue)?;
    let rate = queue.responses as f64 / totals.simulated_ns as f64;
    let found = totals.members[0].blocked_sum as f64 / queue.responses as f64;
    Ok(Observed { queue, rate, found })
}

fn waits(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let count = lab.pick(200_000, 2_000_000);
    let mut rows = Vec::new();
    let mut compare = |law: Law, (members, place): (&str, &str), load: f64| -> anyhow::Result<()> {
        let (mean, mean_square) = law.moments();
        let expected = theory::wait(load / mean, mean, mean_square);
        let observed = observe(lab, law, members, load, false, count)?.queue.all.mean();
        let case = format!("{}, ρ = {load}, queue {place}", law.name());
        rows.push(ResultRow::interval(case, Unit::Ns, expected, observed));
        Ok(())
    };
    for law in [Law::Fixed, Law::Exponential] {
        for place in PLACES {
            for load in LOADS {
                compare(law, place, load)?;
            }
        }
    }
    compare(Law::Shifted, PLACES[0], 0.7)?;
    compare(Law::Mixed(30), PLACES[0], 0.7)?;
    compare(Law::Mixed(30), PLACES[1], 0.7)?;
    rows.extend(waits_with_priority(lab, count)?);
    Ok(rows)
}

fn waits_with_priority(lab: &Lab, count: u64) -> anyhow::Result<[ResultRow; 2]> {
    let (load, law) = (0.7, Law::Mixed(30));
    let rate = load / law.moments().0;
    let class = |share: f64, cell: Nanos| {
        let time = (cell + TRANSFER) as f64;
        (share * rate, time, time * time)
    };
    let (reads, programs) = theory::waits_with_priority(class(0.7, CELL), class(0.3, PROGRAM));
    let Observed { queue, .. } = observe(lab, law, PLACES[0].0, load, true, count)?;
    let row = |what, expected, waits: &BatchMeans| {
        ResultRow::interval(
            format!("{what} with read priority, ρ = {load}"),
            Unit::Ns,
            expected,
            waits.mean(),
        )
    };
    Ok([row("reads", reads, &queue.waits[0]), row("30 % programs", programs, &queue.waits[1])])
}

fn instruments(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let count = lab.pick(100_000, 1_000_000);
    let mut rows = Vec::new();
    for law in [Law::Fixed, Law::Exponential] {
        for (members, place) in PLACES {
            for load in [0.3, 0.7] {
                let Observed { queue, rate, found } = observe(lab, law, members, load, false, count)?;
                let case = |what: &str| format!("{what}: {}, ρ = {load}, queue {place}", law.name());
                rows.push(ResultRow::interval(case("busy"), Unit::Ratio, load, queue.busy.mean()));
                let number = queue.number.mean();
                let little = rate * queue.response_ns as f64 / queue.responses as f64;
                // Rate, response and number come from the same run, so only the sampling is uncertain.
                rows.push(ResultRow::within(
                    case("number in the system"),
                    Unit::Ratio,
                    little,
                    0.01,
                    number.value,
                ));
                rows.push(ResultRow::interval(case("arrivals find"), Unit::Ratio, found - 1.0, number));
            }
        }
    }
    Ok(rows)
}
