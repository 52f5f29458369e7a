//! Scrub of metadata: reads every copy of a superblock, checkpoint, commit record, redo record, page of the table of checksums
//! and bitmap that a member should have, and verifies it against the controller's state. A damaged copy is written again by
//! the ordinary update of its structure, and then read back: it counts as repaired when the second read finds it whole.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_format::MemberState;

use crate::driver::Driver;
use crate::metadata_pieces::{KINDS, Kind, Piece, PieceLocation, is_superblock};
use crate::metadata_walk::{Doing, ROUND, Reading};
use crate::plan::Purpose;
use crate::{Built, Executor, Placement, TooManyLost};

pub use crate::metadata_walk::{MetadataScrub, MetadataScrubbed, ScrubCounts, Wanted};

impl<M: Memory> Executor<M> {
    /// The location of `piece`, unless its member failed.
    pub(crate) fn location_of<P: Placement<M>>(&self, piece: Piece, placement: &P) -> PieceLocation {
        match placement.piece(piece, self) {
            PieceLocation::At(run) if self.failed[run.member.index()] => PieceLocation::Nowhere,
            place => place,
        }
    }

    /// The number of the record that a piece is a copy of: pieces begin with the first record of the epoch.
    pub fn record_of(&self, piece: Piece) -> u64 {
        1 + piece.nth / u64::from(self.members.count)
    }

    /// Whether `bytes`, read at the location of `piece`, are its expected content.
    pub fn is_piece<P: Placement<M>>(&self, piece: Piece, bytes: &[u8], placement: &P) -> bool {
        match piece.kind {
            Kind::Superblock => {
                placement.superblock_on_members().is_none_or(|block| is_superblock(block, piece.nth, bytes))
            }
            _ => placement.is_piece(piece, bytes, self),
        }
    }

    /// Starts a scrub: metadata comes first, because the repair of data writes metadata.
    pub fn begin_metadata_scrub<P: Placement<M>>(&mut self, placement: &P) {
        if M::CARRIES_DATA && placement.superblock_on_members().is_some() {
            self.metadata.begin(false);
        }
    }

    /// Starts the scrub of superblocks at the end of a serving, regardless of the allowance.
    pub fn begin_closing_scrub(&mut self) {
        self.metadata.begin(true);
    }

    /// Stops the scrub of metadata.
    pub fn stop_metadata_scrub(&mut self) {
        self.metadata.stop();
    }

    /// The counts of the current scrub of metadata, or of the last one, and whether it is in progress.
    pub fn metadata_scrubbed(&self) -> (MetadataScrubbed, bool) {
        (self.metadata.found, self.metadata.is_under_way())
    }

    /// Members of which a copy of the superblock was found damaged, one bit each, until [`Self::trust`]: what overwrote the copy
    /// may have overwritten more.
    pub fn doubted(&self) -> u64 {
        self.metadata.doubted
    }

    /// Trusts the members in `mask` again: their content was verified, or is rebuilt.
    pub fn trust(&mut self, mask: u64) {
        self.metadata.doubted &= !mask;
    }

    /// Doubts no member from now on, as programs did that wrote transcripts up to format 2.
    pub fn doubt_none(&mut self) {
        self.metadata.believes = true;
    }

    /// Takes the next step of the metadata scrub. Returns false if there is nothing to do now.
    pub fn scrub_metadata<P: Placement<M>, D: Driver<M>>(
        &mut self,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        if walk.reading.as_ref().is_some_and(|reading| reading.is_under_way) {
            return false;
        }
        if walk.reading.is_some() {
            return self.read_on(placement, driver);
        }
        match walk.stage {
            Doing::Look => self.look_at_next(placement),
            Doing::Mend(wanted) => {
                if self.begin_rewrite(&wanted, placement) {
                    return true;
                }
                let is_mended = self.is_mended(&wanted, placement);
                if is_mended {
                    self.go_to(Doing::Verify(0));
                }
                is_mended
            }
            Doing::Verify(nth) => self.check_again(nth, placement),
        }
    }

