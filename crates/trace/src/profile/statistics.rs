//! The statistics of a workload, as a profile states them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use stripewise_base::prng::Prng;
use stripewise_base::suggest::{self, ConfigError};
use stripewise_base::units::{Bytes, Count, Span};

use super::amounts::Amounts;
use super::sizes::Sizes;
use crate::TraceError;
use crate::stats::PAGE_BYTES;

/// The statistics of a workload. Shares lie in `0.0..=1.0`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The source of the numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Number of requests that the numbers describe. More or fewer can be generated; footprints scale accordingly.
    pub requests: Count,
    /// Writes over reads and writes.
    pub write_ratio: f64,
    /// Trims over all requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_ratio: f64,
    /// Flushes over all requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flush_ratio: f64,
    /// Writes that meet a page that was written before, over all writes (see [`crate::stats::Updates`]).
    pub update_ratio: f64,
    /// Reads and writes that continue a recent one, over all (see [`crate::stats::RECENT`]).
    pub sequential: f64,
    /// Address space in bytes that requests fall into; widened where the data does not fit.
    pub span: Bytes,
    /// Sizes of requests.
    pub sizes: Sizes,
    /// Intervals between requests.
    pub arrivals: Arrivals,
    /// Distinct data.
    pub footprint: Footprint,
    /// How unevenly accesses fall on pages.
    pub skew: Skew,
    /// Where data lies; absent: in zones that begin at powers of two and are filled without holes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
    /// How soon writes return to written data; absent: no sooner than skew and sequentiality make them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recency: Option<Recency>,
    /// Storms of updates; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<Storm>,
    /// Weights of the eight 512 B sectors of a 4 KiB page as the beginning of a request; absent: all at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_sector: Option<[f64; 8]>,
}

/// Intervals between requests: a distribution, a mean, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Mean interval. Without `cdf`, intervals are exponential (a Poisson process); zero means all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Span>,
    /// Points of the distribution, `[share, interval]`, from share 0 to share 1, never descending; log-linear between
    /// them (see `mean`). Two points at the same interval make a jump.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cdf: Vec<(f64, Span)>,
    /// How far intervals cluster, 0 (the default: a random order) to 1: the correlation of the process by whose ranks
    /// intervals are ordered with its part that remembers the intervals before. Neighbours then correlate by about 0.9
    /// times its square. Distribution and mean are the same for each value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: f64,
}

/// Distinct data that requests touch, in bytes of 4 KiB pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// Data written; absent: the data that the first writes cover. Never less than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Bytes>,
    /// Data read and never written; absent: enough that reads meet new data as rarely as writes do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<Bytes>,
    /// Share of page reads that go to data which the trace also writes.
    pub reads_of_written: f64,
}

/// How unevenly accesses fall on pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skew {
    /// Share of page accesses on the hottest 20 % of the touched pages.
    pub hot20: f64,
    /// How flat the top of the law is: the share of the extents by which the ranks of its power law begin later, so that
    /// about as many are almost equally hot. 0 (the default) is a plain power law, whose first few take a large share.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head: f64,
}

/// Where data lies in the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// Whether zones begin anywhere, and not at powers of two. Otherwise the oldest data, which is the hottest, meets
    /// few members of an array.
    #[serde(default, skip_serializing_if = "is_false")]
    pub phase: bool,
    /// The lengths of runs of adjacent data; absent: each zone is one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<ExtentLaw>,
}

/// A log-normal law of the lengths of extents. An extent is never shorter than the request that begins it, and ends
/// after the one that reaches its length; holes behind extents use the room that the span leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtentLaw {
    /// Median length.
    pub median: Bytes,
    /// Standard deviation of the natural logarithm of the length.
    pub sigma: f64,
}

impl ExtentLaw {
    fn median_pages(self) -> f64 {
        self.median.0 as f64 / PAGE_BYTES as f64
    }

