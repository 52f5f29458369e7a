//! Requests to an array whose members end their operations in the order that the test chooses.

use stripewise_core::memory::PageMemory;
use stripewise_core::operation::{Operation, Outcome, Timing};
use stripewise_core::request::{HostRequest, RequestKind, SubmitError};
use stripewise_exec::{ArrayOf, Controller as _};
use stripewise_testkit::{Disk, World};

use crate::placement::{PAGE, PAGES, WholeRows, array};

/// The array and its world.
pub(crate) struct Rig {
    pub(crate) array: ArrayOf<PageMemory, WholeRows>,
    pub(crate) world: World,
    tag: u64,
}

impl Rig {
    pub(crate) fn new(count: u32, settings: &str) -> Self {
        let disk = Disk::new(count as usize, PAGES, PAGE as u32);
        Self { array: array(count, settings), world: World::new(disk), tag: 0 }
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
        let Some(nth) = self.world.in_flight.iter().position(|one| is_meant(&one.operation)) else {
            return false;
        };
        let ended = match outcome {
            Outcome::Done => self.world.end(nth, self.array.memory()),
            failure => self.world.in_flight.remove(nth).map(|one| (one.id, failure)),
        };
        let (id, outcome) = ended.expect("it is in flight");
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
