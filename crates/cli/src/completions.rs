//! `stripewise completions`: scripts that complete options in shells.

use clap::{Args as ClapArgs, Command};
use clap_complete::Shell;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    ("stripewise completions bash > ~/.local/share/bash-completion/completions/stripewise", "for bash"),
    ("stripewise completions zsh > ~/.zfunc/_stripewise", "for zsh, where ~/.zfunc is in fpath"),
    ("stripewise completions fish > ~/.config/fish/completions/stripewise.fish", "for fish"),
];

/// Print a shell completion script
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: Args, mut command: Command, context: &mut Context<'_>) -> Outcome {
    // The script is built in memory first: the generator panics when its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "stripewise", &mut script);
    Ok(context.out.write_all(&script)?)
}