    /// Mean length in pages.
    pub(super) fn mean_pages(self) -> f64 {
        (self.median_pages() * libm::exp(0.5 * self.sigma * self.sigma)).max(1.0)
    }

    /// A length in pages.
    pub(super) fn draw(self, prng: &mut Prng) -> u64 {
        // Box and Muller.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - prng.unit()));
        let normal = radius * libm::cos(std::f64::consts::TAU * prng.unit());
        ((self.median_pages() * libm::exp(self.sigma * normal) + 0.5) as u64).clamp(1, MOST_EXTENT)
    }
}

/// The longest extent that is drawn, in pages.
const MOST_EXTENT: u64 = 1 << 32;
/// The largest deviation of a law of extents.
const MOST_SIGMA: f64 = 4.0;

/// How soon writes return to written data: locality in time, which skew does not describe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recency {
    /// Share of the update writes that go to the place of a recent write.
    pub share: f64,
    /// The number of recent writes. The choice among them is uniform in the logarithm of their age.
    pub within: Count,
    /// Share of the update writes that go to the place of one of the last six, chosen alike; beside `share`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub immediate: f64,
}

/// Storms of updates: a few places that take many writes, and move now and then. Paper 000, section I, names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storm {
    /// Share of the update writes, without those that continue a recent request, that begin at a place of the storm.
    pub share: f64,
    /// Places of a storm at a time.
    pub pages: Count,
    /// Writes of a storm before it moves to other places.
    pub every: Count,
}

/// The most places of a storm.
const MOST_STORM: u64 = 1 << 16;

