//! The generator of a profile: requests that have its statistics.
//!
//! Counts are exact: of n requests left, k of them writes, the next is a write with probability k/n. The same holds
//! for update writes and sequential requests. Sizes and intervals are dealt from decks. Addresses come from a
//! [`Space`]: a first write fills new pages, an update begins in written ones, a read goes to written data or to data
//! that is only read. A fitted power law chooses the extent, unless the update returns to a recent write. Where data has
//! holes, an access that fits at none of a few popular extents goes to one that was made by a request as large.

use stripewise_base::prng::Prng;
use stripewise_base::units::Span;

use super::amounts::Amounts;
use super::deck::Deck;
use super::intervals::{Intervals, MeanOutside};
use super::popularity::Popularity;
use super::recency::Recent as RecentWrites;
use super::sizes::Law;
use super::space::{Space, Zones, pages};
use super::statistics::{Arrivals, Profile};
use super::storm::Storms;
use crate::generate::Recipe;
use crate::stats::{PAGE_BYTES, Recent};
use crate::{Kind, Request, Source, TraceError};

/// Most data that a trace may touch, in pages: far below an overflow of addresses.
const MOST_PAGES: f64 = (1u64 << 48) as f64;

/// The parameters of a running profile: everything except the seed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProfileRecipe {
    pub(super) profile: Profile,
    pub(super) requests: u64,
    /// Share of the draws that the first fifth of the extents takes.
    pub(super) hot: f64,
}

/// Numbers of requests of each sort that are still to come.
#[derive(Clone, Copy, Debug)]
struct Left {
    requests: u64,
    writes: u64,
    trims: u64,
    flushes: u64,
    updates: u64,
    sequential: u64,
}

/// A running profile.
pub(super) struct ProfileSource {
    total: u64,
    left: Left,
    clock: u64,
    intervals: Intervals,
    reads: Deck,
    first_writes: Deck,
    update_writes: Deck,
    trims: Deck,
    space: Space,
    /// The data covered by requests for new data, by kind and in pieces: later requests return to them.
    extents: [Vec<Extent>; 2],
    /// Where data has holes, the first extent of each request for new data, by kind and whole log2 of its pages.
    wide: Option<[Vec<Vec<u32>>; 2]>,
    recent: Recent,
    /// The start addresses of the last writes, for writes that return soon.
    returns: RecentWrites,
    storms: Storms,
    /// The law that chooses the next extent of each kind.
    popularity: [Popularity; 2],
    reads_of_written: f64,
    /// New pages that updates must still touch beyond old ones, and the mean number that they touch beyond the first.
    growth_pages: u64,
    update_extra_pages: f64,
    /// Pages that will only be read and have not been read yet, and the mean number of pages that a read touches.
    read_only_pages: u64,
    read_pages: f64,
    /// Share of new extents that begin at each sector of a page or before it.
    start_sector: [f64; 8],
    prng: Prng,
}

/// Attempts to place an access on old data.
const RETRIES: usize = 4;

/// Sizes of requests by the whole log2 of their pages; none has 2^21 pages.
const SIZES: usize = 21;

/// The largest extent, in bytes, so that large requests count for more than small ones.
const EXTENT_BYTES: u32 = 64 << 10;

/// The bytes of a request for new data, or a piece of them.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    bytes: u32,
}

impl Recipe for ProfileRecipe {
    fn source(&self, seed: u64) -> Box<dyn Source + Send> {
        // The profile was checked when the recipe was made.
        let source = Self::run(&self.profile, self.requests, self.hot, seed);
        Box::new(source.expect("a recipe is made only of a profile that runs"))
    }
}

