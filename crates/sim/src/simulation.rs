//! The event loop: one array over modelled flash, one host, one clock.
//!
//! Events of equal time are handled in a fixed order (in order of scheduling, then arrivals), so a run is a function
//! of its inputs alone.

mod controls;
mod restart;
mod state;

use stripewise_array::coordination::{Ahead, GcControl, GcPermit, GcTurn};
use stripewise_array::update::{Choice, ParityUpdate, Routine};
use stripewise_array::{
    Acknowledgement, Admission, Array, Controller, Driver, HostRequest, MemberLoad, MemberNo, Members,
    Memory, Operation, OperationId, OperationKind, Outcome, PlanId, PlanView, Scheme, SchemeError,
    SubmitError, Timer, Timing,
};
use stripewise_base::Nanos;
use stripewise_base::agenda::{Agenda, Event};
use stripewise_flash::{DeviceSpec, Done, Flash, Hold, Media, Op, OpKind, Permit, Shape};

use state::State;

/// Transfer of content between the controller's memory and the medium. Timed simulation transfers nothing; checking
/// simulation transfers real bytes.
pub trait Content<M: Memory>: Media {
    /// Operation `id` is about to write the content of `page`.
    fn stage(&mut self, id: OperationId, page: u32, memory: &M);
    /// Operation `id` has read: its content goes to `page`.
    fn fetch(&mut self, id: OperationId, page: u32, memory: &mut M);
    /// Operation `id` starts in its member.
    #[inline(always)]
    fn started(&mut self, _now: Nanos, _id: OperationId, _operation: &Operation) {}
    /// Operation `id` has left its member.
    #[inline(always)]
    fn ended(&mut self, _now: Nanos, _id: OperationId) {}
    /// Delay of the answer of `operation` after its end, in ns: the point at which stalls are injected.
    fn late_ns(&mut self, _operation: &Operation) -> Nanos {
        0
    }
    /// Outcome of operation `id`, which ran: the point at which media faults are injected.
    fn outcome(&mut self, _id: OperationId, _operation: &Operation) -> Outcome {
        Outcome::Done
    }
}

impl Content<stripewise_array::NoMemory> for () {
    #[inline]
    fn stage(&mut self, _: OperationId, _: u32, _: &stripewise_array::NoMemory) {}
    #[inline]
    fn fetch(&mut self, _: OperationId, _: u32, _: &mut stripewise_array::NoMemory) {}
}

/// When the host sends its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time; now, if this time is not in the future.
    At(Nanos),
    /// After an acknowledgement.
    Waiting,
    /// Never.
    End,
}

/// The source of requests: a replayed trace, or a checking workload.
pub trait Host<M: Memory> {
    /// Whether plans are passed to [`Host::planned`].
    const OBSERVES: bool = false;
    /// Whether [`Host::next`] says the same until a request is taken or acknowledged, but for a time that comes. It is then asked
    /// only after these, and not at every event.
    const IS_STEADY: bool = false;

    /// When the next request is due.
    fn next(&mut self, now: Nanos) -> Next;
    /// The request that is due, with its payload.
    fn take(&mut self, now: Nanos) -> (HostRequest, M::Host);
    /// The array accepted the last request. The arguments are the numbers of members with an operation queued or in
    /// flight before and after it.
    fn submitted(&mut self, _busy_before: u32, _busy_after: u32) {}
    /// The array did not accept the request; it is due again after an acknowledgement.
    fn refused(&mut self, request: HostRequest, payload: M::Host, error: SubmitError);
    /// A request is acknowledged.
    fn acknowledged(&mut self, now: Nanos, acknowledgement: &Acknowledgement, payload: M::Host);
    /// A page operation ended, this long after it was put into its member's queue.
    fn operated(&mut self, _operation: &Operation, _latency_ns: Nanos) {}
    /// The controller made a plan.
    fn planned(&mut self, _plan: &PlanView<'_>) {}
    /// The controller decided a parity update.
    fn updated(&mut self, _update: &ParityUpdate) {}
    /// The routine of a parity update under the policy `custom`; `None` takes Baseline's routine.
    fn choose(&mut self, _choice: &Choice<'_>, _state: &dyn MemberLoad) -> Option<Routine> {
        None
    }
    /// The arrival time of the first request before `until` for which `is_meant` returns true, as far as it is known.
    fn next_arrival(
        &mut self,
        _until: Nanos,
        _is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        None
    }
    /// First bytes of the next requests, if known; each is reported once.
    fn preview(&mut self) -> &[u64] {
        &[]
    }
}

/// Pages moved on one member, by class of operation.
pub type ClassCounts = [u64; stripewise_array::Class::COUNT];

/// Events other than those of the flash: their numbers count from the top.
const COMPUTED: Event = 1 << 30;
const TIMER: Event = 1 << 31;
const LATE: Event = 3 << 30;

/// The environment of the controller: flash, time and host.
pub struct World<M: Memory, C: Content<M>, H: Host<M>> {
    /// The modelled flash.
    pub flash: Flash<C>,
    /// The host.
    pub host: H,
    /// Operations started, by member and class.
    pub counts: Vec<ClassCounts>,
    agenda: Agenda,
    now: Nanos,
    xor_ns: Nanos,
    /// Time of a page on the parity engine, and the time until which the engine is busy.
    combine_ns: Nanos,
    engine_busy: Nanos,
    in_flight: Vec<Flight>,
    gone: Vec<bool>,
    any_gone: bool,
    acknowledged: u64,
    memory: std::marker::PhantomData<M>,
}

/// An operation in flight in the flash.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    operation: Operation,
    page: u32,
}

