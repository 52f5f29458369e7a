//! Elastic striping: parity is never updated in place. Written chunks wait in controller memory for more chunks, and
//! leave as new stripes, of as many chunks as there are, appended to a log that takes all members; what they replace stays where
//! it is, since its stripe needs it, until its segment is collected.
//!
//! - eSAP: one stream, whose chunks leave as soon as there is a stripe of them, or when the oldest has waited for `wait`.
//!   Source: Kim, Lee, Choi, Lee and Noh, DSN 2013 and IEEE TC 65(4), 2016, as paper 001 (section II-B) tells it.
//! - WAS: one stream for each tier of hotness, whose chunks leave together when they fill a segment. Source: paper 001,
//!   sections III and IV, algorithms 2 and 3.
//!
//! A *slot* is a place for one chunk. The array's segments are numbered, and their slots through: slot `s` of a group of `n`
//! members lies on member `s mod n`, so consecutive slots lie on members of their own. A stripe takes consecutive slots
//! of one segment, and its parity moves on from stripe to stripe (the paper leaves this open), or from band to band where a
//! class has larger chunks ([`Band`]).
//!
//! The forward map names for each chunk its slot, or its place in controller memory. See `docs/elastic-striping.md`.
//!
//! # Why it never gets stuck
//! Hosts may fill `capacity` chunks. Let S be the segments, H the streams of hosts, K those of live chunks of collection (one,
//! or one for each tendency), N the data chunks of a stripe, D those of a segment. A victim has at most D - KN valid chunks,
//! and at its end fewer than N live chunks of each stream wait in memory, so the stripes that they take are fewer than it had,
//! and each stream of live chunks opens one segment at most. Let R be the room of free segments and of those that live chunks
//! append to. Streams of hosts leave the last K free segments to the live chunks, so R is at least KD when a collection
//! begins that comes after a host's turn, and no collection leaves it smaller. While a stream of live chunks that needs a
//! segment finds none free, R is at most (K - 1)D, what the others have open; but one collection takes less than D. If no
//! closed segment is a victim, each has more than D - KN valid chunks, so there are fewer than `capacity / (D - KN)` of
//! them. As `capacity <= (S - H - 2K - 1)(D - KN)`, at least K + 1 segments are free, and hosts may open one. Where
//! live chunks share the open segments of streams of hosts, hosts leave the rest of those to them as well while only K
//! segments are free. While members are missing stripes are shorter, and so D and N are smaller: an array as full as this may
//! have no victim, unless `capacity` was reckoned with those (`room_for_lost`). Then it answers that there is no space, and goes
//! on when something was trimmed or replaced.

pub(crate) mod addresses;
pub(crate) mod buffer;
mod classes;
pub(crate) mod contents;
mod counts;
mod dimensions;
pub(crate) mod directory;
pub(crate) mod durable;
pub(crate) mod segments;
mod streams;
mod stripe_fill;

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};

use super::Persistence;
use crate::format::layout::Layout;
use crate::format::{Superblock, summary};
use crate::geometry::Geometry;
use crate::hotness::Hotness;
use crate::scheme::Scheme;
use addresses::{Addresses, NOWHERE};
use buffer::Buffer;
use directory::Directory;
use durable::Durable;
use segments::Segments;

pub(crate) use classes::Band;
use classes::Classes;
pub use classes::{ChunkSizes, ClassBy};
use contents::Content;
pub use counts::{MetadataCounts, ScrubCounts};
pub(crate) use dimensions::{Dimensions, places};
pub use directory::Role;
pub use streams::StreamCounts;
pub use stripe_fill::LARGE_WRITE_BYTES;
use stripe_fill::StripeFill;

/// The elastic section of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElasticSection {
    /// Pages that a segment, the unit of array-level garbage collection, takes of each member: the pages of a block.
    pub segment_rows: u32,
    /// How many chunks of a stream leave controller memory together.
    pub buffer: BufferUnit,
    /// After so long a chunk leaves with the chunks that wait by then (P_wait); 0 lets it wait until it has enough.
    pub wait: Span,
    /// When a write is acknowledged.
    pub acknowledge: AcknowledgeWrites,
    /// Which segment takes the chunks that collection moves.
    #[serde(rename = "survivors")]
    pub relocations: Relocations,
    /// Segments are collected before a host's stream opens one while more of them are in use.
    pub collect_above: Share,
    /// How much of the room for data hosts cannot fill.
    pub reserve: Share,
    /// So many members may be lost, and hosts can still write over all that they were offered: room is kept back for stripes
    /// that are as many chunks shorter. At most what parity tolerates.
    #[serde(skip_serializing_if = "is_none")]
    pub room_for_lost: u32,
    /// Whether each stream is one to the members too.
    pub device_streams: bool,
    /// By what chunks are told apart: each class has its stream, its segments and its chunk size.
    #[serde(skip_serializing_if = "is_default")]
    pub classes: ClassBy,
    /// The chunk size of each class; empty means a page for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: ChunkSizes,
    /// The block whose mix of reads and writes is counted (paper 004 has blocks of its largest chunk: our reading).
    #[serde(skip_serializing_if = "is_default_block")]
    pub block: Bytes,
}

