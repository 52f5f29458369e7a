//! Cases from combinations: the stress test with a given scheme. Everything that the combination leaves open is drawn
//! from the seed: settings of the policies, devices, sizes of queues, requests and faults.

use stripewise_array::MemberNo;
use stripewise_array::Scheme;
use stripewise_array::WindowSize;
use stripewise_array::cache::CachePolicy;
use stripewise_array::coordination::CoordinationPolicy;
use stripewise_array::dispatch::{Discipline, QueueOrder};
use stripewise_array::geometry::{Geometry, Level as Raid};
use stripewise_array::placement::{ClassBy, ElasticSection, FirstWrites};
use stripewise_array::update::{Tgc, Tie, Update, Weights};
use stripewise_base::prng::Prng;
use stripewise_base::units::Bytes;
use stripewise_code::Kind;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{GcSpan, Preemption};

use super::axes::Ability;
use super::{Combination, Space};
use crate::case::{Case, Loss};
use crate::media::{Faults, Manner};
use crate::stress::elastic::{class_keys, filling, hotness, section};
use crate::stress::{self, Draw};
use crate::{device, stamp};

/// Number of attempts to draw a device that suits the combination. About three of ten drawn devices do not.
const ATTEMPTS: u32 = 10_000;

/// The largest number of pages of an array, so that it can be filled. Logs have fewer, because each event examines
/// much of the log.
const PAGES_MAX: u64 = 2000;
const LOG_PAGES_MAX: u64 = 500;

/// The case of a combination and a seed. Even seeds lose a member while requests are in flight, if there is parity;
/// odd seeds lose power, if the scheme can restart.
///
/// # Errors
/// The array's reason for refusing the combination, or a report that no device suits it.
pub fn case(space: &Space, combination: &Combination, seed: u64) -> Result<Case, String> {
    if let Some(why) = space.why(combination) {
        return Err(why.to_string());
    }
    let number = combination.0.iter().fold(0, |number, &choice| number << 4 | u64::from(choice));
    let mut draw = Draw(Prng::stream(seed, number));
    let found = (0..ATTEMPTS).find_map(|_| attempt(space, combination, seed, &mut draw));
    found.ok_or_else(|| format!("no device in {ATTEMPTS} can be what {combination} needs"))
}

fn attempt(space: &Space, combination: &Combination, seed: u64, draw: &mut Draw) -> Option<Case> {
    let mut scheme = space.scheme(combination);
    let is_log = scheme.placement.facts().forms_stripes;
    let columns = columns(draw, &scheme);
    let members = columns * scheme.geometry.groups + scheme.parity_log_members();
    let layout = stress::scheme::layout_of(draw, combination.level(), members);
    let mut device = device::device(draw, layout, members)?;
    if is_log {
        // Segments need more space than rows.
        device.geometry.blocks = draw.between(10, 24) as u32;
    }
    if combination.preempts() || draw.percent(20) {
        preempt(draw, &mut device);
    }
    device.validate().ok()?;
    let page_bytes = device.geometry.page_bytes.0;
    settings(draw, &mut scheme, columns, page_bytes);
    let mut case = Case {
        seed,
        members: layout,
        depth: draw.one_of(&[1, 2, 4, 8, 16, 64]),
        fail_each: draw.percent(20),
        hides_old_versions: combination.ability() != Ability::Everything,
        reports_nothing: combination.ability() == Ability::Nothing,
        volatile_members: false,
        power_losses: Vec::new(),
        faults: Faults::default(),
        error_limit: None,
        losses: Vec::new(),
        requests: Vec::new(),
        scheme,
        device,
    };
    let geometry = case.geometry().ok()?;
    let (pages, page) = (case.scheme.pages(&geometry), page_bytes / stamp::SECTOR as u64);
    if geometry.rows() < 2 || pages > if is_log { LOG_PAGES_MAX } else { PAGES_MAX } {
        return None;
    }
    // Blocks must be full before any is collected. Hosts fill only part of the zones at a time.
    let times = if case.scheme.placement.facts().has_zones {
        draw.one_of(&[1, 2, 3, 4])
    } else {
        draw.one_of(&[0, 1, 1, 2])
    };
    for _ in 0..times {
        case.requests.extend(filling(draw, &geometry, pages, page));
    }
    case.requests.extend(stress::requests::requests(draw, &geometry, pages, page, &[60, 120, 200]));
    if draw.percent(40) {
        case.faults = stress::faults::faults(draw);
    }
    stress::faults::late_answers(draw, &mut case.faults);
    let requests = case.requests.len() as u64;
    case.losses = stress::faults::losses(draw, &geometry, requests);
    if case.scheme.parity_log_members() > 0 {
        stress::faults::parity_log_losses(draw, &geometry, requests, &mut case.losses);
    }
    stress::power::power(seed, &mut case);
    stress::limit::limit(seed, &mut case);
    if seed.is_multiple_of(2) {
        lose_a_member(draw, &geometry, &mut case);
    } else if case.scheme.check_restart().is_ok() && case.power_losses.is_empty() {
        case.power_losses.push(draw.between(0, 10 * requests));
    }
    Some(case)
}

/// Number of members of a group.
fn columns(draw: &mut Draw, scheme: &Scheme) -> u32 {
    if scheme.code.kind == Some(Kind::XCode) {
        return draw.one_of(&[5, 7]);
    }
    let least = match scheme.geometry.level {
        Raid::Raid0 => return draw.between(1, 6) as u32,
        Raid::Raid5 | Raid::Raid6 => 2 + scheme.geometry.level.parity(),
    };
    least + draw.one_of(if scheme.geometry.groups > 1 { &[0, 1][..] } else { &[0, 0, 1, 2, 3, 4] })
}

