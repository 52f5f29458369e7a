//! `stripewise scheme`, `device` and `profile`: list and show the built-in presets.

use std::fmt;

use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use serde_json::json;
use stripewise_base::human;
use stripewise_runs::{self as runs, Document, Setting, What};
use stripewise_trace::profile::builtin;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::table::Table;
use crate::wrap::wrap;

/// A kind of preset.
pub(crate) trait Kind: fmt::Debug {
    /// The help text of its command, and of the subcommands `list` and `show`.
    const ABOUT: [&'static str; 3];
    /// One example of `list`, then those of `show`.
    const EXAMPLES: &'static [Example];
    /// The options of `show`.
    type Show: ClapArgs + fmt::Debug;

    fn list(json: bool) -> Outcome<Table>;
    fn show(args: &Self::Show, context: &mut Context<'_>) -> Outcome;
}

#[derive(Debug, ClapArgs)]
#[command(about = K::ABOUT[0], after_help = section(K::EXAMPLES))]
pub(crate) struct Args<K: Kind> {
    #[command(subcommand)]
    command: Command<K>,
}

#[derive(Debug, Subcommand)]
enum Command<K: Kind> {
    #[command(about = K::ABOUT[1], after_help = section(&K::EXAMPLES[..1]))]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    #[command(about = K::ABOUT[2], after_help = section(&K::EXAMPLES[1..]))]
    Show(K::Show),
}

pub(crate) fn run<K: Kind>(args: Args<K>, context: &mut Context<'_>) -> Outcome {
    match args.command {
        Command::List { json } => K::list(json)?.print(context, json),
        Command::Show(show) => K::show(&show, context),
    }
}

/// Options of `show` for what is a TOML file with keys to set.
#[derive(Debug, ClapArgs)]
pub(crate) struct Show {
    /// A preset's name, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE.toml")]
    name: String,

    /// Change a key, as in update.tie=rcw or gc.victim=fifo
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,

    /// Print the original text, with its comments and sources
    #[arg(long, conflicts_with_all = ["set", "json"])]
    source: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    /// Prints the document, or the value that `resolve` makes of it, in JSON or as `toml` writes it.
    fn print<T: Serialize>(
        &self,
        what: What,
        resolve: impl Fn(&Document, &[Setting]) -> Result<T, runs::Error>,
        toml: impl Fn(&Document, &T) -> Outcome<String>,
        context: &mut Context<'_>,
    ) -> Outcome {
        let document = Document::find(what, &self.name)?;
        runs::former_names(&document, &self.set).iter().for_each(|remark| context.remark(remark));
        let value = resolve(&document, &self.set)?;
        if self.json {
            return context.json(&value);
        }
        let text = if self.source { document.text } else { toml(&document, &value)? };
        Ok(context.out.write_all(text.as_bytes())?)
    }
}

/// Schemes: one policy on every axis.
#[derive(Debug)]
pub(crate) struct Schemes;

impl Kind for Schemes {
    const ABOUT: [&'static str; 3] = [
        "List and show schemes: a policy for every axis",
        "List the built-in schemes",
        "Show a scheme as TOML with its sources and every default",
    ];
    const EXAMPLES: &'static [Example] = &[
        ("stripewise scheme list", "the built-in schemes"),
        ("stripewise scheme show baseline", "one of them, with all defaults"),
        ("stripewise scheme show baseline --source > mine.toml", "a scheme of your own to begin with"),
        ("stripewise scheme show baseline --set geometry.chunk=16KiB", "check what a setting does"),
    ];
    type Show = Show;

    fn list(_json: bool) -> Outcome<Table> {
        let mut table = Table::new(&["scheme", "what_it_is"]);
        for scheme in runs::schemes()? {
            table.row([scheme.name.into(), scheme.description.into()]);
        }
        Ok(table)
    }

    fn show(args: &Show, context: &mut Context<'_>) -> Outcome {
        let toml = |document: &Document, scheme: &stripewise_array::Scheme| {
            let text = sources(&document.text) + &scheme.to_toml();
            Ok(match scheme.geometry.chunk {
                Some(_) => text,
                None if scheme.placement.facts().has_zones => text,
                // The one default that depends on the device and so has no value to print.
                None => text.replacen("[geometry]\n", "[geometry]\n# chunk: one page of the member\n", 1),
            })
        };
        args.print(What::Scheme, runs::scheme, toml, context)
    }
}

/// The works that a scheme's file cites, as comments: authors, title, venue, year, and the key of the bibliography.
fn sources(toml: &str) -> String {
    let mut text = String::new();
    for work in runs::bibliography::cited(toml) {
        let mut lines = String::new();
        wrap(&format!("Source: {work} [{}]", work.key), 2, SOURCE_COLUMNS, &mut lines);
        lines.lines().for_each(|line| text += &format!("# {line}\n"));
    }
    text
}

/// The width of a source without the sign of the comment.
const SOURCE_COLUMNS: usize = 108;

/// Devices: modelled SSDs.
#[derive(Debug)]
pub(crate) struct Devices;

impl Kind for Devices {
    const ABOUT: [&'static str; 3] = [
        "List and show modelled SSDs",
        "List the built-in devices",
        "Show a device as TOML with every default",
    ];
    const EXAMPLES: &'static [Example] = &[
        ("stripewise device list", "the built-in devices"),
        ("stripewise device show ssdsim-5+1", "one of them, with all defaults"),
        ("stripewise device show mqsim --source > mine.toml", "a device of your own to begin with"),
        ("stripewise device show ssdsim-5+1 --set gc.victim=fifo", "check what a setting does"),
    ];
    type Show = Show;

