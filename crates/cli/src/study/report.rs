//! The report of a study: one HTML file with figures over its axes.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use stripewise_study::{Plan, Requested, StudyStore, axis_of, figure_of, is_bucket, point_of, report};

use crate::comparison::Patient;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::report::FILE;
use crate::study::open::{StoreArgs, given};

/// What a report of a study shows.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Reports of studies")]
pub(crate) struct Shown {
    /// Draw this total; repeat the option for several [default: the one that decides the seeds, response_mean_ns,
    /// response_p99_ns, programs_per_host_page]
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,

    /// Draw figures over this axis alone; repeat the option for several
    #[arg(long, value_name = "AXIS")]
    over: Vec<String>,

    /// Take only points with this value on this axis; repeat the option for several axes
    #[arg(long, value_name = "AXIS=VALUE")]
    only: Vec<String>,

    /// The results of the study [default: what its file names]
    #[arg(long, value_name = "PLACE")]
    store: Option<PathBuf>,
}

impl Shown {
    /// Whether an option is given that only studies have.
    pub(crate) fn is_given(&self) -> bool {
        !(self.figure.is_empty() && self.over.is_empty() && self.only.is_empty() && self.store.is_none())
    }

    fn requested(&self, plan: &Plan) -> Outcome<Requested> {
        Ok(Requested {
            totals: given("--figure", &self.figure, figure_of)?,
            over: given("--over", &self.over, |key| axis_of(plan, key))?,
            only: given("--only", &self.only, |text| point_of(plan, text))?,
        })
    }
}

/// Writes the report of the study in `file`, to `out` or into its results, and returns its path.
pub(crate) fn write_of(
    file: &Path,
    shown: &Shown,
    out: Option<PathBuf>,
    context: &mut Context<'_>,
) -> Outcome<PathBuf> {
    let (plan, store) = StoreArgs::of(file, shown.store.as_deref()).open()?;
    let out = out.map_or_else(|| place(&store), Ok)?;
    write(&plan, &store, &shown.requested(&plan)?, &out, context)?;
    Ok(out)
}

/// Writes the report of a study into its results, if they are in a folder.
pub(crate) fn write_beside(plan: &Plan, store: &StudyStore, context: &mut Context<'_>) -> Outcome {
    match place(store) {
        Ok(out) => write(plan, store, &Requested::default(), &out, context),
        Err(_) => Ok(()),
    }
}

fn place(store: &StudyStore) -> Outcome<PathBuf> {
    match is_bucket(store.root()) {
        true => Err(Failure::usage("the results are in a bucket; say where the report is to be: -o FILE")),
        false => Ok(store.root().join(FILE)),
    }
}

fn write(
    plan: &Plan,
    store: &StudyStore,
    requested: &Requested,
    out: &Path,
    context: &mut Context<'_>,
) -> Outcome {
    let report = report(plan, store, requested, &Patient)?;
    let written = report.write(out);
    written.map_err(|error| match error {
        stripewise_report::Error::NoRuns => {
            let file = plan.file().path.display();
            let narrower = if requested.only.is_empty() { "" } else { ", or give another --only" };
            Failure::failed(format!(
                "{}: there are no runs to report on; make some with `stripewise study run {file}`{narrower}",
                store.root().display()
            ))
        }
        other => Failure::failed(other.to_string()),
    })?;
    if context.quiet {
        return Ok(());
    }
    Ok(writeln!(context.out, "report    {}", out.display())?)
}
