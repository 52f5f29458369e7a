//! Folds the addresses of a trace onto an array. A trace comes from another machine, and its volumes seldom have the
//! size of the array that replays it. No method of folding is neutral. So each has a name, the user chooses it, and
//! it reports its effects.
//!
//! After folding, `offset` is an address on the array, and `volume` only names the origin of the request.

mod dense;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use stripewise_base::suggest;
use stripewise_base::units::Bytes;

use crate::{Request, Source, TraceError};

use dense::Footprint;

/// Default unit of [`Fold::Dense`], in bytes.
pub const DENSE_UNIT: u64 = 1 << 20;

/// The most volumes of a trace: a column with more values does not hold volumes.
const MOST_VOLUMES: usize = 1 << 20;

/// A method to fold addresses onto an array. As text: `modulo`, `dense`, `dense:64KiB`, `regions`, `regions:24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The offset modulo the array's capacity, all volumes on top of each other. Keeps sequences; changes which
    /// addresses are near each other, and lets distant addresses overwrite each other.
    Modulo,
    /// Only the units of this many bytes that the trace touches, in the order of their addresses, one volume after
    /// the other. Keeps every overlap and every sequence within a volume; closes the gaps in between.
    Dense {
        /// Bytes a unit.
        unit: u64,
    },
    /// One region of equal size for each volume (or ASU), and the offset modulo that size within it. Keeps volumes
    /// separate.
    Regions {
        /// The number of regions; volumes are then `0..count`. None: one region for each volume of the trace.
        count: Option<u32>,
    },
}

/// The effects of folding, for the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FoldReport {
    /// The method, as [`Fold`] names it.
    pub fold: String,
    /// The array's capacity.
    pub capacity_bytes: u64,
    /// Requests folded.
    pub requests: u64,
    /// Requests whose address changed.
    pub moved: u64,
    /// Moved requests that would have crossed the end of the array or region and were shifted down to fit.
    pub shifted: u64,
    /// Dense: bytes in the units that the trace touches.
    pub footprint_bytes: Option<u64>,
    /// Regions: their number.
    pub regions: Option<u64>,
    /// Regions: the size of each.
    pub region_bytes: Option<u64>,
}

/// A [`Fold`] prepared for one array and one trace.
#[derive(Clone, Debug)]
pub struct Folding {
    way: FoldMap,
    report: FoldReport,
}

#[derive(Clone, Debug)]
enum FoldMap {
    Modulo,
    Dense(Footprint),
    /// With the volumes in ascending order, unless they are `0..count`.
    Regions {
        bytes: u64,
        count: u64,
        volumes: Option<Vec<u32>>,
    },
}

impl Fold {
    /// Whether the trace must be scanned before it can be folded.
    pub fn needs_scan(&self) -> bool {
        matches!(self, Self::Dense { .. } | Self::Regions { count: None })
    }

    /// Prepares folding onto an array of `capacity` bytes. `scan` is the trace, from its start, if
    /// [`Fold::needs_scan`]; it is read to its end.
    ///
    /// # Errors
    /// If the trace does not fit in this way, with the reason, or cannot be read.
    pub fn onto(&self, capacity: u64, scan: Option<&mut dyn Source>) -> Result<Folding, TraceError> {
        let mut report =
            FoldReport { fold: self.to_string(), capacity_bytes: capacity, ..FoldReport::default() };
        let scan =
            || scan.ok_or_else(|| TraceError::Fold(format!("folding by `{self}` needs a scan of the trace")));
        let way = match *self {
            _ if capacity == 0 => return Err(TraceError::Fold("the array holds nothing".to_owned())),
            Self::Modulo => FoldMap::Modulo,
            Self::Dense { unit } => {
                let footprint = Footprint::scan(unit, scan()?)?;
                let touched = footprint.bytes();
                if touched > u128::from(capacity) {
                    return Err(TraceError::Fold(format!(
                        "the trace touches {touched} bytes in units of {}, and the array holds {capacity}; use a \
                         larger array, a smaller unit, a slice of the trace, or `modulo`",
                        Bytes(unit)
                    )));
                }
                report.footprint_bytes = Some(touched as u64);
                FoldMap::Dense(footprint)
            }
            Self::Regions { count } => {
                let volumes = if count.is_none() { Some(volumes(scan()?)?) } else { None };
                let count = match (&volumes, count) {
                    (Some(volumes), _) => volumes.len() as u64,
                    (None, count) => u64::from(count.unwrap_or(0)),
                };
                let bytes = region_bytes(capacity, count)?;
                (report.regions, report.region_bytes) = (Some(count), Some(bytes));
                FoldMap::Regions { bytes, count, volumes }
            }
        };
        Ok(Folding { way, report })
    }
}

/// The size of each of `count` equal regions: the largest multiple of 1 MiB, which splits no usual chunk, or of 4 KiB
/// where a region has less than 64 MiB.
fn region_bytes(capacity: u64, count: u64) -> Result<u64, TraceError> {
    const MIB: u64 = 1 << 20;
    let bytes = capacity / count.max(1);
    let grain = if bytes >= 64 * MIB { MIB } else { 4096 };
    match bytes / grain * grain {
        0 => Err(TraceError::Fold(format!(
            "an array of {capacity} bytes has no room for {count} regions of 4 KiB; use a larger array or `modulo`"
        ))),
        bytes => Ok(bytes),
    }
}

