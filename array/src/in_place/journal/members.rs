//! The members of an array in place while it serves: their records in the superblocks, the member that is being rebuilt,
//! and walks over all rows.

use super::Work;
use stripewise_core::format::{MemberState, Superblock};
use stripewise_exec::metadata_scrub::ScrubCounts;

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

/// A walk over rows, which finish in any order.
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
    pub(crate) fn done(&mut self, row: u64) {
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

    /// Begins no more rows.
    pub(crate) fn stop(&mut self) {
        self.end = self.next;
    }
}

/// A member that is being rebuilt, row by row. Its rows at or after the cursor are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild {
    pub(crate) member: u16,
    pub(crate) rows: Rows,
    /// The number of finished rows that the superblocks record.
    pub(crate) noted: u64,
    /// Whether the member's content of a row is kept if it matches the row's checksum.
    pub(crate) is_returned: bool,
    /// Records of the journal before this number are from the time when the member was away, and older than the rebuilt
    /// content. No row is rebuilt while these records might be replayed.
    pub(crate) behind: u64,
    /// Rows before the cursor that could not be rebuilt and that no checksum distinguishes from rebuilt rows, ascending.
    /// They are not read either, and superblocks record no more finished rows than the rows before the first of them.
    lost: Vec<u64>,
    /// Whether there are too many of them to continue.
    pub(crate) is_halted: bool,
    /// Whether the rebuild found bad pages: a scrub follows, which repairs the pages that can be repaired.
    pub(crate) met_damage: bool,
    /// The number of finished rows when the last write of the whole table of checksums began.
    pub(crate) tabling: u64,
    /// The number of finished rows when the last completed write of the table began; this member has its copies of that
    /// table.
    pub(crate) tabled: u64,
    /// Whether that write began after the last row.
    pub(crate) has_table: bool,
}

/// An event about a member that the superblocks must record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The member joins the array and will be rebuilt.
    Comes { is_returned: bool },
    /// This number of its rows are rebuilt.
    Done(u64),
    /// The member is completely rebuilt.
    Whole,
    /// No member: the array is stopped cleanly.
    Stopped,
    /// No member: a damaged copy of the superblocks is rewritten unchanged.
    Again,
}

/// The member of an event that concerns no member.
pub(crate) const NO_MEMBER: u16 = u16::MAX;

/// The steps, in this order, before an event is durable. Each begins when all earlier steps are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The joining member's old metadata is cleared.
    Clear,
    /// Everything written to the member is made durable.
    FlushData,
    Front,
    FlushFront,
    Back,
    FlushBack,
}

/// An update of the superblocks in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    pub(crate) member: u16,
    pub(crate) news: News,
    pub(crate) stage: Stage,
    /// The number of operations of the stage that were begun.
    pub(crate) begun: u32,
    /// Members that were failed when the superblocks were built, one bit each.
    pub(crate) failed: u64,
}

/// The members and their state.
#[derive(Debug)]
pub(crate) struct Roster {
    /// The superblock that is on the members or is being written to them; each member's copy differs in number and
    /// identifier.
    pub(crate) superblock: Superblock,
    /// The last version that is on all members; `None` for an array that was not assembled.
    pub(crate) on_members: Option<Superblock>,
    /// For each member, the first page of the back copy of its superblock.
    pub(crate) back: Vec<u32>,
    /// The plan that writes superblocks.
    pub(crate) plan: u32,
    pub(crate) work: Work,
    pub(crate) telling: Option<Telling>,
    /// Whether superblocks must record a clean stop.
    pub(crate) is_stopping: bool,
    pub(crate) rebuild: Option<Rebuild>,
    /// Rows with lost chunks of hosts that the last rebuild could not recompute; kept until a scrub finds no loss.
    pub(crate) unrecovered: u64,
    /// Plans of rebuilding in flight, including plans for a member that has failed since.
    pub(crate) rebuilding: u32,
    pub(crate) scrub: Option<Rows>,
    /// Whether another scrub follows the current one.
    pub(crate) scrubs_again: bool,
    /// Rows of which a part could not be read and was rewritten, and whose other parts no checksum verifies: they are read
    /// once more.
    pub(crate) reread: Vec<u64>,
    pub(crate) scrubbed: ScrubCounts,
}

impl Rebuild {
    /// Whether the table must be written to the members first: the superblocks are about to record finished rows, whose
    /// checksums are in the table.
    pub(crate) fn wants_table(&self) -> bool {
        let &Self { rows, noted, tabled, has_table, .. } = self;
        rows.is_over() && !has_table || rows.cursor >= noted + ROWS_NOTED && tabled < noted + ROWS_NOTED
    }

    /// A write of the table is about to begin.
    pub(crate) fn begin_table(&mut self) {
        self.tabling = self.rows.cursor;
    }

    /// The table is on the members.
    pub(crate) fn end_table(&mut self) {
        self.tabled = self.tabling;
        self.has_table = self.tabled == self.rows.end;
    }

