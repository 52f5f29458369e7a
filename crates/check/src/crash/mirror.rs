//! A mirror that is simple enough to be known to be correct: every page is on every member. The checker must find the
//! flaws planted in it before its other results can be trusted. Its pages are sectors, it handles one request after
//! the other, and it tolerates one loss.

use std::collections::VecDeque;

use stripewise_array::{
    Acknowledgement, AssembleError, At, Bug, HostRequest, Media, MemberNo, Operation, OperationId,
    OperationKind, Outcome, RecoveryReport, RequestKind, SubmitError,
};
use stripewise_base::Nanos;

use super::case::CrashCase;
use super::draw;
use super::scenario::Scenario;
use super::shrink::shrink;
use super::sim_driver::SimDriver;
use super::small::{self, Effort, Script};

use super::shape::{Kind, Shape};
use super::sim_media::SimMedia;
use super::system_under_test::SystemUnderTest;

/// Flaws, as numbers for a constant parameter of the mirror.
const NONE: u8 = 0;
const FLUSH_DROPPED: u8 = 1;
const FLUSH_LEAVES_ONE_OUT: u8 = 2;
const NOT_MADE_EQUAL: u8 = 3;
const MADE_EQUAL_UNFLUSHED: u8 = 4;
const STALE_READ: u8 = 5;
const ANSWERS_EARLY: u8 = 6;
const TRIM_LOST: u8 = 7;
const EPOCH_OF_SOME_BELIEVED: u8 = 8;
const LAST_PAGE_ELSEWHERE: u8 = 9;

#[derive(Debug)]
struct Mirror<const FLAW: u8> {
    /// By member.
    present: Vec<bool>,
    pages: u32,
    requests: VecDeque<(HostRequest, Box<[u8]>)>,
    /// Outstanding operations of the first request, and whether any have been started.
    left: usize,
    is_begun: bool,
    /// Results of reads, by page of the request.
    found: Vec<(u32, Vec<u8>)>,
}

/// Page 0: the epoch, and the participating members.
fn header(epoch: u64, members: u64) -> Vec<u8> {
    [&epoch.to_le_bytes()[..], &members.to_le_bytes(), &[0; 496]].concat()
}

fn read(media: &mut SimMedia<'_>, member: u16, page: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    media.read(&[At { member, page }], &mut |_, content| {
        bytes = content.map(<[u8]>::to_vec).unwrap_or_default()
    });
    bytes
}

fn all_done(outcomes: &[Outcome]) -> Result<(), AssembleError> {
    match outcomes.iter().find(|&&outcome| outcome != Outcome::Done) {
        None => Ok(()),
        Some(outcome) => Err(AssembleError::Failed(format!("{outcome:?}"))),
    }
}

impl<const FLAW: u8> SystemUnderTest for Mirror<FLAW> {
    fn create(shape: &Shape, media: &mut SimMedia<'_>) -> Result<(), AssembleError> {
        for member in 0..shape.members {
            // The second page identifies the member.
            let name = [&member.to_le_bytes()[..], &[0; 510]].concat();
            let at = [At { member, page: 0 }, At { member, page: 1 }];
            all_done(&media.write(&at, &[&header(1, (1 << shape.members) - 1), &name]))?;
            all_done(&media.flush(&[member]))?;
        }
        Ok(())
    }

