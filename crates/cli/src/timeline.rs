//! `stripewise timeline`: writes the operations of a run as a time line for Perfetto.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use stripewise_base::human;
use stripewise_base::units::Count;
use stripewise_report::perfetto;
use stripewise_results::shared;
use stripewise_sim::Timeline;

use crate::comparison::{self, SetupArgs};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise timeline", "the first thousand requests of the built-in workload"),
    (
        "stripewise timeline --trace trace.csv --scheme adaptive --from 200 --count 50 -o adaptive.perfetto-trace",
        "fifty requests of a trace",
    ),
];

/// Write the time line of a run for Perfetto's viewer
///
/// Channels with their buses and dies are tracks. Reads, pre-reads, writes, parity and garbage collection are slices on them,
/// with page, times and block beside each; arrows lead from a host request to its operations. Open the file at
/// https://ui.perfetto.dev, which reads it in the browser and sends it nowhere.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    setup: SetupArgs,

    /// The scheme: a preset's name or a file
    ///
    /// `stripewise scheme list` shows the presets. Settings follow after commas: baseline,update.tie=rcw.
    #[arg(
        short,
        long,
        value_name = "NAME|FILE.toml",
        display_order = 0,
        default_value = "baseline",
        help_heading = "Array"
    )]
    scheme: String,

    /// The first request to show, counted from 0; the earlier requests run too
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Window")]
    from: Count,

    /// The number of requests to show; the run ends with the last of them
    #[arg(long, value_name = "N", default_value = "1k", help_heading = "Window")]
    count: Count,

    /// The file to write
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "timeline.perfetto-trace",
        help_heading = "Results"
    )]
    out: PathBuf,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    if args.count.0 == 0 {
        return Err(Failure::usage("--count 0: there is nothing to show; give at least 1"));
    }
    let comparison = args.setup.comparison(std::slice::from_ref(&args.scheme))?;
    let line = comparison::timeline(&comparison, (args.from.0, args.count.0), context)?;
    if line.requests.is_empty() {
        return Err(Failure::failed(format!(
            "the workload ends before request {}; give a smaller --from",
            human::count(args.from.0)
        )));
    }
    write(&line, &args.out).map_err(|error| {
        Failure::failed(format!(
            "{}: cannot write the time line: {error}; give another path with -o",
            args.out.display()
        ))
    })?;
    if context.quiet {
        return Ok(());
    }
    let count = |number: usize| human::count(number as u64);
    writeln!(
        context.out,
        "window    {} requests, {} operations, {} stretches on dies, from {} to {} of simulated time",
        count(line.requests.len()),
        count(line.operations.len()),
        count(line.stretches.len()),
        human::time(line.begin_ns),
        human::time(line.end_ns)
    )?;
    Ok(writeln!(context.out, "timeline  {}  (open it at https://ui.perfetto.dev)", args.out.display())?)
}

fn write(line: &Timeline, out: &Path) -> io::Result<()> {
    shared::replace_by(out, |file| perfetto::write(line, BufWriter::new(file)))
}
