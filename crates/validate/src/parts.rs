//! Checks that every nanosecond of a request's latency belongs to exactly one part.

use stripewise_base::prng::Prng;
use stripewise_flash::spec::{Domain, GcSpan};
use stripewise_flash::{DeviceSpec, Share, State};
use stripewise_sim::Precondition;
use stripewise_sim::tables::{RequestRow, Sink};
use stripewise_trace::Kind;

use crate::bend::Bend;
use crate::check::{Check, Lab, ResultRow, Unit};
use crate::rig::Rig;
use crate::workload::{Made, Poisson, pages};

pub(crate) const PARTS: Check = Check {
    name: "latency-parts",
    title: "Parts of latencies",
    about: "Pending, pre-read, parity, member queue, wait for collection, bus, cell and buffer add up to the latency of \
            every single request, exactly, under RAID-5 with collection in all its forms, and no part that the run \
            should contain is missing.",
    bends: &[Bend::LostNanosecond],
    run: parts,
};

/// Rows whose parts do not add up, and the sums of the parts.
#[derive(Default)]
struct Ledger {
    rows: u64,
    wrong: u64,
    latency_ns: u128,
    gc_wait_ns: u128,
    pre_read_ns: u128,
    parity_ns: u128,
}

impl Sink for Ledger {
    fn request(&mut self, row: &RequestRow) {
        let parts = row.pending_ns
            + row.pre_read_ns
            + row.parity_ns
            + row.member_queue_ns
            + row.gc_wait_ns
            + row.bus_ns
            + row.cell_ns
            + row.buffer_ns;
        self.rows += 1;
        self.wrong += u64::from(parts != row.latency_ns);
        self.latency_ns += u128::from(row.latency_ns);
        self.gc_wait_ns += u128::from(row.gc_wait_ns);
        self.pre_read_ns += u128::from(row.pre_read_ns);
        self.parity_ns += u128::from(row.parity_ns);
    }
}

fn parts(lab: &Lab) -> anyhow::Result<Vec<ResultRow>> {
    let raid = |update: &str, more: &str| {
        format!(
            "name = 'raid'\n[geometry]\nlevel = 'raid5'\n[update]\npolicy = '{update}'\n[parity]\nxor = '19us'\n{more}"
        )
    };
    let gather = "[placement]\nfirst_writes = 'gather'\n";
    // Name, preset, members, scheme, collection.
    let cases = [
        ("channels, steps", "ssdsim-5+1", "channel:1", raid("baseline", ""), None),
        ("channels, gathered first writes", "ssdsim-5+1", "channel:1", raid("baseline", gather), None),
        ("SSDs, steps", "mqsim-gc-2gib", "ssd:5", raid("always-rmw", ""), None),
        ("SSDs, one span", "paper003", "ssd:5", raid("always-rcw", ""), Some(GcSpan::Busy)),
        ("chips, die blocked", "ssdsim-5+1", "chip:1", raid("baseline", ""), Some(GcSpan::Steps)),
    ];
    let count = lab.pick(100_000, 300_000);
    let mut rows = Vec::new();
    for (name, preset, members, scheme, span) in cases {
        let mut device = DeviceSpec::preset(preset)?;
        device.geometry.blocks = 32;
        device.ftl.over_provisioning = Share(300_000);
        if let Some(span) = span {
            device.gc.span = span;
            device.gc.blocking = Domain::Die;
            device.gc.erase_blocking = None;
        }
        let page = device.geometry.page_bytes.0;
        let mut rig = Rig::new(lab, device, members, &scheme)?;
        rig.config.request_rows = true;
        // Gathering needs devices that were never written.
        if !scheme.contains("gather") {
            rig.config.precondition = Precondition::Filled(State::Steady, Share::ALL);
        }
        let span = rig.capacity()? / page;
        let mut arrivals = Poisson::new(lab.seed, 0, 6_000_000.0);
        let mut prng = Prng::stream(lab.seed, 1);
        let make = |_| {
            let kind = if prng.chance(4, 10) { Kind::Read } else { Kind::Write };
            let size = 1 + prng.below(6);
            pages(kind, arrivals.next(), prng.below(span - size), size, page)
        };
        let mut ledger = Ledger::default();
        rig.run(&mut Made::new(count, make), &mut ledger)?;
        let case = |what: &str| format!("{name}: {what}");
        rows.push(ResultRow::exact(case("requests noted"), Unit::Count, count as f64, ledger.rows as f64));
        rows.push(ResultRow::exact(
            case("requests whose parts do not add up"),
            Unit::Count,
            0.0,
            ledger.wrong as f64,
        ));
        let share = |part: u128| part as f64 / ledger.latency_ns as f64;
        for (part, sum) in [
            ("collection", ledger.gc_wait_ns),
            ("pre-reads", ledger.pre_read_ns),
            ("parity", ledger.parity_ns),
        ] {
            let case = case(&format!("share of latency spent on {part}"));
            rows.push(ResultRow::between(case, Unit::Ratio, 1e-4, 1.0, share(sum)));
        }
    }
    Ok(rows)
}
