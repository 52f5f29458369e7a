//! The controller: a deterministic state machine without clock, thread or device.
//!
//! The caller reports outside events to the controller, always with the time:
//! - [`Array::submit`]: a host request arrived;
//! - [`Array::completed`]: a member operation ended; [`Array::computed`]: a parity computation ended;
//! - [`Array::timer`]: a timer that the controller set has expired;
//! - [`Array::member_failed`], [`Array::member_ready`], [`Array::member_slow`]: events of members.
//!
//! After any number of these at one instant, [`Array::dispatch`] offers queued operations to the members. The controller
//! passes its work to the [`Driver`]. The controller owns every queue: one of host requests, one for each row in use, one for
//! each member.

mod absorbing;
mod bytes;
mod caching;
mod completion;
mod coordinating;
mod deferred_parity;
mod destaging;
mod elastic;
mod encoding;
mod gathering;
mod getters;
mod hedge;
mod intent;
mod journaling;
mod logging;
mod members;
mod metadata_pieces;
mod metadata_scrub;
mod planted;
mod poll;
mod progress;
mod reads;
mod rebuild_scrub;
mod redirect;
mod rejoin;
mod resync;
mod run;
mod scheduler;
mod slow;
mod split;
mod stop;
mod throttle;
mod updates;
mod zones;

#[cfg(debug_assertions)]
pub(crate) use elastic::Short;
pub use elastic::{StripeColumn, StripeView};
pub use metadata_scrub::MetadataScrubbed;
pub use progress::Halt;
pub use rejoin::{RejoinError, Rejoining};
use std::collections::VecDeque;
use zones::Internal;

use stripewise_base::Nanos;
use stripewise_code::Code;

use crate::cache::Cache;
use crate::coordination::Coordination;
use crate::dispatch::{Discipline, Earliest, LEVELS, MemberSet, Piq, Queues, SyncFifo};
use crate::driver::{Acknowledgement, Admission, Driver};
use crate::geometry::{Geometry, RowCursor};
use crate::ids::NONE;
use crate::journal::{Intent, Journal, Roster};
use crate::loads::Loads;
use crate::memory::{Memory, PageId};
use crate::operation::{OperationId, OperationKind, Outcome, Timing};
use crate::placement::elastic::{AcknowledgeWrites, Elastic};
use crate::placement::encode::Encode;
use crate::placement::gather::Gather;
use crate::placement::mc_rais::Zones;
use crate::placement::parity_logging::ParityLog;
use crate::placement::{FirstWrites, PartialWrites, PlacementPolicy};
use crate::plan::{Attachment, Plan, Slot};
use crate::read::Reads;
use crate::recovery::{Identity, superblock_in_place, superblock_of_log};
use crate::request::{HostRequest, RequestKind, RequestSlot, SubmitError};
use crate::row_locks::RowLocks;
use crate::scheme::{Members, Scheme, SchemeError};
use crate::times::CellTimes;
use crate::window::Window;
use resync::Resync;
use slow::Slow;

/// Bytes of a sector, the granularity of host requests.
pub const SECTOR_BYTES: u32 = 512;

/// The array controller over memory `M`.
#[derive(Debug)]
pub struct Array<M: Memory> {
    /// Whether only plans of host requests can ever be due under the scheme.
    only_plans: bool,
    scheme: Scheme,
    geometry: Geometry,
    /// Absent without parity.
    code: Option<Code>,
    members: Members,
    capacity: u64,
    /// A mask with a bit for each sector of a page.
    whole_page: u64,
    memory: M,
    now: Nanos,

    requests: Vec<RequestSlot>,
    payloads: Vec<Option<M::Host>>,
    free_request: u32,
    /// The number of the last request.
    last_number: u32,
    /// Requests not yet wholly split into plans, in order of arrival; under PIQ only flushes that continue.
    pending: VecDeque<u32>,
    sync_fifo: Option<SyncFifo>,
    piq: Option<Piq>,
    /// The waiting requests, by member; only where some may wait for room or for others.
    earliest: Option<Earliest>,
    /// The request that is being split, or [`NONE`].
    splitting: u32,
    /// Number of operations queued and in flight at a member at which no new plan is issued to the member.
    queue_limit: u32,
    /// Members that were above the limit and are below it now.
    freed: MemberSet,
    /// Requests that end in controller memory, in order of acknowledgement, each with the breakdown of its time.
    buffered: VecDeque<(u32, Acknowledgement)>,

