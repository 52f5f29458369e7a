//! The pages that make the log durable: superblocks, commit records, checkpoints (`docs/design/format.md`).

use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_format::checkpoint::{self, body_bytes};
use stripewise_format::{
    CheckpointHeader, Commit, Copy, FailReason, MemberState, SUPERBLOCK_BYTES, SegmentEntry, crc32c,
};

use crate::log::durable::PageWrite;
use crate::log::{Location, Log};

impl Log {
    /// Builds the body of the checkpoint of this sync point.
    pub(crate) fn draw_body<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let forgets = exec.has_bug(Bug::TombstoneLost);
        let log = &mut *self;
        let (segments, capacity) = (log.segments.count(), log.capacity);
        let mut body = std::mem::take(&mut log.durable_mut().sync.body);
        body.clear();
        body.resize(if M::CARRIES_DATA { body_bytes(segments, capacity) as usize } else { 0 }, 0);
        // Otherwise a segment would be freed whose last chunks are stored nowhere else.
        debug_assert!(
            log.buffer.queues.iter().all(|queue| queue.count == 0),
            "memory is empty at the sync point"
        );
        if M::CARRIES_DATA {
            let durable = log.durable();
            let mut put = |segment: u32, is_free| {
                let at = segment as usize;
                let entry = SegmentEntry {
                    generation: durable.generations[at],
                    used: if is_free { 0 } else { durable.used[at] },
                    last_batch: durable.last_batch[at],
                };
                checkpoint::put_segment(&mut body, segment, entry);
            };
            (0..segments).for_each(|segment| put(segment, log.segments.is_free(segment)));
            durable.sync.frees.iter().for_each(|&segment| put(segment, true));
            checkpoint::put_all_written(&mut body, segments, &durable.written);
            let is_written = |chunk| checkpoint::is_written(&body, segments, chunk);
            debug_assert!(
                (0..capacity).all(|chunk| is_written(chunk) == (log.location(chunk) != Location::Unmapped))
            );
            if forgets {
                (0..capacity).for_each(|chunk| checkpoint::put_written(&mut body, segments, chunk, true));
            }
        }
        log.durable_mut().sync.body = body;
    }

    /// P + 1 working members of one group, another group each turn. A joining member keeps no copy before it is cleared.
    fn keepers<M: Memory>(&self, turn: u64, exec: &Executor<M>) -> Vec<MemberNo> {
        let copies = exec.geometry().tolerance() + 1;
        let missing = exec.failed_members() | self.durable().sync.uncleared;
        exec.geometry().keepers(copies, turn, missing).collect()
    }

    /// Writes zeros over the checkpoints and commit records of joining members: their old content is from another time. Those
    /// that may lack the back copy of the superblock get one.
    pub(crate) fn clear_metadata<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let page_bytes = exec.members().page_bytes as usize;
        let durable = self.durable_mut();
        let (slots, ring) = (durable.layout.checkpoint, durable.layout.commits);
        if M::CARRIES_DATA {
            durable.sync.bytes.resize(page_bytes, 0);
        }
        let mut uncleared = std::mem::take(&mut durable.sync.uncleared);
        while uncleared != 0 {
            let member = MemberNo::at(uncleared.trailing_zeros() as usize);
            uncleared &= uncleared - 1;
            let heads = [slots.first, slots.first + slots.pages].into_iter();
            let pages = heads.chain(ring.first..ring.first + ring.pages);
            durable.sync.writes.extend(pages.map(|page| PageWrite { member, page, content: 0 }));
            if durable.members.is_without_back(member) {
                let first = durable.members.place_of(member, Copy::Back);
                for page in 0..durable.layout.superblock_pages {
                    let content = durable.sync.bytes.len();
                    if M::CARRIES_DATA {
                        durable.sync.bytes.resize(content + page_bytes, 0);
                        durable.members.encode_back(member, page, &mut durable.sync.bytes[content..]);
                    }
                    durable.sync.writes.push(PageWrite { member, page: first + page, content });
                }
            }
        }
    }

    /// Writes a copy of all superblocks in the array: the front copy with all events since the last superblocks, the back copy
    /// with exactly the same content, whatever happened meanwhile. A member that joined meanwhile is not in that version.
    pub(crate) fn write_superblocks<M: Memory>(&mut self, copy: Copy, exec: &mut Executor<M>) {
        let durable = self.durable_mut();
        if copy == Copy::Front {
            durable.has_event = false;
            durable.sync.gone = 0;
            durable.unstamped = 0;
            durable.members.superblock.update += 1;
            durable.members.record_scrub();
            if durable.members.superblock.version > 1 {
                durable.members.superblock.horizon = durable.sync.horizon;
            }
            let forgets = exec.has_bug(Bug::DamageForgotten);
            let reason = |member| if forgets { FailReason::Gone } else { exec.reason_of(member) };
            durable.members.record_failed(exec.failed_members(), durable.horizon, reason);
            durable.members.superblock.doubt(exec.doubted());
            durable.sync.superblock = Some(durable.members.superblock.clone());
        }
        let Some(mut superblock) = durable.sync.superblock.take() else { return };
        let pages = durable.layout.superblock_pages;
        let page_bytes = superblock.page_bytes as usize;
        for member in MemberNo::first(exec.members().count).filter(|&member| !exec.is_failed(member)) {
            let record = superblock.members[member.index()];
            if record.state == MemberState::Failed || member.is_in(durable.sync.gone) {
                continue;
            }
            superblock.assign(member.number(), durable.members.back[member.index()]);
            let content = durable.sync.bytes.len();
            if M::CARRIES_DATA {
                durable.sync.bytes.resize(content + SUPERBLOCK_BYTES, 0);
                superblock.encode(copy, &mut durable.sync.bytes[content..]);
            }
            let first = durable.members.place_of(member, copy);
            for page in 0..pages {
                let content = content + page as usize * page_bytes;
                durable.sync.writes.push(PageWrite { member, page: first + page, content });
            }
        }
        durable.sync.recorded = (copy == Copy::Back).then(|| superblock.clone());
        durable.sync.superblock = (copy == Copy::Front).then_some(superblock);
        durable.counts.superblocks += durable.sync.writes.len() as u64;
    }

    /// Writes the record that says up to where everything is durable, and which checkpoint is the newest.
    pub(crate) fn write_commit<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let turn = self.durable().commits + 1;
        let keepers = self.keepers(turn, exec);
        let page_bytes = exec.members().page_bytes as usize;
        let durable = self.durable_mut();
        durable.commits = turn;
        let commit = Commit {
            array: durable.members.superblock.array,
            epoch: durable.members.superblock.epoch,
            number: turn,
            horizon: durable.sync.horizon,
            checkpoint: durable.checkpoint,
        };
        durable.sync.commit = Some(commit);
        let ring = durable.layout.commits;
        let page = ring.first + (turn % u64::from(ring.pages)) as u32;
        if M::CARRIES_DATA {
            durable.sync.bytes.resize(page_bytes, 0);
            commit.encode(&mut durable.sync.bytes);
        }
        let writes = keepers.into_iter().map(|member| PageWrite { member, page, content: 0 });
        durable.sync.writes.extend(writes);
        durable.counts.commits += durable.sync.writes.len() as u64;
    }

    /// Writes the pages after the header of the next checkpoint's slot.
    pub(crate) fn write_body<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let page_bytes = exec.members().page_bytes as usize;
        let (segments, capacity) = (self.segments.count(), self.capacity);
        let turn = self.durable().checkpoint + 1;
        let keepers = self.keepers(turn, exec);
        let durable = self.durable_mut();
        durable.sync.keepers = keepers;
        let keepers = &durable.sync.keepers;
        let first = durable.slot_of_checkpoint(turn) + 1;
        durable.sync.bytes = std::mem::take(&mut durable.sync.body);
        let pages = body_bytes(segments, capacity).div_ceil(page_bytes as u64) as u32;
        for page in 0..pages {
            let content = if M::CARRIES_DATA { page as usize * page_bytes } else { 0 };
            let write = |&member| PageWrite { member, page: first + page, content };
            durable.sync.writes.extend(keepers.iter().map(write));
        }
        let checksum = crc32c(&durable.sync.bytes);
        durable.sync.header = Some(CheckpointHeader {
            array: durable.members.superblock.array,
            epoch: durable.members.superblock.epoch,
            number: turn,
            horizon: durable.sync.horizon,
            write_seq: durable.sync.write_seq,
            body_bytes: body_bytes(segments, capacity),
            body_checksum: checksum,
            segments,
            chunks: capacity,
        });
        durable.counts.checkpoints += durable.sync.writes.len() as u64;
    }

    /// Writes the header of the checkpoint whose body is written.
    pub(crate) fn write_header<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let page_bytes = exec.members().page_bytes as usize;
        let durable = self.durable_mut();
        let page = durable.slot_of_checkpoint(durable.checkpoint + 1);
        if M::CARRIES_DATA {
            durable.sync.bytes.resize(page_bytes, 0);
            if let Some(header) = &durable.sync.header {
                header.encode(&mut durable.sync.bytes);
            }
        }
        let writes = durable.sync.keepers.iter().map(|&member| PageWrite { member, page, content: 0 });
        durable.sync.writes.extend(writes);
        durable.counts.checkpoints += durable.sync.writes.len() as u64;
    }
}
