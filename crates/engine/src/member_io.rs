//! The driver below the controller: passes its operations to members, its timers to the clock, its acknowledgements to hosts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};
use std::{fmt, io};

use stripewise_array::coordination::GcControl;
use stripewise_array::format::Superblock;
use stripewise_array::health::{Ledger, Troubles};
use stripewise_array::{
    Acknowledgement, Admission, Class, Driver, MemberLoad, MemberNo, Operation, OperationId, OperationKind,
    Outcome, PageId, PlanId, PlanView, Timer,
};
use stripewise_base::Nanos;

use crate::backend::{Backend, Pages, Payload};
use crate::failure::Failure;
use crate::incidents::{Incident, Incidents};
use crate::jobs::Jobs;
use crate::out_of_space::{Waiting, bits};
use crate::owner::{Keeper, OwnerError};
use crate::recording::Recording;
use crate::stalls::{SLOW_NS, Watch};
use crate::store::outcome_of;
use crate::transcript::{Event, Scribe};

/// The longest time between two checks of a closed fence that counts as waiting.
const FENCE_LOOK: Duration = Duration::from_millis(100);

/// Receives every plan that the controller makes.
pub type Observer = Box<dyn FnMut(&PlanView<'_>) + Send>;

/// Operations on members so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that succeeded, by [`Class`].
    pub done: [u64; Class::COUNT],
    /// Operations that failed.
    pub errors: u64,
}

/// Operations of one member so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
    /// Pages trimmed.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Operations that failed.
    pub errors: u64,
}

/// The driver's state of one member.
#[derive(Debug, Default)]
struct Member {
    /// Operations in flight, and how many of them are flushes, and writes.
    in_flight: u32,
    flushes: u32,
    writes: u32,
    /// Whether it refused an operation since it was last reported ready.
    refused: bool,
    failure: Option<Failure>,
    last_error: Option<(Operation, io::Error)>,
    counts: MemberCounts,
    troubles: Ledger,
}

/// A completed operation, in the form that the controller takes.
pub(crate) struct MemberCompletion {
    pub(crate) id: OperationId,
    pub(crate) member: MemberNo,
    pub(crate) outcome: Outcome,
    pub(crate) took_ns: Nanos,
}

pub(crate) struct MemberIo<B> {
    /// The time of the controller, at the last completion.
    pub(crate) now: Nanos,
    pub(crate) backend: B,
    pub(crate) jobs: Jobs,
    members: Vec<Member>,
    /// Operations that a member accepts at once.
    window: u32,
    timers: BinaryHeap<Reverse<Nanos>>,
    pub(crate) observer: Option<Observer>,
    /// Writes the transcript: the events of the controller and its answers.
    pub(crate) scribe: Option<Box<Scribe>>,
    /// Records the operations of members, for tests.
    pub(crate) recording: Option<Box<Recording>>,
    counts: Counts,
    /// Writes that failed for lack of space.
    out_of_space: Waiting,
    /// Detects stalled members.
    pub(crate) watch: Watch,
    pub(crate) incidents: Incidents,
    /// Grows with each trouble of a member.
    pub(crate) trouble_count: u64,
    /// The members that are being rebuilt, as a mask: writes to them do not count as repairs.
    pub(crate) rebuilt: u64,
    /// How long an operation may take.
    pub(crate) timeout: Duration,
    fence: Fence,
    /// Keeps the array for this host, with the superblock that locates the owner pages. It comes after the backend,
    /// so that it is released last.
    pub(crate) keeper: Option<(Keeper, Box<Superblock>)>,
}

/// Keeps writes from members while this host cannot confirm that it owns the array.
///
/// The fence guarantees that no two hosts write to a member. `review` in `owner/state.rs` decides when it is open.
/// While it is closed, members receive reads only. Writes wait in the controller's queues, and end there when their
/// member fails. Reads, completions and timeouts change nothing on members, so they continue: a member that hangs fails
/// after its timeout and need not confirm from then on, and the fence opens if the other members confirm.
#[derive(Debug, Default)]
struct Fence {
    is_closed: bool,
    /// The time of the last check, and how long writes have waited. A pause in which the whole program was stopped
    /// counts for little.
    looked: Option<Instant>,
    waited: Duration,
}

impl<B: Backend> fmt::Debug for MemberIo<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberIo").field("backend", &self.backend.name()).finish_non_exhaustive()
    }
}

impl<B: Backend> MemberIo<B> {
    /// A driver over `backend`. Each member accepts at most `window` operations at once, and at least one. Writes that
    /// find no space wait in `out_of_space`.
    pub(crate) fn new(
        backend: B,
        window: u32,
        jobs: Jobs,
        out_of_space: Waiting,
        watch: Watch,
        timeout: Duration,
    ) -> Self {
        Self {
            members: MemberNo::first(backend.count().into()).map(|_| Member::default()).collect(),
            backend,
            jobs,
            window: window.max(1),
            timers: BinaryHeap::new(),
            observer: None,
            scribe: None,
            recording: None,
            counts: Counts::default(),
            out_of_space,
            watch,
            incidents: Incidents::default(),
            trouble_count: 0,
            now: 0,
            rebuilt: 0,
            timeout,
            fence: Fence::default(),
            keeper: None,
        }
    }

