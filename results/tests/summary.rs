//! The comparison that a terminal and a program get.

use proptest::prelude::*;
use stripewise_results::summary::{Entry, Summary};
use stripewise_results::{Digest, Error, Figure, Figures};

/// A run's totals: requests, reads and writes; then response times in ns; then pages and blocks.
fn entry(scheme: &str, counts: [u64; 3], times: [u64; 6], pages: [u64; 4], amplification: f64) -> Entry {
    let mut totals = Figures::new();
    let [requests, reads, writes] = counts;
    let [mean, read, write, p99, p999, max] = times;
    let [pre_reads, parity, programs, erases] = pages;
    for (name, count) in [
        ("requests", requests),
        ("read_requests", reads),
        ("write_requests", writes),
        ("failed_requests", 0),
        ("updates", 700_000),
        ("stripes", 0),
        ("array_gc_moved_chunks", 0),
        ("simulated_ns", 90_500_000_000),
        ("response_mean_ns", mean),
        ("read_mean_ns", read),
        ("write_mean_ns", write),
        ("response_p99_ns", p99),
        ("response_p999_ns", p999),
        ("response_max_ns", max),
        ("pre_read_pages", pre_reads),
        ("parity_write_pages", parity),
        ("flash_program_pages", programs),
        ("erase_blocks", erases),
    ] {
        totals.add(name, Figure::Count(count)).unwrap();
    }
    for (name, value) in
        [("updates_adjusted_share", 0.0), ("blocked_cv", 0.125), ("write_amplification", amplification)]
    {
        totals.add(name, Figure::Real(value)).unwrap();
    }
    Entry {
        scheme: scheme.to_owned(),
        run_digest: Digest([1; 32]),
        results_digest: Digest([2; 32]),
        path: None,
        totals,
    }
}

fn two() -> Vec<Entry> {
    let counts = [1_234_567, 1_000_000, 234_567];
    let mut baseline = entry(
        "baseline",
        counts,
        [812_345, 105_000, 3_500_000, 9_876_543, 45_000_000, 250_000_000],
        [1_500_000, 700_000, 2_345_678, 9_000],
        1.5,
    );
    let mut rcw = entry(
        "always-rcw",
        counts,
        [1_812_345, 105_000, 8_900_000, 19_876_543, 44_000_000, 260_000_000],
        [4_500_000, 700_000, 2_345_678, 9_001],
        1.25,
    );
    baseline.totals.add_measured("cpu_ns", Figure::Count(1_000_000_000)).unwrap();
    rcw.totals.add_measured("cpu_ns", Figure::Count(2_000_000_000)).unwrap();
    vec![baseline, rcw]
}

#[test]
fn two_schemes_at_a_hundred_columns() {
    let text = Summary::new(two()).unwrap().text(100);
    let expected = "\
──────────────────────────────────────────────────────────────
 scheme       requests   mean  read  write    p99  p99.9   max
                           us    us     ms     ms     ms    ms
══════════════════════════════════════════════════════════════
 baseline    1,234,567   *812   105  *3.50  *9.88   45.0  *250
 always-rcw  1,234,567  1,812   105   8.90  19.88  *44.0   260
──────────────────────────────────────────────────────────────

────────────────────────────────────────────────────────────────────────────
                                            parity      flash
 scheme       pre-reads  adjusted      cv   writes   programs  erases     WA
                                %
════════════════════════════════════════════════════════════════════════════
 baseline    *1,500,000      0.00  0.1250  700,000  2,345,678  *9,000   1.50
 always-rcw   4,500,000      0.00  0.1250  700,000  2,345,678   9,001  *1.25
────────────────────────────────────────────────────────────────────────────

─────────────────────────────────────────────
 scheme      simulated  processor       speed
                     s          s  thousand/s
═════════════════════════════════════════════
 baseline         90.5       1.00       1,235
 always-rcw       90.5       2.00         617
─────────────────────────────────────────────
* best of its column
";
    assert_eq!(text, expected, "found:\n{text}");
}

#[test]
fn a_wide_terminal_gets_one_table() {
    let summary = Summary::new(two()).unwrap();
    let headers = |width| summary.text(width).lines().filter(|line| line.contains("scheme")).count();
    assert_eq!((headers(200), headers(100)), (1, 3));
    assert!(headers(10) > 5, "a terminal narrower than a column still gets every column");
}

#[test]
fn only_what_differs_and_can_be_better_is_marked() {
    let text = Summary::new(two()).unwrap().text(300);
    let rows: Vec<&str> =
        text.lines().filter(|line| line.contains("baseline") || line.contains("always-rcw")).collect();
    let marked = |row: &str| -> Vec<String> {
        row.split_whitespace().filter_map(|cell| cell.strip_prefix('*').map(str::to_owned)).collect()
    };
    // Baseline: mean, write, p99, max, pre-reads, erases. RCW: p99.9 and write amplification. Equal: the
    // rest.
    assert_eq!(marked(rows[0]), ["812", "3.50", "9.88", "250", "1,500,000", "9,000"].map(str::to_owned));
    assert_eq!(marked(rows[1]), ["44.0", "1.25"].map(str::to_owned));
    let alone = Summary::new(two().into_iter().take(1).collect()).unwrap().text(300);
    assert!(!alone.contains('*'), "nothing is best of one");
}

