//! Small cases: one row, a set of its chunks written in whole or in part, all at once.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use stripewise_array::placement::FirstWrites;
use stripewise_array::update::{Tie, Update};
use stripewise_base::units::Span;
use stripewise_check::{Ask, Case, Options, Summary, What, run};

/// Four pages per member, two sectors per page: a row with `d` data chunks has `2 d` sectors.
const SMALL: &str = r#"
seed = 1
members = "ssd:4"
depth = 64
fail_each = false
losses = []
requests = []
[faults]
[scheme]
name = "small"
[scheme.parity]
xor = "5us"
[device]
name = "small"
[device.geometry]
channels = 1
chips = 1
dies = 1
planes = 1
blocks = 5
pages = 2
page_bytes = "1KiB"
[device.timing]
read = "25us"
program = "200us"
erase = "1ms"
bus = "25ns/B"
[device.ftl]
over_provisioning = "60%"
[device.gc]
victim = "greedy"
low_watermark = { block-count = 1 }
blocking = "plane"
"#;
pub const PAGE: u64 = 2;

pub const POLICIES: [Update; 4] = [
    Update::Baseline { tie: Tie::Rmw },
    Update::Baseline { tie: Tie::Rcw },
    Update::AlwaysRmw {},
    Update::AlwaysRcw {},
];

/// The content of the row before the tested writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    Nothing,
    /// No content, and first writes are gathered.
    Gathering,
    AFullStripe,
}

pub fn case(members: u32, update: Update, before: Before) -> Case {
    let mut case = Case::from_toml("small", SMALL).unwrap_or_else(|error| panic!("{error}"));
    case.members.devices = members;
    case.scheme.update = update;
    if before == Before::Gathering {
        case.scheme.placement.first_writes = FirstWrites::Gather;
        case.scheme.placement.gather_wait = Span(100_000);
    }
    case
}

pub fn ask(what: What, sector: u64, sectors: u64) -> Ask {
    Ask { gap_ns: 0, what, sector, sectors }
}

/// The requests: each chunk of the row is not written, written in its first sector, or written as a whole, all at
/// once; meanwhile everything is read.
pub fn requests(before: Before, data: u64, mut pattern: u64) -> Vec<Ask> {
    let row = data * PAGE;
    let mut requests = Vec::new();
    let mut writes = Vec::new();
    for chunk in 0..data {
        match pattern % 3 {
            1 => writes.push(ask(What::Write, chunk * PAGE, 1)),
            2 => writes.push(ask(What::Write, chunk * PAGE, PAGE)),
            _ => {}
        }
        pattern /= 3;
    }
    if before == Before::AFullStripe {
        requests.push(ask(What::Write, 0, row));
        writes[0].gap_ns = 10_000_000;
    }
    requests.extend(writes);
    requests.push(ask(What::Read, 0, row));
    requests
}

pub fn patterns(data: u64) -> std::ops::Range<u64> {
    1..3u64.pow(data as u32)
}

pub fn check(case: &Case) -> Summary {
    run(case, Options::default()).unwrap_or_else(|failure| panic!("{failure}\n{}", case.to_toml()))
}