/// The volumes of a trace in ascending order.
fn volumes(trace: &mut dyn Source) -> Result<Vec<u32>, TraceError> {
    let (mut found, mut batch) = (BTreeSet::new(), Vec::with_capacity(4096));
    loop {
        trace.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(found.into_iter().collect());
        }
        let mut last = None;
        for request in &batch {
            if last != Some(request.volume) {
                last = Some(request.volume);
                found.insert(request.volume);
            }
        }
        if found.len() > MOST_VOLUMES {
            return Err(TraceError::Fold(format!(
                "the trace has more than {MOST_VOLUMES} volumes; use `modulo`"
            )));
        }
    }
}

/// The address of `bytes` at `offset` within `size` bytes, and whether they were shifted to fit.
#[inline]
fn wrap(offset: u64, bytes: u64, size: u64) -> Result<(u64, bool), TraceError> {
    let within = if offset < size { offset } else { offset % size };
    if bytes <= size - within {
        Ok((within, false))
    } else if bytes <= size {
        Ok((size - bytes, true))
    } else {
        Err(TraceError::Fold(format!(
            "a request of {bytes} bytes does not fit into {size} bytes; use a larger array"
        )))
    }
}

impl Folding {
    /// Moves `request` to its address on the array. A flush has no address and stays as it is.
    ///
    /// # Errors
    /// If it is larger than the array or its region, or belongs to a volume or an address that the scan did not see.
    #[inline]
    pub fn apply(&mut self, request: &mut Request) -> Result<(), TraceError> {
        self.report.requests += 1;
        if request.bytes == 0 {
            return Ok(());
        }
        let bytes = u64::from(request.bytes);
        let (offset, shifted) = match &mut self.way {
            FoldMap::Modulo => wrap(request.offset, bytes, self.report.capacity_bytes)?,
            FoldMap::Dense(footprint) => (footprint.place(request)?, false),
            FoldMap::Regions { bytes: size, count, volumes } => {
                let region = match volumes {
                    None => Some(u64::from(request.volume)).filter(|region| region < count),
                    Some(volumes) => volumes.binary_search(&request.volume).ok().map(|region| region as u64),
                };
                let region = region.ok_or_else(|| {
                    TraceError::Fold(format!(
                        "volume {} has no region among {count}; give a larger count, or none",
                        request.volume
                    ))
                })?;
                let (within, shifted) = wrap(request.offset, bytes, *size)?;
                (region * *size + within, shifted)
            }
        };
        self.report.moved += u64::from(offset != request.offset);
        self.report.shifted += u64::from(shifted);
        request.offset = offset;
        Ok(())
    }

    /// The effects so far.
    pub fn report(&self) -> &FoldReport {
        &self.report
    }
}

/// A source whose requests are folded.
#[derive(Debug)]
pub struct Folded<S> {
    source: S,
    folding: Folding,
}

impl<S: Source> Folded<S> {
    /// Folds the requests of `source` with `folding`.
    pub fn new(source: S, folding: Folding) -> Self {
        Self { source, folding }
    }

    /// The effects of folding so far.
    pub fn report(&self) -> &FoldReport {
        self.folding.report()
    }

    /// The source underneath.
    pub fn source(&self) -> &S {
        &self.source
    }
}

impl<S: Source> Source for Folded<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        self.source.next_batch(batch)?;
        batch.iter_mut().try_for_each(|request| self.folding.apply(request))
    }

    fn progress(&self) -> Option<f64> {
        self.source.progress()
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Modulo => f.write_str("modulo"),
            Self::Dense { unit } => write!(f, "dense:{}", Bytes(*unit)),
            Self::Regions { count: None } => f.write_str("regions"),
            Self::Regions { count: Some(count) } => write!(f, "regions:{count}"),
        }
    }
}

impl FromStr for Fold {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let bad = |reason: String| Err(TraceError::Setting(reason));
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        match (name, parameter) {
            ("modulo", None) => Ok(Self::Modulo),
            ("modulo", Some(_)) => bad("folding by `modulo` takes no parameter".to_owned()),
            ("dense", None) => Ok(Self::Dense { unit: DENSE_UNIT }),
            ("dense", Some(unit)) => match unit.parse::<Bytes>() {
                Ok(Bytes(unit)) if unit >= 512 && unit.is_multiple_of(512) => Ok(Self::Dense { unit }),
                Ok(Bytes(unit)) => {
                    bad(format!("the unit of `dense` is a multiple of 512 bytes, found {unit}"))
                }
                Err(error) => bad(format!("the unit of `dense`: {error}")),
            },
            ("regions", None) => Ok(Self::Regions { count: None }),
            ("regions", Some(count)) => match count.parse() {
                Ok(count) if count > 0 => Ok(Self::Regions { count: Some(count) }),
                _ => bad(format!("`regions` takes a number of regions from 1, found `{count}`")),
            },
            _ => bad(suggest::unknown("way to fold addresses", name, &["modulo", "dense", "regions"])),
        }
    }
}