    /// Closes the fence if this host cannot confirm that it owns the array, else opens it. Returns the members that
    /// accept operations again because the fence opened.
    pub(crate) fn look_at_fence(&mut self) -> Vec<MemberNo> {
        let Some((keeper, _)) = &self.keeper else { return Vec::new() };
        let is_closed = !keeper.may_write();
        let was_closed = std::mem::replace(&mut self.fence.is_closed, is_closed);
        if !is_closed && !was_closed {
            return Vec::new();
        }
        self.backend.hold_writes(is_closed);
        if is_closed != was_closed {
            self.incidents.note(if is_closed { Incident::Fenced } else { Incident::Unfenced });
        }
        if is_closed {
            return Vec::new();
        }
        self.fence = Fence::default();
        MemberNo::first(self.backend.count().into()).filter(|&member| self.take_refusal(member)).collect()
    }

    /// Counts how long writes have waited at a closed fence. Call it when all operations that can start have started.
    pub(crate) fn wait_at_fence(&mut self) {
        if !self.fence.is_closed {
            return;
        }
        let holds_back = self.holds_back();
        let now = Instant::now();
        let looked = self.fence.looked.replace(now).filter(|_| holds_back);
        let passed = looked.map_or(Duration::ZERO, |looked| (now - looked).min(FENCE_LOOK));
        self.fence.waited = if holds_back { self.fence.waited + passed } else { Duration::ZERO };
    }

    /// Whether writes wait because the fence is closed.
    pub(crate) fn holds_back(&self) -> bool {
        self.fence.is_closed && self.members.iter().any(|member| member.refused && member.failure.is_none())
    }

    /// Members whose owner page is unconfirmed, when writes have waited for as long as the timeout of an operation.
    pub(crate) fn unconfirmed(&self) -> Vec<MemberNo> {
        let Some((keeper, _)) = &self.keeper else { return Vec::new() };
        if self.fence.waited < self.timeout || !self.fence.is_closed {
            return Vec::new();
        }
        let serves = |member: &MemberNo| self.members[member.index()].failure.is_none();
        let is_silent = |member: &MemberNo| !keeper.is_confirmed(*member, self.timeout);
        MemberNo::first(self.backend.count().into()).filter(serves).filter(is_silent).collect()
    }

    /// The host that took the array over, if there is one.
    pub(crate) fn taken_over(&self) -> Option<OwnerError> {
        self.keeper.as_ref().and_then(|(keeper, _)| keeper.taken_over())
    }

    /// Writes an event or an answer of the controller to the transcript, if there is one.
    #[inline]
    pub(crate) fn record_event(&mut self, event: impl FnOnce() -> Event) {
        if let Some(scribe) = &mut self.scribe {
            scribe.note(&event());
        }
    }

    /// Whether writes wait for space.
    pub(crate) fn is_out_of_space(&self) -> bool {
        self.out_of_space.is_any()
    }

    /// Notes which members the array runs without, one bit each.
    pub(crate) fn note_gone(&mut self, members: u64) {
        self.out_of_space.gone = members;
    }

    /// Whether more members are out of space than parity tolerates, so that hosts receive errors.
    pub(crate) fn is_out_of_space_beyond_parity(&self) -> bool {
        self.out_of_space.is_felt()
    }

    /// Whether this has lasted so long that earlier requests fail too.
    pub(crate) fn is_out_of_space_for_long(&self) -> bool {
        self.out_of_space.is_lasting()
    }

    /// How long until the next retry of a write that waits for space.
    pub(crate) fn retry_in(&self) -> Option<Duration> {
        self.out_of_space.due_in()
    }

    /// Retries writes that found no space, if the retry is due.
    pub(crate) fn retry(&mut self, memory: &mut Pages) {
        if self.fence.is_closed {
            return;
        }
        while let Some(one) = self.out_of_space.take_due() {
            let member = &mut self.members[one.operation.member.index()];
            member.in_flight += 1;
            member.writes += u32::from(one.operation.kind == OperationKind::Write);
            self.backend.start(one.id, &one.operation, one.page, memory);
        }
    }

