//! Replays a transcript to a new controller, and compares the answers.

mod stage;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use stripewise_array::format::FailReason;
use stripewise_array::{
    Array, AssemblyOptions, At, Controller, Found, HostRequest, Media, MemberNo, Outcome, PagePool,
    Rejoining, RequestKind, SECTOR_BYTES, Scheme, SubmitError, Timing,
};
use stripewise_base::Nanos;

use super::blocks::{Broken, UNFINISHED, Values};
use super::difference::Difference;
use super::event::Event;
use super::head::{Head, ReplayError};
use super::writer;
use crate::backend::{Pages, Payload};
use crate::engine::with_own_times;
use stage::Stage;

/// Longer than any request that an engine passes to its controller.
const PAYLOAD_BYTES_MAX: u32 = 32 << 20;

/// No run is longer: 146 years. Sums of later times could overflow.
const NOW_MAX: Nanos = 1 << 62;

/// A transcript to be replayed.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    head: Head,
    scheme: Scheme,
    values: Values<Input>,
    writer: Option<String>,
}

/// The source of the bytes.
struct Input(Box<dyn Read + Send>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input")
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Events, including the controller's answers.
    pub events: u64,
    /// Requests that the controller received.
    pub requests: u64,
    /// Requests that failed.
    pub failed_requests: u64,
    /// Operations that it started.
    pub operations: u64,
    /// Operations that failed.
    pub failed_operations: u64,
    /// Members that left the array, by a command or by a failure, and when: nanoseconds since the array was assembled.
    pub left: Vec<(MemberNo, Nanos)>,
    /// The length of the recorded run.
    pub took_ns: Nanos,
    /// Whether the file ends before the run did, because its writer was killed.
    pub is_cut: bool,
    /// The first difference. The replay ended there.
    pub difference: Option<Difference>,
}

impl Replay {
    /// Opens a transcript.
    ///
    /// # Errors
    /// When the file cannot be read, is no transcript, has a head that no engine writes, or no head because its server has not
    /// written it yet.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let fail = |reason: String| ReplayError { path: path.into(), reason };
        let file = File::open(path).map_err(|error| fail(error.to_string()))?;
        let writer = writer::of(&file);
        match (Self::of(path, BufReader::new(file)), &writer) {
            (Err(error), Some(writer)) if error.reason == UNFINISHED => Err(fail(writer::remedy(writer))),
            (replay, _) => Ok(Self { writer, ..replay? }),
        }
    }

    /// Reads a transcript from `from`. Errors name it `path`.
    ///
    /// # Errors
    /// Those of [`Replay::open`].
    pub fn of(path: &Path, from: impl Read + Send + 'static) -> Result<Self, ReplayError> {
        let fail = |reason: String| ReplayError { path: path.into(), reason };
        let mut values = Values::new(Input(Box::new(from))).map_err(|error| fail(error.to_string()))?;
        let head: Option<Head> = values.next().map_err(|error| fail(error.to_string()))?;
        let head = head.ok_or_else(|| fail(UNFINISHED.into()))?;
        head.check().map_err(fail)?;
        let scheme = head.parse_scheme().map_err(|error| fail(error.to_string()))?;
        Ok(Self { path: path.into(), head, scheme, values, writer: None })
    }

    /// Says, if a server still writes the transcript, which process it is and what to do.
    pub fn unfinished(&self) -> Option<String> {
        self.writer.as_deref().map(writer::remedy)
    }

    /// The head, which describes the array.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The scheme of the replay.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Replaces the scheme of the transcript. The replay reports the first decision that differs.
    pub fn use_scheme(&mut self, scheme: Scheme) {
        self.scheme = scheme;
    }

    /// Passes the recorded events to a new controller, until one of its answers differs.
    ///
    /// # Errors
    /// When the transcript is damaged, or has an event that no engine records.
    pub fn run(self) -> Result<Replayed, ReplayError> {
        let Self { path, head, scheme, values, writer: _ } = self;
        let mut script = Script::new(values);
        let played = play(&head, &scheme, &mut script);
        match (played.err(), script.broken) {
            // An array cannot be assembled from what a file has that ends during the assembly.
            (reason, None) if reason.is_none() || script.is_short => {
                let mut replayed = script.replayed;
                replayed.is_cut = script.values.is_cut || !script.is_closed;
                Ok(replayed)
            }
            (reason, broken) => {
                let reason = broken.map(|broken| broken.to_string()).or(reason).unwrap_or_default();
                Err(ReplayError { path, reason })
            }
        }
    }
}

