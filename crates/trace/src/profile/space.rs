//! The address space of a generated trace: zones that fill up page by page, so that the generator always knows which
//! pages hold data.
//!
//! A zone is a run of pages that is filled from its start. Pages below its fill mark are old, pages above are new. Some
//! zones are for data that is written, the others for data that is only read. A request for new pages goes to the fill
//! mark of a zone picked at random, one for old pages to any place below a fill mark. Zones begin at powers of two, or
//! anywhere ([`Places::phase`]). They are filled without holes, or with a hole after each extent ([`Places::extents`]);
//! new pages then go to one of a few current extents. Without extents the memory does not depend on the trace's length.

use stripewise_base::prng::Prng;

use super::statistics::{ExtentLaw, Places};
use crate::stats::{PAGE_BYTES, Recent};

/// The most zones, where the span allows it: many streams, small tables.
const MOST_ZONES: u64 = 1024;
/// Extents of each kind that grow at the same time.
const CURRENT: u64 = 32;

/// The zones that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zones {
    /// Zones of data that the trace writes.
    Written = 0,
    /// Zones of data that it only reads.
    ReadOnly = 1,
}

/// Places within a zone are relative to its start, in pages.
#[derive(Clone, Debug)]
struct Zone {
    kind: Zones,
    /// The first page of the address space that belongs to it.
    start: u64,
    filled: u64,
    pages: u64,
    /// The end that was drawn for the current extent.
    until: u64,
    /// Pages that holes may still take.
    spare: u64,
    /// Holes below the fill mark, ascending: first page, and the page after the last.
    holes: Vec<(u64, u64)>,
}

impl Zone {
    fn new(kind: Zones, start: u64, pages: u64) -> Self {
        Self { kind, start, filled: 0, pages, until: 0, spare: 0, holes: Vec::new() }
    }

    /// The old pages around the page at `at` that have no hole among them, if it is old itself.
    #[inline]
    fn run(&self, at: u64) -> Option<(u64, u64)> {
        let above = self.holes.partition_point(|hole| hole.0 <= at);
        let low = if above == 0 { 0 } else { self.holes[above - 1].1 };
        let high = self.holes.get(above).map_or(self.filled, |hole| hole.0);
        (low <= at && at < high).then_some((low, high))
    }

    /// Pages above the fill mark.
    fn room(&self) -> u64 {
        self.pages.saturating_sub(self.filled)
    }

    /// The start of the extent that ends at the fill mark.
    fn last_run(&self) -> u64 {
        self.holes.last().map_or(0, |hole| hole.1)
    }
}

/// Draws the lengths of extents, and of the holes behind them.
#[derive(Clone, Debug)]
struct Cuts {
    law: ExtentLaw,
    /// Mean hole of each kind.
    hole: [f64; 2],
    /// Zones of each kind whose extents grow.
    current: [Vec<u32>; 2],
}

/// The place of the data, and the filled part of each zone.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Zone k begins in the k-th run of this many pages, a power of two.
    zone_bits: u32,
    zones: Vec<Zone>,
    /// Zones of each kind that have room for the largest request.
    open: [Vec<u32>; 2],
    /// Room that a zone needs to stay open, in pages.
    largest: u64,
    cuts: Option<Cuts>,
}

