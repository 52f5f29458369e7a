//! The state that makes the log durable: batches of stripes with their summaries, checksums, generations of segments,
//! tombstones, and the point up to which all of it is durable on the members. See `docs/design/format.md`.
//!
//! A *batch* is the unit that one summary describes. It begins with the slots of the summary's copies, which are written last:
//! by then, all content that they describe is written. Batches are numbered in the order in which they are closed, without a
//! gap.
//!
//! Source: summaries of segments and two alternating checkpoint regions are due to Rosenblum and Ousterhout, SOSP 1991;
//! batches, write sequence numbers and commit records are our choice.

use super::contents::{BatchContents, Content, Walker};
use super::counts::MetadataCounts;
use stripewise_core::ids::{MemberNo, RequestId};
use stripewise_format::layout::Layout;
use stripewise_format::summary::room;
use stripewise_format::{CheckpointHeader, Commit, SEQUENCES_MAX, Summary, Superblock, Tombstone, write_seq};

use crate::log::Log;
use crate::membership::{self, Membership, Part};

/// Number of write sequence numbers of an epoch after which a driver accepts no more changes from hosts: parts of accepted
/// changes still need numbers.
const WRITE_SEQS_OF_DRIVER: u64 = SEQUENCES_MAX / 2;

/// Number of write sequence numbers of an epoch after which the controller accepts no more changes: accepted changes, and
/// damaged chunks that collection finds, still need numbers.
const WRITE_SEQS_OF_HOSTS: u64 = SEQUENCES_MAX / 4 * 3;

/// A batch that is not yet completely on the members.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) segment: u32,
    /// The stream of its open segment.
    pub(crate) stream: usize,
    /// Its slots, of which those of the summary's copies come first.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// Number of its stripes in flight.
    pub(crate) writing: u32,
    /// Its number, once it is closed.
    pub(crate) number: Option<u64>,
    /// Whether its summary is in flight.
    pub(crate) is_closing: bool,
    pub(crate) tombstones: Vec<Tombstone>,
    /// The content of its slots, for the summary.
    contents: Vec<Content>,
}

impl Batch {
    /// The content of `slot`, one of its own.
    pub(crate) fn content(&self, slot: u64) -> Content {
        self.contents.get((slot - self.first) as usize).copied().unwrap_or(Content::UNKNOWN)
    }

    /// Records the content of `slot`, which follows those of its copies.
    pub(crate) fn note(&mut self, slot: u64, content: Content) {
        let nth = (slot - self.first) as usize;
        if self.contents.len() <= nth {
            self.contents.resize(nth + 1, Content::UNKNOWN);
        }
        self.contents[nth] = content;
    }

    /// Records the checksum of the content of `slot`.
    pub(crate) fn note_checksum(&mut self, slot: u64, checksum: u32) {
        self.note(slot, Content { checksum: Some(checksum), ..self.content(slot) });
    }
}

/// The current phase of a sync; each phase begins when the previous one is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// Chunks that wait in memory are written.
    Drain,
    /// Batches up to the new horizon are being written.
    WriteBatches,
    /// Old checkpoints and commit records on a joining member are invalidated.
    Clear,
    FlushData,
    /// Superblocks that record the failure of a member.
    Front,
    FlushFront,
    Back,
    FlushBack,
    Commit,
    FlushCommit,
    /// A checkpoint.
    Body,
    FlushBody,
    Header,
    FlushHeader,
    /// A commit record that names the checkpoint.
    Name,
    FlushName,
    /// There was nothing to make durable.
    Over,
}

/// A page of metadata to be written: `content` is the offset of its bytes in [`Sync::bytes`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageWrite {
    pub(crate) member: MemberNo,
    pub(crate) page: u32,
    pub(crate) content: usize,
}

