//! `stripewise dump`: shows the content of the members of an array of files.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_array::format::dump::{Dump, DumpError, Finding};

use super::Files;
use super::places::Places;
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

const EXAMPLES: &[Example] = &[
    ("stripewise dump pool", "an array whose members are the files of a folder"),
    ("stripewise dump pool/member-0 pool/member-1 --segment 0", "one segment of the log, batch by batch"),
    ("stripewise dump pool --json", "as JSON"),
];

/// Print the metadata on the members of an array
///
/// The command reads superblocks, checkpoints, commit records and the batches of the log. It writes nothing. It reports damaged
/// or missing structures and continues after them. It prints all copies and does not decide which are valid: assembly does that.
/// Members are numbered in the order in which they are given.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// A remembered array, or the files of its members, or folders of such files
    #[arg(value_name = "NAME|DIR|FILE", required = true)]
    paths: Vec<PathBuf>,

    /// Print only this segment of the log, batch by batch
    #[arg(long, value_name = "N")]
    segment: Option<u32>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let mut files = Files::open(&args.paths, &args.places)?;
    files.remark.iter().for_each(|remark| context.remark(remark));
    let dump = Dump { segment: args.segment };
    if args.json {
        let listed: Vec<Value> = files.paths.iter().map(|path| json!(path.display().to_string())).collect();
        let mut findings = Vec::new();
        let problems = dump.run(&mut files.media, &mut |finding| {
            findings.push(serde_json::to_value(finding).expect("findings have names and numbers alone"));
        });
        let problems = problems.map_err(failure)?;
        return context.json(&json!({ "files": listed, "findings": findings, "problems": problems }));
    }
    for line in files.listed() {
        writeln!(context.out, "{line}")?;
    }
    let mut written = Ok(());
    let problems = dump.run(&mut files.media, &mut |finding: &Finding<'_>| {
        if written.is_ok() {
            written = write!(context.out, "{finding}");
        }
    });
    written?;
    if problems.map_err(failure)? > 0 {
        context.remark("something is damaged or missing; `stripewise check` shows whether anything is lost");
    }
    Ok(())
}

fn failure(error: DumpError) -> Failure {
    match error {
        DumpError::NoSegment { .. } => Failure::usage(format!("--segment: {error}")),
        _ => Failure::failed(error.to_string()),
    }
}
