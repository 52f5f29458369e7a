//! The health of an array and of its members: errors in counters and windows, the error limit, the choice of the member that
//! a spare replaces, and the health of the array in a word.
//!
//! Nothing here reads a clock or a device. Time is an argument, in nanoseconds, so a server and a simulation run the same
//! code: they count errors in a [`Ledger`] for each member, look at the ledgers from time to time with [`MembersHealth`], and
//! ask for the health of the array with [`health_of`].

mod ledger;
mod limit;
mod member;
mod spares;
mod spots;
mod state;
mod verdict;
mod window;

pub use ledger::{Ledger, Troubles};
pub use limit::{MembersHealth, Needed, OverLimit};
pub use member::MemberHealth;
pub use spares::Spares;
pub use state::{ArrayState, MemberStanding};
pub use verdict::{Health, Reason, Verdict, health_of};
pub use window::Recent;

/// The default limit of recent errors: md's.
///
/// Source: Linux md's `max_read_errors`, 20, halved for each hour without errors (its `drivers/md/raid10.c`,
/// `check_decay_read_errors`). ZFS counts 10 errors in 10 minutes as a fault in the same way.
pub const ERROR_LIMIT: u64 = 20;
