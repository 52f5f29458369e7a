//! The array: its members, and the sections of its scheme.

use stripewise_array::cache::{CachePolicy, CacheSection, Count, Frees, WaitsFor};
use stripewise_array::coordination::{CoordinationPolicy, CoordinationSection, Start, Trigger, Turn, When};
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::geometry::{Level as Raid, Membership, Rotation};
use stripewise_array::placement::{Commit, FirstWrites, ParityLoggingSection, Placement};
use stripewise_array::update::{Tgc, Tie, Update, Weights};
use stripewise_array::{Acknowledge, EachMember, Persistence, Scheme, WindowSize};
use stripewise_base::prng::Prng;
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::Kind;
use stripewise_flash::Level;
use stripewise_sim::Layout;

use super::draw::Draw;

/// Redundancy, number of members, number of groups.
pub(super) fn array(draw: &mut Draw) -> (Raid, u32, u32) {
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
pub(super) fn membership(seed: u64, raid: Raid, groups: u32) -> Membership {
    let is_apart = Draw(Prng::stream(seed, 0x6C63_6921)).percent(50);
    if is_apart && raid != Raid::Raid0 && groups > 1 {
        Membership::LongestCodeInterval
    } else {
        Membership::Contiguous
    }
}

/// Members as devices, or as channels or chips of the smallest possible number of devices.
pub(super) fn layout(draw: &mut Draw, members: u32) -> Layout {
    let level = draw.one_of(&[Level::Ssd, Level::Channel, Level::Chip]);
    layout_of(draw, level, members)
}

/// Members of `level`.
pub(crate) fn layout_of(draw: &mut Draw, level: Level, members: u32) -> Layout {
    let divisors: Vec<u32> = (1..=members).filter(|&count| members.is_multiple_of(count)).collect();
    let devices = if level == Level::Ssd { members } else { draw.one_of(&divisors) };
    Layout { level, devices }
}

pub(super) fn scheme(draw: &mut Draw, raid: Raid, members: u32, groups: u32, page_bytes: u64) -> Scheme {
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
    scheme.dispatch.order = match draw.0.below(100) {
        0..60 => QueueOrder::ReadFirst,
        60..85 => QueueOrder::Arrival,
        _ => QueueOrder::CLook,
    };
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

/// Permission to collect garbage, from a separate random stream.
pub(super) fn coordination(seed: u64, raid: Raid) -> CoordinationSection {
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
        when: draw.one_of(&[When::Always, When::Always, When::Buffered]),
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
pub(super) fn cache(draw: &mut Draw) -> CacheSection {
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
        let policy = given.unwrap_or_else(|| draw.one_of(&policies));
        let has_units = policy != CachePolicy::Isc;
        let waits_for = draw.one_of(&[WaitsFor::NoStrip, WaitsFor::Busy]);
        let frees = draw.one_of(&[Frees::Group, Frees::Page]);
        let count = draw.one_of(&[Count::Entries, Count::Pages]);
        return CacheSection {
            policy,
            waits_for: if policy == CachePolicy::Siw { waits_for } else { WaitsFor::default() },
            frees: if has_units { frees } else { Frees::default() },
            count: if has_units { count } else { Count::default() },
            reads_pass: draw.one_of(&[true, false]),
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
pub(crate) fn parity_logging_section(draw: &mut Draw, page_bytes: u64) -> ParityLoggingSection {
    let pages = draw.one_of(&[0, 1, 2, 3, 5, 8]);
    let percent = |percent: u32| Share(percent * 10_000);
    let (high, low) = draw.one_of(&[(75, 50), (75, 50), (0, 0), (100, 0), (50, 50), (20, 10)]);
    ParityLoggingSection {
        capacity: (pages > 0).then_some(Bytes(page_bytes * pages)),
        row_deltas: draw.one_of(&[1, 2, 3, 16]),
        commit: draw.one_of(&[Commit::Watermark, Commit::Watermark, Commit::Never]),
        high_watermark: percent(high),
        low_watermark: percent(low),
        commits: draw.one_of(&[1, 2, 4]),
    }
}
