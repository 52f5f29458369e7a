//! `stripewise overhead`: counts the chunks that parity updates cost in addition to the data, over a trace.

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use stripewise_base::units::Bytes;
use stripewise_runs::overhead::{Cost, Counter, Overhead, Stripe};
use stripewise_runs::{Error, Workload};
use stripewise_trace::fold::Fold;
use stripewise_trace::{Request, Source};

use crate::compare::print_settings;
use crate::comparison::{Patient, WorkloadArgs};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::level::Level;
use crate::progress::Progress;
use crate::table::Table;

const EXAMPLES: &[Example] = &[
    ("stripewise overhead --trace trace.csv", "a trace on paper 001's array of eight"),
    (
        "stripewise overhead --profile paper001/Online -n 100k --level raid6",
        "a workload of that paper, two parities",
    ),
    (
        "stripewise overhead --gen uniform:write=1,size=8KiB,span=1GiB,requests=50k --filled --json",
        "every chunk holds data already, as JSON",
    ),
    (
        "stripewise overhead --trace trace.csv --members 6 --chunk 64KiB --onto 2GiB --fold dense",
        "folded onto an array as `compare` folds",
    ),
];

/// Count the chunks that parity updates read and write
///
/// There is no device and no time. The command counts the chunks that each request would read and write in addition to its own:
/// pre-reads, log chunks and parity. Paper 001, Fig. 12, compares these. A request that covers a stripe writes its parity; every
/// other request is an update. `parity logging` pre-reads the old data and writes a delta for each parity to a log that is never
/// merged back. `in place` takes RMW or RCW, whichever pre-reads less, and does not read chunks that were never written;
/// `in place, blind` does not know which chunks these are.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,

    /// Seed of generated requests
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::comparison::seed, help_heading = "Workload")]
    seed: u64,

    /// Fold addresses onto an array of this size, as --fold says [default: no folding, one array per volume]
    #[arg(long, value_name = "SIZE", help_heading = "Array")]
    onto: Option<Bytes>,

    /// Redundancy
    #[arg(short, long, value_name = "LEVEL", default_value = "raid5", help_heading = "Array")]
    level: Level,

    /// The number of members of a stripe, parity included, the log device not
    #[arg(
        short,
        long,
        short_alias = 'e',
        alias = "elements",
        value_name = "N",
        default_value_t = 8,
        help_heading = "Array"
    )]
    members: u32,

    /// The chunk size
    #[arg(short, long, value_name = "SIZE", default_value = "4KiB", help_heading = "Array")]
    chunk: Bytes,

    /// Assume that every chunk was written before the first request
    #[arg(long, help_heading = "Array")]
    filled: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let parity = args.level.parity();
    let data = args.members.saturating_sub(parity);
    let stripe = Stripe { data, parity, chunk_bytes: args.chunk.0 };
    let mut counter = Counter::new(stripe, args.filled).map_err(|error| Failure::usage(error.to_string()))?;
    let spec = args.workload.spec()?;
    if args.onto.is_none() && spec.fold != Fold::Modulo {
        return Err(Failure::usage("--fold says how, --onto SIZE onto how much; give both"));
    }
    let workload = Workload::new(&spec, args.seed, &Patient)?;
    if let Some(note) = workload.note() {
        context.remark(&note);
    }
    let folded = match args.onto {
        Some(Bytes(bytes)) => {
            let mut requests = workload.folded(bytes, &Patient)?;
            // Folded requests lie on one array, whichever volume they came from.
            let mut add = |request: &Request| counter.add(&Request { volume: 0, ..*request });
            count(&mut requests, &workload, &mut add, context)?;
            format!("{} onto {}", workload.fold(), human::bytes(bytes))
        }
        None => {
            let mut add = |request: &Request| counter.add(request);
            count(&mut workload.open(&Patient)?, &workload, &mut add, context)?;
            "as the requests have them, each volume an array".to_owned()
        }
    };
    let overhead = counter.overhead();
    if args.json {
        return context.json(&value(overhead));
    }
    if !context.quiet {
        let filled = if args.filled { "all written before" } else { "nothing written before" };
        let chunk = human::bytes(args.chunk.0);
        print_settings(
            &[
                ("workload", workload.describe()),
                ("stripe", format!("{data} data + {parity} parity, chunk {chunk}, {filled}")),
                ("addresses", folded),
            ],
            context,
        )?;
    }
    print(overhead, context)
}

/// Passes every request to `add`.
fn count(
    requests: &mut dyn Source,
    workload: &Workload,
    add: &mut dyn FnMut(&Request),
    context: &Context<'_>,
) -> Outcome {
    let progress = Progress::new(context.quiet);
    let line = progress.line(&workload.describe());
    let (mut batch, mut taken) = (Vec::with_capacity(4096), 0u64);
    loop {
        requests.next_batch(&mut batch).map_err(Error::from)?;
        // An interrupted stream ends early.
        crate::interrupt::check()?;
        if batch.is_empty() {
            return Ok(());
        }
        batch.iter().for_each(&mut *add);
        taken += batch.len() as u64;
        line.update(taken, requests.progress(), batch.last().map(|request| request.time_ns));
    }
}

/// The update methods, by the names for people and for programs.
fn ways(overhead: &Overhead) -> [(&'static str, &'static str, Cost); 3] {
    [
        ("parity logging", "parity_logging", overhead.parity_logging),
        ("in place", "in_place", overhead.in_place),
        ("in place, blind", "in_place_blind", overhead.in_place_blind),
    ]
}

fn print(overhead: &Overhead, context: &mut Context<'_>) -> Outcome {
    let mut table =
        Table::new(&["way", "pre-reads", "log_writes", "parity_writes", "sum", "per_chunk_written"]);
    for (name, _, cost) in ways(overhead) {
        let each = cost.sum() as f64 / (overhead.chunks.max(1)) as f64;
        table.row([
            name.into(),
            cost.pre_reads.into(),
            cost.log_writes.into(),
            cost.parity_writes.into(),
            cost.sum().into(),
            format!("{each:.3}").into(),
        ]);
    }
    table.print(context, false)?;
    let count = human::count;
    writeln!(
        context.out,
        "\nwrites    {} requests, {} chunks, {} different ones",
        count(overhead.writes),
        count(overhead.chunks),
        count(overhead.unique_chunks)
    )?;
    writeln!(
        context.out,
        "stripes   {} written whole, {} updated in part (in place: {} by RMW, {} by RCW)",
        count(overhead.full_stripes),
        count(overhead.updates),
        count(overhead.updates_rmw),
        count(overhead.updates - overhead.updates_rmw)
    )?;
    if overhead.partial_chunks > 0 {
        writeln!(
            context.out,
            "note      {} of the chunks were written in part, and count as updates of a chunk",
            count(overhead.partial_chunks)
        )?;
    }
    Ok(())
}

fn value(overhead: &Overhead) -> Value {
    let mut value = json!({
        "write_requests": overhead.writes,
        "chunks": overhead.chunks,
        "partial_chunks": overhead.partial_chunks,
        "unique_chunks": overhead.unique_chunks,
        "full_stripes": overhead.full_stripes,
        "updates": overhead.updates,
        "updates_rmw": overhead.updates_rmw,
    });
    for (_, name, cost) in ways(overhead) {
        value[name] = json!({
            "pre_read_chunks": cost.pre_reads,
            "log_write_chunks": cost.log_writes,
            "parity_write_chunks": cost.parity_writes,
            "sum_chunks": cost.sum(),
        });
    }
    value
}
