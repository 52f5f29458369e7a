//! The tables that the papers print of their traces, with a row for each given trace.
//!
//! Columns are named as the papers name them. Their KB are read as KiB. Paper 001's Table I is an image of which the
//! text names only the columns; its chunks have 4 KiB.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stripewise_results::summary::{Unit, significant};
use stripewise_trace::stats::{PAGE_BYTES, Stats};

use crate::human;
use crate::table::Table;

/// Shares of the intervals in paper 000's Table IV.
const SHARES: [(&str, f64); 5] = [("20_%", 0.2), ("40_%", 0.4), ("60_%", 0.6), ("80_%", 0.8), ("100_%", 1.0)];

/// The tables, for people.
pub(super) fn text(traces: &[(PathBuf, Stats)], width: usize) -> String {
    let mut text = String::new();
    let timed = || traces.iter().map(|(_, stats)| stats).filter(|stats| !stats.has_no_clock());
    let quantiles = timed().flat_map(|stats| SHARES.map(|(_, share)| stats.gaps.quantile_ns(share) as f64));
    let (shares, means) =
        (Unit::of_times(quantiles), Unit::of_times(timed().map(|stats| stats.gaps.mean_ns)));
    let interval = format!("interval_{}", means.name);
    let mut table = |title: &str, columns: &[&str], row: &dyn Fn(&Stats) -> Vec<String>| {
        let names: Vec<&str> = std::iter::once("trace").chain(columns.iter().copied()).collect();
        let mut table = Table::new(&names);
        for (path, stats) in traces {
            let cells = std::iter::once(name(path)).chain(row(stats)).map(Value::from);
            table.row(cells);
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{title}\n{}", table.text(width)));
    };
    table(
        "as in paper 000, Table III",
        &["requests", "write_ratio", "write_size", "update_ratio"],
        &|stats| {
            vec![
                human::count(stats.requests),
                percent(stats.write_ratio),
                kib(stats.size_write.mean_bytes),
                percent(stats.updates.ratio),
            ]
        },
    );
    table(
        &format!(
            "as in paper 000, Table IV: intervals in {} that this share of the requests does not exceed",
            shares.name
        ),
        &SHARES.map(|(name, _)| name),
        &|stats| {
            let of =
                |(_, share)| clocked(stats, significant(stats.gaps.quantile_ns(share) as f64 / shares.size));
            SHARES.map(of).to_vec()
        },
    );
    table(
        "as in paper 001, Table I: chunks of 4 KiB",
        &["write_ratio", "chunk_writes", "unique_chunk_writes", "hottest_20_%_take"],
        &|stats| {
            vec![
                percent(stats.write_ratio),
                human::bytes(stats.updates.page_writes.saturating_mul(PAGE_BYTES)),
                human::bytes(stats.footprint.written_pages_4k * PAGE_BYTES),
                percent(stats.skew.hot20),
            ]
        },
    );
    table(
        "as in paper 002, Table II: sizes in whole 4 KiB pages",
        &["requests", "read_ratio", "average_size"],
        &|stats| {
            let size = kib(stats.alignment.paged_mean_bytes);
            vec![human::count(stats.requests), format!("{:.4}", read_ratio(stats)), size]
        },
    );
    table("as in paper 003, Table 1: workload (R, I, W)", &["request_size", &interval, "writes"], &|stats| {
        let interval = clocked(stats, significant(stats.gaps.mean_ns / means.size));
        vec![kib(stats.size_all.mean_bytes), interval, percent(stats.write_ratio)]
    });
    table("as in paper 004, Table 2", &["read_ratio", "IOPS", "average_read", "average_write"], &|stats| {
        vec![
            percent(read_ratio(stats)),
            clocked(stats, human::rate(stats.requests_per_second)),
            kib(stats.size_read.mean_bytes),
            kib(stats.size_write.mean_bytes),
        ]
    });
    text
}

/// The same numbers of one trace, as JSON.
pub(super) fn json(stats: &Stats) -> Value {
    let kib = |bytes: f64| bytes / 1024.0;
    let intervals = SHARES.map(|(_, share)| stats.gaps.quantile_ns(share));
    json!({
        "paper000": {
            "requests": stats.requests,
            "write_ratio": stats.write_ratio,
            "write_size_kib": kib(stats.size_write.mean_bytes),
            "update_ratio": stats.updates.ratio,
            "interval_shares": SHARES.map(|(_, share)| share),
            "intervals_ns": intervals,
        },
        "paper001": {
            "write_ratio": stats.write_ratio,
            "chunk_write_bytes": stats.updates.page_writes.saturating_mul(PAGE_BYTES),
            "unique_chunk_write_bytes": stats.footprint.written_pages_4k * PAGE_BYTES,
            "hottest_20_percent_take": stats.skew.hot20,
        },
        "paper002": {
            "requests": stats.requests,
            "read_ratio": read_ratio(stats),
            "average_size_kib": kib(stats.alignment.paged_mean_bytes),
        },
        "paper003": {
            "request_size_kib": kib(stats.size_all.mean_bytes),
            "interval_ns": stats.gaps.mean_ns,
            "write_ratio": stats.write_ratio,
        },
        "paper004": {
            "read_ratio": read_ratio(stats),
            "iops": stats.requests_per_second,
            "average_read_kib": kib(stats.size_read.mean_bytes),
            "average_write_kib": kib(stats.size_write.mean_bytes),
        },
    })
}

/// The name of a trace in a table: its file's name up to the first dot.
fn name(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
    match name.split_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name,
    }
}