/// 32 KiB, the largest chunk of paper 004.
const BLOCK: Bytes = Bytes(32 << 10);

fn is_none(members: &u32) -> bool {
    *members == 0
}

fn is_default(classes: &ClassBy) -> bool {
    *classes == ClassBy::default()
}

fn is_default_block(block: &Bytes) -> bool {
    *block == BLOCK
}

impl Default for ElasticSection {
    fn default() -> Self {
        Self {
            segment_rows: 64,
            buffer: BufferUnit::default(),
            wait: Span(0),
            acknowledge: AcknowledgeWrites::default(),
            relocations: Relocations::default(),
            collect_above: Share(900_000),
            reserve: Share(150_000),
            room_for_lost: 0,
            device_streams: false,
            classes: ClassBy::default(),
            chunks: ChunkSizes::new(),
            block: BLOCK,
        }
    }
}

impl ElasticSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How many chunks of a stream leave controller memory together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferUnit {
    /// Those of one stripe, as soon as they are there: eSAP.
    Stripe,
    /// Those that fill a segment: WAS.
    #[default]
    Group,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcknowledgeWrites {
    /// When controller memory has it; but the write that lets a stream's chunks leave waits until they are written, and for
    /// the collection that this takes.
    #[default]
    TriggerWaits,
    /// When controller memory has it.
    Buffered,
    /// When its stripes are written.
    Durable,
}

/// Which segment takes the chunks that collection moves; paper 001 (section IV-B) says that they are the coldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relocations {
    /// One of their own.
    #[default]
    Apart,
    /// That of the coldest stream of hosts: in eSAP, of all chunks.
    Coldest,
}

/// What the log did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElasticCounts {
    /// Stripes written.
    pub stripes: u64,
    /// Of those: the ones of fewer chunks than the living members have room for.
    pub short_stripes: u64,
    /// Data chunks of hosts in them.
    pub data: u64,
    /// Parity chunks in them.
    pub parity: u64,
    /// Segments that were collected.
    pub collected: u64,
    /// Valid chunks that collection wrote anew: paper 001's cost of collection (section II-B).
    pub moved: u64,
    /// Parity chunks of stripes that collection wrote.
    pub moved_parity: u64,
    /// Chunks that were written anew in controller memory: writes that the members never see.
    pub absorbed: u64,
    /// Chunks that were written again elsewhere because a member could not return them to a host.
    pub healed: u64,
}

impl ElasticCounts {
    /// What came after `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            stripes: self.stripes - base.stripes,
            short_stripes: self.short_stripes - base.short_stripes,
            data: self.data - base.data,
            parity: self.parity - base.parity,
            collected: self.collected - base.collected,
            moved: self.moved - base.moved,
            moved_parity: self.moved_parity - base.moved_parity,
            absorbed: self.absorbed - base.absorbed,
            healed: self.healed - base.healed,
        }
    }
}

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// It was never written, or trimmed since.
    Unmapped,
    /// More of its stripe was lost than the code tolerates.
    Lost,
    /// In this place of controller memory.
    Buffered(u32),
    /// In this slot.
    Mapped(u64),
}

/// The segment that is being collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    pub(crate) victim: u32,
    /// The slots that were not looked at yet.
    pub(crate) next: u64,
    pub(crate) end: u64,
    /// Reads of it under way.
    pub(crate) reads: u32,
}

/// The segment that a stream appends to, and the next slot there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) segment: u32,
    pub(crate) next: u64,
    pub(crate) end: u64,
}

