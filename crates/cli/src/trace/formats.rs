//! `stripewise trace formats`: lists the formats that can be read and written.

use clap::Args as ClapArgs;
use stripewise_trace::format::format_names;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;
use crate::table::Table;

const EXAMPLES: &[Example] = &[("stripewise trace formats", "the names that --format and --to take")];

/// List the trace formats
///
/// Every format can be read and written, plain, gzip or zstd; bzip2, xz, LZ4 and zip archives of one file are read. The format is
/// detected from the first lines unless it is named.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let mut table = Table::new(&["format", "columns_and_units"]);
    for (name, about) in format_names() {
        table.row([name.into(), about.into()]);
    }
    table.print(context, args.json)
}
