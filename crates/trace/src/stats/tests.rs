//! The statistics of small traces, computed by hand.

use super::*;
use crate::generate::Generator;

fn stats(requests: &[(u64, u64, u32, Kind)]) -> Stats {
    let mut collector = Collector::default();
    for &(time_ns, offset, bytes, kind) in requests {
        collector.add(&Request { time_ns, offset, bytes, volume: 0, kind });
    }
    collector.finish()
}

const K: u32 = 1024;

#[test]
fn a_trace_of_six_requests_is_described_in_full() {
    let stats = stats(&[
        (0, 0, 8 * K, Kind::Write),        // pages 0, 1: new
        (1_000, 8192, 4 * K, Kind::Write), // page 2: new, continues the first
        (1_000, 0, 4 * K, Kind::Write),    // page 0: an update
        (4_000, 4096, 8 * K, Kind::Read),  // pages 1, 2: written; continues the third
        (5_000, 100_352, K, Kind::Read),   // page 24, off a page's start
        (6_000, 11_776, K, Kind::Write),   // pages 2 and 3: an update of one of them
    ]);
    assert_eq!((stats.requests, stats.reads, stats.writes, stats.trims, stats.flushes), (6, 2, 4, 0, 0));
    assert_eq!(stats.write_ratio, 4.0 / 6.0);
    assert_eq!((stats.size_read.total_bytes, stats.size_write.total_bytes), (9 * 1024, 17 * 1024));
    assert_eq!(stats.size_all.mean_bytes, 26.0 * 1024.0 / 6.0);
    assert_eq!((stats.size_first_write.requests, stats.size_update_write.requests), (2, 2));
    assert_eq!(
        stats.updates,
        Updates { ratio: 0.5, whole_ratio: 0.25, page_ratio: 2.0 / 6.0, page_writes: 6 }
    );
    // 2, 1, 1, 2, 1 and 2 pages.
    assert_eq!(stats.alignment.paged_mean_bytes, 9.0 * 4096.0 / 6.0);
    assert_eq!((stats.span_ns, stats.gaps.mean_ns, stats.gaps.ties), (6_000, 1_200.0, 0.2));
    assert!((stats.requests_per_second - 5.0 / 6e-6).abs() < 1e-6);
    assert_eq!(
        stats.footprint,
        Footprint {
            touched_pages_4k: 5,
            read_pages_4k: 3,
            written_pages_4k: 4,
            touched_pages_8k: 3,
            read_pages_8k: 3,
            written_pages_8k: 2,
            one_in: 1,
        }
    );
    // Accesses: page 0 2, page 1 2, page 2 3, page 3 1, page 24 1; the hottest fifth is page 2.
    assert_eq!(stats.skew.hot20, 3.0 / 9.0);
    assert_eq!(stats.skew.reads_of_written, 2.0 / 3.0);
    assert_eq!(stats.sequential, 2.0 / 6.0);
    assert_eq!(
        (stats.alignment.sector, stats.alignment.page_4k, stats.alignment.page_8k),
        (1.0, 4.0 / 6.0, 1.0 / 6.0)
    );
    assert_eq!(stats.alignment.start_sector[4], 1.0 / 6.0);
    assert_eq!(stats.alignment.start_sector[7], 1.0 / 6.0);
    assert_eq!(stats.max_end_bytes, 101_376);
}

#[test]
fn trims_and_flushes_are_counted_and_change_no_page() {
    let stats = stats(&[
        (0, 0, 4 * K, Kind::Write),
        (1, 0, 4 * K, Kind::Trim),
        (2, 0, 0, Kind::Flush),
        (3, 0, 4 * K, Kind::Write),
    ]);
    assert_eq!((stats.requests, stats.trims, stats.flushes, stats.write_ratio), (4, 1, 1, 1.0));
    assert_eq!(
        (stats.updates.ratio, stats.size_trim.requests, stats.footprint.touched_pages_4k),
        (0.5, 1, 1)
    );
}

#[test]
fn volumes_are_apart() {
    let mut collector = Collector::default();
    for volume in [7, 3, 7] {
        collector.add(&Request { time_ns: 0, offset: 4096, bytes: 4096, volume, kind: Kind::Write });
    }
    let stats = collector.finish();
    let volume = |volume, requests| Volume {
        volume,
        requests,
        writes: requests,
        bytes: 4096 * requests,
        max_end_bytes: 8192,
    };
    assert_eq!(stats.volumes, [volume(3, 1), volume(7, 2)]);
    assert_eq!((stats.footprint.touched_pages_4k, stats.updates.ratio), (2, 1.0 / 3.0));
    assert!(stats.to_string().contains("volume 7"));
}

#[test]
fn an_empty_trace_has_statistics_without_numbers_that_are_none() {
    let empty = Collector::default().finish();
    assert_eq!(empty, Stats::default());
    assert!(!empty.to_string().contains("NaN"));
}

#[test]
fn statistics_survive_json_and_toml() {
    let generator: Generator =
        "zipf:requests=5k,size=512B..64KiB,arrival=poisson:1ms".parse().expect("valid");
    let stats = Stats::collect(generator.source(1).as_mut()).expect("generators do not fail");
    let text = toml::to_string(&stats).expect("plain data");
    assert!(toml::from_str::<Stats>(&text).expect("as written") == stats);
    // Reading JSON may lose the last digit of a fraction.
    let json = serde_json::to_string(&stats).expect("plain data");
    let read: Stats = serde_json::from_str(&json).expect("as written");
    assert!(read.size_all.atoms == stats.size_all.atoms && read.footprint == stats.footprint);
    assert!((read.gaps.mean_ns / stats.gaps.mean_ns - 1.0).abs() < 1e-12);
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_trace() {
    let extents = |requests: &str| {
        let generator: Generator = format!("uniform:span=16MiB,requests={requests}").parse().expect("valid");
        let mut source = generator.source(1);
        let (mut collector, mut batch) = (Collector::default(), Vec::with_capacity(1000));
        loop {
            source.next_batch(&mut batch).expect("generators do not fail");
            if batch.is_empty() {
                return collector.pages.extents();
            }
            batch.iter().for_each(|request| collector.add(request));
        }
    };
    assert_eq!(extents("100k"), 256, "16 MiB in extents of 64 KiB");
    assert_eq!(extents("1M"), 256);
}

#[test]
fn a_trace_without_a_clock_is_described_without_rates_and_intervals() {
    let text =
        |gap_ns: u64| stats(&[0, 1, 2].map(|n| (n * gap_ns, n * 4096, 4 * K, Kind::Write))).to_string();
    assert!(text(0).contains("none: all requests have the same time"), "{}", text(0));
    for word in ["requests/s", "interval", "same time stamp"] {
        assert!(!text(0).contains(word) && text(1_000).contains(word), "{word}: {}", text(0));
    }
}
