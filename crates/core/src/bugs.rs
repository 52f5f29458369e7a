//! Bugs that tests can plant where debug assertions are on, to prove that the checking simulation finds them.

/// A known bug of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Assembly begins a new epoch without recording it in the superblocks.
    EpochNotDurable,
    /// An assembly overwrites superblocks before it has flushed what a killed one left.
    AssemblyNotFlushed,
    /// Assembly takes the end of a log, which no flush covered, as members return it, and does not write it again.
    EndNotRewritten,
    /// The next epoch reuses the numbers of valid batches.
    NumberReused,
    /// Content that a flush covered and whose summary is missing disappears silently.
    GapIgnored,
    /// A written chunk that is lost together with its summary reads as zeros.
    LossForgotten,
    /// A commit record is written before the batches that it covers.
    CommitEarly,
    /// A checkpoint counts as soon as it is written, before it is flushed.
    CheckpointNotFlushed,
    /// A checkpoint forgets trimmed chunks.
    TombstoneLost,
    /// A summary is written to only one member.
    SummaryInOneCopy,
    /// A stripe that a flush closed short is extended in place later, and its parity is rewritten.
    ShortStripeExtended,
    /// A chunk that garbage collection moves counts as newly written.
    RelocationReborn,
    /// A scrub of a log moves the stripes of bad pages, whether or not there is space for them.
    RepairTakesSpace,
    /// A log continues to take writes when more members are lost than parity tolerates.
    BeyondParityTaken,
    /// A scrub of a log counts bad pages as repaired, and does not write them.
    RepairNotWritten,
    /// When a member returns to a log, the array trusts the record it made when the member failed and ignores the member's
    /// stamp.
    StampIgnored,
    /// A member that was failed for damage is known to have everything up to its failure.
    DamageForgotten,
    /// A member that returns from a copy of the array that was served separately is trusted with what its stamp says.
    CopyTrusted,
    /// A member that returns in place is assumed to have missed no writes.
    ReturnBelieved,
    /// A rebuild continues when too many members are missing, and leaves out what may return with them.
    RebuildNotHalted,
    /// A log takes a replacement for a member whose content a halted rebuild needs.
    NeededReplaced,
    /// A member counts as whole although its rebuild left something out.
    LeftOutForgotten,
    /// An update in place keeps the old checksum of parity that no member can take: stale parity counts as intact when its
    /// member returns.
    StaleParityTrusted,
    /// A scrub ends before what it repaired is durable.
    RepairsNotFlushed,
    /// A scrub does not read the pages of the journal that no record takes.
    VacantNotRead,
    /// A scrub does not read records of the journal that are freed, although no durable record says so.
    FreedRecordNotRead,
    /// A scrub passes the pages of the journal on which a record is being written, although some members will not keep it.
    RecordNotAwaited,
    /// A scrub takes a bad copy of metadata for whole if other copies were being written when it was read.
    BusyCopyWhole,
    /// A walk takes the slots behind a batch that it has read for read, too.
    LaterBatchPassed,
    /// A scrub counts bad pages of a stripe that lost its last valid chunk before they were read.
    DeadStripeCounted,
    /// A record is written to state what is freed while a group is beyond parity, and may not state it.
    HeldRecordWritten,
    /// A record that is written while a group is beyond parity states as freed what was freed before.
    FreedRecordedBeyond,
    /// Parity of a row with columns that it takes for zeros counts as valid after an update that wrote and was abandoned.
    AbandonedParityTrusted,
    /// A member that is lost while copies of superblocks are written takes the places of the others with it.
    TargetsShift,
    /// A copy of a superblock that was left unfinished when another member was lost counts as damage of its member.
    TornCopyCharged,
    /// A member that failed while a record of the journal was written counts as one that has it.
    FailedKeeperCounts,
    /// A stop ends a scrub, and the next serving does not continue it.
    ScrubNotContinued,
    /// Records of the journal are freed while more members of a group failed than parity tolerates.
    RecordsFreedBeyond,
    /// Assembly of a log reads no metadata of members that failed, also if no other member has it.
    LastSourceIgnored,
    /// No copies of the checkpoint and the commit record are made when members with some fail.
    CopiesNotReplaced,
    /// The version of the superblocks that records one member calls another failed, which returns unchanged.
    ReturningCalledFailed,
    /// Superblocks call a member that returns rebuilding from its first row, also if it has all rows.
    UnchangedRowsForgotten,
    /// The journal is not replayed on a member that returns unchanged.
    NotReplayed,
    /// A row in a region that is marked is written although its group is beyond parity.
    MarkedRowWritten,
    /// A record of the journal calls all members missing that failed, also if the group cannot do without them.
    AllMissingRecorded,
    /// A version of the superblocks is completed although a member failed and returned before its front copy was durable.
    TornFrontCounts,
    /// A member that may have no back copy of the superblock, and returns, gets the next front copy at once.
    FrontCopyFirst,
    /// The metadata of a member that returns is cleared although other members lack copies of it.
    KeptMetadataCleared,
    /// A write that fails before it has a record, and that was to defer its parity, counts as written.
    FailedWriteDeferred,
    /// A scrub skips what is in batches that are open when it begins.
    OpenBatchesNotScrubbed,
    /// Content that does not match its checksum counts as an error of its member even where the member is not rebuilt yet,
    /// and on pages without live content.
    StaleCharged,
    /// A member with errors beyond the limit is failed whether or not the array needs it.
    LimitIgnoresNeed,
    /// A member with errors beyond the limit is failed while parity is recomputed after a loss of power.
    LimitIgnoresResync,
    /// For the error limit, members with deltas of parity are a group of their own.
    LimitForgetsDeltas,
    /// Content that does not match its checksum counts as an error of another member.
    VictimCharged,
    /// Content that does not match its checksum counts as an error of no member.
    MismatchNotCharged,
    /// The rebuild of a log leaves out every other segment, and the member counts as whole.
    CleanTooEarly,
    /// Content that is read is not verified against its checksum.
    ChecksumIgnored,
    /// Updates do not wait until their record is in the redo journal.
    JournalSkipped,
    /// Updates in place begin when their record is written but not yet flushed.
    JournalNotFlushed,
    /// Records of the redo journal are freed before the content they describe is flushed.
    JournalFreedEarly,
    /// A record of the redo journal lacks parity.
    JournalWithoutParity,
    /// A record of the redo journal does not name the missing members.
    MissingNotJournaled,
    /// Records are freed before the table of checksums is written.
    TableNotWritten,
    /// Records of the redo journal lack the old content that deferred parity covers.
    BeforeImageOmitted,
    /// Records with the old content that deferred parity covers are freed before that parity has a record.
    BeforeImageFreed,
    /// Assembly leaves deferred parity out of date.
    LateParityForgotten,
    /// Assembly writes deferred parity in place without writing a record first.
    LateParityNotRecorded,
    /// The map of zones names a page's new place before the page is written there.
    MoveBeforeWritten,
    /// A write of a page does not wait for the write that moves the page.
    MoveNotAwaited,
    /// A write passes an earlier write of the same page that was set aside.
    SetAsideOvertaken,
    /// A page of a zone is reused while requests to its old content may still be in flight.
    LeftPageReused,
    /// A block returns to its home as it was read, although a host has written it since.
    EvictionNotStopped,
    /// After a power loss, the map of zones names places whose content no flush covered.
    UnflushedMoveKept,
    /// A row whose free columns an update left out of parity is decoded with what their members have.
    FreeColumnsForgotten,
    /// An update leaves out of parity pages that were left, although requests for them may be in flight.
    LeftColumnsLeftOut,
    /// An update whose parity stays in persistent memory leaves the parity of the update before there.
    KeptParityNotUpdated,
    /// Parity leaves persistent memory without being written to the members.
    KeptParityNotWritten,
    /// Parity that only persistent memory has is lost with power.
    KeptParityLost,
    /// When a chunk gets a new version in the log, its old slot still counts as valid.
    OldSlotStaysValid,
    /// A stripe in flight makes its version of a chunk the current one although the chunk was written again meanwhile.
    OlderChunkInstalled,
    /// Streams of hosts open the segment that is reserved for live chunks.
    ReserveIgnored,
    /// Memory accepts chunks although their stripes may find no space.
    SpaceNotReserved,
    /// Chunks that wait for more chunks are not written when they have used up the space that may be promised.
    WaitingNotWritten,
    /// A stripe is written without its parity.
    StripeWithoutParity,
    /// Requests that wait for a stripe are acknowledged before the stripe is written.
    StripeAcknowledgedEarly,
    /// A collected segment is freed while it is read, or while its chunks are in flight.
    SegmentFreedEarly,
    /// Garbage collection moves a chunk that was written again while it was read.
    OldChunkMoved,
    /// A read of the log does not lock its segment.
    SegmentNotHeld,
    /// A request of a batch whose members have no room is treated as issued.
    BatchLosesRequest,
    /// A request of a batch stays in the batch after it is issued, and is issued twice.
    BatchRepeatsRequest,
    /// Writes to the same pages go into one round, in which the later write may overtake the earlier.
    BatchReorders,
    /// A write of a chunk does not wait for an earlier write that is still reading the chunk.
    MergeNotJoined,
    /// A write that should wait until it is durable is acknowledged when it is in memory.
    DurableTooEarly,
    /// Decoding a short stripe treats a column that the stripe does not have as lost.
    AbsentTakenForLost,
    /// A stripe takes slots on failed members.
    FailedSlotUsed,
    /// A stripe of RAID-6 is written without Q.
    StripeWithoutQ,
    /// Parity of the falling diagonals of a deep stripe is written one member too far.
    DiagonalShifted,
    /// Of the chunks that a member has in a deep stripe, only the first one is rebuilt.
    FirstRowRebuilt,
    /// Of the live chunks of a stripe, only the last one is moved.
    LiveChunkDropped,
    /// A write is acknowledged after its pre-reads, before data and parity are written.
    AcknowledgeBeforeWrite,
    /// Updates do not lock their rows.
    HoldSkipped,
    /// A redirected read does not lock its row, so it may mix versions.
    RedirectNotHeld,
    /// A read is redirected although the parity of its row is deferred.
    LateRowRedirected,
    /// The second side of a hedged read decodes from pages that the first side read before the row was locked.
    HedgeKeepsReads,
    /// The buffers of a hedged read's slower side are released while its operations are in flight.
    LoserBufferFreed,
    /// A hedged read unlocks its row as soon as it has started its second side.
    HedgeHoldGivenBack,
    /// A read of the log that may be redirected or hedged does not lock its segment.
    RedirectedSegmentNotHeld,
    /// A decoding read does not lock its row, so it may mix versions.
    DecodeWithoutHold,
    /// A chunk of a failed member is not decoded; the content that the member last returned is used.
    StaleMemberRead,
    /// RMW leaves the old data out of the new parity.
    OldDataForgotten,
    /// A merged write keeps only the first writer's sectors.
    MergeLosesSectors,
    /// A partial write fills the rest of its page with zeros.
    PartialWriteClears,
    /// A degraded update skips the parity that represents the lost chunk.
    DegradedParitySkipped,
    /// A request over several rows is acknowledged with its first row.
    AcknowledgeFirstRow,
    /// A write is acknowledged when its data is written, before its parity is written.
    AcknowledgeBeforeParity,
    /// A write is acknowledged as soon as it is merged into a waiting write.
    AcknowledgeMerged,
    /// A flush does not wait for the content of controller memory.
    FlushDropped,
    /// A read does not wait for the first write of a gathered row.
    FreshRowRead,
    /// A read of a chunk that waits until its row can be encoded is answered with zeros.
    EncodeBufferForgotten,
    /// A chunk that arrives when its row is encoded computes parity as if the other chunks of the row were zeros.
    LateMemberEncodesAlone,
    /// A repair writes the content of another member.
    RepairWrongContent,
    /// The old content of a lost chunk is not decoded before a part of it is updated.
    PartOfLostNotDecoded,
    /// A trim leaves the parity of its row as it was.
    TrimKeepsParity,
    /// Content that is known to be corrupt is treated as valid.
    CorruptionIgnored,
    /// A plan that goes the short way takes an operation that failed for one that is done.
    StraightFailureIgnored,
    /// A failed request is acknowledged as successful.
    FailureHidden,
    /// An update of a lost chunk fails although its row could tolerate the loss.
    FailureInvented,
    /// Of the plans that wait for a row, only the first is ever woken.
    WaiterForgotten,
    /// The buffer of decoded content is never released.
    BufferLeaked,
    /// A flush does not wait for deferred parity.
    LateParityKept,
    /// Old versions are released before deferred parity is updated.
    ReleasedTooEarly,
    /// A chunk of a row with deferred parity is decoded from current versions.
    LateVersionDecoded,
    /// Of writes that share a row, two of the same page are in flight at once.
    PageWrittenTwiceAtOnce,
    /// An update of parity beside writes waits neither for the writes before it nor for another such update.
    ParityOutOfTurn,
    /// Content that an update of parity is to cover is written over beside it, and nothing keeps it.
    CoveredContentDropped,
    /// An update of RAID-6 writes P and leaves Q as it was.
    QLeftOld,
    /// RMW multiplies a change by the coefficient of the column's position instead of the code's coefficient.
    QByPosition,
    /// Of two lost data columns, one is decoded as if the other held zeros.
    TwoLostAsOne,
    /// RMW takes the content of a parity page's buffer for the parity, although the page could not be read.
    UnreadParityUpdated,
    /// An update of a degraded row writes P, not Q.
    DegradedQSkipped,
    /// A flush does not wait for the Q of a write that was acknowledged after its data.
    FlushWithoutQ,
    /// A flush does not wait for the content of a volatile write cache.
    CacheNotDrained,
    /// A read ignores the part of a page that the write cache holds.
    CacheOverlayForgotten,
    /// Parity that is computed before pages enter the write cache is not kept in the cache.
    CachedParityDropped,
    /// Decoding and updates read parity from the members although the write cache has a newer version.
    CachedParityIgnored,
    /// When a row leaves the write cache, only one of its chunks is written.
    CacheDropsChunk,
    /// A write to a chunk in the write cache keeps only the first writer's sectors.
    CacheLosesSectors,
    /// A page that the write cache holds in part is written as if the cache held all of it.
    CacheTakesPartForWhole,
    /// Acknowledged content that is lost while it leaves the write cache is forgotten.
    CacheLossHidden,
    /// An update that was logged ends, and its deltas are forgotten.
    DeltaDropped,
    /// Only the newest deltas of a row are known.
    OlderDeltasForgotten,
    /// A row's deltas are read but not folded into the content that its parity covers.
    DeltaNotFolded,
    /// A delta is read from the page after the one that holds it.
    DeltaOfOtherRow,
    /// Deltas are computed from new content alone.
    DeltaWithoutOld,
    /// The parity of a row whose deltas are lost with their member is treated as valid.
    LostDeltasIgnored,
    /// A row's slots become vacant as soon as an update is about to read its deltas.
    DeltasFreedEarly,
    /// A trim of a row leaves the row's deltas in place.
    TrimKeepsDeltas,
    /// A written chunk is treated as never written.
    WrittenForgotten,
    /// After a power loss, parity is not recomputed.
    ResyncSkipped,
    /// After a power loss, a page that could not be read once is decoded from parity that may be wrong.
    ResyncBelievesParity,
    /// After a power loss, requests do not wait until parity is correct.
    ResyncNotAwaited,
    /// A flush does not reach the volatile caches of members.
    MembersNotFlushed,
    /// A volatile write cache is still full after a power loss.
    VolatileCacheKept,
    /// A persistent write cache is empty after a power loss.
    PersistentCacheLost,
    /// An update from a persistent write cache that a power loss interrupted is not written again.
    RedoForgotten,
    /// A flush does not empty a persistent write cache although members have volatile caches.
    PersistentCacheNotDrained,
    /// A page that was written again in the write cache leaves the cache when its older version is on the member.
    RedirtiedPageFreed,
    /// A write whose parity is computed first is acknowledged before it is in the write cache.
    AcknowledgedBeforeCached,
    /// A flush does not wait for content in flight from a volatile write cache.
    FlushSkipsDestages,
    /// Decoding and updates read data from the members although the write cache has newer data that parity covers.
    CachedMembersIgnored,
    /// Updates that end in the write cache do not lock their rows.
    AbsorbNotHeld,
}