/// The events of a transcript, one after the other.
#[derive(Debug)]
struct Script {
    values: Values<Input>,
    /// The next event, if it was peeked at.
    ahead: Option<Event>,
    replayed: Replayed,
    broken: Option<Broken>,
    /// Whether the script has ended.
    is_over: bool,
    /// Whether the run was closed cleanly.
    is_closed: bool,
    /// Whether the assembly asked for more than the file has.
    is_short: bool,
}

impl Script {
    fn new(values: Values<Input>) -> Self {
        Self {
            values,
            ahead: None,
            replayed: Replayed::default(),
            broken: None,
            is_over: false,
            is_closed: false,
            is_short: false,
        }
    }

    /// Peeks at the next event.
    fn peek(&mut self) -> Option<&Event> {
        if self.ahead.is_none() && !self.is_over {
            match self.values.next() {
                Ok(Some(event)) => self.ahead = Some(event),
                Ok(None) => self.is_over = true,
                Err(broken) => {
                    self.broken = Some(broken);
                    self.is_over = true;
                }
            }
        }
        self.ahead.as_ref()
    }

    /// Takes the next event.
    fn take(&mut self) -> Option<Event> {
        self.peek();
        let event = self.ahead.take()?;
        self.replayed.events += 1;
        if let Some(now) = event.now() {
            self.replayed.took_ns = now;
        }
        Some(event)
    }

    /// Takes the number of the serving, 0 before format 3.
    fn take_serving(&mut self) -> u64 {
        let serving = self.peek().and_then(Event::serving);
        serving.map_or(0, |serving| self.take().map_or(0, |_| serving))
    }

    /// Takes the next event, which must equal the controller's answer.
    fn answered(&mut self, answer: &Event) {
        if self.is_over {
            return;
        }
        match self.peek() {
            Some(recorded) if recorded == answer => {
                self.take();
            }
            Some(recorded) => {
                // The next event is no answer, so none was expected here.
                let recorded = recorded.is_answer().then(|| recorded.to_string());
                self.differs(recorded, Some(answer.to_string()));
            }
            None => {}
        }
    }

    /// Ends the replay here, as the assembly asks for something that is not the next event. At the end of the file nothing
    /// is known to differ: its server was killed during the assembly, or has not written more yet.
    fn missed(&mut self, replayed: impl FnOnce() -> String) {
        match self.peek().map(ToString::to_string) {
            Some(recorded) => self.differs(Some(recorded), Some(replayed())),
            None => self.is_short = self.replayed.difference.is_none(),
        }
    }

    /// Ends the replay here.
    fn differs(&mut self, recorded: Option<String>, replayed: Option<String>) {
        let difference =
            Difference { event: self.replayed.events, at_ns: self.replayed.took_ns, recorded, replayed };
        self.replayed.difference.get_or_insert(difference);
        self.ahead = None;
        self.is_over = true;
    }
}

/// Members of a replay: the script has the results of what the assembly asks of them.
struct ScriptedMedia<'a> {
    script: &'a mut Script,
    offered: &'a [(u32, u32)],
}

impl ScriptedMedia<'_> {
    fn done(&mut self, times: usize) -> Vec<Outcome> {
        (0..times)
            .map(|_| match self.script.peek() {
                Some(&Event::MediaDone(outcome)) => {
                    self.script.take();
                    outcome
                }
                _ => {
                    self.script.missed(|| "a write or flush during assembly".into());
                    Outcome::Gone
                }
            })
            .collect()
    }
}

