//! Tables of the work of each member of a run.

use serde_json::{Map, Value, json};
use stripewise_results::{Columns, Figure, FinishedRun, Table as Results};

use crate::context::{Context, width};
use crate::failure::Outcome;
use crate::human;
use crate::table::Table;

/// The number of members that are listed; a device of chips has hundreds.
const LISTED: usize = 64;

/// The table of members, a column a list, and the simulated time.
struct Members {
    columns: Columns,
    count: usize,
    simulated_ns: u64,
}

impl Members {
    fn of(run: &FinishedRun) -> Result<Self, stripewise_results::Error> {
        let columns = run.columns(Results::Members)?.unwrap_or_default();
        let simulated_ns = match run.totals()?.get("simulated_ns") {
            Some(Figure::Count(ns)) => ns,
            _ => 0,
        };
        Ok(Self { count: columns.get("member").map_or(0, Vec::len), columns, simulated_ns })
    }

    fn value(&self, name: &str, member: usize) -> u64 {
        self.columns.get(name).and_then(|column| column.get(member)).copied().unwrap_or(0)
    }

    /// Percent of the simulated time.
    fn percent(&self, ns: u64) -> Value {
        quotient(ns as f64 * 100.0, self.simulated_ns as f64)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "member",
            "reads",
            "writes",
            "p99.9_us",
            "dies_busy_%",
            "busiest_die_%",
            "collecting_%",
            "erases",
            "programs/write",
        ]);
        for member in 0..self.count.min(LISTED) {
            let of = |name: &str| self.value(name, member);
            let sum = |names: &[&str]| names.iter().map(|name| of(name)).sum::<u64>();
            let reads =
                sum(&["host_read_pages", "pre_read_pages", "array_gc_read_pages", "decode_read_pages"]);
            let writes = sum(&[
                "host_write_pages",
                "parity_write_pages",
                "log_write_pages",
                "array_gc_write_pages",
                "repair_write_pages",
            ]);
            table.row([
                json!(of("member")),
                json!(reads),
                json!(writes),
                json!(of("operation_p999_ns") / 1000),
                self.percent(of("cell_busy_ns") / of("dies").max(1)),
                self.percent(of("busiest_die_ns")),
                self.percent(of("gc_busy_ns")),
                json!(of("erase_blocks")),
                quotient(of("flash_program_pages") as f64, writes as f64),
            ]);
        }
        table
    }
}

/// A quotient to two decimals, as wide as the next; 0 over nothing.
fn quotient(over: f64, under: f64) -> Value {
    Value::String(format!("{:>6.2}", if under > 0.0 { over / under } else { 0.0 }))
}

/// Prints the work of each member: pages that the array read from it and wrote to it, the tail of these operations,
/// how busy its dies were, how long it collected garbage, its erases, and the pages that its flash programmed for
/// each of these writes.
pub(crate) fn print(run: &FinishedRun, context: &mut Context<'_>) -> Outcome {
    let members = Members::of(run)?;
    context.out.write_all(members.table().text(width()).as_bytes())?;
    if members.count > LISTED {
        let left_out = human::count((members.count - LISTED) as u64);
        writeln!(context.out, "… and {left_out} more: all are in {}", Results::Members.file())?;
    }
    Ok(writeln!(context.out)?)
}

/// The table of members unchanged, an object a row.
pub(crate) fn json(run: &FinishedRun) -> Result<Value, stripewise_results::Error> {
    let members = Members::of(run)?;
    let row = |member| {
        let value = |name: &String| (name.clone(), json!(members.value(name, member)));
        Value::Object(members.columns.keys().map(value).collect::<Map<_, _>>())
    };
    Ok((0..members.count).map(row).collect())
}
