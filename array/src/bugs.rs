//! Bugs that can be planted where debug assertions are on, to prove that the checking simulation finds them.

/// A known bug of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// An array is opened, and its superblocks do not tell of the epoch that begins.
    EpochNotDurable,
    /// The numbers of batches that count are given again in the next epoch.
    NumberReused,
    /// What a flush covered and has no summary any more is gone without a word.
    GapIgnored,
    /// A chunk that was written and is lost with its summary reads as zeros.
    LossForgotten,
    /// A commit record is written before the batches that it covers are.
    CommitEarly,
    /// A checkpoint counts as soon as it is written, and is not flushed.
    CheckpointNotFlushed,
    /// A checkpoint forgets what was trimmed.
    TombstoneLost,
    /// A summary is written to one member alone.
    SummaryInOneCopy,
    /// A stripe that a flush closed short is extended in place later, and its parity rewritten.
    ShortStripeExtended,
    /// A chunk that collection moves counts as written anew.
    RelocationReborn,
    /// Of a member that returns to a log the array believes what it noted when the member failed, whatever the member's stamp
    /// says.
    StampIgnored,
    /// A member that returns in place is taken for one that missed nothing.
    ReturnBelieved,
    /// What is read is not held against its checksum.
    ChecksumIgnored,
    /// Updates do not wait until the redo journal has them.
    JournalSkipped,
    /// Updates begin in place when their record is written and not yet flushed.
    JournalNotFlushed,
    /// Records of the redo journal are freed before what they say is flushed.
    JournalFreedEarly,
    /// A record of the redo journal lacks parity.
    JournalWithoutParity,
    /// A record of the redo journal does not say which members are missing.
    MissingNotJournaled,
    /// The table of checksums is not written before records are freed.
    TableNotWritten,
    /// Records of the redo journal lack what late parity covers.
    BeforeImageOmitted,
    /// Records with what late parity covers are freed before that parity has a record.
    BeforeImageFreed,
    /// Opening an array leaves parity as late as it was.
    LateParityForgotten,
    /// Opening an array writes parity that was late in place, and no record ahead of it.
    LateParityNotRecorded,
    /// The map of zones names a page's new place before it is written there.
    MoveBeforeWritten,
    /// A write of a page does not wait for the one that moves it.
    MoveNotAwaited,
    /// A page of a zone that was left is used anew while requests may be on the way to it.
    LeftPageReused,
    /// A block goes home as it was read, though a host has written it since.
    EvictionNotStopped,
    /// After a loss of power the map of zones names places whose content no flush had covered.
    UnflushedMoveKept,
    /// What a chunk's new version replaces in the log goes on counting as valid.
    OldSlotStaysValid,
    /// A stripe that was on its way when one of its chunks was written anew makes the older version the current one.
    OlderChunkInstalled,
    /// Streams of hosts open the segment that is reserved for live chunks.
    ReserveIgnored,
    /// A stripe is written without its parity.
    StripeWithoutParity,
    /// Who waits for a stripe is acknowledged before it is written.
    StripeAcknowledgedEarly,
    /// A collected segment is freed while it is read, or its chunks are on their way.
    SegmentFreedEarly,
    /// Collection moves a chunk that was written anew while it was read.
    OldChunkMoved,
    /// A read of the log does not hold its segment.
    SegmentNotHeld,
    /// A request of a batch whose members have no room is taken for issued.
    BatchLosesRequest,
    /// A request of a batch that was issued stays in it, and is issued again.
    BatchRepeatsRequest,
    /// Writes to the same pages are dealt to one round, in which the later may go first.
    BatchReorders,
    /// A write of a chunk does not wait for one before it that is reading it.
    MergeNotJoined,
    /// A write that should wait until it is durable is acknowledged when memory has it.
    DurableTooEarly,
    /// Decoding a short stripe takes a member that it does not have for lost.
    AbsentTakenForLost,
    /// A stripe takes slots on failed members.
    FailedSlotUsed,
    /// A stripe of RAID-6 is written without Q.
    StripeWithoutQ,
    /// Of the live chunks of a stripe only the last one is moved.
    SurvivorDropped,
    /// A write is acknowledged after its pre-reads, before data and parity are written.
    AcknowledgeBeforeWrite,
    /// Updates do not hold their rows.
    HoldSkipped,
    /// A read that goes around a member by choice does not hold its row, so it may mix versions.
    RedirectNotHeld,
    /// A read goes around a member though its row's parity is late.
    LateRowRedirected,
    /// The second side of a hedged read decodes from what the first has read before the row was held.
    HedgeKeepsReads,
    /// The buffers of a hedged read's slower side are given back while its operations are in flight.
    LoserBufferFreed,
    /// A hedged read gives its row back as soon as the others are asked.
    HedgeHoldGivenBack,
    /// The segment of a read of the log that may go around a member, or ask others too, is not held.
    RedirectedSegmentNotHeld,
    /// A decoding read does not hold its row, so it may mix versions.
    DecodeWithoutHold,
    /// A chunk of a failed member is read from what the member last returned instead of being decoded.
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
    /// A write is acknowledged when its data is written, before its parity is.
    AcknowledgeBeforeParity,
    /// A write is acknowledged as soon as it is merged into one that waits.
    AcknowledgeMerged,
    /// A flush does not wait for what controller memory holds.
    FlushDropped,
    /// A read does not wait for the first write of a gathered row.
    FreshRowRead,
    /// A read of a chunk that waits until its row can be encoded is answered with zeros.
    EncodeBufferForgotten,
    /// A chunk that comes when its row is encoded makes parity as if the row's other chunks were zeros.
    LateMemberEncodesAlone,
    /// A repair writes back what another member holds.
    RepairWrongContent,
    /// The old content of a lost chunk is not decoded before a part of it is updated.
    PartOfLostNotDecoded,
    /// A trim leaves the parity of its row as it was.
    TrimKeepsParity,
    /// Content that is known to be corrupt is taken for good.
    CorruptionIgnored,
    /// A request that failed is acknowledged as if it had not.
    FailureHidden,
    /// An update of a lost chunk fails although its row could tolerate the loss.
    FailureInvented,
    /// Of those that wait for a row only the first is ever woken.
    WaiterForgotten,
    /// The buffer of decoded content is never given back.
    BufferLeaked,
    /// A flush does not wait for late parity.
    LateParityKept,
    /// Old versions are released before late parity is updated.
    ReleasedTooEarly,
    /// A chunk of a row whose parity is late is decoded from current versions.
    LateVersionDecoded,
    /// An update of RAID-6 writes P and leaves Q as it was.
    QLeftOld,
    /// RMW multiplies a change by the coefficient of the member's position instead of the code's.
    QByPosition,
    /// Of two lost data members one is decoded as if the other held zeros.
    TwoLostAsOne,
    /// RMW takes a parity that could not be read for what its buffer holds.
    UnreadParityUpdated,
    /// An update of a degraded row writes P, not Q.
    DegradedQSkipped,
    /// A flush does not wait for the Q of a write that was acknowledged after its data.
    FlushWithoutQ,
    /// A flush does not wait for what a volatile write cache holds.
    CacheNotDrained,
    /// A read forgets what the write cache has of a page.
    CacheOverlayForgotten,
    /// Parity that is made before pages come into the write cache is not kept there.
    CachedParityDropped,
    /// Decoding and updates take parity from the members though the write cache has a newer one.
    CachedParityIgnored,
    /// Of a row that leaves the write cache only one chunk is written.
    CacheDropsChunk,
    /// A write to a chunk that the write cache has keeps only the first writer's sectors.
    CacheLosesSectors,
    /// A page that the write cache has in part is written as if it had all of it.
    CacheTakesPartForWhole,
    /// Content that was acknowledged and lost on its way from the write cache is forgotten.
    CacheLossHidden,
    /// An update that was logged ends, and its deltas are forgotten.
    DeltaDropped,
    /// A row knows only its newest deltas.
    OlderDeltasForgotten,
    /// A row's deltas are read, and not taken into what its parity covers.
    DeltaNotFolded,
    /// A delta is read from the page behind the one that holds it.
    DeltaOfOtherRow,
    /// Deltas are made of new content alone.
    DeltaWithoutOld,
    /// The parity of a row whose deltas are lost with their member is taken for good.
    LostDeltasIgnored,
    /// A row's slots are vacant as soon as an update is about to read its deltas.
    DeltasFreedEarly,
    /// A trim of a row leaves it its deltas.
    TrimKeepsDeltas,
    /// A chunk that was written is taken for one that never was.
    WrittenForgotten,
    /// After a loss of power parity is left as it is.
    ResyncSkipped,
    /// After a loss of power a page that could not be read once is decoded from parity that may be wrong.
    ResyncBelievesParity,
    /// After a loss of power requests do not wait until parity is right.
    ResyncNotAwaited,
    /// A flush does not reach the volatile caches of members.
    ElementsNotFlushed,
    /// A volatile write cache is still full after a loss of power.
    VolatileCacheKept,
    /// A persistent write cache is empty after a loss of power.
    PersistentCacheLost,
    /// What an update from a persistent write cache was about to write when power was lost is not written again.
    RedoForgotten,
    /// A flush leaves a persistent write cache alone though members have volatile caches.
    PersistentCacheNotDrained,
    /// A page that was written anew in the write cache is gone from it when its older version is on the member.
    RedirtiedPageFreed,
    /// A write whose parity is made first is acknowledged before it is in the write cache.
    AcknowledgedBeforeCached,
    /// A flush does not wait for what is on its way from a volatile write cache.
    FlushSkipsDestages,
    /// Decoding and updates take data from the members though the write cache has newer that parity covers.
    CachedMembersIgnored,
    /// Updates that end in the write cache do not hold their rows.
    AbsorbNotHeld,
}