/// State of a sync, which makes everything durable up to a sync point: for flushes, for a checkpoint, for events of members.
#[derive(Debug, Default)]
pub(crate) struct Sync {
    pub(crate) phase: Phase,
    /// Flushes that wait for the next sync point, and those that wait for the end of this sync.
    pub(crate) waiting: Vec<RequestId>,
    pub(crate) joined: Vec<RequestId>,
    pub(crate) is_checkpoint: bool,
    /// Whether a checkpoint was requested, whether or not it is needed.
    pub(crate) is_requested: bool,
    /// Tombstones of the sync point that are only in the checkpoint: flushes wait for it.
    pub(crate) buried: Vec<Tombstone>,
    /// The members that are rebuilt and had everything at the sync point, as a mask: they are whole once this sync is durable.
    pub(crate) covers: u64,
    /// The members that the checkpoint is written to, and its header.
    pub(crate) keepers: Vec<MemberNo>,
    pub(crate) header: Option<CheckpointHeader>,
    /// The superblock whose front copies were written, and whose back copies are not.
    pub(crate) superblock: Option<Superblock>,
    /// The superblock whose back copies are being written.
    pub(crate) recorded: Option<Superblock>,
    /// The commit record that is being written.
    pub(crate) commit: Option<Commit>,
    /// Members that failed since, as a mask: the superblocks do not apply to a device that replaces one of them.
    pub(crate) gone: u64,
    /// Members that joined and still have old checkpoints and commit records, as a mask.
    pub(crate) uncleared: u64,
    /// The last batch that is to be durable; by the time superblocks are written, it is.
    pub(crate) horizon: u64,
    /// The greatest write sequence number at the sync point, and the segments to be freed.
    pub(crate) write_seq: u64,
    pub(crate) frees: Vec<u32>,
    pub(crate) body: Vec<u8>,
    /// Pages of this phase, the number of pages begun, and their bytes.
    pub(crate) writes: Vec<PageWrite>,
    pub(crate) begun: usize,
    pub(crate) bytes: Vec<u8>,
    /// Members that have pages of the last phase that wrote any, as a mask.
    pub(crate) touched: u64,
    /// Whether the flush of this phase has begun.
    pub(crate) is_flushing: bool,
    /// Whether a stripe from before the sync point could not be written: its chunks wait in memory again.
    pub(crate) is_abandoned: bool,
    /// Number of plans of this phase in progress.
    pub(crate) under_way: u32,
}

/// The state that the log must track to be durable.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) layout: Layout,
    pub(crate) members: Membership<Walk, Segments>,
    /// For each chunk in a slot its checksum; empty where there are no bytes.
    pub(crate) checksums: Vec<u32>,
    /// A bit for each chunk that is stored, in the form of checkpoints, so that drawing one need not visit every chunk.
    pub(crate) written: Vec<u8>,
    /// For each segment its generation, its last batch, and the number of its slots in use up to there.
    pub(crate) generations: Vec<u32>,
    pub(crate) last_batch: Vec<u64>,
    pub(crate) used: Vec<u32>,
    pub(crate) batches: Vec<Batch>,
    /// The open batch of each stream's open segment, by its first slot.
    pub(crate) open: Vec<Option<u64>>,
    pub(crate) next_batch: u64,
    /// The counter of the last write sequence number.
    sequence: u64,
    /// Tombstones that are not in a batch yet.
    pub(crate) tombstones: Vec<Tombstone>,
    /// Collected segments that the last checkpoint names.
    pub(crate) collected: Vec<u32>,
    /// Segments with a summary of which a copy is bad and cannot be rewritten: they are collected when there is space.
    pub(crate) shaky: Vec<u32>,
    /// Segments opened since the last checkpoint.
    pub(crate) opened: u32,
    /// Segments opened since members were stamped.
    pub(crate) unstamped: u32,
    /// The last batch that a commit record covers.
    pub(crate) horizon: u64,
    /// The number of the last commit record, and of the newest durable checkpoint.
    pub(crate) commits: u64,
    pub(crate) checkpoint: u64,
    /// The members that have that checkpoint and have not failed since, as a mask.
    pub(crate) checkpoint_on: u64,
    /// That checkpoint's header; `None` before the first checkpoint.
    pub(crate) newest: Option<CheckpointHeader>,
    /// The newest durable commit record, and the members that have it and have not failed since, as a mask.
    pub(crate) commit_on: Option<(Commit, u64)>,
    /// Whether there is a member event that superblocks do not record yet.
    pub(crate) has_event: bool,
    pub(crate) sync: Sync,
    /// The walk that rebuilds all members that are to be rebuilt, and its number, which its plans have too.
    pub(crate) rebuilding: Walk,
    pub(crate) turn: u32,
    /// The members that this walk rebuilds, as a mask.
    pub(crate) walking: u64,
    /// The content of the batches at which walks over segments are.
    pub(crate) known: [BatchContents; Walker::ALL.len()],
    /// The free segment that is being discarded.
    pub(crate) discard: Option<Walk>,
    /// For each member the number of failed chunk writes.
    pub(crate) write_errors: Vec<u8>,
    /// Number of entries and tombstones that fit in a summary.
    pub(crate) room: u32,
    /// Pages of metadata written: summaries, superblocks, commit records, checkpoints.
    pub(crate) counts: MetadataCounts,
    #[cfg(debug_assertions)]
    pub(crate) short: Option<crate::log::Short>,
}

