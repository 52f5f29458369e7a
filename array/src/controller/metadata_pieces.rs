//! The copies of metadata that members should have: where each lies, and how its content is verified.

use super::Array;
use crate::format::{
    CheckpointHeader, ChecksumPage, Commit, Copy, IntentPage, REDO_MAGIC, RedoRecord, SUPERBLOCK_BYTES,
    Superblock, crc32c, superblock_pages,
};
use crate::journal::Stage;
use crate::memory::Memory;
use crate::placement::elastic::durable::Phase;

/// Number of kinds of metadata.
pub(super) const KINDS: usize = 6;

/// A kind of metadata; kinds are read in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Superblock,
    Checkpoint,
    Commit,
    Table,
    Intent,
    Record,
}

impl Kind {
    /// The next kind; the last one stays.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Superblock => Self::Checkpoint,
            Self::Checkpoint => Self::Commit,
            Self::Commit => Self::Table,
            Self::Table => Self::Intent,
            Self::Intent | Self::Record => Self::Record,
        }
    }
}

/// A copy of a structure, by its number among those of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) nth: u64,
}

/// Consecutive pages, and the version of the structure that they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRun {
    pub(super) member: u16,
    pub(super) first: u32,
    pub(super) pages: u32,
    /// Changes when the copy is written again.
    pub(super) version: u64,
}

/// The current location of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceLocation {
    At(PageRun),
    /// The piece need not exist.
    Nowhere,
    /// The piece may be being written.
    Busy,
    /// There are no more pieces of this kind.
    Over,
}

impl<M: Memory> Array<M> {
    /// The superblock as all members have it, except for its number and identifier; `None` if the array was not assembled.
    pub(super) fn superblock_on_members(&self) -> Option<&Superblock> {
        match (&self.roster, &self.elastic) {
            (Some(roster), _) => roster.on_members.as_ref(),
            (None, Some(log)) => log.durable.as_ref()?.on_members.as_ref(),
            (None, None) => None,
        }
    }

    /// The location of `piece`.
    pub(super) fn piece(&self, piece: Piece) -> PieceLocation {
        let place = match piece.kind {
            Kind::Superblock => self.superblock_piece(piece.nth),
            Kind::Checkpoint => self.checkpoint_piece(piece.nth),
            Kind::Commit => self.commit_piece(piece.nth),
            Kind::Table => self.table_piece(piece.nth),
            Kind::Intent => self.intent_piece(piece.nth),
            Kind::Record => self.record_piece(piece.nth),
        };
        match place {
            PieceLocation::At(run) if self.failed[usize::from(run.member)] => PieceLocation::Nowhere,
            place => place,
        }
    }

    fn superblock_piece(&self, nth: u64) -> PieceLocation {
        let Some(block) = self.superblock_on_members() else { return PieceLocation::Over };
        let member = (nth / 2) as usize;
        if member >= block.members.len() {
            return PieceLocation::Over;
        }
        let (back, is_busy) = match (&self.roster, &self.elastic) {
            (Some(roster), _) => {
                let is_written = |telling: &crate::journal::Telling| {
                    matches!(telling.stage, Stage::Front | Stage::FlushFront | Stage::Back | Stage::FlushBack)
                };
                (
                    roster.back[member],
                    roster.work.is_under_way && roster.telling.as_ref().is_some_and(is_written),
                )
            }
            (None, Some(log)) => {
                let durable = log.durable();
                if durable.is_news && (self.has_lost_data() || self.read_only) {
                    return PieceLocation::Nowhere;
                }
                let is_written = (Phase::Front..=Phase::FlushBack).contains(&durable.sync.phase);
                (durable.back[member], durable.is_news || is_written)
            }
            (None, None) => return PieceLocation::Over,
        };
        if is_busy {
            return PieceLocation::Busy;
        }
        PieceLocation::At(PageRun {
            member: member as u16,
            first: if nth.is_multiple_of(2) { 0 } else { back },
            pages: superblock_pages(block.page_bytes),
            version: block.update,
        })
    }

    fn checkpoint_piece(&self, nth: u64) -> PieceLocation {
        let durable = self.elastic.as_ref().and_then(|log| log.durable.as_ref());
        let Some((durable, header)) = durable.and_then(|durable| Some((durable, durable.newest.as_ref()?)))
        else {
            return PieceLocation::Over;
        };
        if nth >= self.members.count.into() {
            return PieceLocation::Over;
        }
        if durable.checkpoint_on >> nth & 1 == 0 || header.number != durable.checkpoint {
            return PieceLocation::Nowhere;
        }
        let pages = 1 + header.body_bytes.div_ceil(self.members.page_bytes.into()) as u32;
        let first = durable.slot_of_checkpoint(header.number);
        PieceLocation::At(PageRun { member: nth as u16, first, pages, version: header.number })
    }

    fn commit_piece(&self, nth: u64) -> PieceLocation {
        let durable = self.elastic.as_ref().and_then(|log| log.durable.as_ref());
        let Some((durable, (commit, on))) = durable.and_then(|durable| Some((durable, durable.commit_on?)))
        else {
            return PieceLocation::Over;
        };
        if nth >= self.members.count.into() {
            return PieceLocation::Over;
        }
        if on >> nth & 1 == 0 {
            return PieceLocation::Nowhere;
        }
        let ring = durable.layout.commits;
        let first = ring.first + (commit.number % u64::from(ring.pages)) as u32;
        PieceLocation::At(PageRun { member: nth as u16, first, pages: 1, version: commit.number })
    }

