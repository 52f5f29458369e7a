//! `stripewise device`: the devices that come with the program, and what a device says in full.

use clap::{Args as ClapArgs, Subcommand};
use stripewise_flash::spec::PRESETS;
use stripewise_flash::{DeviceSpec, Level, Shape};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::overlay::{self, Setting};
use crate::table::Table;
use crate::{human, named};

const EXAMPLES: &[Example] = &[
    ("stripewise device list", "the devices that come with the program"),
    ("stripewise device show ssdsim-5+1", "one of them, every default spelled out"),
    ("stripewise device show mqsim --source > mine.toml", "a device of your own to begin with"),
    ("stripewise device show ssdsim-5+1 --set gc.victim=fifo", "check what a setting does"),
];

/// List and show devices: modelled SSDs, as TOML files
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the devices that come with the program
    #[command(after_help = section(&EXAMPLES[..1]))]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a device as TOML with every default
    #[command(after_help = section(&EXAMPLES[1..]))]
    Show(Show),
}

#[derive(Debug, ClapArgs)]
struct Show {
    /// A preset's name, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE.toml")]
    device: String,

    /// Change a key, as in gc.victim=fifo
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
    let columns = if json {
        &["device", "raw_bytes", "exported_bytes", "channels", "page_bytes", "what_it_is"]
    } else {
        &["device", "raw", "exported", "channels", "page", "what_it_is"]
    };
    let mut table = Table::new(columns);
    for (name, text) in PRESETS {
        let spec = DeviceSpec::preset(name)?;
        let (raw, exported) = sizes(&spec)?;
        let size = |bytes: u64| if json { bytes.into() } else { human::bytes(bytes).into() };
        let (channels, page) = (spec.geometry.channels, spec.geometry.page_bytes.0);
        table.row([
            name.into(),
            size(raw),
            size(exported),
            channels.into(),
            size(page),
            headline(text).into(),
        ]);
    }
    table.print(context, json)
}

/// Bytes of flash in all, and those that a host sees.
fn sizes(spec: &DeviceSpec) -> Outcome<(u64, u64)> {
    let shape = Shape::new(spec, Level::Channel, 1)?;
    let page = spec.geometry.page_bytes.0;
    let bytes = |pages: u32| u64::from(pages) * u64::from(shape.elements) * page;
    Ok((bytes(shape.pages_per_element), bytes(shape.logical_pages)))
}

/// The first sentence of the comment that a preset begins with.
fn headline(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let comment = comment.collect::<Vec<_>>().join(" ");
    comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}

/// What a device is built of, in a line.
pub(crate) fn describe(spec: &DeviceSpec) -> Outcome<String> {
    let g = &spec.geometry;
    let parts = [
        (g.channels, "channel"),
        (g.chips, "chip"),
        (g.dies, "die"),
        (g.planes, "plane"),
        (g.blocks, "block"),
        (g.pages, "page"),
    ];
    let parts = parts.map(|(count, name)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
    let (raw, _) = sizes(spec)?;
    Ok(format!(
        "{}: {} of {}, {} raw, {} over-provisioning",
        spec.name,
        parts.join(" x "),
        human::bytes(g.page_bytes.0),
        human::bytes(raw),
        spec.ftl.over_provisioning
    ))
}

fn show(args: &Show, context: &mut Context<'_>) -> Outcome {
    let document = named::find("device", &args.device, &PRESETS)?;
    let spec = overlay::device(&document, &args.set)?;
    if args.source {
        return Ok(context.out.write_all(document.text.as_bytes())?);
    }
    if args.json {
        return context.json(&spec);
    }
    let text = toml::to_string(&spec).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(context.out.write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_says_in_a_sentence_what_it_is() {
        for (name, text) in PRESETS {
            let headline = headline(text);
            assert!(headline.len() > 10 && !headline.ends_with('.'), "{name}: {headline}");
        }
    }

    #[test]
    fn a_device_is_described_by_its_parts() {
        let spec = DeviceSpec::preset("ssdsim-5+1").unwrap();
        assert_eq!(
            describe(&spec).unwrap(),
            "ssdsim-5+1: 6 channels x 4 chips x 1 die x 4 planes x 512 blocks x 64 pages of 8 KiB, \
             24 GiB raw, 15% over-provisioning"
        );
    }
}
