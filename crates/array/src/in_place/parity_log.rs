//! Parity logging: an update that covers part of a row leaves its parity as it is and appends the change of parity, the
//! *delta*, to a log. Committing the row adds the deltas to its parity.
//!
//! There is one log member for each parity chunk of a stripe. Delta `k` of an update goes to log member `k`, and all deltas of
//! one update go to the same page of their members: a *slot* of a ring. The parity that covers a row's data is the parity in
//! place plus (exclusive or, since every code here is linear) its deltas.
//!
//! Source: Stodolsky, Gibson and Holland, "Parity logging", ISCA 1993; paper 001, sections II-A and V-F, where a dedicated
//! member holds the log and updates of whole rows bypass it.

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_scheme::placement::{Commit, ParityLoggingSection};

/// A slot that holds no current delta.
const VACANT: u32 = u32::MAX;
/// A slot that an update in progress writes.
const PENDING: u32 = u32::MAX - 1;
/// The end of a row's list of slots.
const END: u32 = u32::MAX;

/// The locations of the deltas of each row, and which chunks were ever written.
#[derive(Debug)]
pub(crate) struct ParityLog {
    data: u32,
    /// The first log member; the others follow it, one for each parity chunk.
    first_member: MemberNo,
    row_deltas: u32,
    /// For each slot its row, or [`VACANT`], or [`PENDING`].
    rows: Vec<u32>,
    /// For each slot of a row the next older one of the same row.
    older: Vec<u32>,
    /// For each row its newest slot.
    newest: Vec<u32>,
    /// For each row the number of its deltas.
    counts: Vec<u8>,
    /// A bit for each row that is being committed in the background, or is about to be.
    due: Vec<u64>,
    /// A bit for each data chunk of each row that may hold anything but zeros.
    written: Vec<u64>,
    /// The ring's oldest slot in use, the next slot to commit, and the next slot to take, all counted from the first slot ever
    /// taken. A slot is in use until all older slots are vacant too.
    head: u64,
    next_commit: u64,
    tail: u64,
    /// More than `high` slots in use start commits; at `low` they stop.
    high: u64,
    low: u64,
    is_committing: bool,
    commits: u32,
    commits_max: u32,
    /// A bit for each log member that is lost.
    lost: u64,
    /// Whether the whole log is being committed, including all later deltas.
    pub(crate) settling: bool,
}

impl ParityLog {
    /// An empty log of `slots` slots (at least one) after the members of `geometry`.
    pub(crate) fn new(geometry: &Geometry, slots: u32, section: &ParityLoggingSection) -> Self {
        let rows = geometry.rows() as usize;
        let chunks = geometry.pages() as usize;
        let most = u64::from(slots) - 1;
        let (high, low) = match section.commit {
            Commit::Watermark => (
                section.high_watermark.of(slots.into()).min(most),
                section.low_watermark.of(slots.into()).min(most),
            ),
            Commit::Never => (most, most),
        };
        Self {
            data: geometry.data,
            first_member: MemberNo::at(geometry.members as usize),
            row_deltas: section.row_deltas,
            rows: vec![VACANT; slots as usize],
            older: vec![END; slots as usize],
            newest: vec![END; rows],
            counts: vec![0; rows],
            due: vec![0; rows.div_ceil(64)],
            // A row's bits may end in the word after the one where they begin.
            written: vec![0; chunks.div_ceil(64) + 1],
            head: 0,
            next_commit: 0,
            tail: 0,
            high,
            low,
            is_committing: false,
            commits: 0,
            commits_max: section.commits,
            lost: 0,
            settling: false,
        }
    }

    /// The member that holds the deltas of the parity chunk with this number.
    #[inline]
    pub(crate) fn member(&self, parity: u32) -> MemberNo {
        self.first_member.after(parity)
    }

    fn slots(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Slots in use, including vacant slots between them.
    pub(crate) fn taken(&self) -> u64 {
        self.tail - self.head
    }

    /// Number of deltas of `row`.
    #[inline]
    pub(crate) fn count(&self, row: RowNo) -> u32 {
        u32::from(self.counts[row.index()])
    }

    /// The slots of `row`, from the newest on.
    pub(crate) fn slots_of(&self, row: RowNo) -> impl Iterator<Item = u32> + '_ {
        let link = |slot: u32| (slot != END).then_some(slot);
        std::iter::successors(link(self.newest[row.index()]), move |&slot| link(self.older[slot as usize]))
    }

