//! The space of a redo journal: which records exist, where the next one goes, and from which record on they are needed.
//!
//! A record is *finished* when all its updates are done in place, and *freed* when these updates and the record's part of
//! the table are durable. Its space is reused only after a record that says so is itself durable: a reader finds every
//! record from the tail that the newest record names, or detects that a record is lost.
//!
//! A record with old content that deferred parity covers is not finished before that parity has a record too. To guarantee
//! space for that record, the ring keeps space for one update free for each row with deferred parity. Records do not wrap
//! around the end, so the rest of the ring there is unusable: records without images, which are written to free others,
//! may waste the space of one such update. Hence space for one more update is kept free.

use std::collections::VecDeque;

use stripewise_core::ids::MemberNo;

/// A record whose space is not free yet.
#[derive(Clone, Copy, Debug)]
struct Live {
    first: u32,
    pages: u32,
    /// The tail that the record names.
    tail: u64,
    /// Updates of the record that are not yet done in place.
    pending: u32,
    /// The members that keep the record once it is durable, one bit each.
    keepers: u64,
}

/// A record that is about to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The number of the record.
    pub(crate) number: u64,
    /// The first record that is still needed.
    pub(crate) tail: u64,
    /// The page of the ring at which the record begins.
    pub(crate) first: u32,
}

/// A ring of pages for consecutive records. No record wraps around the end.
#[derive(Debug)]
pub(crate) struct Ring {
    pages: u32,
    /// Pages of a record without images.
    header: u32,
    /// The largest number of pages of a record of one update.
    update: u32,
    live: VecDeque<Live>,
    /// The number of the first of these records.
    first_number: u64,
    /// The first record that is not freed.
    tail: u64,
    /// Pages of the records that are not freed.
    needed: u32,
    /// The page after the last record.
    head: u32,
    /// Whether records state nothing more as freed.
    holds: bool,
}

impl Ring {
    /// An empty ring of `pages` pages. A header takes `header` pages, and a record of one update at most `images` more.
    pub(crate) fn new(pages: u32, header: u32, images: u32) -> Self {
        let update = header + images;
        Self {
            pages,
            header,
            update,
            live: VecDeque::new(),
            first_number: 1,
            tail: 1,
            needed: 0,
            head: 0,
            holds: false,
        }
    }

    /// Adds the records that were found: from `tail` on, the first page and the number of pages of each.
    pub(crate) fn with(mut self, tail: u64, records: impl Iterator<Item = (u32, u32)>) -> Self {
        self.live.extend(records.map(|(first, pages)| Live { first, pages, tail, pending: 0, keepers: 0 }));
        self.head = self.live.back().map_or(0, |newest| newest.first + newest.pages);
        self.needed = self.live.iter().map(|live| live.pages).sum();
        (self.first_number, self.tail) = (tail, tail);
        self
    }

    /// The number of the next record.
    pub(crate) fn next_number(&self) -> u64 {
        self.first_number + self.live.len() as u64
    }

    /// Where a record of `pages` pages begins if the records before it end at `head`; `None` if there is no space.
    fn place(&self, head: u32, pages: u32) -> Option<u32> {
        let Some(oldest) = self.live.front() else {
            return Some(if head + pages <= self.pages { head } else { 0 })
                .filter(|&at| at + pages <= self.pages);
        };
        if head > oldest.first {
            if head + pages <= self.pages {
                return Some(head);
            }
            return (pages <= oldest.first).then_some(0);
        }
        (head + pages <= oldest.first).then_some(head)
    }

    /// Whether there is space for a record with `images` images, followed by a record without images, by which space can
    /// be freed, and by the records that write the parity of `late` rows.
    pub(crate) fn has_room(&self, images: u32, late: u32) -> bool {
        self.fits(images, if late > 0 { late + 2 } else { 0 })
    }

