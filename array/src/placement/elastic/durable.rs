//! What makes the log durable: batches of stripes with their summaries, checksums, generations of segments, tombstones,
//! and how far all that is on the members for good. See `docs/format.md`.
//!
//! A *batch* is what one summary describes. It begins with the slots of the summary's copies, which are written last: then all
//! that they tell of is there. Batches are numbered in the order in which they are closed, without a gap.
//!
//! Source: summaries of segments and two checkpoint regions in turn are those of Rosenblum and Ousterhout, SOSP 1991; batches,
//! write sequence numbers and commit records are our choice.

use super::Elastic;
use super::contents::{Content, Told, Walker};
use super::counts::{MetadataCounts, ScrubCounts};
use crate::format::layout::Layout;
use crate::format::summary::room;
use crate::format::{CheckpointHeader, Commit, SEQUENCES_MAX, Summary, Superblock, Tombstone, write_seq};

/// Write sequence numbers of an epoch after which a driver takes no more changes from hosts: parts of those that it took still
/// come.
const BIRTHS_OF_DRIVER: u64 = SEQUENCES_MAX / 2;

/// Write sequence numbers of an epoch after which the controller takes none: what it took has write sequence numbers to come, and
/// what collection finds damaged.
const BIRTHS_OF_HOSTS: u64 = SEQUENCES_MAX / 4 * 3;

/// A batch that is not yet on the members as a whole.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) segment: u32,
    /// The stream whose open segment it is in.
    pub(crate) stream: usize,
    /// Its slots: those of the summary's copies first.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// Stripes of it on their way.
    pub(crate) writing: u32,
    /// Its number, once it takes no more stripes.
    pub(crate) number: Option<u64>,
    /// Whether its summary is on its way.
    pub(crate) is_closing: bool,
    pub(crate) tombstones: Vec<Tombstone>,
    /// What lies in its slots, for the summary.
    contents: Vec<Content>,
}

impl Batch {
    /// What lies in `slot`, one of its own.
    pub(crate) fn content(&self, slot: u64) -> Content {
        self.contents.get((slot - self.first) as usize).copied().unwrap_or(Content::UNKNOWN)
    }

    /// Notes what lies in `slot`, which is behind those of its copies.
    pub(crate) fn note(&mut self, slot: u64, content: Content) {
        let nth = (slot - self.first) as usize;
        if self.contents.len() <= nth {
            self.contents.resize(nth + 1, Content::UNKNOWN);
        }
        self.contents[nth] = content;
    }

    /// Notes the checksum of what lies in `slot`.
    pub(crate) fn note_checksum(&mut self, slot: u64, checksum: u32) {
        self.note(slot, Content { checksum: Some(checksum), ..self.content(slot) });
    }
}

/// What is being made durable now, step by step; each begins when the one before it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// What waits in memory leaves.
    Drain,
    /// Batches up to the new horizon are being written.
    Settle,
    /// Checkpoints and commit records of the past on a column that comes are made void.
    Clear,
    FlushData,
    /// Superblocks that tell of a member that failed.
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
    /// A commit record that names it.
    Name,
    FlushName,
    /// There was nothing to be made durable.
    Over,
}

/// A page of metadata to be written: `content` is where its bytes begin in [`Sync::bytes`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageWrite {
    pub(crate) member: u16,
    pub(crate) page: u32,
    pub(crate) content: usize,
}