/// The most writes that a generator remembers.
const MOST_RECENT: u64 = 1 << 24;

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Profile {
    /// Parses `text`, the contents of `file`, which the errors name.
    ///
    /// # Errors
    /// A TOML error with line and caret, an unknown key with the nearest known one, or a value without meaning.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, TraceError> {
        let setting = |error: ConfigError| TraceError::Setting(error.to_string());
        let profile: Self = suggest::read_toml(file, text).map_err(setting)?;
        profile.validate().map_err(|error| TraceError::Setting(format!("{file}: {error}")))?;
        Ok(profile)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// As [`Profile::from_toml`], or that the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        Self::from_toml(&path.display().to_string(), &text)
    }

    /// The profile as TOML that [`Profile::from_toml`] can read.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile has TOML types only, tables last")
    }

    pub(super) fn validate(&self) -> Result<(), TraceError> {
        let fail = |message: String| Err(TraceError::Setting(format!("profile: {message}")));
        let shares = [
            ("write_ratio", self.write_ratio),
            ("trim_ratio", self.trim_ratio),
            ("flush_ratio", self.flush_ratio),
            ("update_ratio", self.update_ratio),
            ("sequential", self.sequential),
            ("footprint.reads_of_written", self.footprint.reads_of_written),
            ("skew.hot20", self.skew.hot20),
            ("skew.head", self.skew.head),
            ("arrivals.correlation", self.arrivals.correlation),
            ("recency.share", self.recency.map_or(0.0, |recency| recency.share)),
            ("recency.immediate", self.recency.map_or(0.0, |recency| recency.immediate)),
            ("storm.share", self.storm.map_or(0.0, |storm| storm.share)),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return fail(format!("{name} = {share} is not a share; write a number from 0 to 1"));
            }
        }
        if self.trim_ratio + self.flush_ratio > 1.0 {
            return fail("trim_ratio and flush_ratio exceed 1 together; lower one".to_owned());
        }
        if self.span.0 > 1 << 60 {
            return fail(format!("span = {} is beyond 1024 PiB; narrow it", self.span));
        }
        if let Some(weights) = self.start_sector {
            let sum: f64 = weights.iter().sum();
            if !sum.is_finite() || sum <= 0.0 || weights.iter().any(|&weight| weight < 0.0) {
                return fail("start_sector needs weights of 0 or more, not all 0".to_owned());
            }
        }
        for (name, data) in [("written", self.footprint.written), ("read_only", self.footprint.read_only)] {
            if data.is_some_and(|bytes| bytes.0 > 1 << 60) {
                return fail(format!("footprint.{name} is beyond 1024 PiB; lower it"));
            }
        }
        if self.recency.is_some_and(|recency| !(1..=MOST_RECENT).contains(&recency.within.0)) {
            return fail(format!("recency.within is no number of writes from 1 to {MOST_RECENT}; change it"));
        }
        if self.storm.is_some_and(|storm| !(1..=MOST_STORM).contains(&storm.pages.0)) {
            return fail(format!("storm.pages is no number of places from 1 to {MOST_STORM}; change it"));
        }
        if self.storm.is_some_and(|storm| storm.every.0 <= storm.pages.0) {
            return fail(
                "storm.every is no more than storm.pages, so that no place is met twice; raise it".to_owned(),
            );
        }
        if self.recency.is_some_and(|recency| recency.share + recency.immediate > 1.0) {
            return fail("recency.share and recency.immediate exceed 1 together; lower one".to_owned());
        }
        if let Some(law) = self.places.and_then(|places| places.extents) {
            let fits = (PAGE_BYTES..=1 << 40).contains(&law.median.0);
            if !fits || !(0.0..=MOST_SIGMA).contains(&law.sigma) {
                return fail(format!(
                    "places.extents needs a median from 4KiB to 1TiB and a sigma from 0 to {MOST_SIGMA}; change them"
                ));
            }
        }
        self.validate_sizes()?;
        self.validate_arrivals()
    }

    fn validate_sizes(&self) -> Result<(), TraceError> {
        let (sizes, amounts) = (&self.sizes, Amounts::of(self, self.requests.0));
        let writes = sizes.write.is_some() || (sizes.first_write.is_some() && sizes.update_write.is_some());
        let lacking = [
            ("read", amounts.reads > 0 && sizes.read.is_none()),
            ("write", amounts.writes > 0 && !writes),
            ("trim", amounts.trims > 0 && sizes.trim.is_none() && sizes.write.is_none()),
        ];
        if let Some((name, _)) = lacking.iter().find(|(_, lacks)| *lacks) {
            let message = format!("profile: sizes.{name} is missing; give {{ mean_kib = 8 }} or atoms");
            return Err(TraceError::Setting(message));
        }
        let laws = [sizes.read_law(), sizes.first_write_law(), sizes.update_write_law(), sizes.trim_law()];
        laws.into_iter().try_for_each(|law| law.map(|_| ()))
    }

    fn validate_arrivals(&self) -> Result<(), TraceError> {
        let fail = |message: String| Err(TraceError::Setting(format!("profile: {message}")));
        let cdf = &self.arrivals.cdf;
        if cdf.is_empty() {
            return match self.arrivals.mean {
                Some(_) => Ok(()),
                None => fail("arrivals needs a mean, such as \"10ms\", or a cdf".to_owned()),
            };
        }
        for (at, pair) in cdf.windows(2).enumerate() {
            let [(share, gap), (next_share, next_gap)] = [pair[0], pair[1]];
            if !(share..=1.0).contains(&next_share) || next_gap < gap {
                return fail(format!(
                    "arrivals.cdf descends at point {}: [{next_share}, {next_gap}] after [{share}, {gap}]",
                    at + 2
                ));
            }
        }
        let (first, last) = (cdf[0].0, cdf[cdf.len() - 1].0);
        if first != 0.0 || last != 1.0 || cdf.len() < 2 {
            return fail(format!("arrivals.cdf runs from share {first} to {last}; add points for 0 and 1"));
        }
        Ok(())
    }

    /// Weights of the sectors, given or the default.
    pub(super) fn start_sectors(&self) -> [f64; 8] {
        self.start_sector.unwrap_or([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    }
}
