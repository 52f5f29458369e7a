//! `stripewise trace gen`: writes a trace from a generator or a profile.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_base::units::Count;
use stripewise_runs::{Origin, Workload, WorkloadSpec};
use stripewise_trace::FormatName;
use stripewise_trace::fold::Fold;
use stripewise_trace::generate::catalog;

use super::copy::{Output, format_for};
use crate::comparison::Patient;
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::Outcome;

const EXAMPLES: &[Example] = &[
    (
        "stripewise trace gen uniform:write=1,size=8KiB,span=1GiB,requests=10k -o uniform.parquet",
        "a generator",
    ),
    ("stripewise trace gen paper000/lun1 --requests 10k -o lun1.parquet --seed 7", "a workload of a paper"),
    ("stripewise trace gen mine.toml -o mine.msr.zst --round-times", "your own profile"),
    ("stripewise trace gen sequential:requests=10 -o - --to disksim --round-times", "to the standard output"),
];

/// Generate a trace
///
/// The same specification and seed give the same requests on every machine.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, "Give --help for the generators and their keys."))]
#[command(after_long_help = section_and(EXAMPLES, &generators()))]
pub(super) struct Args {
    /// A generator with its keys, as in zipf:span=1GiB; or a profile's name or file, as in paper000/hm_0
    #[arg(value_name = "SPEC|PROFILE")]
    what: String,

    /// The file to write; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// The format to write [default: by the file name, as in .parquet or .spc.zst]
    #[arg(long, value_name = "FORMAT")]
    to: Option<FormatName>,

    /// The number of requests: the first N of a generator; a profile is generated with N
    #[arg(short = 'n', long, value_name = "N")]
    requests: Option<Count>,

    /// The seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::comparison::seed)]
    seed: u64,

    #[command(flatten)]
    output: Output,
}

/// The help text of every generator with its keys.
fn generators() -> String {
    let mut text = "Generators, their keys and what these are when not given:".to_owned();
    for about in catalog() {
        text.push_str(&format!("\n\n  {}\n      {}\n      {}", about.name, about.summary, about.example));
        for key in about.keys {
            let default = if key.default.is_empty() { "needed" } else { key.default };
            text.push_str(&format!("\n        {:<10} [{default}] {}", key.name, key.help));
        }
    }
    text
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let format = format_for(&args.out, args.to, None, "--to")?;
    let requests = args.requests.map(|count| count.0);
    let spec = WorkloadSpec { origin: Origin::generated(&args.what)?, requests, fold: Fold::Modulo };
    let source = Workload::new(&spec, args.seed, &Patient)?.open(&Patient)?;
    args.output.write(source, &args.out, format, |_| None, context)
}