impl ProfileRecipe {
    /// Starts `requests` requests of `profile`.
    pub(super) fn run(
        profile: &Profile,
        requests: u64,
        hot: f64,
        seed: u64,
    ) -> Result<ProfileSource, TraceError> {
        let amounts = Amounts::of(profile, requests);
        let mut prng = Prng::new(seed);
        let sizes = &profile.sizes;
        let (read, first) = (sizes.read_law()?, sizes.first_write_law()?);
        let (update, trim) = (sizes.update_write_law()?, sizes.trim_law()?);
        let start_sector = profile.start_sectors();
        let first_writes = amounts.writes - amounts.updates;
        let first_pages = first_writes as f64 * mean_pages(&first, &start_sector);
        // The profile's data, scaled to the requested number of requests.
        let scale = requests as f64 / profile.requests.0.max(1) as f64;
        let scaled = |bytes: u64| bytes as f64 / PAGE_BYTES as f64 * scale;
        let written = profile.footprint.written.map_or(first_pages, |bytes| scaled(bytes.0)).max(first_pages);
        let reads_of_written = if amounts.writes == 0 { 0.0 } else { profile.footprint.reads_of_written };
        let page_reads = amounts.reads as f64 * mean_pages(&read, &start_sector) * (1.0 - reads_of_written);
        let read_only = profile
            .footprint
            .read_only
            .map_or(page_reads * (1.0 - profile.update_ratio), |bytes| scaled(bytes.0));
        let read_only = read_only.min(page_reads);
        let laws = [&read, &first, &update, &trim];
        let largest = laws.iter().flat_map(|law| law.iter()).map(|atom| atom.0).max().unwrap_or(0);
        let largest = pages(PAGE_BYTES - 1, largest).1 + 1;
        if written + read_only > MOST_PAGES {
            return Err(TraceError::Setting(format!(
                "profile: {requests} requests touch more than 1024 PiB; lower the requests or the footprint"
            )));
        }
        // A few pages more, for fractions and for requests that reach past the last page.
        let room = |pages: f64| if pages > 0.0 { (pages * 1.02) as u64 + 4 * largest } else { 0 };
        let first_read = if amounts.reads > 0 && amounts.writes == 0 { largest } else { 0 };
        let data = [room(written), room(read_only).max(first_read)];
        let places = profile.places.unwrap_or_default();
        let mut summed = start_sector;
        (1..8).for_each(|sector| summed[sector] += summed[sector - 1]);
        Ok(ProfileSource {
            total: requests,
            left: Left {
                requests,
                writes: amounts.writes,
                trims: amounts.trims,
                flushes: amounts.flushes,
                updates: amounts.updates,
                sequential: amounts.sequential,
            },
            clock: 0,
            intervals: intervals(&profile.arrivals, requests.saturating_sub(1), &mut prng)?,
            reads: Deck::new(&read, amounts.reads, &mut prng),
            first_writes: Deck::new(&first, first_writes, &mut prng),
            update_writes: Deck::new(&update, amounts.updates, &mut prng),
            trims: Deck::new(&trim, amounts.trims, &mut prng),
            space: Space::new(profile.span.0, data, largest, places, &mut prng),
            extents: [Vec::new(), Vec::new()],
            wide: places.extents.map(|_| std::array::from_fn(|_| vec![Vec::new(); SIZES])),
            recent: Recent::default(),
            returns: RecentWrites::new(profile.recency),
            storms: Storms::new(profile.storm),
            popularity: std::array::from_fn(|_| Popularity::new(hot, profile.skew.head)),
            reads_of_written,
            growth_pages: (written - first_pages) as u64,
            update_extra_pages: (mean_pages(&update, &start_sector) - 1.0).max(1e-9),
            read_only_pages: (read_only + 0.5) as u64,
            read_pages: mean_pages(&read, &start_sector),
            start_sector: summed,
            prng,
        })
    }
}