impl<M: Memory, C: Content<M>, H: Host<M>> MemberLoad for World<M, C, H> {
    fn gc_average_ns(&self, member: MemberNo) -> Nanos {
        self.state().gc_average_ns(member)
    }
    fn gc_remaining_ns(&self, member: MemberNo) -> Nanos {
        self.state().gc_remaining_ns(member)
    }
    fn read_ns(&self, member: MemberNo, page: u32, old_version: bool) -> Option<Nanos> {
        self.state().read_ns(member, page, old_version)
    }
    fn gc_wait_ns(&self, member: MemberNo, page: u32) -> Option<Nanos> {
        self.state().gc_wait_ns(member, page)
    }
    fn start_ns(&self, member: MemberNo, page: u32) -> Option<Nanos> {
        self.state().start_ns(member, page)
    }
    fn write_ns(&self, member: MemberNo) -> Option<Nanos> {
        self.state().write_ns(member)
    }
    fn gc_active(&self, member: MemberNo) -> Option<bool> {
        self.state().gc_active(member)
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>> World<M, C, H> {
    fn state(&self) -> State<'_, C> {
        State { flash: &self.flash, now: self.now }
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>> Timer for World<M, C, H> {
    fn set_timer(&mut self, at: Nanos) {
        self.agenda.schedule(at, TIMER);
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>> GcControl for World<M, C, H> {
    fn permit_gc(&mut self, member: MemberNo, permit: GcPermit) {
        let ahead = permit.ahead.blocks(self.flash.shape().blocks_per_plane);
        let permit = Permit { blocks: permit.blocks, ahead, ahead_planes: permit.ahead_planes };
        self.flash.permit_gc(self.now, member.number().into(), permit, &mut self.agenda);
    }

    fn forbid_gc(&mut self, member: MemberNo) {
        self.flash.forbid_gc(member.number().into());
    }

    fn gc_turn(&self, member: MemberNo) -> GcTurn {
        let turn = self.flash.gc_turn(member.number().into());
        GcTurn { collects: turn.collects, need: turn.need }
    }

    fn is_near_gc(&self, member: MemberNo, ahead: Ahead) -> bool {
        self.flash.is_near_gc(member.number().into(), ahead.blocks(self.flash.shape().blocks_per_plane))
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>> Driver<M> for World<M, C, H> {
    const OBSERVES: bool = H::OBSERVES;

    #[inline]
    fn admits(&mut self, operation: &Operation) -> Admission {
        match self.flash.admits(
            self.now,
            u32::from(operation.member.number()),
            &op(operation),
            &mut self.agenda,
        ) {
            stripewise_flash::Admission::Admitted => Admission::Admitted,
            stripewise_flash::Admission::Refused(hold) => Admission::Refused(hold.number()),
            stripewise_flash::Admission::Closed => Admission::Closed,
        }
    }

    #[inline]
    fn still_refuses(&mut self, operation: &Operation, reason: u64) -> bool {
        self.flash.still_holds(u32::from(operation.member.number()), &op(operation), Hold::of_number(reason))
    }

    #[inline]
    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut M) {
        self.counts[operation.member.index()][operation.class as usize] += 1;
        if M::CARRIES_DATA && operation.kind == OperationKind::Write {
            self.flash.media_mut().stage(id, page, memory);
        }
        if self.in_flight.len() <= id.index() {
            self.in_flight.resize(id.index() + 1, Flight::default());
        }
        self.in_flight[id.index()] = Flight { operation: *operation, page };
        self.flash.media_mut().started(self.now, id, operation);
        self.flash.start(
            self.now,
            u32::from(operation.member.number()),
            id.number(),
            op(operation),
            &mut self.agenda,
        );
    }

    fn compute(&mut self, plan: PlanId, pages: u32) -> bool {
        if pages == 0 || self.xor_ns + self.combine_ns == 0 {
            return true;
        }
        let mut at = self.now;
        if self.combine_ns > 0 {
            self.engine_busy = self.engine_busy.max(at) + self.combine_ns * u64::from(pages);
            at = self.engine_busy;
        }
        self.agenda.schedule(at + self.xor_ns, COMPUTED | plan.number());
        false
    }

    #[inline]
    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: M::Host) {
        self.acknowledged += 1;
        self.host.acknowledged(self.now, acknowledgement, payload);
    }

    #[inline]
    fn gc_clock(&self, member: MemberNo) -> Nanos {
        self.flash.gc_clock(self.now, u32::from(member.number()))
    }

    fn release(&mut self, member: MemberNo, page: u32) {
        self.flash.release(self.now, member.number().into(), page, &mut self.agenda);
    }

    fn member_failed(&mut self, member: MemberNo) {
        self.gone[member.index()] = true;
        self.any_gone = true;
    }

    fn choose(&mut self, choice: &Choice<'_>) -> Option<Routine> {
        let state = State { flash: &self.flash, now: self.now };
        self.host.choose(choice, &state)
    }

    #[inline]
    fn updated(&mut self, update: &ParityUpdate) {
        self.host.updated(update);
    }

    fn next_arrival(
        &mut self,
        until: Nanos,
        is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        self.host.next_arrival(until, is_meant)
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        self.host.planned(plan);
    }
}

#[inline]
fn op(operation: &Operation) -> Op {
    let kind = match operation.kind {
        OperationKind::Read => OpKind::Read,
        OperationKind::Write => OpKind::Program,
        OperationKind::Trim => OpKind::Trim,
        OperationKind::Flush => OpKind::Flush,
    };
    let Operation { page, old_version, stream, request, .. } = *operation;
    Op { kind, page, old_version, stream, request }
}

/// The capabilities of modelled members.
pub fn members(spec: &DeviceSpec, shape: &Shape) -> Members {
    Members {
        count: shape.members,
        page_bytes: u32::try_from(spec.geometry.page_bytes.0).unwrap_or(u32::MAX),
        pages: shape.logical_pages,
        volatile_cache: false,
        discard: true,
        old_versions: spec.old_versions(shape),
        gc_control: true,
        gc_state: true,
        streams: spec.ftl.streams,
    }
}

/// An array, its flash and its host, under simulated time. The controller is an [`Array`] unless a test brings its own.
pub struct Simulation<M: Memory, C: Content<M>, H: Host<M>, A: Controller<M> = Array<M>> {
    /// The controller.
    pub array: A,
    /// The environment of the controller.
    pub world: World<M, C, H>,
    done: Vec<Done>,
    /// Operations that the flash has finished and not yet answered.
    late: Vec<Done>,
    /// What a steady host said last of its next request, and the number of acknowledgements then.
    next: Option<(u64, Next)>,
    /// Number of acknowledgements when the array last had no space for a request: it has none until the next
    /// acknowledgement.
    busy_at: Option<u64>,
    /// The flash's maps are larger than the processor's caches.
    large: bool,
    /// Members and pages that the next requests will use.
    ahead: Vec<(u32, u32)>,
    /// Until this time a step continues over events that change nothing outside the flash; 0 for one event a step.
    pub(crate) quiet_until: Nanos,
}

/// Size of the maps, in bytes, from which fetching their entries early pays off.
const LARGE_BYTES: u64 = 8 << 20;

impl<M: Memory, C: Content<M>, H: Host<M>> Simulation<M, C, H> {
    /// An array of `scheme` over `flash`, whose pages have `page_bytes`, with requests from `host`.
    ///
    /// # Errors
    /// If the scheme is invalid over this flash.
    pub fn new(
        scheme: &Scheme,
        flash: Flash<C>,
        page_bytes: u32,
        memory: M,
        host: H,
    ) -> Result<Self, SchemeError> {
        let members = Members { page_bytes, ..members(flash.spec(), flash.shape()) };
        Self::with_members(scheme, members, flash, memory, host)
    }

    /// [`Self::new`] over flash that is described by `members`, which may have fewer capabilities.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_members(
        scheme: &Scheme,
        members: Members,
        flash: Flash<C>,
        memory: M,
        host: H,
    ) -> Result<Self, SchemeError> {
        Ok(Self::over(Array::new(scheme, members, memory)?, flash, host, 0))
    }
}

impl<M: Memory, C: Content<M>, H: Host<M>, A: Controller<M>> Simulation<M, C, H, A> {
    /// The current simulated time.
    pub fn now(&self) -> Nanos {
        self.world.now
    }

    /// Runs until the host has no more requests and none are in flight.
    pub fn run(&mut self) {
        while self.step() {}
    }

    /// Sends every request that is due, then handles the next event. Returns false if there is neither.
    #[inline]
    pub fn step(&mut self) -> bool {
        let arrival = self.arrive();
        self.advance(arrival)
    }

    /// The first half of a step: sends every request that is due and starts every operation that can start. Returns
    /// the time of the next arrival, if known. Until [`Self::next_time`] the state does not change.
    #[inline]
    pub fn arrive(&mut self) -> Option<Nanos> {
        if self.large {
            self.fetch_early();
        }
        let arrival = self.submit_due();
        self.array.dispatch(&mut self.world);
        // A member that is asked may find that it has nothing to collect, and so become ready.
        while self.report_ready() {
            self.array.dispatch(&mut self.world);
        }
        arrival
    }

    /// Loads the map entries that the next requests will need into the processor's caches, with all misses
    /// outstanding at once.
    fn fetch_early(&mut self) {
        let bytes = self.world.host.preview();
        if bytes.is_empty() {
            return;
        }
        self.ahead.clear();
        for &byte in bytes {
            if let Some((data, parity, page)) = self.array.homes(byte) {
                self.ahead.push((u32::from(data.number()), page));
                self.ahead.extend(parity.map(|parity| (u32::from(parity.number()), page)));
            }
        }
        self.world.flash.touch_all(&self.ahead);
    }

    /// The time of the next event or arrival, given the next arrival.
    pub fn next_time(&mut self, arrival: Option<Nanos>) -> Option<Nanos> {
        let event = self.world.agenda.next_time();
        event.into_iter().chain(arrival).min()
    }

    /// The second half of a step: advances time to the next event, which is handled, or to the next arrival.
    #[inline]
    pub fn advance(&mut self, arrival: Option<Nanos>) -> bool {
        let event = self.world.agenda.next_time();
        match (event, arrival) {
            (None, None) => false,
            (Some(time), arrival) if arrival.is_none_or(|arrival| time <= arrival) => {
                let until = arrival.map_or(self.quiet_until, |arrival| arrival.min(self.quiet_until));
                let is_near = |time: Nanos| until > 0 && time <= until;
                while !self.handle_next() && self.world.agenda.next_time().is_some_and(is_near) {}
                true
            }
            (_, arrival) => {
                self.world.now = arrival.unwrap_or(self.world.now);
                true
            }
        }
    }

    /// Submits the requests that are due; returns the time of the next arrival, if known.
    #[inline]
    fn submit_due(&mut self) -> Option<Nanos> {
        if H::IS_STEADY
            && let Some((acknowledged, next)) = self.next
            && acknowledged == self.world.acknowledged
        {
            match next {
                Next::At(time) if time > self.world.now => {
                    debug_assert_eq!(self.world.host.next(self.world.now), next, "a host that is not steady");
                    return Some(time);
                }
                Next::At(_) => {}
                Next::Waiting | Next::End => {
                    debug_assert_eq!(self.world.host.next(self.world.now), next, "a host that is not steady");
                    return None;
                }
            }
        }
        while self.busy_at != Some(self.world.acknowledged) {
            let next = self.world.host.next(self.world.now);
            self.next = Some((self.world.acknowledged, next));
            match next {
                Next::At(time) if time <= self.world.now => {
                    let (request, payload) = self.world.host.take(self.world.now);
                    let busy = self.array.loads().busy();
                    match self.array.submit(self.world.now, request, payload, &mut self.world) {
                        Ok(()) => self.world.host.submitted(busy, self.array.loads().busy()),
                        Err((error, payload)) => {
                            if error == SubmitError::Busy {
                                self.busy_at = Some(self.world.acknowledged);
                            }
                            self.world.host.refused(request, payload, error);
                        }
                    }
                }
                Next::At(time) => return Some(time),
                Next::Waiting | Next::End => return None,
            }
        }
        None
    }

    /// Handles the next event. Returns whether it may have changed anything outside the flash.
    #[inline]
    fn handle_next(&mut self) -> bool {
        let Some((now, event)) = self.world.agenda.pop() else { return true };
        self.world.now = now;
        if event < COMPUTED {
            self.world.flash.handle(now, event, &mut self.world.agenda, &mut self.done);
            if self.done.is_empty() && !self.world.flash.has_reports() {
                return false;
            }
            self.report_done();
        } else if event < TIMER {
            self.array.computed(now, PlanId::new(event - COMPUTED), &mut self.world);
        } else if event < LATE {
            self.array.timer(now, &mut self.world);
        } else if let Some(at) = self.late.iter().position(|done| done.token == event - LATE) {
            let done = self.late.swap_remove(at);
            self.report(done);
        }
        self.report_ready();
        true
    }

    /// Reports to the array which members may admit operations that they refused. Returns whether there was one.
    #[inline]
    fn report_ready(&mut self) -> bool {
        self.world.flash.has_reports() && self.report_members()
    }

    fn report_members(&mut self) -> bool {
        let mut any = false;
        while let Some(member) = self.world.flash.next_gc_event() {
            self.array.gc_event(self.world.now, MemberNo::at(member as usize), &mut self.world);
        }
        while let Some(member) = self.world.flash.next_ready() {
            self.array.member_ready(MemberNo::at(member as usize));
            any = true;
        }
        any
    }

    #[inline]
    fn report_done(&mut self) {
        let mut index = 0;
        while index < self.done.len() {
            let done = self.done[index];
            index += 1;
            if M::CARRIES_DATA {
                let operation = self.world.in_flight[done.token as usize].operation;
                let late_ns = self.world.flash.media_mut().late_ns(&operation);
                if late_ns > 0 {
                    self.late.push(done);
                    self.world.agenda.schedule(self.world.now + late_ns, LATE | done.token);
                    continue;
                }
            }
            self.report(done);
        }
        self.done.clear();
    }

    /// Reports a finished operation to the array.
    #[inline]
    fn report(&mut self, done: Done) {
        let id = OperationId::new(done.token);
        let timing = Timing { bus_ns: done.bus_ns, cell_ns: done.cell_ns, gc_wait_ns: done.gc_wait_ns };
        let Flight { operation, page } = self.world.in_flight[id.index()];
        self.world.flash.media_mut().ended(self.world.now, id);
        let mut outcome = Outcome::Done;
        if self.world.any_gone && self.world.gone[operation.member.index()] {
            outcome = Outcome::Gone;
        } else if M::CARRIES_DATA {
            outcome = self.world.flash.media_mut().outcome(id, &operation);
        }
        if M::CARRIES_DATA && operation.kind == OperationKind::Read && outcome == Outcome::Done {
            self.world.flash.media_mut().fetch(id, page, self.array.memory());
        }
        let latency_ns = self.world.now - self.array.queued_at(id);
        self.world.host.operated(&operation, latency_ns);
        self.array.completed(self.world.now, id, outcome, timing, &mut self.world);
    }
}

#[cfg(test)]
mod tests {
    use stripewise_flash::Level;

    use super::*;

    #[test]
    fn streams_are_those_of_the_device_and_reach_it() {
        let streams = |preset: &str| {
            let spec = DeviceSpec::preset(preset).unwrap_or_else(|error| panic!("{error}"));
            let shape = Shape::new(&spec, Level::Ssd, 2).unwrap_or_else(|error| panic!("{error}"));
            members(&spec, &shape).streams
        };
        assert_eq!(["paper001", "paper001-fdp"].map(streams), [1, 5]);
        let write = Operation { kind: OperationKind::Write, stream: 4, ..Operation::default() };
        assert_eq!(op(&write).stream, 4);
    }
}
