//! The members of an array in place while it serves: their records in the superblocks, the member that is being rebuilt,
//! and walks over all rows.

use std::collections::VecDeque;

use super::{Replay, Ring, Work};
use crate::membership::{self, Membership, Part};
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_format::Superblock;

/// The number of plans of a walk in flight at once.
const PLANS_OF_WALK: u32 = 4;

/// The largest distance between the first unfinished row of a walk and the last row begun: one bit of a word for each.
const ROWS_AHEAD: u64 = 64;

/// The number of rows after which superblocks record the progress of a rebuild. A power loss repeats up to this number of
/// rows; an update of all superblocks costs four flushes and two pages per member.
const ROWS_NOTED: u64 = 1024;

/// The largest number of rows that a rebuild skips because it could not recompute them. Where no checksum distinguishes
/// them from rebuilt rows, they must be remembered; with more of them, the rebuild halts.
const ROWS_LOST: usize = 1024;

/// A walk over rows, which finish in any order: over those of the array, or, for a rebuild, over the rows of one group, which
/// are the pages of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// All rows before this one are finished.
    pub(crate) cursor: u64,
    /// The next row to begin.
    next: u64,
    pub(crate) end: u64,
    /// Finished rows from the cursor on, one bit each.
    over: u64,
    under_way: u32,
}

impl Rows {
    pub(crate) fn new(cursor: u64, end: u64) -> Self {
        Self { cursor, next: cursor, end, over: 0, under_way: 0 }
    }

    /// Whether another row may begin.
    pub(crate) fn has_next(&self) -> bool {
        self.next < self.end && self.next < self.cursor + ROWS_AHEAD && self.under_way < PLANS_OF_WALK
    }

    /// Begins the next row.
    pub(crate) fn begin(&mut self) -> u64 {
        self.under_way += 1;
        self.next += 1;
        self.next - 1
    }

    /// `row`, which was begun, is finished.
    pub(crate) fn finish(&mut self, row: u64) {
        self.under_way -= 1;
        self.over |= 1 << (row - self.cursor);
        let over = self.over.trailing_ones();
        self.cursor += u64::from(over);
        self.over = self.over.checked_shr(over).unwrap_or(0);
    }

    /// Whether all rows are finished.
    pub(crate) fn is_over(&self) -> bool {
        self.cursor == self.end
    }

    /// Number of finished rows.
    pub(crate) fn done(&self) -> u64 {
        self.cursor
    }

    /// Begins no more rows.
    pub(crate) fn stop(&mut self) {
        self.end = self.next;
    }
}

/// A member in place that is being rebuilt, row by row. Its rows at or after the cursor are not read.
pub(crate) type Rebuild = membership::Rebuild<RowsOfMember>;

/// What the rebuild of a member in place tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowsOfMember {
    pub(crate) rows: Rows,
    /// The number of the walk over rows, which its plans have too.
    pub(crate) turn: u32,
    /// Whether the member's content of a row is kept if it matches the row's checksum.
    pub(crate) is_returned: bool,
    /// Records of the journal before this number are from the time when the member was away, and older than the rebuilt
    /// content. No row is rebuilt while these records might be replayed.
    pub(crate) behind: u64,
    /// Rows before the cursor that could not be rebuilt and that no checksum distinguishes from rebuilt rows, ascending.
    /// They are not read either, and superblocks record no more finished rows than the rows before the first of them.
    lost: Vec<u64>,
    /// Whether there are too many of them to continue.
    pub(crate) is_full: bool,
    /// The number of finished rows when the last write of the whole table of checksums began.
    pub(crate) tabling: u64,
    /// The number of finished rows when the last completed write of the table began; this member has its copies of that
    /// table.
    pub(crate) tabled: u64,
    /// Whether that write began after the last row.
    pub(crate) has_table: bool,
    copies: Copies,
}

/// A member that failed when its group was beyond parity: nothing was written without it since, neither rows nor metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unchanged {
    /// The version of the superblocks at that time.
    pub(crate) update: u64,
    /// Whether it has everything that records of the journal say.
    pub(crate) is_replayed: bool,
}

/// The copies of the table and of records from before a member joined, on that member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    /// Those of the table are to be written.
    Absent,
    BeingWritten,
    /// The member has those of the table; records of that time may not be freed yet.
    Written,
    /// The member has all of them.
    Kept,
}

