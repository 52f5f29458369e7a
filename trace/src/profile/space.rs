//! The address space of a generated trace: zones that fill up page by page. So the generator always knows which pages
//! hold data, in memory that does not depend on the trace's length.
//!
//! A zone is a run of pages that is filled from its start without holes. Pages below its fill mark are old, pages
//! above are new. Some zones are for data that is written, the others for data that is only read. A request for new
//! pages goes to the fill mark of a zone picked at random, one for old pages to any place below a fill mark.

use stripewise_base::prng::Prng;

use crate::stats::{PAGE_BYTES, Recent};

/// The most zones, where the span allows it: many streams, small tables.
const MOST_ZONES: u64 = 1024;

/// The zones that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zones {
    /// Zones of data that the trace writes.
    Written = 0,
    /// Zones of data that it only reads.
    ReadOnly = 1,
}

#[derive(Clone, Debug)]
struct Zone {
    kind: Zones,
    filled: u64,
    pages: u64,
}

/// The place of the data, and the filled part of each zone.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Pages of every zone except the last, as a power of two.
    zone_bits: u32,
    zones: Vec<Zone>,
    /// Zones of each kind that have room for the largest request.
    open: [Vec<u32>; 2],
    /// Room that a zone needs to stay open, in pages.
    largest: u64,
}

impl Space {
    /// Zones in `span` bytes for `data` pages of each kind, with requests of at most `largest` pages. Where the data
    /// does not fit, the span is widened.
    pub(super) fn new(span: u64, data: [u64; 2], largest: u64) -> Self {
        let largest = largest.max(1);
        let span_pages = (span / PAGE_BYTES).max(data[0] + data[1]).max(1);
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
        let zones: Vec<Zone> =
            (0..count).map(|at| Zone { kind: kind(at), filled: 0, pages: zone_pages }).collect();
        let open = [Zones::Written, Zones::ReadOnly].map(|wanted| {
            let of_kind = zones.iter().zip(0u32..).filter(|(zone, _)| zone.kind == wanted);
            of_kind.map(|(_, at)| at).collect()
        });
        Self { zone_bits: zone_pages.trailing_zeros(), zones, open, largest }
    }

    fn zone(&self, page: u64) -> Option<&Zone> {
        self.zones.get((page >> self.zone_bits) as usize)
    }

    fn start(&self, zone: u32) -> u64 {
        u64::from(zone) << self.zone_bits
    }

    /// The fill mark of a random zone of `kind` that has room for any request, preferably one where no recent request
    /// ended: the first byte of a new page. `None` when the zones are full.
    pub(super) fn fresh(&self, kind: Zones, recent: &Recent, prng: &mut Prng) -> Option<u64> {
        let open = &self.open[kind as usize];
        let mut at = None;
        for _ in 0..8 {
            let zone = *open.get(prng.below(open.len().max(1) as u64) as usize)?;
            let mark = (self.start(zone) + self.zones[zone as usize].filled) * PAGE_BYTES;
            at = Some(mark);
            if !recent.continues(0, mark) {
                break;
            }
        }
        at
    }

    /// A page just below the fill mark of a random zone of `kind` with room for any request.
    pub(super) fn brink(&self, kind: Zones, prng: &mut Prng) -> Option<u64> {
        let open = &self.open[kind as usize];
        (0..8).find_map(|_| {
            let zone = *open.get(prng.below(open.len().max(1) as u64) as usize)?;
            let filled = self.zones[zone as usize].filled;
            (filled > 0).then(|| (self.start(zone) + filled - 1) * PAGE_BYTES)
        })
    }

    /// The number of new pages that the bytes from `offset` would fill, if they begin in old data of `kind` and stay
    /// in one zone.
    pub(super) fn continues_old(&self, kind: Zones, offset: u64, bytes: u32) -> Option<u64> {
        let (first, last) = pages(offset, bytes);
        let zone = self.zone(first).filter(|zone| zone.kind == kind)?;
        let (first, last) = self.inside(first, last)?;
        (first < zone.filled).then(|| (last + 1).saturating_sub(zone.filled))
    }

