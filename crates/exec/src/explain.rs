//! Plans in words, for `stripewise explain` and for tests.

use std::fmt::Write as _;

use stripewise_core::geometry::Geometry;
use stripewise_core::operation::{Operation, OperationKind};
use stripewise_policy::update::{Cost, Decision, Reason, Routine};

use crate::plan::{PlanView, Purpose, Step};
use crate::row_locks::RowLock;

/// Describes a plan: its row, why its routine was chosen, and every step with its operations.
pub fn explain(plan: &PlanView<'_>, geometry: &Geometry) -> String {
    let mut text = String::new();
    describe_row(plan, geometry, &mut text);
    if plan.lost != 0 {
        let _ = writeln!(text, "  lost: {}", names(plan.lost, geometry));
    }
    if plan.around != 0 {
        let (around, direct) = plan.around_ns;
        let _ = writeln!(
            text,
            "  avoids {}, which would take {direct} ns; the others take {around} ns",
            names(plan.around, geometry)
        );
    }
    if plan.hedged != 0 {
        let reads: Vec<String> =
            plan.beside().map(|operation| in_words("read", &operation, geometry)).collect();
        let _ =
            writeln!(text, "  {} take long: beside them {}", names(plan.hedged, geometry), reads.join(", "));
    }
    let tolerable = geometry.tolerance();
    if plan.steps().is_empty() && plan.lost.count_ones() > tolerable {
        let _ = writeln!(text, "  fails, because the row tolerates the loss of {tolerable} at most");
        return text;
    }
    if matches!(plan.purpose, Purpose::Write | Purpose::Parity | Purpose::Resync) {
        describe_routine(&plan.decision, &mut text);
    }
    for (index, &step) in plan.steps().iter().enumerate() {
        let _ = write!(text, "  step {}: ", index + 1);
        describe_step(plan, step, geometry, &mut text);
        text.push('\n');
        // Content of the cache was acknowledged long before it leaves the cache.
        if usize::from(plan.ack_after) == index && !plan.destages {
            text.push_str("  -- the host is acknowledged --\n");
        }
    }
    text
}

/// The first line of a plan: its row and what it does.
fn describe_row(plan: &PlanView<'_>, geometry: &Geometry, text: &mut String) {
    let (purpose, lock) = (purpose_in_words(plan), lock_in_words(plan.lock));
    let is_commit = plan.purpose == Purpose::Parity && plan.dirty == 0;
    let written = if plan.purpose == Purpose::Parity { plan.dirty } else { plan.wanted };
    if plan.purpose == Purpose::Flush {
        let _ = writeln!(text, "flush of every member");
    } else if is_commit {
        let _ = writeln!(text, "row {}, {lock}: commit its deltas", plan.row);
    } else if plan.is_stripe {
        let _ = writeln!(text, "stripe from slot {} on: {purpose} {}", plan.row, names(written, geometry));
    } else {
        let _ = writeln!(text, "row {}, {lock}: {purpose} {}", plan.row, names(written, geometry));
    }
}

/// What a plan does with its columns.
fn purpose_in_words(plan: &PlanView<'_>) -> &'static str {
    match plan.purpose {
        Purpose::Read => "read",
        Purpose::Write if plan.destages => "destage",
        Purpose::Write if plan.absorbs => "cache, with parity,",
        Purpose::Destage => "destage",
        Purpose::Write => "write",
        Purpose::Parity => "update parity of",
        Purpose::Trim => "trim",
        Purpose::Flush => "flush",
        Purpose::Append => "append",
        Purpose::Merge => "read, to write a part of",
        Purpose::Collect => "collect",
        Purpose::Rebuild => "rebuild stripe",
        Purpose::RepairSummary => "copy summary",
        Purpose::Scrub => "scrub stripe",
        Purpose::Discard => "discard",
        Purpose::ReadSummary => "read summary",
        Purpose::Summary => "write summary",
        Purpose::Commit => "write metadata",
        Purpose::Resync => "make parity right",
        Purpose::Redo => "do again what was interrupted:",
        Purpose::JournalWrite => "journal",
        Purpose::JournalReclaim => "free records of the journal",
        Purpose::WriteSuperblocks => "write superblocks",
        Purpose::Inspect => "scrub metadata",
    }
}

/// How a plan locks its row.
fn lock_in_words(lock: RowLock) -> &'static str {
    match lock {
        RowLock::None => "not held",
        RowLock::Shared => "locked shared",
        RowLock::Exclusive => "locked exclusively",
        RowLock::SharedWrite => "shared by writes",
        RowLock::SharedParity => "locked beside writes",
    }
}

