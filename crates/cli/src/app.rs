//! The command line: the options of every subcommand, and the dispatch to the subcommands.

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::arrays::{check, create, dump, events, manage, replay, scan, serve, status, upgrade};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{EXIT_CODES, Outcome};
use crate::presets::{self, Devices, Profiles, Schemes};
use crate::{
    advise, compare, completions, explain, groups, man, overhead, paper, reliability, report, run, runs,
    study, timeline, trace,
};

/// What the short help says instead of examples.
const SHORT: &str = "`stripewise COMMAND --help` explains a command, with examples.";

const EXAMPLES: &[Example] = &[
    ("stripewise compare", "eight schemes, on a built-in workload"),
    (
        "stripewise compare --trace trace.csv --scheme baseline --scheme always-rcw",
        "the same on your own trace",
    ),
    ("stripewise explain --write 24KiB@0", "what one request makes the array do, and why"),
    ("stripewise trace info trace.csv", "statistics of a trace"),
    ("stripewise create pool --files pool", "an array over five files, for `stripewise serve pool`"),
];

/// Simulate arrays of flash, compare schemes, and serve arrays as block devices.
#[derive(Debug, Parser)]
#[command(name = "stripewise", version, long_version = long_version(), propagate_version = true)]
#[command(after_help = SHORT, after_long_help = section_and(EXAMPLES, EXIT_CODES), arg_required_else_help = true)]
pub(crate) struct App {
    /// Print only results and errors, no progress and no remarks
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,

    /// When to use colours
    ///
    /// `auto` uses them on a terminal, unless the environment says NO_COLOR or TERM=dumb.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(crate) color: Color,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(compare::Args),
    Run(run::Args),
    Study(study::Args),
    Report(report::Args),
    Runs(runs::Args),
    Timeline(timeline::Args),
    Paper(paper::Args),
    Explain(explain::Args),
    Overhead(overhead::Args),
    Reliability(reliability::Args),
    Advise(advise::Args),
    Trace(trace::Args),
    Create(create::Args),
    Serve(serve::Args),
    Replay(replay::Args),
    Status(status::Args),
    Events(events::Args),
    Scan(scan::Args),
    Fail(manage::Fail),
    Replace(manage::Replace),
    Spare(manage::Spare),
    Scrub(manage::Scrub),
    Rate(manage::Rate),
    Stop(manage::Stop),
    Dump(dump::Args),
    Check(check::Args),
    Upgrade(upgrade::Args),
    Scheme(presets::Args<Schemes>),
    Device(presets::Args<Devices>),
    Profile(presets::Args<Profiles>),
    Completions(completions::Args),
    Man(man::Args),
}

/// The whole command line interface, for help texts, completions and tests.
pub fn command() -> clap::Command {
    groups::grouped(with_negatives(App::command()))
}

/// Gives options their values also where these are negative numbers: `--seed -1` is refused with the range of seeds, and not as
/// an unknown option.
fn with_negatives(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| match arg.get_long().is_some() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_negatives))
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Applies the choice to all output that follows.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

impl App {
    /// Whether the command handles signals itself.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }

    pub(crate) fn run(self, context: &mut Context<'_>) -> Outcome {
        match self.command {
            Command::Compare(args) => compare::run(args, context),
            Command::Run(args) => run::run(args, context),
            Command::Study(args) => study::run(args, context),
            Command::Report(args) => report::run(args, context),
            Command::Runs(args) => runs::run(args, context),
            Command::Timeline(args) => timeline::run(args, context),
            Command::Paper(args) => paper::run(args, context),
            Command::Explain(args) => explain::run(args, context),
            Command::Overhead(args) => overhead::run(args, context),
            Command::Reliability(args) => reliability::run(args, context),
            Command::Advise(args) => advise::run(args, context),
            Command::Trace(args) => trace::run(args, context),
            Command::Create(args) => create::run(args, context),
            Command::Serve(args) => serve::run(args, context),
            Command::Replay(args) => replay::run(&args, context),
            Command::Status(args) => status::run(args, context),
            Command::Events(args) => events::run(args, context),
            Command::Scan(args) => scan::run(args, context),
            Command::Fail(args) => manage::fail(args),
            Command::Replace(args) => manage::replace(args, context),
            Command::Spare(args) => manage::spare(args, context),
            Command::Scrub(args) => manage::scrub(args, context),
            Command::Rate(args) => manage::rate(args),
            Command::Stop(args) => manage::stop(args),
            Command::Dump(args) => dump::run(args, context),
            Command::Check(args) => check::run(args, context),
            Command::Upgrade(args) => upgrade::run(args, context),
            Command::Scheme(args) => presets::run(args, context),
            Command::Device(args) => presets::run(args, context),
            Command::Profile(args) => presets::run(args, context),
            Command::Completions(args) => completions::run(args, command(), context),
            Command::Man(args) => man::run(args, command(), context),
        }
    }
}

/// The version, with the digest of sources that results carry: it distinguishes programs of one version.
fn long_version() -> String {
    format!("{}\nsources {}", env!("CARGO_PKG_VERSION"), stripewise_sim::SOURCES)
}