    /// `row` could not be rebuilt, and no checksum shows it.
    pub(crate) fn give_up(&mut self, row: u64) {
        if self.lost.len() == ROWS_LOST {
            // The row stays at or after the cursor.
            self.is_halted = true;
            return;
        }
        let at = self.lost.partition_point(|&other| other < row);
        self.lost.insert(at, row);
        self.rows.done(row);
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
    pub(crate) fn new(superblock: Superblock, plan: u32) -> Self {
        let pages = stripewise_core::format::superblock_pages(superblock.page_bytes);
        Self {
            back: vec![superblock.pages - pages; superblock.members.len()],
            superblock,
            on_members: None,
            plan,
            work: Work::default(),
            telling: None,
            is_stopping: false,
            rebuild: None,
            unrecovered: 0,
            rebuilding: 0,
            scrub: None,
            scrubs_again: false,
            reread: Vec::new(),
            scrubbed: ScrubCounts::default(),
        }
    }

    /// Begins a scrub of all `rows` rows, now or after the current scrub.
    pub(crate) fn begin_scrub(&mut self, rows: u64) {
        self.scrubs_again = self.scrub.is_some();
        if !self.scrubs_again {
            self.scrub = Some(Rows::new(0, rows));
            self.scrubbed = ScrubCounts::default();
        }
    }

    /// The scrub of `rows` rows has ended or was stopped.
    pub(crate) fn end_scrub(&mut self, rows: u64) {
        let is_complete = self.scrub.take().is_some_and(|scrub| scrub.end == rows);
        if std::mem::take(&mut self.scrubs_again) {
            self.begin_scrub(rows);
        } else if is_complete && self.scrubbed.lost == 0 && self.rebuild.is_none() {
            self.unrecovered = 0;
        }
    }

    /// Begins to rebuild `member` from row `cursor` of `rows`; it waits until all records of the journal before `behind`
    /// are gone.
    pub(crate) fn begin_rebuild(
        &mut self,
        member: u16,
        (cursor, rows): (u64, u64),
        is_returned: bool,
        behind: u64,
    ) {
        self.unrecovered = 0;
        self.rebuild = Some(Rebuild {
            member,
            rows: Rows::new(cursor, rows),
            noted: cursor,
            is_returned,
            behind,
            lost: Vec::new(),
            is_halted: false,
            met_damage: false,
            tabling: cursor,
            tabled: cursor,
            has_table: false,
        });
    }

    /// The member that is being rebuilt, if its content of `page`, counted from the first page of the data, must not be
    /// read.
    #[inline]
    pub(crate) fn stale_at(&self, page: u32) -> Option<u16> {
        let row = u64::from(page);
        let rebuild = self.rebuild.as_ref()?;
        let is_stale = row >= rebuild.rows.cursor || rebuild.lost.binary_search(&row).is_ok();
        is_stale.then_some(rebuild.member)
    }

    /// The next event that the superblocks must record, if any.
    pub(crate) fn news(&self) -> Option<(u16, News)> {
        self.news_of_rebuild().or(self.is_stopping.then_some((NO_MEMBER, News::Stopped)))
    }

    fn news_of_rebuild(&self) -> Option<(u16, News)> {
        let rebuild = self.rebuild.as_ref()?;
        let done = rebuild.lost.first().map_or(rebuild.tabled, |&lost| lost.min(rebuild.tabled));
        if done == rebuild.rows.end && rebuild.has_table {
            return Some((rebuild.member, News::Whole));
        }
        (done >= rebuild.noted + ROWS_NOTED).then_some((rebuild.member, News::Done(done)))
    }

    /// Begins an update of the superblocks. The members in the mask `failed` take no part.
    pub(crate) fn begin_update(&mut self, member: u16, news: News, failed: u64) {
        let epoch = self.superblock.epoch;
        self.superblock.update += 1;
        self.superblock.is_clean = news == News::Stopped && self.superblock.version > 1;
        for (number, record) in self.superblock.members.iter_mut().enumerate() {
            if number == usize::from(member) {
                match news {
                    News::Comes { .. } => (record.state, record.cursor) = (MemberState::Rebuilding, 0),
                    News::Done(rows) => record.cursor = rows,
                    News::Stopped | News::Again => {}
                    News::Whole => {
                        record.state = MemberState::Active;
                        (record.cursor, record.failed_epoch, record.failed_batch) = (0, 0, 0);
                    }
                }
            } else if failed >> number & 1 != 0 {
                record.fail(epoch, 0);
            }
        }
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
                    rows.done(row);
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
            rows.done(row);
            assert_eq!(rows.cursor, 10);
        }
        assert!(!rows.has_next(), "the first one is {ROWS_AHEAD} rows behind");
        rows.done(first);
        assert_eq!(rows.cursor, 10 + ROWS_AHEAD);
    }
}
