//! `stripewise trace convert`: writes the same requests in another format.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_trace::FormatName;

use super::copy::{Input, Output, format_for};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise trace convert trace.csv trace.parquet", "to our Parquet schema: small, exact, fast to read"),
    ("stripewise trace convert trace.spc trace.msr.zst --round-times", "as the ending says: MSR, compressed"),
    ("stripewise trace convert trace.csv out.txt --to disksim --round-times", "a format by name"),
    ("stripewise trace convert - trace2.parquet --format msr < trace.csv", "from the standard input"),
];

/// Convert a trace to another format
///
/// A time that the format cannot hold is an error, unless rounding is allowed. The output file appears when it is complete.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(super) struct Args {
    /// The trace to read; `-` is the standard input
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// The file to write; `-` is the standard output
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// The format to write [default: by the file name, as in .parquet or .spc.zst]
    #[arg(long, value_name = "FORMAT")]
    to: Option<FormatName>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    output: Output,
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let format = format_for(&args.out, args.to, None, "--to")?;
    let reader = args.input.open(&args.from)?;
    args.output.write(reader, &args.out, format, |reader| Some(reader.report()), context)
}
