//! Scrub of metadata: reads every copy of a superblock, checkpoint, commit record, redo record, page of the table of checksums
//! and bitmap that a member should have, and verifies it against the controller's state. A damaged copy is written again by
//! the ordinary update of its structure, and then read back: it counts as repaired when the second read finds it whole.

use super::Array;
use super::metadata_pieces::{KINDS, Kind, PageRun, Piece, PieceLocation};
use crate::driver::Driver;
use crate::ids::NONE;
use crate::journal::{NO_MEMBER, News, Stage, Telling};
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::plan::{Purpose, Step};

/// Damaged copies that are repaired in one round; this bounds the list of them.
const ROUND: usize = 64;

/// Damaged and repaired copies of metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataScrubbed {
    /// Copies that could not be read or did not have the expected content.
    pub damaged: u64,
    /// Of those: copies that were written again and found whole when they were read back.
    pub repaired: u64,
}

/// State of the metadata scrub.
#[derive(Debug, Default)]
pub(crate) struct MetadataScrub {
    walk: Option<Walk>,
    /// Counts of the current scrub, or of the last one.
    pub(crate) found: MetadataScrubbed,
}

/// Progress of a scrub of metadata.
#[derive(Debug)]
struct Walk {
    stage: Doing,
    /// The next piece to read.
    next: Piece,
    /// Records of the journal from this one on are written during the scrub, and are not read.
    records_end: u64,
    /// Whether only superblocks are read, regardless of the allowance.
    is_closing: bool,
    /// The piece that is being read.
    reading: Option<Reading>,
    /// Damaged pieces of this round.
    damaged: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Copies are read.
    Look,
    /// The damaged copies are being written.
    Mend(Wanted),
    /// The damaged copies are read again, from this one on.
    Verify(usize),
}

/// Updates that must be written before damaged copies are read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// A version of the superblocks greater than this one.
    update: Option<u64>,
    /// A checkpoint greater than this one.
    checkpoint: Option<u64>,
    /// The table of checksums.
    table: bool,
    /// The bitmap.
    intent: bool,
    /// The journal is reclaimed up to and including this record.
    record: Option<u64>,
}

/// A piece that is being read, some pages at a time.
#[derive(Debug)]
struct Reading {
    piece: Piece,
    run: PageRun,
    bytes: Vec<u8>,
    is_unreadable: bool,
    is_under_way: bool,
}

impl MetadataScrub {
    /// Whether a scrub of metadata is in progress.
    pub(crate) fn is_under_way(&self) -> bool {
        self.walk.is_some()
    }

    /// Ends the scrub; updates that it requested continue.
    pub(crate) fn stop(&mut self) {
        self.walk = None;
    }

    fn begin(&mut self, is_closing: bool) {
        self.found = MetadataScrubbed::default();
        self.walk = Some(Walk {
            stage: Doing::Look,
            next: Piece::default(),
            records_end: u64::MAX,
            is_closing,
            reading: None,
            damaged: Vec::new(),
        });
    }
}

impl<M: Memory> Array<M> {
    /// Starts a scrub: metadata comes first, because the repair of data writes metadata.
    pub(super) fn begin_metadata_scrub(&mut self) {
        if M::CARRIES_DATA && self.superblock_on_members().is_some() {
            self.metadata.begin(false);
        }
    }

