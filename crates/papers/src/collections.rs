//! How many members collect garbage together, and how long a collection takes: columns that are made of tables of a run.

use stripewise_results::{Error, Table};
use stripewise_runs::Finished;

use crate::point::Columns;
use crate::text::mean_of;

/// Adds `collecting`, the share of the slices of time in which N members collected, from none on; and `collection_ns`, how
/// long a collection of the measured part takes, where each was recorded.
pub(crate) fn add(columns: &mut Columns, finished: &Finished) -> Result<(), Error> {
    let column = |table, name: &str| -> Result<Vec<u64>, Error> {
        Ok(finished.run.columns(table)?.and_then(|mut columns| columns.remove(name)).unwrap_or_default())
    };
    columns.set_list("collecting", &shares(&column(Table::GcSlices, "slices")?));
    let (starts, ends) = (column(Table::Gcs, "start_ns")?, column(Table::Gcs, "end_ns")?);
    let simulated_ns = columns.get("simulated_ns").unwrap_or(0.0);
    match mean_collection(&starts, &ends, simulated_ns) {
        Some(ns) => columns.set("collection_ns", ns),
        None => columns.set_none("collection_ns"),
    }
    Ok(())
}

/// Each number's share of all.
fn shares(counts: &[u64]) -> Vec<f64> {
    let all = counts.iter().sum::<u64>().max(1) as f64;
    counts.iter().map(|count| *count as f64 / all).collect()
}

/// The mean length of the collections in the last `within_ns`: warm-up excluded.
fn mean_collection(starts: &[u64], ends: &[u64], within_ns: f64) -> Option<f64> {
    let last = *ends.iter().max()? as f64;
    let ours = starts.iter().zip(ends).filter(|(start, _)| **start as f64 >= last - within_ns);
    let lengths: Vec<f64> = ours.map(|(start, end)| (end - start) as f64).collect();
    mean_of(&lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_slices() {
        // A collects in [0, 3) ms, B in [2, 5): 50 slices with one or two, 10 with two.
        assert_eq!(shares(&[50, 40, 10]), [0.5, 0.4, 0.1]);
        assert_eq!(shares(&[0, 0]), [0.0, 0.0]);
    }

    #[test]
    fn collections_before_the_measured_part_do_not_count() {
        let (starts, ends) = ([0, 100, 200], [90, 130, 250]);
        assert_eq!(mean_collection(&starts, &ends, 150.0), Some(40.0));
        assert_eq!(mean_collection(&starts, &ends, 1_000.0), Some(170.0 / 3.0));
        assert_eq!(mean_collection(&[], &[], 150.0), None);
    }
}
