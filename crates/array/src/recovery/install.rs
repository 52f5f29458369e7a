//! Puts the batches that were found into an empty log: `docs/design/format.md`, "Assembly of a log".
//!
//! Batches arrive in any order. Each is processed once, and only its number is kept: assembling a log takes eight bytes
//! per chunk and some 30 per batch in addition to the memory of serving.

use std::collections::BTreeMap;

use super::walk::Checkpoint;
use stripewise_format::checkpoint::{is_written, segment};
use stripewise_format::{Entry, EntryRole, SummaryHeader, Tombstone};

use crate::log::{Location, Log};

/// A log that is being filled.
pub(super) struct Install<'a> {
    log: &'a mut Log,
    checkpoint: &'a Checkpoint,
    /// For each chunk the greatest write sequence number so far, of the content of its slot or of a tombstone; 0 if
    /// nothing was found.
    write_seqs: Vec<u64>,
    /// The number of each batch, by its first slot.
    batches: BTreeMap<u64, u64>,
}

impl<'a> Install<'a> {
    /// Begins to fill `log`, which is empty.
    pub(super) fn new(log: &'a mut Log, checkpoint: &'a Checkpoint) -> Self {
        for number in 0..log.segments.count() {
            // Content that was begun there and does not count has this generation or the next.
            log.durable_mut().generations[number as usize] =
                segment(&checkpoint.body, number).generation.saturating_add(1);
        }
        let write_seqs = vec![0; log.capacity as usize];
        Self { log, checkpoint, write_seqs, batches: BTreeMap::new() }
    }

    /// Puts a batch that counts into the log. The batches of one segment arrive in order.
    pub(super) fn enter(
        &mut self,
        header: &SummaryHeader,
        entries: impl Iterator<Item = Entry>,
        tombstones: impl Iterator<Item = Tombstone>,
    ) {
        let at = header.segment as usize;
        let durable = self.log.durable_mut();
        durable.generations[at] = header.generation;
        durable.used[at] = durable.used[at].max(header.end);
        durable.last_batch[at] = durable.last_batch[at].max(header.batch);
        let first = u64::from(header.segment) * self.log.segment_slots() + u64::from(header.first);
        self.batches.insert(first, header.batch);
        let mut is_first_copy = true;
        for (slot, entry) in (first..).zip(entries) {
            let directory = &mut self.log.directory;
            match entry.role {
                EntryRole::Data => directory.put_data(slot, entry.chunk, entry.is_first),
                EntryRole::P => directory.put_parity(slot, 0, entry.is_first),
                EntryRole::Q => directory.put_parity(slot, 1, entry.is_first),
                EntryRole::Copy => directory.put_copy(slot, std::mem::take(&mut is_first_copy)),
                EntryRole::Skipped if entry.is_first => directory.skip_first(slot),
                EntryRole::Skipped => directory.skip(slot),
                EntryRole::Vain => {}
            }
            if entry.role == EntryRole::Data && self.is_newest(&entry, header.batch) {
                self.write_seqs[entry.chunk as usize] = entry.write_seq;
                self.log.set_slot(entry.chunk, slot);
                self.log.durable_mut().checksums[entry.chunk as usize] = entry.checksum;
            }
        }
        for grave in tombstones {
            for chunk in grave.first..grave.first + u64::from(grave.chunks) {
                let newest: &mut u64 = &mut self.write_seqs[chunk as usize];
                if *newest < grave.write_seq {
                    *newest = grave.write_seq;
                    self.log.set_unmapped(chunk);
                }
            }
        }
    }

    /// Whether this version of a chunk, in batch `number`, is the newest one found so far.
    fn is_newest(&self, entry: &Entry, number: u64) -> bool {
        let newest = self.write_seqs[entry.chunk as usize];
        let Location::Mapped(slot) = self.log.location(entry.chunk) else { return entry.write_seq >= newest };
        // Of two versions with the same write sequence number, the later one was relocated: its source may be damaged or
        // about to be overwritten.
        entry.write_seq > newest || entry.write_seq == newest && number >= self.batch_of(slot)
    }

    /// The number of the batch that contains `slot`.
    fn batch_of(&self, slot: u64) -> u64 {
        self.batches.range(..=slot).next_back().map_or(0, |(_, &number)| number)
    }