    /// The slot after another one, which has the wrong delta: for a planted bug.
    pub(crate) fn slot_behind(&self, slot: u32) -> u32 {
        (slot + 1) % self.rows.len() as u32
    }

    /// Whether an update of `row` can be logged.
    #[inline]
    pub(crate) fn has_room(&self, row: RowNo) -> bool {
        self.lost == 0 && self.count(row) < self.row_deltas && self.taken() < self.slots()
    }

    /// Takes the next slot for an update that is about to write it; there must be room.
    pub(crate) fn take(&mut self) -> u32 {
        debug_assert!(self.taken() < self.slots());
        let slot = self.tail % self.slots();
        self.tail += 1;
        debug_assert_eq!(self.rows[slot as usize], VACANT);
        self.rows[slot as usize] = PENDING;
        self.is_committing |= self.taken() > self.high;
        slot as u32
    }

    /// Returns a slot that was taken: its update does not use it.
    pub(crate) fn give_back(&mut self, slot: u32) {
        debug_assert_eq!(self.rows[slot as usize], PENDING);
        self.rows[slot as usize] = VACANT;
        self.free_oldest();
    }

    /// Adds a slot that was taken to `row`: it has the newest deltas.
    pub(crate) fn join(&mut self, slot: u32, row: RowNo) {
        debug_assert_eq!(self.rows[slot as usize], PENDING);
        self.rows[slot as usize] = row.number() as u32;
        self.older[slot as usize] = std::mem::replace(&mut self.newest[row.index()], slot);
        self.counts[row.index()] += 1;
    }

    /// Discards the deltas of `row`: its parity includes them, or the data that they changed is gone.
    pub(crate) fn clear(&mut self, row: RowNo) {
        let mut slot = std::mem::replace(&mut self.newest[row.index()], END);
        while slot != END {
            self.rows[slot as usize] = VACANT;
            slot = self.older[slot as usize];
        }
        self.counts[row.index()] = 0;
        self.free_oldest();
    }

    /// Forgets all deltas of `row` except the newest: a planted bug.
    pub(crate) fn forget_older(&mut self, row: RowNo) {
        let newest = self.newest[row.index()];
        self.clear(row);
        if newest != END {
            self.rows[newest as usize] = row.number() as u32;
            self.older[newest as usize] = END;
            self.newest[row.index()] = newest;
            self.counts[row.index()] = 1;
        }
    }

    fn free_oldest(&mut self) {
        while self.head < self.tail && self.rows[(self.head % self.slots()) as usize] == VACANT {
            self.head += 1;
        }
        self.next_commit = self.next_commit.max(self.head);
    }

    /// The next row to commit in the background, if there is one. It counts as being committed until [`Self::commit_over`].
    pub(crate) fn next_due(&mut self) -> Option<RowNo> {
        while self.commits < self.commits_max {
            let ahead = self.tail - self.next_commit;
            self.is_committing &= ahead > self.low;
            if ahead == 0 || !(self.is_committing || self.settling) {
                return None;
            }
            let row = self.rows[(self.next_commit % self.slots()) as usize];
            if row == PENDING {
                // Its update will end soon; if it were skipped, it would have to be found later.
                return None;
            }
            self.next_commit += 1;
            if row != VACANT && !self.is_due(RowNo::new(row.into())) {
                self.due[row as usize / 64] |= 1 << (row % 64);
                self.commits += 1;
                return Some(RowNo::new(row.into()));
            }
        }
        None
    }

    /// The background commit of `row` ended.
    pub(crate) fn commit_over(&mut self, row: RowNo) {
        debug_assert!(self.is_due(row));
        self.due[row.index() / 64] &= !(1 << (row.number() % 64));
        self.commits -= 1;
    }

    /// Whether `row` is being committed in the background, or is about to be.
    pub(crate) fn is_due(&self, row: RowNo) -> bool {
        self.due[row.index() / 64] >> (row.number() % 64) & 1 != 0
    }

