//! Runs one of four short cases, without a clock and without output, so that a tool can count its instructions:
//! `instructions CASE REQUESTS`. `crates/bench/instructions.py` does.

use std::process::ExitCode;

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::Sink;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::generate::Generator;

/// Name, preset of the scheme (or none: a single SSD), device, layout, and share of writes.
const CASES: [(&str, Option<&str>, &str, &str, &str); 4] = [
    ("ssd", None, "mqsim-gc-2gib", "ssd:1", "1"),
    ("raid5", Some("baseline"), "ssdsim-5+1", "channel:1", "1"),
    ("was", Some("was"), "paper001", "ssd:6", "1"),
    ("stripewise", Some("stripewise"), "paper003", "ssd:6", "0.3"),
];

/// A table of requests is wanted, as users have it, and goes nowhere.
struct Nowhere;

impl Sink for Nowhere {}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let of = |name: &str| CASES.iter().find(|(known, ..)| *known == name);
    let (case, requests) = match &arguments[..] {
        [] => {
            CASES.iter().for_each(|(name, ..)| println!("{name}"));
            return ExitCode::SUCCESS;
        }
        [case, requests] => (of(case), requests.parse().ok()),
        _ => (None, None),
    };
    let (Some(&(_, scheme, device, members, writes)), Some(requests)) = (case, requests) else {
        eprintln!("usage: instructions [CASE REQUESTS]; without arguments it lists the cases");
        return ExitCode::from(2);
    };
    let scheme = scheme.map_or_else(lone, |name| Scheme::preset(name).expect("a preset"));
    let mut device = DeviceSpec::preset(device).expect("a preset");
    device.geometry.blocks = 64;
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "closed:16".parse().expect("a pacing"),
        limit_requests: requests,
        request_rows: true,
        ..RunConfig::new(scheme, device, members.parse().expect("a layout"))
    };
    let capacity = stripewise_sim::capacity(&config).expect("the scheme runs over the device");
    let span = capacity / 10 * 7 / 8192 * 8;
    let workload = format!("uniform:write={writes},size=8KiB,span={span}KiB,requests={requests}");
    let generator: Generator = workload.parse().expect("a workload");
    let mut source = generator.source(1);
    run(&config, &mut *source, &mut Nowhere, &mut |_| true).expect("a run");
    ExitCode::SUCCESS
}

/// A single SSD.
fn lone() -> Scheme {
    let text = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[placement]\npartial_writes = 'round-up'\n";
    Scheme::from_toml("lone", text).expect("a scheme")
}
