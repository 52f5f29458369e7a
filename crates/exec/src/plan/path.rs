//! How a read gets its chunks.

use stripewise_base::Nanos;
use stripewise_policy::read::ReadPath;

use super::LastOperation;

/// How a read gets its chunks: by choice without some members, or on two ways of which the faster counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Counts the uses of this slot of the arena.
    pub life: u32,
    /// Whether the read path was chosen: it is chosen only once.
    pub is_chosen: bool,
    /// The columns that it decodes by choice, with the expected time of decoding and of the direct read.
    pub around: Option<ReadPath>,
    /// The state of its race, if it has one.
    pub race: Race,
    /// In a race: columns whose direct reads have completed.
    pub returned: u64,
    /// Columns that its second side decodes.
    pub hedged: u64,
    /// Columns that its second side does not read: those, and lost or slow ones.
    pub without: u64,
    /// The first operation of the second side, and the number of its operations.
    pub second_first: u16,
    /// The number of operations of the second side.
    pub second_count: u16,
    /// Number of operations of the two sides that have not completed.
    pub first_left: u16,
    /// The same for the second side.
    pub second_left: u16,
    /// Whether an operation of a side failed.
    pub is_first_spoilt: bool,
    /// The same for the second side.
    pub is_second_spoilt: bool,
    /// Whether the second side finished first.
    pub is_second_first: bool,
    /// The time when the second side began, and when it had read everything.
    pub second_at: Nanos,
    /// The time when the second side had read everything.
    pub second_read_at: Nanos,
    /// The time breakdown of its last operation.
    pub second_last: LastOperation,
}

/// State of the race of a hedged read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Race {
    /// There is no race.
    #[default]
    None,
    /// The second side starts if the direct read takes long.
    Armed,
    /// The other members are asked.
    Running,
    /// The second side is decoding.
    Computing,
    /// One side has won; the operations of the other are awaited.
    Decided,
}

impl Path {
    /// Columns that it decodes by choice.
    #[inline]
    pub fn avoided(&self) -> u64 {
        self.around.map_or(0, |way| way.avoided)
    }

    /// Whether operation `nth` of the plan belongs to the second side.
    #[inline]
    pub fn is_second(&self, nth: u32) -> bool {
        nth.wrapping_sub(self.second_first.into()) < u32::from(self.second_count)
    }
}
