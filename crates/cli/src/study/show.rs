//! `stripewise study show`: the results of a study as a table with intervals.

use clap::Args as ClapArgs;
use serde_json::{Map, Value, json};
use stripewise_results::paired::Kind;
use stripewise_results::summary::{Unit, significant};
use stripewise_study::{Plan, Point, Shown, figure_of, point_of, reason, visit};

use crate::comparison::Patient;
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::study::open::{StoreArgs, given};
use crate::table::Table;

const EXAMPLES: &[Example] = &[
    ("stripewise study show study.toml", "the figure that decides, at each point"),
    (
        "stripewise study show study.toml --figure programs_per_host_page --only pacing=open:4",
        "another figure, some points",
    ),
    ("stripewise study show study.toml --json", "as JSON"),
];

/// Print the results of a study, with intervals
///
/// A row for each point and scheme: the mean over the seeds with its interval, and the typical ratio to the scheme that the
/// others are compared with (geometric mean, seed by seed), as a change in percent or as a factor; `*` where its interval
/// excludes 1. The intervals of one point hold for all its schemes together (Holm).
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,

    /// The figure, a total of runs [default: the one that the study file names, or response_mean_ns]
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,

    /// Print only points with this value on this axis; repeat the option for several axes
    #[arg(long, value_name = "AXIS=VALUE")]
    only: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let (plan, store) = args.store.open()?;
    let filters: Vec<(String, String)> = given("--only", &args.only, |text| point_of(&plan, text))?;
    let figure = match &args.figure {
        Some(name) => figure_of(name).map_err(|message| Failure::usage(format!("--figure: {message}")))?,
        None => plan.file().replicate.figure.clone(),
    };
    let kind = Kind::of(&figure);
    let axes: Vec<&str> = plan.file().axes.iter().map(|axis| axis.key.as_str()).collect();
    let varying: Vec<usize> = (0..axes.len()).filter(|&at| plan.file().axes[at].values.len() > 1).collect();
    let mut heads: Vec<&str> = varying.iter().map(|&at| axes[at]).collect();
    let mut rows_shown: Vec<(Vec<Value>, Shown, String)> = Vec::new();
    let mut objects = Vec::new();
    visit(&plan, &store, std::slice::from_ref(&figure), &Patient, &mut |point, values, _| {
        let has = |(key, value): &(String, String)| {
            plan.values(&point.cell).any(|(axis, shown)| axis == key && shown == value)
        };
        if point.seeds() == 0 || !filters.iter().all(has) {
            return Ok(());
        }
        let rows = point.rows(&plan, &values[0], kind);
        let base = rows[point.base(&plan)].mean;
        for (at, row) in rows.iter().enumerate() {
            if args.json {
                objects.push(object(&plan, point, at, row, (&figure, kind)));
                continue;
            }
            let shown: Vec<&str> = plan.values(&point.cell).map(|(_, value)| value).collect();
            let mut cells: Vec<Value> = varying.iter().map(|&at| shown[at].into()).collect();
            cells.push(plan.file().schemes[point.schemes[at]].as_str().into());
            cells.push(point.seeds().into());
            cells.push(point.why().map_or("-", reason).into());
            rows_shown.push((cells, *row, row.effect(base, kind)));
        }
        Ok(())
    })?;
    if args.json {
        return context.json(&objects);
    }
    if rows_shown.is_empty() {
        let file = plan.file().path.display();
        return Err(Failure::failed(format!(
            "{}: there are no runs of this study; make some with `stripewise study run {file}`",
            store.root().display()
        )));
    }
    let unit = Unit::of(rows_shown.iter().map(|(_, row, _)| (figure.as_str(), row.mean)));
    let in_unit = if unit.name.is_empty() { String::new() } else { format!("_{}", unit.name) };
    let (mean, margin) = (format!("mean{in_unit}"), format!("±{in_unit}"));
    heads.extend(["scheme", "seeds", "end", &mean, &margin, "typical_%"]);
    let mut table = Table::new(&heads);
    for (mut cells, row, effect) in rows_shown {
        let shown = |value: f64| significant(value / unit.size);
        cells.extend([shown(row.mean), row.margin.map_or("-".to_owned(), shown), effect].map(Value::from));
        table.row(cells);
    }
    writeln!(context.out, "{}", Unit::bare(&figure))?;
    table.print(context, false)
}

fn object(plan: &Plan, point: &Point, at: usize, row: &Shown, (figure, kind): (&str, Kind)) -> Value {
    let axes: Map<String, Value> =
        plan.values(&point.cell).map(|(key, value)| (key.to_owned(), value.into())).collect();
    let difference = row.difference.map(|it| {
        json!({
            "kind": kind.name(),
            "ratio": it.ratio.map(|ratio| ratio.typical),
            "ratio_low": it.ratio.map(|ratio| ratio.low),
            "ratio_high": it.ratio.map(|ratio| ratio.high),
            "mean": it.mean,
            "margin": it.margin,
            "same_in_all_seeds": it.is_constant,
            "significant": it.is_significant,
        })
    });
    json!({
        "axes": axes,
        "scheme": plan.file().schemes[point.schemes[at]],
        "figure": figure,
        "seeds": point.seeds(),
        "end": point.why().map(reason),
        "mean": row.mean,
        "margin": row.margin,
        "difference": difference,
    })
}
