//! The stress test over elastic striping: segments of a few rows, so that they are collected constantly; arrays that
//! are filled to the last chunk; and all other random settings.

use stripewise_array::Scheme;
use stripewise_array::geometry::{Geometry, Level as Raid};
use stripewise_array::hotness::{HotnessPolicy, HotnessSection};
use stripewise_array::placement::PlacementPolicy;
use stripewise_array::placement::{AcknowledgeWrites, BufferUnit, ClassBy, ElasticSection, Relocations};
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::Kind;

use super::draw::Draw;
use super::faults::{faults, losses};
use super::requests::requests;
use super::scheme::{array, bounds, layout, membership, memory, prime};
use crate::case::{Ask, Case, What};
use crate::device;
use crate::media::Faults;

/// A case of elastic striping, or `None` if the drawn values contradict each other.
pub(super) fn attempt(seed: u64, draw: &mut Draw) -> Option<Case> {
    let (raid, members, groups) = array(draw);
    if raid == Raid::Raid0 {
        return None;
    }
    let layout = layout(draw, members);
    let mut device = device::device(draw, layout, members)?;
    // Segments need more space than rows.
    device.geometry.blocks = draw.between(10, 24) as u32;
    let page_bytes = device.geometry.page_bytes.0;
    device.validate().ok()?;
    let mut case = Case {
        seed,
        members: layout,
        depth: draw.one_of(&[1, 2, 4, 8, 16, 64]),
        fail_each: draw.percent(40),
        hides_old_versions: false,
        reports_nothing: false,
        volatile_members: false,
        power_losses: Vec::new(),
        faults: Faults::default(),
        error_limit: None,
        losses: Vec::new(),
        requests: Vec::new(),
        scheme: scheme(draw, raid, groups, page_bytes),
        device,
    };
    case.scheme.geometry.membership = membership(seed, raid, groups);
    classes(seed, &mut case.scheme, page_bytes);
    deep(seed, &mut case.scheme, members / groups);
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

/// Writes that fill the whole array sequentially.
pub(crate) fn filling(draw: &mut Draw, geometry: &Geometry, pages: u64, page: u64) -> Vec<Ask> {
    let data = u64::from(geometry.data);
    // The last size fills memory faster than it drains.
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
        scheme.code.prime = prime(draw, scheme.code.kind);
    }
    scheme.placement.policy = PlacementPolicy::Elastic;
    memory(draw, &mut scheme.placement);
    scheme.elastic = section(draw);
    let policy =
        draw.one_of(&[HotnessPolicy::None, HotnessPolicy::Glru, HotnessPolicy::Hca, HotnessPolicy::Direct]);
    scheme.hotness = hotness(draw, policy, page_bytes);
    bounds(draw, &mut scheme);
    scheme
}

/// Segments of a few rows.
pub(crate) fn section(draw: &mut Draw) -> ElasticSection {
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
    ElasticSection {
        segment_rows: draw.one_of(&[2, 2, 3, 4, 8]),
        buffer: draw.one_of(&[BufferUnit::Stripe, BufferUnit::Group]),
        wait: Span(draw.one_of(waits)),
        acknowledge,
        relocations: draw.one_of(&[Relocations::Apart, Relocations::Apart, Relocations::Coldest]),
        collect_above: percent(draw.one_of(&[100, 100, 90, 75, 40])),
        reserve: percent(draw.one_of(&[0, 5, 15, 40])),
        device_streams: false,
        ..ElasticSection::default()
    }
}

/// A hotness section of a policy, with the keys that it reads.
pub(crate) fn hotness(draw: &mut Draw, policy: HotnessPolicy, page_bytes: u64) -> HotnessSection {
    let mut hotness = HotnessSection { policy, ..HotnessSection::default() };
    if policy != HotnessPolicy::None {
        hotness.tiers = draw.one_of(&[1, 2, 2, 3, 4]);
        hotness.sequential_shortcut = draw.percent(50);
    }
    match hotness.policy {
        HotnessPolicy::Glru => {
            hotness.lists = draw.one_of(&[1, 4, 128]);
            hotness.items = draw.one_of(&[1, 2, 8]);
            hotness.halve_every = draw.one_of(&[0, 0, 10, 100]);
        }
        HotnessPolicy::Direct => hotness.halve_every = draw.one_of(&[0, 0, 10, 100]),
        HotnessPolicy::Hca => hotness.extent = Bytes(page_bytes * draw.one_of(&[1, 4, 16])),
        HotnessPolicy::None | HotnessPolicy::Custom => {}
    }
    hotness
}

/// The classification of chunks, and the chunk size of each class.
fn classes(seed: u64, scheme: &mut Scheme, page_bytes: u64) {
    let draw = &mut Draw(Prng::stream(seed, 0x636C_6173));
    if scheme.elastic.segment_rows > ClassBy::HotnessAndMix.tendencies() && draw.percent(50) {
        scheme.elastic.classes = ClassBy::HotnessAndMix;
    }
    class_keys(draw, scheme, page_bytes);
}

/// Sometimes stripes that are as deep as they are wide, where members allow them.
fn deep(seed: u64, scheme: &mut Scheme, width: u32) {
    let draw = &mut Draw(Prng::stream(seed, 0x6465_6570));
    if scheme.geometry.level == Raid::Raid6 && matches!(width, 5 | 7) && draw.percent(50) {
        deepen(draw, scheme, width);
    }
}

/// The keys of a scheme whose stripes are `width` rows deep: X-Code.
pub(crate) fn deepen(draw: &mut Draw, scheme: &mut Scheme, width: u32) {
    scheme.code.kind = Some(Kind::XCode);
    scheme.code.prime = None;
    scheme.elastic.chunks.clear();
    let stripes =
        draw.one_of(&[1, 1, 2, 3]) + u32::from(scheme.elastic.classes == ClassBy::HotnessAndMix) * 3;
    // Rows that are too few for a stripe stay empty.
    scheme.elastic.segment_rows = width * stripes + draw.one_of(&[0, 0, 1, 4]);
}

/// The keys of the scheme's kind of classes.
pub(crate) fn class_keys(draw: &mut Draw, scheme: &mut Scheme, page_bytes: u64) {
    let tiers = scheme.tiers();
    let elastic = &mut scheme.elastic;
    let rows = u64::from(elastic.segment_rows);
    let is_mixed = elastic.classes == ClassBy::HotnessAndMix;
    if is_mixed {
        elastic.block = Bytes(page_bytes * draw.one_of(&[1, 2, 8]));
        scheme.mix.history = draw.one_of(&[1, 2, 4, 8]);
    }
    if draw.percent(60) {
        let classes = if is_mixed { elastic.classes.tendencies() } else { tiers };
        let chunk = |_| Bytes(page_bytes * draw.one_of(&[1, 2, 3, 8]).min(rows));
        elastic.chunks = (0..classes).map(chunk).collect();
    }
}