    /// The next completed operation.
    pub(crate) fn take(&mut self, memory: &mut Pages) -> Option<MemberCompletion> {
        let ended = loop {
            let ended = self.backend.take(memory)?;
            let member = &mut self.members[ended.operation.member.index()];
            member.in_flight -= 1;
            member.flushes -= u32::from(ended.operation.kind == OperationKind::Flush);
            member.writes -= u32::from(ended.operation.kind == OperationKind::Write);
            self.watch.moved(ended.operation.member);
            if let Some(recording) = self.recording.as_mut().filter(|_| ended.result.is_ok()) {
                recording.succeeded(ended.operation.member, ended.id, ended.operation.kind);
            }
            if ended.result.is_ok() && !self.out_of_space.is_any() {
                break ended;
            }
            if member.failure.is_some() {
                self.out_of_space.forget(ended.id);
                break ended;
            }
            if ended.operation.kind == OperationKind::Flush {
                // The writes that it was to cover may be lost, and another flush would not report that.
                break ended;
            }
            let together = || run_out_together(&self.backend, ended.operation.member);
            if !self.out_of_space.keeps(&ended, together) {
                break ended;
            }
        };
        let operation = ended.operation;
        let page_bytes = self.jobs.page_bytes();
        if ended.took_ns > SLOW_NS && !self.watch.is_long(operation.member) {
            self.note_slow(operation.member, ended.took_ns);
        }
        let member = &mut self.members[operation.member.index()];
        let outcome = match ended.result {
            // The result does not matter: the array no longer uses this member.
            _ if member.failure.is_some() => Outcome::Gone,
            Ok(()) => {
                let counts = &mut member.counts;
                *match operation.kind {
                    OperationKind::Read => &mut counts.reads,
                    OperationKind::Write => &mut counts.writes,
                    OperationKind::Trim => &mut counts.trims,
                    OperationKind::Flush => &mut counts.flushes,
                } += 1;
                self.counts.done[operation.class as usize] += 1;
                let is_rebuilt = operation.member.is_in(self.rebuilt);
                if operation.class == Class::Repair && operation.kind == OperationKind::Write && !is_rebuilt {
                    member.troubles.repaired();
                    self.trouble_count += 1;
                }
                if let Some(scribe) = self.scribe.as_mut().filter(|_| operation.kind == OperationKind::Read) {
                    scribe.read(&operation, memory.page(ended.page));
                }
                Outcome::Done
            }
            Err(error) => {
                self.counts.errors += 1;
                member.counts.errors += 1;
                let outcome = outcome_of(&error);
                member.troubles.failed(self.now, operation.kind, outcome, (operation.page, page_bytes));
                self.trouble_count += 1;
                member.last_error = Some((operation, error));
                outcome
            }
        };
        if let Some(scribe) = &mut self.scribe {
            scribe.over(&operation);
        }
        Some(MemberCompletion { id: ended.id, member: operation.member, outcome, took_ns: ended.took_ns })
    }

    /// Whether `member` refused an operation since the last call, so that it must be reported ready.
    pub(crate) fn take_refusal(&mut self, member: MemberNo) -> bool {
        std::mem::take(&mut self.members[member.index()].refused)
    }

    /// The earliest timer of the controller.
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        self.timers.peek().map(|&Reverse(at)| at)
    }

    /// Removes the earliest timer of the controller.
    pub(crate) fn take_timer(&mut self) {
        self.timers.pop();
    }

    /// Takes a member out of service: operations that it has not completed end as gone.
    pub(crate) fn fail(&mut self, member: MemberNo, why: Failure) {
        let place = &mut self.members[member.index()];
        if place.failure.is_none() {
            let is_timeout = matches!(why, Failure::Unconfirmed { .. } | Failure::Hung { .. });
            self.incidents.note(Incident::Failed { member, reason: why.to_string(), is_timeout });
        }
        place.failure.get_or_insert(why);
        self.leave(member);
    }

    /// From now on the array runs without this member.
    fn leave(&mut self, member: MemberNo) {
        self.watch.forget(member);
        if let Some((keeper, _)) = &mut self.keeper {
            keeper.retire(member);
        }
        self.backend.close(member);
    }

    /// Puts a member back into service.
    pub(crate) fn restore(&mut self, member: MemberNo, store: B::Member) {
        let place = &mut self.members[member.index()];
        (place.failure, place.last_error) = (None, None);
        self.watch.forget(member);
        if let Some((keeper, block)) = &mut self.keeper
            && let Some((handle, pages)) = B::handle(&store)
        {
            keeper.add(member, block, handle, pages);
        }
        self.backend.put(member, store);
        if let Some((recording, path)) = self.recording.as_mut().zip(self.backend.path(member)) {
            recording.put(member, path);
        }
    }

    /// Why a member is out of service; `None` while it serves.
    pub(crate) fn failure(&self, member: MemberNo) -> Option<&Failure> {
        self.members[member.index()].failure.as_ref()
    }

    /// Whether the member owes an answer to a read, a write or a trim. A flush may legitimately take long.
    pub(crate) fn is_awaited(&self, member: MemberNo) -> bool {
        let member = &self.members[member.index()];
        member.in_flight > member.flushes && member.failure.is_none()
    }

    /// Whether the member owes an answer to a write.
    pub(crate) fn is_writing(&self, member: MemberNo) -> bool {
        let member = &self.members[member.index()];
        member.writes > 0 && member.failure.is_none()
    }

    /// Counts a timeout of a member that hangs.
    pub(crate) fn note_hang(&mut self, member: MemberNo) {
        let page_bytes = self.jobs.page_bytes();
        let troubles = &mut self.members[member.index()].troubles;
        troubles.failed(self.now, OperationKind::Write, Outcome::Timeout, (0, page_bytes));
        self.trouble_count += 1;
    }

    /// Operations that the member has accepted and not completed.
    pub(crate) fn in_flight(&self, member: MemberNo) -> u32 {
        self.members[member.index()].in_flight + self.out_of_space.waiting_for(member)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn counts_of(&self, member: MemberNo) -> MemberCounts {
        self.members[member.index()].counts
    }

    pub(crate) fn troubles_of(&self, member: MemberNo) -> Troubles {
        self.members[member.index()].troubles.counts()
    }

    /// Notes that an operation on a member takes long, or that the member has stood still for long.
    pub(crate) fn note_slow(&mut self, member: MemberNo, took_ns: Nanos) {
        let slow = self.members[member.index()].troubles.slow();
        self.trouble_count += 1;
        // The counter covers the rest of a burst.
        if slow.is_power_of_two() {
            self.incidents.note(Incident::Slow { member, took_ns });
        }
    }
}

