//! `stripewise study status`, `errors` and `index`: what a store has of a study.

use clap::Args as ClapArgs;
use stripewise_base::text::Visible;
use stripewise_study::{Plan, Status, index, status};

use crate::compare::print_settings;
use crate::comparison::Patient;
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;
use crate::human;
use crate::study::open::{StoreArgs, cpu};
use crate::table::Table;

const STATUS: &[Example] = &[
    ("stripewise study status study.toml", "how far a study is"),
    ("stripewise study status study.toml --json", "as JSON"),
];
const ERRORS: &[Example] =
    &[("stripewise study errors study.toml", "the runs that failed, with their reasons")];
const INDEX: &[Example] =
    &[("stripewise study index study.toml", "a table of all runs, for polars and DuckDB")];

/// Print how far a study is
///
/// Reads only the store, so the study may be running meanwhile, here or elsewhere.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(STATUS))]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// List the runs that failed, with their reasons
///
/// A run leaves the list when it succeeds. Combinations that do not fit are no failures: `study check` lists them.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(ERRORS))]
pub(crate) struct ErrorsArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write the catalogue of a study: a Parquet table with a row for each run
///
/// `study run` writes it at its end. It has a column `axis.KEY` for each axis, the digests of the run, and all its totals.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(INDEX))]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn show_status(args: &StatusArgs, context: &mut Context<'_>) -> Outcome {
    let (plan, store) = args.store.open()?;
    let found = status(&plan, &store, &Patient)?;
    if args.json {
        return context.json(&found.json(&plan));
    }
    print_settings(&lines(&plan, &found), context)
}

fn lines(plan: &Plan, found: &Status) -> Vec<(&'static str, String)> {
    let count = human::count;
    let ended: Vec<String> =
        found.ended.iter().map(|(why, points)| format!("{} {why}", count(*points))).collect();
    let ended = if ended.is_empty() { String::new() } else { format!(" ({})", ended.join(", ")) };
    let mut lines = vec![("study", plan.file().name.clone())];
    let begun = if found.begun > 0 { format!(", {} begun", count(found.begun)) } else { String::new() };
    lines.push((
        "points",
        format!("{} of {} complete{ended}{begun}", count(found.done()), count(found.points)),
    ));
    let left = if found.runs_left > 0 {
        format!(", at least {} left", count(found.runs_left))
    } else {
        String::new()
    };
    lines.push(("runs", format!("{}{left}", count(found.runs))));
    if found.failed > 0 {
        lines.push(("FAILED", format!("{} runs", count(found.failed))));
    }
    if found.refused > 0 {
        lines.push(("left out", format!("{} combinations that do not fit", count(found.refused))));
    }
    if let Some((narrowest, widest)) = found.widths {
        let figure = &plan.file().replicate.figure;
        lines.push((
            "intervals",
            format!("±{:.2} to ±{:.2} % of {figure}", narrowest * 100.0, widest * 100.0),
        ));
    }
    if found.drifting > 0 {
        let text =
            format!("{} runs end before their response times are steady (MSER-5)", count(found.drifting));
        lines.push(("warm-up", text));
    }
    lines.push(("time", format!("{} of processor time", cpu(u128::from(found.cpu_ns)))));
    lines
}

pub(crate) fn show_errors(args: &ErrorsArgs, context: &mut Context<'_>) -> Outcome {
    let (_, store) = args.store.open()?;
    let known = store.load(&[])?;
    let mut table = Table::new(&["run", "attempts", "reason"]);
    let mut failures: Vec<_> =
        store.failures()?.into_values().filter(|it| known.get(&it.key).is_none()).collect();
    failures.sort_by(|one, other| one.run.cmp(&other.run));
    if failures.is_empty() && !args.json {
        return Ok(writeln!(context.out, "no run failed")?);
    }
    for failed in failures {
        // Others may write to the store: a line feed would begin a row that is none. In JSON it is escaped anyway.
        let shown = |text: String| if args.json { text } else { Visible(text).to_string() };
        table.row([shown(failed.run).into(), failed.attempts.into(), shown(failed.message).into()]);
    }
    table.print(context, args.json)
}

pub(crate) fn write_index(args: &IndexArgs, context: &mut Context<'_>) -> Outcome {
    let (plan, store) = args.store.open()?;
    let (path, rows) = index(&plan, &store, &Patient)?;
    Ok(writeln!(context.out, "{}: {} runs", path.display(), human::count(rows))?)
}
