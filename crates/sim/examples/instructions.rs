//! Runs one short case, without a clock and without output, so that a tool can count its instructions:
//! `instructions CASE REQUESTS`. `crates/bench/instructions.py` does. Without arguments it lists the cases: the group of each,
//! its name, and two lengths whose difference is a steady state.

use std::process::ExitCode;

use stripewise_array::{MemberNo, NoMemory, Scheme};
use stripewise_flash::{DeviceSpec, Flash};
use stripewise_sim::tables::Sink;
use stripewise_sim::{Layout, Replay, RunConfig, RunError, Simulation, capacity, run};
use stripewise_trace::Source;
use stripewise_trace::fold::{Fold, Folded};
use stripewise_trace::generate::Generator;

/// A case.
#[derive(Clone, Copy)]
struct Case {
    /// `guard`: short, for every change. `speed`: as large as `make speed` has it, and what users run.
    group: &'static str,
    name: &'static str,
    /// Two lengths, in requests.
    lengths: [u64; 2],
    scheme: Named,
    device: &'static str,
    /// What the device has instead of what its preset says.
    change: fn(&mut DeviceSpec),
    members: &'static str,
    precondition: &'static str,
    pacing: &'static str,
    /// The generator. `SPAN` stands for 70 % of the array.
    workload: &'static str,
    /// Whether member 0 is lost.
    is_degraded: bool,
}

