//! Measures the cost of write caches in the simulator: processor time per host page, behind each cache and without
//! one, over the 8+1 SSDs of paper 003, under its HPC mix and under small writes. Medians of five runs, taken in
//! turn. `cargo run --release -p stripewise-sim --example caches`

use std::time::Instant;

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::{RunConfig, run};
use stripewise_trace::generate::Generator;

const ROUNDS: usize = 5;
const LOADS: [(&str, &str); 2] = [
    ("HPC mix", "hpc:span=8GiB,requests=10k"),
    ("4 KiB, 60 % writes", "wriw:size=4KiB,interval=1ms,write=60%,span=1GiB,requests=300k"),
];
const CACHES: [&str; 6] = ["none", "isc", "wow", "stow", "siw", "hybrid"];

/// Nanoseconds of processor time per host page, and the number of pages.
fn measure(cache: &str, load: &str) -> (f64, u64) {
    let scheme = Scheme::preset(&format!("paper003-{cache}")).expect("a preset");
    let device = DeviceSpec::preset("paper003").expect("a preset");
    let mut config = RunConfig::new(scheme, device, "ssd:9".parse().expect("a layout"));
    config.precondition = "sequential:70%".parse().expect("a state");
    let mut source = load.parse::<Generator>().expect("a generator").source(1);
    let mut begun = None;
    // The first report comes when the device is preconditioned.
    let mut report = |_| {
        begun = Some(begun.unwrap_or_else(Instant::now));
        true
    };
    let totals = run(&config, &mut *source, &mut (), &mut report).expect("a run");
    let took = begun.map_or(0.0, |begun: Instant| begun.elapsed().as_nanos() as f64);
    let bytes = totals.requests.read_bytes + totals.requests.written_bytes;
    let pages = bytes / u64::from(totals.page_bytes);
    (took / pages as f64, pages)
}

fn main() {
    println!("load                cache   ns a page of hosts  to none       pages");
    for (name, load) in LOADS {
        let mut runs = CACHES.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            runs.iter_mut().zip(CACHES).for_each(|(runs, cache)| runs.push(measure(cache, load)));
        }
        let medians = runs.map(|mut runs| {
            runs.sort_by(|a, b| a.0.total_cmp(&b.0));
            runs[ROUNDS / 2]
        });
        for (cache, (ns, pages)) in CACHES.iter().zip(medians) {
            println!("{name:19} {cache:7} {ns:18.0} {:8.2} {pages:11}", ns / medians[0].0);
        }
    }
}
