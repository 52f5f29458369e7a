//! Small cases for which every crash is tried: at each time, with each combination of unflushed writes (a sample if
//! there are too many) and each set of lost members; and at each time of the following assembly.

use stripewise_array::MemberNo;

use super::Broken;
use super::case::{CrashCase, Cut, Era};
use super::counts::Counts;
use super::scenario::Scenario;
use super::server::{FLUSH, Server};
use super::shape::{Kind, Shape, sets};
use super::survival::{Survival, states};
use super::system_under_test::SystemUnderTest;
use crate::case::{Ask, What};

/// The requests for which every crash is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Writes of a few pages, a flush, and overwrites of some of them.
    Overwrite,
    /// A trim of flushed pages, and a flush of the trim.
    Trim,
    /// Several concurrent requests, one of them a flush.
    Together,
    /// Writes of parts of pages.
    Parts,
    /// Overwrites of a full array.
    Full,
}

impl Script {
    /// All scripts.
    pub const ALL: [Self; 5] = [Self::Overwrite, Self::Trim, Self::Together, Self::Parts, Self::Full];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Trim => "trim",
            Self::Together => "together",
            Self::Parts => "parts",
            Self::Full => "full",
        }
    }

    /// The preceding requests, all flushed.
    fn before(self, page: u64, sectors: u64) -> Vec<Ask> {
        match self {
            Self::Trim | Self::Parts => vec![write(0, 4 * page), FLUSH],
            Self::Full => (0..sectors / page).map(|at| write(at * page, page)).chain([FLUSH]).collect(),
            _ => Vec::new(),
        }
    }

    fn asks(self, page: u64, sectors: u64) -> Vec<Ask> {
        match self {
            Self::Overwrite => {
                vec![write(0, 3 * page), FLUSH, write(page, page), write(0, page), FLUSH, write(page, page)]
            }
            Self::Trim => vec![trim(0, 2 * page), FLUSH, write(page, page), trim(page, 3 * page), FLUSH],
            Self::Together => {
                vec![write(0, page), write(page, page), FLUSH, write(0, page), write(2 * page, page), FLUSH]
            }
            Self::Parts => {
                vec![
                    write(0, 1),
                    write(page, 1),
                    write(2 * page - 1, 2),
                    FLUSH,
                    write(0, page),
                    write(0, 1),
                    FLUSH,
                ]
            }
            Self::Full => {
                let pages = sectors / page;
                let some = (0..pages / 2).map(|nth| write(nth * 7 % pages * page, page));
                let flushed = some.flat_map(|one| [Some(one), (one.sector % 5 == 0).then_some(FLUSH)]);
                flushed.flatten().chain([FLUSH]).collect()
            }
        }
    }

    fn depth(self) -> u32 {
        match self {
            Self::Together => 3,
            Self::Full => 4,
            _ => 1,
        }
    }
}

impl std::str::FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|script| script.name()).collect();
        let found = Self::ALL.into_iter().find(|script| script.name() == text);
        found.ok_or_else(|| format!("no such script; there are {}", names.join(", ")))
    }
}

fn write(sector: u64, sectors: u64) -> Ask {
    Ask { gap_ns: 0, what: What::Write, sector, sectors }
}

fn trim(sector: u64, sectors: u64) -> Ask {
    Ask { gap_ns: 0, what: What::Trim, sector, sectors }
}

/// How much of an enumeration is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The largest number of combinations of sectors tried at one time.
    pub states: u64,
    /// Only every Nth time is tried.
    pub every: u64,
    /// Only every Nth time of an assembly is tried.
    pub cuts: u64,
}

impl Effort {
    /// The complete enumeration.
    pub const ALL: Self = Self { states: 1 << 12, every: 1, cuts: 1 };
}

/// The smallest array of a kind.
pub(crate) fn shape(kind: Kind) -> Shape {
    if kind.is_in_place() {
        return Shape {
            kind,
            members: if kind.parity() == 2 { 5 } else { 3 },
            page_bytes: 512,
            pages: 156,
            segment_rows: 1,
            groups_segments: false,
            wait_ns: 0,
            groups: 1,
            // Deferred parity takes part in every crash, and so do the writes that make it due.
            window: if kind.has_window() { 2 } else { 0 },
        };
    }
    if kind == Kind::LogDeep {
        // A summary of a stripe of 25 chunks takes more than 512 bytes.
        return Shape {
            kind,
            members: 5,
            page_bytes: 1024,
            pages: 40 + 24 * 12,
            segment_rows: 24,
            groups_segments: false,
            wait_ns: 0,
            groups: 1,
            window: 0,
        };
    }
    Shape {
        kind,
        members: if kind.parity() == 2 { 5 } else { 3 },
        page_bytes: 512,
        pages: if kind.parity() == 2 { 160 } else { 128 },
        segment_rows: if kind.parity() == 2 { 6 } else { 4 },
        groups_segments: false,
        wait_ns: 0,
        groups: 1,
        window: 0,
    }
}