/// Making everything durable up to a moment: for flushes, for a checkpoint, for news of members.
#[derive(Debug, Default)]
pub(crate) struct Sync {
    pub(crate) phase: Phase,
    /// Flushes that wait for a moment to come, and those that wait for the end of this one.
    pub(crate) waiting: Vec<u32>,
    pub(crate) joined: Vec<u32>,
    pub(crate) is_checkpoint: bool,
    /// Whether a checkpoint was asked for, be there need of one or not.
    pub(crate) is_asked: bool,
    /// Tombstones of that moment, which are in the checkpoint alone: flushes wait for it.
    pub(crate) buried: Vec<Tombstone>,
    /// Whether the member that is rebuilt had everything at that moment, so that it is whole when that is durable.
    pub(crate) covers_rebuild: bool,
    /// The members that the checkpoint is written to, and its header.
    pub(crate) keepers: Vec<u16>,
    pub(crate) header: Option<CheckpointHeader>,
    /// The superblock whose front copies were written, and whose back copies are not.
    pub(crate) superblock: Option<Superblock>,
    /// The superblock whose back copies are being written.
    pub(crate) told: Option<Superblock>,
    /// The commit record that is being written.
    pub(crate) commit: Option<Commit>,
    /// Members that failed since, as a mask: whoever is in their place is not meant by it.
    pub(crate) gone: u64,
    /// Columns that came and have checkpoints and commit records of the past yet, as a mask.
    pub(crate) uncleared: u64,
    /// The last batch that is to be durable; when superblocks are written, it is.
    pub(crate) horizon: u64,
    /// The greatest write sequence number of that moment, and the segments to be freed.
    pub(crate) write_seq: u64,
    pub(crate) frees: Vec<u32>,
    pub(crate) body: Vec<u8>,
    /// Pages of this phase, of which so many were begun, and their bytes.
    pub(crate) writes: Vec<PageWrite>,
    pub(crate) begun: usize,
    pub(crate) bytes: Vec<u8>,
    /// Members that have pages of the last phase that wrote some, as a mask.
    pub(crate) touched: u64,
    /// Whether the flush of this phase was begun.
    pub(crate) is_flushing: bool,
    /// A stripe of before the moment could not be written: its chunks wait in memory again.
    pub(crate) gave_up: bool,
    /// Plans of this phase under way.
    pub(crate) under_way: u32,
}

/// What the log has to remember to be durable.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) layout: Layout,
    /// The superblock as the members have it, or soon will; that of each differs in its number and identifier.
    pub(crate) superblock: Superblock,
    /// Of each member the first page of the superblock's back copy.
    pub(crate) back: Vec<u32>,
    /// Of each chunk that lies in a slot the checksum; nothing where there are no bytes.
    pub(crate) checksums: Vec<u32>,
    /// A bit of each chunk that is somewhere, as checkpoints have them, so that drawing one does not look at every chunk.
    pub(crate) written: Vec<u8>,
    /// Of each segment: its generation, its last batch, and its slots in use up to there.
    pub(crate) generations: Vec<u32>,
    pub(crate) last_batch: Vec<u64>,
    pub(crate) used: Vec<u32>,
    pub(crate) batches: Vec<Batch>,
    /// The batch that each stream's open segment takes stripes for, by its first slot.
    pub(crate) open: Vec<Option<u64>>,
    pub(crate) next_batch: u64,
    /// The sequence of the last write sequence number.
    sequence: u64,
    /// Tombstones that no batch has yet.
    pub(crate) tombstones: Vec<Tombstone>,
    /// Collected segments that the last checkpoint names.
    pub(crate) collected: Vec<u32>,
    /// Segments with a summary of which a copy is bad and cannot be written: they are collected when there is space.
    pub(crate) shaky: Vec<u32>,
    /// Segments opened since the last checkpoint.
    pub(crate) opened: u32,
    /// Segments opened since columns were stamped.
    pub(crate) unstamped: u32,
    /// The last batch that a commit record covers.
    pub(crate) horizon: u64,
    /// The last commit record, and the newest checkpoint that is there for good.
    pub(crate) commits: u64,
    pub(crate) checkpoint: u64,
    /// The members that have that checkpoint and have not failed since, as a mask.
    pub(crate) checkpoint_on: u64,
    /// That checkpoint's header; none before one was written.
    pub(crate) newest: Option<CheckpointHeader>,
    /// The newest commit record that is on the members for good, and the members that have it and have not failed since, as a
    /// mask.
    pub(crate) commit_on: Option<(Commit, u64)>,
    /// The last version of the superblocks that is on all members; none of an array that was not opened.
    pub(crate) on_members: Option<Superblock>,
    /// Whether a member failed that superblocks do not tell of.
    pub(crate) is_news: bool,
    pub(crate) sync: Sync,
    /// The member that is being rebuilt, and how far that is.
    pub(crate) rebuild: Option<Rebuild>,
    /// Rebuilds that were begun.
    pub(crate) rebuilds: u32,
    /// Stripes that rebuilds could not make and that have lost chunks of hosts, since a scrub last found nothing lost.
    pub(crate) unrecovered: u64,
    /// Of each segment whether it has stripes that lack what they had on that member.
    pub(crate) stale: Vec<bool>,
    pub(crate) scrub: Option<Walk>,
    /// Whether another scrub is to follow the one that goes on.
    pub(crate) scrubs_again: bool,
    /// What those who walk over segments know of the batches that they are at.
    pub(crate) told: [Told; Walker::ALL.len()],
    /// The free segment that is being discarded.
    pub(crate) discard: Option<Walk>,
    pub(crate) scrubbed: ScrubCounts,
    /// Writes of chunks that each member could not do.
    pub(crate) write_errors: Vec<u8>,
    /// Entries and tombstones that a summary has room for.
    pub(crate) room: u32,
    /// Pages of metadata written: summaries, superblocks, commit records, checkpoints.
    pub(crate) counts: MetadataCounts,
    #[cfg(debug_assertions)]
    pub(crate) short: Option<crate::controller::Short>,
}

