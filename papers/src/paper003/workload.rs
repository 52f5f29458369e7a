//! The workloads: the HPC mix, Exchange, the grid W(R, I, W), mixes that change, slices of real traces.

use std::fmt;
use std::path::PathBuf;

use stripewise_study::{Error, Origin, WorkloadSpec};
use stripewise_trace::fold::Fold;

use crate::slice::Slice;

/// A point W(R, I, W) of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Size of a request in KiB.
    pub size_kib: u32,
    /// Mean interval in milliseconds.
    pub interval_ms: u32,
    /// Writes in percent.
    pub write_percent: u32,
}

const fn point(size_kib: u32, interval_ms: u32, write_percent: u32) -> Point {
    Point { size_kib, interval_ms, write_percent }
}

/// The points of Fig. 5, in its order.
pub const EVALUATED: [Point; 8] = [
    point(4, 20, 60),
    point(512, 20, 60),
    point(1024, 20, 60),
    point(4096, 20, 60),
    point(1024, 10, 60),
    point(1024, 40, 60),
    point(1024, 20, 20),
    point(1024, 20, 80),
];

/// The 36 points of Table 1.
pub fn grid() -> impl Iterator<Item = Point> {
    [4, 512, 1024, 4096].into_iter().flat_map(|size| {
        let intervals = [10, 20, 40].into_iter();
        intervals.flat_map(move |interval| [20, 60, 80].map(|write| point(size, interval, write)))
    })
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "W({}, {}, {})", self.size_kib, self.interval_ms, self.write_percent)
    }
}

/// Two loads that take turns of ten seconds (choice).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name.
    pub name: &'static str,
    small: Point,
    large: Point,
}

/// The mixes; the third is denser than Table 1, so that its turns of small writes are as many as fill a cache.
pub const MIXES: [Mix; 3] = [
    Mix { name: "changing-4-1024", small: point(4, 20, 60), large: point(1024, 20, 60) },
    Mix { name: "changing-4-4096", small: point(4, 20, 60), large: point(4096, 20, 60) },
    Mix { name: "changing-dense", small: point(4, 1, 80), large: point(1024, 10, 80) },
];

/// Where a workload's requests come from.
#[derive(Clone, Debug)]
pub enum Requests {
    /// The HPC mix.
    Hpc,
    /// A profile of paper 003.
    Profile(&'static str),
    /// A point of Table 1.
    Point(Point),
    /// Two loads in turns.
    Mix(Mix),
    /// A part of a real trace.
    Slice(PathBuf, Slice),
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: Requests,
}

/// MiB in which the requests of generators lie where the paper's collections of 3 ms are to be met: the HPC mix then leaves some
/// seven valid pages in a victim, as section 3's 3 ms do. What the paper had is not printed.
pub(super) const SPAN_MIB: u64 = 1408;
/// MiB in which they lie where collections are as heavy as eight gigabytes of 13.6 make them (choice).
pub(super) const WIDE_MIB: u64 = 8192;

/// Bytes that the array of the paper holds: 8 SSDs of 2 GiB less 15 %.
const ARRAY_BYTES: u64 = (8 << 31) / 100 * 85;

impl Workload {
    pub(super) fn hpc() -> Self {
        Self { name: "HPC".to_owned(), requests: Requests::Hpc }
    }

    pub(super) fn exchange() -> Self {
        Self { name: "Exchange".to_owned(), requests: Requests::Profile("exchange") }
    }

    pub(super) fn exchange_large() -> Self {
        Self { name: "Exchange-large".to_owned(), requests: Requests::Profile("exchange-large") }
    }

    pub(super) fn point(point: Point) -> Self {
        Self { name: point.to_string(), requests: Requests::Point(point) }
    }

    pub(super) fn mix(mix: Mix) -> Self {
        Self { name: mix.name.to_owned(), requests: Requests::Mix(mix) }
    }

    pub(super) fn slice((path, slice): (PathBuf, Slice)) -> Self {
        Self { name: slice.workload.to_owned(), requests: Requests::Slice(path, slice) }
    }

    /// Whether it is a part of a real trace.
    pub(super) fn is_real(&self) -> bool {
        matches!(self.requests, Requests::Slice(..))
    }

    /// Bytes that a request writes, in the mean.
    fn written_bytes(&self) -> u64 {
        let of = |point: &Point| u64::from(point.size_kib) * 1024 * u64::from(point.write_percent) / 100;
        match &self.requests {
            Requests::Hpc => (4 * 50 + 512 * 17 + 1024 * 33) * 1024 / 100 * 60 / 100,
            // The means of the profiles' sizes, times 78.6 %: a test holds both.
            Requests::Profile("exchange") => 12_363,
            Requests::Profile(_) => 92_720,
            Requests::Point(point) => of(point),
            // As many requests of each in a second as its interval gives.
            Requests::Mix(Mix { small, large, .. }) => {
                let rates = [small, large].map(|one| u64::from(1000 / one.interval_ms));
                (of(small) * rates[0] + of(large) * rates[1]) / (rates[0] + rates[1])
            }
            Requests::Slice(..) => 0,
        }
    }

    /// Requests that bring the SSDs to the state that is measured, within a span: until hosts have written an eighth of what the
    /// array holds (collection begins at the tenth that the reserve has above the minimum of free blocks) and then as much
    /// as half of the span.
    pub(super) fn warmup(&self, span_mib: u64) -> u64 {
        (ARRAY_BYTES / 8 + (span_mib << 19)).checked_div(self.written_bytes()).unwrap_or(0)
    }

    /// Requests that are replayed: `measured` of them after `warmup`, and all in a span.
    ///
    /// # Errors
    /// None as long as the generators take what is asked of them, which a test holds.
    pub(super) fn spec(&self, warmup: u64, measured: u64, span_mib: u64) -> Result<WorkloadSpec, Error> {
        let requests = warmup.saturating_add(measured);
        let wriw = |point: &Point| {
            let Point { size_kib, interval_ms, write_percent } = point;
            format!(
                "wriw:size={size_kib}KiB,interval={interval_ms}ms,write={write_percent}%,span={span_mib}MiB,requests={requests}"
            )
        };
        let generator = |text: String| Origin::generated(&text);
        let origin = match &self.requests {
            Requests::Hpc => generator(format!("hpc:span={span_mib}MiB,requests={requests}"))?,
            Requests::Profile(name) => Origin::Profile(format!("paper003/{name}")),
            Requests::Point(point) => generator(wriw(point))?,
            Requests::Mix(Mix { small, large, .. }) => generator(format!(
                "phases:of=({})({}),each=10s,requests={requests}",
                wriw(small),
                wriw(large)
            ))?,
            Requests::Slice(path, slice) => {
                let origin = slice.origin(path.clone());
                return Ok(WorkloadSpec {
                    origin,
                    requests: Some(measured),
                    fold: Fold::Dense { unit: SLICE_UNIT },
                });
            }
        };
        Ok(WorkloadSpec { origin, requests: Some(requests), fold: Fold::Modulo })
    }
}

/// Bytes of the units in which what a slice touches is packed: a chunk.
const SLICE_UNIT: u64 = 128 << 10;
