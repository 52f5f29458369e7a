//! What a caller does to a running simulation from outside.

use stripewise_array::format::FailReason;
use stripewise_array::{Controller, Driver, MemberNo, Memory};

use super::{Content, Host, Simulation};

impl<M: Memory, C: Content<M>, H: Host<M>, A: Controller<M>> Simulation<M, C, H, A> {
    /// Removes a member from now on; its operations in flight end with the outcome "gone".
    pub fn fail_member(&mut self, member: MemberNo) {
        self.world.member_failed(member);
        self.array.member_failed(self.world.now, member, FailReason::Requested, &mut self.world);
    }

    /// Reports to the controller that a member has not answered for some time, or answers again. The member itself is
    /// unaffected.
    pub fn report_slow(&mut self, member: MemberNo, is_slow: bool) {
        self.array.member_slow(self.world.now, member, is_slow, &mut self.world);
    }

    /// Writes out the content that waits in controller memory, and runs until no operation is in flight.
    pub fn drain(&mut self) {
        self.array.drain(self.world.now, &mut self.world);
        self.run();
    }
}
