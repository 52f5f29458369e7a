//! The environment of a controller: members, which end an operation when the test lets them, and hosts.

use std::collections::{BTreeSet, VecDeque};

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::member_load::MemberLoad;
use stripewise_core::memory::PageMemory;
use stripewise_core::operation::{Operation, OperationId, OperationKind, Outcome};
use stripewise_core::timer::Timer;
use stripewise_exec::driver::{Acknowledgement, Admission, Driver};
use stripewise_policy::coordination::GcControl;

use crate::Disk;

/// An operation that was started and has not ended.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// The controller's name for it.
    pub id: OperationId,
    /// The operation.
    pub operation: Operation,
    /// The controller's page that it reads into or writes from.
    page: u32,
}

/// A driver whose operations end when the test calls [`Self::end`], in the order that the test chooses. Writes and trims reach
/// the member when they start. Parity takes no time.
#[derive(Debug)]
pub struct World {
    /// The members.
    pub disk: Disk,
    /// Operations in flight, in the order of their start.
    pub in_flight: VecDeque<InFlight>,
    /// All operations that were started.
    pub started: Vec<Operation>,
    /// The tag of each acknowledged request, whether the request failed, and its payload.
    pub acknowledged: Vec<(u64, bool, Box<[u8]>)>,
    /// Members that take no operation now.
    pub closed: BTreeSet<MemberNo>,
    /// Members that the controller reported as failed.
    pub failed_members: Vec<MemberNo>,
    /// Mismatches with which the controller charged each member.
    pub mismatches: Vec<u64>,
    timers: Vec<Nanos>,
}

impl World {
    /// The members of `disk`, without operations.
    pub fn new(disk: Disk) -> Self {
        let mismatches = vec![0; disk.members.len()];
        Self {
            disk,
            in_flight: VecDeque::new(),
            started: Vec::new(),
            acknowledged: Vec::new(),
            closed: BTreeSet::new(),
            failed_members: Vec::new(),
            mismatches,
            timers: Vec::new(),
        }
    }

    /// Ends operation `nth` of those in flight, if there is one, with the outcome that its member gives it. A read that
    /// is done has filled its page of `memory`. The caller reports the outcome to the controller.
    pub fn end(&mut self, nth: usize, memory: &mut PageMemory) -> Option<(OperationId, Outcome)> {
        let InFlight { id, operation, page } = self.in_flight.remove(nth)?;
        let member = &mut self.disk.members[operation.member.index()];
        let outcome = match operation.kind {
            _ if member.is_gone => Outcome::Gone,
            OperationKind::Write => member.next_write.take().unwrap_or(Outcome::Done),
            OperationKind::Read => match member.read(operation.page) {
                Ok(content) => {
                    memory.page_mut(page).copy_from_slice(content);
                    Outcome::Done
                }
                Err(outcome) => outcome,
            },
            OperationKind::Trim if member.refuses_trims => Outcome::MediumError,
            OperationKind::Trim | OperationKind::Flush => Outcome::Done,
        };
        Some((id, outcome))
    }

    /// Whether the controller waits for a timer.
    pub fn has_timer(&self) -> bool {
        !self.timers.is_empty()
    }

    /// Removes and returns the earliest timer.
    pub fn take_timer(&mut self) -> Option<Nanos> {
        let first = *self.timers.iter().min()?;
        self.timers.retain(|&at| at != first);
        Some(first)
    }
}

impl MemberLoad for World {}

impl Timer for World {
    fn set_timer(&mut self, at: Nanos) {
        self.timers.push(at);
    }
}

impl GcControl for World {}

impl Driver<PageMemory> for World {
    fn admits(&mut self, operation: &Operation) -> Admission {
        if self.closed.contains(&operation.member) { Admission::Closed } else { Admission::Admitted }
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut PageMemory) {
        let member = &mut self.disk.members[operation.member.index()];
        if !member.is_gone && member.next_write.is_none() {
            match operation.kind {
                OperationKind::Write => member.write(operation.page, memory.page(page)),
                OperationKind::Trim if !member.refuses_trims => member.pages[operation.page as usize].fill(0),
                OperationKind::Trim | OperationKind::Read | OperationKind::Flush => {}
            }
        }
        self.started.push(*operation);
        self.in_flight.push_back(InFlight { id, operation: *operation, page });
    }

    fn compute(&mut self, _: PlanId, _: u32) -> bool {
        true
    }

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        self.acknowledged.push((acknowledgement.tag, acknowledgement.failed, payload));
    }

    fn member_failed(&mut self, member: MemberNo) {
        self.failed_members.push(member);
    }

    fn mismatched(&mut self, member: MemberNo, _: u32) {
        self.mismatches[member.index()] += 1;
    }
}
