//! The validation suite of DiskSim's SSD extension, on its synthetic workloads: mean response times must be within 2
//! % of the documented ones.
//!
//! The time between arrivals is uniform between 0 and 1 ms. Random requests start anywhere among 877,363 pages and
//! have m pages with probability (1 - 1/e) e^-(m-1). The sequential requests compared here have one page each.

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;
use stripewise_flash::{Admission, DeviceSpec, Done, Flash, Level, Op, OpKind, Share, State};

const PAGES: u64 = 7_018_904 / 8;

struct Suite {
    flash: Flash,
    agenda: Agenda,
    done: Vec<Done>,
    /// For each request, its arrival and its number of unfinished pages.
    requests: Vec<(Nanos, u32)>,
    free: Vec<u32>,
    latency_ns: u128,
    finished: u64,
}

impl Suite {
    fn new() -> Self {
        let spec = DeviceSpec::preset("disksim-suite").unwrap_or_else(|error| panic!("{error}"));
        let mut flash = Flash::new(&spec, Level::Ssd, 1, 1).unwrap_or_else(|error| panic!("{error}"));
        flash.precondition(State::Sequential, Share::ALL, 1);
        let (done, requests, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { flash, agenda: Agenda::new(), done, requests, free, latency_ns: 0, finished: 0 }
    }

    fn handle_until(&mut self, end: Nanos) {
        while self.agenda.next_time().is_some_and(|at| at <= end) {
            let Some((now, event)) = self.agenda.pop() else { return };
            self.flash.handle(now, event, &mut self.agenda, &mut self.done);
            for done in self.done.drain(..) {
                let request = &mut self.requests[done.token as usize];
                request.1 -= 1;
                if request.1 == 0 {
                    self.latency_ns += u128::from(now - request.0);
                    self.finished += 1;
                    self.free.push(done.token);
                }
            }
        }
    }

    fn submit(&mut self, now: Nanos, kind: OpKind, page: u64, pages: u64) {
        let token = self.free.pop().unwrap_or(self.requests.len() as u32);
        if token as usize == self.requests.len() {
            self.requests.push((0, 0));
        }
        self.requests[token as usize] = (now, pages as u32);
        for page in page..page + pages {
            let op = Op { kind, page: page as u32, request: token, ..Op::default() };
            assert_eq!(self.flash.admits(now, 0, &op, &mut self.agenda), Admission::Admitted);
            self.flash.start(now, 0, token, op, &mut self.agenda);
        }
    }

    /// Mean response time in ms.
    fn run(&mut self, count: u64, kind: OpKind, random: bool) -> f64 {
        let mut prng = Prng::new(42);
        let (mut now, mut next) = (0, 0);
        for _ in 0..count {
            now += prng.below(1_000_000);
            self.handle_until(now);
            let (page, pages) = if random {
                let mut pages = 1;
                // 1/e, to nine digits.
                while prng.chance(367_879_441, 1_000_000_000) {
                    pages += 1;
                }
                (prng.below(PAGES - pages), pages)
            } else {
                next = (next + 1) % PAGES;
                (next, 1)
            };
            self.submit(now, kind, page, pages);
        }
        self.handle_until(Nanos::MAX);
        assert_eq!(self.finished, count);
        self.latency_ns as f64 / count as f64 / 1e6
    }
}

fn assert_mean(name: &str, count: u64, kind: OpKind, random: bool, documented_ms: f64) {
    let mean_ms = Suite::new().run(count, kind, random);
    println!(
        "{name}: {mean_ms:.6} ms, documented {documented_ms:.6} ms ({:+.2} %)",
        (mean_ms / documented_ms - 1.0) * 100.0
    );
    assert!((mean_ms / documented_ms - 1.0).abs() < 0.02, "{name}: {mean_ms:.6} ms");
}

#[test]
fn sequential_reads() {
    assert_mean("sr250k", 250_000, OpKind::Read, false, 0.132_511);
}

#[test]
fn sequential_writes() {
    assert_mean("sw250k", 250_000, OpKind::Program, false, 0.310_895);
}

#[test]
fn random_reads() {
    assert_mean("rr250k", 250_000, OpKind::Read, true, 0.136_118);
}

#[test]
fn random_writes() {
    assert_mean("rw250k", 250_000, OpKind::Program, true, 0.329_458);
}

#[test]
fn five_million_random_writes_with_cleaning() {
    assert_mean("rw5m", 5_000_000, OpKind::Program, true, 0.593_438);
}
