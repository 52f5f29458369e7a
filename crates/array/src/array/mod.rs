//! The controller: a deterministic state machine without clock, thread or device.
//!
//! The caller reports outside events by the functions of [`crate::Controller`], always with the time:
//! - `submit`: a host request arrived;
//! - `completed`: a member operation ended; `computed`: a parity computation ended;
//! - `timer`: a timer that the controller set has expired;
//! - `member_failed`, `member_ready`, `member_slow`: events of members.
//!
//! After any number of these at one instant, `dispatch` offers queued operations to the members. The controller
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

use stripewise_core::cache::Cache;
use stripewise_core::custom::Policies;
use stripewise_core::dispatch::{Discipline, QueueOrder};
use stripewise_core::driver::Driver;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationId;
use stripewise_core::placement::{AcknowledgeWrites, FirstWrites, FreePages, PlacementPolicy, SegmentVictim};
use stripewise_core::read::ReadPolicy;
use stripewise_core::scheme::{Members, Rows, Scheme, SchemeError};
use stripewise_exec::{ArrayOf, Executor, Jobs, Sizes};

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
pub struct Array<M: Memory>(pub(crate) Placed<M>);

impl<M: Memory> std::fmt::Debug for Array<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Array").field("scheme", &self.exec().scheme().name).finish_non_exhaustive()
    }
}

/// An array with its placement.
pub(crate) enum Placed<M: Memory> {
    /// Each page has its row.
    InPlace(Box<ArrayOf<M, InPlace>>),
    /// Pages are appended to a log.
    Log(Box<ArrayOf<M, Log>>),
}

/// Evaluates an expression for an array with its placement, compiled for each kind of placement.
macro_rules! each {
    (mut $array:ident, $placed:ident => $result:expr) => {
        match &mut $array.0 {
            $crate::array::Placed::InPlace($placed) => $result,
            $crate::array::Placed::Log($placed) => $result,
        }
    };
    ($array:ident, $placed:ident => $result:expr) => {
        match &$array.0 {
            $crate::array::Placed::InPlace($placed) => $result,
            $crate::array::Placed::Log($placed) => $result,
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
        let facts = scheme.placement.facts();
        let log = facts
            .logs_parity
            .then(|| ParityLog::new(&geometry, scheme.log_pages(&members) as u32, &scheme.log));
        let deltas = if facts.logs_parity { geometry.parity() * scheme.log.row_deltas } else { 0 };
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
        let zones = facts.has_zones.then(|| Zones::new(scheme, &geometry, members.page_bytes, awaits_flush));
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
        let sizes = Sizes { own_plans, stride, buffers_each, attachments };
        let capacity = scheme.pages(&geometry);
        let executor = |geometry| Executor::new(scheme, geometry, code, members, memory, capacity, sizes);
        Ok(Self(match elastic {
            Some(placement) => Placed::Log(Box::new(ArrayOf { exec: executor(geometry), placement })),
            None => {
                let placement = in_place();
                Placed::InPlace(Box::new(ArrayOf { exec: executor(geometry), placement }))
            }
        }))
    }

    /// Asks `policies` where the scheme leaves a choice to the user's own policy. Call it before the first request.
    pub fn install(&mut self, policies: Policies) {
        let Policies { read, order, destage, segment, hotness } = policies;
        let exec = self.exec_mut();
        let is_custom = exec.scheme().read.policy == ReadPolicy::Custom;
        exec.set_read_chooser(read.filter(|_| is_custom));
        let is_custom = exec.scheme().dispatch.order == QueueOrder::Custom;
        exec.set_ranks(order.filter(|_| is_custom));
        match &mut self.0 {
            Placed::InPlace(array) => {
                if let (Some(cache), Some(destage)) = (&mut array.placement.cache, destage) {
                    cache.install(destage);
                }
            }
            Placed::Log(array) => {
                let (exec, log) = (&array.exec, &mut array.placement);
                if let Some(segment) =
                    segment.filter(|_| exec.scheme().elastic.victim == SegmentVictim::Custom)
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

    /// The plan of operation `id`, which is in progress.
    pub fn plan_of(&self, id: OperationId) -> PlanId {
        self.exec().plan_of(id)
    }

    /// Tags of the host requests that wait for `plan`, which is in progress; none once they are acknowledged.
    pub fn hosts_of(&self, plan: PlanId) -> impl Iterator<Item = u64> + '_ {
        let exec = self.exec();
        let all = exec.attachments().from(exec.plan(plan).first_request);
        all.map(|id| exec.request(id).host.tag)
    }

    /// Does all work that has become possible.
    pub(crate) fn poll<D: Driver<M>>(&mut self, driver: &mut D) {
        each!(mut self, array => array.exec.poll(&mut array.placement, driver));
    }

    /// The executor, whatever the placement.
    #[inline]
    pub(crate) fn exec(&self) -> &Executor<M> {
        each!(self, array => &array.exec)
    }

    /// Like [`Self::exec`], mutable.
    #[inline]
    pub(crate) fn exec_mut(&mut self) -> &mut Executor<M> {
        each!(mut self, array => &mut array.exec)
    }

    /// The log, if pages are appended to one.
    pub(crate) fn as_log(&self) -> Option<&Log> {
        match &self.0 {
            Placed::Log(array) => Some(&array.placement),
            Placed::InPlace(_) => None,
        }
    }

    /// Like [`Self::as_log`], mutable.
    pub(crate) fn as_log_mut(&mut self) -> Option<&mut Log> {
        match &mut self.0 {
            Placed::Log(array) => Some(&mut array.placement),
            Placed::InPlace(_) => None,
        }
    }

    /// The placement, if each page has its row.
    pub(crate) fn as_in_place(&self) -> Option<&InPlace> {
        match &self.0 {
            Placed::InPlace(array) => Some(&array.placement),
            Placed::Log(_) => None,
        }
    }
}
