//! Statistics of a trace: `trace info` prints them, and a profile generates a trace from them.
//!
//! One pass over any [`Source`]. Memory does not grow with the length of the trace; it grows with the footprint (see
//! [`PAGE_BYTES`]): about 10 bytes a touched page where the trace touches whole extents of 64 KiB, 150 bytes where it
//! touches one page in each. Beyond 128 GiB of extents the footprint, updates and skew are estimates over a sample of
//! the address space ([`Footprint::one_in`]), in some 300 MiB. Reads and writes make up the footprint; a trim or a
//! flush does not change it.

mod bursts;
mod gaps;
mod pages;
mod rate;
mod report;
mod reuse;
mod sequence;
mod sizes;
mod skew;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Kind, Request, Source, TraceError};
use bursts::Bursts;
use gaps::Gaps;
use pages::Pages;
use rate::Rate;
use reuse::PageWrites;
use sequence::RunCounter;
use sizes::Sizes;

pub use bursts::{Burstiness, Dispersion, FEWEST_WINDOWS, WINDOWS_NS};
pub(crate) use gaps::recorded_ns;
pub use gaps::{CdfPoint, GapStats};
pub use pages::{ExtentLengths, PAGE_BYTES};
pub use rate::{PARTS, RatePart, RateStats};
pub use reuse::{Balance, DISTANCES, MEMBERS, Reuse, SPANS};
pub(crate) use sequence::Recent;
pub use sequence::{RECENT, Runs};
pub use sizes::{ATOMS, Atom, SizeStats};
pub use skew::SkewPoint;

/// Statistics of a trace. The names contain the units; shares lie in `0.0..=1.0` and are zero where they have no
/// denominator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// All requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes over reads and writes.
    pub write_ratio: f64,
    /// From the first request to the last, in nanoseconds.
    pub span_ns: u64,
    /// Intervals over their sum; zero when all requests arrive at once.
    pub requests_per_second: f64,
    /// Bytes read and written a second over the span.
    pub bytes_per_second: f64,
    /// Largest end of a request on any volume, in bytes: the address space that the trace needs.
    pub max_end_bytes: u64,
    /// Sizes of reads and writes together.
    pub size_all: SizeStats,
    /// Sizes of reads.
    pub size_read: SizeStats,
    /// Sizes of writes.
    pub size_write: SizeStats,
    /// Sizes of writes to pages none of which was written before.
    pub size_first_write: SizeStats,
    /// Sizes of update writes.
    pub size_update_write: SizeStats,
    /// Sizes of trims.
    pub size_trim: SizeStats,
    /// Intervals between requests of any kind.
    pub gaps: GapStats,
    /// Writes that meet written data.
    pub updates: Updates,
    /// Distinct pages.
    pub footprint: Footprint,
    /// How unevenly accesses fall on pages.
    pub skew: Skew,
    /// The skew as a curve, ascending: the share of the accesses that the hottest pages take.
    pub skew_curve: Vec<SkewPoint>,
    /// Requests over time.
    pub rate: RateStats,
    /// Requests that continue one of the last [`RECENT`], over all reads and writes.
    pub sequential: f64,
    /// The alignment of the starts and ends of requests.
    pub alignment: Alignment,
    /// Each volume, ascending; only the first [`MOST_VOLUMES`] that appear.
    pub volumes: Vec<Volume>,
    /// Requests of volumes that are not counted separately, because too many others appeared before them.
    #[serde(default)]
    pub other_volumes_requests: u64,
    /// How arrivals cluster.
    #[serde(default)]
    pub burstiness: Burstiness,
    /// How soon pages are written again.
    #[serde(default)]
    pub reuse: Reuse,
    /// How unevenly page writes fall on members, over few and over many page writes.
    #[serde(default)]
    pub balance: Vec<Balance>,
    /// Sequential runs.
    #[serde(default)]
    pub runs: Runs,
    /// Lengths of the runs of adjacent touched pages; zero where only a sample of the pages was counted.
    #[serde(default)]
    pub extents: ExtentLengths,
}

/// How many writes meet data that the same trace wrote before, counted in pages of [`PAGE_BYTES`].
///
/// Paper 000 (Table III) calls it the ratio of update writes to all writes and leaves open when a write that covers
/// several pages is an update. Here it is one if *any* of its pages was written before: then at least one parity
/// chunk must be updated. The stricter counts are given too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Updates {
    /// Share of writes with at least one page that was written before.
    pub ratio: f64,
    /// Share of writes all of whose pages were written before.
    pub whole_ratio: f64,
    /// Share of written pages that were written before.
    pub page_ratio: f64,
    /// Pages written, counted each time (paper 001, Table I: chunk writes of 4 KiB; the unique ones are
    /// [`Footprint::written_pages_4k`]).
    pub page_writes: u64,
}