    fn table_piece(&self, nth: u64) -> PieceLocation {
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
        let member = self.geometry.member_at(group, position);
        if self.is_filled(member) {
            return PieceLocation::Nowhere;
        }
        PieceLocation::At(PageRun { member, first: journal.layout.table.first + at, pages: 1, version })
    }

    fn intent_piece(&self, nth: u64) -> PieceLocation {
        let Some(intent) = self.intent.as_ref().filter(|_| nth < u64::from(self.members.count)) else {
            return PieceLocation::Over;
        };
        let member = nth as u16;
        if self.is_filled(member) || intent.has_news && (self.has_lost_data() || self.read_only) {
            return PieceLocation::Nowhere;
        }
        if intent.work.is_under_way || intent.has_news {
            return PieceLocation::Busy;
        }
        let version = intent.version(self.geometry.group_of(member.into()));
        let first = intent.layout.intent.first + intent.layout.intent_page(version);
        PieceLocation::At(PageRun { member, first, pages: 1, version })
    }

    fn record_piece(&self, nth: u64) -> PieceLocation {
        let Some(journal) = &self.journal else { return PieceLocation::Over };
        let number = self.record_of(Piece { kind: Kind::Record, nth });
        let member = (nth % u64::from(self.members.count)) as u16;
        let newest = journal.ring.next_number() - u64::from(journal.record.is_under_way);
        if number >= newest {
            return PieceLocation::Over;
        }
        match journal.ring.kept(number) {
            Some((first, pages, keepers)) if keepers >> member & 1 != 0 && !self.is_filled(member) => {
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

    /// The number of the record that a piece is a copy of: pieces begin with the first record of the epoch.
    pub(super) fn record_of(&self, piece: Piece) -> u64 {
        1 + piece.nth / u64::from(self.members.count)
    }

    /// Whether `member` is being rebuilt: the rebuild writes its copies of the table and the bitmap.
    fn is_filled(&self, member: u16) -> bool {
        let rebuild = self.roster.as_ref().and_then(|roster| roster.rebuild.as_ref());
        rebuild.is_some_and(|rebuild| rebuild.member == member)
    }

    /// Whether `bytes`, read at the location of `piece`, are its expected content.
    pub(super) fn is_piece(&self, piece: Piece, bytes: &[u8]) -> bool {
        match piece.kind {
            Kind::Superblock => self.is_superblock(piece.nth, bytes),
            Kind::Checkpoint => {
                let newest = self.elastic().durable().newest.as_ref();
                let (head, body) = bytes.split_at(self.members.page_bytes as usize);
                newest.is_some_and(|newest| {
                    CheckpointHeader::parse(head).is_ok_and(|header| header == *newest)
                        && newest.check_body(&body[..newest.body_bytes as usize]).is_ok()
                })
            }
            Kind::Commit => {
                let commit = self.elastic().durable().commit_on;
                commit.is_some_and(|(commit, _)| Commit::parse(bytes).is_ok_and(|found| found == commit))
            }
            Kind::Table => self.journal.as_ref().is_some_and(|journal| {
                let page = (piece.nth / u64::from(journal.layout.copies)) as u32;
                let place = (journal.table.version(page), journal.table.locate(page));
                ChecksumPage::parse(bytes).is_ok_and(|head| {
                    head.array == journal.array && (head.version, (head.group, head.number)) == place
                })
            }),
            Kind::Intent => self.intent.as_ref().is_some_and(|intent| {
                let group = self.geometry.group_of(piece.nth as u32);
                IntentPage::parse(bytes).is_ok_and(|head| {
                    head.array == intent.array && (head.group, head.version) == (group, intent.version(group))
                })
            }),
            Kind::Record => self.is_record(self.record_of(piece), bytes),
        }
    }

    /// Whether a superblock belongs to its place. Accepts a later version than the last one that is on all members: the loss
    /// of a member may have interrupted its update.
    fn is_superblock(&self, nth: u64, bytes: &[u8]) -> bool {
        let Some(block) = self.superblock_on_members() else { return true };
        let bytes = &bytes[..SUPERBLOCK_BYTES];
        let copy = if nth.is_multiple_of(2) { Copy::Front } else { Copy::Back };
        let number = (nth / 2) as u16;
        let uuid = block.members[usize::from(number)].uuid;
        let is_its = |found: &Superblock| {
            (found.array, found.uuid, found.number) == (block.array, uuid, number)
                && (found.page_bytes, found.pages) == (block.page_bytes, block.pages)
                && (found.update > block.update || found.is_version_of(block))
        };
        Copy::of(bytes) == Some(copy) && Superblock::parse(bytes).is_ok_and(|found| is_its(&found))
    }

    /// Whether `bytes` are record `number` of the journal, with all of its images.
    fn is_record(&self, number: u64, bytes: &[u8]) -> bool {
        let Some(journal) = &self.journal else { return true };
        let page_bytes = self.members.page_bytes as usize;
        let (head, images) = bytes.split_at(journal.layout.header_pages() as usize * page_bytes);
        let Ok(record) = RedoRecord::parse(head) else { return false };
        let with_image = record.entries.iter().filter(|entry| entry.kind.has_image());
        let is_image = |(entry, image): (&crate::format::RedoEntry, &[u8])| {
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
