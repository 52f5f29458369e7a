//! What the controller asks of whoever drives it: the simulator, the engine, a test.

use stripewise_base::Nanos;

use crate::coordination::{Ahead, GcPermit, GcTurn};
use crate::member_load::MemberLoad;
use crate::memory::Memory;
use crate::operation::{Operation, OperationId};
use crate::plan::PlanView;
use crate::request::HostRequest;
use crate::update::{Choice, ParityUpdate, Routine};

/// A host request that is acknowledged, with the parts of its response time. They add up to
/// `at - arrival`, along the path that finished last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number that the host gave to the request.
    pub tag: u64,
    /// Whether it failed: more members of a row are lost than its code can tolerate.
    pub failed: bool,
    /// Whether it failed because the array has no space for what it writes.
    pub no_space: bool,
    /// When it arrived.
    pub arrival: Nanos,
    /// When it is acknowledged.
    pub at: Nanos,
    /// Waiting in the controller for a plan or a row.
    pub pending_ns: Nanos,
    /// Pre-reading: waiting, transfers and cell time.
    pub pre_read_ns: Nanos,
    /// Of that: transfers of the pre-reads that came back last.
    pub pre_read_bus_ns: Nanos,
    /// Of that: their cell time. What is left of it is waiting.
    pub pre_read_cell_ns: Nanos,
    /// Computing parity.
    pub parity_ns: Nanos,
    /// The last operation's wait in queues, other than for garbage collection.
    pub queue_ns: Nanos,
    /// The last operation's wait for garbage collection.
    pub gc_wait_ns: Nanos,
    /// The last operation's transfers.
    pub bus_ns: Nanos,
    /// The last operation's cell time.
    pub cell_ns: Nanos,
    /// Time in controller memory when no member was needed.
    pub buffer_ns: Nanos,
}

impl Acknowledgement {
    /// Waiting for whatever reason: for a plan or a row, in the members' queues, for garbage collection, and all of that of
    /// pre-reads too.
    ///
    /// Source: T_w of paper 002 (section II-E), the waits in the host system's and in the chips' queues taken together.
    pub fn wait_ns(&self) -> Nanos {
        let pre_read = self.pre_read_ns.saturating_sub(self.pre_read_bus_ns + self.pre_read_cell_ns);
        self.pending_ns + self.queue_ns + self.gc_wait_ns + pre_read
    }

    /// Transfers, those of pre-reads included: T_b of paper 002.
    pub fn transfer_ns(&self) -> Nanos {
        self.bus_ns + self.pre_read_bus_ns
    }

    /// Cell time, that of pre-reads included: T_c of paper 002.
    pub fn cells_ns(&self) -> Nanos {
        self.cell_ns + self.pre_read_cell_ns
    }
}

/// A member's answer to an operation that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It takes the operation now.
    Admitted,
    /// It does not take this operation now; it may take another.
    Refused,
    /// It takes no operation of this kind now.
    Closed,
}

/// The world around the controller. All calls return at once; what takes time is reported to the controller later.
/// What its members tell of themselves, it tells as [`MemberLoad`].
pub trait Driver<M: Memory>: MemberLoad {
    /// Whether plans are to be shown to [`Driver::planned`].
    const OBSERVES: bool = false;

    /// Whether the member can take this operation now. What is refused is not offered again until the member is
    /// reported with [`crate::Array::member_ready`].
    fn admits(&mut self, operation: &Operation) -> Admission;

    /// Starts an operation. A write takes the content of `page`, a read fills it; both own it until they are reported
    /// with [`crate::Array::completed`].
    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut M);

    /// Starts the parity computation of `plan` over `pages` pages. Returns true when it takes no time; else
    /// [`crate::Array::computed`] is called when it is done.
    fn compute(&mut self, plan: u32, pages: u32) -> bool;

    /// Asks for a call of [`crate::Array::timer`] at `at`.
    fn set_timer(&mut self, at: Nanos);

    /// A request is acknowledged; its payload goes back to the host.
    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: M::Host);

    /// Nanoseconds for which garbage collection has held up this member so far; queues tell their wait for it by
    /// the difference of two readings.
    fn gc_clock(&self, _member: u16) -> Nanos {
        0
    }

    /// The member may begin to collect; what it was permitted before is forgotten. Asked only of members with
    /// [`crate::Members::gc_control`], all of which begin without permission and tell what may matter by
    /// [`crate::Array::gc_news`].
    fn permit_gc(&mut self, _member: u16, _permit: GcPermit) {}

    /// The member may begin to collect no more blocks; those in hand it finishes.
    fn forbid_gc(&mut self, _member: u16) {}

    /// Whether the member collects, and whether it waits for permission to.
    fn gc_turn(&self, _member: u16) -> GcTurn {
        GcTurn::default()
    }

    /// Whether the member is no farther than this from having to collect.
    fn is_near_gc(&self, _member: u16, _ahead: Ahead) -> bool {
        false
    }

    /// The member need not keep the old version of `page` any longer.
    fn release(&mut self, _member: u16, _page: u32) {}

    /// The controller gave up a member that did not answer or could not be written.
    fn gave_up(&mut self, _member: u16) {}

    /// What `member` answered a read of `page` with has not its checksum.
    fn mismatched(&mut self, _member: u16, _page: u32) {}

    /// The routine of a parity update under the policy `custom`; `None` takes Baseline's.
    fn choose(&mut self, _choice: &Choice<'_>) -> Option<Routine> {
        None
    }

    /// When the first request arrives, before `until`, of which `is_meant` says so: as far as a driver can look ahead,
    /// which only one of recorded requests can.
    fn next_arrival(
        &mut self,
        _until: Nanos,
        _is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        None
    }

    /// A parity update was decided: one call for each, however often its plan is made anew.
    fn updated(&mut self, _update: &ParityUpdate) {}

    /// A plan was made (only where [`Driver::OBSERVES`]).
    fn planned(&mut self, _plan: &PlanView<'_>) {}
}
