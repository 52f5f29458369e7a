//! Requests.

use stripewise_array::geometry::Geometry;

use super::draw::Draw;
use crate::case::{Ask, What};

/// The characteristics of requests.
struct Manners {
    /// The places to which most requests go: first sector and length of each.
    hot: Vec<(u64, u64)>,
    hot_percent: u64,
    /// In percent: writes, trims, flushes; all other requests are reads.
    weights: [u64; 3],
    /// Percentage of requests that follow the previous one at once.
    burst_percent: u64,
    gap_ns: u64,
    page: u64,
    stripe: u64,
    sectors: u64,
}

/// Requests over `pages` pages of `page` sectors each; their number is one of `counts`.
pub(crate) fn requests(
    draw: &mut Draw,
    geometry: &Geometry,
    pages: u64,
    page: u64,
    counts: &[u64],
) -> Vec<Ask> {
    let sectors = pages * page;
    let stripe = u64::from(geometry.data) * u64::from(geometry.chunk_pages) * page;
    let hot = (0..draw.between(1, 3))
        .map(|_| {
            let length = draw.one_of(&[page, stripe, 2 * stripe]).min(sectors);
            (draw.between(0, sectors - length), length)
        })
        .collect();
    let manners = Manners {
        hot,
        hot_percent: draw.one_of(&[0, 50, 80, 95]),
        weights: [draw.one_of(&[20, 50, 50, 80]), draw.one_of(&[0, 0, 3, 10]), draw.one_of(&[0, 0, 2, 6])],
        burst_percent: draw.one_of(&[0, 50, 90, 100]),
        gap_ns: draw.one_of(&[1_000, 100_000, 2_000_000]),
        page,
        stripe,
        sectors,
    };
    let count = draw.one_of(counts);
    (0..count).map(|_| request(draw, &manners)).collect()
}

fn request(draw: &mut Draw, manners: &Manners) -> Ask {
    let Manners { page, stripe, sectors, .. } = *manners;
    let gap_ns = if draw.percent(manners.burst_percent) { 0 } else { draw.between(1, manners.gap_ns) };
    let kind = draw.between(0, 99);
    let [writes, trims, flushes] = manners.weights;
    let what = if kind < writes {
        What::Write
    } else if kind < writes + trims {
        What::Trim
    } else if kind < writes + trims + flushes {
        return Ask { gap_ns, what: What::Flush, sector: 0, sectors: 0 };
    } else {
        What::Read
    };
    let (from, room) =
        if draw.percent(manners.hot_percent) { draw.one_of(&manners.hot) } else { (0, sectors) };
    let (grain, most) = match draw.between(0, 9) {
        // Any sectors of a page or two; whole pages; whole stripes; anything.
        0..=3 => (1, 2 * page),
        4..=6 => (page, stripe),
        7..=8 => (stripe, 3 * stripe),
        _ => (1, 3 * stripe),
    };
    // Trims that cover no whole stripe have no effect.
    let (grain, most) =
        if what == What::Trim && draw.percent(70) { (stripe, 2 * stripe) } else { (grain, most) };
    let sector = (from + draw.0.below(room)) / grain * grain;
    let length = if draw.percent(30) { grain } else { draw.between(1, most.div_ceil(grain)) * grain };
    Ask { gap_ns, what, sector, sectors: length.min(sectors - sector) }
}
