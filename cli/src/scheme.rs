//! `stripewise scheme`: the schemes that come with the program, and what a scheme says in full.

use clap::{Args as ClapArgs, Subcommand};
use stripewise_array::{PRESETS, Scheme};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;
use crate::named;
use crate::overlay::{self, Setting};
use crate::table::Table;

const EXAMPLES: &[Example] = &[
    ("stripewise scheme list", "the schemes that come with the program"),
    ("stripewise scheme show baseline", "one of them, every default spelled out"),
    ("stripewise scheme show baseline --source > mine.toml", "a scheme of your own to begin with"),
    ("stripewise scheme show baseline --set geometry.chunk=16KiB", "check what a setting does"),
];

/// List and show schemes: one policy on every axis, as a TOML file
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the schemes that come with the program
    #[command(after_help = section(&EXAMPLES[..1]))]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a scheme as TOML with every default
    #[command(after_help = section(&EXAMPLES[1..]))]
    Show(Show),
}

#[derive(Debug, ClapArgs)]
struct Show {
    /// A preset's name, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE.toml")]
    scheme: String,

    /// Change a key, as in update.tie=rcw
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,

    /// Print the text as it was written, with its comments and sources
    #[arg(long, conflicts_with_all = ["set", "json"])]
    source: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::List { json } => list(context, json),
        Command::Show(show) => self::show(&show, context),
    }
}

fn list(context: &mut Context<'_>, json: bool) -> Outcome {
    let mut table = Table::new(&["scheme", "what_it_is"]);
    for (name, _) in PRESETS {
        table.row([name.into(), Scheme::preset(name)?.description.into()]);
    }
    table.print(context, json)
}

fn show(args: &Show, context: &mut Context<'_>) -> Outcome {
    let document = named::find("scheme", &args.scheme, &PRESETS)?;
    let scheme = overlay::scheme(&document, &args.set)?;
    if args.source {
        return Ok(context.out.write_all(document.text.as_bytes())?);
    }
    if args.json {
        return context.json(&scheme);
    }
    let mut text = scheme.to_toml();
    if scheme.geometry.chunk.is_none() {
        // The one default that depends on the device and so has no value to print.
        text = text.replacen("[geometry]\n", "[geometry]\n# chunk: one page of the element\n", 1);
    }
    Ok(context.out.write_all(text.as_bytes())?)
}