/// The routine of an update, and why it was chosen.
fn describe_routine(decision: &Decision, text: &mut String) {
    let _ = write!(text, "  routine: {}, because {}", decision.routine.name(), decision.reason.sentence());
    if decision.rmw_reads + decision.rcw_reads > 0 {
        let _ = write!(text, " (RMW {}, RCW {})", decision.rmw_reads, decision.rcw_reads);
    }
    text.push('\n');
    costs(decision, text);
}

/// A step, without a line break.
fn describe_step(plan: &PlanView<'_>, step: Step, geometry: &Geometry, text: &mut String) {
    match step {
        Step::Compute { pages: 0 } if plan.purpose == Purpose::Append => {
            text.push_str("copy the chunk for parity")
        }
        Step::Compute { pages: 0 } if plan.purpose == Purpose::Read => text.push_str("take what memory has"),
        Step::Compute { pages: 0 } if plan.decision.routine == Routine::Log => {
            text.push_str("take new data for the delta")
        }
        Step::Compute { pages: 0 } => text.push_str("merge with old content"),
        Step::Journal => text.push_str("wait until the journal has the new content"),
        Step::Compute { pages } => {
            let work = match plan.decision.routine {
                _ if matches!(plan.purpose, Purpose::Read | Purpose::Merge | Purpose::Collect) => {
                    if plan.around == 0 { "decode what is lost" } else { "decode the chunk that it avoids" }
                }
                Routine::Reconstruct => "decode what is lost and compute parity",
                Routine::Log => "compute deltas",
                _ => "compute parity",
            };
            let unit = if geometry.parity() > 1 { "page operation" } else { "exclusive-or" };
            let plural = if pages == 1 { "" } else { "s" };
            let _ = write!(text, "{work} over {pages} {unit}{plural}");
        }
        Step::Operations { .. } => {
            let operations: Vec<String> = plan
                .operations(step)
                .map(|operation| {
                    let verb = match operation.kind {
                        OperationKind::Read => "read",
                        OperationKind::Write => "write",
                        OperationKind::Trim => "trim",
                        OperationKind::Flush => return format!("flush member {}", operation.member),
                    };
                    in_words(verb, &operation, geometry)
                })
                .collect();
            text.push_str(&operations.join(", "));
        }
    }
}

/// The names of the columns of `mask`.
fn names(mask: u64, geometry: &Geometry) -> String {
    let names: Vec<String> =
        stripewise_core::bits::columns(mask).map(|column| name(column, geometry)).collect();
    names.join(" ")
}

fn in_words(verb: &str, operation: &Operation, geometry: &Geometry) -> String {
    let is_delta = !operation.member.is_within(geometry.members);
    format!(
        "{verb} {}{} (member {} page {}, {})",
        if is_delta { "delta of " } else { "" },
        name(u32::from(operation.column), geometry),
        operation.member,
        operation.page,
        operation.class.name()
    )
}

/// The terms of both routines' costs, where the policy computes costs.
fn costs(decision: &Decision, text: &mut String) {
    for (name, cost) in [("RMW", decision.rmw), ("RCW", decision.rcw)] {
        let Cost { update, delay } = cost;
        let _ = match decision.reason {
            Reason::LowerCost | Reason::EqualCost => writeln!(
                text,
                "  {name} costs {} ns: {update} for its slowest pre-read, {delay} for the writes that it delays",
                cost.sum()
            ),
            Reason::LighterLoad | Reason::Overloaded => writeln!(
                text,
                "  {name} reads a member of load {update} at most; the mean load is {delay} (weighted, in 4 KiB)"
            ),
            _ => Ok(()),
        };
    }
}

/// `D0`, `D1` … for data, `P` and `Q` for parity.
fn name(column: u32, geometry: &Geometry) -> String {
    match column.checked_sub(geometry.data) {
        None => format!("D{column}"),
        Some(0) => "P".into(),
        Some(_) => "Q".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(reason: Reason) -> String {
        let mut text = String::new();
        let (rmw, rcw) = (Cost { update: 180, delay: 630 }, Cost { update: 90, delay: 90 });
        costs(&Decision { routine: Routine::Rcw, reason, rmw, rcw, ..Decision::default() }, &mut text);
        text
    }

    #[test]
    fn costs_are_reported_by_policies_that_count_them() {
        assert_eq!(
            words(Reason::LowerCost),
            "  RMW costs 810 ns: 180 for its slowest pre-read, 630 for the writes that it delays\n\
             \x20 RCW costs 180 ns: 90 for its slowest pre-read, 90 for the writes that it delays\n"
        );
        assert!(words(Reason::LighterLoad).contains("RMW reads a member of load 180 at most"));
        assert_eq!(words(Reason::FewerPreReads), "");
    }
}