/// Distinct pages that a trace touches, counted separately for each volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// 4 KiB pages read or written.
    pub touched_pages_4k: u64,
    /// 4 KiB pages read.
    pub read_pages_4k: u64,
    /// 4 KiB pages written.
    pub written_pages_4k: u64,
    /// 8 KiB pages read or written.
    pub touched_pages_8k: u64,
    /// 8 KiB pages read.
    pub read_pages_8k: u64,
    /// 8 KiB pages written.
    pub written_pages_8k: u64,
    /// The sampling rate: one extent of 64 KiB in this many was counted, and the numbers of pages are scaled up by
    /// it; 1 where every extent was counted. [`Updates`], [`Skew`] and the sizes of first and update writes cover the
    /// same extents: they leave out a write none of whose pages was counted.
    #[serde(default = "every")]
    pub one_in: u64,
}

impl Default for Footprint {
    fn default() -> Self {
        Self {
            touched_pages_4k: 0,
            read_pages_4k: 0,
            written_pages_4k: 0,
            touched_pages_8k: 0,
            read_pages_8k: 0,
            written_pages_8k: 0,
            one_in: every(),
        }
    }
}

fn every() -> u64 {
    1
}

/// How unevenly accesses fall on the touched 4 KiB pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skew {
    /// Share of page accesses on the hottest 20 % of touched pages.
    pub hot20: f64,
    /// Exponent of the Zipf law that fits (maximum likelihood over observed ranks).
    pub zipf_theta: f64,
    /// Share of page reads that fall on pages which the trace also writes, before or after.
    pub reads_of_written: f64,
    /// Shares of page accesses on the one, 10 and 100 hottest pages (of those counted).
    #[serde(default)]
    pub hottest: [f64; 3],
}

/// The alignment of the starts and ends of reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// Share that begins and ends on a 512 B boundary.
    pub sector: f64,
    /// Share that begins and ends on a 4 KiB boundary.
    pub page_4k: f64,
    /// Share that begins and ends on an 8 KiB boundary.
    pub page_8k: f64,
    /// Mean size in bytes of the whole 4 KiB pages that a read or a write touches (paper 002, Table II).
    pub paged_mean_bytes: f64,
    /// Share that begins in each 512 B sector of its 4 KiB page.
    pub start_sector: [f64; 8],
}

/// One volume of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its number in the trace.
    pub volume: u32,
    /// Its requests of all kinds.
    pub requests: u64,
    /// Its writes.
    pub writes: u64,
    /// Bytes read and written on it.
    pub bytes: u64,
    /// Largest end of its requests, in bytes.
    pub max_end_bytes: u64,
}

impl Stats {
    /// Whether all requests have the same time, as in traces without a clock: rates and intervals have no meaning then.
    pub fn has_no_clock(&self) -> bool {
        self.span_ns == 0
    }

    /// Reads `source` to its end.
    ///
    /// # Errors
    /// Those of the source.
    pub fn collect(source: &mut (impl Source + ?Sized)) -> Result<Self, TraceError> {
        let mut collector = Collector::default();
        let mut batch = Vec::with_capacity(4096);
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(collector.finish());
            }
            batch.iter().for_each(|request| collector.add(request));
        }
    }
}

/// Collects statistics request by request, for callers that do more with the stream than measure it.
#[derive(Default)]
pub struct Collector {
    counts: [u64; 4],
    read: Sizes,
    first_write: Sizes,
    update_write: Sizes,
    trim: Sizes,
    all: Sizes,
    write: Sizes,
    gaps: Gaps,
    pages: Pages,
    whole_updates: u64,
    pages_written: u64,
    pages_rewritten: u64,
    recent: Recent,
    sequential: u64,
    aligned: [u64; 3],
    paged: u128,
    rate: Rate,
    start_sector: [u64; 8],
    /// Writes of which at least one page was counted.
    writes_seen: u64,
    pages_seen: u64,
    volumes: BTreeMap<u32, Volume>,
    other_volumes: u64,
    max_end: u64,
    bursts: Bursts,
    page_writes: PageWrites,
    runs: RunCounter,
}

/// Most volumes that are counted separately.
pub const MOST_VOLUMES: usize = 1 << 16;

