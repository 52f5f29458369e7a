//! Nanoseconds a request of every generator and of the statistics over it, best of five: `cargo bench -p
//! stripewise-trace --bench generate [requests]`.

use std::hint::black_box;
use std::time::Instant;

use stripewise_trace::generate::Generator;
use stripewise_trace::stats::Collector;

const SPECS: &[&str] = &[
    "uniform:write=1,size=8KiB,span=1GiB,arrival=none",
    "uniform:write=1,size=8KiB,span=1GiB,arrival=poisson:100us",
    "uniform:size=4KiB*50+512KiB*17+1MiB*33,align=size,span=8GiB,arrival=poisson:100us",
    "sequential:streams=4,span=64GiB",
    "zipf:theta=0.99,span=64GiB",
    "normal:span=1GiB",
    "disksim:case=rw5m",
    "disksim:case=sw5m",
    "profile:name=paper000/hm_0",
    "profile:name=paper002/PRN_1",
];

fn main() {
    // The test runner passes `--bench`.
    let requests = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(3_000_000u64);
    println!("{requests} requests; ns a request: set up, generated, measured");
    for spec in SPECS {
        let separator = if spec.contains(':') { ',' } else { ':' };
        let spec = format!("{spec}{separator}requests={requests}");
        let mut best = [f64::INFINITY; 3];
        for _ in 0..5 {
            let start = Instant::now();
            let generator: Generator = spec.parse().expect("a valid specification");
            let mut source = generator.source(1);
            let set_up = start.elapsed();
            let mut batch = Vec::with_capacity(1024);
            let (mut generate, mut measure) = (0, 0);
            let mut stats = Collector::default();
            loop {
                let start = Instant::now();
                source.next_batch(&mut batch).expect("generators do not fail");
                let made = Instant::now();
                batch.iter().for_each(|request| stats.add(request));
                generate += (made - start).as_nanos();
                measure += made.elapsed().as_nanos();
                if batch.is_empty() {
                    break;
                }
            }
            let start = Instant::now();
            black_box(stats.finish());
            measure += start.elapsed().as_nanos();
            let each = [set_up.as_nanos(), generate, measure].map(|ns| ns as f64 / requests as f64);
            (0..3).for_each(|at| best[at] = best[at].min(each[at]));
        }
        println!("{:>7.1} {:>7.1} {:>7.1}  {spec}", best[0], best[1], best[2]);
    }
}
