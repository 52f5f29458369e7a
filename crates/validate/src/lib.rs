//! Validates the simulator: against theory where theory has an answer, otherwise against independent simulators.
//!
//! Each [`Check`] is a claim that can fail: it names flaws ([`Bend`]) that it must find, and tests prove that it
//! finds them. `cargo run --release -p stripewise-validate` runs all of them; `docs/evidence/validation.md` shows the results.

#![forbid(unsafe_code)]

mod amplification;
mod attribution;
mod bend;
mod check;
mod disksim;
mod limits;
mod mqsim;
mod oracles;
mod page;
mod parts;
mod queueing;
mod raid;
mod rig;
mod stats;
mod theory;
mod workload;

pub use bend::Bend;
pub use check::{Check, Effort, Expected, Lab, ResultRow, Unit, Verdict};
pub use oracles::{ORACLES, Oracle};
pub use page::{Finding, command, heading, oracles, render};
pub use stats::Mean;

/// All checks, in the order of the page.
pub fn checks() -> &'static [Check] {
    const CHECKS: &[Check] = &[
        queueing::WAITS,
        queueing::INSTRUMENTS,
        limits::IDLE,
        limits::CHANNEL,
        limits::CLOSED,
        parts::PARTS,
        amplification::CLOSED_FORM,
        amplification::ORDER,
        amplification::PEER,
        mqsim::TRACES,
        raid::COUNTS,
        raid::SHARES,
        raid::SMALL_WRITES,
        disksim::SUITE,
        disksim::TRACES,
    ];
    CHECKS
}
