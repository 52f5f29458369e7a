//! `stripewise man`: writes the manual, as pages for `man`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Command};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] =
    &[("stripewise man ~/.local/share/man/man1", "for `man stripewise-serve` and the others")];

/// Write the manual pages to a folder
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The folder; it is created if necessary
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: Args, command: Command, context: &mut Context<'_>) -> Outcome {
    let folder = args.folder.display();
    let fail = |error| Failure::failed(format!("cannot write the manual in `{folder}`: {error}"));
    std::fs::create_dir_all(&args.folder).map_err(fail)?;
    clap_mangen::generate_to(command, &args.folder).map_err(fail)?;
    context.remark(&format!("`man -l {folder}/stripewise.1` shows the first page"));
    Ok(())
}
