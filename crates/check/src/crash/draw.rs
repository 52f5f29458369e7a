//! Cases from seeds.

use stripewise_array::MemberNo;
use stripewise_base::prng::Prng;

use super::case::{Comeback, CrashCase, Cut, Era, Moment, PutBack, Strike};
use super::corruption::{Corruption, Target};
use super::faults::{Fault, NewFault};
use super::members::Wrong;
use super::monitor::Policy;
use super::server::FLUSH;
use super::shape::{Kind, Shape};
use super::survival::Survival;
use crate::case::{Ask, What};

/// The source of random choices for a case.
struct Draw(Prng);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.0.chance(percent, 100)
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.0.below(list.len() as u64) as usize]
    }

    fn seed(&mut self) -> u64 {
        // TOML has no unsigned numbers of 64 bits.
        self.0.next_u64() >> 1
    }
}

/// The array of a seed.
pub(crate) fn shape(seed: u64, kinds: &[Kind]) -> Shape {
    let mut draw = Draw(Prng::stream(seed, 0x7368_6170));
    let kind = draw.one_of(kinds);
    let parity = kind.parity() as u16;
    // More than twice the parity, so that any members may be absent that parity tolerates.
    let members = 2 * parity + 1 + draw.one_of(&[0, 0, 1, 1, 2, 3]);
    let groups = if draw.percent(15) { 2 } else { 1 };
    let page_bytes = draw.one_of(&[512, 512, 1024, 1024, 4096]);
    if kind.is_in_place() {
        // Superblocks, a journal of four records of the largest size, table and data.
        let data = draw.one_of(&[16, 24, 40]);
        return Shape {
            kind,
            members: members.max(3) * groups,
            page_bytes,
            pages: 2 * 4096_u32.div_ceil(page_bytes) + 132 + 4 + data,
            segment_rows: draw.one_of(&[1, 1, 2, 4]),
            groups_segments: draw.percent(50),
            wait_ns: 0,
            groups,
            window: if kind.has_window() { window(seed) } else { 0 },
        };
    }
    if kind == Kind::LogDeep {
        // Three stripes and a summary at least, so that collection gains space.
        let width = draw.one_of(&[5, 5, 7]);
        let segment_rows = 3 * u32::from(width) + 1 + draw.one_of(&[0, 0, 1, u32::from(width)]);
        return Shape {
            kind,
            members: width * groups,
            page_bytes: 4096,
            pages: 2 + 32 + segment_rows * draw.one_of(&[14, 16, 20]),
            segment_rows,
            groups_segments: draw.percent(30),
            wait_ns: draw.one_of(&[0, 0, 3_000, 20_000]),
            groups,
            window: 0,
        };
    }
    let segment_rows = draw.one_of(if parity == 1 { &[4, 4, 6, 8] } else { &[6, 6, 8, 8] });
    // Superblocks, checkpoints and commit records, and some number of segments.
    let pages = 2 * 4096_u32.div_ceil(page_bytes) + 32 + segment_rows * draw.one_of(&[16, 20, 24]);
    Shape {
        kind,
        members: members * groups,
        page_bytes,
        pages,
        segment_rows,
        groups_segments: draw.percent(30),
        wait_ns: draw.one_of(&[0, 0, 3_000, 20_000]),
        groups,
        window: 0,
    }
}

/// Number of slots of the parity window of a seed's array.
fn window(seed: u64) -> u32 {
    Draw(Prng::stream(seed, 0x7769_6e64)).one_of(&[1, 2, 3, 5, 8, 20])
}

