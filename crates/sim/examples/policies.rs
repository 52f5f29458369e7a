//! Measures the cost of update policies and parity windows: processor time per flash operation on RAID-5 over six
//! channels under load, the best of three runs each. `cargo run --release -p stripewise-sim --example policies`

use std::time::Instant;

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests per run.
const REQUESTS: u32 = 200_000;

/// Random updates of one page each, without pauses.
struct Updates {
    prng: Prng,
    left: u32,
    pages: u64,
}

impl Source for Updates {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let offset = self.prng.below(self.pages) * 8192;
            batch.push(Request { time_ns: 0, offset, bytes: 8192, volume: 0, kind: Kind::Write });
        }
        Ok(())
    }
}

/// Nanoseconds per flash operation, number of flash operations, and the share of updates that differ from Baseline's
/// choice.
fn measure(update: &str, window: u32) -> (f64, u64, f64) {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 128;
    let text = format!("name = 'bench'\n[update]\n{update}\n[parity]\nxor = '19us'\nwindow = {window}\n");
    let config = RunConfig {
        precondition: "steady:70%".parse().expect("a state"),
        pacing: "closed:16".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("bench", &text).expect("a scheme"),
            device,
            "channel:1".parse().expect("a layout"),
        )
    };
    let pages = stripewise_sim::capacity(&config).expect("a device") / 8192 * 7 / 10;
    let mut source = Updates { prng: Prng::new(1), left: REQUESTS, pages };
    let mut begun = None;
    // The first report comes when the device is preconditioned.
    let mut report = |_| {
        begun = Some(begun.unwrap_or_else(Instant::now));
        true
    };
    let totals = run(&config, &mut source, &mut (), &mut report).expect("a run");
    let took = begun.map_or(0.0, |begun: Instant| begun.elapsed().as_nanos() as f64);
    let operations = totals.sum(|row| row.flash_read_pages + row.flash_program_pages + row.erase_blocks);
    let updates = totals.requests.updates;
    (took / operations as f64, operations, updates.adjusted as f64 / updates.all.max(1) as f64)
}

fn main() {
    let policies = [
        ("baseline", "policy = 'baseline'"),
        ("bpu", "policy = 'bpu'"),
        ("adaptive", "policy = 'adaptive'"),
        ("adaptive, remaining", "policy = 'adaptive'\ntgc = 'remaining'"),
    ];
    for window in [0, 6] {
        for (name, update) in policies {
            let runs: Vec<_> = (0..3).map(|_| measure(update, window)).collect();
            let best = runs.iter().map(|run| run.0).fold(f64::INFINITY, f64::min);
            let (_, operations, adjusted) = runs[0];
            println!(
                "{name:20} window {window}: {best:6.1} ns/flash op, {operations} operations, {adjusted:.3} adjusted"
            );
        }
    }
}
