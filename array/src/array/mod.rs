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

mod controls;
mod getters;
mod in_place;
mod log;
mod progress;
mod rejoin;
mod restart;
mod stop;

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_core::cache::Cache;
use stripewise_core::coordination::Coordination;
use stripewise_core::dispatch::{Discipline, Earliest, LEVELS, MemberSet, Piq, Queues, SyncFifo};
use stripewise_core::driver::Driver;
use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::NONE;
use stripewise_core::loads::Loads;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::placement::{AcknowledgeWrites, FirstWrites, PlacementPolicy};
use stripewise_core::plan::{Attachment, Plan, Slot};
use stripewise_core::read::Reads;
use stripewise_core::request::{HostRequest, RequestKind, RequestSlot, SECTOR_BYTES, SubmitError};
use stripewise_core::row_locks::RowLocks;
use stripewise_core::scheme::{Members, Scheme, SchemeError};
use stripewise_core::times::CellTimes;
use stripewise_exec::internal::Internal;
use stripewise_exec::slow::Slow;
use stripewise_exec::{Executor, Placement, metadata_scrub};

use crate::in_place::InPlace;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;
use crate::in_place::journal::{Intent, Journal, Roster};
use crate::in_place::parity_log::ParityLog;
use crate::in_place::window::Window;
use crate::log::Log;
use crate::recovery::{Identity, superblock_in_place, superblock_of_log};
use crate::zones::Zones;

pub use progress::Halt;

/// The array controller over memory `M`.
pub struct Array<M: Memory> {
    pub(crate) exec: Executor<M>,
    pub(crate) placement: Placed,
}

impl<M: Memory> std::fmt::Debug for Array<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Array").field("scheme", &self.exec.scheme.name).finish_non_exhaustive()
    }
}

/// The placement of an array.
pub(crate) enum Placed {
    /// Each page has its row.
    InPlace(Box<InPlace>),
    /// Pages are appended to a log.
    Log(Box<Log>),
}

