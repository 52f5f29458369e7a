//! Measures the cost of elastic striping: processor time per flash operation under eSAP and WAS, compared with RAID-5
//! in place, over eight SSDs, and over an array with eight times as many segments. Medians of five runs, taken in
//! turn. `cargo run --release -p stripewise-sim --example elastic`

use std::time::Instant;

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests per run.
const REQUESTS: u32 = 1_500_000;
const ROUNDS: usize = 5;
const PAGE: u64 = 4096;

/// Writes of one page each, four of five to the first fifth of the pages, at intervals of three milliseconds.
struct Skewed {
    prng: Prng,
    left: u32,
    pages: u64,
    time_ns: u64,
}

impl Source for Skewed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let hot = self.pages / 5;
            let page = match self.prng.below(5) {
                0 => hot + self.prng.below(self.pages - hot),
                _ => self.prng.below(hot),
            };
            self.time_ns += 3_000_000;
            let (time_ns, offset) = (self.time_ns, page * PAGE);
            batch.push(Request { time_ns, offset, bytes: PAGE as u32, volume: 0, kind: Kind::Write });
        }
        Ok(())
    }
}

/// Nanoseconds per flash operation, number of flash operations, and number of segments collected.
fn measure(scheme: &str, times: u32) -> (f64, u64, u64) {
    let mut device = DeviceSpec::preset("paper001").expect("a preset");
    device.geometry.blocks *= times;
    let scheme = Scheme::preset(scheme).expect("a preset");
    let mut config = RunConfig::new(scheme, device, "ssd:8".parse().expect("a layout"));
    config.precondition = "sequential:70%".parse().expect("a state");
    let pages = stripewise_sim::capacity(&config).expect("a device") / PAGE * 7 / 10;
    let mut source = Skewed { prng: Prng::new(1), left: REQUESTS, pages, time_ns: 0 };
    let mut begun = None;
    // The first report comes when the device is preconditioned.
    let mut report = |_| {
        begun = Some(begun.unwrap_or_else(Instant::now));
        true
    };
    let totals = run(&config, &mut source, &mut (), &mut report).expect("a run");
    let took = begun.map_or(0.0, |begun: Instant| begun.elapsed().as_nanos() as f64);
    let operations = totals.sum(|row| row.flash_read_pages + row.flash_program_pages + row.erase_blocks);
    (took / operations as f64, operations, totals.log.collected)
}

fn main() {
    println!("scheme     segments  ns an operation  to in place  operations  collected");
    for times in [1, 8] {
        let schemes = ["baseline", "esap", "was"];
        let mut took = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (taken, scheme) in took.iter_mut().zip(schemes) {
                taken.push(measure(scheme, times));
            }
        }
        let medians = took.map(|mut taken: Vec<(f64, u64, u64)>| {
            taken.sort_by(|a, b| a.0.total_cmp(&b.0));
            taken[ROUNDS / 2]
        });
        for (scheme, (ns, operations, collected)) in schemes.into_iter().zip(medians) {
            let ratio = ns / medians[0].0;
            let segments = 1024 * times;
            println!("{scheme:10} {segments:8} {ns:16.0} {ratio:12.2} {operations:11} {collected:10}");
        }
    }
}
