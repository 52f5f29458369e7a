//! The intent bitmap: the regions whose rows may have parity that does not match their data.
//!
//! Source: the write-intent bitmap of Linux md (Documentation/admin-guide/md.rst).

use std::collections::VecDeque;

use stripewise_core::ids::PlanId;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{IntentPage, Uuid};

use crate::in_place::journal::Work;

/// Sets of regions of all groups.
type Regions = Vec<u64>;

/// The bitmap in memory, and the state of its copies on the members.
#[derive(Debug)]
pub(crate) struct Intent {
    pub(crate) layout: InPlaceLayout,
    pub(crate) array: Uuid,
    pub(crate) epoch: u32,
    /// The number of regions of a group, and the number of words for their bits.
    regions: u32,
    words: usize,
    /// Regions whose bit is set on the members and not yet cleared.
    marked: Regions,
    /// Regions whose bit is being written to the members.
    marking: Regions,
    /// Regions written since the last flush of all members began, and regions that are being flushed.
    touched: Regions,
    flushing: Regions,
    flushes: u32,
    /// Regions that needed no mark when the bitmap was last written, nor since.
    idle: Regions,
    /// The number of updates in flight in each region.
    under_way: Vec<u32>,
    versions: Vec<u64>,
    /// Members that the bitmap or the superblocks on the members already record as missing.
    pub(crate) missing: u64,
    /// Plans that wait, and plans that no longer need to wait.
    pub(crate) waiting: VecDeque<PlanId>,
    pub(crate) ready: VecDeque<PlanId>,
    /// The plan that writes the bitmap.
    pub(crate) plan: PlanId,
    pub(crate) work: Work,
    /// Whether to write the bitmap although no plan waits for it: a member joined the array.
    pub(crate) has_event: bool,
    /// The missing members in the version that is being written.
    pub(crate) next_missing: u64,
}

impl Intent {
    /// The bitmap of an empty array; its plan has the number `plan`.
    pub(crate) fn new(layout: InPlaceLayout, groups: u32, plan: PlanId) -> Self {
        let regions = layout.regions();
        let words = regions.div_ceil(64) as usize;
        let none = vec![0; words * groups as usize];
        Self {
            layout,
            array: Uuid::default(),
            epoch: 1,
            regions,
            words,
            marked: none.clone(),
            marking: none.clone(),
            touched: none.clone(),
            flushing: none.clone(),
            flushes: 0,
            idle: none,
            under_way: vec![0; regions as usize * groups as usize],
            versions: vec![1; groups as usize],
            missing: 0,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            plan,
            work: Work::default(),
            has_event: false,
            next_missing: 0,
        }
    }

    /// The number of groups of the array.
    pub(crate) fn groups(&self) -> u32 {
        self.versions.len() as u32
    }

    /// The region of a page of the data.
    fn at(&self, group: u32, page: u32) -> (usize, u64) {
        let region = page / self.layout.region_pages;
        (group as usize * self.words + region as usize / 64, 1 << (region % 64))
    }

    /// Whether the bit of a page's region is set on the members.
    pub(crate) fn is_marked(&self, group: u32, page: u32) -> bool {
        let (word, bit) = self.at(group, page);
        self.marked[word] & bit != 0
    }

    /// An update in a page's region begins.
    pub(crate) fn begin(&mut self, group: u32, page: u32) {
        let (word, bit) = self.at(group, page);
        self.idle[word] &= !bit;
        self.under_way[(group * self.regions + page / self.layout.region_pages) as usize] += 1;
    }

    /// The update is done in place.
    pub(crate) fn done(&mut self, group: u32, page: u32) {
        let (word, bit) = self.at(group, page);
        self.touched[word] |= bit;
        self.under_way[(group * self.regions + page / self.layout.region_pages) as usize] -= 1;
    }

    /// A flush of all members is about to begin.
    pub(crate) fn flush_begun(&mut self) {
        self.flushes += 1;
        for (flushing, touched) in self.flushing.iter_mut().zip(&mut self.touched) {
            *flushing |= std::mem::take(touched);
        }
    }

    /// The flush of all members is complete.
    pub(crate) fn flush_over(&mut self) {
        self.flushes -= 1;
        if self.flushes == 0 {
            self.flushing.fill(0);
        }
    }

    /// Marks the region of a page in the next version.
    pub(crate) fn want(&mut self, group: u32, page: u32) {
        let (word, bit) = self.at(group, page);
        self.marking[word] |= bit;
    }

    /// Whether a region of `group` needs a mark that it does not have.
    pub(crate) fn wants(&self, group: u32) -> bool {
        let range = self.range(group);
        self.marking[range.clone()]
            .iter()
            .zip(&self.marked[range])
            .any(|(marking, marked)| marking & !marked != 0)
    }