/// Reads over reads and writes.
fn read_ratio(stats: &Stats) -> f64 {
    let all = stats.reads + stats.writes;
    if all == 0 { 0.0 } else { stats.reads as f64 / all as f64 }
}

/// A mean size; `-` without requests.
fn kib(bytes: f64) -> String {
    if bytes == 0.0 { "-".to_owned() } else { format!("{:.2} KiB", bytes / 1024.0) }
}

/// A value that the clock measures; `-` for a trace without a clock.
fn clocked(stats: &Stats, measured: String) -> String {
    if stats.has_no_clock() { "-".to_owned() } else { measured }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_trace::stats::Collector;
    use stripewise_trace::{Kind, Request};

    fn stats() -> Stats {
        let mut collector = Collector::default();
        for (time_ns, offset, bytes, kind) in [
            (0, 0, 8192, Kind::Write),
            (1_000_000, 4096, 4096, Kind::Write),
            (3_000_000, 100, 4096, Kind::Read),
            (4_000_000, 8192, 512, Kind::Write),
        ] {
            collector.add(&Request { time_ns, offset, bytes, volume: 0, kind });
        }
        collector.finish()
    }

    #[test]
    fn every_paper_has_its_table_with_a_row_for_each_trace() {
        let text = text(&[("folder/one.csv.zst".into(), stats()), ("two".into(), stats())], 100);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("one ")).collect();
        assert_eq!(rows.len(), 6, "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("two ")).count(), 6);
        let cells = |row: &str| {
            row.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .skip(1)
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(cells(rows[0]), "4|75.0 %|4.17 KiB|33.3 %");
        assert_eq!(cells(rows[1]), "1.00|1.00|1.00|2.00|2.00");
        assert_eq!(cells(rows[2]), "75.0 %|16 KiB|12 KiB|50.0 %");
        assert_eq!(cells(rows[3]), "4|0.2500|6.00 KiB");
        assert_eq!(cells(rows[4]), "4.12 KiB|1.33|75.0 %");
        assert_eq!(cells(rows[5]), "25.0 %|750|4.00 KiB|4.17 KiB");
    }

    #[test]
    fn all_intervals_of_a_table_have_one_unit_that_is_named_once() {
        let mut fast = Collector::default();
        for at in 0..10 {
            fast.add(&Request { time_ns: at * 50_000, offset: 0, bytes: 4096, volume: 0, kind: Kind::Read });
        }
        let text = text(&[("slow".into(), stats()), ("fast".into(), fast.finish())], 100);
        assert!(text.contains("intervals in us that this share"), "{text}");
        assert!(text.contains("INTERVAL US"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("fast ")).collect();
        assert!(rows[1].contains(" 50.0 ") && rows[4].contains(" 50.0 "), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("slow ")).collect();
        assert!(
            rows[1].contains(" 1,000 ") && rows[1].contains("2,000") && rows[4].contains("1,330"),
            "{text}"
        );
    }

    #[test]
    fn programs_get_the_numbers_without_rounding() {
        let value = json(&stats());
        assert_eq!(value["paper000"]["update_ratio"], 1.0 / 3.0);
        assert_eq!(value["paper002"]["average_size_kib"], 6.0);
        assert_eq!(value["paper004"]["read_ratio"], 0.25);
    }
}
