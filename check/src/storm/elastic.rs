//! The storm over elastic striping: segments of a few rows, so that they are collected all the time, arrays that are filled to
//! the last chunk, and all that else is drawn.

use stripewise_array::Scheme;
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::geometry::{Geometry, Level as Raid};
use stripewise_array::hotness::HotnessPolicy;
use stripewise_array::placement::elastic::{AcknowledgeWrites, BufferUnit, ElasticSection, Survivors};
use stripewise_array::placement::{Persistence, PlacementPolicy};
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::Kind;

use super::{Draw, array, faults, layout, losses, membership, requests};
use crate::case::{Ask, Case, What};
use crate::device;
use crate::media::Faults;

/// A case of elastic striping, unless what was drawn has no meaning together.
pub(super) fn attempt(seed: u64, draw: &mut Draw) -> Option<Case> {
    let (raid, elements, groups) = array(draw);
    if raid == Raid::Raid0 {
        return None;
    }
    let layout = layout(draw, elements);
    let mut device = device::device(draw, layout, elements)?;
    // Segments need more room than rows do.
    device.geometry.blocks = draw.between(10, 24) as u32;
    let page_bytes = device.geometry.page_bytes.0;
    device.validate().ok()?;
    let mut case = Case {
        seed,
        elements: layout,
        depth: draw.one_of(&[1, 2, 4, 8, 16, 64]),
        fail_each: draw.percent(40),
        hides_old_versions: false,
        volatile_elements: false,
        power_losses: Vec::new(),
        faults: Faults::default(),
        losses: Vec::new(),
        requests: Vec::new(),
        scheme: scheme(draw, raid, groups, page_bytes),
        device,
    };
    case.scheme.geometry.membership = membership(seed, raid, groups);
    let geometry = case.geometry().ok()?;
    let (pages, page) = (case.scheme.pages(&geometry), page_bytes / crate::stamp::SECTOR as u64);
    if pages > 500 {
        return None;
    }
    if draw.percent(50) {
        case.requests = filling(draw, &geometry, pages, page);
    }
    for _ in 0..draw.one_of(&[0, 0, 0, 1, 2]) {
        case.requests.extend(filling(draw, &geometry, pages, page));
    }
    case.requests.extend(requests(draw, &geometry, pages, page, &[10, 60, 120, 200, 400]));
    if draw.percent(40) {
        case.faults = faults(draw);
    }
    case.losses = losses(draw, &geometry, case.requests.len() as u64);
    Some(case)
}

/// Writes that fill the whole array, one behind the other.
fn filling(draw: &mut Draw, geometry: &Geometry, pages: u64, page: u64) -> Vec<Ask> {
    let data = u64::from(geometry.data);
    // The last fills memory faster than it drains.
    let grain = page * draw.one_of(&[data, 3 * data + 1, 40 * data]);
    let sectors = pages * page;
    let write =
        |sector: u64| Ask { gap_ns: 0, what: What::Write, sector, sectors: grain.min(sectors - sector) };
    (0..sectors).step_by(grain as usize).map(write).collect()
}

fn scheme(draw: &mut Draw, raid: Raid, groups: u32, page_bytes: u64) -> Scheme {
    let mut scheme = Scheme::from_toml("storm", "name = \"storm\"").expect("all but the name has a default");
    scheme.geometry.level = raid;
    scheme.geometry.groups = groups;
    if raid == Raid::Raid6 {
        scheme.code.kind = draw.one_of(&[None, Some(Kind::Pq), Some(Kind::Rdp), Some(Kind::Evenodd)]);
        let has_prime = matches!(scheme.code.kind, Some(Kind::Rdp | Kind::Evenodd));
        scheme.code.prime = if has_prime { draw.one_of(&[None, Some(17), Some(257)]) } else { None };
    }
    let placement = &mut scheme.placement;
    placement.policy = PlacementPolicy::Elastic;
    placement.buffer_latency = Span(draw.one_of(&[0, 1_000, 100_000]));
    placement.buffer_persistence = draw.one_of(&[Persistence::Persistent, Persistence::Volatile]);
    let acknowledge = draw.one_of(&[
        AcknowledgeWrites::TriggerWaits,
        AcknowledgeWrites::TriggerWaits,
        AcknowledgeWrites::Buffered,
        AcknowledgeWrites::Durable,
    ]);
    let waits: &[u64] = match acknowledge {
        AcknowledgeWrites::Durable => &[1, 50_000, 3_000_000],
        _ => &[0, 0, 1, 50_000, 3_000_000],
    };
    let percent = |percent: u32| Share(percent * 10_000);
    scheme.elastic = ElasticSection {
        segment_rows: draw.one_of(&[2, 2, 3, 4, 8]),
        buffer: draw.one_of(&[BufferUnit::Stripe, BufferUnit::Group]),
        wait: Span(draw.one_of(waits)),
        acknowledge,
        survivors: draw.one_of(&[Survivors::Apart, Survivors::Apart, Survivors::Coldest]),
        collect_above: percent(draw.one_of(&[100, 100, 90, 75, 40])),
        reserve: percent(draw.one_of(&[0, 5, 15, 40])),
        device_streams: false,
    };
    let hotness = &mut scheme.hotness;
    hotness.policy =
        draw.one_of(&[HotnessPolicy::None, HotnessPolicy::Glru, HotnessPolicy::Hca, HotnessPolicy::Direct]);
    if hotness.policy != HotnessPolicy::None {
        hotness.tiers = draw.one_of(&[1, 2, 2, 3, 4]);
        hotness.sequential_shortcut = draw.percent(50);
    }
    // A policy is given the settings that it reads.
    match hotness.policy {
        HotnessPolicy::Glru => {
            hotness.lists = draw.one_of(&[1, 4, 128]);
            hotness.items = draw.one_of(&[1, 2, 8]);
            hotness.halve_every = draw.one_of(&[0, 0, 10, 100]);
        }
        HotnessPolicy::Direct => hotness.halve_every = draw.one_of(&[0, 0, 10, 100]),
        HotnessPolicy::Hca => hotness.extent = Bytes(page_bytes * draw.one_of(&[1, 4, 16])),
        HotnessPolicy::None => {}
    }
    scheme.dispatch.order = if draw.percent(60) { QueueOrder::ReadFirst } else { QueueOrder::Arrival };
    scheme.dispatch.lookahead = draw.one_of(&[1, 2, 64]);
    scheme.queues.requests = draw.one_of(&[1, 2, 3, 4, 8, 64]);
    scheme.queues.plans = draw.one_of(&[1, 2, 3, 5, 16, 64]);
    scheme.parity.xor = Span(draw.one_of(&[0, 0, 1, 5_000, 300_000]));
    scheme
}