/// The log of an array: where everything is, and what is on its way there.
#[derive(Debug)]
pub(crate) struct Elastic {
    pub(crate) map: Addresses,
    pub(crate) directory: Directory,
    pub(crate) segments: Segments,
    pub(crate) buffer: Buffer,
    /// Chunks that are read because a part of them is written, each with the plan that reads it.
    pub(crate) merges: Vec<(u64, u32)>,
    pub(crate) hotness: Hotness,
    pub(crate) classes: Classes,
    /// The open segment of each stream; the last streams are those of live chunks.
    pub(crate) open: Vec<Option<Open>>,
    /// The band that each stream writes, and how many there were.
    pub(crate) bands: Vec<Band>,
    pub(crate) turns: u64,
    pub(crate) collection: Option<Collection>,
    /// Whether a stream of hosts waits for a segment to be collected.
    pub(crate) wants_collection: bool,
    /// Whether there is no space, and nothing under way that could make some.
    pub(crate) is_full: bool,
    /// Stripes on their way, and of those the ones of live chunks.
    pub(crate) in_flight: u32,
    pub(crate) in_flight_relocations: u32,
    /// Of each plan the slot of each column, what is known of it where no inverse map tells, and the place in memory of each data
    /// column.
    homes: Vec<u64>,
    contents: Vec<Content>,
    places: Vec<u32>,
    /// Chunks that hosts may fill.
    pub(crate) capacity: u64,
    /// Chunks that are [`Location::Lost`].
    pub(crate) lost_chunks: u64,
    pub(crate) stripe_fill: StripeFill,
    pub(crate) is_volatile: bool,
    /// Whether live chunks go to the open segment of the coldest stream of hosts.
    pub(crate) shares: bool,
    columns: u32,
    data: u32,
    groups: u32,
    /// Members from one column of a group to the next.
    stride: u32,
    /// Members from the first one of a group to that of the next group.
    group_stride: u32,
    rows: u32,
    /// Segments in use beyond which they are collected.
    pub(crate) limit: u32,
    slots: u64,
    pub(crate) counts: ElasticCounts,
    /// Of each stream the chunks written and the segments opened; the rest is found when it is asked for.
    pub(crate) stream_counts: Vec<StreamCounts>,
    /// Whether members have no space for what is written to them: hosts are told so rather than made to wait.
    pub(crate) is_out_of_space: bool,
    /// With metadata: what it takes to be opened again.
    pub(crate) durable: Option<Box<Durable>>,
    /// Free segments below which collected ones are wanted back soon.
    pub(crate) comfort: u32,
    /// The first page of data of each member.
    first_page: u32,
}

impl Elastic {
    /// An empty log of `scheme` over `geometry`, whose chunks have `page_bytes`.
    /// With metadata it is kept as `durable` says, and where it `carries_data` its summaries can be read.
    pub(crate) fn new(
        scheme: &Scheme,
        geometry: &Geometry,
        page_bytes: u32,
        durable: Option<(Layout, Superblock)>,
        carries_data: bool,
    ) -> Self {
        let (section, tiers, plans) = (&scheme.elastic, scheme.tiers(), scheme.queues.plans);
        let summary = durable.is_some().then(|| summary::room(page_bytes));
        let Dimensions { segments, capacity } = Dimensions::new(section, geometry, tiers, summary);
        let places = places(section, geometry, tiers, page_bytes);
        let segment_slots = u64::from(section.segment_rows) * u64::from(geometry.columns);
        let slots = segments * segment_slots;
        let hotness = Hotness::new(&scheme.hotness, capacity, page_bytes);
        let classes = Classes::new(scheme, capacity, page_bytes);
        let streams = classes.streams();
        let stripe_fill = StripeFill::new(scheme, &classes, geometry, page_bytes);
        let hosts = classes.hosts();
        let first_page = durable.as_ref().map_or(0, |(layout, _)| layout.data.first);
        let has_summaries = carries_data && durable.is_some();
        let columns_of_plans = plans as usize * geometry.columns as usize;
        let checked = if carries_data { capacity } else { 0 };
        let durable = durable
            .map(|(layout, superblock)| Durable::new(layout, superblock, checked, segments as u32, streams));
        let mut log = Self {
            // Behind the slots come the places, and the mark of what is lost.
            map: Addresses::new(capacity, slots + places + 1),
            directory: Directory::new(slots, segment_slots, (!has_summaries).then_some(capacity)),
            segments: Segments::new(segments as u32, section.segment_rows * geometry.data),
            buffer: Buffer::new(places as u32, streams as u32),
            merges: Vec::with_capacity(plans as usize),
            hotness,
            classes,
            open: vec![None; streams],
            bands: vec![Band::default(); streams],
            turns: 0,
            collection: None,
            wants_collection: false,
            is_full: false,
            is_out_of_space: false,
            stream_counts: vec![StreamCounts::default(); streams],
            in_flight: 0,
            in_flight_relocations: 0,
            homes: vec![NOWHERE; columns_of_plans],
            contents: vec![Content::UNKNOWN; if has_summaries { columns_of_plans } else { 0 }],
            places: vec![crate::ids::NONE; plans as usize * geometry.data as usize],
            capacity,
            lost_chunks: 0,
            stripe_fill,
            is_volatile: scheme.placement.buffer_persistence == Persistence::Volatile,
            shares: section.relocations == Relocations::Coldest,
            columns: geometry.columns,
            data: geometry.data,
            groups: geometry.groups,
            stride: geometry.stride,
            group_stride: geometry.base(1),
            rows: section.segment_rows,
            limit: section.collect_above.of(segments) as u32,
            slots,
            counts: ElasticCounts::default(),
            durable: durable.map(Box::new),
            comfort: 0,
            first_page,
        };
        if log.durable.is_some() {
            let waiting = (0..hosts).map(|stream| log.stripe_fill.of(stream)).sum();
            let comfort = log.classes.relocation_streams() + log.segments_for(waiting);
            log.comfort = comfort.min(log.segments.count() / 4);
            log.limit = log.limit.min(log.segments.count() - log.comfort);
        }
        log
    }

