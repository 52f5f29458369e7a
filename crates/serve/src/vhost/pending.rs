//! What a device keeps of a request until it is answered.

use super::chain::Chain;

/// A request of a guest that waits for its answer.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The connection of the request. Another connection is another guest.
    pub(super) connection: u64,
    pub(super) queue: usize,
    pub(super) head: u16,
    pub(super) chain: Chain,
    pub(super) is_read: bool,
    pub(super) bytes: u64,
}
