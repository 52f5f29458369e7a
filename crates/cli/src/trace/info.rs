//! `stripewise trace info`: prints the statistics of a trace.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_results::shared;
use stripewise_trace::profile::Profile;
use stripewise_trace::stats::{Collector, Stats};
use stripewise_trace::{ReadReport, Source as _};

use super::copy::{Input, remarks, shown};
use super::drawing::{Intervals, rate, sizes, skew};
use super::papers;
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::wrap::wrap;
use crate::{human, interrupt};

const EXAMPLES: &[Example] = &[
    ("stripewise trace info trace.csv", "statistics as text"),
    ("stripewise trace info trace.csv trace.spc --json", "of several traces, as JSON"),
    (
        "stripewise trace info trace.csv trace.spc --tables",
        "the tables that papers print of traces, a row for each",
    ),
    (
        "stripewise trace info trace.csv --profile-out mine.toml",
        "a profile to generate traces like this one from",
    ),
];

/// Print the statistics of a trace: mix, sizes, intervals, skew
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(super) struct Args {
    /// The traces to read; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    traces: Vec<PathBuf>,

    /// Write the statistics of one trace as a profile that traces can be generated from
    #[arg(long, value_name = "FILE.toml")]
    profile_out: Option<PathBuf>,

    /// Print only the columns that the papers print of their traces, one row per trace
    #[arg(long, conflicts_with = "json")]
    tables: bool,

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
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for (at, path) in args.traces.iter().enumerate() {
        let (stats, intervals, read) = collect(args, path, context)?;
        remarks(&read, context);
        if let Some(out) = &args.profile_out {
            let profile = Profile::from_stats(&stats, &shown(path))?;
            shared::replace(out, profile.to_toml().as_bytes()).map_err(|error| {
                Failure::failed(format!("{}: cannot write the profile: {error}", out.display()))
            })?;
        }
        if args.json {
            values.push(json!({
                "trace": read,
                "statistics": stats,
                "interval_classes": intervals.json(),
                "papers": papers::json(&stats),
            }));
            continue;
        }
        if !args.tables {
            if at > 0 {
                writeln!(context.out)?;
            }
            context.out.write_all(text(&stats, &intervals, &read, width()).as_bytes())?;
        }
        rows.push((path.clone(), stats));
    }
    if args.json {
        return context.json(&Value::Array(values));
    }
    if !args.tables {
        writeln!(context.out)?;
    }
    Ok(context.out.write_all(papers::text(&rows, width()).as_bytes())?)
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

/// All statistics as text of `width` columns.
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
    if !stats.has_no_clock() {
        intervals.text(width, &mut text);
    }
    skew(stats, width, &mut text);
    rate(stats, width, &mut text);
    text
}

/// The column where the values of the statistics begin.
const NAMES: usize = 23;

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
    fn no_line_is_wider_than_requested() {
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
