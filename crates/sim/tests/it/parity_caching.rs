//! The two limits of parity caching, as paper 001 (section V-F) states them: an extremely small buffer is a
//! conventional array, and a buffer for all updates has no overhead. Cases between the limits are computed by hand.

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::Sink;
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u64 = 8192;

/// Writes of pages, in order: first page, number of pages.
struct Writes(std::vec::IntoIter<(u64, u32)>);

impl Source for Writes {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let room = batch.capacity();
        batch.extend(self.0.by_ref().take(room).map(|(page, pages)| Request {
            time_ns: 0,
            offset: page * PAGE,
            bytes: pages * PAGE as u32,
            volume: 0,
            kind: Kind::Write,
        }));
        Ok(())
    }
}

struct Nothing;

impl Sink for Nothing {}

/// Six channels: five data chunks per row with RAID-5, four with RAID-6, each of one page.
fn totals(level: &str, policy: &str, cache: &str, writes: Vec<(u64, u32)>) -> Totals {
    let mut device = DeviceSpec::preset("ssdsim-5+1").expect("a preset");
    device.geometry.blocks = 32;
    let scheme = format!(
        "name = 'test'\n[geometry]\nlevel = '{level}'\n[update]\npolicy = '{policy}'\n[cache]\n{cache}\n"
    );
    let config = RunConfig {
        precondition: "sequential:70%".parse().expect("a state"),
        // One at a time, so that the conventional array merges nothing.
        pacing: "closed:1".parse().expect("a pacing"),
        ..RunConfig::new(
            Scheme::from_toml("test", &scheme).expect("a scheme"),
            device,
            "channel:1".parse().expect("a layout"),
        )
    };
    run(&config, &mut Writes(writes.into_iter()), &mut Nothing, &mut |_| true).expect("a run")
}

/// Pages pre-read for updates, pages of data written, and pages of parity written.
fn overhead(totals: &Totals) -> [u64; 3] {
    [
        totals.sum(|row| row.pre_read_pages),
        totals.sum(|row| row.host_write_pages),
        totals.sum(|row| row.parity_write_pages),
    ]
}

/// Writes of single pages out of `pages`; no page is the same as, or adjacent to, the one before.
fn scattered(seed: u64, count: usize, pages: u64) -> Vec<(u64, u32)> {
    let mut prng = Prng::new(seed);
    let mut last = 0;
    let page = |_| {
        last = (last + 10 + prng.below(pages - 20)) % pages;
        (last, 1)
    };
    (0..count).map(page).collect()
}

#[test]
fn a_buffer_of_one_chunk_is_a_conventional_array() {
    for level in ["raid5", "raid6"] {
        for policy in ["baseline", "always-rmw", "always-rcw"] {
            let writes = scattered(7, 500, 400);
            let plain = totals(level, policy, "", writes.clone());
            let cached = totals(level, policy, "policy = 'parity-caching'\nchunks = 1", writes);
            assert_eq!(overhead(&cached), overhead(&plain), "{level}, {policy}");
            assert_eq!((cached.cache.absorbed, cached.cache.destages), (0, 500));
        }
    }
}

#[test]
fn a_buffer_that_holds_everything_costs_only_the_writes_at_the_end() {
    // Every page of 40 rows is written ten times.
    let writes: Vec<(u64, u32)> = (0..2000).map(|n| (n * 7 % 200, 1)).collect();
    let cached = totals("raid5", "baseline", "policy = 'parity-caching'\nchunks = 200", writes.clone());
    assert_eq!(overhead(&cached), [0, 200, 40], "full stripes, once");
    assert_eq!((cached.cache.written, cached.cache.absorbed), (2000, 1800));
    assert_eq!((cached.cache.destages, cached.cache.destaged), (40, 200));
    assert_eq!(cached.requests.updates.full_stripe, 40);
    let latency = cached.requests.writes.max_ns;
    assert_eq!(latency, 1_000, "no request waited for a member");
    let [pre_reads, data, parity] = overhead(&totals("raid5", "baseline", "", writes));
    assert_eq!((pre_reads, data, parity), (4000, 2000, 2000), "RMW: the chunk and its parity");
}

#[test]
fn every_chunk_written_is_absorbed_or_leaves() {
    for (seed, chunks) in [(1, 1), (2, 3), (3, 17), (4, 64), (5, 1000)] {
        let writes: Vec<(u64, u32)> = scattered(seed, 800, 300)
            .into_iter()
            .enumerate()
            .map(|(n, (page, _))| (page, 1 + (n as u32 * seed as u32) % 13))
            .collect();
        let cache = format!("policy = 'parity-caching'\nchunks = {chunks}");
        let totals = totals("raid5", "baseline", &cache, writes);
        let counts = totals.cache;
        assert_eq!(counts.written, counts.absorbed + counts.destaged, "{chunks} chunks");
        assert_eq!(counts.destaged, totals.sum(|row| row.host_write_pages));
        assert_eq!(counts.destages, totals.sum(|row| row.parity_write_pages));
        assert_eq!(counts.destages, totals.requests.updates.all);
    }
}

#[test]
fn a_larger_buffer_never_absorbs_less() {
    // LRU replacement of single chunks has this property. Destaging whole rows could break it, but does not here.
    let writes = scattered(11, 3000, 300);
    let absorbed = [1, 8, 32, 128, 512].map(|chunks| {
        let cache = format!("policy = 'parity-caching'\nchunks = {chunks}");
        totals("raid5", "baseline", &cache, writes.clone()).cache.absorbed
    });
    assert!(absorbed.is_sorted(), "{absorbed:?}");
    assert!(absorbed[4] > absorbed[0], "{absorbed:?}");
}

#[test]
fn writes_wait_when_as_much_is_in_flight_as_may_be() {
    let writes: Vec<(u64, u32)> = (0..300).map(|n| (n * 5, 1)).collect();
    let slow = |destaging: &str| {
        let cache = format!("policy = 'parity-caching'\nchunks = 4\ndestaging = {destaging}");
        totals("raid5", "baseline", &cache, writes.clone()).requests.writes.mean_ns()
    };
    let (narrow, wide, boundless) = (slow("1"), slow("8"), slow("1000"));
    assert!(narrow > wide && wide > boundless, "{narrow}, {wide}, {boundless}");
    assert_eq!(boundless, 1_000, "what leaves is in nobody's way");
}
