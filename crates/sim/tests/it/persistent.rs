//! The persistent memory that a scheme needs: what its settings provide, and the most that is in use, computed by hand.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::Sink;
use stripewise_sim::{Figure, RunConfig, capacity, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u64 = 4096;

/// Writes of one page each, 20 ms apart.
struct Writes(Vec<u64>, usize);

impl Source for Writes {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        for &page in self.0[self.1..].iter().take(batch.capacity()) {
            let time_ns = 20_000_000 * (self.1 + batch.len()) as u64;
            batch.push(Request {
                time_ns,
                offset: page * PAGE,
                bytes: PAGE as u32,
                volume: 0,
                kind: Kind::Write,
            });
        }
        self.1 += batch.len();
        Ok(())
    }
}

struct Nothing;

impl Sink for Nothing {}

/// The run of a scheme over five SSDs with pages of 4 KiB.
fn config(scheme: &str, warmup: u64) -> RunConfig {
    let mut device = DeviceSpec::preset("paper003").expect("a preset");
    device.geometry.blocks = 32;
    let text = format!("name = 'test'\n{scheme}");
    RunConfig {
        precondition: "sequential:70%".parse().expect("a state"),
        warmup_requests: warmup,
        ..RunConfig::new(
            Scheme::from_toml("test", &text).expect("a scheme"),
            device,
            "ssd:5".parse().expect("a layout"),
        )
    }
}

/// Bytes that the settings provide, and the most in use.
fn persistent(scheme: &str, writes: &[u64], warmup: u64) -> [u64; 2] {
    let config = config(scheme, warmup);
    let totals =
        run(&config, &mut Writes(writes.to_vec(), 0), &mut Nothing, &mut |_| true).expect("a run").derived();
    ["persistent_bytes", "persistent_peak_bytes"].map(|name| {
        let found = totals.iter().find(|(total, _)| *total == name).map(|(_, figure)| *figure);
        let Some(Figure::Count(bytes)) = found else { panic!("{name}: {found:?}") };
        bytes
    })
}

#[test]
fn a_persistent_cache_needs_the_pages_that_it_holds_at_a_time_and_a_volatile_one_none() {
    let cache = |settings: &str| format!("[cache]\npolicy = 'wow'\nsize = '1MiB'\n{settings}");
    // Seven pages, one of them twice. All stay until the end: less than the low threshold of 204 pages.
    let writes = [0, 1, 2, 3, 4, 900, 0, 901];
    assert_eq!(persistent(&cache(""), &writes, 0), [1 << 20, 7 * PAGE]);
    assert_eq!(persistent(&cache(""), &writes, 7), [1 << 20, 7 * PAGE], "what warm-up left is in use");
    assert_eq!(persistent(&cache("persistence = 'volatile'"), &writes, 0), [0, 0]);
    let parity_caching = "[cache]\npolicy = 'parity-caching'\nchunks = 4\ndestaging = 2\n";
    let [provided, peak] = persistent(parity_caching, &writes, 0);
    assert_eq!(provided, 6 * PAGE);
    assert!((5 * PAGE..=6 * PAGE).contains(&peak), "{peak}");
}

#[test]
fn a_log_needs_its_buffer_only_where_it_acknowledges_from_persistent_memory() {
    let log = |settings: &str, buffer: &str| {
        format!(
            "[placement]\npolicy = 'elastic'\n{buffer}\n[elastic]\nsegment_rows = 64\nbuffer = 'stripe'\n{settings}"
        )
    };
    let writes: Vec<u64> = (0..6).map(|page| page * 16).collect();
    let [provided, peak] = persistent(&log("acknowledge = 'buffered'", ""), &writes, 0);
    assert!(provided > peak, "{provided} bytes");
    // A stripe of four chunks leaves as soon as it is complete; the last two wait.
    assert_eq!(peak, 4 * PAGE);
    assert_eq!(persistent(&log("acknowledge = 'durable'\nwait = '100us'", ""), &writes, 0), [0, 0]);
    let volatile = log("acknowledge = 'buffered'", "buffer_persistence = 'volatile'");
    assert_eq!(persistent(&volatile, &writes, 0), [0, 0]);
}

#[test]
fn kept_parity_is_counted_by_rows() {
    // Five rows are updated. An eighth of the room for eight stays free, so no parity leaves before the end.
    let rows: Vec<u64> = (0..5).map(|nth| nth * 4 * 64).collect();
    assert_eq!(persistent("[parity]\nmemory_rows = 8\n", &rows, 0), [8 * PAGE, 5 * PAGE]);
    assert_eq!(persistent("", &rows, 0), [0, 0], "in place, members have everything that is acknowledged");
}

#[test]
fn first_writes_that_wait_for_their_row_are_in_memory() {
    let encode = "[placement]\nfirst_writes = 'encode'\nencode_wait = '0s'\n[queues]\nplans = 16\n";
    // Behind the part that is written already: a page of each of four stripes.
    let all = capacity(&config(encode, 0)).expect("a capacity") / PAGE;
    let pages = [1, 2, 3, 4].map(|nth| all - 256 * nth);
    let [provided, peak] = persistent(encode, &pages, 0);
    assert_eq!((provided, peak), ((16 + 16) * 4 * PAGE, 4 * PAGE));
    let volatile = encode.replace("[queues]", "buffer_persistence = 'volatile'\n[queues]");
    assert_eq!(persistent(&volatile, &pages, 0), [0, 0]);
}

#[test]
fn a_map_of_zones_is_in_persistent_memory_as_a_whole() {
    let preset = Scheme::preset("paper004-mc-rais").expect("a preset");
    let zones = toml::to_string(&preset).expect("TOML");
    let zones: String =
        zones.lines().filter(|line| !line.starts_with("name")).map(|line| format!("{line}\n")).collect();
    let [provided, peak] = persistent(&zones, &[0, 1, 2], 0);
    assert!(provided >= peak && peak > 4096, "{provided} {peak}");
}