/// A walk over all slots of the log, segment by segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) segment: u32,
    /// The next slot of the segment.
    pub(crate) next: u32,
    /// Plans of the walk under way.
    pub(crate) under_way: u32,
}

/// A member that is being made whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild {
    pub(crate) member: u16,
    /// Which rebuild it is: its plans have the number.
    pub(crate) turn: u32,
    pub(crate) walk: Walk,
    /// The segments that superblocks know to be done, or soon will.
    pub(crate) noted: u32,
    pub(crate) stage: Stage,
    /// Whether an earlier one could not make everything: this member may have what it takes.
    pub(crate) may_mend: bool,
    /// Whether it came across pages that are bad: a scrub is to follow, which repairs what can be.
    pub(crate) met_damage: bool,
}

/// How far a member is that is being made whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Segments are gone through.
    Walks,
    /// Everything is on it but for its copies of what lies outside of segments: a checkpoint is to follow.
    Written,
    /// A checkpoint was written since, and superblocks are to say that it is whole.
    Covered,
}

impl Durable {
    /// An empty log of `chunks` chunks with checksums in `segments` segments, of which nothing was ever opened.
    pub(crate) fn new(
        layout: Layout,
        superblock: Superblock,
        chunks: u64,
        segments: u32,
        streams: usize,
    ) -> Self {
        let members = superblock.members.len();
        let back = superblock.pages - layout.superblock_pages;
        Self {
            layout,
            back: vec![back; members],
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
            on_members: None,
            is_news: false,
            sync: Sync::default(),
            rebuild: None,
            rebuilds: 0,
            unrecovered: 0,
            stale: Vec::new(),
            scrub: None,
            scrubs_again: false,
            told: Default::default(),
            discard: None,
            scrubbed: ScrubCounts::default(),
            write_errors: vec![0; members],
            room: room(superblock.page_bytes),
            superblock,
            counts: MetadataCounts::default(),
            #[cfg(debug_assertions)]
            short: None,
        }
    }

    /// `chunk` is somewhere, or nowhere any more.
    pub(super) fn note_written(&mut self, chunk: u64, is_written: bool) {
        if let Some(byte) = self.written.get_mut((chunk / 8) as usize) {
            let bit = 1 << (chunk % 8);
            *byte = if is_written { *byte | bit } else { *byte & !bit };
        }
    }

    /// The write sequence number of a version that is made now.
    pub(crate) fn next_write_seq(&mut self) -> u64 {
        self.sequence += 1;
        write_seq(self.superblock.epoch, self.sequence)
    }