impl Bug {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::AcknowledgeBeforeWrite,
        Self::HoldSkipped,
        Self::RedirectNotHeld,
        Self::LateRowRedirected,
        Self::HedgeKeepsReads,
        Self::LoserBufferFreed,
        Self::HedgeHoldGivenBack,
        Self::RedirectedSegmentNotHeld,
        Self::DecodeWithoutHold,
        Self::StaleElementRead,
        Self::OldDataForgotten,
        Self::MergeLosesSectors,
        Self::PartialWriteClears,
        Self::DegradedParitySkipped,
        Self::AcknowledgeFirstRow,
        Self::AcknowledgeBeforeParity,
        Self::AcknowledgeMerged,
        Self::FlushDropped,
        Self::FreshRowRead,
        Self::EncodeBufferForgotten,
        Self::LateMemberEncodesAlone,
        Self::RepairWrongContent,
        Self::PartOfLostNotDecoded,
        Self::TrimKeepsParity,
        Self::CorruptionIgnored,
        Self::FailureHidden,
        Self::FailureInvented,
        Self::WaiterForgotten,
        Self::BufferLeaked,
        Self::LateParityKept,
        Self::ReleasedTooEarly,
        Self::LateVersionDecoded,
        Self::QLeftOld,
        Self::QByPosition,
        Self::TwoLostAsOne,
        Self::UnreadParityUpdated,
        Self::DegradedQSkipped,
        Self::FlushWithoutQ,
        Self::CacheNotDrained,
        Self::CacheOverlayForgotten,
        Self::CachedParityDropped,
        Self::CachedParityIgnored,
        Self::CacheDropsChunk,
        Self::CacheLosesSectors,
        Self::CacheTakesPartForWhole,
        Self::CacheLossHidden,
        Self::DeltaDropped,
        Self::OlderDeltasForgotten,
        Self::DeltaNotFolded,
        Self::DeltaOfOtherRow,
        Self::DeltaWithoutOld,
        Self::LostDeltasIgnored,
        Self::DeltasFreedEarly,
        Self::TrimKeepsDeltas,
        Self::WrittenForgotten,
        Self::ResyncSkipped,
        Self::ResyncBelievesParity,
        Self::ResyncNotAwaited,
        Self::ElementsNotFlushed,
        Self::VolatileCacheKept,
        Self::PersistentCacheLost,
        Self::RedoForgotten,
        Self::PersistentCacheNotDrained,
        Self::RedirtiedPageFreed,
        Self::AcknowledgedBeforeCached,
        Self::FlushSkipsDestages,
        Self::CachedMembersIgnored,
        Self::AbsorbNotHeld,
        Self::MoveBeforeWritten,
        Self::MoveNotAwaited,
        Self::LeftPageReused,
        Self::EvictionNotStopped,
        Self::UnflushedMoveKept,
        Self::OldSlotStaysValid,
        Self::OlderChunkInstalled,
        Self::ReserveIgnored,
        Self::StripeWithoutParity,
        Self::StripeAcknowledgedEarly,
        Self::SegmentFreedEarly,
        Self::OldChunkMoved,
        Self::SegmentNotHeld,
        Self::BatchLosesRequest,
        Self::BatchRepeatsRequest,
        Self::BatchReorders,
        Self::MergeNotJoined,
        Self::DurableTooEarly,
        Self::AbsentTakenForLost,
        Self::FailedSlotUsed,
        Self::StripeWithoutQ,
        Self::SurvivorDropped,
    ];

    /// Those of what is written so that an array can be opened again, which lost power alone brings to light.
    pub const METADATA: &[Self] = &[
        Self::CommitEarly,
        Self::CheckpointNotFlushed,
        Self::TombstoneLost,
        Self::SummaryInOneCopy,
        Self::ShortStripeExtended,
        Self::RelocationReborn,
        Self::EpochNotDurable,
        Self::NumberReused,
        Self::GapIgnored,
        Self::LossForgotten,
        Self::StampIgnored,
        Self::ReturnBelieved,
        Self::ChecksumIgnored,
        Self::JournalSkipped,
        Self::JournalNotFlushed,
        Self::JournalFreedEarly,
        Self::JournalWithoutParity,
        Self::MissingNotJournaled,
        Self::TableNotWritten,
        Self::BeforeImageOmitted,
        Self::BeforeImageFreed,
        Self::LateParityForgotten,
        Self::LateParityNotRecorded,
    ];
}
