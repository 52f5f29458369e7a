//! The engine: the controller, its members and a clock, behind requests.

mod closing;
mod edges;
mod hung;
mod known;
mod members;
mod opening;
mod options;
mod outage;
mod pace;
mod rate;
mod rules;
mod status;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use stripewise_array::format::{Owner, Superblock};
use stripewise_array::health::Spares;
use stripewise_array::{
    Array, Controller, HostRequest, MemberNo, PlanView, RecoveryReport, RequestKind, SECTOR_BYTES,
    SubmitError, Timing,
};
use stripewise_base::Nanos;

use crate::backend::{Backend, Pages, Payload};
use crate::clock::Clock;
use crate::error::{EngineError, Failed, Rejected};
use crate::failure::Failure;
use crate::file_backend::Files;
use crate::jobs::{Completion, Jobs, Request, Ticket};
use crate::member_io::{Counts, MemberCompletion, MemberIo};
use crate::out_of_space::{GRACE, Waiting, bits};
use crate::owner::Keeper;
use crate::stalls::{Seen, Watch};
use crate::transcript::Event;
use edges::Edges;
use hung::HungMember;
use known::Known;
use rate::Pace;

pub use options::{FailMode, IoMode, Options};
pub use rate::Rate;
pub use rules::capabilities;
pub(crate) use rules::with_own_times;
pub use status::{MemberCondition, MemberStatus, Progress, ScrubStatus, Status};

/// Most bytes that are trimmed in one turn. A log trims at once, page by page, and members and sockets are polled only
/// between turns.
const TURN_TRIM_BYTES: u64 = 64 << 20;

/// How often to check whether this host owns the array again, while writes wait for that.
const FENCED: Duration = Duration::from_millis(10);

/// An array over members with real bytes.
///
/// One request at a time: [`Engine::read`], [`Engine::write`], [`Engine::trim`], [`Engine::flush`]. Several requests in
/// flight: [`Engine::submit`], then [`Engine::poll`] until it returns `None`. In an event loop that waits for other
/// things too: call [`Engine::turn`] as long as it returns true, then wait until [`Engine::fd`] is readable or
/// [`Engine::wake_in`] has passed. The engine works only inside these calls.
#[derive(Debug)]
pub struct Engine<B: Backend = Files> {
    // Before the memory whose pages its operations use: it is dropped first, and waits for them.
    member_io: MemberIo<B>,
    array: Array<Pages>,
    clock: Clock,
    pace: Pace,
    spares: Spares<B::Member>,
    known: Option<Known>,
    is_read_only: bool,
    /// Whether the controller was notified that members have no space.
    was_out_of_space: bool,
    /// Whether an event of a member happened outside of a turn. The next turn acts on it.
    has_event: bool,
    /// Bytes trimmed since the last turn began.
    trimmed_bytes: u64,
    opened: RecoveryReport,
    edges: Edges,
    /// The outages that a failed [`Engine::flush`] reported to the caller.
    reported_outages: u64,
    failmode: FailMode,
    stall: Duration,
    /// Members of a log that hang.
    hung: Vec<HungMember<B::Member>>,
    /// Since when more members are lost than parity tolerates, where changes wait for that.
    outage_since: Option<Nanos>,
}

impl<B: Backend> Engine<B> {
    fn assembled(backend: B, array: Array<Pages>, page_bytes: u32, options: &Options) -> Self {
        let borne = array.geometry().tolerance();
        let is_log = array.scheme().placement.facts().forms_stripes;
        let jobs = Jobs::new(array.scheme().queues.requests, page_bytes, is_log);
        let watch = Watch::new(backend.count(), options.slow);
        let out_of_space = Waiting::new(options.timeout, borne);
        Self {
            member_io: MemberIo::new(backend, options.window, jobs, out_of_space, watch, options.timeout),
            array,
            clock: Clock::new(options.time),
            pace: Pace::new(options.rate),
            spares: Spares::default(),
            known: None,
            is_read_only: false,
            was_out_of_space: false,
            has_event: false,
            trimmed_bytes: 0,
            opened: RecoveryReport::default(),
            edges: Edges::default(),
            reported_outages: 0,
            failmode: options.failmode,
            stall: options.stall,
            hung: Vec::new(),
            outage_since: None,
        }
    }

