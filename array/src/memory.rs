//! Memory for data, a type parameter of the controller: nothing in timed simulation, pages with bytes elsewhere.

use stripewise_code::Code;

use crate::geometry::MEMBERS_MAX;

/// Names a page buffer of a [`Memory`].
pub type PageId = u32;

/// Page buffers of the controller and the payloads that hosts bring.
pub trait Memory {
    /// Whether there are bytes at all. Where there are none, no buffer is ever asked for.
    const CARRIES_DATA: bool;
    /// What a host request brings to be written, or offers to be filled.
    type Host;

    /// A buffer, with whatever content it last had.
    fn take(&mut self) -> PageId;
    /// Returns a buffer.
    fn give(&mut self, page: PageId);
    /// Room for so many bytes, as a host would bring it, for requests of the controller's own.
    fn payload(&self, bytes: usize) -> Self::Host;
    /// Copies `bytes` of the payload from `from` into the page at `at`.
    fn load(&mut self, page: PageId, at: usize, host: &Self::Host, from: usize, bytes: usize);
    /// Copies `bytes` of the page from `at` into the payload at `to`.
    fn store(&self, page: PageId, at: usize, host: &mut Self::Host, to: usize, bytes: usize);
    /// Copies `bytes` at `at` of one page to the same place of another.
    fn copy(&mut self, into: PageId, from: PageId, at: usize, bytes: usize);
    /// Clears a page.
    fn zero(&mut self, page: PageId);
    /// The content of a page; nothing where there are no bytes.
    fn bytes(&self, page: PageId) -> &[u8];
    /// The content of a page, to be filled; nothing where there are no bytes.
    fn bytes_mut(&mut self, page: PageId) -> &mut [u8];
    /// Adds one page to another: exclusive or.
    fn add(&mut self, into: PageId, from: PageId);
    /// Makes parity of data: `row` names the pages of a row in the order of `code`, data first.
    fn encode(&mut self, code: &Code, row: &[PageId]);
    /// Adds to the pages of `parity` the change of the data member that `code` knows by `index`: from `old` (zeros if
    /// there is none) to `new`.
    fn update(&mut self, code: &Code, index: u32, old: Option<PageId>, new: PageId, parity: &[PageId]);
    /// Makes the members of `wanted` from those of `row` that are not in `lost`. Those that are lost and not wanted need
    /// no page.
    fn decode(&mut self, code: &Code, row: &[PageId], lost: u64, wanted: u64);
}

/// No bytes: the memory of timed simulation. Costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    const CARRIES_DATA: bool = false;
    type Host = ();

    fn take(&mut self) -> PageId {
        0
    }
    fn give(&mut self, _: PageId) {}
    fn payload(&self, _: usize) {}
    fn load(&mut self, _: PageId, _: usize, (): &(), _: usize, _: usize) {}
    fn store(&self, _: PageId, _: usize, (): &mut (), _: usize, _: usize) {}
    fn copy(&mut self, _: PageId, _: PageId, _: usize, _: usize) {}
    fn zero(&mut self, _: PageId) {}
    fn bytes(&self, _: PageId) -> &[u8] {
        &[]
    }
    fn bytes_mut(&mut self, _: PageId) -> &mut [u8] {
        &mut []
    }
    fn add(&mut self, _: PageId, _: PageId) {}
    fn encode(&mut self, _: &Code, _: &[PageId]) {}
    fn update(&mut self, _: &Code, _: u32, _: Option<PageId>, _: PageId, _: &[PageId]) {}
    fn decode(&mut self, _: &Code, _: &[PageId], _: u64, _: u64) {}
}

/// Real bytes in a pool that grows to the most pages ever in use at once.
#[derive(Debug)]
pub struct PageMemory {
    page_bytes: usize,
    /// One allocation a page, so that pages can be lent to a code one by one.
    pages: Vec<Box<[u8]>>,
    free: Vec<PageId>,
    /// The change of a member while parity takes it in.
    change: Box<[u8]>,
}

impl PageMemory {
    /// A pool of pages of `page_bytes`.
    pub fn new(page_bytes: u32) -> Self {
        let page_bytes = page_bytes as usize;
        Self { page_bytes, pages: Vec::new(), free: Vec::new(), change: vec![0; page_bytes].into() }
    }

    /// The content of a page.
    pub fn page(&self, page: PageId) -> &[u8] {
        &self.pages[page as usize]
    }

    /// The content of a page, to be filled.
    pub fn page_mut(&mut self, page: PageId) -> &mut [u8] {
        &mut self.pages[page as usize]
    }

