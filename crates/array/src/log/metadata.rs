//! The copies of metadata that the members of a log should have.

use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::metadata_pieces::{Kind, PageRun, Piece, PieceLocation, superblock_run};
use stripewise_exec::metadata_scrub::{ScrubCounts, Wanted};
use stripewise_exec::rejoin::{RejoinError, Rejoining};
use stripewise_exec::{Executor, Metadata};
use stripewise_format::{CheckpointHeader, Commit, Superblock};

use crate::log::Log;
use crate::log::durable::Phase;
use crate::membership::Membership;

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
        if durable.has_event && (exec.has_lost_data(self) || exec.reads_only()) {
            return PieceLocation::Nowhere;
        }
        if durable.has_event || (Phase::Front..=Phase::FlushBack).contains(&durable.sync.phase) {
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
        if nth >= exec.members().count.into() {
            return PieceLocation::Over;
        }
        if durable.checkpoint_on >> nth & 1 == 0 || header.number != durable.checkpoint {
            return PieceLocation::Nowhere;
        }
        let pages = 1 + header.body_bytes.div_ceil(exec.members().page_bytes.into()) as u32;
        let first = durable.slot_of_checkpoint(header.number);
        PieceLocation::At(PageRun {
            member: MemberNo::at(nth as usize),
            first,
            pages,
            version: header.number,
        })
    }

    pub(crate) fn commit_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let durable = self.durable.as_ref();
        let Some((durable, (commit, on))) = durable.and_then(|durable| Some((durable, durable.commit_on?)))
        else {
            return PieceLocation::Over;
        };
        if nth >= exec.members().count.into() {
            return PieceLocation::Over;
        }
        if on >> nth & 1 == 0 {
            return PieceLocation::Nowhere;
        }
        let ring = durable.layout.commits;
        let first = ring.first + (commit.number % u64::from(ring.pages)) as u32;
        PieceLocation::At(PageRun {
            member: MemberNo::at(nth as usize),
            first,
            pages: 1,
            version: commit.number,
        })
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

impl<M: Memory> Metadata<M> for Log {
    fn rebuilding(&self, _exec: &Executor<M>) -> Option<(MemberNo, u32, u32)> {
        let durable = self.durable.as_ref()?;
        let rebuild = durable.members.rebuilds.first()?;
        Some((rebuild.member, durable.walked(rebuild), self.segments.count()))
    }

    fn scrubbed(&self, _exec: &Executor<M>) -> (ScrubCounts, bool) {
        self.membership().map_or_else(Default::default, Membership::scrubbed)
    }

    fn superblock_of(&self) -> Option<&Superblock> {
        self.membership().map(|members| &members.superblock)
    }

    fn check_rejoin(&self, member: MemberNo, how: Rejoining, exec: &Executor<M>) -> Result<(), RejoinError> {
        self.check_log_member(member, how, exec)
    }

    fn rejoin(&mut self, member: MemberNo, how: Rejoining, exec: &mut Executor<M>) {
        self.rejoin_log(member, how, exec);
    }

    fn superblock_on_members(&self) -> Option<&Superblock> {
        self.membership()?.on_members.as_ref()
    }

    fn piece(&self, piece: Piece, exec: &Executor<M>) -> PieceLocation {
        match piece.kind {
            Kind::Superblock => self.superblock_piece(piece.nth, exec),
            Kind::Checkpoint => self.checkpoint_piece(piece.nth, exec),
            Kind::Commit => self.commit_piece(piece.nth, exec),
            Kind::Table | Kind::Intent | Kind::Record | Kind::Vacant => PieceLocation::Over,
        }
    }

    fn is_piece(&self, piece: Piece, bytes: &[u8], exec: &Executor<M>) -> bool {
        match piece.kind {
            Kind::Checkpoint => self.is_checkpoint(bytes, exec.members().page_bytes),
            Kind::Commit => self.is_commit(bytes),
            _ => true,
        }
    }

    fn mend(&mut self, piece: Piece, wanted: &mut Wanted, _exec: &Executor<M>) {
        let durable = self.durable_mut();
        match piece.kind {
            Kind::Superblock => durable.has_event = true,
            _ => {
                wanted.checkpoint = Some(durable.checkpoint);
                durable.sync.is_requested = true;
            }
        }
    }

    fn is_mended(&mut self, wanted: &Wanted) -> bool {
        wanted.checkpoint.is_none_or(|before| {
            self.is_full || self.durable().checkpoint > before && !self.durable().names_checkpoint()
        })
    }
}