/// `count` intervals between requests.
fn intervals(arrivals: &Arrivals, count: u64, prng: &mut Prng) -> Result<Intervals, TraceError> {
    let Arrivals { mean, cdf, correlation } = arrivals;
    if cdf.is_empty() {
        return Ok(Intervals::exponential(mean.unwrap_or_default().0, count, *correlation, prng));
    }
    let points: Vec<(f64, u64)> = cdf.iter().map(|&(share, gap)| (share, gap.0)).collect();
    // One interval cannot have both a distribution and a mean.
    let mean_ns = mean.map(|mean| mean.0).filter(|_| count > 1);
    Intervals::along(&points, mean_ns, count, *correlation, prng).map_err(|MeanOutside { low, high }| {
        let [low, high] = [low, high].map(|ns| Span(ns as u64));
        let mean = mean.unwrap_or_default();
        TraceError::Setting(format!(
            "profile: arrivals.mean = {mean} contradicts arrivals.cdf, which allows {low} to {high} for {count} \
             intervals; change one"
        ))
    })
}

/// Mean number of pages that a request of this law touches.
fn mean_pages(law: &Law, start_sector: &[f64; 8]) -> f64 {
    let total: f64 = law.iter().map(|atom| atom.1).sum();
    let starts: f64 = start_sector.iter().sum();
    let sum: f64 = law
        .iter()
        .flat_map(|&(bytes, share)| {
            start_sector.iter().zip(0u64..).map(move |(weight, sector)| {
                let (first, last) = pages(sector * 512, bytes);
                share * weight * (last - first + 1) as f64
            })
        })
        .sum();
    sum / total / starts
}

impl ProfileSource {
    fn request(&mut self) -> Request {
        let time_ns = self.clock;
        self.clock = self.clock.saturating_add(self.intervals.deal());
        let left = self.left;
        self.left.requests -= 1;
        let pick = self.prng.below(left.requests);
        let data = left.requests - left.trims - left.flushes;
        if pick >= data {
            return self.control(time_ns, pick - data < left.trims);
        }
        let sequential = self.prng.below(data) < left.sequential;
        let (kind, offset, bytes) = if pick < left.writes {
            self.left.writes -= 1;
            let (offset, bytes) = self.write(sequential);
            (Kind::Write, offset, bytes)
        } else {
            let (offset, bytes) = self.read(sequential);
            (Kind::Read, offset, bytes)
        };
        if self.recent.continues(0, offset) {
            self.left.sequential = self.left.sequential.saturating_sub(1);
        }
        self.recent.push(0, offset + u64::from(bytes));
        Request { time_ns, offset, bytes, volume: 0, kind }
    }

    /// A trim of written data, or a flush.
    fn control(&mut self, time_ns: u64, trim: bool) -> Request {
        if !trim {
            self.left.flushes -= 1;
            return Request { time_ns, offset: 0, bytes: 0, volume: 0, kind: Kind::Flush };
        }
        self.left.trims -= 1;
        let bytes = self.trims.deal();
        let offset = self.old_extent(Zones::Written, bytes).unwrap_or(0);
        Request { time_ns, offset, bytes, volume: 0, kind: Kind::Trim }
    }

    fn write(&mut self, sequential: bool) -> (u64, u32) {
        let update = self.prng.below(self.left.writes + 1) < self.left.updates;
        if update && !self.extents[0].is_empty() {
            return self.update(sequential);
        }
        let bytes = self.first_writes.deal();
        match self.new_data(Zones::Written, bytes, sequential) {
            Some(offset) => {
                self.space.fill(offset, bytes);
                self.returns.push(offset);
                (offset, bytes)
            }
            None => self.update(sequential),
        }
    }

