//! Runs the checks and prints their results.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};
use stripewise_validate::{Check, Effort, Finding, Lab, ResultRow, Verdict, checks, command, render};

/// Validate the simulator against theory and other simulators.
///
/// Exits with 1 when a figure differs. Real traces are looked for in the directory that STRIPEWISE_TRACES names.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  stripewise-validate --list\n  stripewise-validate --quick\n  \
                        stripewise-validate queue-waits disksim-suite\n  stripewise-validate --write")]
struct Arguments {
    /// The checks to carry out; all when none is named
    checks: Vec<String>,
    /// Run in seconds instead of minutes: shorter runs, fewer cases
    #[arg(long)]
    quick: bool,
    /// List the checks with their commands
    #[arg(long)]
    list: bool,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write docs/evidence/validation.md; needs all checks in full
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = "docs/evidence/validation.md",
          conflicts_with_all = ["quick", "checks"])]
    write: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.list {
        checks()
            .iter()
            .for_each(|check| println!("{:26}{}\n{:26}{}", check.name, check.title, "", command(check)));
        return Ok(ExitCode::SUCCESS);
    }
    let lab = Lab {
        effort: if arguments.quick { Effort::Quick } else { Effort::Full },
        seed: arguments.seed,
        bend: None,
        traces: std::env::var_os("STRIPEWISE_TRACES").map(PathBuf::from),
    };
    let chosen = choose(&arguments.checks)?;
    let mut findings: Vec<Finding<'_>> = Vec::new();
    for check in chosen {
        let rows = (check.run)(&lab).with_context(|| format!("the check {}", check.name))?;
        println!("{} ({})\n{}\n", check.title, check.name, table(&rows));
        findings.push((check, rows));
    }
    let verdicts = || findings.iter().flat_map(|(_, rows)| rows).map(ResultRow::verdict);
    let count = |verdict| verdicts().filter(|&found| found == verdict).count();
    let differ = count(Verdict::Differs);
    println!("{} agree, {differ} differ, {} skipped", count(Verdict::Agrees), count(Verdict::Skipped));
    if let Some(page) = &arguments.write {
        std::fs::write(page, render(&findings, lab.seed))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written: {}", page.display());
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Check>> {
    let find = |name: &String| {
        let known = || checks().iter().map(|check| check.name).collect::<Vec<_>>();
        let message = || stripewise_base::suggest::unknown("check", name, &known());
        checks().iter().find(|check| check.name == name).with_context(message)
    };
    if names.is_empty() { Ok(checks().iter().collect()) } else { names.iter().map(find).collect() }
}

fn table(rows: &[ResultRow]) -> Table {
    let mut table = Table::new();
    let lines = TableStyle { row_separator: presets::NOTHING.row_separator, ..presets::UTF8_HORIZONTAL_ONLY };
    table.load_style(lines).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["case", "theory or peer", "measured", "difference", "verdict", "note"]);
    for row in rows {
        let cells = [row.expectation(), row.result(), row.difference()];
        let [expected, result, difference] = cells;
        let verdict = row.verdict().word().to_owned();
        table.add_row([row.case.clone(), expected, result, difference, verdict, row.note.clone()]);
    }
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