    /// Whether a driver should take no more changes from hosts in this epoch.
    pub(crate) fn is_epoch_ending(&self) -> bool {
        self.sequence >= BIRTHS_OF_DRIVER
    }

    /// Whether the rest of this epoch's write sequence numbers is for changes that were taken.
    pub(crate) fn is_epoch_over(&self) -> bool {
        self.sequence >= BIRTHS_OF_HOSTS
    }

    /// So many write sequence numbers were used up.
    #[cfg(test)]
    pub(crate) fn use_write_seqs(&mut self, write_seqs: u64) {
        self.sequence += write_seqs;
    }

    /// The greatest write sequence number so far.
    pub(crate) fn last_write_seq(&self) -> u64 {
        write_seq(self.superblock.epoch, self.sequence)
    }

    /// The batch that `slot` is part of and that is not wholly written.
    pub(crate) fn batch_of(&mut self, slot: u64) -> Option<&mut Batch> {
        self.batches.iter_mut().find(|batch| (batch.first..batch.end).contains(&slot))
    }

    /// Whether `slot` is part of a batch that is not wholly written.
    pub(crate) fn is_writing(&self, slot: u64) -> bool {
        self.batches.iter().any(|batch| (batch.first..batch.end).contains(&slot))
    }

    /// The batch that the open segment of `stream` takes stripes for.
    pub(crate) fn open_batch(&mut self, stream: usize) -> Option<&mut Batch> {
        let first = self.open[stream]?;
        self.batches.iter_mut().find(|batch| batch.first == first)
    }

    /// Begins a batch with what it has so far: `first..end`, the slots of its copies.
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

    /// The batch of `stream` takes no more stripes: it gets its number, and as many tombstones as it has room for.
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

    /// `chunk`, which was somewhere, was trimmed.
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

    /// Whether every batch up to `number` is on the members, though perhaps in their volatile memory.
    pub(crate) fn is_written(&self, number: u64) -> bool {
        self.batches.iter().all(|batch| batch.number.is_none_or(|its| its > number))
    }

    /// The header's page of the slot that checkpoint `number` goes to.
    pub(crate) fn slot_of_checkpoint(&self, number: u64) -> u32 {
        self.layout.checkpoint.first + (number % 2) as u32 * self.layout.checkpoint.pages
    }

    /// Segment `segment` is opened anew.
    pub(crate) fn open_segment(&mut self, segment: u32) {
        let at = segment as usize;
        self.generations[at] += 1;
        self.used[at] = 0;
        self.opened += 1;
        self.unstamped += 1;
        self.forget_shaky(segment);
        if let Some(stale) = self.stale.get_mut(at) {
            *stale = false;
        }
    }

    /// Nothing of `segment` is to be moved off a bad copy of a summary any more. Whether something was.
    pub(crate) fn forget_shaky(&mut self, segment: u32) -> bool {
        let known = self.shaky.len();
        self.shaky.retain(|&its| its != segment);
        self.shaky.len() < known
    }

    /// Goes on with write sequence numbers behind those that were found.
    pub(crate) fn resume_write_seqs(&mut self, epoch: u32) {
        self.superblock.epoch = epoch;
        self.sequence = 0;
    }

    /// Bytes of memory, without what is on its way.
    pub(crate) fn bytes(&self) -> u64 {
        (self.checksums.len() * 4 + self.written.len() + self.generations.len() * 16) as u64
    }
}

