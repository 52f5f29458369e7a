//! `stripewise trace`: inspects, converts, slices and generates traces.

mod convert;
mod copy;
mod drawing;
mod formats;
mod generate;
mod info;
mod papers;
mod slice;

use clap::{Args as ClapArgs, Subcommand};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise trace info trace.csv", "statistics of a trace"),
    ("stripewise trace convert trace.csv trace.parquet", "another format, faster to read"),
    ("stripewise trace slice trace.csv part.parquet --from 10s --to 20s", "a part of a trace"),
    ("stripewise trace gen zipf:span=1GiB,requests=10k -o zipf.parquet", "a trace from a generator"),
];

/// Inspect, convert, cut and generate traces
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Args),
    Convert(convert::Args),
    Slice(slice::Args),
    Gen(generate::Args),
    Formats(formats::Args),
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::Info(args) => info::run(&args, context),
        Command::Convert(args) => convert::run(&args, context),
        Command::Slice(args) => slice::run(&args, context),
        Command::Gen(args) => generate::run(&args, context),
        Command::Formats(args) => formats::run(&args, context),
    }
}