    fn open(
        shape: &Shape,
        _: Option<Bug>,
        _: bool,
        media: &mut SimMedia<'_>,
    ) -> Result<(Self, RecoveryReport), AssembleError> {
        let mut names = vec![None; shape.members.into()];
        let mut headers = Vec::new();
        for nth in 0..media.count() {
            let (head, name) = (read(media, nth, 0), read(media, nth, 1));
            if head.len() == 512 && name.len() == 512 {
                let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
                let member = u16::from_le_bytes([name[0], name[1]]);
                names[usize::from(member)] = Some(nth);
                headers.push((word(0), word(8), member));
            }
        }
        headers.sort_unstable();
        let reached = |epoch: u64, members: u64| {
            let mut members = headers.iter().filter(|(_, _, member)| members & 1 << member != 0);
            FLAW == EPOCH_OF_SOME_BELIEVED || members.all(|&(other, _, _)| other >= epoch)
        };
        let newest = headers.iter().rev().find(|&&(epoch, members, _)| reached(epoch, members));
        let &(epoch, members, _) =
            newest.ok_or_else(|| AssembleError::Refused("there is no array".into()))?;
        let is_current = |member: u16| {
            FLAW == STALE_READ
                || members & 1 << member != 0
                    && headers.iter().any(|&(own, _, other)| other == member && own >= epoch)
        };
        let positions: Vec<Option<u16>> = (0..shape.members)
            .map(|member| names[usize::from(member)].filter(|_| is_current(member)))
            .collect();
        let current: Vec<u16> = positions.iter().flatten().copied().collect();
        let (&source, others) =
            current.split_first().ok_or_else(|| AssembleError::Refused("no member is left".into()))?;
        for page in (2..shape.pages).filter(|_| FLAW != NOT_MADE_EQUAL) {
            let content = read(media, source, page);
            let different: Vec<u16> =
                others.iter().copied().filter(|&other| read(media, other, page) != content).collect();
            for other in different {
                if content.len() != 512 {
                    return Err(AssembleError::Failed("no power".into()));
                }
                all_done(&media.write(&[At { member: other, page }], &[&content]))?;
            }
        }
        if FLAW != MADE_EQUAL_UNFLUSHED {
            all_done(&media.flush(&current))?;
        }
        let newest = headers.last().map_or(0, |&(epoch, _, _)| epoch);
        let members = (0..shape.members).filter(|&member| positions[usize::from(member)].is_some());
        let head = header(newest + 1, members.fold(0, |members, member| members | 1 << member));
        for &nth in &current {
            all_done(&media.write(&[At { member: nth, page: 0 }], &[&head]))?;
            if FLAW != MADE_EQUAL_UNFLUSHED {
                all_done(&media.flush(&[nth]))?;
            }
        }
        let present = positions.iter().map(Option::is_some).collect();
        let mirror = Self {
            present,
            pages: shape.pages,
            requests: VecDeque::new(),
            left: 0,
            is_begun: false,
            found: Vec::new(),
        };
        Ok((mirror, RecoveryReport { positions, ..RecoveryReport::default() }))
    }

    fn submit(
        &mut self,
        _: Nanos,
        request: HostRequest,
        payload: Box<[u8]>,
        _: &mut SimDriver,
    ) -> Result<(), (SubmitError, Box<[u8]>)> {
        self.requests.push_back((request, payload));
        Ok(())
    }

    fn dispatch(&mut self, driver: &mut SimDriver) {
        while !self.is_begun && !self.requests.is_empty() {
            self.begin(driver);
            if self.left == 0 {
                self.answer(driver);
            }
        }
    }

    fn fill(&mut self, page: u32, content: &[u8]) {
        self.found.push((page, content.to_vec()));
    }

    fn completed(&mut self, _: Nanos, _: OperationId, _: Outcome, driver: &mut SimDriver) {
        self.left = self.left.saturating_sub(1);
        let is_read = self.requests.front().is_some_and(|(request, _)| request.kind == RequestKind::Read);
        if self.is_begun && (self.left == 0 || FLAW == ANSWERS_EARLY && !is_read) {
            self.answer(driver);
        }
    }

    fn timer(&mut self, _: Nanos, _: &mut SimDriver) {}

    fn bytes(&self) -> u64 {
        u64::from(self.pages - 2) * 512
    }
}

impl<const FLAW: u8> Mirror<FLAW> {
    fn begin(&mut self, driver: &mut SimDriver) {
        let Some((request, payload)) = self.requests.front() else { return };
        self.is_begun = true;
        let (first, count) = (2 + (request.offset / 512) as u32, request.bytes / 512);
        let present: Vec<u16> =
            (0u16..).zip(&self.present).filter(|(_, present)| **present).map(|(member, _)| member).collect();
        let kind = match request.kind {
            RequestKind::Read => OperationKind::Read,
            RequestKind::Write => OperationKind::Write,
            RequestKind::Trim => OperationKind::Trim,
            RequestKind::Flush => OperationKind::Flush,
        };
        let mut put = |member, page: u32, nth: u32, content: Option<&[u8]>| {
            let operation = Operation { kind, member, page, ..Operation::default() };
            driver.put(OperationId::new(0), operation, nth, content);
            self.left += 1;
        };
        match kind {
            OperationKind::Flush => {
                let first = usize::from(FLAW == FLUSH_LEAVES_ONE_OUT);
                let flushed = present[first..].iter().filter(|_| FLAW != FLUSH_DROPPED);
                flushed.for_each(|&member| put(MemberNo::new(member), 0, 0, None));
            }
            OperationKind::Trim if FLAW == TRIM_LOST => {}
            _ => {
                for nth in 0..count {
                    let at = nth as usize * 512;
                    let content = (kind == OperationKind::Write).then(|| &payload[at..at + 512]);
                    let page = first + nth;
                    let is_astray =
                        FLAW == LAST_PAGE_ELSEWHERE && page == self.pages - 1 && content.is_some();
                    let page = if is_astray { page - 1 } else { page };
                    let to = if kind == OperationKind::Read { &present[..1] } else { &present[..] };
                    to.iter().for_each(|&member| put(MemberNo::new(member), page, nth, content));
                }
            }
        }
    }