impl Collector {
    /// Adds the next request.
    pub fn add(&mut self, request: &Request) {
        let Request { time_ns, offset, bytes, volume, kind } = *request;
        self.counts[kind as usize] += 1;
        self.gaps.add(time_ns);
        self.bursts.add(time_ns);
        self.rate.add(request);
        let end = offset.saturating_add(u64::from(bytes));
        let mut other = Volume::default();
        let is_known = self.volumes.len() < MOST_VOLUMES || self.volumes.contains_key(&volume);
        self.other_volumes += u64::from(!is_known);
        let entry = match is_known {
            true => self.volumes.entry(volume).or_insert(Volume { volume, ..Volume::default() }),
            false => &mut other,
        };
        entry.requests += 1;
        entry.max_end_bytes = entry.max_end_bytes.max(if bytes > 0 { end } else { 0 });
        self.max_end = self.max_end.max(entry.max_end_bytes);
        match kind {
            Kind::Read => {
                self.read.add(bytes);
                self.pages.read(volume, offset, bytes);
            }
            Kind::Write => {
                entry.writes += 1;
                self.write.add(bytes);
                let written = self.pages.write(volume, offset, bytes);
                self.page_writes.add(volume, offset, bytes);
                if written.seen > 0 || written.pages == 0 {
                    let sizes =
                        if written.before > 0 { &mut self.update_write } else { &mut self.first_write };
                    sizes.add(bytes);
                    self.writes_seen += 1;
                }
                self.whole_updates += u64::from(written.before > 0 && written.before == written.seen);
                self.pages_written += written.pages;
                self.pages_seen += written.seen;
                self.pages_rewritten += written.before;
            }
            Kind::Trim => return self.trim.add(bytes),
            Kind::Flush => return,
        }
        entry.bytes = entry.bytes.saturating_add(u64::from(bytes));
        self.all.add(bytes);
        self.sequential += u64::from(self.recent.continues(volume, offset));
        self.recent.push(volume, end);
        self.runs.add(volume, offset, bytes);
        for (count, grain) in self.aligned.iter_mut().zip([512, 4096, 8192]) {
            *count += u64::from(offset % grain == 0 && end % grain == 0);
        }
        if bytes > 0 {
            self.paged += u128::from(end.div_ceil(PAGE_BYTES) - offset / PAGE_BYTES);
        }
        self.start_sector[(offset % PAGE_BYTES / 512) as usize] += 1;
    }

    /// The statistics of all added requests.
    pub fn finish(self) -> Stats {
        let [reads, writes, trims, flushes] = self.counts;
        let data = reads + writes;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let mut totals = self.pages.totals();
        let (hot20, zipf_theta) = skew::skew(&mut totals.accesses);
        let skew_curve = skew::curve(&totals.accesses);
        let hottest = skew::hottest(&totals.accesses);
        let extents = if self.pages.one_in() == 1 { self.pages.lengths() } else { ExtentLengths::default() };
        let (gaps, span_ns) = (self.gaps.summary(), self.gaps.span_ns());
        let size_all = self.all.summary();
        let size_update_write = self.update_write.summary();
        let a_second = |amount: f64| if span_ns == 0 { 0.0 } else { amount * 1e9 / span_ns as f64 };
        Stats {
            requests: self.counts.iter().sum(),
            reads,
            writes,
            trims,
            flushes,
            write_ratio: share(writes, data),
            span_ns,
            requests_per_second: a_second(gaps.intervals as f64),
            bytes_per_second: a_second(size_all.total_bytes as f64),
            max_end_bytes: self.max_end,
            size_read: self.read.summary(),
            size_write: self.write.summary(),
            size_first_write: self.first_write.summary(),
            size_trim: self.trim.summary(),
            gaps,
            updates: Updates {
                ratio: share(size_update_write.requests, self.writes_seen),
                whole_ratio: share(self.whole_updates, self.writes_seen),
                page_ratio: share(self.pages_rewritten, self.pages_seen),
                page_writes: self.pages_written,
            },
            footprint: Footprint {
                touched_pages_4k: totals.any,
                read_pages_4k: totals.read,
                written_pages_4k: totals.written,
                touched_pages_8k: totals.any_8k,
                read_pages_8k: totals.read_8k,
                written_pages_8k: totals.written_8k,
                one_in: self.pages.one_in(),
            },
            skew: Skew {
                hot20,
                zipf_theta,
                reads_of_written: share(totals.page_reads_of_written, totals.page_reads),
                hottest,
            },
            skew_curve,
            rate: self.rate.summary(),
            sequential: share(self.sequential, data),
            alignment: Alignment {
                sector: share(self.aligned[0], data),
                page_4k: share(self.aligned[1], data),
                page_8k: share(self.aligned[2], data),
                paged_mean_bytes: if data == 0 {
                    0.0
                } else {
                    self.paged as f64 * PAGE_BYTES as f64 / data as f64
                },
                start_sector: self.start_sector.map(|count| share(count, data)),
            },
            volumes: self.volumes.into_values().collect(),
            other_volumes_requests: self.other_volumes,
            burstiness: self.bursts.summary(),
            reuse: self.page_writes.reuse(),
            balance: self.page_writes.balance(),
            runs: self.runs.summary(data),
            extents,
            size_update_write,
            size_all,
        }
    }
}
