//! `stripewise study check`: what a study would run.

use clap::Args as ClapArgs;
use serde_json::json;
use stripewise_study::{Check, Plan, check};

use crate::compare::print_settings;
use crate::comparison::Patient;
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::Outcome;
use crate::human;
use crate::study::open::{FileArgs, cpu};
use crate::wrap::wrap;

const EXAMPLES: &[Example] = &[
    ("stripewise study check study.toml", "points, combinations that do not fit, processor time"),
    ("stripewise study check study.toml --json", "as JSON"),
];

/// Reasons that are printed.
const REASONS: usize = 20;

/// Print what a study would run, and run nothing
///
/// Prints the number of points and runs, the expected processor time and size of the results, and the combinations that are
/// left out because a scheme does not fit. The digest of the plan is the same wherever the same file and program have it.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    study: FileArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let plan = args.study.plan()?;
    let found = check(&plan, &Patient)?;
    if args.json {
        return context.json(&object(&plan, &found));
    }
    print_settings(&lines(&plan, &found), context)?;
    if found.skipped.is_empty() {
        return Ok(());
    }
    let mut text = String::from("left out:\n");
    for skipped in found.skipped.iter().take(REASONS) {
        let count = human::count(skipped.combinations);
        wrap(&format!("  {count} such as {}: {}", skipped.example, skipped.reason), 4, width(), &mut text);
    }
    if found.skipped.len() > REASONS {
        text.push_str(&format!("  and for {} other reasons\n", found.skipped.len() - REASONS));
    }
    Ok(context.out.write_all(text.as_bytes())?)
}

/// A number, or its range.
fn range(least: u64, most: u64) -> String {
    if least == most {
        human::count(least)
    } else {
        format!("{} to {}", human::count(least), human::count(most))
    }
}

fn lines(plan: &Plan, found: &Check) -> Vec<(&'static str, String)> {
    let file = plan.file();
    let mut lines = vec![("study", file.name.clone())];
    lines.push(("plan", plan.digest().to_string()));
    let axes: Vec<String> =
        file.axes.iter().map(|axis| format!("{} ({})", axis.key, axis.values.len())).collect();
    if !axes.is_empty() {
        lines.push(("axes", axes.join(", ")));
    }
    lines.push(("schemes", file.schemes.join(", ")));
    lines.push(("points", human::count(found.points)));
    let (least, most) = file.replicate.rule.range();
    lines.push(("seeds", range(u64::from(least), u64::from(most))));
    lines.push(("runs", range(found.runs_least, found.runs_most)));
    let (least, most) = (cpu(found.cpu_least_ns), cpu(found.cpu_most_ns));
    let time = if least == most { least } else { format!("{least} to {most}") };
    lines.push(("time", format!("about {time} of processor time")));
    let (_, bytes) = found.bytes();
    lines.push(("size", format!("up to {} in {}", human::bytes(bytes), file.store.display())));
    lines
}

fn object(plan: &Plan, found: &Check) -> serde_json::Value {
    let skipped = found.skipped.iter().map(|skipped| {
        json!({
            "reason": skipped.reason,
            "combinations": skipped.combinations,
            "example": skipped.example,
        })
    });
    json!({
        "name": plan.file().name,
        "plan": plan.digest().to_string(),
        "points": found.points,
        "combinations": found.combinations,
        "runs": { "least": found.runs_least, "most": found.runs_most },
        "cpu_ns": { "least": found.cpu_least_ns as u64, "most": found.cpu_most_ns as u64 },
        "bytes": { "least": found.bytes().0, "most": found.bytes().1 },
        "skipped": skipped.collect::<Vec<_>>(),
    })
}