/// A walk over all slots of the log, segment by segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) segment: u32,
    /// The next slot of the segment.
    pub(crate) next: u32,
    /// Number of plans of the walk in progress.
    pub(crate) under_way: u32,
}

impl Walk {
    /// Number of finished segments.
    pub(crate) fn done(&self) -> u64 {
        self.segment.into()
    }

    /// Begins no more segments.
    pub(crate) fn stop(&mut self) {
        self.segment = u32::MAX;
    }
}

/// A member of a log that is being rebuilt, segment by segment.
pub(crate) type Rebuild = membership::Rebuild<Segments>;

/// What the rebuild of a member of a log tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    pub(crate) stage: Stage,
    /// For each segment whether it has stripes whose chunks on the member are missing.
    pub(crate) stale: Vec<bool>,
    /// Whether an earlier rebuild could not recover everything: this member may have the missing content.
    pub(crate) may_mend: bool,
}

impl Part for Segments {
    fn is_lacking(&self) -> bool {
        self.stage == Stage::Walks
    }
}

/// Progress of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Segments are being walked.
    Walks,
    /// Everything is on the member except its copies of metadata outside of segments: a checkpoint follows.
    Written,
    /// A checkpoint was written since, and superblocks are to record that the member is whole.
    Covered,
}

impl Durable {
    /// An empty log of `chunks` chunks with checksums, in `segments` segments that were never opened.
    pub(crate) fn new(
        layout: Layout,
        superblock: Superblock,
        chunks: u64,
        segments: u32,
        streams: usize,
    ) -> Self {
        Self {
            layout,
            checksums: vec![0; chunks as usize],
            written: vec![0; chunks.div_ceil(8) as usize],
            generations: vec![0; segments as usize],
            last_batch: vec![0; segments as usize],
            used: vec![0; segments as usize],
            batches: Vec::new(),
            open: vec![None; streams],
            next_batch: 1,
            sequence: 0,
            tombstones: Vec::new(),
            collected: Vec::new(),
            shaky: Vec::new(),
            opened: 0,
            unstamped: 0,
            horizon: 0,
            commits: 0,
            checkpoint: 0,
            checkpoint_on: 0,
            newest: None,
            commit_on: None,
            has_event: false,
            sync: Sync::default(),
            rebuilding: Walk::default(),
            turn: 0,
            walking: 0,
            known: Default::default(),
            discard: None,
            write_errors: vec![0; superblock.members.len()],
            room: room(superblock.page_bytes),
            members: Membership::new(superblock),
            counts: MetadataCounts::default(),
            #[cfg(debug_assertions)]
            short: None,
        }
    }

