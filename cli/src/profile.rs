//! `stripewise profile`: workloads as statistics, those of the papers among them.

use clap::{Args as ClapArgs, Subcommand};
use stripewise_trace::profile::{Profile, builtin};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::table::Table;
use crate::workload;

const EXAMPLES: &[Example] = &[
    ("stripewise profile list", "the workloads that come with the program"),
    ("stripewise profile show paper000/hm_0", "the statistics of one of them"),
    ("stripewise trace info trace.csv --profile-out mine.toml", "a profile of your own, from a trace"),
];

/// List and show workload profiles: statistics that a trace is generated from
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the workloads that come with the program
    #[command(after_help = section(&EXAMPLES[..1]))]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a profile as TOML, or the generator that a paper's workload is
    #[command(after_help = section(&EXAMPLES[1..]))]
    Show {
        /// A name as `profile list` shows it, or a file that ends in .toml
        #[arg(value_name = "NAME|FILE.toml")]
        profile: String,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::List { json } => list(context, json),
        Command::Show { profile, json } => show(&profile, json, context),
    }
}

fn list(context: &mut Context<'_>, json: bool) -> Outcome {
    let mut table = Table::new(&["profile", "requests", "write_ratio", "source"]);
    for found in builtin() {
        let (requests, writes) = match &found.profile {
            Some(profile) => (profile.requests.0.into(), profile.write_ratio.into()),
            None => ("-".into(), "-".into()),
        };
        table.row([found.name.into(), requests, writes, found.source.into()]);
    }
    table.print(context, json)
}

fn show(name: &str, json: bool, context: &mut Context<'_>) -> Outcome {
    let profile = if name.ends_with(".toml") {
        let read = Profile::read(std::path::Path::new(name));
        read.map_err(|error| Failure::usage(error.to_string()))?
    } else {
        let found = workload::find(name)?;
        match found.profile {
            Some(profile) => profile,
            None if json => {
                return context
                    .json(&serde_json::json!({ "source": found.source, "generator": found.generator }));
            }
            None => {
                writeln!(context.out, "# {}\n# a generator: --gen {}", found.source, found.generator)?;
                return Ok(());
            }
        }
    };
    if json {
        return context.json(&profile);
    }
    Ok(context.out.write_all(profile.to_toml().as_bytes())?)
}