    /// Finishes when all batches that count are in the log. Returns the lost chunks as runs: the first and the last chunk
    /// of each run.
    pub(super) fn finish(self) -> Vec<(u64, u64)> {
        let Self { log, checkpoint, write_seqs, .. } = self;
        let segments = log.segments.count();
        let mut lost: Vec<(u64, u64)> = Vec::new();
        for (chunk, &write_seq) in (0..).zip(&write_seqs) {
            let was_written = is_written(&checkpoint.body, segments, chunk);
            match log.location(chunk) {
                Location::Mapped(_) if was_written || write_seq > checkpoint.header.write_seq => {}
                Location::Mapped(_) => log.set_unmapped(chunk),
                // A chunk that was trimmed, written again and lost reads as zeros, which is the version before. If reads
                // of it failed, a version from before the trim would return when the tombstone is gone.
                _ if was_written && write_seq == 0 => {
                    log.set_lost(chunk);
                    match lost.last_mut().filter(|(_, last)| last + 1 == chunk) {
                        Some((_, last)) => *last = chunk,
                        None => lost.push((chunk, chunk)),
                    }
                }
                _ => {}
            }
        }
        count_valid(log);
        lost
    }
}

/// Counts the valid content of each segment.
fn count_valid(log: &mut Log) {
    let is_used = |number: u32| log.durable.as_ref().is_some_and(|durable| durable.used[number as usize] > 0);
    log.segments.open_found(is_used);
    // Which segments are not discarded is unknown. They are few, and discarding all segments would take long.
    log.segments.assume_discarded();
    for chunk in 0..log.capacity {
        if let Location::Mapped(slot) = log.location(chunk) {
            let segment = log.segment_of(slot);
            log.segments.validate(segment);
        }
    }
    for number in 0..log.segments.count() {
        if log.durable().used[number as usize] > 0 {
            log.segments.close(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::array::Array;
    use stripewise_core::members::Members;
    use stripewise_core::memory::PageMemory;
    use stripewise_format::checkpoint::{body_bytes, put_written};
    use stripewise_format::{CheckpointHeader, Uuid};
    use stripewise_scheme::Scheme;

    const CHUNKS: u64 = 6;
    const SEGMENTS: u32 = 3;

    /// The segment of a batch of data, the chunk and the write sequence number of each slot, and tombstones.
    type Parts = (u32, Vec<(u64, u64)>, Vec<Tombstone>);

    #[derive(Clone, Debug)]
    struct Batch {
        header: SummaryHeader,
        entries: Vec<Entry>,
        tombstones: Vec<Tombstone>,
    }

    fn tombstone() -> impl Strategy<Value = Tombstone> {
        (0..CHUNKS, 1..6u64, 1..3u32).prop_map(|(first, write_seq, chunks)| Tombstone {
            first,
            write_seq,
            chunks: chunks.min((CHUNKS - first) as u32),
        })
    }

    /// Batches in the order of their numbers; each follows the others of its segment.
    fn batches() -> impl Strategy<Value = Vec<Batch>> {
        let data = prop::collection::vec((0..CHUNKS, 1..6u64), 1..5);
        let batch = (0..SEGMENTS, data, prop::collection::vec(tombstone(), 0..2));
        prop::collection::vec(batch, 1..12).prop_map(|batches| {
            let mut ends = [0; SEGMENTS as usize];
            let number = |(batch, (segment, data, tombstones)): (u64, Parts)| {
                let first = ends[segment as usize];
                let end = first + data.len() as u32;
                ends[segment as usize] = end;
                let entries = (first..).zip(data).map(|(slot, (chunk, write_seq))| Entry {
                    role: EntryRole::Data,
                    is_first: true,
                    chunk,
                    write_seq,
                    checksum: batch as u32 * 1000 + slot,
                });
                let header = SummaryHeader {
                    array: Uuid::default(),
                    epoch: 1,
                    batch,
                    segment,
                    generation: 1,
                    first,
                    end,
                    members: 0,
                    horizon: 0,
                    stream: 0,
                };
                Batch { header, entries: entries.collect(), tombstones }
            };
            (1..).zip(batches).map(number).collect()
        })
    }

    /// The expected location of a chunk, from all sources: its slot and checksum, or whether it is lost.
    fn expected(
        batches: &[Batch],
        (chunk, was_written, covered): (u64, bool, u64),
        segment_slots: u64,
    ) -> Result<(u64, u32), bool> {
        let graves = batches.iter().flat_map(|batch| &batch.tombstones);
        let covers =
            |grave: &&Tombstone| (grave.first..grave.first + u64::from(grave.chunks)).contains(&chunk);
        let buried = graves.filter(covers).map(|grave| grave.write_seq).max().unwrap_or(0);
        let slots = |batch: &Batch| {
            let first = u64::from(batch.header.segment) * segment_slots + u64::from(batch.header.first);
            let number = batch.header.batch;
            (first..)
                .zip(batch.entries.clone())
                .map(move |(slot, entry)| (entry.write_seq, number, slot, entry.checksum, entry.chunk))
        };
        let versions = batches.iter().flat_map(slots).filter(|version| version.4 == chunk);
        let newest = versions.max();
        match newest.filter(|&(write_seq, ..)| write_seq >= buried) {
            Some((write_seq, _, slot, checksum, _)) if was_written || write_seq > covered => {
                Ok((slot, checksum))
            }
            _ => Err(was_written && newest.is_none() && buried == 0),
        }
    }

    proptest! {
        #[test]
        fn in_whatever_order_batches_come_the_greatest_write_seq_counts_and_of_one_write_seq_the_later_batch(
            batches in batches(),
            picks in prop::collection::vec(any::<Index>(), 12),
            written in 0..1u64 << CHUNKS,
            covered in 0..6u64,
        ) {
            let text = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
                buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n";
            let scheme = Scheme::from_toml("test", text).unwrap();
            let memory = PageMemory::new(1024);
            let mut array = Array::new(&scheme, Members::opaque(4, 1024, 400), memory).unwrap();
            let log = array.as_log_mut().unwrap();
            let segments = log.segments.count();
            let mut body = vec![0; body_bytes(segments, log.capacity) as usize];
            (0..CHUNKS).for_each(|chunk| put_written(&mut body, segments, chunk, written >> chunk & 1 == 1));
            let header = CheckpointHeader {
                array: Uuid::default(),
                epoch: 1,
                number: 1,
                horizon: 0,
                write_seq: covered,
                body_bytes: body.len() as u64,
                body_checksum: 0,
                segments,
                chunks: log.capacity,
            };
            let checkpoint = Checkpoint { header, body, copies: 2 };
            let mut install = Install::new(log, &checkpoint);
            let mut left: Vec<Vec<Batch>> = (0..SEGMENTS)
                .map(|segment| batches.iter().filter(|batch| batch.header.segment == segment).cloned().collect())
                .collect();
            for pick in picks {
                left.retain(|its| !its.is_empty());
                if left.is_empty() {
                    break;
                }
                let batch = pick.get(&left)[0].clone();
                left.iter_mut().for_each(|its| its.retain(|other| other.header.batch != batch.header.batch));
                install.enter(&batch.header, batch.entries.into_iter(), batch.tombstones.into_iter());
            }
            let lost = install.finish();
            let segment_slots = log.segment_slots();
            for chunk in 0..CHUNKS {
                let expected = expected(&batches, (chunk, written >> chunk & 1 == 1, covered), segment_slots);
                let is_lost = lost.iter().any(|&(first, last)| (first..=last).contains(&chunk));
                let found = match log.location(chunk) {
                    Location::Mapped(slot) => Ok((slot, log.durable().checksums[chunk as usize])),
                    location => Err(location == Location::Lost),
                };
                prop_assert_eq!((found, is_lost), (expected, expected == Err(true)), "chunk {}", chunk);
            }
            prop_assert!(lost.windows(2).all(|two| two[0].1 + 1 < two[1].0), "runs are apart: {:?}", lost);
            for segment in 0..SEGMENTS {
                let of = |chunk: &u64| matches!(log.location(*chunk), Location::Mapped(slot) if log.segment_of(slot) == segment);
                prop_assert_eq!(log.segments.valid(segment) as usize, (0..CHUNKS).filter(of).count());
                let is_used = batches.iter().any(|batch| batch.header.segment == segment);
                prop_assert_eq!(log.segments.is_free(segment), !is_used);
            }
        }
    }
}
