//! The copies of metadata that the members of an array in place should have.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::metadata_pieces::{Kind, PageRun, Piece, PieceLocation, superblock_run};
use stripewise_exec::metadata_scrub::{ScrubCounts, Wanted};
use stripewise_exec::rejoin::{RejoinError, Rejoining};
use stripewise_exec::{Executor, Metadata};
use stripewise_format::{ChecksumPage, IntentPage, REDO_MAGIC, RedoRecord, Superblock, crc32c};

use crate::in_place::InPlace;
use crate::in_place::journal::{MemberEvent, NO_MEMBER, Stage, SuperblockUpdate};

impl InPlace {
    pub(crate) fn superblock_piece(&self, nth: u64) -> PieceLocation {
        let Some((roster, block)) =
            self.roster.as_ref().and_then(|roster| Some((roster, roster.members.on_members.as_ref()?)))
        else {
            return PieceLocation::Over;
        };
        let member = (nth / 2) as usize;
        if member >= block.members.len() {
            return PieceLocation::Over;
        }
        let is_written = |writing: &SuperblockUpdate| {
            matches!(writing.stage, Stage::Front | Stage::FlushFront | Stage::Back | Stage::FlushBack)
        };
        if roster.work.is_under_way && roster.writing.as_ref().is_some_and(is_written) {
            return PieceLocation::Busy;
        }
        if roster.members.is_torn(MemberNo::at(member)) {
            return PieceLocation::Nowhere;
        }
        PieceLocation::At(superblock_run(block, nth, roster.members.back[member]))
    }

    /// Whether `bytes` are a page of the table of checksums, at the place of the `nth` copy.
    pub(crate) fn is_table_page(&self, nth: u64, bytes: &[u8]) -> bool {
        self.journal.as_ref().is_some_and(|journal| {
            let page = (nth / u64::from(journal.layout.copies)) as u32;
            let place = (journal.table.version(page), journal.table.locate(page));
            ChecksumPage::parse(bytes).is_ok_and(|head| {
                head.array == journal.array && (head.version, (head.group, head.number)) == place
            })
        })
    }

    /// Whether `bytes` are a page of the bitmap, at the place of the `nth` copy.
    pub(crate) fn is_intent_page<M: Memory>(&self, nth: u64, bytes: &[u8], exec: &Executor<M>) -> bool {
        self.intent.as_ref().is_some_and(|intent| {
            let group = exec.geometry().group_of(MemberNo::at(nth as usize));
            IntentPage::parse(bytes).is_ok_and(|head| {
                head.array == intent.array && (head.group, head.version) == (group, intent.version(group))
            })
        })
    }

    pub(crate) fn table_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let Some(journal) = &self.journal else { return PieceLocation::Over };
        let copies = u64::from(journal.layout.copies);
        let (page, copy) = ((nth / copies) as u32, (nth % copies) as u32);
        if page >= journal.table.pages() {
            return PieceLocation::Over;
        }
        if journal.cleaning.is_under_way {
            return PieceLocation::Busy;
        }
        let (group, number) = journal.table.locate(page);
        let version = journal.table.version(page);
        let (position, at) = journal.layout.copy_at(number, copy, version);
        let member = exec.geometry().member_at(group, position);
        if self.is_filled(member) {
            return PieceLocation::Nowhere;
        }
        PieceLocation::At(PageRun { member, first: journal.layout.table.first + at, pages: 1, version })
    }

    pub(crate) fn intent_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let Some(intent) = self.intent.as_ref().filter(|_| nth < u64::from(exec.members().count)) else {
            return PieceLocation::Over;
        };
        let member = MemberNo::at(nth as usize);
        if self.is_filled(member) || intent.has_event && (exec.has_lost_data(self) || exec.reads_only()) {
            return PieceLocation::Nowhere;
        }
        if intent.work.is_under_way || intent.has_event {
            return PieceLocation::Busy;
        }
        let version = intent.version(exec.geometry().group_of(member));
        let first = intent.layout.intent.first + intent.layout.intent_page(version);
        PieceLocation::At(PageRun { member, first, pages: 1, version })
    }

    pub(crate) fn record_piece<M: Memory>(&self, nth: u64, exec: &Executor<M>) -> PieceLocation {
        let Some(journal) = &self.journal else { return PieceLocation::Over };
        let number = exec.record_of(Piece { kind: Kind::Record, nth });
        let member = MemberNo::at((nth % u64::from(exec.members().count)) as usize);
        let newest = journal.ring.next_number() - u64::from(journal.record.is_under_way);
        if number >= newest {
            return PieceLocation::Over;
        }
        if number < journal.ring.tail() && exec.has_bug(Bug::FreedRecordNotRead) {
            return PieceLocation::Nowhere;
        }
        match journal.ring.kept(number) {
            Some((first, pages, keepers)) if member.is_in(keepers) && !self.is_filled(member) => {
                PieceLocation::At(PageRun {
                    member,
                    first: journal.layout.journal.first + first,
                    pages,
                    version: number,
                })
            }
            _ => PieceLocation::Nowhere,
        }
    }

    /// Whether `member` is being rebuilt: the rebuild writes its copies of the table and the bitmap.
    pub(crate) fn is_filled(&self, member: MemberNo) -> bool {
        self.membership().is_some_and(|members| members.is_rebuilt(member))
    }

    /// Whether `bytes` are record `number` of the journal, with all of its images.
    pub(crate) fn is_record<M: Memory>(&self, number: u64, bytes: &[u8], exec: &Executor<M>) -> bool {
        let Some(journal) = &self.journal else { return true };
        let page_bytes = exec.members().page_bytes as usize;
        let (head, images) = bytes.split_at(journal.layout.header_pages() as usize * page_bytes);
        let Ok(record) = RedoRecord::parse(head) else { return false };
        let with_image = record.entries.iter().filter(|entry| entry.kind.has_image());
        let is_image = |(entry, image): (&stripewise_format::RedoEntry, &[u8])| {
            let mut image = image.to_vec();
            if entry.is_masked {
                image[..REDO_MAGIC.len()].copy_from_slice(&REDO_MAGIC);
            }
            crc32c(&image) == entry.checksum
        };
        (record.array, record.epoch, record.number) == (journal.array, journal.epoch, number)
            && with_image.zip(images.chunks_exact(page_bytes)).all(is_image)
    }
}

