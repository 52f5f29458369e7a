//! Damaged copies of metadata with another intact copy: nothing is lost yet, but the next failure may lose something.

use super::report::DamagedCopy;
use super::superblocks::Copies;
use super::walk::WalkFindings;
use stripewise_core::ids::MemberNo;
use stripewise_format::{CheckpointHeader, Commit, FormatError, Structure, Superblock};

/// Whether `page`, where a structure may be, holds something else; `parsed` is the result of parsing it. A page of zeros
/// was never written.
pub(super) fn is_damaged<T>(parsed: Result<&T, &FormatError>) -> bool {
    !matches!(parsed, Ok(_) | Err(FormatError::Absent { found: [0, 0, 0, 0, 0, 0, 0, 0], .. }))
}

/// A copy of a record of the log, in its place on a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordCopy {
    Whole,
    /// It cannot be read, or its content shows that it was damaged.
    Damaged,
    /// Something else is there: an older record, or nothing.
    Other,
}

/// The copy in a page, where `is_it` recognizes the record. A page without any record of this kind may have arbitrary content:
/// its member may have replaced another.
fn copy_of<T>(parsed: Option<Result<T, FormatError>>, is_it: impl FnOnce(&T) -> bool) -> RecordCopy {
    match parsed {
        Some(Ok(record)) if is_it(&record) => RecordCopy::Whole,
        Some(Ok(_) | Err(FormatError::Absent { .. })) => RecordCopy::Other,
        Some(Err(_)) | None => RecordCopy::Damaged,
    }
}

/// The superblocks of members of the array with only one intact copy. A power loss during the write of a copy also leaves
/// one; assembling the array for writing repairs it.
pub(super) fn of_superblocks(offered: &[Copies], positions: &[Option<u16>]) -> Vec<DamagedCopy> {
    let mut damaged = Vec::new();
    for (member, position) in (0..).map(MemberNo::new).zip(positions) {
        let Some(position) = *position else { continue };
        let Copies { front, back, back_page, .. } = &offered[usize::from(position)];
        let update = |copy: &Option<Superblock>| copy.as_ref().map(|copy| copy.update);
        // The front copy is written first, so it is never the older one.
        let pages = [(0, update(front) < update(back)), (*back_page, back.is_none())];
        let copy_at = |page| DamagedCopy { member, page, structure: Structure::Superblock };
        damaged.extend(pages.into_iter().filter(|(_, is_bad)| *is_bad).map(|(page, _)| copy_at(page)));
    }
    damaged
}

impl WalkFindings<'_> {
    /// The damaged copies of the newest commit record, and of the checkpoint that it names. A scrub verifies the same copies:
    /// older records and checkpoints are never read again, so damage in their places costs nothing.
    ///
    /// After a clean stop each of their keepers has its copy. Otherwise the newest record may have been written on some of its
    /// keepers only, and just visible damage counts.
    pub(super) fn damaged(&mut self, report: &mut dyn FnMut(DamagedCopy)) {
        let Superblock { checkpoint: area, commits: ring, .. } = *self.superblock;
        let commit = self.commit();
        let named = |header: &CheckpointHeader| {
            commit.is_some_and(|commit| (header.epoch, header.number) == (commit.epoch, commit.checkpoint))
        };
        if let Some(newest) = self.checkpoint_that(named).or_else(|| self.checkpoint()).map(|it| it.header) {
            let first = area.first + (newest.number % 2) as u32 * area.pages;
            let copy = |its: &mut Self, member| its.checkpoint_copy(&newest, member, first);
            self.judge((newest.number, first), Structure::Checkpoint, copy, report);
        }
        if let Some(newest) = commit {
            let page = ring.first + (newest.number % u64::from(ring.pages)) as u32;
            let copy = |its: &mut Self, member| {
                let content = its.read(&[(member, page)]).pop().flatten();
                copy_of(content.as_deref().map(Commit::parse), |found| *found == newest)
            };
            self.judge((newest.number, page), Structure::Commit, copy, report);
        }
    }

    /// Reports the copies of record `number`, which begins at `page`, that its keepers should have and do not have.
    fn judge(
        &mut self,
        (number, page): (u64, u32),
        structure: Structure,
        mut copy: impl FnMut(&mut Self, MemberNo) -> RecordCopy,
        report: &mut dyn FnMut(DamagedCopy),
    ) {
        let copies = self.geometry.tolerance() + 1;
        // While members were missing, others took their place: these are not known, and kept the copies of the missing ones.
        let keepers: Vec<MemberNo> = self.geometry.keepers(copies, number, 0).collect();
        let Some(&first) = keepers.first() else { return };
        let group: Vec<MemberNo> = self.geometry.group(self.geometry.group_of(first)).collect();
        let is_there = |member: &MemberNo| self.positions[member.index()].is_some();
        let missing = group.iter().filter(|member| !is_there(member)).count();
        let present: Vec<MemberNo> = group.into_iter().filter(is_there).collect();
        let found: Vec<RecordCopy> = present.iter().map(|&member| copy(self, member)).collect();
        let whole = found.iter().filter(|copy| **copy == RecordCopy::Whole).count();
        if whole + missing >= copies as usize {
            return;
        }
        for (member, copy) in present.into_iter().zip(found) {
            let is_damaged = match copy {
                RecordCopy::Whole => false,
                RecordCopy::Damaged => true,
                RecordCopy::Other => self.superblock.is_clean,
            };
            if is_damaged && keepers.contains(&member) {
                report(DamagedCopy { member, page, structure });
            }
        }
    }

    /// The copy of a checkpoint on a member, in the slot from `first` on.
    fn checkpoint_copy(&mut self, newest: &CheckpointHeader, member: MemberNo, first: u32) -> RecordCopy {
        let pages = newest.body_bytes.div_ceil(self.superblock.page_bytes.into()) as u32;
        let head = self.read(&[(member, first)]).pop().flatten();
        let copy = copy_of(head.as_deref().map(CheckpointHeader::parse), |found| found == newest);
        match copy {
            RecordCopy::Whole if !self.has_body(newest, (member, first + 1), pages) => RecordCopy::Damaged,
            copy => copy,
        }
    }

    fn has_body(&mut self, header: &CheckpointHeader, (member, first): (MemberNo, u32), pages: u32) -> bool {
        let at: Vec<(MemberNo, u32)> = (first..first + pages).map(|page| (member, page)).collect();
        let mut body: Vec<u8> =
            self.read(&at).iter().flatten().flat_map(|page| page.iter().copied()).collect();
        body.truncate(header.body_bytes as usize);
        header.check_body(&body).is_ok()
    }
}
