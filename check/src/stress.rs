//! The stress test: draws from one seed a small array over a small device, colliding requests, and faults.
//!
//! Every value is drawn from the whole range of its axis, with preference for small and odd values: controllers fail
//! with full queues, with contended rows, and with blocks that must be collected at every other write.

mod dispatching;
pub(crate) mod elastic;
pub(crate) mod power;
pub(crate) mod reading;
pub(crate) mod zones;

use stripewise_array::cache::{CachePolicy, CacheSection};
use stripewise_array::coordination::{CoordinationPolicy, CoordinationSection, Start, Trigger, Turn};
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::geometry::{Geometry, Level as Raid, Membership, Rotation};
use stripewise_array::placement::{Commit, FirstWrites, LogSection, Persistence, Placement, PlacementPolicy};
use stripewise_array::update::{Tgc, Tie, Update, Weights};
use stripewise_array::{Acknowledge, EachMember, Scheme, WindowSize};
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::Kind;
use stripewise_flash::Level;
use stripewise_sim::Layout;

use crate::case::{Ask, Case, Loss, What};
use crate::device;
use crate::media::{Faults, Manner};

/// The source of random choices.
pub(crate) struct Draw(pub(crate) Prng);

impl Draw {
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.0.chance(percent, 100)
    }
}

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
            dispatching::dispatch(seed, &mut case.scheme);
            case.scheme.coordination = coordination(seed, case.scheme.geometry.level);
            late_answers(&mut Draw(Prng::stream(seed, 0x6C61_7465)), &mut case.faults);
            case.scheme.read = reading::reading(seed, case.scheme.geometry.level);
            slow_members(&mut Draw(Prng::stream(seed, 0x736c_6f77)), &mut case.faults);
            power::power(seed, &mut case);
            return case;
        }
    }
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
        tells_nothing: false,
        volatile_members: false,
        power_losses: Vec::new(),
        faults: Faults::default(),
        losses: Vec::new(),
        requests: Vec::new(),
        scheme,
        device,
    };
    let mut log = log;
    if let Some(log) = &mut log {
        case.scheme.log = log_section(log, page_bytes);
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
        log_losses(log, &geometry, case.requests.len() as u64, &mut case.losses);
    }
    Some(case)
}