impl Media for ScriptedMedia<'_> {
    fn count(&self) -> u16 {
        self.offered.len() as u16
    }

    fn size(&self, member: u16) -> (u32, u32) {
        self.offered[usize::from(member)]
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (place, at) in at.iter().enumerate() {
            let page_bytes = self.offered[usize::from(at.member)].1 as usize;
            let is_next = |event: &Event| match event {
                Event::MediaRead { nth, found } => {
                    *nth as usize == place && found.as_ref().map_or(true, |page| page.len() == page_bytes)
                }
                _ => false,
            };
            if self.script.peek().is_some_and(is_next)
                && let Some(Event::MediaRead { found: page, .. }) = self.script.take()
            {
                found(place, page.as_deref().map_err(|&outcome| outcome));
                continue;
            }
            let replayed =
                || format!("page {} of offered member {} was read during assembly", at.page, at.member);
            self.script.missed(replayed);
            found(place, Err(Outcome::Gone));
        }
    }

    fn write(&mut self, at: &[At], _pages: &[&[u8]]) -> Vec<Outcome> {
        self.done(at.len())
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        self.done(members.len())
    }
}

/// Replays the script to a controller. Fails with the reason, if the script has an event that no engine records.
fn play(head: &Head, scheme: &Scheme, script: &mut Script) -> Result<(), String> {
    let members = head.capabilities();
    let opening = AssemblyOptions { serving: script.take_serving(), ..head.opening(script.values.format) };
    let mut media = ScriptedMedia { script, offered: &head.offered };
    let memory = PagePool::new(members.page_bytes);
    let opened = Array::open(&with_own_times(scheme), members, memory, &mut media, opening);
    let (array, opened) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            if script.peek().is_some() {
                script.differs(None, Some(format!("the array was not opened: {error}")));
            }
            return Ok(());
        }
    };
    script.answered(&Event::Assembled { epoch: opened.epoch });
    let stage = Stage::new(script);
    Player { array, stage, page_bytes: members.page_bytes, now: 0 }.play()
}

/// A controller and its driver.
struct Player<'a> {
    array: Array<Pages>,
    stage: Stage<'a>,
    page_bytes: u32,
    now: Nanos,
}