impl Space {
    /// Zones in `span` bytes for `data` pages of each kind, with requests of at most `largest` pages. Where the data
    /// does not fit, the span is widened.
    pub(super) fn new(span: u64, data: [u64; 2], largest: u64, places: Places, prng: &mut Prng) -> Self {
        let largest = largest.max(1);
        let mut span_pages = (span / PAGE_BYTES).max(data[0] + data[1]).max(1);
        if places.extents.is_some() {
            // Extents need room between them.
            span_pages = span_pages.max((data[0] + data[1]) * 5 / 4);
        }
        let finest = (span_pages / MOST_ZONES).max(64).next_power_of_two();
        let coarse = (16 * largest).next_power_of_two();
        // Large zones waste little room at their ends; many zones scatter better.
        let roomy = if span_pages / coarse >= 64 { coarse } else { (4 * largest).next_power_of_two() };
        let zone_pages = finest.max(roomy);
        let needed = data.map(|pages| pages.div_ceil(zone_pages - largest + 1));
        let count = (span_pages / zone_pages).max(needed[0] + needed[1]).max(1);
        let share = needed[1] as f64 / (needed[0] + needed[1]).max(1) as f64;
        let read_only = ((count as f64 * share + 0.5) as u64).clamp(needed[1], count - needed[0]);
        let kind = |at: u64| {
            let below = |at: u64| (u128::from(at) * u128::from(read_only) / u128::from(count)) as u64;
            if below(at + 1) > below(at) { Zones::ReadOnly } else { Zones::Written }
        };
        let mut zones: Vec<Zone> =
            (0..count).map(|at| Zone::new(kind(at), at * zone_pages, zone_pages)).collect();
        // What a zone certainly holds before it closes.
        let holds = |zone: &Zone| zone.pages + 1 - largest;
        let all_hold = |zones: &[Zone], wanted: Zones| -> u64 {
            zones.iter().filter(|zone| zone.kind == wanted).map(holds).sum()
        };
        if places.phase {
            shift(&mut zones, zone_pages, prng);
            for kind in [Zones::Written, Zones::ReadOnly] {
                while all_hold(&zones, kind) < data[kind as usize] {
                    zones.push(Zone::new(kind, zones.len() as u64 * zone_pages, zone_pages));
                }
            }
        }
        let cuts = places.extents.map(|law| {
            let hole = [Zones::Written, Zones::ReadOnly].map(|kind| {
                let (all, data) = (all_hold(&zones, kind), data[kind as usize]);
                let spare = 1.0 - data as f64 / all.max(1) as f64;
                for zone in zones.iter_mut().filter(|zone| zone.kind == kind) {
                    zone.spare = (holds(zone) as f64 * spare) as u64;
                }
                0.9 * spare * all as f64 * law.mean_pages() / data.max(1) as f64
            });
            Cuts { law, hole, current: [Vec::new(), Vec::new()] }
        });
        let open = [Zones::Written, Zones::ReadOnly].map(|wanted| {
            let of_kind = zones.iter().zip(0u32..).filter(|(zone, _)| zone.kind == wanted);
            of_kind.map(|(_, at)| at).collect()
        });
        Self { zone_bits: zone_pages.trailing_zeros(), zones, open, largest, cuts }
    }

    /// The index of the zone of `page`.
    #[inline]
    fn at(&self, page: u64) -> Option<usize> {
        let cell = ((page >> self.zone_bits) as usize).min(self.zones.len());
        let at = match self.zones.get(cell) {
            Some(zone) if zone.start <= page => cell,
            _ => cell.checked_sub(1)?,
        };
        let zone = &self.zones[at];
        (page - zone.start < zone.pages).then_some(at)
    }

    fn zone(&self, page: u64) -> Option<&Zone> {
        self.at(page).map(|at| &self.zones[at])
    }

    fn any_open(&self, kind: Zones, prng: &mut Prng) -> Option<u32> {
        let open = &self.open[kind as usize];
        open.get(prng.below(open.len().max(1) as u64) as usize).copied()
    }

    /// The fill mark of a random zone of `kind` that has room for any request, preferably one where no recent request
    /// ended: the first byte of a new page. `None` when the zones are full.
    pub(super) fn fresh(&mut self, kind: Zones, recent: &Recent, prng: &mut Prng) -> Option<u64> {
        let mut at = None;
        for _ in 0..8 {
            let zone = match self.cuts {
                None => self.any_open(kind, prng)?,
                Some(_) => self.current(kind, prng)?,
            };
            let zone = &self.zones[zone as usize];
            let mark = (zone.start + zone.filled) * PAGE_BYTES;
            at = Some(mark);
            if !recent.continues(0, mark) {
                break;
            }
        }
        at
    }

    /// A zone of `kind` with an extent that grows. Where the extent of a place among them has its length, another begins.
    fn current(&mut self, kind: Zones, prng: &mut Prng) -> Option<u32> {
        let place = prng.below(CURRENT) as usize;
        let held = self.cuts.as_ref().and_then(|cuts| cuts.current[kind as usize].get(place).copied());
        let grows = |zone: &Zone| zone.filled < zone.until && zone.room() >= self.largest;
        if let Some(zone) = held.filter(|&zone| grows(&self.zones[zone as usize])) {
            return Some(zone);
        }
        let at = self.any_open(kind, prng)?;
        let cuts = self.cuts.as_mut()?;
        let zone = &mut self.zones[at as usize];
        if zone.filled >= zone.until {
            // Half of the rest at most, so that later extents have holes between them too.
            let most = zone.spare.div_ceil(2).min(zone.room().saturating_sub(self.largest));
            if zone.filled > zone.last_run() && most > 0 {
                let hole = (-libm::log(1.0 - prng.unit()) * cuts.hole[kind as usize]) as u64;
                let hole = hole.clamp(1, most);
                zone.holes.push((zone.filled, zone.filled + hole));
                zone.filled += hole;
                zone.spare -= hole;
            }
            zone.until = zone.filled + cuts.law.draw(prng);
        }
        let current = &mut cuts.current[kind as usize];
        match current.get_mut(place) {
            Some(held) => *held = at,
            None => current.push(at),
        }
        Some(at)
    }

