//! The interface between the controller and its driver: the simulator, the engine or a test.

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::member_load::MemberLoad;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Operation, OperationId};
use stripewise_core::request::HostRequest;
use stripewise_core::timer::Timer;
use stripewise_policy::coordination::GcControl;
use stripewise_policy::update::{Choice, ParityUpdate, Routine};

use crate::plan::PlanView;

/// An acknowledged host request, with the parts of its response time. The parts add up to `at - arrival`, along the path
/// that finished last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The tag that the host gave to the request.
    pub tag: u64,
    /// Whether the request failed: more columns of a row are lost than its code tolerates.
    pub failed: bool,
    /// Whether the request failed because the array is out of space.
    pub no_space: bool,
    /// When the request arrived.
    pub arrival: Nanos,
    /// When the request is acknowledged.
    pub at: Nanos,
    /// Waiting in the controller for a plan or for a row.
    pub pending_ns: Nanos,
    /// Pre-reads: waiting, transfers and cell time.
    pub pre_read_ns: Nanos,
    /// The transfers within `pre_read_ns`, of the pre-reads that finished last.
    pub pre_read_bus_ns: Nanos,
    /// The cell time within `pre_read_ns`. The rest of `pre_read_ns` is waiting.
    pub pre_read_cell_ns: Nanos,
    /// Computing parity.
    pub parity_ns: Nanos,
    /// The last operation's wait in queues, except for garbage collection.
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
    /// All waiting: for a plan or a row, in the members' queues and for garbage collection, pre-reads included.
    ///
    /// Source: T_w of paper 002 (section II-E), the sum of the waits in the queues of the host system and of the chips.
    pub fn wait_ns(&self) -> Nanos {
        let pre_read = self.pre_read_ns.saturating_sub(self.pre_read_bus_ns + self.pre_read_cell_ns);
        self.pending_ns + self.queue_ns + self.gc_wait_ns + pre_read
    }

    /// Transfers, pre-reads included: T_b of paper 002.
    pub fn transfer_ns(&self) -> Nanos {
        self.bus_ns + self.pre_read_bus_ns
    }

    /// Cell time, pre-reads included: T_c of paper 002.
    pub fn cells_ns(&self) -> Nanos {
        self.cell_ns + self.pre_read_cell_ns
    }
}

/// A member's answer when the controller offers it an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The member takes the operation now.
    Admitted,
    /// The member does not take this operation now; it may take another. The reason, as the driver numbers them, or 0: see
    /// [`Driver::still_refuses`].
    Refused(u64),
    /// The member takes no operation of this kind now.
    Closed,
}

/// The environment of the controller. All calls return at once; the driver reports the results of longer work later. The
/// driver also reports the state of its members, as [`MemberLoad`] and [`GcControl`].
pub trait Driver<M: Memory>: MemberLoad + Timer + GcControl {
    /// Whether the controller passes its plans to [`Driver::planned`].
    const OBSERVES: bool = false;

    /// Whether the member can take this operation now. The controller does not offer a refused operation again until the
    /// driver reports the member with `Controller::member_ready`.
    fn admits(&mut self, operation: &Operation) -> Admission;

    /// Whether the member still refuses this operation, for the reason with which it refused it last. A driver that knows saves
    /// the offer.
    #[inline(always)]
    fn still_refuses(&mut self, _operation: &Operation, _reason: u64) -> bool {
        false
    }

    /// Starts an operation. A write takes its content from `page`; a read fills `page`. The operation owns the page until
    /// the driver reports it with `Controller::completed`.
    fn start(&mut self, id: OperationId, operation: &Operation, page: u32, memory: &mut M);

    /// Starts the parity computation of `plan` over `pages` pages. Returns true if it takes no time; otherwise the driver
    /// calls `Controller::computed` when the computation is done.
    fn compute(&mut self, plan: PlanId, pages: u32) -> bool;

    /// Acknowledges a request and returns its payload to the host.
    fn acknowledge(&mut self, acknowledgement: &Acknowledgement, payload: M::Host);

    /// Total time in nanoseconds for which garbage collection has blocked this member so far. A queued operation's wait
    /// for garbage collection is the difference of two readings.
    fn gc_clock(&self, _member: MemberNo) -> Nanos {
        0
    }

    /// The member may discard the old version of `page`.
    fn release(&mut self, _member: MemberNo, _page: u32) {}

    /// The controller failed a member that did not answer or could not be written.
    fn member_failed(&mut self, _member: MemberNo) {}

    /// The content that `member` returned for a read of `page` does not match its checksum, and that is an error of the
    /// member: the controller does not report what the member cannot have yet, or pages without live content.
    fn mismatched(&mut self, _member: MemberNo, _page: u32) {}

    /// Chooses the routine of a parity update under the policy `custom`; `None` selects Baseline's routine.
    fn choose(&mut self, _choice: &Choice<'_>) -> Option<Routine> {
        None
    }

    /// The arrival time, before `until`, of the first request for which `is_meant` returns true. Only a driver of recorded
    /// requests can look ahead; all others return `None`.
    fn next_arrival(
        &mut self,
        _until: Nanos,
        _is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        None
    }

    /// A parity update was decided. Called once for each update, even if its plan is rebuilt.
    fn updated(&mut self, _update: &ParityUpdate) {}

    /// A plan was built. Called only where [`Driver::OBSERVES`] is true.
    fn planned(&mut self, _plan: &PlanView<'_>) {}
}