    plans: Vec<Plan>,
    free_plan: u32,
    attachments: Vec<Attachment>,
    free_attachment: u32,
    /// Operations of all plans: `stride` slots a plan.
    slots: Vec<Slot>,
    stride: u32,
    /// Page buffers of all plans, `buffers_each` a plan: for each column one of new content, then for each one of old content,
    /// then one for each delta that the plan may read.
    buffers: Vec<PageId>,
    buffers_each: u32,
    /// Sectors that a plan's write covers, for each data column.
    covers: Vec<u64>,

    row_locks: RowLocks,
    queues: Queues,
    loads: Loads,
    times: CellTimes,
    /// Whether the update policy asks for [`Self::times`].
    asks_times: bool,
    /// Plans that got their row lock and have yet to continue.
    woken: VecDeque<u32>,

    failed: Vec<bool>,
    any_failed: bool,
    slow: Slow,
    /// Whether nothing is written to members, regardless of their content.
    read_only: bool,
    gather: Option<Gather>,
    encode: Option<Encode>,
    cache: Option<Cache>,
    /// Number of plans that destage cached content.
    destaging_plans: u32,
    /// Time of an access to controller memory.
    memory_latency: Nanos,
    log: Option<ParityLog>,
    elastic: Option<Elastic>,
    zones: Option<Zones>,
    journal: Option<Journal>,
    intent: Option<Intent>,
    roster: Option<Roster>,
    metadata: metadata_scrub::MetadataScrub,
    /// The controller's own request, which has the slot after those of hosts, and a buffer for its bytes while it has none.
    internal: Internal,
    spare_payload: Option<M::Host>,
    window: Window,
    reads: Reads,
    coordination: Option<Coordination>,
    /// The walk over all rows after a loss of power; no request is issued before it is over.
    resync: Option<Resync>,
    /// Pages that rebuild and scrub may read and write, less those that they took beyond the allowance; `None` without a
    /// limit.
    allowance: Option<i64>,
    /// Number of requests submitted and not acknowledged, and the time of the last submission or acknowledgement.
    under_way: u32,
    last_active: Nanos,
    #[cfg(debug_assertions)]
    bug: Option<crate::bugs::Bug>,
}

