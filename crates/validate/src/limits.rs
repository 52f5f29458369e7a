//! The limits of a channel with several dies, the latencies of an idle device, and closed loops: computed by hand.

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_base::units::{Bytes, Span};
use stripewise_flash::spec::{Geometry, Timing};
use stripewise_flash::{DeviceSpec, Rate};
use stripewise_sim::tables::{RequestRow, Sink};
use stripewise_trace::Kind;

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::{self, Rig};
use crate::workload::{Ends, Made, pages};

pub(crate) const CHANNEL: Check = Check {
    name: "channel-limits",
    title: "Throughput of a channel with 1 to 8 dies",
    about: "A read occupies its die for cell time and transfer, a program for command, transfer and cell time; both \
            occupy the channel's bus for the time outside the cells. With enough operations in order over D dies, \
            throughput is D over the time on the die while dies are the limit, and 1 over the time on the bus once the \
            bus is: the smaller of the two, within 0.2 %.",
    bends: &[Bend::SlowService],
    run: channel,
};

pub(crate) const IDLE: Check = Check {
    name: "idle-latency",
    title: "Latency of an idle device",
    about: "One page at a time on the built-in devices: the latency is the sum of command, cell time, transfer of data \
            and spare area, and host link, computed by hand from each preset's source. Exact to the nanosecond.",
    bends: &[Bend::SlowService],
    run: idle,
};

pub(crate) const CLOSED: Check = Check {
    name: "closed-loop",
    title: "Throughput times latency",
    about: "In a closed loop with q requests in flight, throughput times mean latency is q (Little), independent of \
            queues, parity and collection. Within 1 %, for the ends of the run.",
    bends: &[Bend::DoubledLatency],
    run: closed,
};

const READ: Nanos = 45_000;
const PROGRAM: Nanos = 300_000;
const COMMAND: Nanos = 200;
/// A page of 8 KiB at 5 ns a byte.
const TRANSFER: Nanos = 40_960;
const PAGE: u64 = 8192;

fn one_channel(dies: u32, requests: u64) -> DeviceSpec {
    // Room for all writes, and the same amount again, so there is no collection.
    let blocks = (2 * requests / u64::from(dies) / 64 + 16) as u32;
    let geometry = Geometry { chips: dies, blocks, page_bytes: Bytes(PAGE), ..rig::ONE_DIE };
    let timing = Timing {
        read: Span(READ),
        program: Span(PROGRAM),
        erase: Span(1_000_000),
        bus: Rate { femtoseconds: 5_000_000, bytes: 1 },
        program_command: Span(COMMAND),
        ..rig::NO_TIME
    };
    rig::device(geometry, timing)
}

fn channel(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let count: u64 = lab.pick(4_000, 40_000);
    let mut rows = Vec::new();
    let reads = (Kind::Read, READ, TRANSFER, "reads");
    let programs = (Kind::Write, PROGRAM, COMMAND + TRANSFER, "programs");
    for (kind, cell, bus, what) in [reads, programs] {
        for dies in 1..=8 {
            let mut rig = Rig::new(lab, one_channel(dies, 2 * count), "ssd:1", rig::ALONE)?.closed(16 * dies);
            rig.config.request_rows = true;
            // First each page is written, then all of them are read or written a second time, in order.
            let rig = rig.warm(count);
            let make = |index| {
                let kind = if index < count { Kind::Write } else { kind };
                pages(kind, 0, index % count, 1, PAGE)
            };
            let mut ends = Ends::default();
            rig.run(&mut Made::new(2 * count, make), &mut ends)?;
            let by_dies = f64::from(dies) * 1e9 / (cell + bus) as f64;
            let by_bus = 1e9 / bus as f64;
            let case = format!("{what}, {dies} dies");
            let note = if by_dies < by_bus { "dies are short" } else { "the bus is short" };
            let bound = by_dies.min(by_bus);
            rows.push(ResultRow::within(case, Unit::PerSecond, bound, 0.002, ends.rate()).noting(note));
        }
    }
    Ok(rows)
}

/// Records the latency of each request.
#[derive(Default)]
struct Latencies(Vec<Nanos>);

impl Sink for Latencies {
    fn request(&mut self, row: &RequestRow) {
        self.0.push(row.latency_ns);
    }
}