/// Tries every crash of `script`.
///
/// # Errors
/// The first case that breaks a promise.
pub(crate) fn enumerate<S: SystemUnderTest>(
    proto: &Scenario,
    shape: &Shape,
    script: Script,
    effort: Effort,
    report: &mut dyn FnMut(&Counts),
) -> Result<Counts, Broken> {
    let (page, sectors) = (u64::from(shape.page_bytes) / 512, proto.model.sectors());
    let before = Era { asks: script.before(page, sectors), depth: script.depth(), ..Era::calm() };
    let era = Era { asks: script.asks(page, sectors), depth: script.depth(), ..Era::calm() };
    let prefix: &[Era] = if before.asks.is_empty() { &[] } else { &[before] };
    let case = |eras: &[Era]| CrashCase { eras: [prefix, eras].concat(), ..CrashCase::new(0, shape.clone()) };
    let mut scenario = proto.reseeded(0);
    let mut counts = Counts::default();
    scenario.counts = Counts::default();
    let fail = |eras: &[Era]| {
        let case = case(eras);
        move |what| Broken { case: case.into(), what }
    };
    for era in prefix {
        scenario.era::<S>(era).map_err(fail(&[]))?;
    }
    let mut server = scenario.enter::<S>(&era).map_err(fail(std::slice::from_ref(&era)))?;
    for event in 0.. {
        let tries = Tries { scenario: &scenario, server: &server, effort, asks: &era.asks };
        if event % effort.every == 0 {
            let point = Era { crash: Some(event), ..era.clone() };
            let broken = |keep, next: &Era, what| Broken {
                case: case(&[Era { keep, ..point.clone() }, next.clone()]).into(),
                what,
            };
            tries.crashes(event, &mut counts, &broken)?;
            tries.openings(event, &mut counts, &broken)?;
            report(&counts);
        }
        let continues = scenario.step(&mut server, &era, event);
        let continues = continues.map_err(fail(&[Era { crash: Some(event + 1), ..era.clone() }]))?;
        if !continues && server.is_idle() {
            break;
        }
        if event > 100_000 {
            return Err(fail(std::slice::from_ref(&era))("no end in sight".into()));
        }
    }
    counts.add(&scenario.counts);
    Ok(counts)
}

/// A point in time at which every crash is tried.
struct Tries<'a, S> {
    scenario: &'a Scenario,
    server: &'a Server<S>,
    effort: Effort,
    asks: &'a [Ask],
}

impl<S: SystemUnderTest> Tries<'_, S> {
    /// The array after a power loss at this time.
    fn crashed(&self, keep: Survival) -> Scenario {
        let mut scenario = self.scenario.clone();
        scenario.counts = Counts { lives: 1, ..Counts::default() };
        scenario.members = self.server.driver.members.clone();
        scenario.model = self.server.model.clone();
        scenario.interrupt(&self.server.driver.in_flight(), keep);
        scenario.counts.under_load = u64::from(!self.server.is_idle());
        scenario
    }

    /// Tries every state with every set of lost members, followed by an era.
    fn crashes(
        &self,
        event: u64,
        counts: &mut Counts,
        broken: &dyn Fn(Survival, &Era, String) -> Broken,
    ) -> Result<(), Broken> {
        let all = states(&self.server.driver.members.undecided(&self.server.driver.in_flight()));
        let limit = self.effort.states;
        let keeps: Vec<Survival> = match all {
            _ if all <= limit => (0..all).map(Survival::State).collect(),
            _ => {
                let ends = [Survival::Nothing, Survival::Everything];
                ends.into_iter().chain((2..limit).map(|nth| Survival::Seed(event * limit + nth))).collect()
            }
        };
        for (nth, &keep) in (event..).zip(&keeps) {
            let crashed = self.crashed(keep);
            let members = crashed.members.count();
            for (turn, set) in (nth..).zip(sets(members, crashed.spare(), crashed.lost())) {
                // The following era alternates: nothing, a second assembly, more requests, another crash.
                let absent = MemberNo::first(members.into()).filter(|member| member.is_in(set)).collect();
                let mut next = Era { absent, ..Era::calm() };
                match turn % 4 {
                    0 => next.twice = true,
                    1 => {
                        next.asks = self.asks.to_vec();
                        (next.crash, next.depth) = (Some(turn % 61), 2);
                        next.keep = Survival::Seed(turn);
                    }
                    _ => {}
                }
                let mut scenario = crashed.clone();
                scenario.eras::<S>(std::slice::from_ref(&next)).map_err(|what| broken(keep, &next, what))?;
                counts.add(&scenario.counts);
            }
        }
        Ok(())
    }

    /// Tries every time of the assembly, after a few of the states.
    fn openings(
        &self,
        event: u64,
        counts: &mut Counts,
        broken: &dyn Fn(Survival, &Era, String) -> Broken,
    ) -> Result<(), Broken> {
        let keep = [Survival::Nothing, Survival::Everything, Survival::Seed(event)][event as usize % 3];
        let crashed = self.crashed(keep);
        let members = u64::from(crashed.members.count());
        for after in (event % self.effort.cuts..).step_by(self.effort.cuts as usize) {
            let left = [
                Survival::Nothing,
                Survival::Everything,
                Survival::Seed(after),
                Survival::Seed(event + after),
                Survival::Killed(event + after),
            ];
            let keep_of_cut = left[(after + event) as usize % left.len()];
            let mut cuts = vec![Cut { after, keep: keep_of_cut, is_whole: false }];
            if let Survival::Killed(seed) = keep_of_cut {
                // The assembly after a killed one loses power.
                cuts.push(Cut { after: (after + seed) % 40, keep: Survival::Seed(seed), is_whole: false });
            }
            // In some cases a member is lost as well.
            let absent = if crashed.spare() > 0 && after % 3 == 0 {
                vec![MemberNo::at((after % members) as usize)]
            } else {
                vec![]
            };
            let next = Era { cuts, absent, ..Era::calm() };
            let mut scenario = crashed.clone();
            scenario.eras::<S>(std::slice::from_ref(&next)).map_err(|what| broken(keep, &next, what))?;
            counts.add(&scenario.counts);
            if scenario.counts.while_opening == 0 {
                break;
            }
        }
        Ok(())
    }
}