impl<M: Memory> Array<M> {
    /// Creates the controller of `scheme` over `members`.
    ///
    /// # Errors
    /// The scheme is not valid for these members; the error has the reason.
    pub fn new(scheme: &Scheme, members: Members, memory: M) -> Result<Self, SchemeError> {
        let geometry = scheme.resolve(&members, M::CARRIES_DATA)?;
        let code = scheme.code(&geometry, members.page_bytes)?;
        let (plans, requests) = (scheme.queues.plans, scheme.queues.requests);
        let dispatch = &scheme.dispatch;
        let is_logging = scheme.placement.policy == PlacementPolicy::ParityLogging;
        let log =
            is_logging.then(|| ParityLog::new(&geometry, scheme.log_pages(&members) as u32, &scheme.log));
        let deltas = if is_logging { geometry.parity() * scheme.log.row_deltas } else { 0 };
        let buffers_each = geometry.columns * 2 + deltas;
        let metadata = scheme.in_place_layout(&members, &geometry)?;
        let layout = metadata.filter(|_| scheme.has_redo_journal());
        let stride = buffers_each.max(members.count);
        let stride = layout.as_ref().map_or(stride, |layout| stride.max(Journal::operations_max(layout)));
        // A page of the bitmap in all copies, and their flushes, for each group.
        let stride = if metadata.is_some() { stride.max(2 * members.count) } else { stride };
        // The plans of hosts are followed by those of the journal, for which no request waits.
        let own_plans = if metadata.is_some() { crate::journal::PLANS } else { 0 };
        let roster = metadata.map(|layout| {
            let unnamed = Identity::unnamed(members.count);
            let superblock = superblock_in_place(scheme, &members, &geometry, &layout, &unnamed);
            Roster::new(superblock, plans + crate::journal::PLANS - 1)
        });
        let intent = metadata.filter(|_| !scheme.has_redo_journal());
        let intent = intent.map(|layout| Intent::new(layout, geometry.groups, plans));
        let journal = layout.map(|layout| Journal::new(layout, geometry.groups, plans, M::CARRIES_DATA));
        let sectors = members.page_bytes / SECTOR_BYTES;
        let gather = (scheme.placement.first_writes == FirstWrites::Gather).then(|| Gather::new(&geometry));
        let cache = Cache::new(&scheme.cache, &geometry, members.page_bytes);
        let is_elastic = scheme.placement.policy == PlacementPolicy::Elastic;
        let durable = scheme.log_layout(&members).map(|layout| {
            let identity = Identity::unnamed(members.count);
            (layout, superblock_of_log(scheme, &members, &geometry, &layout, &identity))
        });
        let elastic =
            is_elastic.then(|| Elastic::new(scheme, &geometry, members.page_bytes, durable, M::CARRIES_DATA));
        let awaits_flush = members.volatile_cache || cache.as_ref().is_some_and(|cache| cache.is_volatile);
        let zones = (scheme.placement.policy == PlacementPolicy::McRais)
            .then(|| Zones::new(scheme, &geometry, members.page_bytes, awaits_flush));
        let pages = scheme.pages(&geometry);
        let all_plans = plans + own_plans;
        let buffers = if M::CARRIES_DATA { all_plans as usize * buffers_each as usize } else { 0 };
        // Each plan has the attachment of its own number, so that no plan lacks one. The second half is for requests that
        // merge, and one is added for each chunk in memory whose writer waits until it is durable.
        let durable = elastic.as_ref().filter(|_| scheme.elastic.acknowledge == AcknowledgeWrites::Durable);
        let attachments = all_plans * 2 + durable.map_or(0, |log| log.buffer.len() as u32);
        let only_plans = !is_elastic
            && cache.is_none()
            && zones.is_none()
            && log.is_none()
            && journal.is_none()
            && intent.is_none()
            && gather.is_none()
            && scheme.placement.first_writes != FirstWrites::Encode
            && scheme.read.policy != crate::read::ReadPolicy::Hedged
            && dispatch.policy != Discipline::Piq
            && scheme.parity.window.slots(geometry.members) == 0;
        Ok(Self {
            only_plans,
            capacity: pages * u64::from(members.page_bytes),
            whole_page: u64::MAX >> (64 - sectors),
            memory,
            now: 0,
            requests: (0..=requests)
                .map(|index| RequestSlot { next: link_to(index + 1, requests), ..RequestSlot::default() })
                .collect(),
            payloads: (0..=requests).map(|_| None).collect(),
            free_request: 0,
            last_number: 0,
            pending: VecDeque::with_capacity(requests as usize),
            sync_fifo: (dispatch.policy == Discipline::SyncFifo)
                .then(|| SyncFifo::new(dispatch.strict, requests)),
            piq: (dispatch.policy == Discipline::Piq)
                .then(|| Piq::new(dispatch.overtake, dispatch.sync, requests)),
            earliest: (dispatch.asks_targets()).then(|| Earliest::new(requests, members.count)),
            splitting: NONE,
            queue_limit: dispatch.queue.unwrap_or(u32::MAX),
            freed: MemberSet::default(),
            buffered: VecDeque::with_capacity(requests as usize),
            plans: (0..all_plans).map(|index| Plan::vacant(link_to(index + 1, plans))).collect(),
            free_plan: 0,
            attachments: (0..attachments)
                .map(|index| Attachment { request: NONE, next: link_to(index + 1, attachments) })
                .collect(),
            free_attachment: all_plans,
            slots: vec![Slot::default(); all_plans as usize * stride as usize],
            stride,
            buffers: vec![NONE; buffers],
            buffers_each,
            covers: vec![0; all_plans as usize * geometry.data as usize],
            row_locks: RowLocks::new(plans),
            queues: Queues::new(members.count, scheme.dispatch.order),
            loads: Loads::new(members.count),
            times: CellTimes::new(members.count),
            asks_times: scheme.update.asks_times(),
            woken: VecDeque::with_capacity(plans as usize),
            failed: vec![false; members.count as usize],
            any_failed: false,
            slow: Slow::new(members.count),
            read_only: false,
            gather,
            encode: (scheme.placement.first_writes == FirstWrites::Encode)
                .then(|| Encode::new(geometry.rows(), geometry.data, plans, M::CARRIES_DATA)),
            memory_latency: if cache.is_some() {
                scheme.cache.latency.0
            } else {
                scheme.placement.buffer_latency.0
            },
            cache,
            destaging_plans: 0,
            log,
            elastic,
            zones,
            journal,
            intent,
            roster,
            metadata: metadata_scrub::MetadataScrub::default(),
            internal: Internal::Idle,
            spare_payload: None,
            window: Window::new(
                scheme.parity.window.slots(geometry.members),
                plans,
                geometry.data,
                geometry.members,
                // The journal has the content that members would keep.
                if layout.is_some() { 0 } else { members.old_versions },
                M::CARRIES_DATA,
            ),
            reads: Reads::new(&scheme.read, members.count),
            coordination: Coordination::new(
                scheme.coordination,
                scheme.geometry.level,
                &geometry,
                members.count,
            ),
            resync: None,
            allowance: None,
            under_way: 0,
            last_active: 0,
            #[cfg(debug_assertions)]
            bug: None,
            scheme: scheme.clone(),
            geometry,
            code,
            members,
        })
    }

