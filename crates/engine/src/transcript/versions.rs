//! The versions of a page that a read may return if the page was written while the read was in flight.

use std::collections::BTreeMap;

use stripewise_array::MemberNo;

/// For each page with operations in flight, its contents before each write or trim since the first of these operations
/// began. The scribe keeps checksums of the contents, and the replay their bytes. Both call the same functions in the
/// same order, so a number means the same content in both.
#[derive(Debug)]
pub(super) struct Versions<T> {
    pages: BTreeMap<(MemberNo, u32), Page<T>>,
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
    fn begin(&mut self, place: (MemberNo, u32)) -> &mut Page<T> {
        let page = self.pages.entry(place).or_insert(Page { under_way: 0, before: Vec::new() });
        page.under_way += 1;
        page
    }

    /// Begins a read of the page `place`: a member, and a page of it.
    pub(super) fn read(&mut self, place: (MemberNo, u32)) {
        self.begin(place);
    }

    /// Begins a write or trim of the page. `before` is the current content of the page.
    pub(super) fn change(&mut self, place: (MemberNo, u32), before: T) {
        self.begin(place).before.push(before);
    }

    /// Ends an operation on the page.
    pub(super) fn over(&mut self, place: (MemberNo, u32)) {
        let Some(page) = self.pages.get_mut(&place) else { return };
        page.under_way -= 1;
        if page.under_way == 0 {
            self.pages.remove(&place);
        }
    }

    /// The contents of the page before each change that a read which ends now may have overtaken, oldest first.
    pub(super) fn before(&self, place: (MemberNo, u32)) -> &[T] {
        self.pages.get(&place).map_or(&[], |page| &page.before)
    }
}
