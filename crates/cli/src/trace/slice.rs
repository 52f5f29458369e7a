//! `stripewise trace slice`: writes a part of a trace.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use stripewise_base::units::{Count, Span};
use stripewise_trace::FormatName;
use stripewise_trace::slice::{Selection, Slice};

use super::copy::{Input, Output, format_for};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise trace slice trace.csv part.parquet --from 10s --to 20s", "ten seconds"),
    ("stripewise trace slice trace.csv first.msr --requests 0..1000", "the first thousand requests"),
    ("stripewise trace slice trace.spc asu1.parquet --volume 1 --volume 2", "two volumes"),
];

/// Write a part of a trace: by time, requests or volumes
///
/// A request must meet all conditions; the requests are counted among those of the time and volumes. The first request kept is at
/// time 0. The format is that of the trace, unless the file name or --as selects another.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(super) struct Args {
    /// The trace to read; `-` is the standard input
    #[arg(value_name = "IN")]
    trace: PathBuf,

    /// The file to write; `-` is the standard output
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Keep requests from this time after the trace's start on
    #[arg(long, value_name = "TIME", default_value = "0ns", hide_default_value = true)]
    from: Span,

    /// Keep requests before this time after the trace's start
    #[arg(long, value_name = "TIME")]
    to: Option<Span>,

    /// Keep requests A to B - 1, counted from 0; A or B may be left out
    #[arg(long, value_name = "A..B")]
    requests: Option<Part>,

    /// Keep this volume; repeat the option for several
    #[arg(long, value_name = "N")]
    volume: Vec<u32>,

    /// The format to write [default: by the file name, else the format of the trace]
    #[arg(long = "as", value_name = "FORMAT")]
    write_as: Option<FormatName>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    output: Output,
}

/// `A..B`; either end may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from: u64,
    until: Option<u64>,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, until) = text.split_once("..").ok_or("expected A..B, as in 0..1000 or 5k..")?;
        let count =
            |text: &str| text.parse::<Count>().map(|count| count.0).map_err(|error| error.to_string());
        let from = if from.is_empty() { 0 } else { count(from)? };
        let until = if until.is_empty() { None } else { Some(count(until)?) };
        match until {
            Some(until) if until <= from => Err("the part is empty: B must be more than A".to_owned()),
            _ => Ok(Self { from, until }),
        }
    }
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let reader = args.input.open(&args.trace)?;
    let same = reader.report().format.parse().ok();
    let format = format_for(&args.out, args.write_as, same, "--as")?;
    let part = args.requests.unwrap_or(Part { from: 0, until: None });
    let selection = Selection {
        from_ns: args.from.0,
        until_ns: args.to.map(|time| time.0),
        volumes: args.volume.clone(),
        skip: part.from,
        take: part.until.map(|until| until - part.from),
    };
    let slice = Slice::new(reader, selection)?;
    args.output.write(slice, &args.out, format, |slice| Some(slice.source().report()), context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_ends_that_may_be_left_out() {
        assert_eq!("2..5".parse(), Ok(Part { from: 2, until: Some(5) }));
        assert_eq!("1k..".parse(), Ok(Part { from: 1000, until: None }));
        assert_eq!("..3".parse(), Ok(Part { from: 0, until: Some(3) }));
        for bad in ["5", "5..5", "6..5", "a..b", "1.."].map(|text| text.replace("1..", "1..x")) {
            assert!(bad.parse::<Part>().is_err(), "{bad}");
        }
    }
}