    fn list(json: bool) -> Outcome<Table> {
        let mut table = Table::new(if json {
            &["device", "raw_bytes", "exported_bytes", "channels", "page_bytes", "what_it_is"]
        } else {
            &["device", "raw", "exported", "channels", "page", "what_it_is"]
        });
        let size = |bytes: u64| if json { bytes.into() } else { human::bytes(bytes).into() };
        for device in runs::devices()? {
            table.row([
                device.name.into(),
                size(device.raw_bytes),
                size(device.exported_bytes),
                device.channels.into(),
                size(device.page_bytes),
                device.description.into(),
            ]);
        }
        Ok(table)
    }

    fn show(args: &Show, context: &mut Context<'_>) -> Outcome {
        let toml = |_: &Document, spec: &stripewise_flash::DeviceSpec| {
            toml::to_string(spec).map_err(|error| Failure::failed(error.to_string()))
        };
        args.print(What::Device, runs::device, toml, context)
    }
}

/// Profiles of workloads.
#[derive(Debug)]
pub(crate) struct Profiles;

/// Options of `profile show`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowProfile {
    /// A name as `profile list` shows it, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE.toml")]
    profile: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Kind for Profiles {
    const ABOUT: [&'static str; 3] = [
        "List and show workload profiles, for generated traces",
        "List the built-in workloads",
        "Show a profile as TOML, or the generator that a paper's workload is",
    ];
    const EXAMPLES: &'static [Example] = &[
        ("stripewise profile list", "the built-in workloads"),
        ("stripewise profile show paper000/hm_0", "the statistics of one of them"),
        ("stripewise trace info trace.csv --profile-out mine.toml", "a profile of your own, from a trace"),
    ];
    type Show = ShowProfile;

    fn list(_json: bool) -> Outcome<Table> {
        let mut table = Table::new(&["profile", "requests", "write_ratio", "source"]);
        for found in builtin() {
            let (requests, writes) = match &found.profile {
                Some(profile) => (profile.requests.0.into(), profile.write_ratio.into()),
                None => ("-".into(), "-".into()),
            };
            table.row([found.name.into(), requests, writes, found.source.into()]);
        }
        Ok(table)
    }

    fn show(args: &ShowProfile, context: &mut Context<'_>) -> Outcome {
        let found = runs::profile(&args.profile)?;
        match found.profile {
            Some(profile) if args.json => context.json(&profile),
            Some(profile) => Ok(context.out.write_all(profile.to_toml().as_bytes())?),
            None if args.json => {
                context.json(&json!({ "source": found.source, "generator": found.generator }))
            }
            None => {
                Ok(writeln!(context.out, "# {}\n# a generator: --gen {}", found.source, found.generator)?)
            }
        }
    }
}