/// An event about a member that the superblocks must record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberEvent {
    /// The member joins the array and will be rebuilt.
    Comes { is_returned: bool },
    /// This number of its rows are rebuilt.
    Done(u64),
    /// The member is completely rebuilt.
    Whole,
    /// No member: a scrub ended. What it repaired is made durable, and whether it verified all active members.
    Scrubbed,
    /// No member: the array is stopped cleanly.
    Stopped,
    /// No member: a damaged copy of the superblocks is rewritten unchanged.
    Again,
}

/// The member of an event that concerns no member.
pub(crate) const NO_MEMBER: MemberNo = MemberNo::NONE;

/// The steps, in this order, before an event is durable. Each begins when all earlier steps are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The joining member's old metadata is cleared.
    Clear,
    /// The journal is replayed on the joining member, if it returns unchanged.
    Replay,
    /// Members that may have no back copy get one: their front copy is about to be overwritten.
    Mend,
    /// Everything written to the joining member is made durable, and so are the back copies that others got.
    FlushData,
    Front,
    FlushFront,
    Back,
    FlushBack,
}

/// An update of the superblocks in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuperblockUpdate {
    pub(crate) member: MemberNo,
    pub(crate) event: MemberEvent,
    pub(crate) stage: Stage,
    /// The members that the stage writes or flushes, one bit each. They stay while it lasts: `begun` counts over them.
    pub(crate) targets: u64,
    /// The number of operations of the stage that were begun, or left out because their member is gone.
    pub(crate) begun: u32,
    /// Members that were failed when the superblocks were built, one bit each, without those that stay.
    pub(crate) failed: u64,
    /// The same with those that stay: see [`Roster::to_record`].
    pub(crate) out: u64,
    /// Members that failed since then, even if they are back. Their front copies may be torn, so they get no back copy of this
    /// version; and if not all front copies are durable yet, another version takes its place.
    pub(crate) gone: u64,
}

impl SuperblockUpdate {
    /// The member that the event is about, as a mask.
    pub(crate) fn joins(&self) -> u64 {
        if self.member == NO_MEMBER { 0 } else { self.member.bit() }
    }
}

/// The members and their state.
#[derive(Debug)]
pub(crate) struct Roster {
    pub(crate) members: Membership<Rows, RowsOfMember>,
    /// The plan that writes superblocks.
    pub(crate) plan: PlanId,
    pub(crate) work: Work,
    pub(crate) writing: Option<SuperblockUpdate>,
    /// The version of the superblocks that is being written, or was written last: all copies of a version are equal, so what
    /// happens meanwhile is in the next one.
    pub(crate) recorded: Superblock,
    /// For each member that failed: whether its group was beyond parity.
    pub(crate) unchanged: Vec<Option<Unchanged>>,
    /// The replay of the journal on a member that returns.
    pub(crate) replay: Option<Replay>,
    /// Members that are to join, and whether each is the member that was there before, in the order of their arrival.
    pub(crate) joining: VecDeque<(MemberNo, bool)>,
    /// Whether superblocks must record a clean stop.
    pub(crate) is_stopping: bool,
    /// Whether a scrub verified everything, and superblocks do not record it yet.
    pub(crate) is_verified: bool,
    /// Whether a scrub repaired something that may not be durable yet: with a redo journal the hosts' flushes do not flush the
    /// members.
    pub(crate) has_repaired: bool,
    /// Whether reads repaired something since: a scrub reads it from the member's cache, and finds nothing to repair.
    pub(crate) has_healed: bool,
    /// Number of walks over rows that rebuild a member.
    turn: u32,
    /// Plans of rebuilding in flight, including plans for a member that has failed since.
    pub(crate) rebuilding: u32,
    /// Rows of which a part could not be read and was rewritten, and whose other parts no checksum verifies: they are read
    /// once more.
    pub(crate) reread: Vec<RowNo>,
}

impl Rebuild {
    /// Whether the table must be written to the members first: the superblocks are about to record finished rows, whose
    /// checksums are in the table.
    pub(crate) fn wants_table(&self) -> bool {
        let (noted, &RowsOfMember { rows, tabled, has_table, .. }) = (self.noted, &self.part);
        rows.is_over() && !has_table || rows.cursor >= noted + ROWS_NOTED && tabled < noted + ROWS_NOTED
    }
}