    /// Columns of a group.
    #[inline]
    pub(crate) fn columns(&self) -> u32 {
        self.columns
    }

    /// Data chunks of a full stripe.
    #[inline]
    pub(crate) fn data(&self) -> u32 {
        self.data
    }

    /// Free segments that surely have room for so many chunks, each with a stripe and a summary of its own, of all streams of
    /// hosts.
    pub(crate) fn segments_for(&self, chunks: u32) -> u32 {
        let parity = self.columns - self.data;
        let slots = u64::from(chunks) * u64::from(2 * parity + 2);
        // The end of a segment may be too short for anything.
        let usable = self.segment_slots().saturating_sub(u64::from(self.columns + 2 * parity + 1)).max(1);
        self.hosts() as u32 + slots.div_ceil(usable) as u32
    }

    /// The plan that reads `chunk` because a part of it is written.
    #[inline]
    pub(crate) fn merge_of(&self, chunk: u64) -> Option<u32> {
        self.merges.iter().find(|&&(merged, _)| merged == chunk).map(|&(_, plan)| plan)
    }

    /// Whether memory has a place for a chunk of a host. Those that collection may need for the live chunks of a segment, and
    /// for the few that wait already, are not for hosts, who may wait for that collection.
    #[inline]
    pub(crate) fn has_place(&self) -> bool {
        self.buffer.available() > (self.rows + self.classes.relocation_streams()) * self.data
    }

    /// Streams of hosts; behind them come those of chunks that collection moves.
    #[inline]
    pub(crate) fn hosts(&self) -> usize {
        self.classes.hosts()
    }

    /// The stream whose open segment `stream` appends to.
    #[inline]
    pub(crate) fn host_of(&self, stream: usize) -> usize {
        if self.shares && stream >= self.hosts() { self.classes.coldest_of(stream) } else { stream }
    }

    /// Where `chunk` is.
    #[inline]
    pub(crate) fn location(&self, chunk: u64) -> Location {
        let address = self.map.get(chunk);
        if address < self.slots {
            return Location::Mapped(address);
        }
        match address.checked_sub(self.slots) {
            _ if address == NOWHERE => Location::Unmapped,
            Some(place) if (place as usize) < self.buffer.len() => Location::Buffered(place as u32),
            _ => Location::Lost,
        }
    }

    /// `chunk` is nowhere.
    pub(crate) fn set_unmapped(&mut self, chunk: u64) {
        self.set_address(chunk, NOWHERE);
    }

    /// `chunk` is lost.
    pub(crate) fn set_lost(&mut self, chunk: u64) {
        self.set_address(chunk, self.slots + self.buffer.len() as u64);
        self.lost_chunks += 1;
    }

    /// `chunk` is in this place of controller memory.
    #[inline]
    pub(crate) fn set_memory(&mut self, chunk: u64, place: u32) {
        self.set_address(chunk, self.slots + u64::from(place));
    }

    /// `chunk` is in `slot`.
    #[inline]
    pub(crate) fn set_slot(&mut self, chunk: u64, slot: u64) {
        self.set_address(chunk, slot);
    }

