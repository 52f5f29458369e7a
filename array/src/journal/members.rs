//! The members of an array in place while it serves: what superblocks say of them, the member that is being made whole, and
//! walks over all rows.

use super::Work;
use crate::format::{MemberState, Superblock};
use crate::placement::elastic::ScrubCounts;

/// Plans of a walk that are under way at once.
const PLANS_OF_WALK: u32 = 4;

/// Rows of a walk between the first that is not over and the last that was begun: one bit of a word for each.
const ROWS_AHEAD: u64 = 64;

/// Rows after which superblocks are told how far rebuilding is. A loss of power has so many done again; an update of all
/// superblocks is four flushes and two pages a member beside them.
const ROWS_NOTED: u64 = 1024;

/// Rows that a rebuild goes past without having made them, where nothing but their being remembered tells them from those that it
/// made: with more of them it halts.
const ROWS_LOST: usize = 1024;

/// A walk over rows, which end in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// All rows before this one are over.
    pub(crate) cursor: u64,
    /// The next to be begun.
    next: u64,
    pub(crate) end: u64,
    /// Rows from the cursor on that are over, one bit each.
    over: u64,
    under_way: u32,
}

impl Rows {
    pub(crate) fn new(cursor: u64, end: u64) -> Self {
        Self { cursor, next: cursor, end, over: 0, under_way: 0 }
    }

    /// Whether another row may be begun.
    pub(crate) fn has_next(&self) -> bool {
        self.next < self.end && self.next < self.cursor + ROWS_AHEAD && self.under_way < PLANS_OF_WALK
    }

    /// Begins the next row.
    pub(crate) fn begin(&mut self) -> u64 {
        self.under_way += 1;
        self.next += 1;
        self.next - 1
    }

    /// `row`, which was begun, is over.
    pub(crate) fn done(&mut self, row: u64) {
        self.under_way -= 1;
        self.over |= 1 << (row - self.cursor);
        let over = self.over.trailing_ones();
        self.cursor += u64::from(over);
        self.over = self.over.checked_shr(over).unwrap_or(0);
    }

    /// Whether all rows are over.
    pub(crate) fn is_over(&self) -> bool {
        self.cursor == self.end
    }

    /// Begins no more rows.
    pub(crate) fn stop(&mut self) {
        self.end = self.next;
    }
}

/// A member that is being made whole, row by row: what it has of rows behind the cursor is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rebuild {
    pub(crate) member: u16,
    pub(crate) rows: Rows,
    /// Rows that superblocks know to be done.
    pub(crate) noted: u64,
    /// Whether what it has of a row is kept if it has the row's checksum.
    pub(crate) is_returned: bool,
    /// Records of the journal before this one are from when it was away, and older than what is made of it: nothing is made while
    /// they might be done again.
    pub(crate) behind: u64,
    /// Rows before the cursor that could not be made and that no checksum tells from those that were, ascending. They are not
    /// read either, and superblocks call no more rows done than those before the first.
    lost: Vec<u64>,
    /// Whether there are too many of them to go on.
    pub(crate) is_halted: bool,
    /// Whether it came across pages that are bad: a scrub is to follow, which repairs what can be.
    pub(crate) met_damage: bool,
    /// Rows that were done when all of the table of checksums was begun to be written last.
    pub(crate) tabling: u64,
    /// Rows that were done when it was begun that is on the members, with the copies that this one has of it.
    pub(crate) tabled: u64,
    /// Whether that was behind the last row.
    pub(crate) has_table: bool,
}

/// What superblocks are to tell of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It comes into the array, to be made whole.
    Comes { is_returned: bool },
    /// So many rows of it are made.
    Done(u64),
    /// It is whole.
    Whole,
    /// Of no member: the array is stopped cleanly.
    Stopped,
    /// Nothing of any member: a copy of what they tell already was damaged.
    Again,
}

/// The member of news that are of none.
pub(crate) const NOBODY: u16 = u16::MAX;

/// What has to be done, in this order, before the news is durable; each when all before it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The member that comes has no metadata of the past.
    Clear,
    /// What was written to the member is durable.
    Settle,
    Front,
    FlushFront,
    Back,
    FlushBack,
}

/// Superblocks that are being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    pub(crate) member: u16,
    pub(crate) news: News,
    pub(crate) stage: Stage,
    /// Operations of the stage that were begun.
    pub(crate) begun: u32,
    /// Members that were failed when the superblocks were made, one bit each.
    pub(crate) failed: u64,
}

