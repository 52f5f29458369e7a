//! The cases of the speed benchmark: what is simulated, and the yardstick's setting beside it.

use stripewise_array::Scheme;
use stripewise_base::units::Span;
use stripewise_flash::{DeviceSpec, Level};
use stripewise_sim::{Layout, Pacing, RunConfig};

use crate::yardstick::Setting;

/// One row of the benchmark.
pub(crate) struct Case {
    /// Short name, for `--only`.
    pub(crate) name: &'static str,
    /// What it is, with page size, cache and partial-page rule where they matter.
    pub(crate) about: &'static str,
    /// What today's simulators reach, in requests a CPU-second (PEERS, section 2), where one was measured.
    pub(crate) peer: Option<(&'static str, u64)>,
    /// What we aim at, in requests a CPU-second.
    pub(crate) aim: u64,
    pub(crate) config: RunConfig,
    pub(crate) requests: u64,
    /// Bytes of one request, and of the address space that requests go to; 0 means all of it.
    pub(crate) request_bytes: u32,
    pub(crate) span_bytes: u64,
    pub(crate) yardstick: Setting,
}

fn scheme(text: &str) -> Scheme {
    Scheme::from_toml("benchmark", text).expect("the benchmark's schemes are right")
}

fn config(device: DeviceSpec, level: Level, scheme: Scheme, depth: u32, requests: u64) -> RunConfig {
    RunConfig {
        elements: Layout { level, devices: 1 },
        pacing: Pacing::Closed { depth },
        warmup_requests: 0,
        limit_requests: requests,
        seed: 1,
        sample_every: Span(0),
        request_rows: true,
        gc_rows: true,
        scheme,
        device,
    }
}

fn preset(name: &str) -> DeviceSpec {
    DeviceSpec::preset(name).expect("the benchmark names presets that exist")
}

const LONE: &str = "name = 'lone'\n[geometry]\nlevel = 'raid0'\n[placement]\npartial_writes = 'round-up'\n";
const RAID5: &str = "name = 'raid5'\n[geometry]\nlevel = 'raid5'\n[parity]\nxor = '19us'\n";

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let mqsim = preset("mqsim");
    let small = preset("mqsim-gc-2gib");
    let suite = preset("disksim-suite");
    let raid = preset("ssdsim-5+1");
    let mut cases = Vec::new();
    cases.push(Case {
        name: "mqsim-4k",
        about: "one SSD of MQSim's shipped geometry (512 GiB, 8 KiB pages, no data cache; a 4 KiB write programs its \
                page without reading it), 4 KiB random writes, depth 16, no collection",
        peer: Some(("MQSim", 48_000)),
        aim: 2_000_000,
        config: config(mqsim, Level::Ssd, scheme(LONE), 16, 2_000_000),
        requests: 2_000_000,
        request_bytes: 4096,
        span_bytes: 0,
        yardstick: Setting {
            elements: 1,
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
    });
    cases.push(Case {
        name: "gc-2gib",
        about: "one SSD of 2 GiB (8 KiB pages, no data cache), 3 M uniform 8 KiB writes over 90 % of it, depth 16, \
                greedy collection at 5 % free",
        peer: Some(("MQSim", 90_000)),
        aim: 2_000_000,
        config: config(small, Level::Ssd, scheme(LONE), 16, 3_000_000),
        requests: 3_000_000,
        request_bytes: 8192,
        span_bytes: 206_000 * 8192,
        yardstick: Setting {
            elements: 1,
            dies: 4,
            blocks: 256,
            pages: 256,
            span: 206_000,
            reserve: 12,
            depth: 16,
            parity: false,
            filled: false,
            read_ns: 75_000,
            program_ns: 774_000,
            erase_ns: 3_800_000,
        },
    });
    cases.push(Case {
        name: "raid5-6ch",
        about: "RAID-5 over the 6 channels of paper 000's SSD (8 KiB pages), 8 KiB random updates, depth 16, parity \
                and collection",
        peer: None,
        aim: 800_000,
        config: config(raid, Level::Channel, scheme(RAID5), 16, 2_000_000),
        requests: 2_000_000,
        request_bytes: 8192,
        span_bytes: 0,
        yardstick: Setting {
            elements: 6,
            dies: 16,
            blocks: 512,
            pages: 64,
            span: 445_000,
            reserve: 51,
            depth: 16,
            parity: true,
            filled: true,
            read_ns: 86_000,
            program_ns: 741_000,
            erase_ns: 3_500_000,
        },
    });
    let _ = suite;
    cases
}