    fn answer(&mut self, driver: &mut SimDriver) {
        let Some((request, mut payload)) = self.requests.pop_front() else { return };
        for (nth, content) in self.found.drain(..) {
            payload[nth as usize * 512..][..512].copy_from_slice(&content);
        }
        (self.is_begun, self.left) = (false, 0);
        driver
            .acknowledged
            .push((Acknowledgement { tag: request.tag, ..Acknowledgement::default() }, payload));
    }
}

fn shape() -> Shape {
    Shape {
        kind: Kind::Log5,
        members: 3,
        page_bytes: 512,
        pages: 18,
        segment_rows: 2,
        groups_segments: false,
        wait_ns: 0,
        groups: 1,
        window: 0,
    }
}

fn live<S: SystemUnderTest>(case: &CrashCase) -> Result<(), String> {
    Scenario::new::<S>(&case.shape, case.seed, None)?.whole::<S>(case)
}

/// The first of `seeds` whose case breaks a promise, and the violation.
fn first_failure<S: SystemUnderTest>(seeds: u64) -> Option<(u64, String)> {
    let sectors = Scenario::new::<S>(&shape(), 0, None).expect("a mirror").model.sectors();
    (0..seeds).find_map(|seed| {
        let mut case = draw::case(seed, shape(), sectors);
        // The mirror cannot handle faulty members or rollbacks.
        case.corruption = None;
        case.eras.iter_mut().for_each(|era| {
            era.strikes.clear();
            era.older.clear();
        });
        live::<S>(&case).err().map(|what| (seed, what))
    })
}

#[test]
fn a_sound_mirror_keeps_every_promise() {
    assert_eq!(first_failure::<Mirror<NONE>>(2000), None);
}

#[test]
fn every_crash_of_a_few_requests_to_a_sound_mirror_is_borne() {
    let array = Scenario::new::<Mirror<NONE>>(&shape(), 0, None).expect("a mirror");
    for script in Script::ALL {
        let effort = Effort { states: 64, every: 1, cuts: 1 };
        let counts = small::enumerate::<Mirror<NONE>>(&array, &shape(), script, effort, &mut |_| {})
            .unwrap_or_else(|broken| panic!("{}: {}\n{}", script.name(), broken.what, broken.case.to_toml()));
        println!("{}\n{counts}", script.name());
        assert!(counts.crashes > 1000 && counts.while_opening > 100 && counts.degraded > 100, "{counts}");
    }
}

#[test]
fn a_failure_of_an_enumeration_replays_and_shrinks() {
    let array = Scenario::new::<Mirror<FLUSH_DROPPED>>(&shape(), 0, None).expect("a mirror");
    let report = &mut |_: &_| {};
    let broken =
        small::enumerate::<Mirror<FLUSH_DROPPED>>(&array, &shape(), Script::Overwrite, Effort::ALL, report);
    let broken = broken.expect_err("it drops flushes");
    let fails = |case: &CrashCase| live::<Mirror<FLUSH_DROPPED>>(case).is_err();
    assert!(fails(&broken.case), "{}", broken.case.to_toml());
    let small = shrink(&broken.case, 1000, fails);
    assert!(fails(&small));
    assert!(small.eras.len() == 1 && small.eras[0].asks.len() == 2, "a write and a flush: {small:?}");
    let again = CrashCase::from_toml("it", &small.to_toml()).expect("its own form");
    assert_eq!(again, small);
}

#[test]
fn every_flaw_of_a_mirror_is_found() {
    for (name, failure) in [
        ("flush dropped", first_failure::<Mirror<FLUSH_DROPPED>>(50)),
        ("flush leaves one member out", first_failure::<Mirror<FLUSH_LEAVES_ONE_OUT>>(200)),
        ("not made equal", first_failure::<Mirror<NOT_MADE_EQUAL>>(200)),
        ("made equal, and not flushed", first_failure::<Mirror<MADE_EQUAL_UNFLUSHED>>(2000)),
        ("stale member read", first_failure::<Mirror<STALE_READ>>(200)),
        ("answers early", first_failure::<Mirror<ANSWERS_EARLY>>(50)),
        ("trim lost", first_failure::<Mirror<TRIM_LOST>>(50)),
        (
            "an epoch that reached some members is trusted",
            first_failure::<Mirror<EPOCH_OF_SOME_BELIEVED>>(200),
        ),
        ("the last page lies elsewhere", first_failure::<Mirror<LAST_PAGE_ELSEWHERE>>(200)),
    ] {
        let (seed, what) = failure.unwrap_or_else(|| panic!("{name}: not found"));
        println!("{name}: seed {seed}, {what}");
    }
}
