//! The write caches of paper 003 over its SSDs, computed by hand: pages that each cache pre-reads, pages that it
//! writes, and the waiting times of its hosts.

use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_sim::tables::Sink;
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

const PAGE: u64 = 4096;
/// Pages of a strip.
const STRIP: u64 = 4;
const ALL: [&str; 5] = ["isc", "wow", "stow", "siw", "hybrid"];

/// Requests, and how many of them have been sent.
struct Requests(Vec<Request>, usize);

impl Source for Requests {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.0[self.1..].iter().take(batch.capacity()));
        self.1 += batch.len();
        Ok(())
    }
}

fn request(kind: Kind, time_ns: u64, (page, pages): (u64, u32)) -> Request {
    Request { time_ns, offset: page * PAGE, bytes: pages * PAGE as u32, volume: 0, kind }
}

struct Nothing;

impl Sink for Nothing {}

/// Runs the preset of `cache` with strips of four pages and `settings`, over 4 SSDs (RAID-0) or 4 plus one. Writes:
/// first page, number of pages; far enough apart that each finds idle SSDs.
fn totals(cache: &str, level: &str, settings: &str, writes: &[(u64, u32)]) -> Totals {
    let every_20_ms = writes.iter().zip((0u64..).step_by(20_000_000));
    replayed(cache, level, settings, every_20_ms.map(|(&at, time)| request(Kind::Write, time, at)).collect())
}

/// The same for any requests.
fn replayed(cache: &str, level: &str, settings: &str, requests: Vec<Request>) -> Totals {
    let mut device = DeviceSpec::preset("paper003").expect("a preset");
    device.geometry.blocks = 32;
    let text = format!(
        "name = 'test'\n[geometry]\nlevel = '{level}'\nchunk = '16KiB'\n[parity]\ncombine = '312ns'\n\
         [cache]\npolicy = '{cache}'\n{settings}\n"
    );
    let config = RunConfig {
        precondition: "sequential:70%".parse().expect("a state"),
        ..RunConfig::new(
            Scheme::from_toml("test", &text).expect("a scheme"),
            device,
            if level == "raid0" { "ssd:4" } else { "ssd:5" }.parse().expect("a layout"),
        )
    };
    run(&config, &mut Requests(requests, 0), &mut Nothing, &mut |_| true).expect("a run")
}

/// Pages pre-read for updates, pages of data written, and pages of parity written.
fn overhead(totals: &Totals) -> [u64; 3] {
    [
        totals.sum(|row| row.pre_read_pages),
        totals.sum(|row| row.host_write_pages),
        totals.sum(|row| row.parity_write_pages),
    ]
}

/// Host writes of scattered pages, of some pages repeatedly, and of whole stripes.
fn mixed() -> Vec<(u64, u32)> {
    let mut prng = stripewise_base::prng::Prng::new(7);
    let stripe = STRIP * 4;
    (0..400)
        .map(|nth| match nth % 4 {
            0 => (prng.below(60) * stripe, stripe as u32),
            1 => (prng.below(8), 1),
            _ => (prng.below(60 * stripe), 1 + prng.below(3) as u32),
        })
        .collect()
}

#[test]
fn every_chunk_written_is_absorbed_or_leaves() {
    for level in ["raid0", "raid5"] {
        for cache in ALL {
            for size in ["64KiB", "512KiB", "32MiB"] {
                let totals = totals(cache, level, &format!("size = '{size}'"), &mixed());
                let counts = totals.cache;
                assert_eq!(counts.written, counts.absorbed + counts.destaged, "{cache}, {level}, {size}");
                assert_eq!(
                    counts.destaged,
                    totals.sum(|row| row.host_write_pages),
                    "{cache}, {level}, {size}"
                );
            }
        }
    }
}

#[test]
fn whole_stripes_need_no_pre_reads_in_any_cache() {
    let stripes: Vec<(u64, u32)> = (0..20).map(|nth| (nth * STRIP * 4, STRIP as u32 * 4)).collect();
    for cache in ALL {
        assert_eq!(overhead(&totals(cache, "raid5", "", &stripes)), [0, 320, 80], "{cache}");
    }
}

/// By hand: a page that is written repeatedly stays in the cache, and leaves it with its parity after the last
/// request.
#[test]
fn drained_pages_are_those_that_are_written_behind_the_last_request() {
    let again: Vec<(u64, u32)> = (0..50).map(|_| (0, 1)).collect();
    for cache in ["siw", "isc"] {
        let drained = |level| totals(cache, level, "", &again).drained_pages;
        assert_eq!([drained("raid0"), drained("raid5")], [1, 2], "{cache}");
    }
    let written = |totals: &Totals| totals.sum(|row| row.host_write_pages + row.parity_write_pages);
    let large = totals("wow", "raid5", "size = '32MiB'", &mixed());
    assert_eq!(large.drained_pages, written(&large), "all fits into the cache until the end");
    let small = totals("wow", "raid5", "size = '64KiB'", &mixed());
    // A cache of 64 KiB holds at most 16 pages, each with at most one page of parity.
    assert!((1..=32).contains(&small.drained_pages), "{} of {}", small.drained_pages, written(&small));
    assert_eq!(
        totals("none", "raid5", "", &mixed()).drained_pages,
        0,
        "in place, all is written when it is acknowledged"
    );
}

