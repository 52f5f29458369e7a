//! A log as observers see it: its counters, its content, the location of chunks.

use crate::array::{Array, Placed};
use crate::log::StripeView;
use crate::log::throttle::Admits;
use crate::log::{Location, Log, LogCounts, MetadataCounts, StreamCounts};
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::{Memory, PageId};
use stripewise_exec::plan::Purpose;

impl<M: Memory> Array<M> {
    /// Counters of the log; all zero without one.
    pub fn log_counts(&self) -> LogCounts {
        self.as_log().map_or_else(LogCounts::default, |log| log.counts)
    }

    /// Pages of metadata that the log wrote so far.
    pub fn metadata_counts(&self) -> MetadataCounts {
        let durable = self.as_log().and_then(|log| log.durable.as_ref());
        durable.map_or_else(MetadataCounts::default, |durable| durable.counts)
    }

    /// Bytes of host data that the log holds on its members; `None` without a log, where every page has its fixed place.
    pub fn used(&self) -> Option<u64> {
        let log = self.as_log()?;
        let valid = (0..log.segments.count()).map(|segment| u64::from(log.segments.valid(segment)));
        Some(valid.sum::<u64>() * u64::from(self.exec().members().page_bytes))
    }

    /// Number of free segments of the log, and of all segments; `None` without a log.
    pub fn segments(&self) -> Option<(u32, u32)> {
        let log = self.as_log()?;
        Some((log.segments.free_count(), log.segments.count()))
    }

    /// Bytes of memory for tracking hot chunks; 0 without a log.
    pub fn hotness_bytes(&self) -> u64 {
        self.as_log().map_or(0, |log| log.hotness.bytes())
    }

    /// Bytes of memory for the maps of a log or of zones; 0 without either.
    pub fn map_bytes(&self) -> u64 {
        match &self.0 {
            Placed::Log(array) => array.placement.bytes(),
            Placed::InPlace(array) => array.placement.zone_map_bytes(),
        }
    }

    /// Number of stripes in flight to the log.
    pub fn stripes_under_way(&self) -> u64 {
        self.as_log().map_or(0, |log| log.in_flight.into())
    }

    /// Whether the log is out of space, and no work in progress could free some: it refuses host writes.
    pub fn is_full(&self) -> bool {
        let is_full = |log: &Log| log.is_full || log.admits_another(self.exec()) == Admits::Never;
        self.as_log().is_some_and(is_full)
    }

    /// Whether `page` of the array was never written, or trimmed since: it reads as zeros, and takes no space. False without a
    /// log, where this is unknown.
    pub fn is_hole(&self, page: u64) -> bool {
        self.as_log().is_some_and(|log| log.location(page) == Location::Unmapped)
    }

    /// Counters of each stream of the log, those of hosts first; none without a log.
    pub fn streams(&self) -> impl Iterator<Item = StreamCounts> + '_ {
        self.as_log().into_iter().flat_map(Log::streams)
    }

    /// The buffer with the content of `chunk`, if it is in controller memory, to be written to the log.
    pub fn chunk_in_memory(&self, chunk: u64) -> Option<PageId> {
        let log = self.as_log()?;
        match log.location(chunk) {
            Location::Buffered(place) => Some(log.buffer.get(place).page),
            _ => None,
        }
    }

    /// The member and page of `chunk` in the log.
    pub fn chunk_in_log(&self, chunk: u64) -> Option<(MemberNo, u32)> {
        self.as_log()?.chunk_in_log(chunk)
    }

    /// Whether `chunk` is lost: more columns of its stripe were lost than the code tolerates.
    pub fn is_chunk_lost(&self, chunk: u64) -> bool {
        self.as_log().is_some_and(|log| log.location(chunk) == Location::Lost)
    }

    /// Number of chunks that are known to be lost. Reads of them fail until they are written again.
    pub fn lost_chunks(&self) -> u64 {
        self.as_log().map_or(0, |log| log.lost_chunks)
    }

    /// Every stripe of the log that is wholly written.
    pub fn stripes(&self) -> Vec<StripeView> {
        let Some(log) = self.as_log() else { return Vec::new() };
        let is_under_way = |first: u64| {
            let mut plans = self.exec().plans().iter();
            plans.any(|plan| {
                plan.is_under_way && plan.purpose == Purpose::Append && plan.row.number() == first
            })
        };
        let chunks = log.chunks_of_slots();
        let mut stripes = Vec::new();
        let mut slot = 0;
        while slot < log.slots() {
            if !log.directory.is_in_stripe(slot) {
                slot += 1;
                continue;
            }
            let stripe = log.directory.stripe(slot);
            slot = stripe.1;
            if is_under_way(stripe.0) {
                continue;
            }
            let mut columns = Vec::new();
            log.columns_of(stripe, |column, slot| {
                let (member, page) = log.member(slot);
                columns.push((column, member, page, chunks[slot as usize]));
            });
            stripes.push(StripeView { columns });
        }
        stripes
    }

    /// Checks the maps of the log for inconsistencies.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn audit_log(&self) -> Result<(), String> {
        self.as_log().map_or(Ok(()), |log| log.audit())
    }
}