    fn update(&mut self, sequential: bool) -> (u64, u32) {
        self.left.updates = self.left.updates.saturating_sub(1);
        let bytes = self.update_writes.deal();
        let mut offset = None;
        if sequential {
            offset = self.sequential_old(Zones::Written, bytes, self.growth_pages);
        }
        // Where the footprint requires it, an update reaches from old pages into new ones.
        let reach = (self.left.updates + 1) as f64 * self.update_extra_pages;
        if offset.is_none() && self.growth_pages > 0 && self.prng.unit() * reach < self.growth_pages as f64 {
            offset = self.across_brink(bytes);
        }
        let in_storm = offset.is_none() && self.storms.draw(&mut self.prng);
        if in_storm && let Some(place) = self.storms.place(&mut self.prng) {
            offset = self.space.pull_back(place, bytes);
        }
        if offset.is_none()
            && let Some(within) = self.returns.draw(&mut self.prng)
        {
            let tries = if self.wide.is_some() { RETRIES } else { 1 };
            offset = (0..tries).find_map(|_| {
                let recent = self.returns.place(within, &mut self.prng)?;
                self.space.pull_back(recent, bytes)
            });
        }
        let offset = offset.unwrap_or_else(|| self.old_data(Zones::Written, bytes).unwrap_or(0));
        // Other writes do not return to those of a storm, which would take more than its share.
        if in_storm {
            self.storms.settle(offset);
        } else {
            self.returns.push(offset);
        }
        let new = self.space.fill(offset, bytes);
        if new > 0 {
            self.growth_pages = self.growth_pages.saturating_sub(new);
            let start = (pages(offset, bytes).1 + 1 - new) * PAGE_BYTES;
            self.remember(Zones::Written, start, (offset + u64::from(bytes) - start) as u32);
        }
        (offset, bytes)
    }

    /// An address for `bytes` that begins in old written data and ends in new, if the size and the workload's
    /// alignment allow one.
    fn across_brink(&mut self, bytes: u32) -> Option<u64> {
        let page = self.space.brink(Zones::Written, &mut self.prng)?;
        let crosses = |sector: u64| pages(512 * sector, bytes).1 > 0;
        let sector = self.start_sector();
        let last = (0..8).rev().find(|&sector| self.starts_at(sector)).unwrap_or(0);
        let sector = if crosses(sector) { sector } else { last };
        crosses(sector).then_some(page + 512 * sector)
    }

    fn read(&mut self, sequential: bool) -> (u64, u32) {
        let bytes = self.reads.deal();
        if self.prng.unit() < self.reads_of_written {
            let old = if sequential { self.sequential_old(Zones::Written, bytes, 0) } else { None };
            let offset = old.or_else(|| self.old_data(Zones::Written, bytes));
            // Before the first write: data that will be written later.
            let offset = offset
                .or_else(|| self.space.fresh(Zones::Written, &self.recent, &mut self.prng))
                .unwrap_or(0);
            return (offset, bytes);
        }
        let reads = self.left.requests + 1 - self.left.writes - self.left.trims - self.left.flushes;
        let page_reads = reads as f64 * (1.0 - self.reads_of_written) * self.read_pages;
        let new = self.prng.unit() * page_reads < self.read_only_pages as f64;
        if (new || self.extents[1].is_empty())
            && let Some(offset) = self.new_data(Zones::ReadOnly, bytes, sequential)
        {
            // The remaining new pages are fewer than a large read touches.
            let count = pages(offset, bytes).1 + 1 - pages(offset, 1).0;
            let excess = count.saturating_sub(self.read_only_pages);
            let offset = self.space.step_back(offset, excess).unwrap_or(offset);
            self.read_only_pages = self.read_only_pages.saturating_sub(self.space.fill(offset, bytes));
            return (offset, bytes);
        }
        let old = if sequential { self.sequential_old(Zones::ReadOnly, bytes, 0) } else { None };
        let offset = old.or_else(|| self.old_data(Zones::ReadOnly, bytes));
        (offset.or_else(|| self.old_data(Zones::Written, bytes)).unwrap_or(0), bytes)
    }

    /// An address for `bytes` of new data, which becomes an extent that later requests return to.
    fn new_data(&mut self, kind: Zones, bytes: u32, sequential: bool) -> Option<u64> {
        let follows = |offset: &u64| self.space.continues_new(kind, *offset, bytes);
        let next = if sequential { self.recent.ends().find(follows) } else { None };
        let offset = match next {
            Some(offset) => offset,
            None => self.space.fresh(kind, &self.recent, &mut self.prng)? + 512 * self.start_sector(),
        };
        self.remember(kind, offset, bytes);
        Some(offset)
    }