impl Bug {
    /// All bugs except those of the other lists.
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
        Self::StaleMemberRead,
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
        Self::StraightFailureIgnored,
        Self::FailureHidden,
        Self::FailureInvented,
        Self::WaiterForgotten,
        Self::BufferLeaked,
        Self::LateParityKept,
        Self::ReleasedTooEarly,
        Self::LateVersionDecoded,
        Self::PageWrittenTwiceAtOnce,
        Self::ParityOutOfTurn,
        Self::CoveredContentDropped,
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
        Self::LimitIgnoresNeed,
        Self::LimitIgnoresResync,
        Self::LimitForgetsDeltas,
        Self::ResyncBelievesParity,
        Self::ResyncNotAwaited,
        Self::MembersNotFlushed,
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
        Self::SetAsideOvertaken,
        Self::LeftPageReused,
        Self::EvictionNotStopped,
        Self::UnflushedMoveKept,
        Self::FreeColumnsForgotten,
        Self::LeftColumnsLeftOut,
        Self::KeptParityNotUpdated,
        Self::KeptParityNotWritten,
        Self::KeptParityLost,
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
        Self::DiagonalShifted,
        Self::LiveChunkDropped,
    ];

    /// Bugs of the metadata that assembly reads; only a power loss reveals them.
    pub const METADATA: &[Self] = &[
        Self::CommitEarly,
        Self::CheckpointNotFlushed,
        Self::TombstoneLost,
        Self::SummaryInOneCopy,
        Self::ShortStripeExtended,
        Self::FirstRowRebuilt,
        Self::SpaceNotReserved,
        Self::WaitingNotWritten,
        Self::RelocationReborn,
        Self::RepairTakesSpace,
        Self::RepairNotWritten,
        Self::BeyondParityTaken,
        Self::EpochNotDurable,
        Self::AssemblyNotFlushed,
        Self::EndNotRewritten,
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

    /// Bugs that a search meets once in some hundred thousand seeds: the case that it left finds each.
    pub const RARE: &[Self] = &[Self::HeldRecordWritten, Self::TargetsShift, Self::AbandonedParityTrusted];

    /// Bugs of what the array says of its members. They corrupt no data.
    pub const HEALTH: &[Self] = &[
        Self::StaleCharged,
        Self::VictimCharged,
        Self::MismatchNotCharged,
        Self::CleanTooEarly,
        Self::RebuildNotHalted,
        Self::NeededReplaced,
        Self::LeftOutForgotten,
        Self::StaleParityTrusted,
        Self::RepairsNotFlushed,
        Self::VacantNotRead,
        Self::FreedRecordNotRead,
        Self::RecordNotAwaited,
        Self::BusyCopyWhole,
        Self::LaterBatchPassed,
        Self::DeadStripeCounted,
        Self::FreedRecordedBeyond,
        Self::TornCopyCharged,
        Self::FailedKeeperCounts,
        Self::ScrubNotContinued,
        Self::RecordsFreedBeyond,
        Self::LastSourceIgnored,
        Self::CopiesNotReplaced,
        Self::ReturningCalledFailed,
        Self::UnchangedRowsForgotten,
        Self::NotReplayed,
        Self::MarkedRowWritten,
        Self::AllMissingRecorded,
        Self::TornFrontCounts,
        Self::FrontCopyFirst,
        Self::KeptMetadataCleared,
        Self::FailedWriteDeferred,
        Self::OpenBatchesNotScrubbed,
        Self::DamageForgotten,
        Self::CopyTrusted,
    ];
}
