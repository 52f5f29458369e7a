//! Whether generated requests come at the intervals that a paper prints.

use serde_json::{Value as Json, json};
use stripewise_trace::{Request, Source};

use crate::document;
use crate::error::Error;
use crate::paper::Paper;
use crate::point::StudyPoint;

/// Requests that are read at a time.
const BATCH: usize = 4096;

/// The intervals of one workload.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// The workload.
    pub workload: String,
    /// For each of the printed intervals, the share of ours that do not exceed it.
    pub shares: Vec<f64>,
    /// The longest.
    pub longest_ns: u64,
    /// From the first request to the last.
    pub span_ns: u64,
    /// Whether no share is further from the printed one than the tolerance.
    pub fits: bool,
}

impl Intervals {
    /// As the names that expressions find.
    pub fn json(&self) -> Json {
        json!({
            "workload": self.workload, "shares": self.shares, "longest_ns": self.longest_ns, "fits": self.fits,
            "span_ns": self.span_ns,
        })
    }

    /// Reads the requests to their end and compares their intervals with those `printed`.
    fn of(
        workload: String,
        printed: &[u64],
        spec: &document::Intervals,
        requests: &mut dyn Source,
    ) -> Result<Self, Error> {
        let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
        let (mut first, mut last) = (None, 0);
        let (mut counts, mut gaps, mut longest_ns) = (vec![0u64; printed.len()], 0u64, 0);
        loop {
            requests.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for request in &batch {
                if first.is_some() {
                    let gap = request.time_ns - last;
                    gaps += 1;
                    longest_ns = longest_ns.max(gap);
                    for (count, bound) in counts.iter_mut().zip(printed) {
                        *count += u64::from(gap <= *bound);
                    }
                }
                first.get_or_insert(request.time_ns);
                last = request.time_ns;
            }
        }
        let shares: Vec<f64> = counts.iter().map(|count| *count as f64 / gaps.max(1) as f64).collect();
        let span_ns = last - first.unwrap_or(0);
        let off = shares.iter().zip(&spec.shares).map(|(found, printed)| (found - printed).abs());
        let fits = off.fold(0.0, f64::max) <= spec.tolerance;
        Ok(Self { workload, shares, longest_ns, span_ns, fits })
    }
}

impl Paper {
    /// The intervals of the `requests` of a point; none where the paper prints none of them. `requests` is called only where it
    /// does.
    ///
    /// # Errors
    /// When the requests cannot be read, or what is wrong in the paper's file.
    pub fn intervals<S: Source>(
        &self,
        point: &StudyPoint,
        requests: impl FnOnce() -> Result<S, stripewise_runs::Error>,
    ) -> Result<Option<Intervals>, Error> {
        let Some(spec) = &self.document.intervals else { return Ok(None) };
        if !self.language.holds(Some(&spec.when), &point.names())? {
            return Ok(None);
        }
        let workload = point.text("workload");
        let Some(printed) = spec.printed.get(&workload) else { return Ok(None) };
        Intervals::of(workload, printed, spec, &mut requests()?).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_trace::{Kind, TraceError};

    struct At(Vec<u64>);

    impl Source for At {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
            batch.clear();
            let times = std::mem::take(&mut self.0);
            batch.extend(times.into_iter().map(|time_ns| Request {
                time_ns,
                offset: 0,
                bytes: 4096,
                volume: 0,
                kind: Kind::Read,
            }));
            Ok(())
        }
    }

    #[test]
    fn shares_are_counted_at_the_printed_points() {
        let paper = Paper::find("000").unwrap_or_else(|error| panic!("{error}"));
        let spec = paper.document.intervals.as_ref().expect("Table IV");
        let of = |times: &[u64]| {
            Intervals::of("Ali_0".to_owned(), &spec.printed["Ali_0"], spec, &mut At(times.to_vec()))
                .expect("requests")
        };
        // Intervals of 1.0, 1.2, 1.5, 2.0 and 5000 us: one each in Ali_0's fifths.
        let found = of(&[7, 1_007, 2_207, 3_707, 5_707, 5_005_707]);
        assert_eq!(found.shares, [0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!((found.longest_ns, found.span_ns, found.fits), (5_000_000, 5_005_700, true));
        assert!(!of(&[0, 900, 1_800]).fits);
    }
}
