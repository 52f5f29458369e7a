//! Log striping: parity is never updated in place. Written chunks wait in controller memory for more chunks, and leave as
//! new stripes, of as many chunks as there are, appended to a log over all members. An overwritten chunk stays in place,
//! because its stripe needs it, until its segment is collected.
//!
//! - eSAP: one stream, whose chunks leave as soon as they fill a stripe, or when the oldest has waited for `wait`. Source:
//!   Kim, Lee, Choi, Lee and Noh, DSN 2013 and IEEE TC 65(4), 2016, as described in paper 001 (section II-B).
//! - WAS: one stream for each tier of hotness, whose chunks leave together when they fill a segment. Source: paper 001,
//!   sections III and IV, algorithms 2 and 3.
//!
//! A *slot* is a place for one chunk. The array's segments and their slots are numbered consecutively: slot `s` of a group of
//! `n` members is on member `s mod n`, so consecutive slots are on distinct members. A stripe takes consecutive slots of one
//! segment, and the position of its parity rotates from stripe to stripe (the paper leaves this open), or from band to band
//! where a class has larger chunks (`Band`).
//!
//! The forward map has the slot of each chunk, or its place in controller memory. See `docs/reference/elastic.md`.
//!
//! # Why it never gets stuck
//! Hosts may fill `capacity` chunks. Let S be the number of segments, H the streams of hosts, K those of live chunks of
//! collection (one, or one for each tendency), N the data chunks of a stripe, D those of a segment. A victim has at most D -
//! KN valid chunks, and when it is done fewer than N live chunks of each stream wait in memory, so they take fewer stripes
//! than the victim had, and each stream of live chunks opens at most one segment. Let R be the room of free segments and of
//! those that live chunks append to. Streams of hosts leave the last K free segments to the live chunks, so R is at least KD
//! when a collection begins after a host's turn, and no collection leaves it smaller. While a stream of live chunks that needs
//! a segment finds none free, R is at most (K - 1)D, which the others have open; but one collection takes less than D. If no
//! closed segment is a victim, each has more than D - KN valid chunks, so there are fewer than `capacity / (D - KN)` of them.
//! As `capacity <= (S - H - 2K - 1)(D - KN)`, at least K + 1 segments are free, and hosts may open one. Where live chunks
//! share the open segments of streams of hosts, hosts leave the rest of these segments to them as well while only K segments
//! are free. While members are missing, stripes are shorter, and so D and N are smaller: a full array may then have no victim,
//! unless `capacity` was computed with the smaller values (`room_for_lost`). Then it reports that it is out of space, and
//! continues once chunks are trimmed or overwritten.
//!
//! All of this counts in stripes, so it holds for deep ones as well: a short one takes at most the slots of a full one, and an
//! open segment is closed when it has no room for a full one. With metadata, hosts keep the space for a stripe and a summary
//! of its own for each chunk that waits in memory (`segments_for`, `throttle.rs`).

pub(crate) mod addresses;
pub(crate) mod buffer;
mod classes;
pub(crate) mod contents;
mod counts;
mod deep;
pub(crate) mod directory;
pub(crate) mod durable;
pub(crate) mod segments;
mod streams;
mod stripe_fill;

mod append;
mod batches;
mod bytes;
mod collect;
mod discard;
#[cfg(debug_assertions)]
mod extend;
mod job;
mod learn;
mod merge;
mod metadata;
mod placement;
mod plan_handler;
mod read;
mod rebuild;
mod scrub;
mod summary_reads;
mod sync;
mod sync_pages;
pub(crate) mod throttle;
mod view;
mod write;

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{MemberNo, PlanId, RowNo};
use stripewise_core::memory::{Memory, Persistence};
use stripewise_exec::{Executor, Jobs};
use stripewise_format::layout::Layout;
use stripewise_format::{Superblock, summary};
use stripewise_policy::custom::ChooseSegment;
use stripewise_policy::hotness::Hotness;
use stripewise_scheme::Scheme;
use stripewise_scheme::placement::{Dimensions, Relocations, places};