    /// Records that `member` is lost. If it is a log member, nothing more is logged, and the log is committed.
    pub(crate) fn lose(&mut self, member: MemberNo) {
        if let Some(parity) = member.index().checked_sub(self.first_member.index()) {
            self.lost |= 1 << parity;
            self.settling = true;
        }
    }

    /// A bit for each parity chunk whose log member is lost.
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// A bit for each parity chunk of `row` that has a delta on a lost log member.
    #[inline]
    pub(crate) fn lost_of(&self, row: RowNo) -> u64 {
        if self.lost != 0 && self.count(row) > 0 { self.lost } else { 0 }
    }

    /// Word and bit where the bits of `row` in `written` begin.
    #[inline]
    fn bits_of(&self, row: RowNo) -> (usize, u64) {
        let at = row.number() * u64::from(self.data);
        ((at / 64) as usize, at % 64)
    }

    /// The data columns of `row` that may hold anything but zeros.
    #[inline]
    pub(crate) fn written(&self, row: RowNo) -> u64 {
        let (word, bit) = self.bits_of(row);
        let behind = if bit == 0 { 0 } else { self.written[word + 1] << (64 - bit) };
        (self.written[word] >> bit | behind) & (u64::MAX >> (64 - self.data))
    }

    /// Marks data `columns` of `row` as written.
    #[inline]
    pub(crate) fn set_written(&mut self, row: RowNo, columns: u64) {
        let (word, bit) = self.bits_of(row);
        self.written[word] |= columns << bit;
        if bit != 0 {
            self.written[word + 1] |= columns >> (64 - bit);
        }
    }