    /// Whether the bytes from `offset` begin at the fill mark of a zone of `kind` and fit into it.
    pub(super) fn continues_new(&self, kind: Zones, offset: u64, bytes: u32) -> bool {
        let (first, last) = pages(offset, bytes);
        offset.is_multiple_of(PAGE_BYTES)
            && self.zone(first).is_some_and(|zone| zone.kind == kind)
            && self.inside(first, last).is_some_and(|(first, _)| Some(first) == self.zone_filled(last))
    }

    fn zone_filled(&self, page: u64) -> Option<u64> {
        self.zone(page).map(|zone| zone.filled)
    }

    /// First and last page relative to the start of their zone, if both lie in the same zone.
    fn inside(&self, first: u64, last: u64) -> Option<(u64, u64)> {
        let start = first >> self.zone_bits << self.zone_bits;
        let pages = self.zone(first)?.pages;
        (last - start < pages).then_some((first - start, last - start))
    }

    /// Moves the bytes from `offset` towards the start of their zone until they cover old pages only; `None` if the
    /// zone holds too few.
    pub(super) fn pull_back(&self, offset: u64, bytes: u32) -> Option<u64> {
        let (first, last) = pages(offset, bytes);
        let filled = self.zone_filled(first)?;
        let start = first >> self.zone_bits << self.zone_bits;
        let excess = (last + 1 - start).saturating_sub(filled);
        (first - start >= excess).then(|| offset - excess * PAGE_BYTES)
    }

    /// The address `pages` before `offset`, if it is in the same zone.
    pub(super) fn step_back(&self, offset: u64, pages: u64) -> Option<u64> {
        let page = offset / PAGE_BYTES;
        let inside = page - (page >> self.zone_bits << self.zone_bits);
        (inside >= pages).then(|| offset - pages * PAGE_BYTES)
    }

    /// Marks the pages of the bytes from `offset` as filled and returns how many of them were new.
    pub(super) fn fill(&mut self, offset: u64, bytes: u32) -> u64 {
        let (first, last) = pages(offset, bytes);
        let at = (first >> self.zone_bits) as usize;
        let mark = last + 1 - ((at as u64) << self.zone_bits);
        let Some(zone) = self.zones.get_mut(at) else { return 0 };
        let new = mark.saturating_sub(zone.filled);
        zone.filled += new;
        if new > 0 && zone.pages.saturating_sub(zone.filled) < self.largest {
            // A zone closes only once, and the list is short.
            let open = &mut self.open[zone.kind as usize];
            if let Some(place) = open.iter().position(|&zone| zone as usize == at) {
                open.swap_remove(place);
            }
        }
        new
    }
}

/// First and last page of a request.
#[inline]
pub(super) fn pages(offset: u64, bytes: u32) -> (u64, u64) {
    (offset / PAGE_BYTES, (offset + u64::from(bytes).max(1) - 1) / PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    #[test]
    fn zones_hold_the_data_whatever_the_span() {
        for (span, data, largest) in [
            (1 << 30, [1000, 1000], 16),
            (1 << 20, [100_000, 5], 1),
            (1 << 34, [4 << 20, 0], 256),
            (0, [0, 10], 1024),
        ] {
            let mut space = Space::new(span, data, largest);
            let mut prng = Prng::new(1);
            for (kind, pages) in [(Zones::Written, data[0]), (Zones::ReadOnly, data[1])] {
                let mut left = pages;
                while left > 0 {
                    let take = left.min(largest);
                    let at = space.fresh(kind, &Recent::default(), &mut prng).expect("room for all data");
                    assert!(space.continues_new(kind, at, (take * 4 * KIB) as u32));
                    assert_eq!(space.fill(at, (take * 4 * KIB) as u32), take, "the pages were new");
                    left -= take;
                }
            }
        }
    }

    #[test]
    fn old_and_new_data_are_distinguished_at_the_fill_mark() {
        let mut space = Space::new(1 << 30, [1000, 0], 16);
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
