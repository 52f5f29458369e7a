//! Ensures that only one host serves an array when several hosts see its members: `docs/design/format.md`, "Owner".
//!
//! [`Keeper::claim`] claims an array before it is assembled, and a [`Keeper`] keeps it while it is served. Separate
//! threads, one for each member, write heartbeats, so that serving never waits for a heartbeat. The design follows
//! ZFS's multihost (MMP), with two differences: the page is read back before each heartbeat, and a host that could not
//! confirm its page for a while stops writing.

mod host;
mod keeper;
mod page;
mod state;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use stripewise_array::format::Owner;

pub use host::Host;
pub use keeper::Keeper;
pub use page::{owner_of, release_of};

/// Heartbeat intervals for which a host must be silent before its array is taken over.
pub const WATCH_BEATS: u32 = 12;

/// Heartbeats that a claim over the page of another host waits before the page is read again. More than
/// [`FENCE_BEATS`], so that an owner which does not see the claim has stopped writing.
pub const WAIT_BEATS: u32 = 10;

/// Heartbeats without a confirmation after which an owner stops writing until it has confirmed its page.
pub const FENCE_BEATS: u32 = 8;

/// The default heartbeat. One page read and written a second on each member is negligible for an SSD, and a host that
/// is gone is replaced within half a minute.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// How an array is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claiming {
    /// Time between two heartbeats.
    pub interval: Duration,
    /// Whether the array may be taken from a host that seems gone.
    pub takeover: bool,
}

impl Default for Claiming {
    fn default() -> Self {
        Self { interval: HEARTBEAT, takeover: false }
    }
}

/// Why this host does not own the array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// Another host claimed it and did not release it.
    #[error(
        "{owner} owns the array since {}; its last heartbeat was {} ago: stop it there (`stripewise stop`), or, if that host is \
         gone, serve the array with --takeover",
        Ago(*now, owner.since), Ago(*now, owner.written)
    )]
    Owned {
        /// The other host.
        owner: Box<Owner>,
        /// Seconds since 1970, by the clock of this host.
        now: u64,
    },
    /// Another host claimed it and is alive.
    #[error(
        "{owner} is serving the array now: its heartbeat moved while this host watched; stop it there (`stripewise stop`)"
    )]
    Alive {
        /// The other host.
        owner: Box<Owner>,
    },
    /// Another host claimed it at the same time.
    #[error("{owner} claimed the array at the same time; try again when one of the two hosts is to have it")]
    Contended {
        /// The other host.
        owner: Box<Owner>,
    },
    /// Another host claimed it while this one served it.
    #[error(
        "{owner} took the array over, so this host writes nothing more to it; what was flushed before is durable"
    )]
    TakenOver {
        /// The other host.
        owner: Box<Owner>,
    },
    /// The page was written to too few members.
    #[error("the owner's page was written to {written} members, and {needed} must have it: {error}")]
    Unwritten {
        /// Members with the page.
        written: usize,
        /// Members that must have the page.
        needed: usize,
        /// The last error.
        error: String,
    },
}

/// The time between two times, in words.
struct Ago(u64, u64);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.saturating_sub(self.1);
        match seconds {
            0..120 => write!(f, "{seconds} s"),
            120..7200 => write!(f, "{} min", seconds / 60),
            7200..172_800 => write!(f, "{} h", seconds / 3600),
            _ => write!(f, "{} days", seconds / 86_400),
        }
    }
}
