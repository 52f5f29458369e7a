//! `stripewise study clean`: removes what dead processes left in a store.

use std::time::Duration;

use clap::Args as ClapArgs;
use stripewise_study::long_time;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::Outcome;
use crate::human;
use crate::study::open::StoreArgs;

const EXAMPLES: &[Example] = &[
    ("stripewise study clean study.toml --dry-run", "the files that would be removed"),
    (
        "stripewise study clean study.toml --older-than 10min",
        "of processes that died ten minutes ago or earlier",
    ),
];

/// Remove files that processes have left half written
///
/// A process that is killed while it commits runs leaves a file that no command reads. `study run` removes those that are
/// older than an hour. Writing a file takes less than a second, so a much older one belongs to a dead process.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,

    /// Remove only files that nothing was written to for this time, as in 10min or 2h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = long_time)]
    older_than: Duration,

    /// Print what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let store = args.store.store()?;
    let partials = store.partials(args.older_than)?;
    if !args.dry_run {
        store.remove(&partials)?;
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for partial in &partials {
        let age = human::time(partial.age.as_nanos() as u64);
        writeln!(
            context.out,
            "{verb} {}: {}, {age} old",
            partial.path.display(),
            human::bytes(partial.bytes)
        )?;
    }
    let bytes = partials.iter().map(|partial| partial.bytes).sum();
    let count = human::count(partials.len() as u64);
    Ok(writeln!(context.out, "{verb} {count} half written files, {}", human::bytes(bytes))?)
}
