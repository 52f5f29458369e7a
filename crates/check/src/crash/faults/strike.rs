//! A new fault strikes an array.

use super::stage::Stage;
use super::{Fault, NewFault, beyond, copies, damage, members};
use crate::crash::scenario::Scenario;
use crate::crash::system_under_test::SystemUnderTest;

impl Scenario {
    /// `fault` strikes the array, and the oracle judges.
    pub(in crate::crash) fn strike<S: SystemUnderTest>(&mut self, fault: NewFault) -> Result<(), String> {
        // A fault chooses itself which members return, and which are replaced.
        self.policy.spares = 0;
        let Some(stage) = Stage::<S>::prepare(self, fault.choice)? else { return Ok(()) };
        match fault.kind {
            Fault::ReturnsAfterDamage => damage::returns(stage),
            Fault::ReturnsStale => members::returns_stale(stage),
            Fault::OutDuringRebuild => members::out_during_rebuild(stage),
            Fault::DeadRot => damage::dead_rot(stage),
            Fault::RotApart => damage::rot_apart(stage),
            Fault::BeyondUnderLoad => beyond::under_load(stage),
            Fault::FullScrub => damage::full_scrub(stage),
            Fault::Unreadable => damage::unreadable(stage),
            Fault::Resized => copies::resized(stage),
            Fault::MixedCopies => copies::mixed(stage),
        }
    }
}
