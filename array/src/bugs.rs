//! Bugs that can be planted behind the feature `planted-bugs`, to prove that the checking simulation finds them.

/// A known bug of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A write is acknowledged after its pre-reads, before data and parity are written.
    AcknowledgeBeforeWrite,
    /// Updates do not hold their rows.
    HoldSkipped,
    /// A decoding read does not hold its row, so it may mix versions.
    DecodeWithoutHold,
    /// A chunk of a failed element is read from what the element last returned instead of being decoded.
    StaleElementRead,
    /// RMW leaves the old data out of the new parity.
    OldDataForgotten,
    /// A merged write keeps only the first writer's sectors.
    MergeLosesSectors,
    /// A partial write fills the rest of its page with zeros.
    PartialWriteClears,
    /// A degraded update skips the parity that stands for the lost chunk.
    DegradedParitySkipped,
    /// A request over several rows is acknowledged with its first.
    AcknowledgeFirstRow,
}

impl Bug {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::AcknowledgeBeforeWrite,
        Self::HoldSkipped,
        Self::DecodeWithoutHold,
        Self::StaleElementRead,
        Self::OldDataForgotten,
        Self::MergeLosesSectors,
        Self::PartialWriteClears,
        Self::DegradedParitySkipped,
        Self::AcknowledgeFirstRow,
    ];
}