/// Evaluates an expression for the placement of an array, compiled for each kind.
macro_rules! each {
    (mut $array:ident, $placement:ident => $result:expr) => {
        match &mut $array.placement {
            $crate::array::Placed::InPlace($placement) => {
                let $placement = $placement.as_mut();
                $result
            }
            $crate::array::Placed::Log($placement) => {
                let $placement = $placement.as_mut();
                $result
            }
        }
    };
    ($array:ident, $placement:ident => $result:expr) => {
        match &$array.placement {
            $crate::array::Placed::InPlace($placement) => {
                let $placement = $placement.as_ref();
                $result
            }
            $crate::array::Placed::Log($placement) => {
                let $placement = $placement.as_ref();
                $result
            }
        }
    };
}
pub(crate) use each;

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
        let own_plans = if metadata.is_some() { crate::in_place::journal::PLANS } else { 0 };
        let roster = metadata.map(|layout| {
            let unnamed = Identity::unnamed(members.count);
            let superblock = superblock_in_place(scheme, &members, &geometry, &layout, &unnamed);
            Roster::new(superblock, plans + crate::in_place::journal::PLANS - 1)
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
            is_elastic.then(|| Log::new(scheme, &geometry, members.page_bytes, durable, M::CARRIES_DATA));
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
            && scheme.read.policy != stripewise_core::read::ReadPolicy::Hedged
            && dispatch.policy != Discipline::Piq
            && scheme.parity.window.slots(geometry.members) == 0;
        let in_place = || InPlace {
            only_plans,
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
            zones,
            journal,
            intent,
            roster,
            window: Window::new(
                scheme.parity.window.slots(geometry.members),
                plans,
                geometry.data,
                geometry.members,
                // The journal has the content that members would keep.
                if layout.is_some() { 0 } else { members.old_versions },
                M::CARRIES_DATA,
            ),
            resync: None,
        };
        let placement = match elastic {
            Some(log) => Placed::Log(Box::new(log)),
            None => Placed::InPlace(Box::new(in_place())),
        };
        let exec = Executor {
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
            reads: Reads::new(&scheme.read, members.count),
            coordination: Coordination::new(
                scheme.coordination,
                scheme.geometry.level,
                &geometry,
                members.count,
            ),
            internal: Internal::Idle,
            spare_payload: None,
            metadata: metadata_scrub::MetadataScrub::default(),
            allowance: None,
            under_way: 0,
            last_active: 0,
            #[cfg(debug_assertions)]
            bug: None,
            scheme: scheme.clone(),
            geometry,
            code,
            members,
        };
        Ok(Self { exec, placement })
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
        self.exec.advance(now);
        if let Err(error) = each!(self, placement => self.exec.check(&host, placement)) {
            return Err((error, payload));
        }
        let id = self.exec.free_request;
        if id == NONE {
            return Err((SubmitError::Busy, payload));
        }
        let is_flush = host.kind == RequestKind::Flush;
        // A flush covers the whole array, regardless of its range.
        let host = if is_flush { HostRequest { offset: 0, bytes: 0, ..host } } else { host };
        let end = host.offset + u64::from(host.bytes);
        let pages =
            if is_flush { (0, 0) } else { (self.exec.page_of(host.offset), self.exec.page_of(end - 1)) };
        let cursor =
            if is_flush { RowCursor::default() } else { RowCursor::new(pages.0, pages.1 - pages.0 + 1) };
        let in_part = self.exec.bytes_into_page(host.offset) | self.exec.bytes_into_page(end) != 0
            && !self.exec.rounds_up();
        self.exec.last_number = self.exec.last_number.wrapping_add(1).max(1);
        let slot = &mut self.exec.requests[id as usize];
        self.exec.free_request = slot.next;
        let number = self.exec.last_number;
        let fresh = RequestSlot { remaining: 1, next: NONE, number, ..RequestSlot::default() };
        *slot = RequestSlot { host, cursor, pages, in_part, ..fresh };
        self.exec.payloads[id as usize] = Some(payload);
        self.exec.under_way += 1;
        self.exec.last_active = now;
        each!(mut self, placement => {
            placement.arrived(id, &mut self.exec);
            self.exec.take_request(id, placement, driver);
            self.exec.poll(placement, driver);
        });
        Ok(())
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
        self.exec.advance(now);
        each!(mut self, placement => {
            self.exec.operation_over(id, outcome, timing, placement, driver);
            self.exec.poll(placement, driver);
        });
    }

    /// The time at which operation `id`, which is in progress, entered its member's queue.
    #[inline]
    pub fn queued_at(&self, id: OperationId) -> Nanos {
        self.exec.slots[id as usize].queued_at
    }

    /// The plan of operation `id`, which is in progress.
    pub fn plan_of(&self, id: OperationId) -> u32 {
        self.exec.plan_of(id)
    }

    /// Tags of the host requests that wait for `plan`, which is in progress; none once they are acknowledged.
    pub fn hosts_of(&self, plan: u32) -> impl Iterator<Item = u64> + '_ {
        let attachment = |node: u32| (node != NONE).then(|| self.exec.attachments[node as usize]);
        let first = attachment(self.exec.plans[plan as usize].first_request);
        let all = std::iter::successors(first, move |one| attachment(one.next));
        all.map(|attachment| self.exec.requests[attachment.request as usize].host.tag)
    }

    /// The parity computation of `plan` ended at time `now`.
    pub fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: u32, driver: &mut D) {
        self.exec.advance(now);
        each!(mut self, placement => {
            self.exec.computation_over(plan, placement, driver);
            self.exec.poll(placement, driver);
        });
    }

    /// A timer that the controller set has expired.
    pub fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.advance(now);
        let exec = &mut self.exec;
        each!(mut self, placement => {
            while let Some(&(id, acknowledgement)) = exec.buffered.front().filter(|(_, ack)| ack.at <= now) {
                exec.buffered.pop_front();
                exec.acknowledge(id, &acknowledgement, placement, driver);
            }
            placement.timer(exec, driver);
        });
        let activity = exec.activity();
        if let Some(coordination) = &mut exec.coordination {
            coordination.timer(now, activity, driver);
        }
        self.poll(driver);
    }

    /// Reports the loss of a member: operations queued for it end, and rows on it are degraded from now on. Operations in
    /// flight on it must still be reported, as [`Outcome::Gone`].
    pub fn member_failed<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D) {
        self.exec.advance(now);
        each!(mut self, placement => {
            self.exec.fail(member, placement, driver);
            self.exec.poll(placement, driver);
        });
    }

    /// Reports that a member that refused an operation may accept one now.
    #[inline]
    pub fn member_ready(&mut self, member: u16) {
        self.exec.queues.reopen(member);
    }

    /// Writes out content that is buffered in controller memory to gather more chunks, and updates deferred parity: at the end
    /// of a run.
    pub fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.advance(now);
        each!(mut self, placement => {
            placement.drain(&mut self.exec);
            self.exec.poll(placement, driver);
        });
    }

    /// Offers queued operations to every member that may accept one.
    #[inline]
    pub fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        each!(mut self, placement => {
            while let Some(member) = self.exec.queues.take_ready() {
                for level in 0..LEVELS {
                    self.exec.dispatch_level(member, level, placement, driver);
                }
            }
        });
    }

    /// Does all work that has become possible.
    pub(crate) fn poll<D: Driver<M>>(&mut self, driver: &mut D) {
        each!(mut self, placement => self.exec.poll(placement, driver));
    }

    /// The log, if pages are appended to one.
    pub(crate) fn as_log(&self) -> Option<&Log> {
        match &self.placement {
            Placed::Log(log) => Some(log),
            Placed::InPlace(_) => None,
        }
    }

    /// Like [`Self::as_log`], mutable.
    pub(crate) fn as_log_mut(&mut self) -> Option<&mut Log> {
        match &mut self.placement {
            Placed::Log(log) => Some(log),
            Placed::InPlace(_) => None,
        }
    }

    /// The placement, if each page has its row.
    pub(crate) fn as_in_place(&self) -> Option<&InPlace> {
        match &self.placement {
            Placed::InPlace(placement) => Some(placement),
            Placed::Log(_) => None,
        }
    }
}

fn link_to(index: u32, len: u32) -> u32 {
    if index < len { index } else { NONE }
}