/// The case of a seed, for an array of `sectors` sectors.
pub(crate) fn case(seed: u64, shape: Shape, sectors: u64) -> CrashCase {
    let mut draw = Draw(Prng::stream(seed, 0x6372_6173));
    let mut lost = 0u64;
    let eras = 1 + draw.one_of(&[0, 1, 1, 2, 2, 3]);
    // Most requests go to a few pages, so that versions of a page compete.
    let page = u64::from(shape.page_bytes) / 512;
    let window = if draw.percent(60) { (draw.one_of(&[2, 4, 12]) * page).min(sectors) } else { sectors };
    let from = draw.below(sectors - window + 1) / page * page;
    let mut all = Vec::new();
    for nth in 0..eras {
        let mut era = Era { depth: draw.one_of(&[1, 1, 2, 4, 8]), ..Era::calm() };
        let count = draw.one_of(&[4, 8, 8, 16, 16, 32, 60, 200]);
        let count = if nth == 0 { count } else { count.min(16) };
        era.asks = (0..count).map(|_| ask(&mut draw, from, window, page)).collect();
        era.keep = match draw.below(10) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            _ => Survival::Seed(draw.seed()),
        };
        era.crash = draw.percent(90).then(|| draw.below(12 * count + 20));
        era.twice = draw.percent(25);
        if draw.percent(35) {
            let cut = |draw: &mut Draw| {
                let (after, seed) = (draw.below(80), draw.seed());
                // Derived from the same number: another draw would change the lives of all seeds.
                Cut { after, keep: Survival::Seed(seed), is_whole: seed >> 40 & 1 != 0 }
            };
            era.cuts = (0..draw.one_of(&[1, 1, 2])).map(|_| cut(&mut draw)).collect();
        }
        // Lost members may stay absent, return with outdated content, or be added to the array again.
        era.absent = MemberNo::first(shape.members.into())
            .filter(|member| member.is_in(lost) && draw.percent(50))
            .collect();
        let parity = shape.kind.parity();
        while lost.count_ones() < parity && draw.percent(if nth == 0 { 10 } else { 35 }) {
            let member = MemberNo::at(draw.below(shape.members.into()) as usize);
            if !member.is_in(lost) {
                lost |= member.bit();
                era.absent.push(member);
            }
        }
        if lost.count_ones() < parity && draw.percent(20) {
            let member = MemberNo::at(draw.below(shape.members.into()) as usize);
            let event = draw.below(8 * count + 1);
            if !member.is_in(lost) {
                lost |= member.bit();
                let wrong =
                    draw.one_of(if shape.kind.has_checksums() { &Wrong::ALL[..] } else { &Wrong::REPORTED });
                era.strikes.push(Strike { event, member, wrong, choice: draw.seed() });
            }
        }
        for member in MemberNo::first(shape.members.into()) {
            if member.is_in(lost) && draw.percent(30) {
                let (event, is_another) = (draw.below(8 * count + 1), draw.percent(50));
                era.comebacks.push(Comeback { event, member, is_another, is_older: false });
                // The rebuild may be complete before the next loss; the scenario determines whether it is.
                lost &= if draw.percent(60) { !member.bit() } else { u64::MAX };
            }
        }
        if draw.percent(15) {
            era.scrubs.push(draw.below(8 * count + 1));
        }
        all.push(era);
    }
    past(seed, &shape, &mut all);
    kills(seed, &mut all);
    all.splice(..0, full(seed, &shape, sectors));
    let mends = draw.percent(50);
    // A separate random stream, so that the earlier choices of each seed did not change when corruption was added.
    let mut draw = Draw(Prng::stream(seed, 0x7275_696E));
    let corruption = draw
        .percent(12)
        .then(|| Corruption { target: draw.one_of(Target::of(shape.kind)), choice: draw.seed() });
    audits(seed, &mut all);
    let policy = policy(seed, &shape, &mut all);
    CrashCase { seed, shape, eras: all, mends, corruption, fault: None, policy }
}

/// Lets the oracle look at some arrays while they serve; from a separate random stream, as [`past`].
fn audits(seed: u64, eras: &mut [Era]) {
    let mut draw = Draw(Prng::stream(seed, 0x6175_6469));
    for era in eras {
        let events = 8 * era.asks.len() as u64 + 1;
        era.audits = (0..draw.one_of(&[0, 0, 1, 2])).map(|_| draw.below(events)).collect();
        era.audits.sort_unstable();
        era.halts = era.stops && draw.percent(60);
        if era.halts && draw.percent(50) {
            // A scrub is likely to be in progress then.
            let end = era.crash.unwrap_or(events);
            era.scrubs.push(end.saturating_sub(draw.below(60)));
        }
    }
}

/// The error limit and the spares of some arrays; from a separate random stream, as [`past`]. In one of their eras a member
/// has unreadable pages, and a scrub finds them.
fn policy(seed: u64, shape: &Shape, eras: &mut [Era]) -> Option<Policy> {
    let mut draw = Draw(Prng::stream(seed, 0x6c69_6d69));
    let policy = Policy { error_limit: draw.one_of(&[0, 1, 3, 8]), spares: draw.one_of(&[0, 1, 1, 2]) };
    if !draw.percent(30) || policy == Policy::default() {
        return None;
    }
    if policy.error_limit > 0 {
        let nth = draw.below(eras.len() as u64) as usize;
        let (event, member) =
            (draw.below(8 * eras[nth].asks.len() as u64 + 1), draw.below(shape.members.into()));
        let wrong = Wrong::Unreadable;
        eras[nth].strikes.push(Strike {
            event,
            member: MemberNo::at(member as usize),
            wrong,
            choice: draw.seed(),
        });
        eras[nth].scrubs.push(event + draw.below(8));
    }
    Some(policy)
}

/// The new fault of a seed: one of `kinds` that an array of this kind can have, in `percent` of all seeds.
pub(super) fn fault(seed: u64, kind: Kind, kinds: &[Fault], percent: u64) -> Option<NewFault> {
    let mut draw = Draw(Prng::stream(seed, 0x6661_756c));
    let possible: Vec<Fault> = kinds.iter().copied().filter(|fault| fault.strikes(kind)).collect();
    let is_struck = !possible.is_empty() && draw.percent(percent);
    is_struck.then(|| NewFault { kind: draw.one_of(&possible), choice: draw.seed() })
}

