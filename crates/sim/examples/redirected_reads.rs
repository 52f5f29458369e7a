//! Measures when it helps to decode a chunk from other members: each read policy over chips, channels and SSDs, under
//! three loads, with and without rotating permission to collect. Prints tables of Markdown.
//! `cargo run --release -p stripewise-sim --example redirected_reads` (`... -- turn` for the sweep over utilisations)

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests of a run of the tables, and of a run of the sweep. The former use up the space of planes above their last
/// block, so that the run shows whether collection keeps up.
const REQUESTS: u64 = 200_000;
const SWEEP_REQUESTS: u64 = 60_000;

/// Reads and writes of one page at random places, at random times.
struct Mixed {
    prng: Prng,
    left: u64,
    time_ns: u64,
    every_ns: u64,
    reads: u64,
    pages: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            // Intervals of a Poisson process, to the nanosecond.
            let interval = -libm::log(1.0 - self.prng.unit()) * self.every_ns as f64;
            self.time_ns += interval as u64;
            let offset = self.prng.below(self.pages) * 4096;
            let kind = if self.prng.chance(self.reads, 100) { Kind::Read } else { Kind::Write };
            batch.push(Request { time_ns: self.time_ns, offset, bytes: 4096, volume: 0, kind });
        }
        Ok(())
    }
}

/// Members of a level, with the mean interval of requests that keeps their dies busy.
struct Over {
    name: &'static str,
    device: &'static str,
    layout: &'static str,
    blocks: u32,
    groups: u32,
    interval_ns: u64,
    /// The interval of each load, as a multiple of `interval_ns`.
    slower: [f64; 3],
}

const LEVELS: [Over; 3] = [
    Over {
        name: "64 chips",
        device: "paper002",
        layout: "chip:1",
        blocks: 64,
        groups: 8,
        interval_ns: 13_000,
        slower: [1.0, 1.25, 4.0],
    },
    Over {
        name: "8 channels",
        device: "paper002",
        layout: "channel:1",
        blocks: 64,
        groups: 1,
        interval_ns: 13_000,
        slower: [1.0, 1.6, 6.0],
    },
    Over {
        name: "8 SSDs",
        device: "paper003",
        layout: "ssd:8",
        blocks: 64,
        groups: 1,
        interval_ns: 26_000,
        slower: [2.0, 2.5, 5.0],
    },
];

/// Loads, and the percentage of reads.
const LOADS: [(&str, u64); 3] = [("read-mostly, idle", 95), ("mixed", 70), ("write-heavy", 30)];

const POLICIES: [(&str, &str); 9] = [
    ("direct", "policy = 'direct'"),
    ("brr", "policy = 'brr'"),
    ("brr, observed", "policy = 'brr'\nstate = 'observed'"),
    ("brr, collections", "policy = 'brr'\nwait = 'queue-and-collection'"),
    ("gc-avoiding", "policy = 'gc-avoiding'"),
    ("gc-avoiding, observed", "policy = 'gc-avoiding'\nstate = 'observed'"),
    ("hedged", "policy = 'hedged'"),
    ("least-finish", "policy = 'least-finish'"),
    ("least-finish, observed", "policy = 'least-finish'\nstate = 'observed'"),
];

fn totals(over: &Over, read: &str, rotating: bool, count: u64, reads: u64, every_ns: u64) -> Totals {
    let groups = over.groups;
    let coordination = if rotating { "[coordination]\npolicy = 'rotating'\n" } else { "" };
    let text = format!(
        "name = 'study'\n[geometry]\ngroups = {groups}\n[update]\npolicy = 'always-rmw'\n[read]\n{read}\n{coordination}"
    );
    let mut device = DeviceSpec::preset(over.device).expect("a preset");
    device.geometry.blocks = over.blocks;
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        warmup_requests: count / 10,
        ..RunConfig::new(
            Scheme::from_toml("study", &text).expect("a scheme"),
            device,
            over.layout.parse().expect("a layout"),
        )
    };
    let pages = stripewise_sim::capacity(&config).expect("a device") / 4096 * 7 / 10;
    let mut source = Mixed { prng: Prng::new(1), left: count, time_ns: 0, every_ns, reads, pages };
    run(&config, &mut source, &mut (), &mut |_| true).expect("a run")
}

/// Cells of the table: mean, p99 and p99.9 of reads; extra reads per hundred host reads; mean of writes.
fn cells(totals: &Totals) -> String {
    let (reads, writes) = (&totals.requests.reads, &totals.requests.writes);
    if reads.mean_ns() > 1_000_000_000 {
        // The load exceeds the capacity: the longer the run, the longer reads take.
        return "falls behind | – | – | – | –".to_owned();
    }
    let us = |ns: u64| (ns + 500) / 1000;
    let extra = totals.sum(|row| row.decode_read_pages) as f64 * 100.0 / reads.count.max(1) as f64;
    format!(
        "{} | {} | {} | {extra:.1} | {}",
        us(reads.mean_ns()),
        us(reads.percentile_ns(9_900)),
        us(reads.percentile_ns(9_990)),
        us(writes.mean_ns())
    )
}

/// Two halves: without rotating permission, and with it.
const HEAD: &str = "| reads | mean | p99 | p99.9 | extra reads, % | write mean | with rotating: mean | p99 | p99.9 | \
    extra reads, % | write mean |";

fn main() {
    if std::env::args().nth(1).is_some_and(|what| what == "turn") {
        return turn();
    }
    for over in &LEVELS {
        for ((load, reads), slower) in LOADS.into_iter().zip(over.slower) {
            let every_ns = (over.interval_ns as f64 * slower) as u64;
            let busy = totals(over, POLICIES[0].1, false, REQUESTS, reads, every_ns).die_utilisation();
            println!("\n**{}, {load}** (dies {:.0} % busy with direct reads)\n", over.name, busy * 100.0);
            println!("{HEAD}\n|{}", " --- |".repeat(11));
            for (name, read) in POLICIES {
                let both = [false, true]
                    .map(|rotating| cells(&totals(over, read, rotating, REQUESTS, reads, every_ns)));
                println!("| {name} | {} |", both.join(" | "));
            }
        }
    }
}

/// Mean times of reads over a sweep of loads, to find the load from which redirected reads cost more than they gain.
fn turn() {
    let names = ["direct", "brr", "gc-avoiding", "hedged", "least-finish"];
    for over in &LEVELS {
        for reads in [95, 70] {
            println!("\n**{}, {reads} % reads**: mean and p99.9 of reads, us\n", over.name);
            println!("| dies busy, % | {} |", names.join(" | "));
            println!("| --- | --- | --- | --- | --- | --- |");
            for factor in [8.0, 4.0, 2.0, 1.4, 1.0, 0.8, 0.6, 0.45] {
                // The array serves far more requests if almost all are reads.
                let scale = if reads > 90 { 0.3 } else { 1.0 };
                let every_ns = (over.interval_ns as f64 * factor * scale) as u64;
                let of = |name: &str| {
                    let (_, read) = POLICIES.iter().find(|policy| policy.0 == name).expect("a policy");
                    totals(over, read, false, SWEEP_REQUESTS, reads, every_ns)
                };
                let busy = of("direct").die_utilisation() * 100.0;
                let row = names.map(|name| {
                    let reads = of(name).requests.reads;
                    format!("{} / {}", reads.mean_ns() / 1000, reads.percentile_ns(9_990) / 1000)
                });
                println!("| {busy:.0} | {} |", row.join(" | "));
            }
        }
    }
}