    /// A page just below the fill mark of a random zone of `kind` with room for any request.
    pub(super) fn brink(&self, kind: Zones, prng: &mut Prng) -> Option<u64> {
        let current = self.cuts.as_ref().map(|cuts| &cuts.current[kind as usize]);
        let zones = current.filter(|zones| !zones.is_empty()).unwrap_or(&self.open[kind as usize]);
        (0..8).find_map(|_| {
            let zone = &self.zones[*zones.get(prng.below(zones.len().max(1) as u64) as usize)? as usize];
            let usable = zone.filled > zone.last_run() && zone.room() >= self.largest;
            usable.then(|| (zone.start + zone.filled - 1) * PAGE_BYTES)
        })
    }

    /// The number of new pages that the bytes from `offset` would fill, if they begin in old data of `kind` and stay
    /// in one zone, clear of holes.
    pub(super) fn continues_old(&self, kind: Zones, offset: u64, bytes: u32) -> Option<u64> {
        let (first, last) = pages(offset, bytes);
        let zone = self.zone(first).filter(|zone| zone.kind == kind)?;
        let (first, last) = (first - zone.start, last - zone.start);
        let (_, high) = zone.run(first).filter(|_| last < zone.pages)?;
        let new = (last + 1).saturating_sub(high);
        (new == 0 || high == zone.filled).then_some(new)
    }

    /// Whether the bytes from `offset` begin at the fill mark of a zone of `kind` and fit into it.
    pub(super) fn continues_new(&self, kind: Zones, offset: u64, bytes: u32) -> bool {
        let (first, last) = pages(offset, bytes);
        offset.is_multiple_of(PAGE_BYTES)
            && self.zone(first).is_some_and(|zone| {
                let (first, last) = (first - zone.start, last - zone.start);
                zone.kind == kind && first == zone.filled && last < zone.pages
            })
    }

    /// Moves the bytes from `offset` towards the start of their zone until they cover old pages only; `None` if there
    /// are too few without a hole.
    pub(super) fn pull_back(&self, offset: u64, bytes: u32) -> Option<u64> {
        let (first, last) = pages(offset, bytes);
        let zone = self.zone(first)?;
        let (first, last) = (first - zone.start, last - zone.start);
        let (low, high) = if zone.holes.is_empty() { (0, zone.filled) } else { zone.run(first)? };
        let excess = (last + 1).saturating_sub(high);
        (first - low >= excess).then(|| offset - excess * PAGE_BYTES)
    }

    /// The address `pages` before `offset`, if it is in the same zone and no hole is between.
    pub(super) fn step_back(&self, offset: u64, pages: u64) -> Option<u64> {
        let page = offset / PAGE_BYTES;
        let zone = self.zone(page)?;
        let low = if page - zone.start >= zone.filled { zone.last_run() } else { 0 };
        (page - zone.start >= low + pages).then(|| offset - pages * PAGE_BYTES)
    }

    /// Marks the pages of the bytes from `offset` as filled and returns how many of them were new.
    pub(super) fn fill(&mut self, offset: u64, bytes: u32) -> u64 {
        let (first, last) = pages(offset, bytes);
        let Some(at) = self.at(first) else { return 0 };
        let zone = &mut self.zones[at];
        let mark = last + 1 - zone.start;
        let new = mark.saturating_sub(zone.filled);
        zone.filled += new;
        if new > 0 && zone.room() < self.largest {
            // A zone closes only once, and the list is short.
            let open = &mut self.open[zone.kind as usize];
            if let Some(place) = open.iter().position(|&zone| zone as usize == at) {
                open.swap_remove(place);
            }
        }
        new
    }
}

/// Moves the boundary between each zone and the next to anywhere in the first half of the latter's room.
fn shift(zones: &mut [Zone], zone_pages: u64, prng: &mut Prng) {
    let end = zones.len() as u64 * zone_pages;
    zones.iter_mut().for_each(|zone| zone.start += prng.below(zone_pages / 2));
    let mut next = end;
    for zone in zones.iter_mut().rev() {
        zone.pages = next - zone.start;
        next = zone.start;
    }
}