impl Elastic {
    /// Whether a member is being rebuilt.
    #[inline]
    pub(crate) fn is_rebuilding(&self) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.rebuild.is_some())
    }

    /// Whether `slot` lies on the member that is being rebuilt, in a segment that is not yet done.
    pub(crate) fn is_stale(&self, slot: u64) -> bool {
        let Some(durable) = &self.durable else { return false };
        let Some(rebuild) = &durable.rebuild else { return false };
        durable.stale[self.segment_of(slot) as usize] && self.member(slot).0 == rebuild.member
    }

    /// Whether `page`, which was read where `slot` lies, is the copy of the summary that belongs there.
    pub(crate) fn is_copy_of(&self, slot: u64, page: &[u8]) -> bool {
        let segment = self.segment_of(slot);
        let offset = (slot - u64::from(segment) * self.segment_slots()) as u32;
        let durable = self.durable();
        let place = (durable.superblock.array, segment, durable.generations[segment as usize]);
        Summary::parse(page).is_ok_and(|Summary { header, .. }| {
            (header.array, header.segment, header.generation) == place
                && (header.first..header.end).contains(&offset)
        })
    }

    /// What makes the log durable; only asked for where something does.
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
    /// Stripes over all members that a segment has room for beside their summaries.
    pub(crate) fn full_stripes(&self, log: &Elastic) -> u32 {
        full_stripes(self.room, log.segment_slots() as u32, log.columns(), log.columns() - log.data())
    }

    /// Whether space is being made, or will be by a checkpoint. One that waits until memory is empty may wait for space itself.
    pub(crate) fn makes_space(&self) -> bool {
        match self.sync.phase {
            Phase::Idle => !self.collected.is_empty(),
            Phase::Drain => false,
            _ => true,
        }
    }

    /// Begins to read everything, now or behind the scrub that goes on.
    pub(crate) fn begin_scrub(&mut self) {
        self.scrubs_again = self.scrub.is_some();
        if !self.scrubs_again {
            self.scrub = Some(Walk::default());
            self.scrubbed = ScrubCounts::default();
        }
    }

    /// The first segment that the rebuild passed by and did not make, as it is collected and not yet free.
    pub(crate) fn first_passed(&self) -> Option<u32> {
        let is_stale = |segment: &u32| self.stale.get(*segment as usize).is_some_and(|&is_stale| is_stale);
        self.collected.iter().copied().filter(is_stale).min()
    }

    /// How far superblocks may say that rebuilding is.
    pub(crate) fn rebuilt_segments(&self) -> u32 {
        let walked = self.rebuild.map_or(0, |rebuild| rebuild.walk.segment);
        walked.min(self.first_passed().unwrap_or(u32::MAX))
    }

    /// Whether superblocks should be told how far rebuilding is.
    pub(crate) fn wants_note(&self) -> bool {
        self.rebuild.is_some_and(|rebuild| {
            rebuild.stage == Stage::Covered || self.rebuilt_segments() >= rebuild.noted + 64
        })
    }

    /// What was marked is durable: a member that had everything at that moment is whole, and superblocks are to say so.
    pub(crate) fn cover_rebuild(&mut self) -> bool {
        let covers = std::mem::take(&mut self.sync.covers_rebuild);
        let rebuild = self.rebuild.as_mut().filter(|_| covers);
        rebuild.map(|rebuild| rebuild.stage = Stage::Covered).is_some()
    }

    /// The moment that was marked, if one was, comes to nothing: what it was to tell of is for the next checkpoint.
    pub(crate) fn abandon_moment(&mut self) {
        let sync = &mut self.sync;
        sync.is_asked |= std::mem::take(&mut sync.is_checkpoint);
        sync.covers_rebuild = false;
        sync.frees.clear();
        sync.body.clear();
        self.tombstones.splice(..0, sync.buried.drain(..));
    }

    /// Whether the newest checkpoint is there, and no commit record names it yet.
    pub(crate) fn names_checkpoint(&self) -> bool {
        matches!(self.sync.phase, Phase::Name | Phase::FlushName)
    }

    /// Whether a checkpoint waits until memory is empty.
    pub(crate) fn empties_memory(&self) -> bool {
        self.sync.phase == Phase::Drain && self.sync.is_checkpoint
    }
}

/// Stripes of `columns` chunks, `parity` of them parity, that `slots` slots have room for beside summaries of at most
/// `room` entries.
pub(crate) fn full_stripes(room: u32, slots: u32, columns: u32, parity: u32) -> u32 {
    let copies = parity + 1;
    let in_batch = room.saturating_sub(copies) / columns;
    let batch = copies + in_batch * columns;
    let rest = (slots % batch).saturating_sub(copies) / columns;
    slots / batch * in_batch + rest
}
