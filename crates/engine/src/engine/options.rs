//! How the engine runs.

use std::time::Duration;

use super::rate::Rate;
use crate::clock::Timekeeping;
use crate::flushing::Flushes;
use crate::plain::Order;

/// How the engine runs. No option changes what the engine stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The page, the unit of reads and writes of members: 512 to 32768 bytes. An array with metadata has its own page
    /// size.
    pub page_bytes: u32,
    /// Most operations of a member in flight.
    pub window: u32,
    /// The order in which the plain backend executes operations.
    pub order: Order,
    /// Where time comes from.
    pub time: Timekeeping,
    /// The backend that reaches files.
    pub way: IoMode,
    /// The rate of rebuilds and scrubs.
    pub rate: Rate,
    /// The timeout of an operation on a file. The member fails after it.
    pub timeout: Duration,
    /// How long a member may complete nothing before reads avoid it. It applies where operations do not block the
    /// calling thread.
    pub slow: Duration,
    /// How long the writes of a log with metadata wait for a member that completes nothing, before the log continues without
    /// it. The member is taken back when it answers within [`Self::timeout`]. It applies where `slow` does.
    pub stall: Duration,
    /// What happens to writes and flushes while more members are lost than parity tolerates.
    pub failmode: FailMode,
    /// Which flushes reach members.
    pub flushes: Flushes,
}

/// What happens to writes and flushes while more members are lost than parity tolerates. The names are those of the property
/// `failmode` of ZFS pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailMode {
    /// They fail at once.
    #[default]
    Error,
    /// They wait until members return, for this time at most.
    Wait(Duration),
}

/// The backend that reaches files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoMode {
    /// io_uring where the system offers it, else the plain backend.
    #[default]
    Best,
    /// Blocking calls, one after the other.
    Plain,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            window: 128,
            order: Order::default(),
            time: Timekeeping::default(),
            way: IoMode::default(),
            rate: Rate::default(),
            timeout: Duration::from_secs(30),
            slow: Duration::from_millis(50),
            stall: Duration::from_secs(1),
            failmode: FailMode::default(),
            flushes: Flushes::default(),
        }
    }
}