impl<M: Memory> Metadata<M> for InPlace {
    fn rebuilding(&self, exec: &Executor<M>) -> Option<(MemberNo, u32, u32)> {
        self.rebuilding_in_place(exec)
    }

    fn scrubbed(&self, exec: &Executor<M>) -> (ScrubCounts, bool) {
        let Some(roster) = &self.roster else { return Default::default() };
        let (counts, walks) = roster.members.scrubbed();
        // While a group is beyond parity, the repairs wait for its members.
        (counts, walks || roster.keeps_repairs() && self.halted_by(exec).is_none())
    }

    fn superblock_of(&self) -> Option<&Superblock> {
        self.membership().map(|members| &members.superblock)
    }

    fn check_rejoin(&self, member: MemberNo, how: Rejoining, exec: &Executor<M>) -> Result<(), RejoinError> {
        let roster = self.roster.as_ref().ok_or(RejoinError::NoMetadata)?;
        self.check_member(roster, member, how, exec)
    }

    fn rejoin(&mut self, member: MemberNo, how: Rejoining, exec: &mut Executor<M>) {
        self.rejoin_in_place(member, how, exec);
    }

    fn superblock_on_members(&self) -> Option<&Superblock> {
        self.membership()?.on_members.as_ref()
    }

    fn piece(&self, piece: Piece, exec: &Executor<M>) -> PieceLocation {
        match piece.kind {
            Kind::Superblock => self.superblock_piece(piece.nth),
            Kind::Checkpoint | Kind::Commit => PieceLocation::Over,
            Kind::Table => self.table_piece(piece.nth, exec),
            Kind::Intent => self.intent_piece(piece.nth, exec),
            Kind::Record => self.record_piece(piece.nth, exec),
            Kind::Vacant => self.vacant_piece(piece.nth, exec),
        }
    }

    fn is_piece(&self, piece: Piece, bytes: &[u8], exec: &Executor<M>) -> bool {
        match piece.kind {
            Kind::Table => self.is_table_page(piece.nth, bytes),
            Kind::Intent => self.is_intent_page(piece.nth, bytes, exec),
            Kind::Record => self.is_record(exec.record_of(piece), bytes, exec),
            Kind::Superblock | Kind::Checkpoint | Kind::Commit | Kind::Vacant => true,
        }
    }

    fn records(&self) -> (u64, u64) {
        self.journal
            .as_ref()
            .map_or((0, 0), |journal| (journal.ring.first_number(), journal.ring.next_number()))
    }

    fn mend(&mut self, piece: Piece, wanted: &mut Wanted, exec: &Executor<M>) {
        match piece.kind {
            Kind::Table => {
                wanted.table = true;
                if let Some(journal) = &mut self.journal {
                    journal.table.mark((piece.nth / u64::from(journal.layout.copies)) as u32);
                    journal.wants_table = true;
                }
            }
            Kind::Intent => {
                wanted.intent = true;
                if let Some(intent) = &mut self.intent {
                    intent.has_event = true;
                }
            }
            Kind::Record => wanted.record = wanted.record.max(Some(exec.record_of(piece))),
            Kind::Vacant => {
                wanted.vacant = true;
                self.clear_vacant(piece.nth, exec);
            }
            Kind::Superblock | Kind::Checkpoint | Kind::Commit => {}
        }
    }

    fn rewrite_superblocks(&mut self, exec: &Executor<M>) -> bool {
        let failed = exec.failed_members();
        let Some(roster) = self.roster.as_mut().filter(|roster| roster.writing.is_none()) else {
            return false;
        };
        let (member, event, stage) = (NO_MEMBER, MemberEvent::Again, Stage::Mend);
        roster.writing = Some(SuperblockUpdate {
            member,
            event,
            stage,
            targets: 0,
            begun: 0,
            failed,
            out: failed,
            gone: 0,
        });
        true
    }

    fn is_mended(&mut self, wanted: &Wanted) -> bool {
        let has_intent = !wanted.intent
            || self.intent.as_ref().is_none_or(|intent| !intent.has_event && !intent.work.is_under_way);
        let mut has_journal = true;
        if let Some(journal) = &mut self.journal {
            has_journal = !wanted.table || !journal.wants_table;
            has_journal &= !wanted.vacant || journal.unread.is_empty() && !journal.is_clearing;
            if let Some(record) = wanted.record.filter(|&record| journal.ring.has_before(record + 1)) {
                has_journal = false;
                journal.leave_behind(record + 1);
                // Records with content under deferred parity are finished when that parity is written.
                self.window.flushes_deferred = !self.window.is_empty();
            }
        }
        has_intent && has_journal
    }
}
