//! The stress test over zones: small blocks whose tendency changes after every few accesses, and zones so small that
//! they are usually full.

use stripewise_array::MixSection;
use stripewise_array::placement::{
    FreePages, MixedZones, PlacementPolicy, WritesAs, ZoneSection, ZonesSection,
};
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;
use stripewise_base::units::Bytes;

use super::draw::Draw;
use super::faults::losses;
use super::requests::requests;
use super::rewrites_in_place;
use crate::case::Case;
use crate::stamp::SECTOR;

/// Gives zones to some of the cases whose chunks are rewritten in place, from a separate random stream. Requests and
/// losses are then drawn again, because the array is smaller.
pub(super) fn zones(seed: u64, case: &mut Case) {
    let mut draw = Draw(Prng::stream(seed, 0x7A6F_6E65));
    if !draw.percent(30) || !rewrites_in_place(&case.scheme.placement) {
        return;
    }
    let before = case.scheme.clone();
    let page = u64::from(case.page_bytes());
    case.scheme.placement.policy = PlacementPolicy::McRais;
    case.scheme.geometry.chunk = None;
    (case.scheme.zones, case.scheme.mix) = sections(&mut draw, page);
    if case.geometry().is_err() {
        // Open rows need parity, and persistent memory that no write cache uses.
        case.scheme.zones.open_rows = 0;
    }
    let Ok(geometry) = case.geometry() else {
        case.scheme = before;
        return;
    };
    let pages = case.scheme.pages(&geometry);
    case.requests = requests(&mut draw, &geometry, pages, page / SECTOR as u64, &[30, 60, 120, 200, 400]);
    case.losses = losses(&mut draw, &geometry, case.requests.len() as u64);
}

/// Keeps the parity of updated rows in memory in some of the cases whose parity is updated where it lies, from a separate random
/// stream.
pub(super) fn parity_memory(seed: u64, case: &mut Case) {
    let mut draw = Draw(Prng::stream(seed, 0x6e76_7261));
    let rows = draw.one_of(&[1, 2, 5, 40]);
    let facts = case.scheme.placement.facts();
    if draw.percent(60) && facts.updates_parity && !facts.has_zones {
        case.scheme.parity.memory_rows = rows;
        if case.geometry().is_err() {
            case.scheme.parity.memory_rows = 0;
        }
    }
}

/// Zones and their tendencies, over pages of `page` bytes.
pub(crate) fn sections(draw: &mut Draw, page: u64) -> (ZonesSection, MixSection) {
    let largest = draw.one_of(&[1, 2, 4, 4]);
    let mut zone = |chunk: u64| {
        let chunk = Bytes(chunk.min(largest) * page);
        ZoneSection { chunk, parts: draw.one_of(&[1, 1, 2, 5]) }
    };
    let (reads, mixed, writes) = (zone(4), zone(2), zone(1));
    let block = Bytes(page * draw.one_of(&[1, 2, 3, 4, 8]));
    let evict_below = draw.one_of(&[Share::NONE, Share(10_000), Share(300_000), Share(900_000)]);
    let below = draw.one_of(&[100_000, 300_000, 500_000]);
    let mix = MixSection {
        history: draw.one_of(&[1, 1, 2, 4]),
        reads_below: Share(below),
        writes_above: Share(below + draw.one_of(&[1, 200_000, 400_000])),
    };
    let writes_as = draw.one_of(&[WritesAs::InPlace, WritesAs::Log, WritesAs::Log]);
    let free_pages = draw.one_of(&[FreePages::Data, FreePages::Zeros, FreePages::Zeros]);
    let open_rows = if free_pages == FreePages::Zeros { draw.one_of(&[1, 1, 3, 3, 3, 16, 16]) } else { 0 };
    // Mostly the paper's one zone of mixed blocks; no zone, or several.
    let mixed = match draw.one_of(&[1, 1, 1, 0, 2, 3]) {
        0 => Vec::new(),
        count => {
            let finer = |at: u64| Bytes((mixed.chunk.0 / page).div_ceil(1 << at) * page);
            (0..count).map(|at| ZoneSection { chunk: finer(at), ..mixed }).collect()
        }
    };
    let mixed = MixedZones(mixed);
    (ZonesSection { reads, mixed, writes, block, evict_below, writes_as, free_pages, open_rows }, mix)
}