/// Makes the device's collection preemptive.
fn preempt(draw: &mut Draw, device: &mut DeviceSpec) {
    device.gc.preemption = draw.one_of(&[Preemption::Moves, Preemption::Phases]);
    device.gc.preemption_batch = draw.one_of(&[1, 1, 8]);
    device.gc.span = GcSpan::Steps;
    device.gc.hard_watermark = if draw.percent(30) { Some(device.gc.low_watermark) } else { None };
}

/// Draws the keys that the combination does not set.
fn settings(draw: &mut Draw, scheme: &mut Scheme, columns: u32, page_bytes: u64) {
    let facts = scheme.placement.facts();
    if !facts.forms_stripes {
        let chunk = Bytes(page_bytes * draw.one_of(&[1, 1, 2, 3, 4]));
        scheme.geometry.chunk = (!facts.has_zones).then_some(chunk);
        scheme.update = update(draw, scheme.update);
    }
    scheme.geometry.rotate_every = draw.one_of(&[1, 1, 2, 5]);
    scheme.code.prime = stress::scheme::prime(draw, scheme.code.kind);
    stress::scheme::bounds(draw, scheme);
    if scheme.parity.window != WindowSize::default() {
        stress::scheme::window(draw, scheme, columns);
    }
    match scheme.placement.first_writes {
        FirstWrites::InPlace if facts.buffers_writes => stress::scheme::memory(draw, &mut scheme.placement),
        FirstWrites::InPlace => {}
        waits => stress::scheme::first_writes(draw, &mut scheme.placement, waits),
    }
    if facts.has_zones {
        (scheme.zones, scheme.mix) = stress::zones::sections(draw, page_bytes);
    }
    if facts.logs_parity {
        scheme.parity_logging = stress::scheme::parity_logging_section(draw, page_bytes);
    }
    if facts.forms_stripes {
        let ElasticSection { buffer, classes, .. } = scheme.elastic;
        let drawn = section(draw);
        // One segment of live chunks for each tendency requires more rows than there are tendencies.
        let least = if classes == ClassBy::HotnessAndMix { classes.tendencies() + 1 } else { 0 };
        let segment_rows = drawn.segment_rows.max(least);
        scheme.elastic = ElasticSection { buffer, classes, segment_rows, ..drawn };
    }
    scheme.hotness = hotness(draw, scheme.hotness.policy, page_bytes);
    if facts.forms_stripes {
        class_keys(draw, scheme, page_bytes);
    }
    if scheme.code.kind == Some(Kind::XCode) {
        stress::elastic::deepen(draw, scheme, columns);
    }
    let state = scheme.read.state;
    scheme.read = stress::reading::keys(draw, scheme.read.policy);
    scheme.read.state = state;
    dispatch(draw, scheme);
    if scheme.cache.policy != CachePolicy::None {
        scheme.cache =
            stress::scheme::in_bytes(stress::scheme::cache_of(draw, Some(scheme.cache.policy)), page_bytes);
    }
    scheme.coordination = match scheme.coordination.policy {
        CoordinationPolicy::None => scheme.coordination,
        CoordinationPolicy::Rotating => stress::scheme::rotating(draw),
        CoordinationPolicy::Global => stress::scheme::global(draw),
    };
}

fn update(draw: &mut Draw, update: Update) -> Update {
    match update {
        Update::Baseline { .. } => Update::Baseline { tie: draw.one_of(&[Tie::Rmw, Tie::Rcw]) },
        Update::Bpu { .. } => Update::Bpu { weights: draw.one_of(&[Weights::Published, Weights::Scaled]) },
        Update::Adaptive { .. } => Update::Adaptive { tgc: draw.one_of(&[Tgc::Average, Tgc::Remaining]) },
        others => others,
    }
}

fn dispatch(draw: &mut Draw, scheme: &mut Scheme) {
    let dispatch = &mut scheme.dispatch;
    if draw.percent(30) {
        dispatch.order = QueueOrder::Rounds;
    }
    let may_bound = dispatch.policy == Discipline::Piq || !dispatch.strict;
    if dispatch.queue.is_some() || may_bound && draw.percent(50) {
        dispatch.queue = draw.one_of(&[Some(1), Some(1), Some(2), Some(5)]);
    }
    if dispatch.policy == Discipline::Piq {
        dispatch.sync = draw.percent(30);
        dispatch.overtake = draw.one_of(&[0, 1, 2, 16, 1000]);
    }
}

/// Adds the loss of a member while requests are in flight, if the case has none.
fn lose_a_member(draw: &mut Draw, geometry: &Geometry, case: &mut Case) {
    if geometry.parity() == 0 {
        return;
    }
    let event = draw.between(0, 8 * case.requests.len() as u64);
    let is_early = |loss: &Loss| loss.event <= 8 * case.requests.len() as u64;
    if case.losses.iter().any(is_early) {
        return;
    }
    match case.losses.first_mut() {
        Some(loss) => loss.event = event,
        None => {
            let member = draw.between(0, u64::from(geometry.members) - 1) as u16;
            let manner = draw.one_of(&[Manner::Gone, Manner::Silent, Manner::FailedWrite]);
            case.losses.push(Loss { event, member: MemberNo::new(member), manner });
        }
    }
}
