//! Drawings of a trace's statistics, made of characters. In a pipe they are the same, 100 columns wide.

use serde_json::{Value, json};
use stripewise_trace::stats::{RatePart, RateStats, SizeStats, SkewPoint, Stats};

use crate::histogram::{area, bar};
use crate::human::{self, time};

/// A histogram of sizes in powers of two, reads beside writes.
pub(super) fn sizes(stats: &Stats, width: usize, text: &mut String) {
    let (reads, writes) = (&stats.size_read, &stats.size_write);
    let classes = |sizes: &SizeStats| -> Vec<(u32, u64)> {
        sizes.atoms.iter().map(|atom| (atom.bytes.max(512).next_power_of_two(), atom.requests)).collect()
    };
    let (reads_by, writes_by) = (classes(reads), classes(writes));
    let mut limits: Vec<u32> = reads_by.iter().chain(&writes_by).map(|(limit, _)| *limit).collect();
    limits.sort_unstable();
    limits.dedup();
    if limits.is_empty() {
        return;
    }
    let bars = (width.saturating_sub(44) / 2).clamp(6, 30);
    let head = format!("size up to     {:<1$}writes", "reads", bars + 12);
    text.push_str(&format!("\n{head}\n"));
    let share = |by: &[(u32, u64)], limit: u32, all: u64| {
        let requests: u64 =
            by.iter().filter(|(other, _)| *other == limit).map(|(_, requests)| requests).sum();
        if all == 0 { 0.0 } else { requests as f64 / all as f64 }
    };
    for limit in limits {
        let (read, write) =
            (share(&reads_by, limit, reads.requests), share(&writes_by, limit, writes.requests));
        let limit = human::bytes(u64::from(limit));
        let line = format!(
            "{limit:>10}  {:>8}  {:<bars$}  {:>8}  {}",
            percent(read),
            bar(read, bars),
            percent(write),
            bar(write, bars)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Upper ends of the classes of intervals.
const CLASSES: [(&str, u64); 11] = [
    ("0 ns", 0),
    ("1 us", 1_000),
    ("10 us", 10_000),
    ("100 us", 100_000),
    ("1 ms", 1_000_000),
    ("10 ms", 10_000_000),
    ("100 ms", 100_000_000),
    ("1 s", 1_000_000_000),
    ("10 s", 10_000_000_000),
    ("100 s", 100_000_000_000),
    ("longer", u64::MAX),
];

/// Intervals between requests, counted by class.
#[derive(Default)]
pub(super) struct Intervals {
    counts: [u64; CLASSES.len()],
    previous_ns: Option<u64>,
}

impl Intervals {
    pub(super) fn add(&mut self, time_ns: u64) {
        if let Some(previous) = self.previous_ns.replace(time_ns) {
            let gap = time_ns.saturating_sub(previous);
            self.counts[CLASSES.partition_point(|(_, limit)| *limit < gap)] += 1;
        }
    }

    /// The classes, with the share of the intervals that are no longer than each.
    pub(super) fn text(&self, width: usize, text: &mut String) {
        let all: u64 = self.counts.iter().sum();
        let Some(last) = self.counts.iter().rposition(|count| *count > 0) else { return };
        let bars = width.saturating_sub(38).min(60);
        text.push_str("\ninterval up to     share    together\n");
        let mut upto = 0;
        for ((name, _), count) in CLASSES.iter().zip(self.counts).take(last + 1) {
            upto += count;
            let (share, together) = (count as f64 / all as f64, upto as f64 / all as f64);
            line(
                text,
                &format!("{name:>14}  {:>8}    {:>8}  ", percent(share), percent(together)),
                together,
                bars,
            );
        }
    }

    /// The classes as JSON.
    pub(super) fn json(&self) -> Value {
        let class = |((_, limit), count): (&(&str, u64), u64)| {
            let limit = (*limit != u64::MAX).then_some(*limit);
            json!({ "upto_ns": limit, "intervals": count })
        };
        CLASSES.iter().zip(self.counts).map(class).collect()
    }
}

/// Shares of the touched pages in the drawing.
const HOTTEST: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8];

/// The share of the accesses that go to the hottest pages.
pub(super) fn skew(stats: &Stats, width: usize, text: &mut String) {
    let points: Vec<&SkewPoint> =
        stats.skew_curve.iter().filter(|point| HOTTEST.contains(&point.pages)).collect();
    if points.is_empty() {
        return;
    }
    text.push_str("\nhottest pages  take of the page accesses\n");
    for point in points {
        let name = format!("{} %", point.pages * 100.0);
        let head = format!("{name:>13}  {:>8}  ", percent(point.accesses));
        line(text, &head, point.accesses, width.saturating_sub(27).min(60));
    }
}

/// Height of the drawing of the rate, in lines.
const HIGH: usize = 6;

/// Requests a second over the time of the trace.
pub(super) fn rate(stats: &Stats, width: usize, text: &mut String) {
    let RateStats { part_ns, parts } = &stats.rate;
    if parts.len() < 2 {
        return;
    }
    let columns = width.saturating_sub(14).min(parts.len());
    let group = parts.len().div_ceil(columns);
    let length = group as u64 * part_ns;
    let requests = |parts: &[RatePart]| parts.iter().map(|part| part.requests).sum::<u64>();
    let rates: Vec<f64> =
        parts.chunks(group).map(|parts| requests(parts) as f64 * 1e9 / length as f64).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let heights: Vec<f64> = rates.iter().map(|rate| rate / most).collect();
    text.push_str(&format!("\nrequests/s over {}, each column {}\n", time(stats.span_ns), time(length)));
    for (row, drawn) in area(&heights, HIGH).into_iter().enumerate() {
        let name = match row {
            0 => human::rate(most),
            _ if row + 1 == HIGH => "0".to_owned(),
            _ => String::new(),
        };
        text.push_str(format!("{name:>10}  {drawn}").trim_end());
        text.push('\n');
    }
}

/// One line with a bar.
fn line(text: &mut String, head: &str, share: f64, bars: usize) {
    text.push_str(format!("{head}{}", bar(share, bars)).trim_end());
    text.push('\n');
}

fn percent(share: f64) -> String {
    if share == 0.0 { "-".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_trace::stats::Collector;
    use stripewise_trace::{Kind, Request};

    fn stats(requests: impl IntoIterator<Item = (u64, u32, Kind)>) -> (Stats, Intervals) {
        let (mut collector, mut intervals) = (Collector::default(), Intervals::default());
        for (time_ns, bytes, kind) in requests {
            collector.add(&Request { time_ns, offset: 0, bytes, volume: 0, kind });
            intervals.add(time_ns);
        }
        (collector.finish(), intervals)
    }

    #[test]
    fn the_histograms_show_the_shares_of_each_class() {
        let writes = (0..3).map(|n| (n * 1_000, 4096, Kind::Write));
        let reads = (0..1).map(|_| (1_002_000, 65_536, Kind::Read));
        let (stats, intervals) = stats(writes.chain(reads));
        let mut shown = String::new();
        sizes(&stats, 60, &mut shown);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[2].contains("4 KiB") && lines[2].contains("100.0 %  ████"), "{shown}");
        assert!(lines[3].contains("64 KiB") && lines[3].ends_with("-"), "{shown}");
        let mut shown = String::new();
        intervals.text(60, &mut shown);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[3].starts_with("          1 us    66.7 %      66.7 %  ██"), "{shown}");
        assert!(
            lines[6].starts_with("          1 ms    33.3 %     100.0 %  ██") && lines.len() == 7,
            "{shown}"
        );
    }

    #[test]
    fn the_skew_is_drawn_from_the_hottest_pages_down() {
        let mut collector = Collector::default();
        for number in 0..1000u64 {
            // One page of ten receives half of the writes.
            let page = if number % 2 == 0 { 0 } else { 1 + number / 2 % 9 };
            collector.add(&Request {
                time_ns: number,
                offset: page * 4096,
                bytes: 4096,
                volume: 0,
                kind: Kind::Write,
            });
        }
        let mut shown = String::new();
        skew(&collector.finish(), 80, &mut shown);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2 + HOTTEST.len());
        assert!(lines[6].starts_with("         10 %    50.0 %  ██"), "{shown}");
    }

    #[test]
    fn the_rate_is_drawn_to_its_peak() {
        let times = (0..64u64).map(|n| n * 1_000).chain((0..64).flat_map(|n| [64_000 + n * 1_000; 3]));
        let (stats, _) = stats(times.map(|time| (time, 4096, Kind::Write)));
        let mut shown = String::new();
        rate(&stats, 142, &mut shown);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "requests/s over 127 us, each column 1 us");
        assert_eq!(lines[2], format!("        3M  {}{}", " ".repeat(64), "█".repeat(64)));
        assert_eq!(lines[7], format!("         0  {}", "█".repeat(128)));
    }
}
