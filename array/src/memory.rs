//! Memory for data, a type parameter of the controller: nothing in timed simulation, pages with bytes elsewhere.

use stripewise_code::xor_into;

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
    /// Copies `bytes` of the payload from `from` into the page at `at`.
    fn load(&mut self, page: PageId, at: usize, host: &Self::Host, from: usize, bytes: usize);
    /// Copies `bytes` of the page from `at` into the payload at `to`.
    fn store(&self, page: PageId, at: usize, host: &mut Self::Host, to: usize, bytes: usize);
    /// Copies `bytes` at `at` of one page to the same place of another.
    fn copy(&mut self, into: PageId, from: PageId, at: usize, bytes: usize);
    /// Adds (exclusive or) one page to another.
    fn xor(&mut self, into: PageId, from: PageId);
    /// Clears a page.
    fn zero(&mut self, page: PageId);
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
    fn load(&mut self, _: PageId, _: usize, (): &(), _: usize, _: usize) {}
    fn store(&self, _: PageId, _: usize, (): &mut (), _: usize, _: usize) {}
    fn copy(&mut self, _: PageId, _: PageId, _: usize, _: usize) {}
    fn xor(&mut self, _: PageId, _: PageId) {}
    fn zero(&mut self, _: PageId) {}
}

/// Real bytes in a pool that grows to the most pages ever in use at once.
#[derive(Debug)]
pub struct PageMemory {
    page_bytes: usize,
    bytes: Vec<u8>,
    free: Vec<PageId>,
}

impl PageMemory {
    /// A pool of pages of `page_bytes`.
    pub fn new(page_bytes: u32) -> Self {
        Self { page_bytes: page_bytes as usize, bytes: Vec::new(), free: Vec::new() }
    }

    /// The content of a page.
    pub fn page(&self, page: PageId) -> &[u8] {
        let at = page as usize * self.page_bytes;
        &self.bytes[at..at + self.page_bytes]
    }

    /// The content of a page, to be filled.
    pub fn page_mut(&mut self, page: PageId) -> &mut [u8] {
        let at = page as usize * self.page_bytes;
        &mut self.bytes[at..at + self.page_bytes]
    }

    /// Buffers that were taken and not returned.
    pub fn in_use(&self) -> usize {
        self.bytes.len() / self.page_bytes - self.free.len()
    }

    fn pair(&mut self, into: PageId, from: PageId) -> (&mut [u8], &[u8]) {
        assert_ne!(into, from, "a page is not its own source");
        let size = self.page_bytes;
        let (into_at, from_at) = (into as usize * size, from as usize * size);
        if into_at < from_at {
            let (low, high) = self.bytes.split_at_mut(from_at);
            (&mut low[into_at..into_at + size], &high[..size])
        } else {
            let (low, high) = self.bytes.split_at_mut(into_at);
            (&mut high[..size], &low[from_at..from_at + size])
        }
    }
}

impl Memory for PageMemory {
    const CARRIES_DATA: bool = true;
    type Host = Box<[u8]>;

    fn take(&mut self) -> PageId {
        self.free.pop().unwrap_or_else(|| {
            let page = (self.bytes.len() / self.page_bytes) as PageId;
            self.bytes.resize(self.bytes.len() + self.page_bytes, 0);
            page
        })
    }

    fn give(&mut self, page: PageId) {
        debug_assert!(!self.free.contains(&page), "page {page} was returned twice");
        self.free.push(page);
    }

    fn load(&mut self, page: PageId, at: usize, host: &Box<[u8]>, from: usize, bytes: usize) {
        self.page_mut(page)[at..at + bytes].copy_from_slice(&host[from..from + bytes]);
    }

    fn store(&self, page: PageId, at: usize, host: &mut Box<[u8]>, to: usize, bytes: usize) {
        host[to..to + bytes].copy_from_slice(&self.page(page)[at..at + bytes]);
    }

    fn copy(&mut self, into: PageId, from: PageId, at: usize, bytes: usize) {
        let (into, from) = self.pair(into, from);
        into[at..at + bytes].copy_from_slice(&from[at..at + bytes]);
    }

    fn xor(&mut self, into: PageId, from: PageId) {
        let (into, from) = self.pair(into, from);
        xor_into(into, from);
    }

    fn zero(&mut self, page: PageId) {
        self.page_mut(page).fill(0);
    }
}
