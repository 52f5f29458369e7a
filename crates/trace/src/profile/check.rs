//! Checks whether a generated trace has the statistics of its profile, measured by the same code that measures any
//! trace.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::sync::{Mutex, PoisonError};

use stripewise_base::units::Span;

use super::amounts::Amounts;
use super::generator::ProfileRecipe;
use super::sizes;
use super::statistics::{Arrivals, Profile};
use crate::TraceError;
use crate::stats::{PAGE_BYTES, Stats, recorded_ns};

/// The tolerance of means, as a share of the mean.
pub const MEAN: f64 = 0.02;
/// The tolerance of points of the distribution of intervals, as a share of the intervals.
pub const CDF: f64 = 0.03;
/// The tolerance of the update ratio, as a share of the writes.
pub const UPDATES: f64 = 0.02;

/// Requests of the trial runs that fit the skew, and the number of pages that they may touch together.
const TRIAL: u64 = 50_000;
const TRIAL_PAGES: f64 = 8e6;
/// Fits that are kept.
const FITS: usize = 64;

/// One statistic: the value in the profile and the value in a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The name of the statistic.
    pub what: String,
    /// The value in the profile.
    pub wanted: f64,
    /// The measured value.
    pub found: f64,
    /// Largest difference that passes, in the unit of both values.
    pub tolerance: f64,
}

impl Finding {
    /// Whether the difference is within the tolerance.
    pub fn holds(&self) -> bool {
        (self.wanted - self.found).abs() <= self.tolerance
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds() { "holds" } else { "DIFFERS" };
        write!(f, "{}: {} for {} ± {}: {verdict}", self.what, self.found, self.wanted, self.tolerance)
    }
}

/// Compares `found`, the statistics of a trace, with `profile`: the write ratio, the mean sizes and the mean interval
/// within [`MEAN`], each point of the distribution of intervals within [`CDF`], the update ratio within [`UPDATES`].
pub fn compare(profile: &Profile, found: &Stats) -> Result<Vec<Finding>, TraceError> {
    let amounts = Amounts::of(profile, found.requests);
    let mut findings = Vec::new();
    let mut add = |what: &str, wanted: f64, found: f64, tolerance: f64| {
        findings.push(Finding { what: what.to_owned(), wanted, found, tolerance });
    };
    let ratio = profile.write_ratio;
    add("write ratio", ratio, found.write_ratio, MEAN * ratio + 1.0 / found.requests.max(1) as f64);
    let (first, update) =
        (sizes::mean(&profile.sizes.first_write_law()?), sizes::mean(&profile.sizes.update_write_law()?));
    let read = sizes::mean(&profile.sizes.read_law()?);
    let updates = amounts.updates as f64;
    let write = (first * (amounts.writes as f64 - updates) + update * updates) / amounts.writes.max(1) as f64;
    let data = (amounts.reads + amounts.writes).max(1) as f64;
    let all = (read * amounts.reads as f64 + write * amounts.writes as f64) / data;
    if amounts.reads > 0 {
        add("mean read size in bytes", read, found.size_read.mean_bytes, MEAN * read);
    }
    if amounts.writes > 0 {
        add("mean write size in bytes", write, found.size_write.mean_bytes, MEAN * write);
        // The first write is never an update, which matters in a short trace.
        let tolerance = UPDATES + 1.0 / amounts.writes as f64;
        add("update ratio", profile.update_ratio, found.updates.ratio, tolerance);
    }
    if data > 1.0 {
        add("mean size in bytes", all, found.size_all.mean_bytes, MEAN * all);
    }
    if let Some(mean) = profile.arrivals.mean.filter(|_| found.gaps.intervals > 1) {
        add("mean interval in ns", mean.0 as f64, found.gaps.mean_ns, MEAN * mean.0 as f64 + 0.5);
    }
    for (at, &(share, gap)) in profile.arrivals.cdf.iter().enumerate() {
        // Below a jump in the distribution the share cannot be measured at the jump itself, and in whole nanoseconds not
        // where the next point is a few of them away.
        let jump = profile.arrivals.cdf.get(at + 1).is_some_and(|next| next.1.0 - gap.0 <= gap.0 / 32);
        if !jump && found.gaps.intervals > 1 {
            let what = format!("share of intervals up to {gap}");
            add(&what, share, share_upto(found, gap.0), CDF + 1.0 / found.gaps.intervals as f64);
        }
    }
    Ok(findings)
}

