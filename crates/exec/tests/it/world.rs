//! Members that keep bytes, and carry out operations in the order in which the test lets them end.

use std::collections::{BTreeMap, BTreeSet};

use stripewise_core::driver::{Acknowledgement, Admission, Driver};
use stripewise_core::ids::PlanId;
use stripewise_core::member_load::MemberLoad;
use stripewise_core::memory::PageMemory;
use stripewise_core::operation::{Operation, OperationId, OperationKind, Outcome, Timing};
use stripewise_core::request::{HostRequest, RequestKind, SubmitError};
use stripewise_exec::{ArrayOf, Controller as _};

use crate::placement::{PAGE, WholeRows, array};

/// Members and hosts.
#[derive(Default)]
pub(crate) struct World {
    pages: BTreeMap<(u16, u32), Vec<u8>>,
    pub(crate) running: Vec<(OperationId, Operation, u32)>,
    /// All operations that were started.
    pub(crate) started: Vec<Operation>,
    pub(crate) acknowledged: Vec<(u64, bool, Box<[u8]>)>,
    /// Members that take no operation now.
    pub(crate) closed: BTreeSet<u16>,
    /// Members that the controller reported as failed.
    pub(crate) gave_up: Vec<u16>,
}

impl MemberLoad for World {}

impl Driver<PageMemory> for World {
    fn admits(&mut self, operation: &Operation) -> Admission {
        if self.closed.contains(&operation.member) { Admission::Closed } else { Admission::Admitted }
    }

    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut PageMemory) {
        if operation.kind == OperationKind::Write {
            self.pages.insert((operation.member, operation.page), memory.page(page).to_vec());
        }
        self.running.push((id, *operation, page));
        self.started.push(*operation);
    }

    fn compute(&mut self, _plan: PlanId, _pages: u32) -> bool {
        true
    }

    fn set_timer(&mut self, _at: u64) {}

    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: Box<[u8]>) {
        self.acknowledged.push((acknowledgement.tag, acknowledgement.failed, payload));
    }

    fn gave_up(&mut self, member: u16) {
        self.gave_up.push(member);
    }
}

/// The array and its world.
pub(crate) struct Rig {
    pub(crate) array: ArrayOf<PageMemory, WholeRows>,
    pub(crate) world: World,
    tag: u64,
}

impl Rig {
    pub(crate) fn new(count: u32, settings: &str) -> Self {
        Self { array: array(count, settings), world: World::default(), tag: 0 }
    }

    /// Submits a request of `pages` pages from `page` on, whose bytes are all `byte`.
    pub(crate) fn try_submit(
        &mut self,
        kind: RequestKind,
        page: u64,
        pages: u64,
        byte: u8,
    ) -> Result<u64, SubmitError> {
        let bytes = if kind == RequestKind::Flush { 0 } else { pages * PAGE };
        let host = HostRequest { tag: self.tag, arrival: 0, offset: page * PAGE, bytes: bytes as u32, kind };
        let payload = vec![byte; bytes as usize].into();
        self.array.submit(0, host, payload, &mut self.world).map_err(|(error, _)| error)?;
        self.array.dispatch(&mut self.world);
        self.tag += 1;
        Ok(self.tag - 1)
    }

    pub(crate) fn submit(&mut self, kind: RequestKind, page: u64, pages: u64, byte: u8) -> u64 {
        self.try_submit(kind, page, pages, byte).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Ends the operation that was started first, of those for which `is_meant` returns true. Returns false if there is none.
    pub(crate) fn end_one(&mut self, outcome: Outcome, is_meant: impl Fn(&Operation) -> bool) -> bool {
        let Some(nth) = self.world.running.iter().position(|(_, operation, _)| is_meant(operation)) else {
            return false;
        };
        let (id, operation, page) = self.world.running.remove(nth);
        if operation.kind == OperationKind::Read && outcome == Outcome::Done {
            let zeros = vec![0; PAGE as usize];
            let bytes = self.world.pages.get(&(operation.member, operation.page)).unwrap_or(&zeros);
            self.array.memory().page_mut(page).copy_from_slice(bytes);
        }
        self.array.completed(0, id, outcome, Timing::default(), &mut self.world);
        self.array.dispatch(&mut self.world);
        true
    }

    /// Ends operations until none is in flight.
    pub(crate) fn run(&mut self) {
        while self.end_one(Outcome::Done, |_| true) {}
    }

    /// The bytes that a read of `page` returns, all of which are one.
    pub(crate) fn read(&mut self, page: u64) -> (bool, u8) {
        let tag = self.submit(RequestKind::Read, page, 1, 0xEE);
        self.run();
        let (last, failed, payload) = self.world.acknowledged.last().expect("the read was acknowledged");
        assert_eq!(*last, tag);
        assert!(payload.iter().all(|byte| *byte == payload[0]), "a page is of one write");
        (*failed, payload[0])
    }

    /// The tags of acknowledged requests, in order.
    pub(crate) fn tags(&self) -> Vec<u64> {
        self.world.acknowledged.iter().map(|(tag, ..)| *tag).collect()
    }
}
