//! RAID in place as a placement: each page has its row and column, and parity is updated where it lies.

mod absorbing;
mod addresses;
mod beyond;
pub(crate) mod blank;
mod bytes;
mod caching;
mod deferred_parity;
mod destaging;
mod encoding;
pub(crate) mod first_encode;
pub(crate) mod gather;
mod gathering;
mod intent;
mod job;
pub mod journal;
mod journaling;
mod kept_parity;
mod left_out;
pub(crate) mod members;
mod metadata;
mod overlapping;
mod own_plans;
mod page_order;
pub(crate) mod parity_log;
mod parity_logging;
pub(crate) mod parity_memory;
mod placement;
mod plan_handler;
mod reads;
mod rebuild_scrub;
pub(crate) mod replaying;
pub(crate) mod resync;
mod shared_writes;
mod split;
mod updates;
mod vacant;
mod verify;
pub(crate) mod window;
mod zones;

use stripewise_base::Nanos;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_exec::{Executor, Jobs};
use stripewise_policy::cache::Cache;

use crate::in_place::blank::Blank;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;
use crate::in_place::job::{AnyJob, PlanState};
use crate::in_place::journal::{Intent, Journal, Roster};
use crate::in_place::parity_log::ParityLog;
use crate::in_place::parity_memory::ParityMemory;
use crate::in_place::resync::Resync;
use crate::in_place::window::Window;
use crate::zones::Zones;

/// RAID in place, with what a scheme adds to it.
pub(crate) struct InPlace {
    /// Whether only plans of host requests can ever be due under the scheme.
    pub(crate) only_plans: bool,
    pub(crate) jobs: Jobs<PlanState>,
    pub(crate) gather: Option<Gather>,
    pub(crate) encode: Option<Encode>,
    pub(crate) cache: Option<Cache>,
    /// Number of plans that destage cached content.
    pub(crate) destaging_plans: u32,
    /// Time of an access to controller memory.
    pub(crate) memory_latency: Nanos,
    pub(crate) parity_log: Option<ParityLog>,
    pub(crate) zones: Option<Zones>,
    pub(crate) blank: Blank,
    pub(crate) parity_memory: ParityMemory,
    pub(crate) journal: Option<Journal>,
    pub(crate) intent: Option<Intent>,
    pub(crate) roster: Option<Roster>,
    pub(crate) window: Window,
    /// The walk over all rows after a loss of power; no request is issued before it is over.
    pub(crate) resync: Option<Resync>,
}

impl InPlace {
    /// Takes a free plan for `job`, at `row`.
    #[inline]
    pub(crate) fn take_plan<M: Memory>(
        &mut self,
        row: RowNo,
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let job = job.into();
        let plan = exec.take_plan(row, job.facts().purpose);
        self.jobs[plan].job = job;
        plan
    }
}
