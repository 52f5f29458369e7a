//! Whether generated requests come as the paper's Table IV says.

use stripewise_trace::{Request, Source, TraceError};

/// Table IV: the interval, in nanoseconds, that 20, 40, 60 and 80 % of the intervals do not exceed, and the longest. The
/// last of lun1 and lun2 are printed as 2.0 and 2.9 ms, below what 80 % do not exceed: milliseconds for seconds.
const PRINTED: [(&str, [u64; 5]); 6] = [
    ("hm_0", [100, 300, 1_900, 200_000, 900_000_000]),
    ("lun0", [39_900, 385_800, 879_100, 2_000_000, 11_400_000]),
    ("lun1", [31_000, 397_100, 836_900, 4_200_000, 2_000_000_000]),
    ("lun2", [32_300, 433_900, 888_100, 4_000_000, 2_900_000_000]),
    ("Ali_0", [1_000, 1_300, 1_500, 2_700, 9_900_000]),
    ("Ali_1", [1_900, 2_200, 2_600, 4_900, 200_000_000]),
];

/// The shares of the columns of Table IV.
const SHARES: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];

/// A share of intervals that is further from the printed one than this does not fit.
const TOLERANCE: f64 = 0.01;

/// The intervals of one workload.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// The workload.
    pub workload: String,
    /// For each of the printed intervals, the share of ours that do not exceed it.
    pub shares: [f64; 5],
    /// The longest.
    pub longest_ns: u64,
    /// From the first request to the last.
    pub span_ns: u64,
}

impl Intervals {
    /// The largest distance of a share from the printed one.
    pub fn deviation(&self) -> f64 {
        let gaps = self.shares.iter().zip(SHARES).map(|(found, printed)| (found - printed).abs());
        gaps.fold(0.0, f64::max)
    }

    /// Whether the intervals are those of the table.
    pub fn fit(&self) -> bool {
        self.deviation() <= TOLERANCE
    }
}

/// Reads the requests of `source` to their end and tells their intervals; nothing for a workload that the paper has not.
///
/// # Errors
/// When the requests cannot be read.
pub fn intervals(workload: &str, source: &mut dyn Source) -> Result<Option<Intervals>, TraceError> {
    let Some((_, printed)) = PRINTED.iter().find(|(name, _)| *name == workload) else { return Ok(None) };
    let mut batch: Vec<Request> = Vec::with_capacity(4096);
    let (mut first, mut last) = (None, 0);
    let (mut counts, mut gaps, mut longest_ns) = ([0u64; 5], 0u64, 0);
    loop {
        source.next_batch(&mut batch)?;
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
    let shares = counts.map(|count| count as f64 / gaps.max(1) as f64);
    let span_ns = last - first.unwrap_or(0);
    Ok(Some(Intervals { workload: workload.to_owned(), shares, longest_ns, span_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_trace::Kind;

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
        // Intervals of 1.0, 1.2, 1.5, 2.0 and 5000 us: one each in Ali_0's fifths.
        let mut source = At(vec![7, 1_007, 2_207, 3_707, 5_707, 5_005_707]);
        let found = intervals("Ali_0", &mut source).unwrap().expect("a workload of the paper");
        assert_eq!(found.shares, [0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!((found.longest_ns, found.span_ns), (5_000_000, 5_005_700));
        assert!(found.fit());
        let found = intervals("Ali_0", &mut At(vec![0, 900, 1_800])).unwrap().expect("a workload");
        assert!(!found.fit() && found.deviation() > 0.79);
        assert!(intervals("proj_0", &mut At(vec![])).unwrap().is_none());
    }
}
