//! The stress test: draws from one seed a small array over a small device, colliding requests, and faults.
//!
//! Every value is drawn from the whole range of its axis, with preference for small and odd values: controllers fail
//! with full queues, with contended rows, and with blocks that must be collected at every other write.

mod dispatching;
mod draw;
pub(crate) mod elastic;
pub(crate) mod faults;
pub(crate) mod limit;
pub(crate) mod power;
pub(crate) mod reading;
pub(crate) mod requests;
pub(crate) mod scheme;
pub(crate) mod zones;

use stripewise_array::cache::CacheSection;
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::geometry::Level as Raid;
use stripewise_array::placement::{FirstWrites, Placement, PlacementPolicy};
use stripewise_array::update::Update;
use stripewise_array::{Acknowledge, Merge, Metadata, Parity, Rows, WindowSize};
use stripewise_base::prng::Prng;
use stripewise_code::Kind;

pub(crate) use self::draw::Draw;
use self::faults::{faults, late_answers, losses, parity_log_losses, slow_members};
use self::requests::requests;
use self::scheme::{
    array, cache, coordination, first_writes, in_bytes, layout, membership, parity_logging_section, scheme,
};
use crate::case::Case;
use crate::device;
use crate::media::Faults;

/// The case of `seed`.
pub fn case(seed: u64) -> Case {
    let mut draw = Draw(Prng::stream(seed, 0x7374_6F72));
    let mut log = Draw(Prng::stream(seed, 0x6C6F_6773));
    let logs = log.percent(25);
    let mut elastic = Draw(Prng::stream(seed, 0x656C_6173));
    let stretches = elastic.percent(30);
    loop {
        let case = match stretches {
            true => elastic::attempt(seed, &mut elastic),
            false => attempt(seed, &mut draw, logs.then_some(&mut log)),
        };
        if let Some(mut case) = case {
            zones::zones(seed, &mut case);
            zones::parity_memory(seed, &mut case);
            dispatching::dispatch(seed, &mut case.scheme);
            case.scheme.coordination = coordination(seed, case.scheme.geometry.level);
            late_answers(&mut Draw(Prng::stream(seed, 0x6C61_7465)), &mut case.faults);
            rows(&mut Draw(Prng::stream(seed, 0x726F_7773)), &mut case.scheme.parity);
            if case.scheme.code.kind != Some(Kind::XCode) {
                case.scheme.read = reading::reading(seed, case.scheme.geometry.level);
            }
            slow_members(&mut Draw(Prng::stream(seed, 0x736c_6f77)), &mut case.faults);
            power::power(seed, &mut case);
            limit::limit(seed, &mut case);
            return case;
        }
    }
}

/// How writes that defer their parity take their row, and whether writes join those that wait for it.
fn rows(draw: &mut Draw, parity: &mut Parity) {
    parity.rows = draw.one_of(&[Rows::Exclusive, Rows::Shared]);
    parity.merge = draw.one_of(&[Merge::On, Merge::On, Merge::Off]);
}

