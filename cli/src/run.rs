//! `stripewise run`: one scheme, every total, every element.

use clap::Args as ClapArgs;
use serde_json::json;
use stripewise_results::summary::{Entry, Summary};
use stripewise_results::{Figure, Table};

use crate::compare::{print_place, print_settings, remarks};
use crate::context::Context;
use crate::elements;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::study::{self, StudyArgs};

const EXAMPLES: &[Example] = &[
    ("stripewise run", "the built-in workload through the scheme baseline"),
    (
        "stripewise run --trace trace.csv --scheme raid0 --rows --gc-rows --sample-every 10ms",
        "with all tables",
    ),
    (
        "stripewise run --gen zipf:size=8KiB,span=1GiB,requests=50k --pacing think:8,1ms --json",
        "for a program",
    ),
    ("stripewise run --requests 50k --seed 2 --out elsewhere", "another seed, another directory"),
];

/// Run one scheme, and print every total and what each element did
///
/// The tables are left in the directory of results, one directory a run, as Parquet files.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    study: StudyArgs,

    /// The scheme: a preset's name or a file
    ///
    /// `stripewise scheme list` shows the presets. Settings follow behind commas: baseline,update.tie=rcw.
    #[arg(
        short,
        long,
        value_name = "NAME|FILE.toml",
        display_order = 0,
        default_value = "baseline",
        help_heading = "Array"
    )]
    scheme: String,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let json = args.study.json;
    let study = args.study.study(std::slice::from_ref(&args.scheme))?;
    let settings = study.settings()?;
    if !json && !context.quiet {
        print_settings(&settings, context)?;
        context.out.flush()?;
    }
    let finished = study::run(&study, 1, context).pop().ok_or(Failure::Interrupted)??;
    let entry = Entry::of(&finished.scheme, &finished.run)?;
    if json {
        let mut value = Summary::new(vec![entry])?.json()["runs"][0].take();
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        value["settings"] = settings.collect::<serde_json::Map<_, _>>().into();
        value["computed"] = json!(finished.cpu_ns.is_some());
        value["elements"] = elements::json(&finished.run)?;
        return context.json(&value);
    }
    for total in entry.totals.iter() {
        let (name, unit) = (&total.name, unit(&total.name));
        let value = match total.value {
            Figure::Count(count) => human::count(count),
            Figure::Real(real) => format!("{real:.4}"),
        };
        writeln!(context.out, "{name:<28}{value:>20}  {unit}")?;
    }
    writeln!(context.out)?;
    elements::print(&finished.run, context)?;
    for remark in remarks(&entry) {
        writeln!(context.out, "{remark}")?;
    }
    print_place(&finished, context)?;
    if !context.quiet {
        let tables = Table::ALL.into_iter().filter(|&table| finished.run.has(table));
        let files: Vec<String> = tables.map(Table::file).collect();
        writeln!(context.out, "  tables: {}", files.join(" "))?;
    }
    Ok(())
}

/// The unit that a total's name ends in.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_ns", "ns"),
        ("_bytes", "bytes"),
        ("_pages", "pages"),
        ("_blocks", "blocks"),
        ("requests", "requests"),
    ];
    units.iter().find(|(ending, _)| name.ends_with(ending)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_shows_the_unit_that_its_name_ends_in() {
        let units = ["response_mean_ns", "gc_move_pages", "requests", "write_amplification"].map(unit);
        assert_eq!(units, ["ns", "pages", "requests", ""]);
    }
}