use crate::log::job::{AnyJob, PlanState};
use addresses::{Addresses, NOWHERE};
use buffer::Buffer;
use classes::Classes;
use contents::Content;
use directory::Directory;
use durable::Durable;
use segments::Segments;
use stripe_fill::StripeFill;

#[cfg(debug_assertions)]
pub(crate) use extend::Short;
pub use view::{StripeColumn, StripeView};

pub(crate) use classes::Band;
pub use counts::{LogCounts, MetadataCounts, StreamCounts};
pub use directory::Role;
pub use stripe_fill::LARGE_WRITE_BYTES;

/// The location of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The chunk was never written, or was trimmed since.
    Unmapped,
    /// More of its stripe was lost than the code tolerates.
    Lost,
    /// The chunk is in this place of controller memory.
    Buffered(u32),
    /// The chunk is in this slot.
    Mapped(u64),
}

/// The segment that is being collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    pub(crate) victim: u32,
    /// The slots that were not examined yet.
    pub(crate) next: u64,
    pub(crate) end: u64,
    /// Number of reads of the segment in progress.
    pub(crate) reads: u32,
}

/// The segment that a stream appends to, and the next slot there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) segment: u32,
    pub(crate) next: u64,
    pub(crate) end: u64,
}

/// The log of an array: the location of all chunks, and the writes in flight.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) map: Addresses,
    pub(crate) directory: Directory,
    pub(crate) segments: Segments,
    pub(crate) buffer: Buffer,
    /// Chunks that are read because part of them is overwritten, each with the plan that reads it.
    pub(crate) merges: Vec<(u64, PlanId)>,
    pub(crate) hotness: Hotness,
    /// The user's own victim of array GC, if the scheme asks for one.
    pub(crate) segment_chooser: Option<Box<dyn ChooseSegment>>,
    pub(crate) classes: Classes,
    /// The open segment of each stream; the last streams are those of live chunks.
    pub(crate) open: Vec<Option<Open>>,
    /// The band that each stream writes, and the number of bands so far.
    pub(crate) bands: Vec<Band>,
    pub(crate) turns: u64,
    pub(crate) collection: Option<Collection>,
    /// Whether a stream of hosts waits for a segment to be collected.
    pub(crate) wants_collection: bool,
    /// Whether the log is out of space, and no work in progress could free some.
    pub(crate) is_full: bool,
    /// Number of stripes in flight, and of those the number of stripes of live chunks.
    pub(crate) in_flight: u32,
    pub(crate) in_flight_relocations: u32,
    /// For each plan the slot of each column, its known content where there is no inverse map, and the place in memory of each
    /// data column.
    jobs: Jobs<PlanState>,
    homes: Vec<u64>,
    contents: Vec<Content>,
    places: Vec<u32>,
    /// Number of chunks that hosts may fill.
    pub(crate) capacity: u64,
    /// Number of chunks that are [`Location::Lost`].
    pub(crate) lost_chunks: u64,
    pub(crate) stripe_fill: StripeFill,
    pub(crate) is_volatile: bool,
    /// Whether live chunks go to the open segment of the coldest stream of hosts.
    pub(crate) shares: bool,
    columns: u32,
    data: u32,
    /// Members of a group, and those that may be lost.
    width: u32,
    tolerance: u32,
    /// Rows of a stripe.
    depth: u32,
    groups: u32,
    /// Number of members from one column of a group to the next.
    stride: u32,
    /// Number of members from the first one of a group to that of the next group.
    group_stride: u32,
    rows: u32,
    /// Number of segments in use above which segments are collected.
    pub(crate) limit: u32,
    slots: u64,
    pub(crate) counts: LogCounts,
    /// For each stream the chunks written and the segments opened; the other counts are computed on request.
    pub(crate) stream_counts: Vec<StreamCounts>,
    /// Whether members are out of space: host writes are refused rather than made to wait.
    pub(crate) is_out_of_space: bool,
    /// With metadata: the state needed to assemble the log again.
    pub(crate) durable: Option<Box<Durable>>,
    /// Number of free segments below which collected ones should be freed soon.
    pub(crate) comfort: u32,
    /// The first page of data of each member.
    first_page: u32,
}

