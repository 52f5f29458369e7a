//! `stripewise replay`: repeats the work of a served array from its transcript, without the array.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_base::human::count;
use stripewise_base::text::visible;
use stripewise_engine::transcript::{Head, Replay, ReplayError, Replayed};

use super::scheme_named;
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise replay run.transcript", "replay the run, and compare every operation"),
    (
        "stripewise replay run.transcript --scheme durable-was,elastic.wait=5ms",
        "the first operation that differs with another scheme",
    ),
];

const EXIT_CODES: &str = "\
Exit codes:
    0  the controller did the same operations in the same order
    1  an operation differs, or the transcript is damaged
    2  the command line was not understood";

/// Replay the transcript of a served array, and compare every step
///
/// The replay needs no members and waits for nothing. A new controller receives the recorded requests, completions, times and
/// failures in the recorded order. Each operation that it starts and each request that it acknowledges is compared with the
/// transcript. So a failure that occurred once can be repeated as often as needed, also in a debugger.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    /// The transcript that `stripewise serve --transcript FILE` wrote
    #[arg(value_name = "FILE")]
    transcript: PathBuf,

    /// Use this scheme instead of the transcript's
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scheme: Option<String>,
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let mut replay = Replay::open(&args.transcript)?;
    let head = replay.head();
    let version = Head::current_version();
    if head.version != version {
        context.remark(&format!(
            "it was written by version {}, and this is {version}: differences may be intended",
            head.version
        ));
    }
    let scheme = replay.scheme();
    writeln!(
        context.out,
        "array \"{}\", {} over {} members, scheme \"{}\"",
        visible(&head.name),
        scheme.geometry.level,
        head.members,
        visible(&scheme.name)
    )?;
    if let Some(scheme) = &args.scheme {
        replay.use_scheme(scheme_named(scheme, context)?);
    }
    let unfinished = replay.unfinished();
    let replayed = replay.run()?;
    describe(&replayed, unfinished.as_deref(), context)?;
    match &replayed.difference {
        None => Ok(writeln!(context.out, "the same operations in the same order")?),
        Some(difference) => Err(Failure::failed(format!("the run went another way at {difference}"))),
    }
}

/// Reports the replay.
fn describe(replayed: &Replayed, unfinished: Option<&str>, context: &mut Context<'_>) -> std::io::Result<()> {
    let Replayed { requests, failed_requests, operations, failed_operations, .. } = *replayed;
    let out = &mut *context.out;
    let seconds = |ns: u64| ns as f64 / 1e9;
    writeln!(out, "replayed {} events of {:.3} s", count(replayed.events), seconds(replayed.took_ns))?;
    writeln!(out, "{} requests, {} of which failed", count(requests), count(failed_requests))?;
    writeln!(
        out,
        "{} operations on members, {} of which failed",
        count(operations),
        count(failed_operations)
    )?;
    for &(member, at) in &replayed.left {
        writeln!(out, "member {member} left after {:.3} s", seconds(at))?;
    }
    if replayed.is_cut {
        let why = unfinished.unwrap_or("its server was killed");
        writeln!(out, "the transcript ends before the run did: {why}")?;
    }
    Ok(())
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        Self::failed(error.to_string())
    }
}