/// Time of a page read on an idle SSD: 25 us in the cells, 4224 bytes at 25 ns, and 8 sectors on the host link.
const READ_NS: u64 = 25_000 + 4224 * 25 + 8 * 238_400 / 1000;

#[test]
fn siw_has_its_host_wait_for_striping_and_for_pre_parity_and_wow_for_neither() {
    let page = [(0, 1)];
    let mean = |cache, level| totals(cache, level, "", &page).requests.writes.mean_ns();
    for level in ["raid0", "raid5"] {
        assert_eq!(
            [mean("wow", level), mean("hybrid", level)],
            [1_000, 1_000],
            "{level}: the cache's latency"
        );
    }
    assert_eq!(mean("siw", "raid0"), 11_000, "and 10 us of striping");
    // Old data and old parity lie on different SSDs; two pages are combined into the new parity.
    let expected = READ_NS + 2 * 312 + 11_000;
    let found = mean("siw", "raid5");
    assert!(found.abs_diff(expected) < 200, "{found} ns, expected {expected}");
}

#[test]
fn a_page_that_is_written_again_needs_no_pre_reads_where_parity_is_in_the_cache() {
    let again: Vec<(u64, u32)> = (0..50).map(|_| (0, 1)).collect();
    for cache in ["siw", "isc"] {
        assert_eq!(overhead(&totals(cache, "raid5", "", &again)), [2, 1, 1], "{cache}");
    }
}

#[test]
fn a_write_group_leaves_with_one_update_of_parity_and_parity_made_first_is_updated_by_each_write() {
    // The strips of one stripe, page by page: four rows over four members.
    let pages: Vec<(u64, u32)> = (0..16).map(|page| (page, 1)).collect();
    for cache in ["wow", "stow", "hybrid"] {
        assert_eq!(overhead(&totals(cache, "raid5", "", &pages)), [0, 16, 4], "{cache}");
    }
    // The first page of each row reads old data and parity. Further pages read old data; parity is in the cache. The
    // last page takes a routine that reads nothing, because the other three members' pages are in the cache.
    let siw = overhead(&totals("siw", "raid5", "", &pages));
    assert_eq!(siw, [4 * (2 + 1 + 1), 16, 4]);
}

#[test]
fn strips_leave_together_one_of_each_ssd() {
    // The cache holds two stripes of four strips; the low threshold is at 25 of 32 pages.
    let stripes: Vec<(u64, u32)> = (0..40).map(|nth| (nth * STRIP * 4, STRIP as u32 * 4)).collect();
    let counts = totals("siw", "raid0", "size = '128KiB'", &stripes).cache;
    assert!(counts.releases >= 37 && counts.releases <= 40, "{counts:?}");
    assert_eq!(counts.incomplete_releases, 0);
    // With strips of one SSD only, there are no strips of other SSDs to wait for.
    let strips: Vec<(u64, u32)> = (0..40).map(|nth| (nth * STRIP * 4, STRIP as u32)).collect();
    let alone = totals("siw", "raid0", "size = '128KiB'", &strips).cache;
    assert!(alone.releases > 30, "{alone:?}");
    assert_eq!(alone.incomplete_releases, 0);
}

#[test]
fn writes_wait_for_room_when_the_cache_is_smaller_than_they_are_and_all_arrive() {
    for level in ["raid0", "raid5"] {
        for cache in ALL {
            let large = [(0, 256), (256, 256), (64, 256)];
            let totals = totals(cache, level, "size = '64KiB'", &large);
            assert!(totals.cache.waits > 0, "{cache}, {level}");
            assert_eq!(totals.cache.written, 768, "{cache}, {level}");
        }
    }
}

/// Bursts of 40 pages, a tenth of a millisecond apart, every 50 ms: three writes, then a read. A light load, but
/// dense.
fn volleys() -> Vec<Request> {
    let mut prng = stripewise_base::prng::Prng::new(11);
    (0..12_000u64)
        .map(|nth| {
            let kind = if nth % 4 == 3 { Kind::Read } else { Kind::Write };
            request(kind, nth / 40 * 50_000_000 + nth % 40 * 100_000, (prng.below(16_000), 1))
        })
        .collect()
}

#[test]
fn small_writes_of_a_light_load_delay_reads_less_under_the_hybrid_than_under_wow() {
    for level in ["raid0", "raid5"] {
        let of = |cache| replayed(cache, level, "size = '1MiB'", volleys());
        let [wow, hybrid] = ["wow", "hybrid"].map(of);
        let [before, found] = [&wow, &hybrid].map(|totals| totals.requests.reads.mean_ns());
        assert!(found * 10 < before * 9, "{level}: {found} ns, WOW {before} ns");
        assert_eq!([wow.cache.waits, hybrid.cache.waits], [0, 0], "{level}: no write waits for room");
    }
}
