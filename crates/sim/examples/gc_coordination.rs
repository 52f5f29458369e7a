//! Measures the effect of coordinating the collections of an array's SSDs: each policy of `[coordination]`,
//! semi-preemptive collection, and both, over the 8+1 SSDs of paper 003. Prints tables of Markdown.
//!
//! cargo run --release -p stripewise-sim --example gc_coordination [REQUESTS]

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::GcStart;
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::generate::Generator;

/// Name and generator of each load. The figures of the first appear in paper 003, section 4. The others are ours:
/// mostly writes, in bursts and continuously.
const LOADS: [(&str, &str); 3] = [
    ("HPC mix (`paper003/hpc`)", "hpc:span=8GiB"),
    (
        "bursts: 0.5 s of 64 KiB, 90 % writes, every 1.5 ms, then 0.5 s of one every 40 ms",
        "phases:of=(wriw:size=64KiB,interval=1.5ms,write=90%,span=8GiB)\
         (wriw:size=64KiB,interval=40ms,write=90%,span=8GiB),each=500ms",
    ),
    ("steady: 64 KiB, 90 % writes, every 3 ms", "wriw:size=64KiB,interval=3ms,write=90%,span=8GiB"),
];

/// A device's preset, and its `gc.start`.
type Device = (&'static str, GcStart);

/// As the SSDs of paper 003: not preemptible, when the next operation needs the die.
const PAPER: Device = ("paper003", GcStart::OnDemand);
/// The same, but as soon as the die is idle, as all permitted members collect.
const AT_ONCE: Device = ("paper003", GcStart::AtOnce);
/// Operations may start between two moves.
const PREEMPTIVE: Device = ("paper003-preemptive", GcStart::OnDemand);

/// Name, `[coordination]`, and device.
const POLICIES: [(&str, &str, Device); 9] = [
    ("none", "", PAPER),
    ("none, collecting at once", "", AT_ONCE),
    ("semi-preemptive", "", PREEMPTIVE),
    ("GGC, reactive", "policy = 'global'", PAPER),
    ("GGC, proactive when idle", "policy = 'global'\nstart = 'proactive'", PAPER),
    (
        "GGC, proactive at the soft limit",
        "policy = 'global'\nstart = 'proactive'\ntrigger = 'soft-limit'",
        PAPER,
    ),
    ("GGC, reactive, semi-preemptive", "policy = 'global'", PREEMPTIVE),
    ("rotating", "policy = 'rotating'", PAPER),
    ("rotating, semi-preemptive", "policy = 'rotating'", PREEMPTIVE),
];

fn totals(load: &str, coordination: &str, collects: Device, requests: u64) -> Totals {
    let section =
        if coordination.is_empty() { String::new() } else { format!("[coordination]\n{coordination}\n") };
    let text = format!("name = 'study'\n[geometry]\nchunk = '128KiB'\n{section}");
    let mut device = DeviceSpec::preset(collects.0).expect("a preset");
    device.gc.start = collects.1;
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        warmup_requests: requests / 10,
        ..RunConfig::new(
            Scheme::from_toml("study", &text).expect("a scheme"),
            device,
            "ssd:9".parse().expect("a layout"),
        )
    };
    let generator: Generator = format!("{load},requests={requests}").parse().expect("a generator");
    let mut source = generator.source(1);
    run(&config, &mut *source, &mut (), &mut |_| true).expect("a run")
}

fn main() {
    let requests =
        std::env::args().nth(1).map_or(100_000, |count| count.parse().expect("a number of requests"));
    for (name, load) in LOADS {
        println!("\n{name}; {requests} requests:\n");
        println!(
            "| collection | mean | deviation | p99.9 | erases | P(n >= 1) | P(n >= 2) | P(n >= 2 given n >= 1) |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
        for (policy, coordination, device) in POLICIES {
            let totals = totals(load, coordination, device, requests);
            let all = totals.requests.reads.with(&totals.requests.writes);
            let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
            let [slices, any, two] = [0, 1, 2].map(|n| totals.gc_slices.at_least(n) as f64);
            println!(
                "| {policy} | {} | {} | {} | {} | {:.3} | {:.3} | {:.2} |",
                ms(all.mean_ns()),
                ms(all.deviation_ns()),
                ms(all.percentile_ns(9_990)),
                totals.sum(|row| row.erase_blocks),
                any / slices,
                two / slices,
                if any > 0.0 { two / any } else { 0.0 },
            );
        }
    }
}