impl Part for RowsOfMember {
    fn is_lacking(&self) -> bool {
        !self.rows.is_over() || !self.lost.is_empty()
    }
}

impl RowsOfMember {
    /// Whether rows, or their table, are left to write.
    pub(crate) fn is_due(&self) -> bool {
        !(self.is_full || self.rows.is_over() && self.has_table)
    }

    /// A write of the table is about to begin.
    pub(crate) fn begin_table(&mut self) {
        self.tabling = self.rows.cursor;
        if self.copies == Copies::Absent {
            self.copies = Copies::BeingWritten;
        }
    }

    /// The table is on the members.
    pub(crate) fn end_table(&mut self) {
        self.tabled = self.tabling;
        self.has_table = self.tabled == self.rows.end;
        if self.copies == Copies::BeingWritten {
            self.copies = Copies::Written;
        }
    }

    /// Whether the member may lack copies of metadata that others have: of the table, or of records in `ring` from before it
    /// joined.
    fn lacks_metadata(&self, ring: &Ring) -> bool {
        match self.copies {
            Copies::Absent | Copies::BeingWritten => true,
            Copies::Written => ring.has_before(self.behind),
            Copies::Kept => false,
        }
    }

    /// Whether the member lacks rows, or may lack copies of metadata.
    pub(crate) fn lacks_anything(&self, ring: Option<&Ring>) -> bool {
        self.is_lacking() || ring.is_some_and(|ring| self.lacks_metadata(ring))
    }

    /// Whether the member's content of `page` must not be read.
    fn is_stale(&self, page: u64) -> bool {
        page >= self.rows.cursor || self.lost.binary_search(&page).is_ok()
    }

    /// The member's `page` could not be rebuilt, and no checksum shows it.
    pub(crate) fn abandon(&mut self, page: u64) {
        if self.lost.len() == ROWS_LOST {
            // The row stays at or after the cursor.
            self.is_full = true;
            return;
        }
        let at = self.lost.partition_point(|&other| other < page);
        self.lost.insert(at, page);
        self.rows.finish(page);
    }

    /// Whether the rebuild is finished except for rows that could not be rebuilt. The next assembly, or a scrub, tries
    /// those again.
    pub(crate) fn is_over(&self) -> bool {
        self.has_table && !self.lost.is_empty()
    }

    /// Starts again at the first row that could not be rebuilt.
    pub(crate) fn try_again(&mut self) {
        if let Some(&first) = self.lost.first() {
            self.rows = Rows::new(first, self.rows.end);
            (self.tabling, self.tabled, self.has_table) = (first, first, false);
            self.lost.clear();
        }
    }
}

impl Roster {
    /// All members of a new array; its plan has the number `plan`.
    pub(crate) fn new(superblock: Superblock, plan: PlanId) -> Self {
        Self {
            unchanged: vec![None; superblock.members.len()],
            recorded: superblock.clone(),
            members: Membership::new(superblock),
            plan,
            work: Work::default(),
            writing: None,
            replay: None,
            joining: VecDeque::new(),
            is_stopping: false,
            is_verified: false,
            has_repaired: false,
            has_healed: false,
            turn: 0,
            rebuilding: 0,
            reread: Vec::new(),
        }
    }

    /// The scrub of `rows` rows has ended or was stopped. Returns whether it verified everything.
    pub(crate) fn end_scrub(&mut self, rows: u64) -> bool {
        self.has_repaired |= std::mem::take(&mut self.has_healed) || self.members.scrub.counts.repaired > 0;
        let is_complete = self.members.scrub.walk.is_some_and(|scrub| scrub.end == rows);
        let is_verified = self.members.end_scrub(is_complete, 0, Rows::new(0, rows));
        self.is_verified |= is_verified && self.members.superblock.in_doubt() != 0;
        is_verified
    }