    /// Marks all of `row` as zeros.
    pub(crate) fn clear_written(&mut self, row: RowNo) {
        let (word, bit) = self.bits_of(row);
        let columns = u64::MAX >> (64 - self.data);
        self.written[word] &= !(columns << bit);
        if bit != 0 {
            self.written[word + 1] &= !(columns >> (64 - bit));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use stripewise_core::geometry::{Level, Membership, Rotation, Shape};

    fn parity_log(slots: u32, section: &ParityLoggingSection) -> ParityLog {
        let geometry = Geometry::new(&Shape {
            level: Level::Raid5,
            members: 8,
            groups: 1,
            chunk_bytes: 4096,
            page_bytes: 4096,
            member_pages: 40,
            rotation: Rotation::LeftSymmetric,
            rotate_every: 1,
            membership: Membership::Contiguous,
        });
        ParityLog::new(&geometry.unwrap(), slots, section)
    }

    fn add(parity_log: &mut ParityLog, row: RowNo) -> u32 {
        let slot = parity_log.take();
        parity_log.join(slot, row);
        slot
    }

    fn add_all(parity_log: &mut ParityLog, rows: impl IntoIterator<Item = u64>) {
        for row in rows {
            add(parity_log, RowNo::new(row));
        }
    }

    fn due(parity_log: &mut ParityLog) -> Vec<u64> {
        std::iter::from_fn(|| parity_log.next_due().map(RowNo::number)).collect()
    }

    #[test]
    fn the_oldest_rows_are_due_from_the_high_watermark_down_to_the_low_one() {
        let mut parity_log = parity_log(8, &ParityLoggingSection::default());
        for row in 0..6 {
            add(&mut parity_log, RowNo::new(row));
            assert_eq!(due(&mut parity_log), [], "{row}: three quarters of eight");
        }
        add(&mut parity_log, RowNo::new(1));
        assert_eq!(due(&mut parity_log), [0, 1, 2], "then half of the ring is left");
        for row in 0..3 {
            parity_log.clear(RowNo::new(row));
            parity_log.commit_over(RowNo::new(row));
        }
        assert_eq!(
            (parity_log.taken(), due(&mut parity_log)),
            (4, vec![]),
            "row 1 took its newer slot along"
        );
    }

    #[test]
    fn no_more_rows_are_committed_at_once_than_said() {
        let section = ParityLoggingSection { commits: 2, ..ParityLoggingSection::default() };
        let mut parity_log = parity_log(8, &section);
        add_all(&mut parity_log, 0..8);
        assert_eq!(due(&mut parity_log), [0, 1]);
        parity_log.clear(RowNo::new(1));
        parity_log.commit_over(RowNo::new(1));
        assert_eq!(due(&mut parity_log), [2]);
    }

    #[test]
    fn a_log_that_is_never_committed_makes_room_only_when_it_is_full() {
        let mut parity_log =
            parity_log(3, &ParityLoggingSection { commit: Commit::Never, ..ParityLoggingSection::default() });
        add_all(&mut parity_log, [5, 6]);
        assert_eq!(due(&mut parity_log), []);
        add(&mut parity_log, RowNo::new(5));
        assert!(!parity_log.has_room(RowNo::new(7)));
        assert_eq!(due(&mut parity_log), [5]);
        parity_log.clear(RowNo::new(5));
        parity_log.commit_over(RowNo::new(5));
        assert!(
            parity_log.has_room(RowNo::new(7)) && parity_log.taken() == 2,
            "behind the oldest slot there is a hole"
        );
    }

    #[test]
    fn a_row_takes_no_more_deltas_than_said_and_none_once_a_log_member_is_lost() {
        let mut parity_log =
            parity_log(8, &ParityLoggingSection { row_deltas: 2, ..ParityLoggingSection::default() });
        add_all(&mut parity_log, [3, 3]);
        assert!(!parity_log.has_room(RowNo::new(3)) && parity_log.has_room(RowNo::new(4)));
        parity_log.lose(MemberNo::new(7));
        assert!(parity_log.has_room(RowNo::new(4)), "a data member");
        parity_log.lose(MemberNo::new(8));
        assert!(!parity_log.has_room(RowNo::new(4)) && parity_log.settling);
        assert_eq!(
            (parity_log.lost_of(RowNo::new(3)), parity_log.lost_of(RowNo::new(4))),
            (1, 0),
            "parity of rows without deltas is whole"
        );
        assert_eq!(due(&mut parity_log), [3]);
    }

    proptest! {
        #[test]
        fn the_ring_agrees_with_a_map_of_rows(
            slots in 1u32..12,
            steps in prop::collection::vec((0u64..6, 0u32..5), 1..200),
        ) {
            let mut parity_log = parity_log(slots, &ParityLoggingSection { row_deltas: 4, ..ParityLoggingSection::default() });
            let mut model: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
            let mut pending = Vec::new();
            for (row, what) in steps {
                match what {
                    0 | 1 if parity_log.has_room(RowNo::new(row)) => pending.push((parity_log.take(), row)),
                    2 if !pending.is_empty() => {
                        let (slot, row) = pending.remove(row as usize % pending.len());
                        if parity_log.count(RowNo::new(row)) < 4 {
                            parity_log.join(slot, RowNo::new(row));
                            model.entry(row).or_default().insert(0, slot);
                        } else {
                            parity_log.give_back(slot);
                        }
                    }
                    3 => {
                        parity_log.clear(RowNo::new(row));
                        model.remove(&row);
                    }
                    _ => {}
                }
                for row in 0..6 {
                    let slots = model.get(&row).cloned().unwrap_or_default();
                    prop_assert_eq!(parity_log.slots_of(RowNo::new(row)).collect::<Vec<_>>(), slots);
                }
                let live = model.values().map(Vec::len).sum::<usize>() + pending.len();
                prop_assert!(parity_log.taken() >= live as u64 && parity_log.taken() <= u64::from(slots));
                prop_assert!(live > 0 || parity_log.taken() == 0, "what is vacant from the oldest on is free");
            }
        }

        #[test]
        fn written_chunks_are_those_of_a_set(steps in prop::collection::vec((0u64..40, 0u64..128, any::<bool>()), 1..100)) {
            let mut parity_log = parity_log(1, &ParityLoggingSection::default());
            let mut model = [0u64; 40];
            for (row, columns, sets) in steps {
                if sets {
                    parity_log.set_written(RowNo::new(row), columns);
                    model[row as usize] |= columns;
                } else {
                    parity_log.clear_written(RowNo::new(row));
                    model[row as usize] = 0;
                }
                for row in 0..40 {
                    prop_assert_eq!(parity_log.written(RowNo::new(row)), model[row as usize]);
                }
            }
        }
    }
}