/// A scheme: that of a preset, or a text of its own.
#[derive(Clone, Copy)]
enum Named {
    Preset(&'static str),
    Text(&'static str),
}

/// A single SSD.
const LONE: Named =
    Named::Text("name = 'lone'\n[geometry]\nlevel = 'raid0'\n[placement]\npartial_writes = 'round-up'\n");
const RAID5: Named = Named::Text("name = 'raid5'\n[geometry]\nlevel = 'raid5'\n[parity]\nxor = '19us'\n");

const GUARD: Case = Case {
    group: "guard",
    name: "ssd",
    lengths: [10_000, 40_000],
    scheme: LONE,
    device: "mqsim-gc-2gib",
    change: |device| device.geometry.blocks = 64,
    members: "ssd:1",
    precondition: "steady:70%",
    pacing: "closed:16",
    workload: "uniform:write=1,size=8KiB,span=SPAN",
    is_degraded: false,
};

const SPEED: Case = Case { group: "speed", lengths: [50_000, 150_000], ..GUARD };

const CASES: [Case; 13] = [
    GUARD,
    Case {
        name: "raid5",
        scheme: Named::Preset("baseline"),
        device: "ssdsim-5+1",
        members: "channel:1",
        ..GUARD
    },
    Case { name: "was", scheme: Named::Preset("was"), device: "paper001", members: "ssd:6", ..GUARD },
    Case {
        name: "stripewise",
        scheme: Named::Preset("stripewise"),
        device: "paper003",
        members: "ssd:6",
        workload: "uniform:write=0.3,size=8KiB,span=SPAN",
        ..GUARD
    },
    Case {
        name: "mqsim-4k",
        device: "mqsim",
        change: |device| device.scheduling.window = 256,
        precondition: "fresh",
        workload: "uniform:write=1,size=4KiB,span=450GiB",
        ..SPEED
    },
    Case {
        name: "gc-2gib",
        lengths: [400_000, 700_000],
        change: |_| {},
        precondition: "fresh",
        // 87.3 % of 1024 blocks of 256 pages, 90 % of that.
        workload: "uniform:write=1,size=8KiB,span=1647960KiB",
        ..SPEED
    },
    Case {
        name: "rw5m",
        device: "disksim-suite",
        change: |_| {},
        precondition: "sequential:100%",
        pacing: "open",
        workload: "disksim:case=rw5m",
        ..SPEED
    },
    Case {
        name: "raid5-6ch",
        scheme: RAID5,
        device: "ssdsim-5+1",
        change: |_| {},
        members: "channel:1",
        ..SPEED
    },
    Case {
        name: "raid5-64ch",
        scheme: RAID5,
        device: "ssdsim-5+1",
        change: |device| device.geometry.channels = 64,
        members: "channel:1",
        ..SPEED
    },
    Case {
        name: "was-full",
        scheme: Named::Preset("was"),
        device: "paper001",
        change: |device| device.geometry.blocks = 256,
        members: "ssd:6",
        ..SPEED
    },
    Case {
        name: "default-scheme",
        scheme: Named::Preset("stripewise"),
        device: "paper003",
        change: |device| device.geometry.blocks = 256,
        members: "ssd:6",
        workload: "uniform:write=0.3,size=8KiB,span=SPAN",
        ..SPEED
    },
    Case {
        name: "degraded-raid5",
        scheme: Named::Preset("baseline"),
        device: "ssdsim-5+1",
        change: |_| {},
        members: "channel:1",
        workload: "uniform:write=0.3,size=8KiB,span=SPAN",
        is_degraded: true,
        ..SPEED
    },
    // One of the four schemes that `stripewise compare` runs without arguments.
    Case {
        name: "first-screen",
        scheme: Named::Preset("adaptive"),
        device: "ssdsim-5+1",
        change: |_| {},
        members: "channel:1",
        pacing: "open",
        workload: "profile:name=paper000/hm_0",
        ..SPEED
    },
];

/// A table of requests is wanted, as users have it, and goes nowhere.
struct Nowhere;

impl Sink for Nowhere {}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let of = |name: &str| CASES.iter().find(|case| case.name == name);
    match &arguments[..] {
        [] => {
            for Case { group, name, lengths: [few, more], .. } in CASES {
                println!("{group}\t{name}\t{few}\t{more}");
            }
            ExitCode::SUCCESS
        }
        [case, requests] if let (Some(case), Ok(requests)) = (of(case), requests.parse()) => {
            case.run(requests).expect("the case runs");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: instructions [CASE REQUESTS]; without arguments it lists the cases");
            ExitCode::from(2)
        }
    }
}

impl Case {
    fn run(&self, requests: u64) -> Result<(), RunError> {
        let scheme = match self.scheme {
            Named::Preset(name) => Scheme::preset(name).expect("a preset"),
            Named::Text(text) => Scheme::from_toml("case", text).expect("a scheme"),
        };
        let mut device = DeviceSpec::preset(self.device).expect("a preset");
        (self.change)(&mut device);
        let config = RunConfig {
            precondition: self.precondition.parse().expect("a state"),
            pacing: self.pacing.parse().expect("a pacing"),
            limit_requests: requests,
            request_rows: true,
            ..RunConfig::new(scheme, device, self.members.parse().expect("a layout"))
        };
        let bytes = capacity(&config)?;
        let span = bytes / 10 * 7 / 8192 * 8;
        let workload = self.workload.replace("SPAN", &format!("{span}KiB"));
        // The suite has its own number of requests.
        let count =
            if workload.starts_with("disksim") { String::new() } else { format!(",requests={requests}") };
        let generator: Generator = format!("{workload}{count}").parse().expect("a workload");
        let folding = Fold::Modulo.onto(bytes / 5, None).expect("the array is large enough");
        let mut folded = Folded::new(generator.source(1), folding);
        let mut plain = generator.source(1);
        let source: &mut dyn Source =
            if self.workload.starts_with("profile") { &mut folded } else { &mut *plain };
        if self.is_degraded {
            degraded(&config, source)
        } else {
            run(&config, source, &mut Nowhere, &mut |_| true).map(drop)
        }
    }
}

/// Like [`run`], without member 0.
fn degraded(config: &RunConfig, source: &mut dyn Source) -> Result<(), RunError> {
    let Layout { level, devices } = config.members;
    let mut flash = Flash::<()>::new(&config.device, level, devices, config.seed)?;
    config.precondition.apply(&mut flash, config.seed);
    let (members, page_bytes) = (flash.shape().members, config.device.geometry.page_bytes.0 as u32);
    let (pacing, limit, mut sink) = (config.pacing, config.limit_requests, Nowhere);
    let replay = Replay::new(source, pacing, members, limit, 0, true, &mut sink);
    let mut simulation = Simulation::new(&config.scheme, flash, page_bytes, NoMemory, replay)?;
    simulation.fail_member(MemberNo::new(0));
    simulation.run();
    Ok(())
}