    /// Begins to rebuild `member` from row `cursor` of `rows`; it waits until all records of the journal before `behind`
    /// are gone. At assembly (`behind` is 0) it got its copies of all metadata.
    pub(crate) fn begin_rebuild(
        &mut self,
        member: MemberNo,
        (cursor, rows): (u64, u64),
        is_returned: bool,
        behind: u64,
    ) {
        if self.members.rebuilds.is_empty() {
            self.members.unrecovered = 0;
        }
        let has_copies = self.unchanged[member.index()].take().is_some();
        let part = RowsOfMember {
            rows: Rows::new(cursor, rows),
            turn: self.next_turn(),
            is_returned,
            behind,
            lost: Vec::new(),
            is_full: false,
            tabling: cursor,
            tabled: cursor,
            has_table: false,
            copies: if behind == 0 || has_copies { Copies::Kept } else { Copies::Absent },
        };
        self.members.begin_rebuild(Rebuild::new(member, cursor, part));
    }

    /// The members that are being rebuilt whose content of `page`, counted from the first page of the data, must not be read.
    #[inline]
    pub(crate) fn stale_at(&self, page: u32) -> impl Iterator<Item = MemberNo> {
        let row = u64::from(page);
        let rebuilds = self.members.rebuilds.iter();
        rebuilds.filter(move |rebuild| rebuild.part.is_stale(row)).map(|rebuild| rebuild.member)
    }

    /// The members of `group` that are being rebuilt, and that lack rows, or may lack copies of metadata that others have.
    pub(crate) fn lacking<M: Memory>(&self, group: u32, ring: Option<&Ring>, exec: &Executor<M>) -> u32 {
        let has_rows = exec.has_bug(Bug::RebuildNotHalted);
        let lacks = |its: &&Rebuild| {
            let is_its = exec.geometry().group_of(its.member) == group;
            is_its && !has_rows && its.part.lacks_anything(ring)
        };
        self.members.rebuilds.iter().filter(lacks).count() as u32
    }

    /// Whether `member` failed when its group was beyond parity, so that nothing was written without it.
    pub(crate) fn is_unchanged(&self, member: MemberNo) -> bool {
        self.unchanged[member.index()].is_some()
    }

    /// Whether it has all rows, with what records of the journal say of them.
    pub(crate) fn is_whole_on_return(&self, member: MemberNo) -> bool {
        self.unchanged[member.index()].is_some_and(|its| its.is_replayed)
    }

    /// A member is back, and `group` is no longer beyond parity: from now on rows and metadata are written without the others.
    pub(crate) fn forget_unchanged<M: Memory>(&mut self, group: u32, exec: &Executor<M>) {
        exec.geometry().group(group).for_each(|member| self.unchanged[member.index()] = None);
    }

    fn next_turn(&mut self) -> u32 {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }

    /// Halts the rebuilds that cannot continue since a member failed. Plans that they began do not count: they may lack only
    /// what that member has.
    pub(crate) fn halt_rebuilds<M: Memory>(&mut self, exec: &Executor<M>) {
        for at in 0..self.members.rebuilds.len() {
            let member = self.members.rebuilds[at].member;
            if self.members.halted_by(member, exec).is_some() {
                let turn = self.next_turn();
                let part = &mut self.members.rebuilds[at].part;
                (part.rows, part.turn) = (Rows::new(part.rows.cursor, part.rows.end), turn);
            }
        }
    }

    /// The members that are to join, the first one first, and whether each is the member that was there before.
    pub(crate) fn coming(&self) -> impl Iterator<Item = (MemberNo, bool)> {
        let recorded = self.writing.and_then(|writing| match writing.event {
            MemberEvent::Comes { is_returned } => Some((writing.member, is_returned)),
            _ => None,
        });
        recorded.into_iter().chain(self.joining.iter().copied())
    }

    /// Of the members in the mask `failed`, those that the next version of the superblocks must record. A member that returns
    /// and of which nothing changed takes part in it instead: a version that calls it failed would be needed by none, and
    /// after a loss of power the array would lack it, besides those that metadata calls missing.
    pub(crate) fn to_record<M: Memory>(&self, failed: u64, exec: &Executor<M>) -> u64 {
        let stays = |&(member, is_returned): &(MemberNo, bool)| is_returned && self.is_unchanged(member);
        let staying =
            self.joining.iter().copied().filter(stays).fold(0, |mask, (member, _)| mask | member.bit());
        if exec.has_bug(Bug::ReturningCalledFailed) { failed } else { failed & !staying }
    }

