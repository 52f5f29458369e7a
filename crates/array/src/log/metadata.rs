//! The copies of metadata that the members of a log should have.

use stripewise_core::format::{CheckpointHeader, Commit};
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::metadata_pieces::{PageRun, PieceLocation, superblock_run};

use crate::log::Log;
use crate::log::durable::Phase;

impl Log {
    pub(crate) fn superblock_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let Some((durable, block)) =
            self.durable.as_ref().and_then(|durable| Some((durable, durable.members.on_members.as_ref()?)))
        else {
            return PieceLocation::Over;
        };
        let member = (nth / 2) as usize;
        if member >= block.members.len() {
            return PieceLocation::Over;
        }
        if durable.is_news && (exec.has_lost_data(self) || exec.read_only) {
            return PieceLocation::Nowhere;
        }
        if durable.is_news || (Phase::Front..=Phase::FlushBack).contains(&durable.sync.phase) {
            return PieceLocation::Busy;
        }
        PieceLocation::At(superblock_run(block, nth, durable.members.back[member]))
    }

    pub(crate) fn checkpoint_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let durable = self.durable.as_ref();
        let Some((durable, header)) = durable.and_then(|durable| Some((durable, durable.newest.as_ref()?)))
        else {
            return PieceLocation::Over;
        };
        if nth >= exec.members.count.into() {
            return PieceLocation::Over;
        }
        if durable.checkpoint_on >> nth & 1 == 0 || header.number != durable.checkpoint {
            return PieceLocation::Nowhere;
        }
        let pages = 1 + header.body_bytes.div_ceil(exec.members.page_bytes.into()) as u32;
        let first = durable.slot_of_checkpoint(header.number);
        PieceLocation::At(PageRun { member: nth as u16, first, pages, version: header.number })
    }

    pub(crate) fn commit_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let durable = self.durable.as_ref();
        let Some((durable, (commit, on))) = durable.and_then(|durable| Some((durable, durable.commit_on?)))
        else {
            return PieceLocation::Over;
        };
        if nth >= exec.members.count.into() {
            return PieceLocation::Over;
        }
        if on >> nth & 1 == 0 {
            return PieceLocation::Nowhere;
        }
        let ring = durable.layout.commits;
        let first = ring.first + (commit.number % u64::from(ring.pages)) as u32;
        PieceLocation::At(PageRun { member: nth as u16, first, pages: 1, version: commit.number })
    }

    /// Whether `bytes` are the newest checkpoint.
    pub(crate) fn is_checkpoint(&self, bytes: &[u8], page_bytes: u32) -> bool {
        let (head, body) = bytes.split_at(page_bytes as usize);
        self.durable().newest.as_ref().is_some_and(|newest| {
            CheckpointHeader::parse(head).is_ok_and(|header| header == *newest)
                && newest.check_body(&body[..newest.body_bytes as usize]).is_ok()
        })
    }

    /// Whether `bytes` are the newest commit record.
    pub(crate) fn is_commit(&self, bytes: &[u8]) -> bool {
        let commit = self.durable().commit_on;
        commit.is_some_and(|(commit, _)| Commit::parse(bytes).is_ok_and(|found| found == commit))
    }
}