    /// The same for a record that writes deferred parity, with `late` such rows left afterwards: it uses the space kept
    /// for one row.
    pub(crate) fn has_room_to_cover(&self, images: u32, late: u32) -> bool {
        self.fits(images, if late > 0 { late + 1 } else { 0 })
    }

    fn fits(&self, images: u32, updates: u32) -> bool {
        let pages = self.header + images;
        let Some(first) = self.place(self.head, pages) else { return false };
        let head = first + pages;
        // A record that is alone in the ring is itself the oldest.
        let oldest = self.live.front().map_or(first, |oldest| oldest.first);
        let (here, at_start) = if head > oldest { (self.pages - head, oldest) } else { (oldest - head, 0) };
        match updates {
            0 => here.max(at_start) >= self.header,
            _ => here / self.update + at_start / self.update >= updates,
        }
    }

    /// Begins a record with `images` images of `pending` updates. The caller has checked that there is space. For a record
    /// without images there is always space if [`Self::has_event`] is true.
    pub(crate) fn begin(&mut self, images: u32, pending: u32) -> Begun {
        let (number, pages) = (self.next_number(), self.header + images);
        let first = self.place(self.head, pages).expect("the caller has checked that there is room");
        let tail = self.live.back().filter(|_| self.holds).map_or(self.tail, |newest| newest.tail);
        self.live.push_back(Live { first, pages, tail, pending, keepers: 0 });
        self.needed += pages;
        self.head = first + pages;
        Begun { number, tail, first }
    }

    /// Whether the next records state only what the ones before them state as freed.
    pub(crate) fn hold(&mut self, holds: bool) {
        self.holds = holds;
    }

    /// The newest record, which is durable, is kept by the members in the mask `keepers`.
    pub(crate) fn keep(&mut self, keepers: u64) {
        if let Some(newest) = self.live.back_mut() {
            newest.keepers = keepers;
        }
    }

    /// For a record that a reader may replay: its first page in the ring, its number of pages, and the members that keep it.
    pub(crate) fn kept(&self, number: u64) -> Option<(u32, u32, u64)> {
        let nth = number.checked_sub(self.first_number)?;
        self.live.get(nth as usize).map(|live| (live.first, live.pages, live.keepers))
    }

    /// Whether a record that a reader may replay takes `page` of `member`, or the record that is being written.
    pub(crate) fn takes(&self, page: u32, member: MemberNo) -> bool {
        let is_kept = |live: &Live| live.keepers == 0 || member.is_in(live.keepers);
        self.live.iter().any(|live| (live.first..live.first + live.pages).contains(&page) && is_kept(live))
    }

    /// Whether the newest record takes `page`. While it is written, the members that will keep it are not yet known.
    pub(crate) fn newest_takes(&self, page: u32) -> bool {
        self.live.back().is_some_and(|newest| (newest.first..newest.first + newest.pages).contains(&page))
    }

    /// The newest record is durable: records before its tail are no longer needed.
    pub(crate) fn durable(&mut self) {
        let Some(&Live { tail, .. }) = self.live.back() else { return };
        while self.first_number < tail {
            self.live.pop_front();
            self.first_number += 1;
        }
    }

    /// An update of record `number` is done in place.
    pub(crate) fn done(&mut self, number: u64) {
        if let Some(live) = self.live.get_mut((number - self.first_number) as usize) {
            live.pending -= 1;
        }
    }

    /// The last of the consecutive finished records from the tail on; the newest `unwritten` records do not count.
    pub(crate) fn finished(&self, unwritten: usize) -> Option<u64> {
        let from = (self.tail - self.first_number) as usize;
        let until = self.live.len() - unwritten;
        let count = self.live.range(from.min(until)..until).take_while(|live| live.pending == 0).count();
        (count > 0).then(|| self.tail + count as u64 - 1)
    }