    /// Splits the bytes from `offset` into extents and stores them.
    fn remember(&mut self, kind: Zones, mut offset: u64, mut bytes: u32) {
        if let Some(wide) = &mut self.wide {
            let (first, last) = pages(offset, bytes);
            let size = (last + 1 - first).ilog2() as usize;
            wide[kind as usize][size].push(self.extents[kind as usize].len() as u32);
        }
        while bytes > 0 {
            let piece = bytes.min(EXTENT_BYTES);
            self.extents[kind as usize].push(Extent { offset, bytes: piece });
            (offset, bytes) = (offset + u64::from(piece), bytes - piece);
        }
    }

    /// Whether requests begin at this sector of a page.
    fn starts_at(&self, sector: u64) -> bool {
        let at = sector as usize;
        self.start_sector[at] > if at == 0 { 0.0 } else { self.start_sector[at - 1] }
    }

    /// The sector of a page at which a new extent begins.
    fn start_sector(&mut self) -> u64 {
        let total = self.start_sector[7];
        if self.start_sector[0] >= total {
            return 0;
        }
        let at = self.prng.unit() * total;
        self.start_sector.iter().take_while(|&&upto| upto <= at).count().min(7) as u64
    }

    /// The end of a recent request after which `bytes` lie in old data, except for at most `spill` new pages.
    fn sequential_old(&self, kind: Zones, bytes: u32, spill: u64) -> Option<u64> {
        let fits =
            |offset: &u64| self.space.continues_old(kind, *offset, bytes).is_some_and(|new| new <= spill);
        self.recent.ends().find(fits)
    }

    /// An address for `bytes` in an existing extent, popular ones more often; at its start or, where the extent is
    /// larger, at any of its pages from which `bytes` fit.
    fn old_extent(&mut self, kind: Zones, bytes: u32) -> Option<u64> {
        let extents = &self.extents[kind as usize];
        if extents.is_empty() {
            return None;
        }
        let extent = extents[self.popularity[kind as usize].draw(extents.len(), &mut self.prng)];
        let room = u64::from(extent.bytes.saturating_sub(bytes)) / PAGE_BYTES;
        let page = if room > 0 { self.prng.below(room + 1) } else { 0 };
        Some(extent.offset + page * PAGE_BYTES)
    }

    /// An address for `bytes` at or near a popular extent such that they lie in old data, as far as there is enough.
    fn old_data(&mut self, kind: Zones, bytes: u32) -> Option<u64> {
        let mut offset = self.old_extent(kind, bytes)?;
        for _ in 0..RETRIES {
            if let Some(offset) = self.space.pull_back(offset, bytes) {
                return Some(offset);
            }
            offset = self.old_extent(kind, bytes)?;
        }
        Some(self.wide_extent(kind, bytes).unwrap_or(offset))
    }

    /// An address for `bytes` of old data at an extent made by a request of about that size or more, where data has
    /// holes; as far along the extents as a popular one.
    fn wide_extent(&mut self, kind: Zones, bytes: u32) -> Option<u64> {
        let extents = &self.extents[kind as usize];
        let size = (pages(0, bytes).1 + 1).ilog2() as usize;
        let sizes = self.wide.as_ref()?[kind as usize].get(size..)?;
        sizes.iter().filter(|wide| !wide.is_empty()).find_map(|wide| {
            (0..RETRIES).find_map(|_| {
                let rank = self.popularity[kind as usize].draw(extents.len(), &mut self.prng) as u64;
                let at = wide[(rank * wide.len() as u64 / extents.len() as u64) as usize];
                self.space.pull_back(extents[at as usize].offset, bytes)
            })
        })
    }
}

impl Source for ProfileSource {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let count = (batch.capacity().max(1) as u64).min(self.left.requests);
        for _ in 0..count {
            let request = self.request();
            batch.push(request);
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(1.0 - self.left.requests as f64 / self.total.max(1) as f64)
    }
}
