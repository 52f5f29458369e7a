//! A new executor: arenas of the sizes that its placement needs, and nothing in progress.

use std::collections::VecDeque;

use stripewise_code::Code;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::loads::Loads;
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_core::request::SECTOR_BYTES;
use stripewise_core::times::CellTimes;
use stripewise_format::FailReason;
use stripewise_policy::coordination::Coordination;
use stripewise_policy::dispatch::{Discipline, Earliest, MemberSet, Piq, Queues, SyncFifo};
use stripewise_policy::read::Reads;
use stripewise_scheme::Scheme;

use crate::Executor;
use crate::attachments::Attachments;
use crate::internal::Internal;
use crate::metadata_scrub::MetadataScrub;
use crate::plan::{OVER, Slot};
use crate::plans::Plans;
use crate::requests::Requests;
use crate::row_locks::RowLocks;
use crate::slow::Slow;

/// What a placement needs of the executor's arenas.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Plans besides those of hosts, for which no request waits.
    pub own_plans: u32,
    /// The most operations of a plan.
    pub stride: u32,
    /// The page buffers of a plan: two for each column, and one for each delta that a plan may read.
    pub buffers_each: u32,
    /// Requests that may wait for plans, in total: each plan has the attachment of its own number, and the rest are for
    /// requests that merge.
    pub attachments: u32,
}

impl Sizes {
    /// The sizes for a placement whose plans use each member at most once, and which has no plans of its own.
    pub fn plain(scheme: &Scheme, geometry: &Geometry, members: &Members) -> Self {
        let buffers_each = geometry.columns * 2;
        let stride = buffers_each.max(members.count);
        Self { own_plans: 0, stride, buffers_each, attachments: scheme.queues.plans * 2 }
    }
}

impl<M: Memory> Executor<M> {
    /// The executor of `scheme` over `members`, for hosts that can address `pages` pages.
    pub fn new(
        scheme: &Scheme,
        geometry: Geometry,
        code: Option<Code>,
        members: Members,
        memory: M,
        pages: u64,
        sizes: Sizes,
    ) -> Self {
        let (plans, requests) = (scheme.queues.plans, scheme.queues.requests);
        let dispatch = &scheme.dispatch;
        let Sizes { own_plans, stride, buffers_each, attachments } = sizes;
        let all_plans = plans + own_plans;
        let sectors = members.page_bytes / SECTOR_BYTES;
        let buffers = if M::CARRIES_DATA { all_plans as usize * buffers_each as usize } else { 0 };
        Self {
            capacity: pages * u64::from(members.page_bytes),
            whole_page: u64::MAX >> (64 - sectors),
            memory,
            now: 0,
            requests: Requests::new(requests),
            payloads: (0..=requests).map(|_| None).collect(),
            last_number: 0,
            pending: VecDeque::with_capacity(requests as usize),
            set_aside: VecDeque::new(),
            sync_fifo: (dispatch.policy == Discipline::SyncFifo)
                .then(|| SyncFifo::new(dispatch.strict, requests)),
            piq: (dispatch.policy == Discipline::Piq)
                .then(|| Piq::new(dispatch.overtake, dispatch.sync, requests)),
            earliest: (dispatch.asks_targets()).then(|| Earliest::new(requests, members.count)),
            splitting: RequestId::NONE,
            queue_limit: dispatch.queue.unwrap_or(u32::MAX),
            freed: MemberSet::default(),
            buffered: VecDeque::with_capacity(requests as usize),
            plans: Plans::new(plans, own_plans),
            free_plan: PlanId::new(0),
            attachments: Attachments::new(attachments, all_plans),
            slots: vec![Slot { started_at: OVER, ..Slot::default() }; all_plans as usize * stride as usize],
            stride,
            buffers: vec![NONE; buffers],
            buffers_each,
            covers: vec![0; all_plans as usize * geometry.data as usize],
            row_locks: RowLocks::new(plans),
            turns: 0,
            queues: Queues::new(members.count, scheme.dispatch.order),
            loads: Loads::new(members.count),
            times: CellTimes::new(members.count),
            asks_times: scheme.update.asks_times(),
            woken: VecDeque::with_capacity(plans as usize),
            failed: vec![false; members.count as usize],
            fail_reasons: vec![FailReason::Unknown; members.count as usize],
            any_failed: false,
            slow: Slow::new(members.count),
            read_only: false,
            reads: Reads::new(&scheme.read, members.count),
            read_chooser: None,
            ranks: None,
            coordination: Coordination::new(
                scheme.active_coordination(),
                scheme.geometry.level,
                &geometry,
                members.count,
            ),
            internal: Internal::Idle,
            spare_payload: None,
            metadata: MetadataScrub::default(),
            allowance: None,
            under_way: 0,
            last_active: 0,
            #[cfg(debug_assertions)]
            bug: None,
            scheme: scheme.clone(),
            geometry,
            code,
            members,
        }
    }
}
