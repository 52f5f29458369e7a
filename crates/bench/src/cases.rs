//! The cases of the simulator benchmark: the simulated configuration, and the corresponding setting of the yardstick.

use stripewise_array::Scheme;
use stripewise_flash::spec::Scheduling;
use stripewise_flash::{DeviceSpec, Level, Share, State};
use stripewise_sim::{Layout, Pacing, Precondition, RunConfig};

use crate::yardstick::Setting;

/// One row of the benchmark.
pub(crate) struct Benchmark {
    /// Short name, for `--only`.
    pub(crate) name: &'static str,
    /// A description, with page size, cache and partial-page rule if they matter.
    pub(crate) about: &'static str,
    /// Speed of current simulators, in requests per CPU-second (PEERS, section 2), if measured.
    pub(crate) peer: Option<(&'static str, u64)>,
    /// Target speed, in requests per CPU-second.
    pub(crate) aim: Option<u64>,
    pub(crate) config: RunConfig,
    /// The workload, as `--gen` takes it.
    pub(crate) workload: String,
    pub(crate) yardstick: Setting,
}

fn scheme(text: &str) -> Scheme {
    Scheme::from_toml("benchmark", text).expect("the benchmark's schemes are right")
}

fn preset(name: &str) -> DeviceSpec {
    DeviceSpec::preset(name).expect("the benchmark names presets that exist")
}

fn config(device: DeviceSpec, level: Level, text: &str, pacing: Pacing, requests: u64) -> RunConfig {
    RunConfig {
        pacing,
        limit_requests: requests,
        request_rows: true,
        gc_rows: true,
        ..RunConfig::new(scheme(text), device, Layout { level, devices: 1 })
    }
}

const LONE: &str = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[placement]\npartial_writes = 'round-up'\n";
const RAID5: &str = "name = 'raid5'\n[geometry]\nlevel = 'raid5'\n[parity]\nxor = '19us'\n";
const DEPTH: Pacing = Pacing::Closed { depth: 16 };

/// All cases.
pub(crate) fn all() -> Vec<Benchmark> {
    let mut cases = vec![mqsim_4k(), gc("gc-2gib", 256, 3_000_000), rw5m()];
    cases.extend([6, 64].map(raid5));
    cases.push(gc("gc-20gib", 2560, 3_000_000));
    cases.push(gc("gc-2gib-30m", 256, 30_000_000));
    cases
}

/// MQSim's shipped device.
fn mqsim_4k() -> Benchmark {
    let requests = 2_000_000;
    let mut device = preset("mqsim");
    // As in all earlier runs of this benchmark.
    device.scheduling = Scheduling { window: 256, ..Scheduling::default() };
    Benchmark {
        name: "mqsim-4k",
        about: "one SSD of MQSim's shipped geometry (512 GiB, 8 KiB pages, no data cache; a 4 KiB write programs its \
                page without reading it), 4 KiB random writes, depth 16, no collection",
        peer: Some(("MQSim", 48_000)),
        aim: Some(2_000_000),
        config: config(device, Level::Ssd, LONE, DEPTH, requests),
        workload: "uniform:write=1,size=4KiB,span=450GiB,requests=2M".into(),
        yardstick: Setting {
            members: 1,
            dies: 64,
            blocks: 4096,
            pages: 256,
            span: 62_000_000,
            reserve: 1,
            depth: 16,
            parity: false,
            filled: false,
            read_ns: 75_000,
            program_ns: 774_000,
            erase_ns: 3_800_000,
        },
    }
}

/// The case of PEERS, section 7(c), and larger and longer variants: uniform writes over 90 % of a single SSD.
fn gc(name: &'static str, blocks: u32, requests: u64) -> Benchmark {
    let mut device = preset("mqsim-gc-2gib");
    device.geometry.blocks = blocks;
    // 4 planes with 256 pages per block, 12.7 % over-provisioning, 90 % of the rest.
    let span = blocks * 4 * 256 / 1000 * 873 / 10 * 9;
    Benchmark {
        name,
        about: match name {
            "gc-2gib" => {
                "one SSD of 2 GiB (8 KiB pages, no data cache), uniform 8 KiB writes over 90 % of it, depth 16, greedy \
                 collection at 5 % free"
            }
            "gc-20gib" => "the same with ten times the blocks",
            _ => "the same with ten times the requests",
        },
        peer: (name == "gc-2gib").then_some(("MQSim", 90_000)),
        aim: (name == "gc-2gib").then_some(2_000_000),
        config: config(device, Level::Ssd, LONE, DEPTH, requests),
        workload: format!("uniform:write=1,size=8KiB,span={}KiB,requests={requests}", u64::from(span) * 8),
        yardstick: Setting {
            members: 1,
            dies: 4,
            blocks,
            pages: 256,
            span,
            reserve: blocks / 20,
            depth: 16,
            parity: false,
            filled: false,
            read_ns: 75_000,
            program_ns: 774_000,
            erase_ns: 3_800_000,
        },
    }
}

/// The random writes of DiskSim's validation suite.
fn rw5m() -> Benchmark {
    let requests = 5_000_000;
    let mut config = config(
        preset("disksim-suite"),
        Level::Ssd,
        LONE,
        Pacing::Open { numerator: 1, denominator: 1 },
        requests,
    );
    config.precondition = Precondition::Filled(State::Sequential, Share::ALL);
    Benchmark {
        name: "rw5m",
        about: "the random writes of DiskSim's validation suite (32 GiB, 4 KiB pages), open arrivals",
        peer: Some(("DiskSim", 162_000)),
        aim: Some(2_000_000),
        config,
        workload: "disksim:case=rw5m".into(),
        yardstick: Setting {
            members: 1,
            dies: 8,
            blocks: 16384,
            pages: 64,
            span: 7_000_000,
            reserve: 819,
            depth: 4,
            parity: false,
            filled: true,
            read_ns: 130_600,
            program_ns: 305_600,
            erase_ns: 1_500_000,
        },
    }
}

/// RAID-5 over the channels of paper 000's SSD, filled to 70 % as in the fork of its simulator.
fn raid5(channels: u32) -> Benchmark {
    let mut device = preset("ssdsim-5+1");
    device.geometry.channels = channels;
    let requests = 2_000_000;
    let mut config = config(device, Level::Channel, RAID5, DEPTH, requests);
    let share = Share(700_000);
    config.precondition = Precondition::Filled(State::Steady, share);
    let logical = stripewise_sim::capacity(&config).expect("the benchmark's devices are right");
    // The planes of 6 dies are modelled as four dies of four planes here.
    let per_member = 16 * 512 * 64;
    Benchmark {
        name: if channels == 6 { "raid5-6ch" } else { "raid5-64ch" },
        about: if channels == 6 {
            "RAID-5 over the 6 channels of paper 000's SSD (8 KiB pages) in the steady state of 70 % fill, 8 KiB random \
             updates of what is filled, depth 16, parity and collection"
        } else {
            "the same over 64 channels"
        },
        peer: None,
        aim: (channels == 6).then_some(800_000),
        config,
        workload: format!(
            "uniform:write=1,size=8KiB,span={}KiB,requests={requests}",
            share.of(logical) / 8192 * 8
        ),
        yardstick: Setting {
            members: channels,
            dies: 16,
            blocks: 512,
            pages: 64,
            span: per_member / 100 * 85 / 10 * 7,
            reserve: 51,
            depth: 16,
            parity: true,
            filled: true,
            read_ns: 86_000,
            program_ns: 741_000,
            erase_ns: 3_500_000,
        },
    }
}