    fn range(&self, group: u32) -> std::ops::Range<usize> {
        group as usize * self.words..(group as usize + 1) * self.words
    }

    /// Begins the next version of a group's page and returns its number. The version has all current and requested marks,
    /// except for the regions that have needed no mark since the previous version.
    pub(crate) fn begin_write(&mut self, group: u32) -> u64 {
        for word in self.range(group) {
            let mut busy = self.touched[word] | self.flushing[word];
            let first = (word % self.words) as u32 * 64;
            for region in first..(first + 64).min(self.regions) {
                if self.under_way[(group * self.regions + region) as usize] > 0 {
                    busy |= 1 << (region - first);
                }
            }
            let unused = self.marked[word] & !busy & !self.marking[word];
            self.marked[word] &= !(unused & self.idle[word]);
            self.idle[word] = unused;
        }
        self.versions[group as usize] += 1;
        self.versions[group as usize]
    }

    /// Writes the page of `group` over `into`.
    pub(crate) fn encode(&self, group: u32, into: &mut [u8]) {
        let head = IntentPage {
            array: self.array,
            epoch: self.epoch,
            version: self.versions[group as usize],
            group,
            bits: self.regions,
            missing: self.next_missing,
        };
        let range = self.range(group);
        let words: Vec<u64> = self.marked[range.clone()]
            .iter()
            .zip(&self.marking[range])
            .map(|(one, other)| one | other)
            .collect();
        head.encode(&words, into);
    }

    /// The bitmap has been written to the members.
    pub(crate) fn written(&mut self) {
        for (marked, marking) in self.marked.iter_mut().zip(&mut self.marking) {
            *marked |= std::mem::take(marking);
        }
        self.missing = self.next_missing;
    }

    /// Loads the marks of a group as found on the members; sets all marks if `words` is `None`.
    pub(crate) fn load(&mut self, group: u32, version: u64, words: Option<&[u64]>) {
        let range = self.range(group);
        for (nth, word) in range.enumerate() {
            let left = self.regions - nth as u32 * 64;
            let all = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            let bits = words.map_or(all, |words| words.get(nth).copied().unwrap_or(all) & all);
            self.marked[word] = bits;
            // The parity of these regions is recomputed and flushed before their marks are cleared.
            self.touched[word] = bits;
        }
        self.versions[group as usize] = version;
    }

    /// The version of a group's page.
    pub(crate) fn version(&self, group: u32) -> u64 {
        self.versions[group as usize]
    }

    /// The number of marked regions.
    #[cfg(test)]
    pub(crate) fn marked(&self) -> u32 {
        self.marked.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_format::in_place::InPlaceShape;

    fn intent() -> Intent {
        let shape = InPlaceShape { page_bytes: 512, pages: 8000, columns: 5, copies: 2, chunk_pages: 1 };
        Intent::new(InPlaceLayout::with_bitmap(&shape), 1, PlanId::NONE)
    }

    fn write(intent: &mut Intent) {
        intent.begin_write(0);
        intent.written();
    }

    #[test]
    fn a_region_is_cleared_two_versions_after_its_last_write_was_flushed() {
        let mut intent = intent();
        assert_eq!(intent.layout.region_pages, 3, "7982 pages and 3648 bits");
        intent.begin(0, 100);
        intent.want(0, 100);
        assert!(intent.wants(0));
        write(&mut intent);
        assert!(intent.is_marked(0, 99) && intent.is_marked(0, 101) && !intent.is_marked(0, 98));
        intent.done(0, 100);
        (0..3).for_each(|_| write(&mut intent));
        assert!(intent.is_marked(0, 100), "no flush has covered what was written");
        intent.flush_begun();
        (0..3).for_each(|_| write(&mut intent));
        assert!(intent.is_marked(0, 100), "nor has this one yet");
        intent.flush_over();
        write(&mut intent);
        assert!(intent.is_marked(0, 100), "it might be written again soon");
        write(&mut intent);
        assert!(!intent.is_marked(0, 100));
    }

    #[test]
    fn a_region_under_update_is_never_cleared() {
        let mut intent = intent();
        intent.begin(0, 7);
        intent.want(0, 7);
        write(&mut intent);
        for _ in 0..3 {
            intent.flush_begun();
            intent.flush_over();
            write(&mut intent);
        }
        assert!(intent.is_marked(0, 7));
    }

    #[test]
    fn a_bitmap_that_cannot_be_read_counts_as_full() {
        let mut intent = intent();
        let regions = intent.regions;
        intent.load(0, 3, None);
        assert_eq!(intent.marked(), regions);
        intent.load(0, 3, Some(&[0b101]));
        assert!(intent.is_marked(0, 0) && !intent.is_marked(0, 3) && intent.is_marked(0, 6));
    }
}