/// The share of intervals of at most `gap_ns`, between the points of a measured distribution.
pub fn share_upto(stats: &Stats, gap_ns: u64) -> f64 {
    let reach = recorded_ns(gap_ns);
    let cdf = &stats.gaps.cdf;
    let after = cdf.partition_point(|point| point.gap_ns <= reach);
    let Some(below) = after.checked_sub(1).map(|at| cdf[at]) else { return 0.0 };
    let Some(above) = cdf.get(after) else { return below.share };
    let ln = |gap: u64| libm::log1p(gap as f64);
    let t = (ln(gap_ns.max(below.gap_ns)) - ln(below.gap_ns)) / (ln(above.gap_ns) - ln(below.gap_ns));
    below.share + (above.share - below.share) * t
}

/// Compares the statistics that a profile's trace meets approximately: the footprint in pages (written, and read
/// only), the share of accesses on the hottest fifth of pages, and that of sequential requests. The generator meets
/// them as far as the profile's other numbers allow; the tolerances are wide where those do not.
pub fn compare_places(profile: &Profile, found: &Stats) -> Vec<Finding> {
    let scale = found.requests as f64 / profile.requests.0.max(1) as f64;
    let pages = |bytes: u64| bytes as f64 * scale / PAGE_BYTES as f64;
    let mut findings = Vec::new();
    let mut add = |what: &str, wanted: f64, found: f64, tolerance: f64| {
        findings.push(Finding { what: what.to_owned(), wanted, found, tolerance });
    };
    // One large request more or less matters where a trace touches few pages, or few by reads or by writes alone.
    let near = |pages: f64| 0.05 * pages + 0.005 * found.footprint.touched_pages_4k as f64 + 64.0;
    let written = found.footprint.written_pages_4k as f64;
    let read_only = found.footprint.touched_pages_4k as f64 - written;
    if let Some(bytes) = profile.footprint.written {
        add("written footprint in pages", pages(bytes.0), written, near(pages(bytes.0)));
    }
    if let Some(bytes) = profile.footprint.read_only {
        add("read-only footprint in pages", pages(bytes.0), read_only, near(pages(bytes.0)));
    }
    add("hottest fifth", profile.skew.hot20, found.skew.hot20, 0.05);
    add("sequential", profile.sequential, found.sequential, 0.03);
    findings
}

/// The popularity of the first fifth of the extents with which a trace of `requests` requests has the profile's skew.
/// A study asks for few profiles, each thousands of times, and a fit takes up to half a second: the last ones are kept.
pub(super) fn fit_skew(profile: &Profile, requests: u64) -> Result<f64, TraceError> {
    static FITTED: Mutex<VecDeque<(Profile, u64, f64)>> = Mutex::new(VecDeque::new());
    // Arrival times do not affect the skew.
    let arrivals = Arrivals { mean: Some(Span(0)), ..Arrivals::default() };
    let profile = Profile { arrivals, ..profile.clone() };
    let laws =
        [profile.sizes.read_law()?, profile.sizes.first_write_law()?, profile.sizes.update_write_law()?];
    let largest_mean = laws.iter().map(sizes::mean).fold(0.0, f64::max);
    let affordable = (TRIAL_PAGES / (1.0 + largest_mean / PAGE_BYTES as f64)) as u64;
    let requests = requests.min(TRIAL).min(affordable);
    let fitted = || FITTED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |(other, its, _): &&(Profile, u64, f64)| *its == requests && *other == profile;
    if let Some(&(.., hot)) = fitted().iter().find(is_same) {
        return Ok(hot);
    }
    let hot = bisect(&profile, requests)?;
    let mut fitted = fitted();
    fitted.truncate(FITS - 1);
    fitted.push_front((profile, requests, hot));
    Ok(hot)
}

/// The same, by bisection over short trial runs. Where the most even popularity is too skewed, returns the most even; where
/// the strongest is not enough, the strongest.
pub(super) fn bisect(profile: &Profile, requests: u64) -> Result<f64, TraceError> {
    let trial = |hot: f64| -> Result<f64, TraceError> {
        let mut source = ProfileRecipe::run(profile, requests, hot, 1)?;
        Ok(Stats::collect(&mut source)?.skew.hot20)
    };
    let (mut low, mut high) = (0.01, 0.999);
    if trial(low)? >= profile.skew.hot20 {
        return Ok(low);
    }
    if trial(high)? <= profile.skew.hot20 {
        return Ok(high);
    }
    for _ in 0..8 {
        let middle = 0.5 * (low + high);
        if trial(middle)? < profile.skew.hot20 { low = middle } else { high = middle }
    }
    Ok(0.5 * (low + high))
}