fn idle(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    // Device, kind of members, and one read and one program computed by hand, in nanoseconds.
    let devices = [
        // 35 + 45,000 + 8192 · 5 and 35 + 700,000 + 8192 · 5.
        ("ssdsim-5+1", "channel:1", 85_995, 740_995),
        ("ssdsim-7+1", "channel:1", 85_995, 740_995),
        // 25,000 + (4096 + 128) · 25 and 200,000 + the same, and 8 sectors of 238.4 ns on the interface.
        ("disksim-suite", "ssd:1", 132_507, 307_507),
        ("disksim", "ssd:1", 132_507, 307_507),
        // The same device without the interface.
        ("disksim", "channel:1", 130_600, 305_600),
        // 290 + 75,000 + 8192 · 3, and 361 + 750,000 + 8192 · 3.
        ("mqsim-gc-2gib", "ssd:1", 99_866, 774_937),
    ];
    let mut rows = Vec::new();
    for (preset, members, read, program) in devices {
        let device = DeviceSpec::preset(preset)?;
        let page = device.geometry.page_bytes.0;
        let mut rig = Rig::new(lab, device, members, rig::ALONE)?;
        rig.config.request_rows = true;
        let make = |index: u64| {
            let kind = if index.is_multiple_of(2) { Kind::Write } else { Kind::Read };
            pages(kind, index * 10_000_000, index / 2, 1, page)
        };
        let mut latencies = Latencies::default();
        rig.run(&mut Made::new(16, make), &mut latencies)?;
        let mut row = |what: &str, expected: u64, first: usize| {
            let all: Vec<Nanos> = latencies.0.iter().copied().skip(first).step_by(2).collect();
            let farthest = all.iter().copied().max_by_key(|found| found.abs_diff(expected)).unwrap_or(0);
            let case = format!("{preset} as {members}, {what}");
            rows.push(ResultRow::exact(case, Unit::Ns, expected as f64, farthest as f64));
        };
        row("program", program, 0);
        row("read", read, 1);
    }
    Ok(rows)
}

/// Accumulates latencies between the first arrival and the last end.
#[derive(Default)]
struct Loop {
    requests: u64,
    latency_ns: u64,
    first_ns: Option<Nanos>,
    last_ns: Nanos,
}

impl Sink for Loop {
    fn request(&mut self, row: &RequestRow) {
        self.requests += 1;
        self.latency_ns += row.latency_ns;
        self.first_ns = Some(self.first_ns.map_or(row.arrival_ns, |first| first.min(row.arrival_ns)));
        self.last_ns = self.last_ns.max(row.arrival_ns + row.latency_ns);
    }
}

fn closed(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    const RAID: &str = "name = 'raid'\n[geometry]\nlevel = 'raid5'\n[parity]\nxor = '19us'\n";
    let cases = [
        ("mqsim-gc-2gib", "ssd:1", rig::ALONE, "one SSD that collects"),
        ("ssdsim-5+1", "channel:1", RAID, "RAID-5 over 6 channels"),
    ];
    let count = lab.pick(100_000, 1_000_000);
    let mut rows = Vec::new();
    for (preset, members, scheme, what) in cases {
        for depth in [1, 4, 16, 64] {
            let mut device = DeviceSpec::preset(preset)?;
            // Small enough that collection starts soon.
            device.geometry.blocks = 64;
            let page = device.geometry.page_bytes.0;
            let mut rig = Rig::new(lab, device, members, scheme)?.closed(depth);
            rig.config.request_rows = true;
            let span = rig.capacity()? / page;
            let mut prng = Prng::stream(lab.seed, 1);
            let make = |_| {
                let kind = if prng.chance(3, 10) { Kind::Read } else { Kind::Write };
                pages(kind, 0, prng.below(span), 1, page)
            };
            let mut sum = Loop::default();
            rig.run(&mut Made::new(count, make), &mut sum)?;
            let time = (sum.last_ns - sum.first_ns.unwrap_or(0)) as f64;
            let product = sum.requests as f64 / time * (sum.latency_ns as f64 / sum.requests as f64);
            rows.push(ResultRow::within(
                format!("{what}, q = {depth}"),
                Unit::Ratio,
                f64::from(depth),
                0.01,
                product,
            ));
        }
    }
    Ok(rows)
}