impl<B> MemberLoad for MemberIo<B> {}

impl<B: Backend> Timer for MemberIo<B> {
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(Reverse(at));
    }
}

impl<B: Backend> GcControl for MemberIo<B> {}

impl<B: Backend> Driver<Pages> for MemberIo<B> {
    const OBSERVES: bool = true;

    #[inline]
    fn admits(&mut self, operation: &Operation) -> Admission {
        let is_held = self.fence.is_closed && operation.kind != OperationKind::Read;
        let member = &mut self.members[operation.member.index()];
        if member.in_flight < self.window && !is_held {
            return Admission::Admitted;
        }
        member.refused = true;
        self.record_event(|| Event::Refused);
        Admission::Closed
    }

    #[inline]
    fn start(&mut self, id: OperationId, operation: &Operation, page: PageId, memory: &mut Pages) {
        let member = &mut self.members[operation.member.index()];
        member.in_flight += 1;
        member.flushes += u32::from(operation.kind == OperationKind::Flush);
        member.writes += u32::from(operation.kind == OperationKind::Write);
        if let Some(scribe) = &mut self.scribe {
            let has_bytes = operation.kind == OperationKind::Write;
            scribe.start(id, operation, if has_bytes { memory.page(page) } else { &[] });
        }
        if let Some(recording) = &mut self.recording {
            let content = if operation.kind == OperationKind::Write { memory.page(page) } else { &[] };
            recording.begins(operation.member, id, (operation.kind, operation.page), content);
        }
        self.backend.start(id, operation, page, memory);
    }

    fn compute(&mut self, _plan: PlanId, _pages: u32) -> bool {
        // The controller has the bytes and computes them itself, so there is nothing to wait for.
        true
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Payload) {
        let &Acknowledgement { tag, failed, no_space, .. } = acknowledgement;
        self.record_event(|| Event::Acknowledged { tag, failed, no_space });
        self.jobs.part_over(acknowledgement, payload);
    }

    fn member_failed(&mut self, member: MemberNo) {
        let place = &mut self.members[member.index()];
        let why = match place.last_error.take() {
            Some((operation, error)) => Failure::Error { operation, error },
            None => Failure::Requested,
        };
        let is_timeout =
            matches!(&why, Failure::Error { error, .. } if outcome_of(error) == Outcome::Timeout);
        self.incidents.note(Incident::Failed { member, reason: why.to_string(), is_timeout });
        place.failure = Some(why);
        self.leave(member);
        self.record_event(|| Event::MemberFailed { member });
    }

    fn mismatched(&mut self, member: MemberNo, page: u32) {
        self.members[member.index()].troubles.mismatched(page);
        self.trouble_count += 1;
    }

    #[inline]
    fn planned(&mut self, plan: &PlanView<'_>) {
        if let Some(observer) = &mut self.observer {
            observer(plan);
        }
    }
}

/// The members that have no space if `member` has none, one bit each: those with files in the same file system.
fn run_out_together<B: Backend>(backend: &B, member: MemberNo) -> u64 {
    let here = backend.file_system(member);
    let is_beside =
        |&other: &MemberNo| other == member || here.is_some() && backend.file_system(other) == here;
    bits(MemberNo::first(backend.count().into()).filter(is_beside))
}