    /// Frees all records up to `number`.
    pub(crate) fn free(&mut self, number: u64) {
        let [from, until] = [self.tail, number + 1].map(|number| (number - self.first_number) as usize);
        self.needed -= self.live.range(from..until).map(|live| live.pages).sum::<u32>();
        self.tail = number + 1;
    }

    /// The first record that is still needed.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// The first record that a reader may still replay: it may be freed, as long as no durable record says so.
    pub(crate) fn first_number(&self) -> u64 {
        self.first_number
    }

    /// Whether a reader may still replay record `number`.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.first_number <= number
    }

    /// Whether a reader may still replay a record before `number`.
    pub(crate) fn has_before(&self, number: u64) -> bool {
        self.first_number < number
    }

    /// The record in the middle of those that are not freed.
    pub(crate) fn middle(&self) -> u64 {
        self.tail + (self.next_number() - self.tail) / 2
    }

    /// Whether more records are freed than any record states, and the next record would state it.
    pub(crate) fn has_event(&self) -> bool {
        !self.holds && self.live.back().is_some_and(|newest| newest.tail < self.tail)
    }

    /// Whether records that are not freed take half of the ring.
    pub(crate) fn is_half_full(&self) -> bool {
        self.needed > self.pages / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A model of a reader. Pages that it needs are never overwritten: all pages of records from the tail of the newest
    /// durable record on.
    #[derive(Default)]
    struct Reader {
        /// Pages of each record written, by number.
        records: Vec<(u64, std::ops::Range<u32>, u64)>,
        durable: u64,
    }

    impl Reader {
        fn write(&mut self, begun: Begun, pages: u32) {
            let range = begun.first..begun.first + pages;
            let needed_from =
                self.records.iter().rfind(|record| record.0 == self.durable).map_or(0, |record| record.2);
            for (number, taken, _) in &self.records {
                if *number >= needed_from {
                    assert!(taken.end <= range.start || range.end <= taken.start, "{number} is overwritten");
                }
            }
            self.records.push((begun.number, range, begun.tail));
        }

        /// Pages of records from `tail` on.
        fn pages_from(&self, tail: u64) -> u32 {
            let needed = self.records.iter().filter(|record| record.0 >= tail);
            needed.map(|(_, pages, _)| pages.end - pages.start).sum()
        }
    }

    /// Writes a record of `pending` updates, which is durable at once.
    fn write(ring: &mut Ring, reader: &mut Reader, images: u32, pending: u32) -> u64 {
        let begun = ring.begin(images, pending);
        reader.write(begun, ring.header + images);
        assert!(begun.first + ring.header + images <= ring.pages);
        reader.durable = begun.number;
        ring.durable();
        begun.number
    }

    /// Frees the finished records, and states it in a record without images. False if no record is finished.
    fn free_finished(ring: &mut Ring, reader: &mut Reader) -> bool {
        if let Some(finished) = ring.finished(0) {
            ring.free(finished);
        }
        let has_event = ring.has_event();
        if has_event {
            write(ring, reader, 0, 0);
        }
        has_event
    }

    proptest! {
        #[test]
        fn no_record_is_overwritten_that_a_reader_may_need_and_room_always_comes(
            pages in 40..120u32,
            header in 1..3u32,
            choices in prop::collection::vec((0..9u32, 0..4u32, any::<bool>(), any::<bool>()), 1..300),
        ) {
            let mut ring = Ring::new(pages, header, 4);
            let mut reader = Reader::default();
            let mut under_way: Vec<u64> = Vec::new();
            for (images, pending, finishes, holds) in choices {
                while !ring.has_room(images, 0) {
                    // How a full ring recovers: updates in flight finish, their records are freed, and a record without
                    // images states it.
                    under_way.drain(..).for_each(|number| ring.done(number));
                    prop_assert!(free_finished(&mut ring, &mut reader));
                }
                let stated = reader.records.last().map(|&(.., tail)| tail);
                ring.hold(holds);
                let number = write(&mut ring, &mut reader, images, pending);
                // Polls until there is nothing to state: at most one record, and none while it would state nothing.
                let polls = (0..3).take_while(|_| ring.has_event() && write(&mut ring, &mut reader, 0, 0) > 0);
                prop_assert!(polls.count() <= usize::from(!holds), "records that state nothing");
                ring.hold(false);
                let states_more = reader.records.last().map(|&(.., tail)| tail) != stated;
                prop_assert!(!(holds && stated.is_some() && states_more), "a record that holds states more as freed");
                under_way.extend((0..pending).map(|_| number));
                if finishes {
                    under_way.drain(..).for_each(|number| ring.done(number));
                }
                prop_assert_eq!(ring.is_half_full(), reader.pages_from(ring.tail()) > pages / 2);
                if let Some(finished) = ring.finished(0).filter(|_| ring.is_half_full()) {
                    ring.free(finished);
                }
                prop_assert_eq!(ring.is_half_full(), reader.pages_from(ring.tail()) > pages / 2);
            }
        }

        #[test]
        fn each_row_whose_parity_is_late_always_has_room_for_it(
            pages in 40..160u32,
            header in 1..3u32,
            members in 3..7u32,
            choices in prop::collection::vec((0..12u32, 0..4u32, any::<prop::sample::Index>()), 1..300),
        ) {
            let mut ring = Ring::new(pages, header, members);
            let mut reader = Reader::default();
            // For each row with deferred parity, the record with the content that the parity covers.
            let mut late: Vec<u64> = Vec::new();
            for (images, what, pick) in choices {
                let count = late.len() as u32;
                match what {
                    0 if ring.has_room(images, count) => {
                        let number = write(&mut ring, &mut reader, images, 1);
                        ring.done(number);
                    }
                    1 if ring.has_room(images, count + 1) => late.push(write(&mut ring, &mut reader, images, 1)),
                    2 if count > 0 => {
                        let record = late.swap_remove(pick.index(late.len()));
                        let images = images % (members + 1);
                        prop_assert!(ring.has_room_to_cover(images, count - 1), "{count} late: {ring:?}");
                        let number = write(&mut ring, &mut reader, images, 1);
                        ring.done(number);
                        ring.done(record);
                    }
                    _ => {
                        free_finished(&mut ring, &mut reader);
                    }
                }
            }
        }
    }

    #[test]
    fn whether_a_ring_of_a_million_records_is_half_full_is_known_at_each_of_them() {
        let mut ring = Ring::new(1 << 22, 2, 4);
        let is_full = (0..1 << 20).filter(|_| {
            ring.begin(1, 1);
            ring.durable();
            ring.is_half_full()
        });
        assert_eq!(is_full.count(), (1 << 20) - (1 << 21) / 3);
    }

    #[test]
    fn records_follow_each_other_and_begin_again_at_the_start() {
        let mut ring = Ring::new(20, 1, 4);
        assert_eq!(ring.begin(7, 1), Begun { number: 1, tail: 1, first: 0 });
        ring.durable();
        assert_eq!(ring.begin(7, 1), Begun { number: 2, tail: 1, first: 8 });
        ring.durable();
        assert!(ring.has_room(2, 0) && !ring.has_room(3, 0), "one page is left for a record without images");
        assert!(ring.is_half_full());
        assert_eq!(ring.finished(0), None);
        ring.done(2);
        assert_eq!(ring.finished(0), None, "from the oldest on");
        ring.done(1);
        assert_eq!((ring.finished(0), ring.finished(1)), (Some(2), Some(1)));
        ring.free(1);
        assert!(!ring.has_room(3, 0), "no record says yet that the first is free");
        assert!(ring.has_event());
        assert_eq!(ring.begin(0, 0), Begun { number: 3, tail: 2, first: 16 });
        ring.durable();
        assert_eq!(ring.begin(6, 1), Begun { number: 4, tail: 2, first: 0 });
    }
}