    #[inline]
    fn set_address(&mut self, chunk: u64, address: u64) {
        if self.lost_chunks > 0 && self.location(chunk) == Location::Lost {
            self.lost_chunks -= 1;
        }
        self.map.set(chunk, address);
        if let Some(durable) = &mut self.durable {
            durable.note_written(chunk, address != NOWHERE);
        }
    }

    /// The slot of each column of the stripe of `plan`; [`NOWHERE`] of those that it does not have.
    #[inline]
    pub(crate) fn homes(&self, plan: u32) -> &[u64] {
        let first = plan as usize * self.columns as usize;
        &self.homes[first..first + self.columns as usize]
    }

    #[inline]
    pub(crate) fn homes_mut(&mut self, plan: u32) -> &mut [u64] {
        let first = plan as usize * self.columns as usize;
        &mut self.homes[first..first + self.columns as usize]
    }

    /// The place in controller memory of a data column that `plan` writes.
    #[inline]
    pub(crate) fn place(&self, plan: u32, column: u32) -> u32 {
        self.places[(plan * self.data + column) as usize]
    }

    #[inline]
    pub(crate) fn set_place(&mut self, plan: u32, column: u32, place: u32) {
        self.places[(plan * self.data + column) as usize] = place;
    }

    /// The segment of `slot`.
    #[inline]
    pub(crate) fn segment_of(&self, slot: u64) -> u32 {
        (slot / self.segment_slots()) as u32
    }

    #[inline]
    pub(crate) fn segment_slots(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns)
    }

    /// The group that `segment` lies in.
    #[inline]
    pub(crate) fn group(&self, segment: u32) -> u32 {
        segment % self.groups
    }

    /// The member of `slot`, and its page there.
    #[inline]
    pub(crate) fn member(&self, slot: u64) -> (u16, u32) {
        let segment = self.segment_of(slot);
        let offset = (slot % self.segment_slots()) as u32;
        let member = self.group(segment) * self.group_stride + offset % self.columns * self.stride;
        (member as u16, self.first_page + segment / self.groups * self.rows + offset / self.columns)
    }

    /// Columns of the stripe of `slots`: `found` is called for each that was written, with its number among data (from 0
    /// on) and parity (from `data` on), and its slot.
    #[inline]
    pub(crate) fn columns_of(&self, stripe: (u64, u64), mut found: impl FnMut(u32, u64)) {
        let mut next = 0;
        for slot in stripe.0..stripe.1 {
            match self.directory.role(slot) {
                Role::Data => {
                    found(next, slot);
                    next += 1;
                }
                Role::Parity(number) => found(self.data + u32::from(number), slot),
                Role::Skipped | Role::Vacant | Role::Copy => {}
            }
        }
    }

    /// Whether `slot` holds `chunk`, as far as the directory tells.
    fn holds(&self, slot: u64, chunk: u64) -> bool {
        let its = self.directory.chunk(slot);
        self.directory.role(slot) == Role::Data && its.is_none_or(|its| its == chunk)
    }

    /// Slots of the array.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// Looks for contradictions between the maps.
    ///
    /// # Errors
    /// The first that it finds.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let mut valid = vec![0; self.segments.count() as usize];
        for chunk in 0..self.capacity {
            match self.location(chunk) {
                Location::Unmapped | Location::Lost => {}
                Location::Buffered(place) if self.buffer.get(place).chunk == chunk => {}
                Location::Buffered(place) => {
                    return Err(format!("chunk {chunk} is not in place {place} of memory"));
                }
                Location::Mapped(slot) if self.holds(slot, chunk) => {
                    valid[self.segment_of(slot) as usize] += 1;
                }
                Location::Mapped(slot) => return Err(format!("chunk {chunk} is not in slot {slot}")),
            }
        }
        let found = (0..).zip(&valid).find(|&(segment, &valid)| self.segments.valid(segment) != valid);
        found.map_or(Ok(()), |(segment, valid)| {
            Err(format!("segment {segment} has {valid} valid chunks, not {}", self.segments.valid(segment)))
        })
    }

    /// Bytes of the forward map, the inverse map and stripe directory, segments, places and the mix of blocks, without the
    /// content of chunks.
    pub(crate) fn bytes(&self) -> u64 {
        let maps = self.map.bytes() + self.directory.bytes();
        let durable = self.durable.as_ref().map_or(0, |durable| durable.bytes());
        maps + self.segments.bytes() + self.buffer.bytes() + self.classes.bytes() + durable
    }
}
