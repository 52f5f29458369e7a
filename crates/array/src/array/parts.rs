//! Makes the parts of an array: the placement of its scheme, and the sizes of the executor's arenas.

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::PlanId;
use stripewise_core::members::Members;
use stripewise_exec::{Jobs, Sizes};
use stripewise_format::in_place::InPlaceLayout;
use stripewise_policy::cache::Cache;
use stripewise_policy::dispatch::{Discipline, QueueOrder};
use stripewise_policy::read::ReadPolicy;
use stripewise_scheme::placement::{AcknowledgeWrites, FirstWrites, FreePages};
use stripewise_scheme::{Rows, Scheme};

use crate::in_place::InPlace;
use crate::in_place::blank::Blank;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;
use crate::in_place::journal::{Intent, Journal, PLANS, Roster};
use crate::in_place::parity_log::ParityLog;
use crate::in_place::parity_memory::ParityMemory;
use crate::in_place::window::Window;
use crate::log::Log;
use crate::recovery::{Identity, superblock_in_place, superblock_of_log};
use crate::zones::Zones;

/// The log to which pages are appended.
pub(super) fn log(scheme: &Scheme, members: &Members, geometry: &Geometry, carries_data: bool) -> Log {
    let durable = scheme.log_layout(members).map(|layout| {
        let identity = Identity::unnamed(members.count);
        (layout, superblock_of_log(scheme, members, geometry, &layout, &identity))
    });
    Log::new(scheme, geometry, members.page_bytes, durable, carries_data)
}

/// RAID in place, with what the scheme adds to it. `metadata` is the layout of an array with metadata.
pub(super) fn in_place(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    metadata: Option<InPlaceLayout>,
    carries_data: bool,
) -> InPlace {
    let plans = scheme.queues.plans;
    let facts = scheme.placement.facts();
    let first_writes = scheme.placement.first_writes;
    let parity_log = facts
        .logs_parity
        .then(|| ParityLog::new(geometry, scheme.parity_log_pages(members) as u32, &scheme.parity_logging));
    let gather = (first_writes == FirstWrites::Gather).then(|| Gather::new(geometry));
    let encode = (first_writes == FirstWrites::Encode)
        .then(|| Encode::new(geometry.rows(), geometry.data, plans, carries_data));
    let cache = Cache::new(&scheme.cache, geometry, members.page_bytes);
    let awaits_flush = members.volatile_cache || cache.as_ref().is_some_and(|cache| cache.is_volatile);
    let zones = facts.has_zones.then(|| Zones::new(scheme, geometry, members.page_bytes, awaits_flush));
    let has_blank = zones.is_some() && scheme.zones.free_pages == FreePages::Zeros && geometry.parity() > 0;
    let keeps_more =
        cache.is_some() || zones.is_some() || parity_log.is_some() || gather.is_some() || encode.is_some();
    let shares_rows = metadata.is_none() && !keeps_more && may_share_rows(scheme, members, geometry);
    let journal = metadata.filter(|_| scheme.has_redo_journal());
    let intent = metadata.filter(|_| !scheme.has_redo_journal());
    let mut placement = InPlace {
        only_plans: false,
        jobs: Jobs::new(plans + own_plans(metadata)),
        gather,
        encode,
        memory_latency: if cache.is_some() {
            scheme.cache.latency.0
        } else {
            scheme.placement.buffer_latency.0
        },
        cache,
        destaging_plans: 0,
        parity_log,
        blank: if has_blank { Blank::new(geometry) } else { Blank::default() },
        zones,
        parity_memory: ParityMemory::new(scheme.parity_memory_rows(), geometry.parity(), carries_data),
        journal: journal
            .map(|layout| Journal::new(layout, geometry.groups, PlanId::new(plans), carries_data)),
        intent: intent.map(|layout| Intent::new(layout, geometry.groups, PlanId::new(plans))),
        roster: metadata.map(|layout| {
            let unnamed = Identity::unnamed(members.count);
            let superblock = superblock_in_place(scheme, members, geometry, &layout, &unnamed);
            Roster::new(superblock, PlanId::new(plans + PLANS - 1))
        }),
        window: Window::new(
            scheme.parity.window.slots(geometry.members),
            plans,
            geometry.data,
            geometry.members,
            // The journal has the content that members would keep.
            if journal.is_some() { 0 } else { members.old_versions },
            carries_data,
            shares_rows,
        ),
        resync: None,
    };
    debug_assert!(
        shares_rows || !scheme.has_overlapping_updates(),
        "a scheme whose updates overlap shares its rows"
    );
    placement.window.overlaps = scheme.has_overlapping_updates();
    placement.only_plans = has_only_plans(&placement, scheme, geometry);
    placement
}

/// Whether writes may share rows in an array that has neither metadata nor anything that keeps content.
fn may_share_rows(scheme: &Scheme, members: &Members, geometry: &Geometry) -> bool {
    scheme.parity.rows == Rows::Shared
        && members.old_versions > 0
        && scheme.parity_memory_rows() == 0
        // A write that waits for an earlier one of its page may belong to an earlier round.
        && scheme.dispatch.order != QueueOrder::Rounds
        && scheme.parity.window.slots(geometry.members) > 0
}

/// Whether only plans of host requests can ever be due under the scheme.
fn has_only_plans(placement: &InPlace, scheme: &Scheme, geometry: &Geometry) -> bool {
    placement.cache.is_none()
        && placement.zones.is_none()
        && placement.parity_log.is_none()
        && placement.journal.is_none()
        && placement.intent.is_none()
        && placement.gather.is_none()
        && placement.encode.is_none()
        && scheme.read.policy != ReadPolicy::Hedged
        && scheme.dispatch.policy != Discipline::Piq
        && scheme.parity.window.slots(geometry.members) == 0
        && scheme.parity_memory_rows() == 0
}

/// The plans of the journal, which follow those of hosts and for which no request waits.
fn own_plans(metadata: Option<InPlaceLayout>) -> u32 {
    if metadata.is_some() { PLANS } else { 0 }
}

/// The sizes of the executor's arenas. `log` is the log of the array, if pages are appended to one.
pub(super) fn sizes(
    scheme: &Scheme,
    members: &Members,
    geometry: &Geometry,
    metadata: Option<InPlaceLayout>,
    log: Option<&Log>,
) -> Sizes {
    let logs_parity = scheme.placement.facts().logs_parity;
    let deltas = if logs_parity { geometry.parity() * scheme.parity_logging.row_deltas } else { 0 };
    let buffers_each = geometry.columns * 2 + deltas;
    let journal = metadata.filter(|_| scheme.has_redo_journal());
    let stride = buffers_each.max(members.count);
    let stride = journal.as_ref().map_or(stride, |layout| stride.max(Journal::operations_max(layout)));
    // A page of the bitmap in all copies, and their flushes, for each group.
    let stride = if metadata.is_some() { stride.max(2 * members.count) } else { stride };
    let own_plans = own_plans(metadata);
    // Each plan has the attachment of its own number, so that no plan lacks one. The second half is for requests that
    // merge, and one is added for each chunk in memory whose writer waits until it is durable.
    let durable = log.filter(|_| scheme.elastic.acknowledge == AcknowledgeWrites::Durable);
    let waiting = durable.map_or(0, |log| log.buffer.len() as u32);
    let attachments = (scheme.queues.plans + own_plans) * 2 + waiting;
    Sizes { own_plans, stride, buffers_each, attachments }
}
