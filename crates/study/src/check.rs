//! What a plan costs, and what it leaves out.

use std::collections::BTreeMap;

use stripewise_runs::Observer;

use crate::error::Error;
use crate::plan::{Cell, Plan};

/// Processor time of a run: to set up and precondition each page of flash, and for each request. Measured.
const PAGE_NS: u64 = 14;
const REQUEST_NS: u64 = 3_400;
/// Bytes of a run in the store, with its share of a file. A test compares it with those of real runs.
pub(crate) const RUN_BYTES: u64 = 1_500;
/// The most reasons that are distinguished.
const REASONS_MAX: usize = 1000;

/// The findings about a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// Points with at least one scheme.
    pub points: u64,
    /// Points with each of their schemes: what the seeds repeat.
    pub combinations: u64,
    /// Runs if all seeds end at the first look.
    pub runs_least: u64,
    /// Runs if none does.
    pub runs_most: u64,
    /// Expected processor time of these runs.
    pub cpu_least_ns: u128,
    /// The same.
    pub cpu_most_ns: u128,
    /// Combinations that are refused.
    pub skipped: Vec<Skipped>,
}

/// Combinations that are refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The reason.
    pub reason: String,
    /// Their number.
    pub combinations: u64,
    /// The first of them.
    pub example: String,
}

impl Check {
    /// The bytes of all runs in the store, at least and at most.
    pub fn bytes(&self) -> (u64, u64) {
        (self.runs_least * RUN_BYTES, self.runs_most * RUN_BYTES)
    }
}

/// The expected processor time of a run at a point with these schemes.
pub(crate) fn cost_ns(plan: &Plan, cell: &Cell, fitting: u64, observer: &dyn Observer) -> u64 {
    let pages = plan.flash_pages(cell, fitting.trailing_zeros() as usize).unwrap_or(0);
    let requests = plan.requests(cell, observer).unwrap_or(0);
    let passes = if plan.finds_warmup(cell) { 2 } else { 1 };
    PAGE_NS.saturating_mul(pages).saturating_add(REQUEST_NS.saturating_mul(requests)).saturating_mul(passes)
}

/// Visits all points of a plan.
///
/// # Errors
/// When no combination is left; [`stripewise_runs::Error::Stopped`].
pub fn check(plan: &Plan, observer: &dyn Observer) -> Result<Check, Error> {
    let mut check = Check::default();
    let (least, most) = plan.file().replicate.rule.range();
    let mut skipped: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for cell in plan.cells() {
        if !observer.may_continue() {
            return Err(stripewise_runs::Error::Stopped.into());
        }
        let (fitting, reasons) = plan.fitting(&cell, observer);
        for (scheme, reason) in reasons {
            let is_known = skipped.contains_key(&reason);
            let reason =
                if is_known || skipped.len() < REASONS_MAX { reason } else { "other reasons".to_owned() };
            let entry = skipped.entry(reason).or_insert_with(|| (0, name(plan, &cell, scheme)));
            entry.0 += 1;
        }
        let schemes = u64::from(fitting.count_ones());
        if schemes == 0 {
            continue;
        }
        let cost = u128::from(cost_ns(plan, &cell, fitting, observer));
        check.points += 1;
        check.combinations += schemes;
        check.runs_least += schemes * u64::from(least);
        check.runs_most += schemes * u64::from(most);
        check.cpu_least_ns += cost * u128::from(schemes * u64::from(least));
        check.cpu_most_ns += cost * u128::from(schemes * u64::from(most));
    }
    let all = |(reason, (combinations, example))| Skipped { reason, combinations, example };
    check.skipped = skipped.into_iter().map(all).collect();
    check.skipped.sort_by_key(|skipped| std::cmp::Reverse(skipped.combinations));
    if check.points == 0 {
        let remedy = "change [base], [axes], [[only]] or [[except]]";
        let first = check.skipped.first();
        let why = first.map_or(String::new(), |it| format!("; {}: {}", it.example, it.reason));
        return Err(Error::Spec(format!(
            "{}: no combination is left{why}; {remedy}",
            plan.file().path.display()
        )));
    }
    Ok(check)
}

/// A combination, for people.
pub(crate) fn name(plan: &Plan, cell: &Cell, scheme: usize) -> String {
    let values = plan.values(cell).map(|(key, value)| format!("{key} = {value}"));
    std::iter::once(plan.file().schemes[scheme].clone()).chain(values).collect::<Vec<_>>().join(", ")
}
