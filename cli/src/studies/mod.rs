//! `stripewise study`: studies of many runs, described by a file.

mod check;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use stripewise_campaign::{Error, Plan, StudyFile};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::study::Patient;

const EXAMPLES: &[Example] =
    &[("stripewise study check study.toml", "what a study would run, and what it costs")];

/// Plan studies of many runs, described by a file
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
}

/// The study that a command is about.
#[derive(Debug, ClapArgs)]
pub(crate) struct FileArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl FileArgs {
    /// Reads and resolves the file.
    pub(crate) fn plan(&self) -> Outcome<Plan> {
        plan(&self.file)
    }
}

fn plan(file: &Path) -> Outcome<Plan> {
    Ok(Plan::new(StudyFile::read(file)?, &Patient)?)
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::Check(args) => check::run(&args, context),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Study(error) => error.into(),
            Error::Text(_) | Error::Spec(_) => Self::Refused(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
