//! What a read may find of a page that was written while the read was under way.

use std::collections::BTreeMap;

/// For each page with operations under way, its contents before each write or trim since the first of them began. The scribe
/// keeps checksums of them, the replay their bytes; both call the same functions in the same order, so a number means the same
/// content in both.
#[derive(Debug)]
pub(super) struct Versions<T> {
    pages: BTreeMap<(u16, u32), Page<T>>,
}

#[derive(Debug)]
struct Page<T> {
    under_way: u32,
    before: Vec<T>,
}

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self { pages: BTreeMap::new() }
    }
}

impl<T> Versions<T> {
    fn begin(&mut self, place: (u16, u32)) -> &mut Page<T> {
        let page = self.pages.entry(place).or_insert(Page { under_way: 0, before: Vec::new() });
        page.under_way += 1;
        page
    }

    /// A read of the page `place`, which is a member and a page of it, begins.
    pub(super) fn read(&mut self, place: (u16, u32)) {
        self.begin(place);
    }

    /// A write or trim of the page begins, and `before` is what the page held until now.
    pub(super) fn change(&mut self, place: (u16, u32), before: T) {
        self.begin(place).before.push(before);
    }

    /// An operation on the page is over.
    pub(super) fn over(&mut self, place: (u16, u32)) {
        let Some(page) = self.pages.get_mut(&place) else { return };
        page.under_way -= 1;
        if page.under_way == 0 {
            self.pages.remove(&place);
        }
    }

    /// What the page held before each change that a read which ends now may have overtaken, the oldest first.
    pub(super) fn before(&self, place: (u16, u32)) -> &[T] {
        self.pages.get(&place).map_or(&[], |page| &page.before)
    }
}
