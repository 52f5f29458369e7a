//! `stripewise study`: studies of many runs, described by a file.

mod batches;
mod check;
mod clean;
mod open;
mod place;
pub(crate) mod report;
mod run;
mod show;
mod status;

use clap::{Args as ClapArgs, Subcommand};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise study check study.toml", "what a study would run, and what it costs"),
    ("stripewise study run study.toml", "run it, or continue with it"),
    ("stripewise study show study.toml", "its results, with intervals"),
    ("stripewise report study.toml", "figures over its axes, in one HTML file"),
];

/// Run studies of many runs, described by a file
///
/// A study file names schemes, axes and seeds. Each point of the product of the axes runs with each scheme and with as many
/// seeds as the file asks for.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Run(run::Args),
    Worker(run::WorkerArgs),
    Batches(batches::Args),
    Status(status::StatusArgs),
    Show(show::Args),
    Errors(status::ErrorsArgs),
    Index(status::IndexArgs),
    Clean(clean::Args),
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::Check(args) => check::run(&args, context),
        Command::Run(args) => run::run(&args, context),
        Command::Worker(args) => run::work(&args, context),
        Command::Batches(args) => batches::run(&args),
        Command::Status(args) => status::show_status(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Errors(args) => status::show_errors(&args, context),
        Command::Index(args) => status::write_index(&args, context),
        Command::Clean(args) => clean::run(&args, context),
    }
}