impl Player<'_> {
    fn play(&mut self) -> Result<(), String> {
        loop {
            let nth = self.stage.script.replayed.events;
            let Some(event) = self.stage.script.take() else { return Ok(()) };
            let wrong = || format!("event {nth} is what no engine records: {event}");
            if let Some(now) = event.now() {
                if !(self.now..=NOW_MAX).contains(&now) {
                    return Err(wrong());
                }
                self.now = now;
            }
            if event.is_answer() {
                // It is not the controller's answer to the last event.
                self.stage.script.replayed.events -= 1;
                self.stage.script.differs(Some(event.to_string()), None);
            } else if !self.apply(&event) {
                return Err(wrong());
            }
        }
    }

    /// Whether the array has such a member.
    fn has(&self, member: MemberNo) -> bool {
        member.is_within(self.array.members())
    }

    /// Passes an event to the controller. Returns false for an event that no engine records.
    fn apply(&mut self, event: &Event) -> bool {
        let Self { array, stage, .. } = self;
        match *event {
            Event::Submitted { now, ref host } => return self.submit(now, host),
            Event::Content { member, page, ref bytes } => {
                if !self.has(member) || bytes.len() != self.page_bytes as usize {
                    return false;
                }
                self.stage.finds(member, page, bytes);
            }
            Event::Earlier { member, page, nth } => {
                return stage.finds_earlier(member, page, nth, self.page_bytes);
            }
            Event::Completed { now, id, outcome, took_ns } => {
                if took_ns > now || !stage.over(id, outcome, array.memory()) {
                    return false;
                }
                let timing = Timing { cell_ns: took_ns, ..Timing::default() };
                array.completed(now, id, outcome, timing, stage);
            }
            Event::Timer { now } => array.timer(now, stage),
            Event::Ready { member } => {
                if !self.has(member) {
                    return false;
                }
                self.array.member_ready(member);
            }
            Event::Dispatched => array.dispatch(stage),
            Event::Failed { now, member } => return self.fail(now, member, FailReason::Requested),
            Event::FailedFor { now, member, reason } => return self.fail(now, member, reason),
            Event::Rejoined { now, member, how } => return self.rejoin(now, member, how.into()),
            Event::Returned { now, member, pages, stamp } => {
                return self.rejoin(now, member, Rejoining::Returned { pages, stamp });
            }
            Event::Slow { now, member, is_slow } => {
                if !self.has(member) {
                    return false;
                }
                self.array.member_slow(now, member, is_slow, &mut self.stage);
            }
            Event::Scrub { now } => array.scrub(now, stage),
            Event::StopScrub => array.stop_scrub(),
            Event::Allowed { now, pages } => array.allow(now, pages, stage),
            Event::OutOfSpace { now, is_out_of_space } => array.set_out_of_space(now, is_out_of_space, stage),
            Event::Drained { now } => array.drain(now, stage),
            Event::Checkpoint { now } => array.checkpoint(now, stage),
            Event::Stopped { now } => array.stop(now, stage),
            Event::VerifySuperblocks { now } => array.verify_superblocks(now, stage),
            Event::Resumed { now } => array.resume(now, stage),
            Event::Closed => stage.script.is_closed = true,
            Event::Refused
            | Event::Serving(_)
            | Event::MediaRead { .. }
            | Event::MediaDone(_)
            | Event::Assembled { .. }
            | Event::Busy
            | Event::Started { .. }
            | Event::Acknowledged { .. }
            | Event::MemberFailed { .. } => return false,
        }
        true
    }

    /// Takes a member out of service. Returns false for an event that no engine records.
    fn fail(&mut self, now: Nanos, member: MemberNo, reason: FailReason) -> bool {
        let is_there = self.has(member);
        if is_there {
            self.stage.left(member);
            self.array.member_failed(now, member, reason, &mut self.stage);
        }
        is_there
    }

    /// Adds a member to the array. Returns false for an event that no engine records.
    fn rejoin(&mut self, now: Nanos, member: MemberNo, how: Rejoining) -> bool {
        // The operations of the member that left are over before another takes its place.
        let under_way = &self.stage.under_way;
        let is_free = under_way.values().all(|(operation, _)| operation.member != member);
        if !self.has(member) || !is_free {
            return false;
        }
        self.stage.held.retain(|&(its, _), _| its != member);
        self.array.rejoin(now, member, how, &mut self.stage).is_ok()
    }

    /// Passes a request to the controller, with data of the replay's own.
    fn submit(&mut self, now: Nanos, host: &HostRequest) -> bool {
        if host.bytes > PAYLOAD_BYTES_MAX || host.arrival > now {
            return false;
        }
        let has_bytes = matches!(host.kind, RequestKind::Read | RequestKind::Write);
        let mut payload = Payload::zeroed(if has_bytes { host.bytes as usize } else { 0 });
        let requests = &mut self.stage.script.replayed.requests;
        *requests += 1;
        // No two writes are equal, and no two sectors of one write.
        for (sector, bytes) in payload.chunks_exact_mut(SECTOR_BYTES as usize).enumerate() {
            bytes[..8].copy_from_slice(&requests.to_le_bytes());
            bytes[8..16].copy_from_slice(&(sector as u64).to_le_bytes());
        }
        match self.array.submit(now, *host, payload, &mut self.stage) {
            Ok(()) => true,
            Err((SubmitError::Busy, _)) => {
                self.stage.script.answered(&Event::Busy);
                true
            }
            Err(_) => false,
        }
    }
}
