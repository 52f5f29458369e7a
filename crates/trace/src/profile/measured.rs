//! Derives a profile from the statistics of a trace.

use stripewise_base::units::{Bytes, Count, Span};

use super::sizes::{SizeLaw, Sizes};
use super::statistics::{Arrivals, Footprint, Profile, Skew};
use crate::TraceError;
use crate::stats::{PAGE_BYTES, SizeStats, Stats};

pub(super) fn profile(stats: &Stats, source: &str) -> Result<Profile, TraceError> {
    if stats.requests == 0 {
        return Err(TraceError::Setting("a trace without requests has no profile".to_owned()));
    }
    let share = |count: u64| count as f64 / stats.requests as f64;
    let pages = |pages: u64| Some(Bytes(pages * PAGE_BYTES));
    let footprint = stats.footprint;
    Ok(Profile {
        source: source.to_owned(),
        requests: Count(stats.requests),
        write_ratio: stats.write_ratio,
        trim_ratio: share(stats.trims),
        flush_ratio: share(stats.flushes),
        update_ratio: stats.updates.ratio,
        sequential: stats.sequential,
        span: Bytes(stats.max_end_bytes),
        sizes: Sizes {
            read: law(&stats.size_read),
            // Where one sort of write does not occur, the sizes of the other apply to both.
            write: law(&stats.size_write).filter(|_| stats.size_first_write.requests == stats.writes),
            first_write: law(&stats.size_first_write).filter(|_| stats.size_update_write.requests > 0),
            update_write: law(&stats.size_update_write),
            trim: law(&stats.size_trim),
        },
        arrivals: arrivals(stats),
        footprint: Footprint {
            written: pages(footprint.written_pages_4k),
            read_only: pages(footprint.touched_pages_4k - footprint.written_pages_4k),
            reads_of_written: stats.skew.reads_of_written,
        },
        skew: Skew { hot20: stats.skew.hot20, head: 0.0 },
        places: None,
        // Not measured: the statistics hold counts of pages, not the time of the last write to each.
        recency: None,
        storm: None,
        start_sector: Some(stats.alignment.start_sector)
            .filter(|starts| starts[0] < 1.0 && starts.iter().sum::<f64>() > 0.0),
    })
}

fn law(sizes: &SizeStats) -> Option<SizeLaw> {
    let atom = |requests: u64| requests as f64 / sizes.requests as f64;
    let atoms: Vec<(Bytes, f64)> = sizes
        .atoms
        .iter()
        .filter(|atom| atom.bytes > 0)
        .map(|size| (Bytes(u64::from(size.bytes)), atom(size.requests)))
        .collect();
    (!atoms.is_empty()).then_some(SizeLaw { mean_kib: None, atoms })
}

fn arrivals(stats: &Stats) -> Arrivals {
    let cdf: Vec<(f64, Span)> =
        stats.gaps.cdf.iter().map(|point| (point.share, Span(point.gap_ns))).collect();
    // Rounded values at the points may lie a thousandth above the true ones; where all points are equal, the mean is
    // left out.
    let constant = cdf.first().map(|point| point.1) == cdf.last().map(|point| point.1);
    let mean = Span((stats.gaps.mean_ns + 0.5) as u64);
    if cdf.is_empty() || constant {
        let at = if cdf.is_empty() { Vec::new() } else { vec![(0.0, mean), (1.0, mean)] };
        return Arrivals { mean: at.is_empty().then_some(mean), cdf: at, correlation: 0.0 };
    }
    Arrivals { mean: Some(mean), cdf, correlation: 0.0 }
}
