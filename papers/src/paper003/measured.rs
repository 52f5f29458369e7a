//! What the runs of a study measured, as far as the paper's results need it.

use stripewise_results::{Error, Table};
use stripewise_study::Finished;

use super::plan::Cell;
use super::variant::{Policy, Variant};
use crate::text::total;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Host requests, and writes among them.
    pub requests: f64,
    /// Writes among them.
    pub writes: f64,
    /// Mean response times in nanoseconds: of all requests, of reads, of writes.
    pub mean_ns: [f64; 3],
    /// Standard deviation of the response times of all requests.
    pub deviation_ns: f64,
    /// Response time that 99.9 % of requests do not exceed.
    pub p999_ns: f64,
    /// Simulated time.
    pub simulated_ns: f64,
    /// Chunks that hosts wrote into the cache, of those the ones that were in it already, and chunks read from it.
    pub cache: [f64; 3],
    /// Groups or strips destaged.
    pub destages: f64,
    /// Times that a write waited for room in the cache.
    pub room_waits: f64,
    /// Times that strips left the cache together, and of those the ones without a strip for some SSD.
    pub releases: [f64; 2],
    /// Pages pre-read.
    pub pre_reads: f64,
    /// Share of the slices of 0.1 ms in which so many SSDs collected, from none on.
    pub collecting: Vec<f64>,
    /// Blocks erased.
    pub erases: f64,
    /// Valid pages moved for each of them.
    pub moved_pages: f64,
    /// How long a collection takes, in nanoseconds, where each was recorded.
    pub collection_ns: Option<f64>,
    /// Pages programmed by the SSDs for each that the array wrote.
    pub programs_per_member_page: f64,
    /// Share of time in which dies work.
    pub busy: f64,
}

impl Run {
    /// What `finished` measured.
    fn of(finished: &Finished) -> Result<Self, Error> {
        let run = &finished.run;
        let totals = run.totals()?;
        let value = |name: &str| total(&totals, name);
        let simulated_ns = value("simulated_ns");
        let erases = value("erase_blocks");
        let column = |table, name: &str| -> Result<Vec<u64>, Error> {
            Ok(run.columns(table)?.and_then(|mut columns| columns.remove(name)).unwrap_or_default())
        };
        Ok(Self {
            requests: value("requests"),
            writes: value("write_requests"),
            mean_ns: ["response_mean_ns", "read_mean_ns", "write_mean_ns"].map(value),
            deviation_ns: value("response_deviation_ns"),
            p999_ns: value("response_p999_ns"),
            simulated_ns,
            cache: ["cache_write_chunks", "cache_absorbed_chunks", "cache_hit_chunks"].map(value),
            destages: value("destages"),
            room_waits: value("cache_room_waits"),
            releases: ["strip_releases", "incomplete_releases"].map(value),
            pre_reads: value("pre_read_pages"),
            collecting: shares(&column(Table::GcSlices, "slices")?),
            erases,
            moved_pages: value("gc_move_pages") / erases.max(1.0),
            collection_ns: mean_collection(
                &column(Table::Gcs, "start_ns")?,
                &column(Table::Gcs, "end_ns")?,
                simulated_ns,
            ),
            programs_per_member_page: value("programs_per_member_page"),
            busy: value("die_utilisation"),
        })
    }

    /// P(n >= k): the share of the slices in which so many SSDs or more collected.
    pub fn at_least(&self, ssds: usize) -> f64 {
        self.collecting.iter().skip(ssds).sum()
    }

    /// P(n >= k | n >= 1): of the slices in which any did; none where none did.
    pub fn at_least_of_any(&self, ssds: usize) -> Option<f64> {
        let any = self.at_least(1);
        (any > 0.0).then(|| self.at_least(ssds) / any)
    }
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
    crate::text::mean_of(&lengths)
}

/// The runs of one study.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The study.
    pub cell: Cell,
    /// Its runs, in the order of the cell's variants.
    pub runs: Vec<Run>,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured.
    ///
    /// # Errors
    /// When their tables cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished]) -> Result<Self, Error> {
        let runs = finished.iter().map(Run::of).collect::<Result<_, Error>>()?;
        Ok(Self { cell: cell.clone(), runs })
    }

    /// The run of a variant.
    pub fn run(&self, variant: Variant) -> Option<&Run> {
        let place = self.cell.variants.iter().position(|other| *other == variant)?;
        self.runs.get(place)
    }

    /// The run of a preset as it is.
    pub fn preset(&self, policy: Policy) -> Option<&Run> {
        self.run(Variant::of(policy))
    }

    /// The variants with their runs.
    pub fn each(&self) -> impl Iterator<Item = (Variant, &Run)> {
        self.cell.variants.iter().copied().zip(&self.runs)
    }

    /// How much lower the mean response of `ours` is than that of `theirs`.
    pub fn gain(&self, ours: Variant, theirs: Variant) -> Option<f64> {
        let (ours, theirs) = (self.run(ours)?.mean_ns[0], self.run(theirs)?.mean_ns[0]);
        (theirs > 0.0).then(|| 1.0 - ours / theirs)
    }

    /// How much longer the mean response of the hybrid is than that of the better of WOW and SIW.
    pub fn hybrid_excess(&self) -> Option<f64> {
        let mean = |policy| self.preset(policy).map(|run| run.mean_ns[0]);
        let better = f64::min(mean(Policy::Wow)?, mean(Policy::Siw)?);
        (better > 0.0).then_some(mean(Policy::Hybrid)? / better - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synchrony_is_counted_over_all_slices_and_over_those_in_which_any_collects() {
        // The hand-computed case: A collects in [0, 3) ms, B in [2, 5): 50 slices with one or two, 10 with two.
        let run = Run { collecting: shares(&[50, 40, 10]), ..Run::default() };
        assert!((run.at_least(1) - 0.5).abs() < 1e-12 && (run.at_least(2) - 0.1).abs() < 1e-12);
        assert!(run.at_least_of_any(2).is_some_and(|share| (share - 0.2).abs() < 1e-12));
        assert_eq!(Run::default().at_least_of_any(2), None);
    }

    #[test]
    fn collections_before_the_measured_part_do_not_count() {
        let (starts, ends) = ([0, 100, 200], [90, 130, 250]);
        assert_eq!(mean_collection(&starts, &ends, 150.0), Some(40.0));
        assert_eq!(mean_collection(&starts, &ends, 1_000.0), Some(170.0 / 3.0));
        assert_eq!(mean_collection(&[], &[], 150.0), None);
    }
}
