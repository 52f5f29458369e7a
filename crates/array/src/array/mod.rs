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

mod controller;
mod controls;
mod getters;
mod in_place;
mod log;
mod persistent;
mod progress;
mod rejoin;
mod restart;
mod stop;

use stripewise_base::Nanos;
use stripewise_core::cache::Cache;
use stripewise_core::custom::Policies;
use stripewise_core::dispatch::{Discipline, QueueOrder};
use stripewise_core::driver::Driver;
use stripewise_core::format::FailReason;
use stripewise_core::ids::{NONE, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::placement::{AcknowledgeWrites, FirstWrites, FreePages, PlacementPolicy, SegmentVictim};
use stripewise_core::read::ReadPolicy;
use stripewise_core::request::{HostRequest, SubmitError};
use stripewise_core::scheme::{Members, Rows, Scheme, SchemeError};
use stripewise_exec::{Executor, Jobs, Sizes};

use crate::in_place::InPlace;
use crate::in_place::blank::Blank;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;
use crate::in_place::journal::{Intent, Journal, Roster};
use crate::in_place::parity_log::ParityLog;
use crate::in_place::parity_memory::ParityMemory;
use crate::in_place::window::Window;
use crate::log::Log;
use crate::recovery::{Identity, superblock_in_place, superblock_of_log};
use crate::zones::Zones;

pub use crate::membership::Halt;

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
        let plans = scheme.queues.plans;
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
            Roster::new(superblock, PlanId::new(plans + crate::in_place::journal::PLANS - 1))
        });
        let intent = metadata.filter(|_| !scheme.has_redo_journal());
        let intent = intent.map(|layout| Intent::new(layout, geometry.groups, PlanId::new(plans)));
        let journal =
            layout.map(|layout| Journal::new(layout, geometry.groups, PlanId::new(plans), M::CARRIES_DATA));
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
        let all_plans = plans + own_plans;
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
            && scheme.read.policy != ReadPolicy::Hedged
            && dispatch.policy != Discipline::Piq
            && scheme.parity.window.slots(geometry.members) == 0
            && scheme.parity_memory_rows() == 0;
        let is_encoded = scheme.placement.first_writes == FirstWrites::Encode;
        let keeps_more =
            cache.is_some() || zones.is_some() || log.is_some() || gather.is_some() || is_encoded;
        let shares_rows = scheme.parity.rows == Rows::Shared
            && members.old_versions > 0
            && metadata.is_none()
            && !keeps_more
            && scheme.parity_memory_rows() == 0
            // A write that waits for an earlier one of its page may belong to an earlier round.
            && dispatch.order != QueueOrder::Rounds
            && scheme.parity.window.slots(geometry.members) > 0;
        let in_place = || InPlace {
            only_plans,
            jobs: Jobs::new(all_plans),
            gather,
            encode: is_encoded.then(|| Encode::new(geometry.rows(), geometry.data, plans, M::CARRIES_DATA)),
            memory_latency: if cache.is_some() {
                scheme.cache.latency.0
            } else {
                scheme.placement.buffer_latency.0
            },
            cache,
            destaging_plans: 0,
            log,
            blank: if zones.is_some() && scheme.zones.free_pages == FreePages::Zeros && geometry.parity() > 0
            {
                Blank::new(&geometry)
            } else {
                Blank::default()
            },
            zones,
            parity_memory: ParityMemory::new(scheme.parity_memory_rows(), geometry.parity(), M::CARRIES_DATA),
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
                shares_rows,
            ),
            resync: None,
        };
        let placement = match elastic {
            Some(log) => Placed::Log(Box::new(log)),
            None => Placed::InPlace(Box::new(in_place())),
        };
        let sizes = Sizes { own_plans, stride, buffers_each, attachments };
        let capacity = scheme.pages(&geometry);
        let exec = Executor::new(scheme, geometry, code, members, memory, capacity, sizes);
        Ok(Self { exec, placement })
    }

    /// Asks `policies` where the scheme leaves a choice to the user's own policy. Call it before the first request.
    pub fn install(&mut self, policies: Policies) {
        let Policies { read, order, destage, segment, hotness } = policies;
        let scheme = &self.exec.scheme;
        let is_custom = scheme.read.policy == ReadPolicy::Custom;
        self.exec.read_chooser = read.filter(|_| is_custom);
        self.exec.ranks = order.filter(|_| scheme.dispatch.order == QueueOrder::Custom);
        match &mut self.placement {
            Placed::InPlace(placement) => {
                if let (Some(cache), Some(destage)) = (&mut placement.cache, destage) {
                    cache.install(destage);
                }
            }
            Placed::Log(log) => {
                if let Some(segment) =
                    segment.filter(|_| self.exec.scheme.elastic.victim == SegmentVictim::Custom)
                {
                    log.segment_chooser = Some(segment);
                    log.segments.count_ages();
                }
                if let Some(hotness) = hotness {
                    log.hotness.install(hotness);
                }
            }
        }
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
        each!(mut self, placement => self.exec.submit(now, host, payload, placement, driver))
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
        each!(mut self, placement => self.exec.completed(now, id, outcome, timing, placement, driver));
    }

    /// The time at which operation `id`, which is in progress, entered its member's queue.
    #[inline]
    pub fn queued_at(&self, id: OperationId) -> Nanos {
        self.exec.slots[id as usize].queued_at
    }

    /// The plan of operation `id`, which is in progress.
    pub fn plan_of(&self, id: OperationId) -> PlanId {
        self.exec.plan_of(id)
    }

    /// Tags of the host requests that wait for `plan`, which is in progress; none once they are acknowledged.
    pub fn hosts_of(&self, plan: PlanId) -> impl Iterator<Item = u64> + '_ {
        let attachment = |node: u32| (node != NONE).then(|| self.exec.attachments[node as usize]);
        let first = attachment(self.exec.plans[plan].first_request);
        let all = std::iter::successors(first, move |one| attachment(one.next));
        all.map(|attachment| self.exec.requests[attachment.request].host.tag)
    }

    /// The parity computation of `plan` ended at time `now`.
    pub fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D) {
        each!(mut self, placement => self.exec.computed(now, plan, placement, driver));
    }

    /// A timer that the controller set has expired.
    pub fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        each!(mut self, placement => self.exec.timer(now, placement, driver));
    }

    /// Reports the loss of a member: operations queued for it end, and rows on it are degraded from now on. Operations in
    /// flight on it must still be reported, as [`Outcome::Gone`]. The `reason` decides how much of its content counts if it
    /// returns. A member that the controller itself fails did not answer, or failed a write or a flush: it is gone.
    pub fn member_failed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: u16,
        reason: FailReason,
        driver: &mut D,
    ) {
        each!(mut self, placement => self.exec.member_failed(now, member, reason, placement, driver));
    }

    /// Reports that a member that refused an operation may accept one now.
    #[inline]
    pub fn member_ready(&mut self, member: u16) {
        self.exec.queues.reopen(member);
    }

    /// Writes out content that is buffered in controller memory to gather more chunks, and updates deferred parity: at the end
    /// of a run.
    pub fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        each!(mut self, placement => self.exec.drain(now, placement, driver));
    }

    /// Offers queued operations to every member that may accept one.
    #[inline]
    pub fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        each!(mut self, placement => self.exec.dispatch(placement, driver));
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