    /// Buffers that were taken and not returned.
    pub fn in_use(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    /// Takes pages out of the pool while a code works on them. One that is not there stays empty.
    fn lend<const N: usize>(&mut self, row: &[PageId]) -> [Box<[u8]>; N] {
        let mut lent = [const { Vec::new() }; N].map(Vec::into_boxed_slice);
        for (place, &page) in lent.iter_mut().zip(row) {
            if let Some(content) = self.pages.get_mut(page as usize) {
                *place = std::mem::take(content);
            }
        }
        lent
    }

    /// Puts pages back that were lent.
    fn put_back<const N: usize>(&mut self, row: &[PageId], lent: [Box<[u8]>; N]) {
        for (content, &page) in lent.into_iter().zip(row) {
            if let Some(place) = self.pages.get_mut(page as usize) {
                *place = content;
            }
        }
    }
}

impl Memory for PageMemory {
    const CARRIES_DATA: bool = true;
    type Host = Box<[u8]>;

    fn take(&mut self) -> PageId {
        self.free.pop().unwrap_or_else(|| {
            self.pages.push(vec![0; self.page_bytes].into());
            (self.pages.len() - 1) as PageId
        })
    }

    fn give(&mut self, page: PageId) {
        debug_assert!(!self.free.contains(&page), "page {page} was returned twice");
        self.free.push(page);
    }

    fn payload(&self, bytes: usize) -> Box<[u8]> {
        vec![0; bytes].into()
    }

    fn load(&mut self, page: PageId, at: usize, host: &Box<[u8]>, from: usize, bytes: usize) {
        self.page_mut(page)[at..at + bytes].copy_from_slice(&host[from..from + bytes]);
    }

    fn store(&self, page: PageId, at: usize, host: &mut Box<[u8]>, to: usize, bytes: usize) {
        host[to..to + bytes].copy_from_slice(&self.page(page)[at..at + bytes]);
    }

    fn copy(&mut self, into: PageId, from: PageId, at: usize, bytes: usize) {
        let [into, from] = self.pages.get_disjoint_mut([into as usize, from as usize]).expect("two pages");
        into[at..at + bytes].copy_from_slice(&from[at..at + bytes]);
    }

    fn zero(&mut self, page: PageId) {
        self.page_mut(page).fill(0);
    }

    fn bytes(&self, page: PageId) -> &[u8] {
        self.page(page)
    }

    fn bytes_mut(&mut self, page: PageId) -> &mut [u8] {
        self.page_mut(page)
    }

    fn add(&mut self, into: PageId, from: PageId) {
        let [into, from] = self.pages.get_disjoint_mut([into as usize, from as usize]).expect("two pages");
        stripewise_code::xor_into(into, from);
    }

    fn encode(&mut self, code: &Code, row: &[PageId]) {
        let (data, parity) = row.split_at(code.data() as usize);
        let mut targets: [Box<[u8]>; PARITY_MAX] = self.lend(parity);
        let mut sources: [&[u8]; MEMBERS_MAX as usize] = [&[]; MEMBERS_MAX as usize];
        for (source, &page) in sources.iter_mut().zip(data) {
            *source = self.page(page);
        }
        let mut slices = targets.each_mut().map(|page| &mut **page);
        code.encode(&sources[..data.len()], &mut slices[..parity.len()]);
        self.put_back(parity, targets);
    }

    fn update(&mut self, code: &Code, index: u32, old: Option<PageId>, new: PageId, parity: &[PageId]) {
        let mut change = std::mem::take(&mut self.change);
        change.copy_from_slice(self.page(new));
        if let Some(old) = old {
            stripewise_code::xor_into(&mut change, self.page(old));
        }
        let mut targets: [Box<[u8]>; PARITY_MAX] = self.lend(parity);
        let mut slices = targets.each_mut().map(|page| &mut **page);
        code.update(index, &change, &mut slices[..parity.len()]);
        self.put_back(parity, targets);
        self.change = change;
    }

    fn decode(&mut self, code: &Code, row: &[PageId], lost: u64, wanted: u64) {
        let mut members: [Box<[u8]>; MEMBERS_MAX as usize] = self.lend(row);
        let mut slices = members.each_mut().map(|page| &mut **page);
        code.decode(&mut slices[..row.len()], lost, wanted).expect("plans decode what their code can bear");
        self.put_back(row, members);
    }
}

/// The most parity members that a code has.
const PARITY_MAX: usize = 2;