    /// Records that `chunk` is stored, or no longer stored.
    pub(crate) fn note_written(&mut self, chunk: u64, is_written: bool) {
        if let Some(byte) = self.written.get_mut((chunk / 8) as usize) {
            let bit = 1 << (chunk % 8);
            *byte = if is_written { *byte | bit } else { *byte & !bit };
        }
    }

    /// The write sequence number for a new version.
    pub(crate) fn next_write_seq(&mut self) -> u64 {
        self.sequence += 1;
        write_seq(self.members.superblock.epoch, self.sequence)
    }

    /// Whether a driver should accept no more changes from hosts in this epoch.
    pub(crate) fn is_epoch_ending(&self) -> bool {
        self.sequence >= WRITE_SEQS_OF_DRIVER
    }

    /// Whether the remaining write sequence numbers of this epoch are reserved for accepted changes.
    pub(crate) fn is_epoch_over(&self) -> bool {
        self.sequence >= WRITE_SEQS_OF_HOSTS
    }

    /// Uses up `write_seqs` write sequence numbers.
    #[cfg(test)]
    pub(crate) fn use_write_seqs(&mut self, write_seqs: u64) {
        self.sequence += write_seqs;
    }

    /// The greatest write sequence number so far.
    pub(crate) fn last_write_seq(&self) -> u64 {
        write_seq(self.members.superblock.epoch, self.sequence)
    }

    /// The batch of `slot`, if it is not wholly written.
    pub(crate) fn batch_of(&mut self, slot: u64) -> Option<&mut Batch> {
        self.batches.iter_mut().find(|batch| (batch.first..batch.end).contains(&slot))
    }

    /// Whether `slot` is in a batch that is not wholly written.
    pub(crate) fn is_writing(&self, slot: u64) -> bool {
        self.batches.iter().any(|batch| (batch.first..batch.end).contains(&slot))
    }

    /// Whether `slot` is in a batch that is not wholly written, and whether that batch is closed.
    pub(crate) fn writing_of(&self, slot: u64) -> (bool, bool) {
        let batch = self.batches.iter().find(|batch| (batch.first..batch.end).contains(&slot));
        (batch.is_some(), batch.is_some_and(|batch| batch.number.is_some()))
    }

    /// The open batch of the open segment of `stream`.
    pub(crate) fn open_batch(&mut self, stream: usize) -> Option<&mut Batch> {
        let first = self.open[stream]?;
        self.batches.iter_mut().find(|batch| batch.first == first)
    }

    /// Begins a batch with its first slots: `first..end`, the slots of its copies.
    pub(crate) fn begin_batch(&mut self, stream: usize, segment: u32, first: u64, end: u64) {
        self.open[stream] = Some(first);
        self.batches.push(Batch {
            segment,
            stream,
            first,
            end,
            writing: 0,
            number: None,
            is_closing: false,
            tombstones: Vec::new(),
            contents: Vec::new(),
        });
    }

    /// Closes the batch of `stream`: it gets its number, and as many tombstones as it has room for.
    pub(crate) fn close_batch(&mut self, stream: usize, segment_slots: u64) {
        let Some(first) = self.open[stream].take() else { return };
        let Some(batch) = self.batches.iter_mut().find(|batch| batch.first == first) else { return };
        let left = self.room as usize - (batch.end - batch.first) as usize;
        let taken = self.tombstones.len().min(left);
        batch.tombstones = self.tombstones.drain(..taken).collect();
        batch.number = Some(self.next_batch);
        self.last_batch[batch.segment as usize] = self.next_batch;
        self.used[batch.segment as usize] = (batch.end - u64::from(batch.segment) * segment_slots) as u32;
        self.next_batch += 1;
    }