/// Redundancy, number of members, number of groups.
fn array(draw: &mut Draw) -> (Raid, u32, u32) {
    if draw.percent(15) {
        let members = draw.between(1, 9) as u32;
        let groups = if members.is_multiple_of(2) && draw.percent(30) { 2 } else { 1 };
        return (Raid::Raid0, members, groups);
    }
    if draw.percent(40) {
        let (members, groups) =
            draw.one_of(&[(4, 1), (4, 1), (5, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (8, 2), (12, 3)]);
        return (Raid::Raid6, members, groups);
    }
    let (members, groups) = draw.one_of(&[
        (3, 1),
        (3, 1),
        (4, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (9, 1),
        (6, 2),
        (8, 2),
        (9, 3),
    ]);
    (Raid::Raid5, members, groups)
}

/// The membership of groups, if there is a choice.
fn membership(seed: u64, raid: Raid, groups: u32) -> Membership {
    let is_apart = Draw(Prng::stream(seed, 0x6C63_6921)).percent(50);
    if is_apart && raid != Raid::Raid0 && groups > 1 {
        Membership::LongestCodeInterval
    } else {
        Membership::Contiguous
    }
}

/// Members as devices, or as channels or chips of the smallest possible number of devices.
fn layout(draw: &mut Draw, members: u32) -> Layout {
    let level = draw.one_of(&[Level::Ssd, Level::Channel, Level::Chip]);
    layout_of(draw, level, members)
}

/// Members of `level`.
pub(crate) fn layout_of(draw: &mut Draw, level: Level, members: u32) -> Layout {
    let divisors: Vec<u32> = (1..=members).filter(|&count| members.is_multiple_of(count)).collect();
    let devices = if level == Level::Ssd { members } else { draw.one_of(&divisors) };
    Layout { level, devices }
}

fn scheme(draw: &mut Draw, raid: Raid, members: u32, groups: u32, page_bytes: u64) -> Scheme {
    let mut scheme = Scheme::from_toml("storm", "name = \"storm\"").expect("all but the name has a default");
    let geometry = &mut scheme.geometry;
    geometry.level = raid;
    geometry.groups = groups;
    geometry.chunk = Some(Bytes(page_bytes * draw.one_of(&[1, 1, 2, 3, 4])));
    geometry.rotation = draw.one_of(&[
        Rotation::LeftSymmetric,
        Rotation::LeftAsymmetric,
        Rotation::RightSymmetric,
        Rotation::RightAsymmetric,
        Rotation::None,
    ]);
    geometry.rotate_every = draw.one_of(&[1, 1, 2, 5]);
    if raid == Raid::Raid6 {
        scheme.code.kind = draw.one_of(&[None, Some(Kind::Pq), Some(Kind::Rdp), Some(Kind::Evenodd)]);
        scheme.code.prime = prime(draw, scheme.code.kind);
    }
    scheme.update = draw.one_of(&[
        Update::Baseline { tie: Tie::Rmw },
        Update::Baseline { tie: Tie::Rcw },
        Update::AlwaysRmw {},
        Update::AlwaysRcw {},
        Update::Bpu { weights: Weights::Published },
        Update::Bpu { weights: Weights::Scaled },
        Update::Adaptive { tgc: Tgc::Average },
        Update::Adaptive { tgc: Tgc::Remaining },
    ]);
    if draw.percent(35) {
        first_writes(draw, &mut scheme.placement, FirstWrites::Gather);
    }
    bounds(draw, &mut scheme);
    if raid != Raid::Raid0 {
        scheme.parity.acknowledge = draw.one_of(&[Acknowledge::AfterParity, Acknowledge::AfterData]);
        if draw.percent(50) {
            window(draw, &mut scheme, members / groups);
        }
    }
    scheme
}

/// The prime of a code, if the code has one.
pub(crate) fn prime(draw: &mut Draw, kind: Option<Kind>) -> Option<u32> {
    let has_prime = matches!(kind, Some(Kind::Rdp | Kind::Evenodd));
    if has_prime { draw.one_of(&[None, Some(17), Some(257)]) } else { None }
}

/// The treatment of first writes, if they wait in memory.
pub(crate) fn first_writes(draw: &mut Draw, placement: &mut Placement, first_writes: FirstWrites) {
    placement.first_writes = first_writes;
    let wait = Span(draw.one_of(&[0, 1, 50_000, 3_000_000]));
    match first_writes {
        FirstWrites::Encode => placement.encode_wait = wait,
        FirstWrites::InPlace | FirstWrites::Gather => placement.gather_wait = wait,
    }
    memory(draw, placement);
}

/// Controller memory.
pub(crate) fn memory(draw: &mut Draw, placement: &mut Placement) {
    placement.buffer_latency = Span(draw.one_of(&[0, 1_000, 100_000]));
    placement.buffer_persistence = draw.one_of(&[Persistence::Persistent, Persistence::Volatile]);
}

/// Small queues, and the time of parity computation.
pub(crate) fn bounds(draw: &mut Draw, scheme: &mut Scheme) {
    scheme.dispatch.order = if draw.percent(60) { QueueOrder::ReadFirst } else { QueueOrder::Arrival };
    scheme.dispatch.lookahead = draw.one_of(&[1, 2, 64]);
    scheme.queues.requests = draw.one_of(&[1, 2, 3, 4, 8, 64]);
    scheme.queues.plans = draw.one_of(&[1, 2, 3, 5, 16, 64]);
    scheme.parity.xor = Span(draw.one_of(&[0, 0, 1, 5_000, 300_000]));
}

/// A parity window over groups of `columns` members.
pub(crate) fn window(draw: &mut Draw, scheme: &mut Scheme, columns: u32) {
    let chunks = WindowSize::Chunks;
    let each = WindowSize::Members(EachMember::Members);
    scheme.parity.window = draw.one_of(&[chunks(1), chunks(2), chunks(5), chunks(16), each]);
    scheme.parity.idle = Span(draw.one_of(&[0, 20_000, 1_000_000, 10_000_000]));
    scheme.queues.plans = scheme.queues.plans.max(columns);
}

/// The case of `seed` in which first writes wait until their row can be encoded, if they would otherwise be written
/// in place.
pub fn encoding(seed: u64) -> Case {
    let mut case = case(seed);
    let scheme = &mut case.scheme;
    let mut draw = Draw(Prng::stream(seed, 0x656E_636F));
    let is_plain = scheme.placement.policy == PlacementPolicy::InPlace
        && scheme.placement.first_writes == FirstWrites::InPlace
        && scheme.geometry.level != Raid::Raid0
        && !scheme.cache.policy.makes_parity_first();
    if is_plain {
        first_writes(&mut draw, &mut scheme.placement, FirstWrites::Encode);
        case.power_losses.clear();
    }
    case
}

/// Permission to collect garbage, from a separate random stream.
fn coordination(seed: u64, raid: Raid) -> CoordinationSection {
    let mut draw = Draw(Prng::stream(seed, 0x7475_726E));
    if raid == Raid::Raid0 || !draw.percent(30) {
        let mut draw = Draw(Prng::stream(seed, 0x676C_6F62));
        return if draw.percent(25) { global(&mut draw) } else { CoordinationSection::default() };
    }
    rotating(&mut draw)
}

/// Rotating permission.
pub(crate) fn rotating(draw: &mut Draw) -> CoordinationSection {
    CoordinationSection {
        policy: CoordinationPolicy::Rotating,
        turn: draw.one_of(&[Turn::Token, Turn::Window]),
        window: Span(draw.one_of(&[1_000_000, 10_000_000])),
        ahead: draw.one_of(&[0, 1, 3]),
        ..CoordinationSection::default()
    }
}

/// Global collection.
pub(crate) fn global(draw: &mut Draw) -> CoordinationSection {
    let start = draw.one_of(&[Start::Reactive, Start::Proactive]);
    let default = CoordinationSection::default();
    let (trigger, idle) = match start {
        Start::Reactive => (default.trigger, default.idle),
        Start::Proactive => (
            draw.one_of(&[Trigger::Idle, Trigger::SoftLimit]),
            Span(draw.one_of(&[1_000, 10_000, 1_000_000])),
        ),
    };
    let (margin, blocks) = (Share(draw.one_of(&[0, 10_000, 200_000])), draw.one_of(&[1, 1, 2, 100]));
    CoordinationSection {
        policy: CoordinationPolicy::Global,
        start,
        trigger,
        idle,
        margin,
        blocks,
        ..default
    }
}

/// A write cache: often none, often smaller than one or two stripes. Sizes are in pages.
fn cache(draw: &mut Draw) -> CacheSection {
    if draw.percent(30) { cache_of(draw, None) } else { CacheSection::default() }
}

/// A write cache of the given policy, or of any.
pub(crate) fn cache_of(draw: &mut Draw, given: Option<CachePolicy>) -> CacheSection {
    let persistence = draw.one_of(&[Persistence::Persistent, Persistence::Volatile]);
    let latency = Span(draw.one_of(&[0, 1_000, 100_000]));
    let has_size = match given {
        Some(policy) => policy != CachePolicy::ParityCaching,
        None => draw.percent(70),
    };
    if has_size {
        let policies =
            [CachePolicy::Isc, CachePolicy::Wow, CachePolicy::Stow, CachePolicy::Siw, CachePolicy::Hybrid];
        let (low, high) = draw.one_of(&[(80, 90), (80, 90), (0, 0), (0, 100), (100, 100), (50, 50)]);
        return CacheSection {
            policy: given.unwrap_or_else(|| draw.one_of(&policies)),
            size: Bytes(draw.one_of(&[1, 2, 3, 5, 8, 13, 40, 1000])),
            low_threshold: Share(low * 10_000),
            high_threshold: Share(high * 10_000),
            outstanding: draw.one_of(&[1, 2, 20]),
            strips: draw.one_of(&[1, 2, 5]),
            sync_wait: Span(draw.one_of(&[0, 100_000, 5_000_000])),
            striping: Span(draw.one_of(&[0, 10_000])),
            persistence,
            latency,
            ..CacheSection::default()
        };
    }
    CacheSection {
        policy: CachePolicy::ParityCaching,
        chunks: draw.one_of(&[1, 1, 2, 3, 5, 8, 20, 1000]),
        destaging: draw.one_of(&[None, Some(1), Some(4), Some(1000)]),
        persistence,
        latency,
        ..CacheSection::default()
    }
}

/// A write cache whose size was drawn in pages.
pub(crate) fn in_bytes(cache: CacheSection, page_bytes: u64) -> CacheSection {
    match cache.policy {
        CachePolicy::None | CachePolicy::ParityCaching => cache,
        _ => CacheSection { size: Bytes(cache.size.0 * page_bytes), ..cache },
    }
}

/// A log of a few slots, or of all available ones.
pub(crate) fn log_section(draw: &mut Draw, page_bytes: u64) -> LogSection {
    let pages = draw.one_of(&[0, 1, 2, 3, 5, 8]);
    let percent = |percent: u32| Share(percent * 10_000);
    let (high, low) = draw.one_of(&[(75, 50), (75, 50), (0, 0), (100, 0), (50, 50), (20, 10)]);
    LogSection {
        capacity: (pages > 0).then_some(Bytes(page_bytes * pages)),
        row_deltas: draw.one_of(&[1, 2, 3, 16]),
        commit: draw.one_of(&[Commit::Watermark, Commit::Watermark, Commit::Never]),
        high_watermark: percent(high),
        low_watermark: percent(low),
        commits: draw.one_of(&[1, 2, 4]),
    }
}

/// The characteristics of requests.
struct Manners {
    /// The places to which most requests go: first sector and length of each.
    hot: Vec<(u64, u64)>,
    hot_percent: u64,
    /// In percent: writes, trims, flushes; all other requests are reads.
    weights: [u64; 3],
    /// Percentage of requests that follow the previous one at once.
    burst_percent: u64,
    gap_ns: u64,
    page: u64,
    stripe: u64,
    sectors: u64,
}

/// Requests over `pages` pages of `page` sectors each; their number is one of `counts`.
pub(crate) fn requests(
    draw: &mut Draw,
    geometry: &Geometry,
    pages: u64,
    page: u64,
    counts: &[u64],
) -> Vec<Ask> {
    let sectors = pages * page;
    let stripe = u64::from(geometry.data) * u64::from(geometry.chunk_pages) * page;
    let hot = (0..draw.between(1, 3))
        .map(|_| {
            let length = draw.one_of(&[page, stripe, 2 * stripe]).min(sectors);
            (draw.between(0, sectors - length), length)
        })
        .collect();
    let manners = Manners {
        hot,
        hot_percent: draw.one_of(&[0, 50, 80, 95]),
        weights: [draw.one_of(&[20, 50, 50, 80]), draw.one_of(&[0, 0, 3, 10]), draw.one_of(&[0, 0, 2, 6])],
        burst_percent: draw.one_of(&[0, 50, 90, 100]),
        gap_ns: draw.one_of(&[1_000, 100_000, 2_000_000]),
        page,
        stripe,
        sectors,
    };
    let count = draw.one_of(counts);
    (0..count).map(|_| request(draw, &manners)).collect()
}

fn request(draw: &mut Draw, manners: &Manners) -> Ask {
    let Manners { page, stripe, sectors, .. } = *manners;
    let gap_ns = if draw.percent(manners.burst_percent) { 0 } else { draw.between(1, manners.gap_ns) };
    let kind = draw.between(0, 99);
    let [writes, trims, flushes] = manners.weights;
    let what = if kind < writes {
        What::Write
    } else if kind < writes + trims {
        What::Trim
    } else if kind < writes + trims + flushes {
        return Ask { gap_ns, what: What::Flush, sector: 0, sectors: 0 };
    } else {
        What::Read
    };
    let (from, room) =
        if draw.percent(manners.hot_percent) { draw.one_of(&manners.hot) } else { (0, sectors) };
    let (grain, most) = match draw.between(0, 9) {
        // Any sectors of a page or two; whole pages; whole stripes; anything.
        0..=3 => (1, 2 * page),
        4..=6 => (page, stripe),
        7..=8 => (stripe, 3 * stripe),
        _ => (1, 3 * stripe),
    };
    // Trims that cover no whole stripe have no effect.
    let (grain, most) =
        if what == What::Trim && draw.percent(70) { (stripe, 2 * stripe) } else { (grain, most) };
    let sector = (from + draw.0.below(room)) / grain * grain;
    let length = if draw.percent(30) { grain } else { draw.between(1, most.div_ceil(grain)) * grain };
    Ask { gap_ns, what, sector, sectors: length.min(sectors - sector) }
}

pub(crate) fn faults(draw: &mut Draw) -> Faults {
    let rates = [0, 0, 1_000, 10_000, 50_000];
    Faults {
        lost_ppm: draw.one_of(&rates),
        failed_read_ppm: draw.one_of(&rates),
        corrupt_read_ppm: draw.one_of(&rates),
        ..Faults::default()
    }
}

/// Sometimes members stall: their reads and writes were done long before the controller is notified.
pub(crate) fn late_answers(draw: &mut Draw, faults: &mut Faults) {
    if draw.percent(40) {
        faults.late_ppm = draw.one_of(&[10_000, 100_000, 500_000]);
        faults.late = Span(draw.one_of(&[20_000, 500_000, 10_000_000]));
    }
}

fn slow_members(draw: &mut Draw, faults: &mut Faults) {
    if draw.percent(25) {
        faults.slow_ppm = draw.one_of(&[1_000, 20_000, 200_000]);
    }
}

/// Usually as many losses as the code tolerates in each group, sometimes more.
pub(crate) fn losses(draw: &mut Draw, geometry: &Geometry, requests: u64) -> Vec<Loss> {
    let is_beyond = draw.percent(if geometry.parity() == 0 { 30 } else { 15 });
    let mut losses = Vec::new();
    for group in 0..geometry.groups {
        let tolerable = if draw.percent(60) { geometry.parity() } else { 0 };
        let count =
            if is_beyond { draw.between(1, 3 + u64::from(geometry.parity() > 1)) as u32 } else { tolerable };
        for _ in 0..count {
            let nth = draw.0.below(u64::from(geometry.columns)) as u32;
            let member = geometry.base(group) + nth * geometry.stride;
            // Early, late, or after the end.
            let most = draw.one_of(&[20, 4, 40]) * requests;
            losses.push(Loss {
                event: draw.between(0, most),
                member: member as u16,
                manner: draw.one_of(&[Manner::Gone, Manner::Gone, Manner::Silent, Manner::FailedWrite]),
            });
        }
    }
    losses
}

/// Sometimes a log member is lost, usually instead of another member, since the code tolerates no additional loss.
pub(crate) fn log_losses(draw: &mut Draw, geometry: &Geometry, requests: u64, losses: &mut Vec<Loss>) {
    if !draw.percent(35) {
        return;
    }
    if draw.percent(85) {
        let mut others = vec![0; geometry.groups as usize];
        losses.retain(|loss| {
            let count = &mut others[geometry.group_of(loss.member.into()) as usize];
            *count += 1;
            *count < geometry.parity()
        });
    }
    losses.push(Loss {
        event: draw.between(0, 20 * requests),
        member: (geometry.members + draw.between(0, u64::from(geometry.parity()) - 1) as u32) as u16,
        manner: draw.one_of(&[Manner::Gone, Manner::Gone, Manner::Silent, Manner::FailedWrite]),
    });
}
