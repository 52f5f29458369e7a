//! Holds a controller's operations until they are executed, in any order.

use stripewise_array::coordination::GcControl;
use stripewise_array::health::Ledger;
use stripewise_array::{
    Acknowledgement, Admission, Driver, MemberLoad, MemberNo, Operation, OperationId, OperationKind, Outcome,
    PageMemory, PlanId, Timer,
};
use stripewise_base::Nanos;

use super::members::{Content, InFlight, Members};
use super::oracle::{Charge, Offence};

/// Members of the checker are smaller than the spots in which errors are counted. Each of their pages counts as a spot.
const SPOT_BYTES: u32 = 1 << 20;

/// An operation in flight.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) id: OperationId,
    pub(crate) operation: Operation,
    /// The controller's page that it reads into.
    pub(crate) page: u32,
    /// The content of a write.
    content: Option<Content>,
    /// For a flush: the number of writes that it covers.
    covers: u64,
}

/// The driver of a controller over modelled members.
pub(crate) struct SimDriver {
    pub(crate) members: Members,
    pub(crate) flights: Vec<Flight>,
    pub(crate) acknowledged: Vec<(Acknowledgement, Box<[u8]>)>,
    /// Members that the controller does not have: it may send them no operations.
    pub(crate) absent: u64,
    /// Sound members that are out of reach: what is sent to them ends without effect.
    pub(crate) gone: u64,
    /// The first forbidden operation.
    pub(crate) wrong: Option<String>,
    /// Errors with which the controller, or the driver itself, charged members.
    pub(crate) charges: Vec<Charge>,
    /// The counters of errors of each member.
    pub(crate) ledgers: Vec<Ledger>,
    /// The time of the operation that ends.
    pub(crate) now: Nanos,
    /// Whether the operation that ended last was answered without an error. An error is charged when it is answered.
    pub(crate) was_answered: bool,
    timers: Vec<Nanos>,
    zeros: Content,
}

impl SimDriver {
    pub(crate) fn new(members: Members, absent: u64) -> Self {
        let zeros = vec![0; members.page_bytes()].into();
        let (flights, acknowledged, timers) = (Vec::new(), Vec::new(), Vec::new());
        let (charges, was_answered) = (Vec::new(), false);
        let ledgers = vec![Ledger::default(); members.count().into()];
        Self {
            members,
            flights,
            acknowledged,
            absent,
            gone: 0,
            wrong: None,
            charges,
            ledgers,
            now: 0,
            was_answered,
            timers,
            zeros,
        }
    }

    /// Queues an operation; `content` is the content of a write.
    pub(crate) fn put(&mut self, id: OperationId, operation: Operation, page: u32, content: Option<&[u8]>) {
        let Operation { member, page: at, kind, .. } = operation;
        if member.is_in(self.absent) {
            self.wrong = Some(format!("a {kind:?} of page {at} of member {member}, which the array has not"));
        } else if at >= self.members.pages(member) {
            self.wrong = Some(format!("a {kind:?} of page {at} of member {member}, which ends before that"));
        }
        let covers = self.members.answered(member);
        let content = match kind {
            OperationKind::Trim => Some(self.zeros.clone()),
            _ => content.map(Content::from),
        };
        self.flights.push(Flight { id, operation, page, content, covers });
    }

    /// Executes the operation at this position in the list, and returns its outcome and, for a read, the content.
    pub(crate) fn take(&mut self, nth: usize) -> (Flight, Outcome, Option<Content>) {
        let mut flight = self.flights.swap_remove(nth);
        let Operation { member, page, kind, .. } = flight.operation;
        if (self.absent | self.gone) & member.bit() != 0 {
            if kind == OperationKind::Write {
                self.members.leave_unwritten(member, page);
            }
            return (flight, Outcome::Gone, None);
        }
        let (outcome, found) = match kind {
            OperationKind::Read => match self.members.read(member, page) {
                Ok(content) => (Outcome::Done, Some(content.clone())),
                Err(outcome) => (outcome, None),
            },
            OperationKind::Flush => (self.members.flush(member, flight.covers), None),
            OperationKind::Write | OperationKind::Trim => {
                let content = flight.content.take().expect("what writes has content");
                (self.members.write(member, page, content), None)
            }
        };
        if outcome != Outcome::Done {
            self.charges.push(Charge { member, page, offence: Offence::Error });
            self.ledgers[member.index()].failed(self.now, kind, outcome, (page, SPOT_BYTES));
        }
        (flight, outcome, found)
    }

    /// Removes and returns the earliest timer.
    pub(crate) fn take_timer(&mut self, until: Nanos) -> Option<Nanos> {
        let first = *self.timers.iter().min().filter(|&&at| at <= until)?;
        self.timers.retain(|&at| at != first);
        Some(first)
    }

    /// Writes in flight.
    pub(crate) fn in_flight(&self) -> Vec<InFlight> {
        let of = |flight: &Flight| {
            let Operation { member, page, .. } = flight.operation;
            flight.content.clone().map(|content| InFlight { member, page, content })
        };
        self.flights.iter().filter_map(of).collect()
    }
}

impl MemberLoad for SimDriver {}

impl Timer for SimDriver {
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
    }
}

impl GcControl for SimDriver {}

impl Driver<PageMemory> for SimDriver {
    fn admits(&mut self, _: &Operation) -> Admission {
        Admission::Admitted
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut PageMemory) {
        let content = (operation.kind == OperationKind::Write).then(|| memory.page(page));
        self.put(id, *operation, page, content);
    }

    fn compute(&mut self, _: PlanId, _: u32) -> bool {
        true
    }

    fn member_failed(&mut self, member: MemberNo) {
        self.charges.push(Charge { member, page: 0, offence: Offence::Failed });
    }

    fn mismatched(&mut self, member: MemberNo, page: u32) {
        if self.was_answered {
            self.charges.push(Charge { member, page, offence: Offence::Mismatch });
            self.ledgers[member.index()].mismatched(page);
        }
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        self.acknowledged.push((*acknowledgement, payload));
    }
}
