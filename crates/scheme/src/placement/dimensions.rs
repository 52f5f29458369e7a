//! Dimensions of a log over given members: its segments, its capacity for hosts, and its places in memory.
//!
//! Source: paper 001, sections III-B (which chunks leave memory together) and IV-B (GC units); the space held in reserve, so
//! that collection never gets stuck, is ours (`log/mod.rs`).

use stripewise_core::geometry::Geometry;

use super::{ElasticSection, classes};

/// The dimensions of an elastic placement.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// Number of segments.
    pub segments: u64,
    /// Number of chunks that hosts may fill.
    pub capacity: u64,
}

/// The most rows of stripes in flight for each stream whose chunks leave stripe by stripe.
const ROWS_UNDER_WAY: u64 = 64;

impl Dimensions {
    /// The dimensions of `section` over `geometry`, with `tiers` tiers of hotness. With metadata, a summary has room for
    /// `summary` entries.
    pub fn new(section: &ElasticSection, geometry: &Geometry, tiers: u32, summary: Option<u32>) -> Self {
        let (rows, data) = (u64::from(section.segment_rows), u64::from(geometry.data));
        let full = u64::from(section.segment_rows / geometry.depth);
        let member_rows = geometry.rows() / u64::from(geometry.groups);
        let segments = member_rows / rows * u64::from(geometry.groups);
        let relocation_streams = u64::from(section.classes.tendencies());
        let hosts = u64::from(tiers) * relocation_streams;
        let (mut kept, mut stripes, mut gain) =
            (hosts + 2 * relocation_streams + 1, full, relocation_streams);
        if let Some(room) = summary {
            let slots = section.segment_rows * geometry.width;
            // Chunks that memory accepts must find room, and collected segments wait for a checkpoint.
            kept += hosts + 3;
            stripes = full_stripes(room, slots, geometry.columns, geometry.tolerance()).into();
            gain = 2 * relocation_streams;
        }
        let shortest: u64 = geometry.data_on(geometry.width.saturating_sub(section.room_for_lost)).into();
        let proved = segments.saturating_sub(kept) * stripes.saturating_sub(gain) * shortest;
        let room = segments * stripes * data;
        Self { segments, capacity: proved.min(room - section.reserve.of(room)) }
    }
}

/// Number of places in controller memory for pages of `page_bytes`: for each stream of hosts the chunks that leave together
/// and those in flight, and the live chunks of a segment with the few that wait already.
pub fn places(section: &ElasticSection, geometry: &Geometry, tiers: u32, page_bytes: u32) -> u64 {
    let data = u64::from(geometry.data);
    let tendencies = section.classes.tendencies();
    let depths = classes::depths(section, tiers, page_bytes);
    let waiting = depths[..(tiers * tendencies) as usize].iter().map(|&depth| {
        let unit = classes::unit(section, section.buffer, depth, geometry);
        unit + unit.max(ROWS_UNDER_WAY * data / u64::from(geometry.depth))
    });
    waiting.sum::<u64>() + u64::from(section.segment_rows / geometry.depth + tendencies) * data
}

/// Number of stripes of `columns` chunks that fit in `slots` slots besides summaries of at most `room` entries, each in one
/// copy more than the `tolerance` of lost members.
pub fn full_stripes(room: u32, slots: u32, columns: u32, tolerance: u32) -> u32 {
    let copies = tolerance + 1;
    let in_batch = room.saturating_sub(copies) / columns;
    let batch = copies + in_batch * columns;
    let rest = (slots % batch).saturating_sub(copies) / columns;
    slots / batch * in_batch + rest
}