    fn go_to(&mut self, stage: Doing) {
        if let Some(walk) = &mut self.metadata.walk {
            walk.stage = stage;
        }
    }

    /// Starts to read the next piece.
    fn look_at_next<P: Placement<M>>(&mut self, placement: &mut P) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        let (piece, is_closing) = (walk.next, walk.is_closing);
        if walk.damaged.len() >= ROUND {
            return self.begin_mending(placement);
        }
        let is_behind = piece.kind == Kind::Record && self.record_of(piece) >= walk.records_end;
        let place = if is_behind { PieceLocation::Over } else { self.location_of(piece, placement) };
        if place == PieceLocation::Busy {
            return false;
        }
        let next = piece.kind.next();
        let records = placement.records();
        // Records before the tail are no longer needed.
        let skipped = if next == Kind::Record {
            records.0.saturating_sub(1) * u64::from(self.members.count)
        } else {
            0
        };
        let kinds = if is_closing { 1 } else { KINDS };
        let Some(walk) = &mut self.metadata.walk else { return false };
        let is_over = place == PieceLocation::Over;
        if is_over && next == Kind::Vacant && piece.kind != next && !walk.damaged.is_empty() {
            // The journal does without damaged copies of records, whose pages then hold nothing.
            return self.begin_mending(placement);
        }
        match place {
            PieceLocation::Over if piece.kind as usize + 1 < kinds => {
                walk.next = Piece { kind: next, nth: skipped };
                walk.records_end = records.1;
            }
            PieceLocation::Over if walk.damaged.is_empty() => self.metadata.walk = None,
            PieceLocation::Over => return self.begin_mending(placement),
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
    fn check_again<P: Placement<M>>(&mut self, nth: usize, placement: &mut P) -> bool {
        let Some(walk) = &self.metadata.walk else { return false };
        let Some(&piece) = walk.damaged.get(nth) else {
            if let Some(walk) = &mut self.metadata.walk {
                (walk.stage, walk.damaged) = (Doing::Look, Vec::new());
            }
            return true;
        };
        let place = self.location_of(piece, placement);
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
    fn read_on<P: Placement<M>, D: Driver<M>>(&mut self, placement: &mut P, driver: &mut D) -> bool {
        let is_closing = self.metadata.walk.as_ref().is_some_and(|walk| walk.is_closing);
        if !self.has_free_plan() || !(is_closing || self.is_allowed()) {
            return false;
        }
        let width = self.geometry.width;
        let Some(reading) = self.metadata.walk.as_mut().and_then(|walk| walk.reading.as_mut()) else {
            return false;
        };
        reading.is_under_way = true;
        let done = (reading.bytes.len() / self.members.page_bytes as usize) as u32;
        let count = (reading.run.pages - done).min(width);
        reading.wanted = count;
        self.spend(count);
        let plan = self.take_plan(RowNo::new(0), Purpose::Inspect);
        self.begin(plan, placement, driver);
        true
    }

    /// Builds the step that reads pages of metadata. Builds none if a page was tried and cannot be read.
    pub(crate) fn build_inspect(&mut self, plan: PlanId) -> Result<Built, TooManyLost> {
        let reading = self.metadata.walk.as_ref().and_then(|walk| walk.reading.as_ref());
        let Some(reading) = reading.filter(|_| self.plans[plan].lost == 0) else { return Ok(Built::Ready) };
        let done = (reading.bytes.len() / self.members.page_bytes as usize) as u32;
        let (member, first) = (reading.run.member, reading.run.first + done);
        if self.failed[member.index()] {
            return Ok(Built::Ready);
        }
        let count = reading.wanted;
        let (kind, class) = (OperationKind::Read, Class::Metadata);
        let operations = (0..count).map(|nth| {
            let (page, column) = (first + nth, nth as u8);
            Operation { page, member, kind, class, column, ..Operation::default() }
        });
        self.push_step(plan, operations);
        self.plans[plan].steps.acknowledge_here();
        Ok(Built::Ready)
    }

    /// Pages of metadata were read, or cannot be read.
    pub(crate) fn inspected<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let page_bytes = self.members.page_bytes as usize;
        let (lost, read) = (self.plans[plan].lost, u32::from(self.plans[plan].steps.operations));
        let mut pages = Vec::with_capacity(read as usize * page_bytes);
        for nth in 0..read {
            pages.extend_from_slice(
                &self.memory.bytes(self.buffer_of(self.first_operation(plan).after(nth), placement))
                    [..page_bytes],
            );
        }
        let Some(walk) = &mut self.metadata.walk else { return };
        let Some(mut reading) = walk.reading.take() else { return };
        reading.is_under_way = false;
        reading.is_unreadable |= lost != 0;
        reading.bytes.append(&mut pages);
        let place = self.location_of(reading.piece, placement);
        // A copy that was written again meanwhile is whole, and a failed member has nothing to verify.
        let is_moot = place != PieceLocation::At(reading.run);
        let is_whole = reading.bytes.len() == reading.run.pages as usize * page_bytes;
        let is_over = is_moot || is_whole || reading.is_unreadable || read == 0;
        let is_right =
            is_whole && !reading.is_unreadable && self.is_piece(reading.piece, &reading.bytes, placement);
        // This copy is being written, or others are and this one stays: that is known afterwards.
        let is_open = place == PieceLocation::Busy && !is_right && !self.has_bug(Bug::BusyCopyWhole);
        let is_bad = !is_moot && is_over && !is_right;
        let Some(walk) = &mut self.metadata.walk else { return };
        if !is_over {
            walk.reading = Some(reading);
            return;
        }
        match &mut walk.stage {
            Doing::Verify(nth) if is_open => *nth -= 1,
            _ if is_open => walk.next.nth -= 1,
            Doing::Verify(_) => self.metadata.found.repaired += u64::from(!is_bad),
            _ if is_bad => {
                walk.damaged.push(reading.piece);
                self.metadata.found.damaged += 1;
                // The copies of a member that is being rebuilt are being written.
                let is_joining = placement.superblock_of().is_some_and(|block| {
                    block.members[reading.run.member.index()].state == MemberState::Rebuilding
                });
                if reading.piece.kind == Kind::Superblock && !is_joining && !self.metadata.believes {
                    self.metadata.doubted |= reading.run.member.bit();
                }
                if !reading.is_unreadable && !is_joining {
                    driver.mismatched(reading.run.member, reading.run.first);
                }
            }
            _ => {}
        }
    }

    /// Requests the updates that repair the damaged copies of this round.
    fn begin_mending<P: Placement<M>>(&mut self, placement: &mut P) -> bool {
        let Some(walk) = &mut self.metadata.walk else { return false };
        if self.read_only {
            // The damaged copies are reported, and stay.
            walk.damaged.clear();
            return true;
        }
        let damaged = walk.damaged.clone();
        let mut wanted = Wanted::default();
        for piece in damaged {
            if piece.kind == Kind::Superblock {
                wanted.update = placement.superblock_on_members().map(|block| block.update);
            }
            placement.mend(piece, &mut wanted, self);
        }
        self.go_to(Doing::Mend(wanted));
        true
    }

    /// Starts to write superblocks again, if that is wanted and can be done. Returns false if there is nothing to start.
    fn begin_rewrite<P: Placement<M>>(&mut self, wanted: &Wanted, placement: &mut P) -> bool {
        let update = placement.superblock_on_members().map_or(0, |block| block.update);
        let is_written = wanted.update.is_none_or(|before| update > before);
        !is_written && !self.has_lost_data(placement) && placement.rewrite_superblocks(self)
    }

    /// Whether the updates that repair damaged copies are written, or cannot be written now.
    fn is_mended<P: Placement<M>>(&mut self, wanted: &Wanted, placement: &mut P) -> bool {
        if self.has_lost_data(placement) {
            // Nothing can be called durable any more.
            return true;
        }
        let update = placement.superblock_on_members().map_or(0, |block| block.update);
        let has_superblocks = wanted.update.is_none_or(|before| update > before);
        // The placement is asked in any case: it may have to make room.
        let has_others = placement.is_mended(wanted);
        has_superblocks && has_others
    }
}
