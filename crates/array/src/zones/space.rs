//! The free pages of a zone. They are taken in ascending order from the last taken page on, so that pages written together are
//! stored together.
//!
//! Source: paper 004, section 3.2: data is "stored sequentially on the targeted data zones".

/// The free pages of a zone.
#[derive(Debug)]
pub(super) struct Space {
    /// The zone's pages of the array.
    pages: std::ops::Range<u64>,
    /// A bit for each page; set if it is free.
    free: Vec<u64>,
    count: u64,
    /// The page after the last one that was taken, counted from the zone's first page.
    next: usize,
}

impl Space {
    /// A zone with all pages free.
    pub(super) fn new(pages: std::ops::Range<u64>) -> Self {
        let count = pages.end - pages.start;
        let mut free = vec![u64::MAX; count.div_ceil(64) as usize];
        if let Some(last) = free.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last = u64::MAX >> (64 - count % 64);
        }
        Self { pages, free, count, next: 0 }
    }

    /// Number of free pages.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Number of pages.
    pub(super) fn len(&self) -> u64 {
        self.pages.end - self.pages.start
    }

    /// The page after the zone's last one.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.pages.end
    }

    /// Takes the next free page, if there is one.
    pub(super) fn take(&mut self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let mut word = self.next / 64 % self.free.len();
        let mut bits = self.free[word] & u64::MAX << (self.next % 64);
        while bits == 0 {
            word = (word + 1) % self.free.len();
            bits = self.free[word];
        }
        let bit = bits.trailing_zeros();
        self.free[word] &= !(1 << bit);
        self.count -= 1;
        let page = word * 64 + bit as usize;
        self.next = page + 1;
        Some(self.pages.start + page as u64)
    }

    /// Frees a page.
    pub(super) fn give(&mut self, page: u64) {
        let page = (page - self.pages.start) as usize;
        debug_assert!(self.free[page / 64] >> (page % 64) & 1 == 0, "page {page} was given back twice");
        self.free[page / 64] |= 1 << (page % 64);
        self.count += 1;
    }

    /// Whether a page of the zone is free.
    pub(super) fn is_free(&self, page: u64) -> bool {
        let page = (page - self.pages.start) as usize;
        self.free[page / 64] >> (page % 64) & 1 != 0
    }

    pub(super) fn bytes(&self) -> u64 {
        size_of_val(&self.free[..]) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_in_ascending_order_and_again_from_the_first() {
        let mut space = Space::new(100..170);
        let all: Vec<u64> = std::iter::from_fn(|| space.take()).collect();
        assert_eq!(all, (100..170).collect::<Vec<_>>());
        [120, 105, 169].into_iter().for_each(|page| space.give(page));
        assert_eq!((space.count(), space.is_free(105), space.is_free(106)), (3, true, false));
        assert_eq!([space.take(), space.take()], [Some(105), Some(120)]);
        space.give(100);
        assert_eq!([space.take(), space.take(), space.take()], [Some(169), Some(100), None]);
    }
}
