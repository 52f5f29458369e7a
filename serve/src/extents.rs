//! What is told of where an array has data: runs of pages that were written, and of those that nobody wrote or that were trimmed.

use stripewise_nbd::Extent;

/// Pages that are looked at for one reply, so that others get their turn: 256 MiB of 4 KiB. A client asks for the rest.
const PAGES: u64 = 1 << 16;

/// The runs of the `bytes` at `offset`, or of as many of them as are looked at; of one of them if `is_one`.
pub(crate) fn extents(
    offset: u64,
    bytes: u64,
    page_bytes: u64,
    is_one: bool,
    is_hole: impl Fn(u64) -> bool,
) -> Vec<Extent> {
    let mut runs: Vec<Extent> = Vec::new();
    let end = offset + bytes;
    let first = offset / page_bytes;
    for page in first..end.div_ceil(page_bytes).min(first + PAGES) {
        let bytes = ((page + 1) * page_bytes).min(end) - (page * page_bytes).max(offset);
        let hole = is_hole(page);
        match runs.last_mut() {
            Some(run) if run.hole == hole => run.bytes += bytes,
            Some(_) if is_one => break,
            _ => runs.push(Extent { bytes, hole, zero: hole }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(offset: u64, bytes: u64, is_one: bool) -> Vec<(u64, bool)> {
        // Pages 2, 3 and 7 are holes, and all from 10 on.
        let is_hole = |page| matches!(page, 2 | 3 | 7) || page >= 10;
        let told = extents(offset, bytes, 4096, is_one, is_hole);
        assert!(told.iter().all(|run| run.hole == run.zero));
        told.iter().map(|run| (run.bytes, run.hole)).collect()
    }

    #[test]
    fn runs_begin_and_end_with_what_was_asked_for() {
        let all = [(8192, false), (8192, true), (12288, false), (4096, true), (8192, false), (8192, true)];
        assert_eq!(runs(0, 12 * 4096, false), all);
        assert_eq!(runs(512, 8192, false), [(7680, false), (512, true)]);
        assert_eq!(runs(512, 1024, false), [(1024, false)]);
        assert_eq!(runs(8192 + 512, 4 * 4096, true), [(8192 - 512, true)]);
    }

    #[test]
    fn one_reply_looks_at_so_many_pages_and_no_more() {
        assert_eq!(runs(10 * 4096 + 512, 1 << 40, false), [((PAGES << 12) - 512, true)]);
    }
}