/// A case, or `None` if the drawn values contradict each other.
fn attempt(seed: u64, draw: &mut Draw, log: Option<&mut Draw>) -> Option<Case> {
    let (raid, members, groups) = array(draw);
    // From a separate random stream, so that the other choices do not depend on it.
    let cache = cache(&mut Draw(Prng::stream(seed, 0x6361_6368)));
    let is_parity_first = cache.policy.makes_parity_first();
    let log = log.filter(|_| raid != Raid::Raid0 && !is_parity_first);
    let all = members + if log.is_some() { raid.parity() } else { 0 };
    let layout = layout(draw, all);
    let device = device::device(draw, layout, all)?;
    let page_bytes = device.geometry.page_bytes.0;
    let mut scheme = scheme(draw, raid, members, groups, page_bytes);
    scheme.cache = in_bytes(cache, page_bytes);
    if is_parity_first {
        scheme.parity.window = WindowSize::default();
        scheme.parity.acknowledge = Acknowledge::AfterParity;
        scheme.placement.first_writes = FirstWrites::InPlace;
    }
    scheme.geometry.membership = membership(seed, raid, groups);
    if log.is_some() {
        scheme.placement.policy = PlacementPolicy::ParityLogging;
        scheme.parity.window = WindowSize::default();
    }
    let mut case = Case {
        seed,
        members: layout,
        depth: draw.one_of(&[1, 2, 4, 8, 16, 64]),
        fail_each: draw.percent(20),
        hides_old_versions: draw.percent(40),
        reports_nothing: false,
        volatile_members: false,
        power_losses: Vec::new(),
        faults: Faults::default(),
        error_limit: None,
        losses: Vec::new(),
        requests: Vec::new(),
        scheme,
        device,
    };
    let mut log = log;
    if let Some(log) = &mut log {
        case.scheme.parity_logging = parity_logging_section(log, page_bytes);
    }
    let geometry = case.geometry().ok()?;
    if geometry.rows() < 2 {
        return None;
    }
    let page = page_bytes / crate::stamp::SECTOR as u64;
    case.requests = requests(draw, &geometry, geometry.pages(), page, &[10, 30, 60, 120, 200]);
    if draw.percent(40) {
        case.faults = faults(draw);
    }
    case.losses = losses(draw, &geometry, case.requests.len() as u64);
    if let Some(log) = log {
        parity_log_losses(log, &geometry, case.requests.len() as u64, &mut case.losses);
    }
    Some(case)
}

/// The case of a seed from `seed` times a thousand on: the first one over stripes that are as deep as they are wide.
pub fn deep(seed: u64) -> Case {
    let mut cases = (seed * 1000..).map(case);
    cases.find(|case| case.scheme.code.kind == Some(Kind::XCode)).expect("some have it")
}

/// Whether chunks and their parity are rewritten where they are.
fn rewrites_in_place(placement: &Placement) -> bool {
    let facts = placement.facts();
    facts.updates_parity && !facts.locates_on_write && placement.first_writes == FirstWrites::InPlace
}

/// The case of `seed` with all requests on a few rows, which writes share, if the scheme can defer parity there.
pub fn hot_rows(seed: u64) -> Case {
    let mut case = case(seed);
    let mut draw = Draw(Prng::stream(seed, 0x686F_7472));
    let scheme = &mut case.scheme;
    let is_plain = rewrites_in_place(&scheme.placement)
        && scheme.metadata == Metadata::Off
        && scheme.geometry.level != Raid::Raid0
        && scheme.cache == CacheSection::default();
    let Some(geometry) = case.geometry().ok().filter(|_| is_plain && case.power_losses.is_empty()) else {
        return case;
    };
    let scheme = &mut case.scheme;
    scheme::window(&mut draw, scheme, geometry.columns);
    scheme.parity.rows = Rows::Shared;
    scheme.parity.memory_rows = 0;
    scheme.queues.requests = scheme.queues.requests.max(8);
    scheme.update = draw.one_of(&[Update::AlwaysRcw {}, scheme.update]);
    if scheme.dispatch.order == QueueOrder::Rounds {
        scheme.dispatch.order = QueueOrder::Arrival;
    }
    case.hides_old_versions = false;
    case.depth = case.depth.max(8);
    let page = case.device.geometry.page_bytes.0 / crate::stamp::SECTOR as u64;
    let hot = (u64::from(geometry.data) * page * draw.one_of(&[1, 2, 4])).min(geometry.pages() * page);
    for ask in &mut case.requests {
        ask.sectors = ask.sectors.min(hot);
        ask.sector %= hot - ask.sectors + 1;
    }
    case
}

/// The case of `seed` in which first writes wait until their row can be encoded, if they would otherwise be written
/// in place.
pub fn encoding(seed: u64) -> Case {
    let mut case = case(seed);
    let scheme = &mut case.scheme;
    let mut draw = Draw(Prng::stream(seed, 0x656E_636F));
    let is_plain = rewrites_in_place(&scheme.placement)
        && scheme.geometry.level != Raid::Raid0
        && !scheme.cache.policy.makes_parity_first();
    if is_plain {
        first_writes(&mut draw, &mut scheme.placement, FirstWrites::Encode);
        case.scheme.parity.memory_rows = 0;
        case.power_losses.clear();
    }
    case
}
