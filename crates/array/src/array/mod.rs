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
mod parts;
mod persistent;
mod progress;
mod rejoin;
mod restart;
mod stop;

use stripewise_core::ids::PlanId;
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationId;
use stripewise_exec::driver::Driver;
use stripewise_exec::{ArrayOf, Executor};
use stripewise_policy::custom::Policies;
use stripewise_policy::dispatch::QueueOrder;
use stripewise_policy::read::ReadPolicy;
use stripewise_scheme::placement::{PlacementPolicy, SegmentVictim};
use stripewise_scheme::{Scheme, SchemeError};

use crate::in_place::InPlace;
use crate::log::Log;

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
        let capacity = scheme.pages(&geometry);
        let metadata = scheme.in_place_layout(&members, &geometry)?;
        let executor =
            |geometry, sizes| Executor::new(scheme, geometry, code, members, memory, capacity, sizes);
        Ok(Self(if scheme.placement.policy == PlacementPolicy::Elastic {
            let placement = parts::log(scheme, &members, &geometry, M::CARRIES_DATA);
            let sizes = parts::sizes(scheme, &members, &geometry, metadata, Some(&placement));
            Placed::Log(Box::new(ArrayOf { exec: executor(geometry, sizes), placement }))
        } else {
            let placement = parts::in_place(scheme, &members, &geometry, metadata, M::CARRIES_DATA);
            let sizes = parts::sizes(scheme, &members, &geometry, metadata, None);
            Placed::InPlace(Box::new(ArrayOf { exec: executor(geometry, sizes), placement }))
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