    /// The next event that the superblocks must record, if any.
    pub(crate) fn event(&self) -> Option<(MemberNo, MemberEvent)> {
        let is_scrubbed = self.is_verified || self.has_repaired;
        let scrubbed = is_scrubbed.then_some((NO_MEMBER, MemberEvent::Scrubbed));
        self.event_of_rebuild().or(scrubbed).or(self.is_stopping.then_some((NO_MEMBER, MemberEvent::Stopped)))
    }

    /// Whether repairs of a scrub are not durable yet.
    pub(crate) fn keeps_repairs(&self) -> bool {
        self.has_repaired || self.writing.is_some_and(|writing| writing.event == MemberEvent::Scrubbed)
    }

    fn event_of_rebuild(&self) -> Option<(MemberNo, MemberEvent)> {
        self.members.rebuilds.iter().find_map(|rebuild| {
            let RowsOfMember { rows, lost, tabled, has_table, .. } = &rebuild.part;
            let done = lost.first().map_or(*tabled, |lost| *lost.min(tabled));
            if done == rows.end && *has_table {
                return Some((rebuild.member, MemberEvent::Whole));
            }
            (done >= rebuild.noted + ROWS_NOTED).then_some((rebuild.member, MemberEvent::Done(done)))
        })
    }

    /// Begins an update of the superblocks. The members in the mask `failed` take no part.
    pub(crate) fn begin_update<M: Memory>(
        &mut self,
        member: MemberNo,
        event: MemberEvent,
        failed: u64,
        exec: &mut Executor<M>,
    ) {
        if std::mem::take(&mut self.is_verified) {
            self.members.superblock.verify();
        }
        self.members.superblock.update += 1;
        self.members.record_scrub();
        self.members.superblock.is_clean =
            event == MemberEvent::Stopped && self.members.superblock.version > 1;
        match event {
            MemberEvent::Comes { .. } => {
                self.members.record_joining(member, 0, exec.reason_of(member));
                if self.is_whole_on_return(member) && !exec.has_bug(Bug::UnchangedRowsForgotten) {
                    self.members.record_progress(member, exec.rows_of_group());
                }
                exec.trust(member.bit());
            }
            MemberEvent::Done(rows) => self.members.record_progress(member, rows),
            MemberEvent::Whole => {
                let is_good = self.members.rebuild_of(member).is_none_or(|rebuild| rebuild.is_good());
                let is_missing = !is_good || self.members.unrecovered > 0;
                self.members.record_active(member, is_missing && !exec.has_bug(Bug::LeftOutForgotten));
            }
            MemberEvent::Scrubbed | MemberEvent::Stopped | MemberEvent::Again => {}
        }
        let besides = if member == NO_MEMBER { 0 } else { member.bit() };
        self.members.record_failed(failed & !besides, 0, |member| exec.reason_of(member));
        self.members.superblock.doubt(exec.doubted());
        self.recorded.clone_from(&self.members.superblock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cursor_of_a_walk_is_behind_the_first_row_that_is_not_over(
            end in 0..200u64,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 400),
        ) {
            let mut rows = Rows::new(0, end);
            let (mut begun, mut over) = (Vec::new(), std::collections::BTreeSet::new());
            for pick in picks {
                if rows.has_next() {
                    begun.push(rows.begin());
                } else if !begun.is_empty() {
                    let row = begun.swap_remove(pick.index(begun.len()));
                    rows.finish(row);
                    over.insert(row);
                }
                prop_assert!(begun.len() <= PLANS_OF_WALK as usize);
                prop_assert_eq!((0..end).find(|row| !over.contains(row)).unwrap_or(end), rows.cursor);
            }
            prop_assert!(rows.is_over());
        }
    }

    #[test]
    fn a_word_of_rows_that_end_from_the_last_one_on() {
        let mut rows = Rows::new(10, 1000);
        let first = rows.begin();
        for row in 11..10 + ROWS_AHEAD {
            assert!(rows.has_next());
            assert_eq!(rows.begin(), row);
            rows.finish(row);
            assert_eq!(rows.cursor, 10);
        }
        assert!(!rows.has_next(), "the first one is {ROWS_AHEAD} rows behind");
        rows.finish(first);
        assert_eq!(rows.cursor, 10 + ROWS_AHEAD);
    }
}