#[test]
fn a_mean_over_no_requests_and_an_unknown_speed_are_not_shown_as_numbers() {
    let none = entry("reads-only", [10, 10, 0], [1000; 6], [0; 4], 0.0);
    let text = Summary::new(vec![none.clone()]).unwrap().text(300);
    let row = text.lines().find(|line| line.contains("reads-only")).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| *cell == "-").count(), 2, "write mean and WA: {row}");
    assert!(!text.contains("speed") && !text.contains("processor") && !text.contains("failed"), "{text}");
    let mut both = two();
    both.push(none);
    let text = Summary::new(both).unwrap().text(300);
    assert!(text.contains("speed"), "{text}");
}

#[test]
fn what_array_level_collection_moved_is_shown_of_the_schemes_that_collect() {
    let mut entries = two();
    assert!(!Summary::new(entries.clone()).unwrap().text(300).contains("GC"));
    let mut totals = Figures::new();
    for total in entries[1].totals.iter() {
        let value = match total.name.as_str() {
            "stripes" => Figure::Count(9),
            "array_gc_moved_chunks" => Figure::Count(4711),
            _ => total.value,
        };
        totals.add(&total.name, value).unwrap();
    }
    entries[1].totals = totals;
    let text = Summary::new(entries).unwrap().text(300);
    assert!(text.contains("GC") && text.contains("4,711"), "{text}");
}

#[test]
fn failed_requests_are_shown_when_there_are_any() {
    let mut failing = Figures::new();
    for total in two()[0].totals.iter() {
        let value = if total.name == "failed_requests" { Figure::Count(3) } else { total.value };
        failing.add(&total.name, value).unwrap();
    }
    let entries = vec![two()[0].clone(), Entry { totals: failing, ..two()[1].clone() }];
    assert!(Summary::new(entries).unwrap().text(300).contains("failed"));
}

#[test]
fn a_missing_total_is_named() {
    let entry =
        Entry { totals: Figures::from_list(&[("requests", Figure::Count(1))]).unwrap(), ..two()[0].clone() };
    let error = Summary::new(vec![entry]).unwrap_err();
    assert!(matches!(error, Error::MissingTotal { .. }));
    assert!(error.to_string().starts_with("baseline: the total `failed_requests` is missing"), "{error}");
}

#[test]
fn json_has_every_total_exactly() {
    let mut entries = two();
    entries[0].totals.add("largest", Figure::Count(u64::MAX)).unwrap();
    entries[0].path = Some("results/abc".into());
    let json = Summary::new(entries.clone()).unwrap().json();
    let read: serde_json::Value = serde_json::from_str(&json.to_string()).unwrap();
    let runs = read["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, entry) in runs.iter().zip(&entries) {
        assert_eq!(run["scheme"], entry.scheme.as_str());
        assert_eq!(run["run_digest"], "01".repeat(32));
        assert_eq!(run["results_digest"], "02".repeat(32));
        assert_eq!(run["totals"].as_object().unwrap().len(), entry.totals.iter().count());
        for total in entry.totals.iter() {
            match total.value {
                Figure::Count(count) => assert_eq!(run["totals"][&total.name].as_u64(), Some(count)),
                Figure::Real(real) => assert_eq!(run["totals"][&total.name].as_f64(), Some(real)),
            }
        }
    }
    assert_eq!(runs[0]["path"], "results/abc");
    assert!(runs[1]["path"].is_null());
    assert_eq!(runs[1]["requests_per_cpu_second"], 617_283.5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_column_is_lost(
        width in 60usize..220,
        runs in prop::collection::vec(
            (any::<[u32; 3]>(), any::<[u64; 6]>(), any::<[u64; 4]>(), 0.0..100.0), 1..6),
        powers in prop::array::uniform2(0u32..64),
    ) {
        let entries = runs.iter().enumerate().map(|(index, (counts, times, pages, amplification))| {
            let times = times.map(|time| time >> powers[0]);
            let pages = pages.map(|page| page >> powers[1]);
            entry(&format!("scheme-{index}"), counts.map(u64::from), times, pages, *amplification)
        });
        let text = Summary::new(entries.collect()).unwrap().text(width);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= width, "{} columns:\n{text}", line.chars().count());
        }
        for word in [
            "requests", "mean", "read", "write", "p99", "p99.9", "max", "pre-reads", "parity", "programs",
            "erases", "WA", "simulated",
        ] {
            let count = text.split_whitespace().filter(|found| *found == word).count();
            prop_assert_eq!(count, 1, "{} in\n{}", word, text);
        }
    }
}