impl Log {
    /// Takes a free plan for `job` on the stripe that begins with this slot, or on the copy of a summary in it.
    #[inline]
    pub(crate) fn take_plan<M: Memory>(
        &mut self,
        slot: u64,
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let job = job.into();
        let plan = exec.take_plan(RowNo::new(slot), job.facts().purpose);
        self.jobs[plan].job = job;
        plan
    }

    /// An empty log of `scheme` over `geometry`, whose chunks have `page_bytes`. With metadata, `durable` makes it durable,
    /// and where it `carries_data` its summaries can be read.
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
        let segment_slots = u64::from(section.segment_rows) * u64::from(geometry.width);
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
            // The addresses after the slots are those of the places, and the mark of lost chunks.
            map: Addresses::new(capacity, slots + places + 1),
            directory: Directory::new(slots, segment_slots, (!has_summaries).then_some(capacity)),
            segments: Segments::new(segments as u32, section.segment_rows * geometry.data / geometry.depth),
            buffer: Buffer::new(places as u32, streams as u32),
            merges: Vec::with_capacity(plans as usize),
            hotness,
            segment_chooser: None,
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
            jobs: Jobs::new(plans),
            homes: vec![NOWHERE; columns_of_plans],
            contents: vec![Content::UNKNOWN; if has_summaries { columns_of_plans } else { 0 }],
            places: vec![stripewise_core::ids::NONE; plans as usize * geometry.data as usize],
            capacity,
            lost_chunks: 0,
            stripe_fill,
            is_volatile: scheme.placement.buffer_persistence == Persistence::Volatile,
            shares: section.relocations == Relocations::Coldest,
            columns: geometry.columns,
            data: geometry.data,
            width: geometry.width,
            tolerance: geometry.tolerance(),
            depth: geometry.depth,
            groups: geometry.groups,
            stride: geometry.stride,
            group_stride: geometry.base(1),
            rows: section.segment_rows,
            limit: section.collect_above.of(segments) as u32,
            slots,
            counts: LogCounts::default(),
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

    /// Chunks of a full stripe.
    #[inline]
    pub(crate) fn columns(&self) -> u32 {
        self.columns
    }

    /// Data chunks of a full stripe.
    #[inline]
    pub(crate) fn data(&self) -> u32 {
        self.data
    }

    /// Number of free segments that are sure to have room for this number of chunks, each with a stripe and a summary of its
    /// own, of all streams of hosts.
    pub(crate) fn segments_for(&self, chunks: u32) -> u32 {
        let parity = self.tolerance;
        // A deep stripe of one chunk has a row of data and two of parity.
        let stripe = if self.depth > 1 { 3 * self.width + parity } else { parity + 1 };
        let slots = u64::from(chunks) * u64::from(stripe + parity + 1);
        // The end of a segment may be too short for a stripe.
        let usable = self.segment_slots().saturating_sub(u64::from(self.columns + 2 * parity + 1)).max(1);
        self.hosts() as u32 + slots.div_ceil(usable) as u32
    }

    /// The plan that reads `chunk` because part of it is overwritten.
    #[inline]
    pub(crate) fn merge_of(&self, chunk: u64) -> Option<PlanId> {
        self.merges.iter().find(|&&(merged, _)| merged == chunk).map(|&(_, plan)| plan)
    }