    /// Records a tombstone for `chunk`, which was stored and is trimmed.
    pub(crate) fn bury(&mut self, chunk: u64) {
        let now = self.last_write_seq();
        if let Some(last) = self.tombstones.last_mut()
            && last.write_seq == now
            && last.first + u64::from(last.chunks) == chunk
            && last.chunks < u32::MAX
        {
            last.chunks += 1;
            return;
        }
        let write_seq = self.next_write_seq();
        self.tombstones.push(Tombstone { first: chunk, write_seq, chunks: 1 });
    }

    /// Whether every batch up to `number` is on the members, though perhaps only in their volatile memory.
    pub(crate) fn is_written(&self, number: u64) -> bool {
        self.batches.iter().all(|batch| batch.number.is_none_or(|its| its > number))
    }

    /// The header page of the slot for checkpoint `number`.
    pub(crate) fn slot_of_checkpoint(&self, number: u64) -> u32 {
        self.layout.checkpoint.first + (number % 2) as u32 * self.layout.checkpoint.pages
    }

    /// Records that segment `segment` is reused.
    pub(crate) fn open_segment(&mut self, segment: u32) {
        let at = segment as usize;
        self.generations[at] += 1;
        self.used[at] = 0;
        self.opened += 1;
        self.unstamped += 1;
        self.forget_shaky(segment);
        self.members.rebuilds.iter_mut().for_each(|rebuild| rebuild.part.stale[at] = false);
    }

    /// Removes `segment` from the shaky segments. Returns whether it was one of them.
    pub(crate) fn forget_shaky(&mut self, segment: u32) -> bool {
        let known = self.shaky.len();
        self.shaky.retain(|&its| its != segment);
        self.shaky.len() < known
    }

    /// Continues with the write sequence numbers of `epoch`, which are greater than those found.
    pub(crate) fn resume_write_seqs(&mut self, epoch: u32) {
        self.members.superblock.epoch = epoch;
        self.sequence = 0;
    }

    /// Bytes of memory, without content in flight.
    pub(crate) fn bytes(&self) -> u64 {
        (self.checksums.len() * 4 + self.written.len() + self.generations.len() * 16) as u64
    }
}

impl Log {
    /// Whether a member is being rebuilt.
    #[inline]
    pub(crate) fn is_rebuilding(&self) -> bool {
        self.durable.as_ref().is_some_and(|durable| !durable.members.rebuilds.is_empty())
    }

    /// Whether `slot` is on a member that is being rebuilt, in a segment that is not yet done.
    pub(crate) fn is_stale(&self, slot: u64) -> bool {
        let Some(durable) = &self.durable else { return false };
        let segment = self.segment_of(slot) as usize;
        let is_its = |its: &Rebuild| its.part.stale[segment] && self.member(slot).0 == its.member;
        durable.members.rebuilds.iter().any(is_its)
    }

    /// Whether `page`, which was read at `slot`, is the copy of the summary that belongs there.
    pub(crate) fn is_copy_of(&self, slot: u64, page: &[u8]) -> bool {
        let segment = self.segment_of(slot);
        let offset = (slot - u64::from(segment) * self.segment_slots()) as u32;
        let durable = self.durable();
        let place = (durable.members.superblock.array, segment, durable.generations[segment as usize]);
        Summary::parse(page).is_ok_and(|Summary { header, .. }| {
            (header.array, header.segment, header.generation) == place
                && (header.first..header.end).contains(&offset)
        })
    }

    /// Whether `member` is being rebuilt.
    pub(crate) fn is_joining(&self, member: MemberNo) -> bool {
        self.membership().is_some_and(|members| members.is_rebuilt(member))
    }

    /// The members; `None` without metadata.
    pub(crate) fn membership(&self) -> Option<&Membership<Walk, Segments>> {
        self.durable.as_ref().map(|durable| &durable.members)
    }

    pub(crate) fn membership_mut(&mut self) -> Option<&mut Membership<Walk, Segments>> {
        self.durable.as_mut().map(|durable| &mut durable.members)
    }

