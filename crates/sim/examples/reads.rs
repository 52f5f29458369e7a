//! Measures the cost of scheduling and of redirected reads: processor time per flash operation under PIQ, BRR and the
//! other read policies, compared with asynchronous FIFO, over 64 chips, lightly and heavily loaded. Medians of five
//! runs, taken in turn. `cargo run --release -p stripewise-sim --example reads`

use std::time::Instant;

use stripewise_array::Scheme;
use stripewise_array::read::ReadPolicy;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests per run.
const REQUESTS: u32 = 400_000;
const ROUNDS: usize = 5;
const PAGE: u64 = 4096;

/// Two reads per write, of one to eight pages, at random places and times.
struct Mixed {
    prng: Prng,
    left: u32,
    pages: u64,
    time_ns: u64,
    gap_ns: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let pages = 1 + self.prng.below(8);
            let offset = self.prng.below(self.pages - pages) * PAGE;
            let kind = if self.prng.below(3) == 0 { Kind::Write } else { Kind::Read };
            self.time_ns += self.prng.below(2 * self.gap_ns);
            let bytes = (pages * PAGE) as u32;
            batch.push(Request { time_ns: self.time_ns, offset, bytes, volume: 0, kind });
        }
        Ok(())
    }
}

/// The results of a run.
#[derive(Clone, Copy)]
struct Measured {
    /// Nanoseconds of processor time per flash operation.
    ns: f64,
    operations: u64,
    /// Chunks whose reads were redirected, or hedged with reads of other chunks.
    around: u64,
    /// Share of time in which chips are busy.
    utilisation: f64,
}

fn measure(scheme: &Scheme, gap_ns: u64) -> Measured {
    let mut device = DeviceSpec::preset("paper002").expect("a preset");
    device.geometry.blocks = 1024;
    let mut config = RunConfig::new(scheme.clone(), device, "chip".parse().expect("a layout"));
    config.precondition = "sequential:70%".parse().expect("a state");
    let pages = stripewise_sim::capacity(&config).expect("a device") / PAGE * 7 / 10;
    let mut source = Mixed { prng: Prng::new(1), left: REQUESTS, pages, time_ns: 0, gap_ns };
    let mut begun = None;
    // The first report comes when the device is preconditioned.
    let mut report = |_| {
        begun = Some(begun.unwrap_or_else(Instant::now));
        true
    };
    let totals = run(&config, &mut source, &mut (), &mut report).expect("a run");
    let took = begun.map_or(0.0, |begun: Instant| begun.elapsed().as_nanos() as f64);
    let operations = totals.sum(|row| row.flash_read_pages + row.flash_program_pages + row.erase_blocks);
    Measured {
        ns: took / operations as f64,
        operations,
        around: totals.reads.redirected + totals.reads.hedged,
        utilisation: totals.die_utilisation(),
    }
}

fn main() {
    let preset = |name: &str| Scheme::preset(name).expect("a preset");
    let reading = |policy| {
        let mut scheme = preset("paper002-fifo");
        scheme.read.policy = policy;
        scheme
    };
    let schemes = [
        ("async FIFO", preset("paper002-fifo")),
        ("sync FIFO", preset("paper002-sync-fifo")),
        ("PIQ", preset("paper002-piq")),
        ("PIQ, BRR", preset("paper002-brr")),
        ("GC-avoiding", reading(ReadPolicy::GcAvoiding)),
        ("hedged", reading(ReadPolicy::Hedged)),
        ("least finish", reading(ReadPolicy::LeastFinish)),
    ];
    println!("scheme        chips busy  ns an operation  to async FIFO  operations  chunks around");
    for gap_ns in [150_000, 50_000] {
        let mut runs = schemes.each_ref().map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (runs, (_, scheme)) in runs.iter_mut().zip(&schemes) {
                runs.push(measure(scheme, gap_ns));
            }
        }
        let medians = runs.map(|mut runs| {
            runs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
            runs[ROUNDS / 2]
        });
        for ((name, _), run) in schemes.iter().zip(medians) {
            let Measured { ns, operations, around, utilisation } = run;
            let ratio = ns / medians[0].ns;
            let busy = utilisation * 100.0;
            println!("{name:12} {busy:10.1}% {ns:16.0} {ratio:14.2} {operations:11} {around:14}");
        }
    }
}