    /// Bytes that the array offers.
    pub fn capacity(&self) -> u64 {
        self.array.capacity()
    }

    /// Bytes of a page. Requests of whole pages cost least.
    pub fn page_bytes(&self) -> u32 {
        self.member_io.jobs.page_bytes()
    }

    /// The controller.
    pub fn array(&self) -> &Array<Pages> {
        &self.array
    }

    /// The findings of the array's assembly. Empty if the array has no metadata.
    pub fn opened(&self) -> &RecoveryReport {
        &self.opened
    }

    /// Operations completed so far.
    pub fn counts(&self) -> Counts {
        self.member_io.counts()
    }

    /// Shows every plan to `observer` from now on.
    pub fn observe(&mut self, observer: impl FnMut(&PlanView<'_>) + Send + 'static) {
        self.member_io.observer = Some(Box::new(observer));
    }

    /// Reads the array's bytes at `offset` into `into`.
    ///
    /// # Errors
    /// When the range is not made of whole sectors, or more of it is lost than parity tolerates.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), EngineError> {
        let read = self.run(Request::Read { offset, into: Payload::zeroed(into.len()) })?;
        into.copy_from_slice(&read);
        Ok(())
    }

    /// Writes `from` to the array at `offset`.
    ///
    /// # Errors
    /// Those of [`Engine::read`], and when the array has no space.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), EngineError> {
        self.run(Request::Write { offset, data: from.into(), fua: false }).map(drop)
    }

    /// Declares the `bytes` at `offset` unused.
    ///
    /// # Errors
    /// Those of [`Engine::read`].
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<(), EngineError> {
        self.run(Request::Trim { offset, bytes, fua: false }).map(drop)
    }

    /// Makes every request durable that completed before.
    ///
    /// # Errors
    /// When more members are lost than parity tolerates, so that the data cannot be made durable; and once after that,
    /// because members that returned may lack data that no flush had covered.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        let flushed = self.run(Request::Flush).map(drop);
        let outages = self.outages();
        let record_event = std::mem::replace(&mut self.reported_outages, outages);
        if flushed.is_ok() && record_event < outages {
            return Err(Failed::Lost.into());
        }
        flushed
    }

    /// Takes a request. Its completion comes from [`Engine::take_completion`] or [`Engine::poll`]. Requests reach the
    /// controller in the order in which they are submitted.
    ///
    /// # Errors
    /// [`SubmitError::Busy`] when the scheme's queue is full. Other errors describe the fault of the request.
    pub fn submit(&mut self, request: Request) -> Result<Ticket, Rejected> {
        if let Err(error) = self.check(&request) {
            return Err(Rejected { error, request });
        }
        let now = self.clock.now();
        let wants_space = matches!(request, Request::Write { .. } | Request::Zero { .. } | Request::Flush);
        if wants_space && self.member_io.is_out_of_space_beyond_parity() {
            return Ok(self.member_io.jobs.refuse(request));
        }
        if self.member_io.jobs.is_full(&request) {
            return Err(Rejected { error: SubmitError::Busy, request });
        }
        self.keep_failmode();
        let ticket = self.member_io.jobs.push(now, request, self.erases());
        self.pump();
        Ok(ticket)
    }

    /// Works until a request completes, and returns its completion. `None` when nothing is left to do.
    pub fn poll(&mut self) -> Option<Completion> {
        loop {
            if let Some(completion) = self.take_completion() {
                return Some(completion);
            }
            if !self.step() {
                return None;
            }
        }
    }

    /// The oldest completion that was not returned yet. Does no work.
    pub fn take_completion(&mut self) -> Option<Completion> {
        self.member_io.jobs.take_done()
    }

    /// Does all work that needs no waiting. Returns false when there was none, and when another host took the array
    /// over. While this host cannot confirm that it owns the array, reads, completions and timeouts continue, and
    /// members receive no writes.
    pub fn turn(&mut self) -> bool {
        if self.member_io.taken_over().is_some() {
            return false;
        }
        let mut is_anything = std::mem::take(&mut self.has_event);
        self.trimmed_bytes = 0;
        is_anything |= self.exchange();
        is_anything |= self.fail_unconfirmed();
        is_anything |= self.report_space();
        if self.member_io.is_out_of_space_for_long() {
            let now = self.clock.now();
            is_anything |=
                self.member_io.jobs.refuse_stuck(now, now.saturating_sub(GRACE.as_nanos() as Nanos));
        }
        is_anything |= self.keep_failmode();
        is_anything |= self.fire_timers();
        is_anything |= self.keep_pace();
        is_anything |= self.report_stalls();
        is_anything |= self.look_after_hung();
        if is_anything {
            self.use_spares();
            self.pump();
            self.watch_edges();
        }
        is_anything
    }

    /// Submits waiting operations to members, and passes completed ones to the controller. Returns whether there was
    /// any.
    fn exchange(&mut self) -> bool {
        for member in self.member_io.look_at_fence() {
            self.member_io.record_event(|| Event::Ready { member });
            self.array.member_ready(member);
        }
        self.dispatch();
        self.member_io.wait_at_fence();
        self.member_io.retry(self.array.memory());
        self.member_io.backend.submit(self.array.memory());
        let mut is_anything = false;
        let mut now = self.clock.now();
        for _ in 0..B::BATCH {
            self.member_io.now = now;
            let Some(over) = self.member_io.take(self.array.memory()) else { break };
            let took_ns = self.clock.tick(over.took_ns);
            if self.clock.is_counted() || !self.member_io.backend.is_over_before_taken() {
                now = self.clock.now();
                self.member_io.now = now;
            }
            let timing = Timing { cell_ns: took_ns, ..Timing::default() };
            let MemberCompletion { id, member, outcome, .. } = over;
            self.member_io.record_event(|| Event::Completed { now, id, outcome, took_ns });
            self.array.completed(now, id, outcome, timing, &mut self.member_io);
            if self.member_io.take_refusal(member) {
                self.member_io.record_event(|| Event::Ready { member });
                self.array.member_ready(member);
            }
            is_anything = true;
        }
        is_anything
    }

    /// Does the work that is possible now, or waits for the next event. Returns false when nothing is left to do.
    pub fn step(&mut self) -> bool {
        if self.turn() {
            return true;
        }
        if self.member_io.taken_over().is_some() {
            return false;
        }
        let at = self.next_wake();
        if self.member_io.backend.in_flight() > 0 || !self.hung.is_empty() {
            let now = self.clock.now();
            self.member_io.backend.wait(at.map(|at| Duration::from_nanos(at.saturating_sub(now))));
            return true;
        }
        let Some(at) = at else { return false };
        self.clock.wait_until(at);
        true
    }

    /// How long there is nothing to do unless a member or a host causes an event. None if nothing is waited for.
    pub fn wake_in(&self) -> Option<Duration> {
        let now = self.clock.now();
        let at = self.next_wake().map(|at| Duration::from_nanos(at.saturating_sub(now)));
        // Nothing else wakes this thread when another host takes the array over.
        let heartbeat = self.member_io.keeper.as_ref().map(|(keeper, _)| keeper.interval());
        [at, heartbeat, self.member_io.backend.patience()].into_iter().flatten().min()
    }

    /// Becomes readable when a member has completed an operation. None where [`Engine::turn`] itself waits for members.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.member_io.backend.fd()
    }

    /// Keeps the array for this host. `keeper` claimed it before the array was assembled.
    pub fn keep(&mut self, mut keeper: Keeper, superblock: &Superblock) {
        keeper.assembled(&self.opened.positions);
        self.member_io.keeper = Some((keeper, Box::new(superblock.clone())));
    }

    #[cfg(test)]
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.member_io.keeper.as_ref().expect("it is kept").0
    }

    /// The host that owns the array. None if the array has no owner page.
    pub fn owner(&self) -> Option<&Owner> {
        self.member_io.keeper.as_ref().map(|(keeper, _)| keeper.owner())
    }

    /// Whether this host still owns the array, or it has no owner.
    ///
    /// # Errors
    /// The host that took the array over. The engine writes nothing any more then; drop it.
    pub fn is_owner(&self) -> Result<(), EngineError> {
        self.member_io.taken_over().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Works until nothing is left to do.
    fn finish(&mut self) -> Result<(), EngineError> {
        while self.step() {
            if self.member_io.is_out_of_space_beyond_parity() {
                return Err(Failed::NoSpace.into());
            }
        }
        self.is_owner()
    }

    /// Notifies the controller when members run out of space, and when they have space again. Returns whether that
    /// changed.
    fn report_space(&mut self) -> bool {
        if self.member_io.is_out_of_space() {
            let is_gone =
                |&member: &MemberNo| self.array.is_failed(member) || self.array.is_incomplete(member);
            self.member_io
                .note_gone(bits(MemberNo::first(self.member_io.backend.count().into()).filter(is_gone)));
        }
        let is_out_of_space = self.member_io.is_out_of_space_beyond_parity();
        let has_changed = std::mem::replace(&mut self.was_out_of_space, is_out_of_space) != is_out_of_space;
        if has_changed {
            let now = self.clock.now();
            self.member_io.record_event(|| Event::OutOfSpace { now, is_out_of_space });
            self.array.set_out_of_space(now, is_out_of_space, &mut self.member_io);
        }
        has_changed
    }

    /// Notifies the controller which members have stalled, and which continue again. Returns whether that changed.
    fn report_stalls(&mut self) -> bool {
        if !self.watches() {
            return false;
        }
        let now = self.clock.now();
        let MemberIo { watch, .. } = &self.member_io;
        if now < watch.next_look() {
            return false;
        }
        let awaited: Vec<bool> = MemberNo::first(self.member_io.backend.count().into())
            .map(|member| self.member_io.is_awaited(member))
            .collect();
        let seen = self.member_io.watch.look(now, |member| awaited[member.index()]);
        for &(member, what) in &seen {
            if let Seen::Long(stalled_ns) = what {
                self.member_io.note_slow(member, stalled_ns);
                continue;
            }
            let is_slow = what == Seen::Slow;
            self.member_io.record_event(|| Event::Slow { now, member, is_slow });
            self.array.member_slow(now, member, is_slow, &mut self.member_io);
        }
        !seen.is_empty()
    }

    /// Whether stalled members are detected. They are not where this thread itself waits for each member, or
    /// where time is counted.
    fn watches(&self) -> bool {
        self.member_io.backend.is_over_before_taken() && !self.clock.is_counted()
    }

    /// Fails members whose owner page was not confirmed within the timeout of an operation, while writes wait for the
    /// confirmation. A member that hangs receives no operation that could time out, and the other members may be enough
    /// without it. Returns whether any member failed.
    fn fail_unconfirmed(&mut self) -> bool {
        let unconfirmed = self.member_io.unconfirmed();
        for &member in &unconfirmed {
            // The member exists.
            let _ = self.fail_because(member, Failure::Unconfirmed { waited: self.member_io.timeout });
        }
        !unconfirmed.is_empty()
    }

    /// Offers waiting operations to their members.
    fn dispatch(&mut self) {
        if let Some(scribe) = &mut self.member_io.scribe {
            scribe.dispatch();
        }
        self.array.dispatch(&mut self.member_io);
    }

    /// Whether no work is in flight.
    pub fn is_quiet(&self) -> bool {
        self.array.is_quiet() && self.member_io.jobs.is_idle()
    }

    /// Runs one request to completion.
    fn run(&mut self, request: Request) -> Result<Payload, EngineError> {
        let mut request = request;
        let ticket = loop {
            match self.submit(request) {
                Ok(ticket) => break ticket,
                Err(Rejected { error: SubmitError::Busy, request: back }) => request = back,
                Err(rejected) => return Err(rejected.into()),
            }
            let is_anything = self.step();
            self.is_owner()?;
            self.may_continue(is_anything)?;
        };
        loop {
            if let Some(completion) = self.member_io.jobs.take_done_of(ticket) {
                completion.result?;
                return Ok(completion.payload);
            }
            let is_anything = self.step();
            self.is_owner()?;
            self.may_continue(is_anything)?;
        }
    }

    /// Whether anything was done, or can be done later. Only a bug lets an array stop with requests in flight; a program
    /// that is asked to end must end all the same.
    fn may_continue(&self, is_anything: bool) -> Result<(), EngineError> {
        debug_assert!(is_anything, "a request that is not done waits for something");
        if is_anything { Ok(()) } else { Err(EngineError::Stuck) }
    }

    /// Checks that the array can take the request.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        let (offset, bytes, changes) = match *request {
            Request::Read { offset, ref into } => (offset, into.len() as u64, false),
            Request::Write { offset, ref data, .. } => (offset, data.len() as u64, true),
            Request::Zero { offset, bytes, .. } | Request::Trim { offset, bytes, .. } => {
                (offset, bytes, true)
            }
            Request::Flush => (0, SECTOR_BYTES.into(), false),
        };
        if changes && (self.is_read_only || self.member_io.taken_over().is_some()) {
            return Err(SubmitError::ReadOnly);
        }
        if changes && self.array.is_epoch_ending() {
            return Err(SubmitError::EpochOver);
        }
        let sector = u64::from(SECTOR_BYTES);
        if bytes == 0 || !offset.is_multiple_of(sector) || !bytes.is_multiple_of(sector) {
            return Err(SubmitError::Shape);
        }
        let capacity = self.capacity();
        if offset.checked_add(bytes).is_none_or(|end| end > capacity) && *request != Request::Flush {
            return Err(SubmitError::OutOfRange { capacity });
        }
        Ok(())
    }

    /// Whether trimmed bytes read as zeros.
    fn erases(&self) -> bool {
        self.array.scheme().placement.facts().trims_unmap
    }

    fn is_log(&self) -> bool {
        self.array.scheme().placement.facts().forms_stripes
    }

    /// Passes to the controller the parts that it has room for. A long request goes to members part by part, while the
    /// data is in the processor's cache. The next turn continues a trim that exceeds the limit of a turn.
    fn pump(&mut self) {
        let mut written = 0;
        while self.trimmed_bytes < TURN_TRIM_BYTES {
            let Some((host, payload)) = self.member_io.jobs.next_part() else { return };
            if let Err((host, payload)) = self.offer(host, payload) {
                return self.member_io.jobs.hold(host, payload);
            }
            match host.kind {
                RequestKind::Write => written += u64::from(host.bytes),
                RequestKind::Trim => self.trimmed_bytes += u64::from(host.bytes),
                RequestKind::Read | RequestKind::Flush => {}
            }
            if written >= self.member_io.jobs.write_bytes() {
                written = 0;
                self.has_event |= self.exchange();
            }
        }
        self.has_event = true;
    }

    fn offer(&mut self, host: HostRequest, payload: Payload) -> Result<(), (HostRequest, Payload)> {
        let now = self.clock.now();
        self.member_io.record_event(|| Event::Submitted { now, host });
        match self.array.submit(now, host, payload, &mut self.member_io) {
            Ok(()) => Ok(()),
            Err((SubmitError::Busy, payload)) => {
                self.member_io.record_event(|| Event::Busy);
                Err((host, payload))
            }
            Err((error, _)) => unreachable!("the request was looked at before, and is refused now: {error}"),
        }
    }

    /// When there is work again, if no member or host causes an event before.
    fn next_wake(&self) -> Option<Nanos> {
        let grant = self.pace.next_grant(&self.array, self.page_bytes());
        let retry = self.member_io.retry_in().map(|wait| self.clock.now() + wait.as_nanos() as Nanos);
        let is_awaited = |member| self.member_io.is_awaited(member);
        let looks = self.watches() && MemberNo::first(self.member_io.backend.count().into()).any(is_awaited);
        let look = looks.then(|| self.member_io.watch.next_look());
        let fence = self.member_io.holds_back().then(|| self.clock.now() + FENCED.as_nanos() as Nanos);
        let outage = self.outage_ends();
        let hung = self.hung_until();
        self.member_io
            .next_timer()
            .into_iter()
            .chain(outage)
            .chain(hung)
            .chain(grant)
            .chain(retry)
            .chain(look)
            .chain(fence)
            .min()
    }

    /// Notifies the controller of timers that have expired. Returns whether any had.
    fn fire_timers(&mut self) -> bool {
        let now = self.clock.now();
        let mut is_any = false;
        while self.member_io.next_timer().is_some_and(|at| at <= now) {
            self.member_io.take_timer();
            self.member_io.record_event(|| Event::Timer { now });
            self.array.timer(now, &mut self.member_io);
            is_any = true;
        }
        is_any
    }
}