    /// Accepts a host request at time `now`, with its payload: bytes to write, or room for bytes to read.
    ///
    /// # Errors
    /// Busy if the queue of requests is full; otherwise the defect of the request. The payload is returned.
    pub fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        self.advance(now);
        if let Err(error) = self.check(&host) {
            return Err((error, payload));
        }
        let id = self.free_request;
        if id == NONE {
            return Err((SubmitError::Busy, payload));
        }
        let is_flush = host.kind == RequestKind::Flush;
        // A flush covers the whole array, regardless of its range.
        let host = if is_flush { HostRequest { offset: 0, bytes: 0, ..host } } else { host };
        let end = host.offset + u64::from(host.bytes);
        let pages = if is_flush { (0, 0) } else { (self.page_of(host.offset), self.page_of(end - 1)) };
        let cursor =
            if is_flush { RowCursor::default() } else { RowCursor::new(pages.0, pages.1 - pages.0 + 1) };
        let in_part = self.bytes_into_page(host.offset) | self.bytes_into_page(end) != 0 && !self.rounds_up();
        let is_write = host.kind == RequestKind::Write;
        let cache = self.cache.as_mut().filter(|_| is_write);
        let is_sequential = cache.is_some_and(|cache| cache.is_sequential(pages.0, pages.1));
        self.last_number = self.last_number.wrapping_add(1).max(1);
        let slot = &mut self.requests[id as usize];
        self.free_request = slot.next;
        let number = self.last_number;
        let fresh = RequestSlot { remaining: 1, next: NONE, number, ..RequestSlot::default() };
        *slot = RequestSlot { host, cursor, pages, in_part, is_sequential, ..fresh };
        self.payloads[id as usize] = Some(payload);
        self.begin_in_zones(id);
        self.under_way += 1;
        self.last_active = now;
        self.take_request(id, driver);
        self.poll(driver);
        Ok(())
    }

    /// The page that holds a byte.
    #[inline]
    fn page_of(&self, byte: u64) -> u64 {
        byte >> self.members.page_bytes.trailing_zeros()
    }

    /// The offset of a byte within its page.
    #[inline]
    fn bytes_into_page(&self, byte: u64) -> u64 {
        byte & u64::from(self.members.page_bytes - 1)
    }

    fn check(&self, host: &HostRequest) -> Result<(), SubmitError> {
        if host.kind == RequestKind::Flush {
            return Ok(());
        }
        if self.read_only && host.kind != RequestKind::Read {
            return Err(SubmitError::ReadOnly);
        }
        if host.kind != RequestKind::Read && self.is_epoch_over() {
            return Err(SubmitError::EpochOver);
        }
        let sector = u64::from(SECTOR_BYTES);
        let whole = host.offset.is_multiple_of(sector) && u64::from(host.bytes).is_multiple_of(sector);
        if host.bytes == 0 || (M::CARRIES_DATA && !whole) {
            return Err(SubmitError::Shape);
        }
        match host.offset.checked_add(u64::from(host.bytes)) {
            Some(end) if end <= self.capacity => Ok(()),
            _ => Err(SubmitError::OutOfRange { capacity: self.capacity }),
        }
    }

    /// An operation ended at time `now`.
    #[inline]
    pub fn completed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        driver: &mut D,
    ) {
        self.advance(now);
        self.operation_over(id, outcome, timing, driver);
        self.poll(driver);
    }

    /// The time at which operation `id`, which is in progress, entered its member's queue.
    #[inline]
    pub fn queued_at(&self, id: OperationId) -> Nanos {
        self.slots[id as usize].queued_at
    }

    /// The plan of operation `id`, which is in progress.
    pub fn plan_of(&self, id: OperationId) -> u32 {
        id / self.stride
    }

    /// Tags of the host requests that wait for `plan`, which is in progress; none once they are acknowledged.
    pub fn hosts_of(&self, plan: u32) -> impl Iterator<Item = u64> + '_ {
        let attachment = |node: u32| (node != NONE).then(|| self.attachments[node as usize]);
        let first = attachment(self.plans[plan as usize].first_request);
        let all = std::iter::successors(first, move |one| attachment(one.next));
        all.map(|attachment| self.requests[attachment.request as usize].host.tag)
    }

    /// The parity computation of `plan` ended at time `now`.
    pub fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: u32, driver: &mut D) {
        self.advance(now);
        self.computation_over(plan, driver);
        self.poll(driver);
    }

    /// A timer that the controller set has expired.
    pub fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.advance(now);
        while let Some(&(id, acknowledgement)) = self.buffered.front().filter(|(_, ack)| ack.at <= now) {
            self.buffered.pop_front();
            self.acknowledge(id, &acknowledgement, driver);
        }
        self.gather_timer();
        self.elastic_timer(driver);
        self.window_timer(driver);
        let activity = self.activity();
        if let Some(coordination) = &mut self.coordination {
            coordination.timer(now, activity, driver);
        }
        self.poll(driver);
    }

    /// Reports the loss of a member: operations queued for it end, and rows on it are degraded from now on. Operations in
    /// flight on it must still be reported, as [`Outcome::Gone`].
    pub fn member_failed<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D) {
        self.advance(now);
        self.fail(member, driver);
        self.poll(driver);
    }

    /// Reports that a member that refused an operation may accept one now.
    #[inline]
    pub fn member_ready(&mut self, member: u16) {
        self.queues.reopen(member);
    }

    /// Writes out content that is buffered in controller memory to gather more chunks, and updates deferred parity: at the end
    /// of a run.
    pub fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.advance(now);
        self.gather_flush();
        self.drain_encode();
        self.drain_cache();
        self.window.flushes_deferred = !self.window.is_empty();
        self.drain_log();
        self.drain_elastic();
        self.poll(driver);
    }

    /// Offers queued operations to every member that may accept one.
    #[inline]
    pub fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        while let Some(member) = self.queues.take_ready() {
            for level in 0..LEVELS {
                self.dispatch_level(member, level, driver);
            }
        }
    }

    fn dispatch_level<D: Driver<M>>(&mut self, member: u16, level: usize, driver: &mut D) {
        let (mut before, mut id) = self.queues.next_offer(member, level, &mut self.slots);
        let mut refused = 0;
        let mut closed = false;
        while id != NONE && !closed {
            let slot = &mut self.slots[id as usize];
            let next = slot.link.next;
            match driver.admits(&slot.operation) {
                Admission::Admitted => {
                    slot.gc_ns = driver.gc_clock(member) - slot.gc_ns;
                    slot.started_at = self.now;
                    let operation = slot.operation;
                    if self.reads.observes {
                        let is_read = operation.kind == OperationKind::Read;
                        self.reads.observed.started(self.now, member, is_read);
                    }
                    self.queues.take(member, level, before, id, &mut self.slots);
                    let page = self.buffer_of(id);
                    driver.start(id, &operation, page, &mut self.memory);
                }
                Admission::Refused => {
                    refused += 1;
                    closed = refused == self.scheme.dispatch.lookahead;
                    before = id;
                }
                Admission::Closed => {
                    // Where reads and writes share a list, one kind does not close the list for the other.
                    closed = !self.queues.is_mixed();
                    before = id;
                }
            }
            id = next;
        }
        if before != NONE {
            self.queues.refused(member, level, before, closed);
        }
    }

    /// Whether a write that covers only part of a page is treated as a write of the whole page.
    fn rounds_up(&self) -> bool {
        self.scheme.placement.partial_writes == PartialWrites::RoundUp
    }

    #[inline]
    fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time runs forward: {now} after {}", self.now);
        self.now = now;
    }
}

fn link_to(index: u32, len: u32) -> u32 {
    if index < len { index } else { NONE }
}

/// The columns (or members) of a mask, in ascending order.
pub(crate) fn columns(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let column = mask.trailing_zeros();
            mask &= mask - 1;
            column
        })
    })
}
