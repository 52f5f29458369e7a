//! The room of a redo journal: which records there are, where the next one goes, from which one on they are needed.
//!
//! A record is *finished* when all that it says was written in place, and *freed* when that, and the table's part of it, is
//! durable. Its room is used anew only after a record that says so is durable itself: a reader finds every record from the tail
//! that the newest one names, or knows that something is lost.

use std::collections::VecDeque;

/// A record whose room is not free yet.
#[derive(Clone, Copy, Debug)]
struct Live {
    first: u32,
    pages: u32,
    /// The tail that it names.
    tail: u64,
    /// Updates that it is about and that are not done in place.
    pending: u32,
}

/// A record that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Its number.
    pub(crate) number: u64,
    /// The first record that is still needed.
    pub(crate) tail: u64,
    /// The page of the ring at which it begins.
    pub(crate) first: u32,
}

/// A ring of pages that records take one behind the other. None of them goes around the end.
#[derive(Debug)]
pub(crate) struct Ring {
    pages: u32,
    /// Pages of a record without images.
    header: u32,
    live: VecDeque<Live>,
    /// Number of the first of those.
    first_number: u64,
    /// The first record that is not freed.
    tail: u64,
    /// The page behind the last record.
    head: u32,
}

impl Ring {
    /// An empty ring of `pages`, in which a header takes so many, and whose next record has this number.
    pub(crate) fn new(pages: u32, header: u32) -> Self {
        Self { pages, header, live: VecDeque::new(), first_number: 1, tail: 1, head: 0 }
    }

    fn next_number(&self) -> u64 {
        self.first_number + self.live.len() as u64
    }

    /// Where a record of `pages` pages begins if those before it end at `head`; nothing if there is no room.
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

    /// Whether a record with so many images has room, and one without any behind it, by which room can be freed.
    pub(crate) fn has_room(&self, images: u32) -> bool {
        let pages = self.header + images;
        let Some(first) = self.place(self.head, pages) else { return false };
        let head = first + pages;
        if self.live.is_empty() {
            // The record itself is the oldest then.
            return head + self.header <= self.pages || self.header <= first;
        }
        self.place(head, self.header).is_some()
    }

    /// Begins a record with so many images about `pending` updates. There must be room for it; for one without images there is
    /// if [`Self::has_news`].
    pub(crate) fn begin(&mut self, images: u32, pending: u32) -> Begun {
        let (number, pages) = (self.next_number(), self.header + images);
        let first = self.place(self.head, pages).expect("whoever begins a record has asked for room");
        let tail = self.tail;
        self.live.push_back(Live { first, pages, tail, pending });
        self.head = first + pages;
        Begun { number, tail, first }
    }

    /// The newest record is durable: those before its tail are needed no more.
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

    /// The last record of those, from the tail on, that are finished, `unwritten` of the newest not counted.
    pub(crate) fn finished(&self, unwritten: usize) -> Option<u64> {
        let from = (self.tail - self.first_number) as usize;
        let until = self.live.len() - unwritten;
        let count = self.live.range(from.min(until)..until).take_while(|live| live.pending == 0).count();
        (count > 0).then(|| self.tail + count as u64 - 1)
    }

    /// All records up to `number` are freed.
    pub(crate) fn free(&mut self, number: u64) {
        self.tail = number + 1;
    }

    /// The first record that is still needed.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// Whether more is freed than any record says.
    pub(crate) fn has_news(&self) -> bool {
        self.live.back().is_some_and(|newest| newest.tail < self.tail)
    }

    /// Whether records that are not freed take half of the ring.
    pub(crate) fn is_half_full(&self) -> bool {
        let from = (self.tail - self.first_number) as usize;
        let needed = self.live.range(from.min(self.live.len())..);
        needed.map(|live| live.pages).sum::<u32>() > self.pages / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a reader needs is never overwritten: each page of a record from the tail that the newest durable one names on.
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
    }

    proptest! {
        #[test]
        fn no_record_is_overwritten_that_a_reader_may_need_and_room_always_comes(
            pages in 40..120u32,
            header in 1..3u32,
            choices in prop::collection::vec((0..9u32, 0..4u32, any::<bool>()), 1..300),
        ) {
            let mut ring = Ring::new(pages, header);
            let mut reader = Reader::default();
            let mut under_way: Vec<u64> = Vec::new();
            for (images, pending, finishes) in choices {
                while !ring.has_room(images) {
                    // The way out of a full ring: what is under way ends, is freed, and a record without images says so.
                    under_way.drain(..).for_each(|number| ring.done(number));
                    if let Some(finished) = ring.finished(0) {
                        ring.free(finished);
                    }
                    prop_assert!(ring.has_news());
                    let begun = ring.begin(0, 0);
                    reader.write(begun, header);
                    reader.durable = begun.number;
                    ring.durable();
                }
                let begun = ring.begin(images, pending);
                reader.write(begun, header + images);
                prop_assert!(begun.first + header + images <= pages);
                reader.durable = begun.number;
                ring.durable();
                under_way.extend((0..pending).map(|_| begun.number));
                if finishes {
                    under_way.drain(..).for_each(|number| ring.done(number));
                }
                if let Some(finished) = ring.finished(0).filter(|_| ring.is_half_full()) {
                    ring.free(finished);
                }
            }
        }
    }

    #[test]
    fn records_follow_each_other_and_begin_again_at_the_start() {
        let mut ring = Ring::new(20, 1);
        assert_eq!(ring.begin(7, 1), Begun { number: 1, tail: 1, first: 0 });
        ring.durable();
        assert_eq!(ring.begin(7, 1), Begun { number: 2, tail: 1, first: 8 });
        ring.durable();
        assert!(ring.has_room(2) && !ring.has_room(3), "one page is left for a record without images");
        assert!(ring.is_half_full());
        assert_eq!(ring.finished(0), None);
        ring.done(2);
        assert_eq!(ring.finished(0), None, "from the oldest on");
        ring.done(1);
        assert_eq!((ring.finished(0), ring.finished(1)), (Some(2), Some(1)));
        ring.free(1);
        assert!(!ring.has_room(3), "no record says yet that the first is free");
        assert!(ring.has_news());
        assert_eq!(ring.begin(0, 0), Begun { number: 3, tail: 2, first: 16 });
        ring.durable();
        assert_eq!(ring.begin(6, 1), Begun { number: 4, tail: 2, first: 0 });
    }
}
