//! Speed of the simulator, beside a bare yardstick: `cargo run --release -p stripewise-bench`.

#![forbid(unsafe_code)]

mod cases;
mod yardstick;

use stripewise_base::prng::Prng;
use stripewise_sim::{run, tables::Sink};
use stripewise_trace::{Kind, Request, Source, TraceError};

struct Uniform {
    prng: Prng,
    left: u64,
    bytes: u32,
    slots: u64,
}

impl Source for Uniform {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.left > 0 {
            self.left -= 1;
            let offset = self.prng.below(self.slots) * u64::from(self.bytes);
            batch.push(Request { time_ns: 0, offset, bytes: self.bytes, volume: 0, kind: Kind::Write });
        }
        Ok(())
    }
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    for case in cases::all() {
        if !only.is_empty() && !only.iter().any(|name| name == case.name) {
            continue;
        }
        let capacity = stripewise_sim::capacity(&case.config).expect("runs");
        let span = if case.span_bytes == 0 { capacity } else { case.span_bytes };
        for _ in 0..3 {
            let mut source = Uniform {
                prng: Prng::new(7),
                left: case.requests,
                bytes: case.request_bytes,
                slots: span / u64::from(case.request_bytes),
            };
            let start = cpu_seconds();
            let mut sink: Box<dyn Sink> = Box::new(());
            let totals = run(&case.config, &mut source, &mut *sink, &mut |_| true).expect("runs");
            let ours = cpu_seconds() - start;
            let operations = totals.sum(|row| row.flash_read_pages + row.flash_program_pages + row.erase_blocks);
            let start = cpu_seconds();
            let yard_ops = yardstick::run(&case.yardstick, case.requests);
            let yard = cpu_seconds() - start;
            println!(
                "{}: {:.0} req/s, {:.0} ns/req, {:.1} ns/op, ops {operations}, WA {:.3}; yardstick {:.1} ns/op, ops {yard_ops}; ratio {:.2}",
                case.name,
                case.requests as f64 / ours,
                ours * 1e9 / case.requests as f64,
                ours * 1e9 / operations as f64,
                totals.write_amplification(),
                yard * 1e9 / yard_ops as f64,
                (operations as f64 / ours) / (yard_ops as f64 / yard)
            );
        }
    }
}