    /// The state that makes the log durable; called only with metadata.
    #[inline]
    pub(crate) fn durable(&self) -> &Durable {
        self.durable.as_ref().expect("only asked for with metadata")
    }

    #[inline]
    pub(crate) fn durable_mut(&mut self) -> &mut Durable {
        self.durable.as_mut().expect("only asked for with metadata")
    }
}

impl Durable {
    /// Number of stripes over all members for which a segment has room besides their summaries.
    pub(crate) fn full_stripes(&self, log: &Log) -> u32 {
        stripewise_scheme::placement::full_stripes(
            self.room,
            log.segment_slots() as u32,
            log.columns(),
            log.tolerance,
        )
    }

    /// Whether space is being freed, or will be by a checkpoint. A checkpoint that waits until memory is empty may itself wait
    /// for space.
    pub(crate) fn makes_space(&self) -> bool {
        match self.sync.phase {
            Phase::Idle => !self.collected.is_empty(),
            Phase::Drain => false,
            _ => true,
        }
    }

    /// The first segment that the rebuild skipped, because it is collected and not yet free.
    pub(crate) fn first_passed(&self, rebuild: &Rebuild) -> Option<u32> {
        self.collected.iter().copied().filter(|&segment| rebuild.part.stale[segment as usize]).min()
    }

    /// The number of segments that the walk is past, of those that the member lacks.
    pub(crate) fn walked(&self, rebuild: &Rebuild) -> u32 {
        match rebuild.part.stage {
            Stage::Walks if !rebuild.member.is_in(self.walking) => rebuild.noted as u32,
            Stage::Walks => self.rebuilding.segment,
            Stage::Written | Stage::Covered => self.generations.len() as u32,
        }
    }

    /// The number of rebuilt segments that superblocks may record.
    pub(crate) fn rebuilt_segments(&self, rebuild: &Rebuild) -> u64 {
        self.walked(rebuild).min(self.first_passed(rebuild).unwrap_or(u32::MAX)).into()
    }

    /// Whether superblocks should record the progress of a rebuild.
    pub(crate) fn wants_note(&self) -> bool {
        let is_due = |rebuild: &Rebuild| {
            rebuild.part.stage == Stage::Covered || self.rebuilt_segments(rebuild) >= rebuild.noted + 64
        };
        self.members.rebuilds.iter().any(is_due)
    }

    /// Whether everything is on a member that is rebuilt, except its copies of metadata outside of segments.
    pub(crate) fn has_written(&self) -> bool {
        self.members.rebuilds.iter().any(|rebuild| rebuild.part.stage == Stage::Written)
    }

    /// Ends a sync: members that had everything at the sync point are whole, and superblocks are to record it. Returns
    /// whether there is one.
    pub(crate) fn cover_rebuilds(&mut self) -> bool {
        let covers = std::mem::take(&mut self.sync.covers);
        let covered = self.members.rebuilds.iter_mut().filter(|rebuild| rebuild.member.is_in(covers));
        covered.fold(false, |_, rebuild| {
            rebuild.part.stage = Stage::Covered;
            true
        })
    }

    /// Abandons the sync point, if one was marked: its content is left to the next checkpoint.
    pub(crate) fn abandon_sync_point(&mut self) {
        let sync = &mut self.sync;
        sync.is_requested |= std::mem::take(&mut sync.is_checkpoint);
        sync.covers = 0;
        sync.frees.clear();
        sync.body.clear();
        self.tombstones.splice(..0, sync.buried.drain(..));
    }

    /// Whether the newest checkpoint is written, and no commit record names it yet.
    pub(crate) fn names_checkpoint(&self) -> bool {
        matches!(self.sync.phase, Phase::Name | Phase::FlushName)
    }

    /// Whether a checkpoint waits until memory is empty.
    pub(crate) fn empties_memory(&self) -> bool {
        self.sync.phase == Phase::Drain && self.sync.is_checkpoint
    }
}