/// Corruption of `target` for the life of a seed, independent of its other choices.
pub(super) fn corruption(seed: u64, target: Target) -> Corruption {
    Corruption { target, choice: Draw(Prng::stream(seed, 0x7275_696F)).seed() }
}

/// Adds rollbacks to the eras of a life, from a separate random stream, so that the earlier choices of each seed do
/// not change.
fn past(seed: u64, shape: &Shape, eras: &mut [Era]) {
    let mut draw = Draw(Prng::stream(seed, 0x7061_7374));
    let mut remembered: Vec<MemberNo> = Vec::new();
    for era in eras {
        let events = 8 * era.asks.len() as u64 + 1;
        if draw.percent(40) && !remembered.is_empty() {
            era.older.push(PutBack { member: draw.one_of(&remembered), choice: draw.seed() });
        }
        for _ in 0..draw.one_of(&[0, 1, 2, 4]) {
            let member = MemberNo::at(draw.below(shape.members.into()) as usize);
            era.moments.push(Moment { event: draw.below(events), member });
        }
        for one in &mut era.comebacks {
            one.is_older = draw.percent(60);
            // The member may have been absent from the beginning of the era; then a snapshot of an earlier era is
            // used.
            let event = draw.below(one.event + 1);
            era.moments.extend(one.is_older.then_some(Moment { event, member: one.member }));
        }
        era.stops = draw.percent(20);
        if shape.kind.has_checksums() && draw.percent(12) {
            let (event, choice) = (draw.below(events), draw.seed());
            let member = MemberNo::at(draw.below(shape.members.into()) as usize);
            era.moments.push(Moment { event: draw.below(event + 1), member });
            era.strikes.push(Strike { event, member, wrong: Wrong::RolledBack, choice });
        }
        remembered.extend(era.moments.iter().map(|moment| moment.member));
    }
}

/// Lets some eras and assemblies end with a kill of the server instead of a loss of power; from a separate random stream,
/// as [`past`].
fn kills(seed: u64, eras: &mut [Era]) {
    let mut draw = Draw(Prng::stream(seed, 0x6B69_6C6C));
    if !draw.percent(40) {
        return;
    }
    for era in eras {
        for keep in era.cuts.iter_mut().map(|cut| &mut cut.keep).chain([&mut era.keep]) {
            let seed = draw.seed();
            if draw.percent(50) {
                *keep = Survival::Killed(seed);
            }
        }
        if draw.percent(30) {
            // What a killed assembly has written is not durable when the next one loses power.
            for keep in [Survival::Killed(draw.seed()), Survival::Seed(draw.seed())] {
                era.cuts.push(Cut { after: draw.below(80), keep, is_whole: draw.percent(50) });
            }
        }
    }
}

/// In some lives of arrays with deep stripes, an era before all others that fills the array and overwrites it page by page,
/// with a flush after each write, after some or after none: the shortest stripes, which take three rows for a page, or pages
/// that wait for a whole segment. From a separate random stream, as [`past`].
fn full(seed: u64, shape: &Shape, sectors: u64) -> Option<Era> {
    let mut draw = Draw(Prng::stream(seed, 0x6675_6c6c));
    if shape.kind != Kind::LogDeep || !draw.percent(30) {
        return None;
    }
    let page = u64::from(shape.page_bytes) / 512;
    let write = |first: u64, sectors: u64| Ask { gap_ns: 0, what: What::Write, sector: first, sectors };
    let most = page * draw.one_of(&[1, 4, 8]);
    let fill = (0..sectors).step_by(most as usize).map(|first| write(first, most.min(sectors - first)));
    let mut asks: Vec<Ask> = fill.collect();
    let every = draw.one_of(&[1, 1, 4, u64::MAX]);
    for nth in 1..=draw.one_of(&[30, 60, 120]) {
        asks.push(write(draw.below(sectors / page) * page, page));
        asks.extend((nth % every == 0).then_some(FLUSH));
    }
    Some(Era { asks, depth: draw.one_of(&[1, 1, 4]), ..Era::calm() })
}

fn ask(draw: &mut Draw, from: u64, window: u64, page: u64) -> Ask {
    let what = match draw.below(100) {
        0..60 => What::Write,
        60..70 => What::Trim,
        70..76 => What::Read,
        _ => What::Flush,
    };
    if what == What::Flush {
        return Ask { gap_ns: 0, what, sector: 0, sectors: 0 };
    }
    let whole = page > 1 && (what == What::Trim || draw.percent(70));
    let grain = if whole { page } else { 1 };
    let most = (window / grain).clamp(1, 9);
    let sectors = grain * if draw.percent(70) { 1 } else { 1 + draw.below(most) };
    let sectors = sectors.min(window);
    let sector = from + draw.below((window - sectors) / grain + 1) * grain;
    Ask { gap_ns: 0, what, sector, sectors }
}