/// Members, and what is made of them.
#[derive(Debug)]
pub(crate) struct Roster {
    /// The superblock as the members have it, or soon will; that of each differs in its number and identifier.
    pub(crate) superblock: Superblock,
    /// The last version of them that is on all members; none of an array that was not opened.
    pub(crate) on_members: Option<Superblock>,
    /// Of each member the first page of the superblock's back copy.
    pub(crate) back: Vec<u32>,
    /// The plan that writes superblocks.
    pub(crate) plan: u32,
    pub(crate) work: Work,
    pub(crate) telling: Option<Telling>,
    /// Whether superblocks are to tell of a clean stop.
    pub(crate) is_stopping: bool,
    pub(crate) rebuild: Option<Rebuild>,
    /// Rows that the last rebuild could not make and that have lost chunks of hosts, until a scrub finds nothing lost.
    pub(crate) unrecovered: u64,
    /// Plans of rebuilding under way, those for a member that failed since among them.
    pub(crate) rebuilding: u32,
    pub(crate) scrub: Option<Rows>,
    /// Whether another scrub is to follow the one that goes on.
    pub(crate) scrubs_again: bool,
    /// Rows of which a part could not be read and was written anew, and of which no checksum tells whether the rest is right:
    /// they are read once more.
    pub(crate) reread: Vec<u64>,
    pub(crate) scrubbed: ScrubCounts,
}

impl Rebuild {
    /// Whether the table should be on the members before anything else: superblocks are to tell of what is done, and it has the
    /// checksums of that.
    pub(crate) fn wants_table(&self) -> bool {
        let &Self { rows, noted, tabled, has_table, .. } = self;
        rows.is_over() && !has_table || rows.cursor >= noted + ROWS_NOTED && tabled < noted + ROWS_NOTED
    }

    /// The table is about to be written.
    pub(crate) fn begin_table(&mut self) {
        self.tabling = self.rows.cursor;
    }

    /// It is on the members.
    pub(crate) fn end_table(&mut self) {
        self.tabled = self.tabling;
        self.has_table = self.tabled == self.rows.end;
    }

    /// `row` could not be made, and no checksum will tell.
    pub(crate) fn give_up(&mut self, row: u64) {
        if self.lost.len() == ROWS_LOST {
            // It stays behind the cursor.
            self.is_halted = true;
            return;
        }
        let at = self.lost.partition_point(|&other| other < row);
        self.lost.insert(at, row);
        self.rows.done(row);
    }

    /// Whether it is over, but for rows that could not be made. The next opening, or scrub, tries those again.
    pub(crate) fn is_over(&self) -> bool {
        self.has_table && !self.lost.is_empty()
    }

    /// Begins again with the first row that could not be made.
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
        let pages = crate::format::superblock_pages(superblock.page_bytes);
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

    /// Begins to read everything of `rows` rows, now or behind the scrub that goes on.
    pub(crate) fn begin_scrub(&mut self, rows: u64) {
        self.scrubs_again = self.scrub.is_some();
        if !self.scrubs_again {
            self.scrub = Some(Rows::new(0, rows));
            self.scrubbed = ScrubCounts::default();
        }
    }

    /// The scrub of `rows` rows has come to its end, or was stopped.
    pub(crate) fn end_scrub(&mut self, rows: u64) {
        let is_complete = self.scrub.take().is_some_and(|scrub| scrub.end == rows);
        if std::mem::take(&mut self.scrubs_again) {
            self.begin_scrub(rows);
        } else if is_complete && self.scrubbed.lost == 0 && self.rebuild.is_none() {
            self.unrecovered = 0;
        }
    }

    /// Begins to make `member` whole from row `cursor` of `rows` on, when all records of the journal before `behind` are gone.
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

    /// The member that is being made whole, if what it has of `page`, counted from the first of the data, is not to be read.
    #[inline]
    pub(crate) fn stale_at(&self, page: u32) -> Option<u16> {
        let row = u64::from(page);
        let rebuild = self.rebuild.as_ref()?;
        let is_stale = row >= rebuild.rows.cursor || rebuild.lost.binary_search(&row).is_ok();
        is_stale.then_some(rebuild.member)
    }

    /// What superblocks should tell next, if anything.
    pub(crate) fn news(&self) -> Option<(u16, News)> {
        self.news_of_rebuild().or(self.is_stopping.then_some((NOBODY, News::Stopped)))
    }

    fn news_of_rebuild(&self) -> Option<(u16, News)> {
        let rebuild = self.rebuild.as_ref()?;
        let done = rebuild.lost.first().map_or(rebuild.tabled, |&lost| lost.min(rebuild.tabled));
        if done == rebuild.rows.end && rebuild.has_table {
            return Some((rebuild.member, News::Whole));
        }
        (done >= rebuild.noted + ROWS_NOTED).then_some((rebuild.member, News::Done(done)))
    }

    /// Begins an update of the superblocks; members of `failed`, a mask, take no part.
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