    /// Whether memory has a place for a host chunk. Places that collection may need for the live chunks of a segment, and for
    /// the few that wait already, are not for hosts, which may wait for that collection.
    #[inline]
    pub(crate) fn has_place(&self) -> bool {
        self.buffer.available() > (self.rows / self.depth + self.classes.relocation_streams()) * self.data
    }

    /// Number of streams of hosts; the streams of chunks that collection moves follow them.
    #[inline]
    pub(crate) fn hosts(&self) -> usize {
        self.classes.hosts()
    }

    /// The stream whose open segment `stream` appends to.
    #[inline]
    pub(crate) fn host_of(&self, stream: usize) -> usize {
        if self.shares && stream >= self.hosts() { self.classes.coldest_of(stream) } else { stream }
    }

    /// The location of `chunk`.
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

    /// Unmaps `chunk`.
    pub(crate) fn set_unmapped(&mut self, chunk: u64) {
        self.set_address(chunk, NOWHERE);
    }

    /// Marks `chunk` as lost.
    pub(crate) fn set_lost(&mut self, chunk: u64) {
        self.set_address(chunk, self.slots + self.buffer.len() as u64);
        self.lost_chunks += 1;
    }

    /// Maps `chunk` to this place of controller memory.
    #[inline]
    pub(crate) fn set_memory(&mut self, chunk: u64, place: u32) {
        self.set_address(chunk, self.slots + u64::from(place));
    }

    /// Maps `chunk` to `slot`.
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

    /// The slot of each column of the stripe of `plan`; [`NOWHERE`] for columns that it does not have.
    #[inline]
    pub(crate) fn homes(&self, plan: PlanId) -> &[u64] {
        let first = plan.index() * self.columns as usize;
        &self.homes[first..first + self.columns as usize]
    }

    #[inline]
    pub(crate) fn homes_mut(&mut self, plan: PlanId) -> &mut [u64] {
        let first = plan.index() * self.columns as usize;
        &mut self.homes[first..first + self.columns as usize]
    }

    /// The place in controller memory of a data column that `plan` writes.
    #[inline]
    pub(crate) fn place(&self, plan: PlanId, column: u32) -> u32 {
        self.places[(plan.number() * self.data + column) as usize]
    }

    #[inline]
    pub(crate) fn set_place(&mut self, plan: PlanId, column: u32, place: u32) {
        self.places[(plan.number() * self.data + column) as usize] = place;
    }

    /// The segment of `slot`.
    #[inline]
    pub(crate) fn segment_of(&self, slot: u64) -> u32 {
        (slot / self.segment_slots()) as u32
    }

    #[inline]
    pub(crate) fn segment_slots(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.width)
    }

    /// The group of `segment`.
    #[inline]
    pub(crate) fn group(&self, segment: u32) -> u32 {
        segment % self.groups
    }

    /// The member of `slot`, and its page there.
    #[inline]
    pub(crate) fn member(&self, slot: u64) -> (MemberNo, u32) {
        let segment = self.segment_of(slot);
        let offset = (slot % self.segment_slots()) as u32;
        let member = self.group(segment) * self.group_stride + offset % self.width * self.stride;
        (
            MemberNo::at(member as usize),
            self.first_page + segment / self.groups * self.rows + offset / self.width,
        )
    }

    /// Calls `found` for each written column of `stripe`, with its number (data from 0 on, parity from `data` on), and its
    /// slot.
    #[inline]
    pub(crate) fn columns_of(&self, stripe: (u64, u64), mut found: impl FnMut(u32, u64)) {
        if self.depth > 1 {
            return self.columns_of_deep(stripe, found);
        }
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

    /// Whether `slot` holds `chunk`, as far as the directory knows.
    fn holds(&self, slot: u64, chunk: u64) -> bool {
        let its = self.directory.chunk(slot);
        self.directory.role(slot) == Role::Data && its.is_none_or(|its| its == chunk)
    }

    /// Number of slots of the array.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// Checks the maps for inconsistencies.
    ///
    /// # Errors
    /// The first inconsistency.
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