    /// Reads the superblocks of all members before the array is closed, and repairs damaged ones: if both copies of a
    /// superblock were damaged, the next start would not find the member. [`Self::metadata_scrubbed`] returns the counts.
    pub fn verify_superblocks<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        if M::CARRIES_DATA && self.superblock_on_members().is_some() {
            self.stop_scrub();
            self.metadata.begin(true);
            self.poll(driver);
        }
    }

    /// The counts of the last scrub of metadata, and whether it is still in progress.
    pub fn metadata_scrubbed(&self) -> (MetadataScrubbed, bool) {
        (self.metadata.found, self.metadata.is_under_way())
    }

    /// Takes the next step of the metadata scrub. Returns false if there is nothing to do now.
    pub(super) fn scrub_metadata<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        if walk.reading.as_ref().is_some_and(|reading| reading.is_under_way) {
            return false;
        }
        if walk.reading.is_some() {
            return self.read_on(driver);
        }
        match walk.stage {
            Doing::Look => self.look_at_next(),
            Doing::Mend(wanted) => {
                if self.tell_superblocks_again(wanted) {
                    return true;
                }
                let is_mended = self.is_mended(wanted);
                if is_mended {
                    self.go_to(Doing::Verify(0));
                }
                is_mended
            }
            Doing::Verify(nth) => self.look_again(nth),
        }
    }

    fn go_to(&mut self, stage: Doing) {
        if let Some(walk) = &mut self.metadata.walk {
            walk.stage = stage;
        }
    }

    /// Starts to read the next piece.
    fn look_at_next(&mut self) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        let (piece, is_closing) = (walk.next, walk.is_closing);
        if walk.damaged.len() >= ROUND {
            return self.begin_mending();
        }
        let is_behind = piece.kind == Kind::Record && self.record_of(piece) >= walk.records_end;
        let place = if is_behind { PieceLocation::Over } else { self.piece(piece) };
        if place == PieceLocation::Busy {
            return false;
        }
        let next = piece.kind.next();
        let records =
            self.journal.as_ref().map_or((0, 0), |journal| (journal.ring.tail(), journal.ring.next_number()));
        // Records before the tail are no longer needed.
        let skipped = if next == Kind::Record {
            records.0.saturating_sub(1) * u64::from(self.members.count)
        } else {
            0
        };
        let kinds = if is_closing { 1 } else { KINDS };
        let Some(walk) = &mut self.metadata.walk else { return false };
        match place {
            PieceLocation::Over if piece.kind as usize + 1 < kinds => {
                walk.next = Piece { kind: next, nth: skipped };
                walk.records_end = records.1;
            }
            PieceLocation::Over if walk.damaged.is_empty() => self.metadata.walk = None,
            PieceLocation::Over => return self.begin_mending(),
            _ => {
                walk.next.nth += 1;
                if let PieceLocation::At(run) = place {
                    walk.reading = Some(Reading::of(piece, run));
                }
            }
        }
        true
    }

    /// Starts to read a damaged piece again.
    fn look_again(&mut self, nth: usize) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        let Some(&piece) = walk.damaged.get(nth) else {
            if let Some(walk) = &mut self.metadata.walk {
                (walk.stage, walk.damaged) = (Doing::Look, Vec::new());
            }
            return true;
        };
        let place = self.piece(piece);
        let Some(walk) = &mut self.metadata.walk else { return false };
        match place {
            PieceLocation::Busy => return false,
            PieceLocation::At(run) => walk.reading = Some(Reading::of(piece, run)),
            // A piece that is no longer needed counts as whole.
            PieceLocation::Nowhere | PieceLocation::Over => self.metadata.found.repaired += 1,
        }
        self.go_to(Doing::Verify(nth + 1));
        true
    }

    /// Reads the next pages of a piece.
    fn read_on<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let is_closing = self.metadata.walk.as_ref().is_some_and(|walk| walk.is_closing);
        if self.free_plan == NONE || !(is_closing || self.is_allowed()) {
            return false;
        }
        let width = self.geometry.columns;
        let Some(reading) = self.metadata.walk.as_mut().and_then(|walk| walk.reading.as_mut()) else {
            return false;
        };
        reading.is_under_way = true;
        let done = (reading.bytes.len() / self.members.page_bytes as usize) as u32;
        let count = (reading.run.pages - done).min(width);
        self.spend(count);
        let plan = self.take_plan(0, Purpose::Inspect);
        self.plans[plan as usize].unit = count;
        self.begin(plan, driver);
        true
    }

    /// Builds the step that reads pages of metadata. Builds none if a page was tried and cannot be read.
    pub(super) fn build_inspect(&mut self, plan: u32) {
        let reading = self.metadata.walk.as_ref().and_then(|walk| walk.reading.as_ref());
        let Some(reading) = reading.filter(|_| self.plans[plan as usize].lost == 0) else { return };
        let done = (reading.bytes.len() / self.members.page_bytes as usize) as u32;
        let (member, first) = (reading.run.member, reading.run.first + done);
        if self.failed[usize::from(member)] {
            return;
        }
        let count = self.plans[plan as usize].unit;
        for nth in 0..count {
            self.slots[(plan * self.stride + nth) as usize].operation = Operation {
                page: first + nth,
                member,
                kind: OperationKind::Read,
                class: Class::Metadata,
                column: nth as u8,
                ..Operation::default()
            };
        }
        let slot = &mut self.plans[plan as usize];
        slot.operations = count as u16;
        slot.push_step(Step::Operations { first: 0, count: count as u16 });
        slot.acknowledge_here();
    }

    /// Pages of metadata were read, or cannot be read.
    pub(super) fn inspected<D: Driver<M>>(&mut self, plan: u32, driver: &mut D) {
        let page_bytes = self.members.page_bytes as usize;
        let (lost, read) = (self.plans[plan as usize].lost, u32::from(self.plans[plan as usize].operations));
        let mut pages = Vec::with_capacity(read as usize * page_bytes);
        for nth in 0..read {
            pages.extend_from_slice(
                &self.memory.bytes(self.buffer_of(plan * self.stride + nth))[..page_bytes],
            );
        }
        let Some(walk) = &mut self.metadata.walk else { return };
        let Some(mut reading) = walk.reading.take() else { return };
        reading.is_under_way = false;
        reading.is_unreadable |= lost != 0;
        reading.bytes.append(&mut pages);
        let place = self.piece(reading.piece);
        // A copy that was written again meanwhile is whole, and a failed member has nothing to verify.
        let is_moot = place != PieceLocation::At(reading.run);
        let is_whole = reading.bytes.len() == reading.run.pages as usize * page_bytes;
        let is_over = is_moot || is_whole || reading.is_unreadable || read == 0;
        let is_bad =
            !is_moot && is_over && (reading.is_unreadable || !self.is_piece(reading.piece, &reading.bytes));
        let Some(walk) = &mut self.metadata.walk else { return };
        if !is_over {
            walk.reading = Some(reading);
            return;
        }
        match walk.stage {
            Doing::Verify(_) => self.metadata.found.repaired += u64::from(!is_bad),
            _ if is_bad => {
                walk.damaged.push(reading.piece);
                self.metadata.found.damaged += 1;
                if !reading.is_unreadable {
                    driver.mismatched(reading.run.member, reading.run.first);
                }
            }
            _ => {}
        }
    }

    /// Requests the updates that repair the damaged copies of this round.
    fn begin_mending(&mut self) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        let damaged = walk.damaged.clone();
        let mut wanted = Wanted::default();
        if self.read_only {
            // The damaged copies are reported, and stay.
            if let Some(walk) = &mut self.metadata.walk {
                walk.damaged.clear();
            }
            return true;
        }
        for piece in damaged {
            match piece.kind {
                Kind::Superblock => wanted.update = self.superblock_on_members().map(|block| block.update),
                Kind::Checkpoint | Kind::Commit => {
                    wanted.checkpoint = Some(self.elastic().durable().checkpoint);
                }
                Kind::Table => {
                    wanted.table = true;
                    if let Some(journal) = &mut self.journal {
                        journal.table.mark((piece.nth / u64::from(journal.layout.copies)) as u32);
                    }
                }
                Kind::Intent => wanted.intent = true,
                Kind::Record => wanted.record = wanted.record.max(Some(self.record_of(piece))),
            }
        }
        if let Some(durable) = self.elastic.as_mut().and_then(|log| log.durable.as_mut()) {
            durable.is_news |= wanted.update.is_some();
            durable.sync.is_asked |= wanted.checkpoint.is_some();
        }
        if let Some(journal) = &mut self.journal {
            journal.wants_table |= wanted.table;
        }
        if let Some(intent) = &mut self.intent {
            intent.has_news |= wanted.intent;
        }
        self.go_to(Doing::Mend(wanted));
        true
    }

    /// Starts to write superblocks in place, unless another update of them is in progress. Returns false if there is nothing
    /// to start.
    fn tell_superblocks_again(&mut self, wanted: Wanted) -> bool {
        let update = self.superblock_on_members().map_or(0, |block| block.update);
        let failed = self.failed_members();
        if wanted.update.is_none_or(|before| update > before) || self.has_lost_data() {
            return false;
        }
        let Some(roster) = self.roster.as_mut().filter(|roster| roster.telling.is_none()) else {
            return false;
        };
        roster.telling =
            Some(Telling { member: NO_MEMBER, news: News::Again, stage: Stage::Front, begun: 0, failed });
        true
    }

    /// Whether the updates that repair damaged copies are written, or cannot be written now.
    fn is_mended(&mut self, wanted: Wanted) -> bool {
        if self.has_lost_data() {
            // Nothing can be called durable any more.
            return true;
        }
        let update = self.superblock_on_members().map_or(0, |block| block.update);
        let has_superblocks = wanted.update.is_none_or(|before| update > before);
        let log = self.elastic.as_ref();
        let has_checkpoint = wanted.checkpoint.is_none_or(|before| {
            log.is_none_or(|log| {
                log.is_full || log.durable().checkpoint > before && !log.durable().names_checkpoint()
            })
        });
        let has_intent = !wanted.intent
            || self.intent.as_ref().is_none_or(|intent| !intent.has_news && !intent.work.is_under_way);
        let mut has_journal = true;
        if let Some(journal) = &mut self.journal {
            has_journal = !wanted.table || !journal.wants_table;
            if let Some(record) = wanted.record.filter(|&record| journal.ring.has_before(record + 1)) {
                has_journal = false;
                journal.leave_behind(record + 1);
                // Records with content under deferred parity are finished when that parity is written.
                self.window.flushes_deferred = !self.window.is_empty();
            }
        }
        has_superblocks && has_checkpoint && has_intent && has_journal
    }
}

impl Reading {
    fn of(piece: Piece, run: PageRun) -> Self {
        Self { piece, run, bytes: Vec::new(), is_unreadable: false, is_under_way: false }
    }
}
