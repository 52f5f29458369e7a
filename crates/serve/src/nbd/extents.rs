//! Replies about where an array has data: runs of pages that were written, and runs that were never written or were
//! trimmed.

use stripewise_nbd::Extent;

/// Pages that one reply covers: 256 MiB of 4 KiB. A client asks for the rest.
const PAGES: u64 = 1 << 16;
/// Pages that all clients together may look up in a turn of the loop, however many clients ask: about half a
/// millisecond, so that reads and writes of others do not wait longer.
pub(super) const PAGES_A_TURN: u64 = 2048;

/// Pages that each client may look up in a turn, by the number of clients.
pub(super) fn pages_each(clients: usize) -> u64 {
    (PAGES_A_TURN / (clients as u64).max(1)).max(1)
}

/// The lookup of the pages of one request, which continues over several turns of the loop.
#[derive(Debug)]
pub(super) struct Walk {
    offset: u64,
    end: u64,
    page_bytes: u64,
    /// Whether a single run is requested.
    is_one: bool,
    /// Pages that are not looked up yet.
    next: u64,
    last: u64,
    runs: Vec<Extent>,
}

impl Walk {
    /// A lookup of the `bytes` at `offset`, up to the limit of a reply, and of a single run if `is_one`.
    pub(super) fn new(offset: u64, bytes: u64, page_bytes: u64, is_one: bool) -> Self {
        let (first, end) = (offset / page_bytes, offset + bytes);
        let last = end.div_ceil(page_bytes).min(first + PAGES);
        Self { offset, end, page_bytes, is_one, next: first, last, runs: Vec::new() }
    }

    /// Looks up at most `left` pages, and subtracts them from it. Returns whether the lookup is complete.
    pub(super) fn advance(&mut self, left: &mut u64, is_hole: impl Fn(u64) -> bool) -> bool {
        while self.next < self.last {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            let page = self.next;
            self.next += 1;
            let until = ((page + 1) * self.page_bytes).min(self.end);
            let bytes = until - (page * self.page_bytes).max(self.offset);
            let hole = is_hole(page);
            match self.runs.last_mut() {
                Some(run) if run.hole == hole => run.bytes += bytes,
                Some(_) if self.is_one => self.next = self.last,
                _ => self.runs.push(Extent { bytes, hole, zero: hole }),
            }
        }
        true
    }

    /// The runs found so far.
    pub(super) fn runs(&self) -> &[Extent] {
        &self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_turns_of(
        pages: u64,
        offset: u64,
        bytes: u64,
        is_one: bool,
        is_hole: &impl Fn(u64) -> bool,
    ) -> Vec<Extent> {
        let mut walk = Walk::new(offset, bytes, 4096, is_one);
        let mut turns = 1;
        while !walk.advance(&mut pages.clone(), is_hole) {
            turns += 1;
        }
        assert!(turns <= 1 + bytes.div_ceil(4096).min(PAGES) / pages);
        walk.runs().to_vec()
    }

    fn runs(offset: u64, bytes: u64, is_one: bool) -> Vec<(u64, bool)> {
        // Pages 2, 3 and 7 are holes, and all from page 10 on.
        let is_hole = |page| matches!(page, 2 | 3 | 7) || page >= 10;
        let extents = in_turns_of(u64::MAX, offset, bytes, is_one, &is_hole);
        for pages in [1, 3] {
            assert_eq!(
                in_turns_of(pages, offset, bytes, is_one, &is_hole),
                extents,
                "turns of {pages} pages"
            );
        }
        assert!(extents.iter().all(|run| run.hole == run.zero));
        extents.iter().map(|run| (run.bytes, run.hole)).collect()
    }

    #[test]
    fn runs_begin_and_end_with_the_requested_range() {
        let all = [(8192, false), (8192, true), (12288, false), (4096, true), (8192, false), (8192, true)];
        assert_eq!(runs(0, 12 * 4096, false), all);
        assert_eq!(runs(512, 8192, false), [(7680, false), (512, true)]);
        assert_eq!(runs(512, 1024, false), [(1024, false)]);
        assert_eq!(runs(8192 + 512, 4 * 4096, true), [(8192 - 512, true)]);
    }

    #[test]
    fn one_reply_looks_at_n_pages_and_no_more() {
        assert_eq!(runs(10 * 4096 + 512, 1 << 40, false), [((PAGES << 12) - 512, true)]);
    }
}