/// First and last page of a request.
#[inline]
pub(super) fn pages(offset: u64, bytes: u32) -> (u64, u64) {
    (offset / PAGE_BYTES, (offset + u64::from(bytes).max(1) - 1) / PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use stripewise_base::units::Bytes;

    use super::*;

    const KIB: u64 = 1024;

    fn layouts() -> [Places; 4] {
        let extents = Some(ExtentLaw { median: Bytes(12 << 10), sigma: 1.3 });
        [(false, None), (true, None), (false, extents), (true, extents)]
            .map(|(phase, extents)| Places { phase, extents })
    }

    #[test]
    fn zones_hold_the_data_whatever_the_span_and_no_page_is_new_twice() {
        for (span, data, largest) in [
            (1 << 30, [1000, 1000], 16),
            (1 << 20, [100_000, 5], 1),
            (1 << 34, [400_000, 0], 256),
            (0, [0, 10], 1024),
            (1 << 28, [20_000, 40_000], 33),
        ] {
            for (places, seed) in layouts().into_iter().zip(1..) {
                let mut prng = Prng::new(seed);
                let mut space = Space::new(span, data, largest, places, &mut prng);
                let mut seen = std::collections::BTreeSet::new();
                for (kind, pages) in [(Zones::Written, data[0]), (Zones::ReadOnly, data[1])] {
                    let mut left = pages;
                    while left > 0 {
                        let take = left.min(1 + prng.below(largest));
                        let bytes = (take * 4 * KIB) as u32;
                        let at = space.fresh(kind, &Recent::default(), &mut prng).expect("room for all data");
                        assert!(space.continues_new(kind, at, bytes));
                        assert_eq!(space.continues_old(kind, at, bytes), None);
                        assert_eq!(space.fill(at, bytes), take, "the pages were new");
                        assert_eq!(space.pull_back(at, bytes), Some(at), "and are old now");
                        (0..take).for_each(|page| assert!(seen.insert(at / 4096 + page), "{places:?}"));
                        left -= take;
                    }
                }
            }
        }
    }

    #[test]
    fn holes_hold_no_old_data() {
        let extents = Some(ExtentLaw { median: Bytes(8 << 10), sigma: 0.0 });
        let mut prng = Prng::new(2);
        let mut space = Space::new(1 << 22, [200, 0], 2, Places { phase: true, extents }, &mut prng);
        let mut old = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let at = space.fresh(Zones::Written, &Recent::default(), &mut prng).expect("room");
            space.fill(at, 8192);
            old.extend([at / 4096, at / 4096 + 1]);
        }
        let alone = (0..1024u64).filter(|page| !old.contains(page));
        for page in alone {
            assert_eq!(space.continues_old(Zones::Written, page * 4096, 4096), None, "{page}");
        }
        for &page in &old {
            // Two pages from here are old only if the next one is, and belongs to the zone.
            let next = space.continues_old(Zones::Written, page * 4096, 8192);
            assert!(next != Some(0) || old.contains(&(page + 1)), "{page}: {next:?}");
            let moved = space.pull_back(page * 4096, 8192).expect("every extent has two pages") / 4096;
            assert!(old.contains(&moved) && old.contains(&(moved + 1)), "{page} to {moved}");
        }
        assert!(old.iter().filter(|page| !old.contains(&(**page + 1))).count() > 60);
    }

    #[test]
    fn old_and_new_data_are_distinguished_at_the_fill_mark() {
        let mut space = Space::new(1 << 30, [1000, 0], 16, Places::default(), &mut Prng::new(1));
        let at = space.fresh(Zones::Written, &Recent::default(), &mut Prng::new(1)).expect("empty");
        assert_eq!(space.continues_old(Zones::Written, at, 4096), None, "nothing is old yet");
        assert_eq!(space.fill(at, 8192), 2);
        assert_eq!(space.continues_old(Zones::Written, at, 8192), Some(0));
        assert_eq!(space.continues_old(Zones::Written, at + 4096, 8192), Some(1));
        assert_eq!(space.continues_old(Zones::Written, at + 7680, 1024), Some(1));
        assert_eq!(space.continues_old(Zones::Written, at + 8192, 4096), None);
        assert_eq!(space.continues_old(Zones::ReadOnly, at, 4096), None);
        assert!(space.continues_new(Zones::Written, at + 8192, 4096));
        assert!(!space.continues_new(Zones::Written, at + 8704, 4096), "not at a page's start");
        assert_eq!(space.pull_back(at + 4096, 8192), Some(at));
        assert_eq!(space.pull_back(at + 4096, 3 * 4096), None);
        assert_eq!(space.brink(Zones::Written, &mut Prng::new(1)), Some(at + 4096));
    }
}
