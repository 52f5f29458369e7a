//! `stripewise trace info`: what is in a trace.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_trace::profile::Profile;
use stripewise_trace::stats::{Collector, SizeStats, Stats};
use stripewise_trace::{ReadReport, Source as _};

use super::copy::{Input, remarks, shown};
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::histogram::bar;
use crate::progress::Progress;
use crate::wrap::wrap;
use crate::{human, interrupt};

const EXAMPLES: &[Example] = &[
    ("stripewise trace info trace.csv", "statistics as text"),
    ("stripewise trace info trace.csv trace.spc --json", "of several traces, for a program"),
    (
        "stripewise trace info trace.csv --profile-out mine.toml",
        "a profile to generate traces like this one from",
    ),
];

/// Print what is in a trace: mix, sizes, intervals, footprint, skew, updates
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(super) struct Args {
    /// The traces to read; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    traces: Vec<PathBuf>,

    /// Write the statistics of one trace as a profile that traces can be generated from
    #[arg(long, value_name = "FILE.toml")]
    profile_out: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    input: Input,
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    if args.profile_out.is_some() && args.traces.len() > 1 {
        return Err(Failure::usage("--profile-out takes the statistics of one trace; give one"));
    }
    let mut values = Vec::new();
    for (at, path) in args.traces.iter().enumerate() {
        let (stats, intervals, read) = collect(args, path, context)?;
        remarks(&read, context);
        if let Some(out) = &args.profile_out {
            let profile = Profile::from_stats(&stats, &shown(path))?;
            fs::write(out, profile.to_toml()).map_err(|error| {
                Failure::failed(format!("{}: cannot write the profile: {error}", out.display()))
            })?;
        }
        if args.json {
            values.push(json!({ "trace": read, "statistics": stats }));
            continue;
        }
        if at > 0 {
            writeln!(context.out)?;
        }
        context.out.write_all(text(&stats, &intervals, &read, width()).as_bytes())?;
    }
    if args.json { context.json(&Value::Array(values)) } else { Ok(()) }
}

fn collect(args: &Args, path: &Path, context: &Context<'_>) -> Outcome<(Stats, Intervals, ReadReport)> {
    let mut reader = args.input.open(path)?;
    let progress = Progress::new(context.quiet);
    let line = progress.line(&shown(path));
    let (mut collector, mut intervals) = (Collector::default(), Intervals::default());
    let mut batch = Vec::with_capacity(4096);
    let mut requests = 0;
    loop {
        reader.next_batch(&mut batch)?;
        interrupt::check()?;
        if batch.is_empty() {
            return Ok((collector.finish(), intervals, reader.report()));
        }
        for request in &batch {
            collector.add(request);
            intervals.add(request.time_ns);
        }
        requests += batch.len() as u64;
        line.update(requests, reader.progress(), batch.last().map(|request| request.time_ns));
    }
}

/// Everything as text of `width` columns.
fn text(stats: &Stats, intervals: &Intervals, read: &ReadReport, width: usize) -> String {
    let mut text = format!("{}: {}", read.path.display(), read.format);
    if let Some(bytes) = read.file_bytes {
        text.push_str(&format!(", {}", human::bytes(bytes)));
    }
    text.push('\n');
    for line in stats.to_string().lines() {
        wrap(line, NAMES, width, &mut text);
    }
    sizes(stats, width, &mut text);
    intervals.text(width, &mut text);
    text
}

/// Where the values of the statistics begin.
const NAMES: usize = 23;

/// A histogram of sizes in powers of two, reads beside writes.
fn sizes(stats: &Stats, width: usize, text: &mut String) {
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
struct Intervals {
    counts: [u64; CLASSES.len()],
    previous_ns: Option<u64>,
}

impl Intervals {
    fn add(&mut self, time_ns: u64) {
        if let Some(previous) = self.previous_ns.replace(time_ns) {
            let gap = time_ns.saturating_sub(previous);
            self.counts[CLASSES.partition_point(|(_, limit)| *limit < gap)] += 1;
        }
    }

    /// A histogram.
    fn text(&self, width: usize, text: &mut String) {
        let all: u64 = self.counts.iter().sum();
        let Some(last) = self.counts.iter().rposition(|count| *count > 0) else { return };
        text.push_str("\ninterval up to\n");
        for ((name, _), count) in CLASSES.iter().zip(self.counts).take(last + 1) {
            let share = count as f64 / all as f64;
            let bar = bar(share, width.saturating_sub(24).min(60));
            let line = format!("{name:>10}  {:>8}  {bar}", percent(share));
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

fn percent(share: f64) -> String {
    if share == 0.0 { "-".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(lines[3].starts_with("      1 us    66.7 %"), "{shown}");
        assert!(lines[6].starts_with("      1 ms    33.3 %") && lines.len() == 7, "{shown}");
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        let requests = (0..2000).map(|n| (n * n * 77, 512 * (1 + n as u32 % 300), Kind::Write));
        let (stats, intervals) = stats(requests);
        let read = ReadReport { path: "trace.csv".into(), format: "msr".into(), ..ReadReport::default() };
        for width in [80, 100, 132] {
            for line in text(&stats, &intervals, &read, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
