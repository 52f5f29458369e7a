//! Memory for data, a type parameter of the controller: no bytes in timed simulation, pages of bytes elsewhere.

use std::marker::PhantomData;
use std::ops::Range;

use bytes::{Buf, BytesMut};
use serde::{Deserialize, Serialize};
use stripewise_code::Code;

use crate::geometry::COLUMNS_MAX;

/// Identifies a page buffer of a [`Memory`].
pub type PageId = u32;

/// Page buffers of the controller, and the payloads of host requests.
pub trait Memory {
    /// Whether this memory has bytes. If it has none, the controller never takes a buffer.
    const CARRIES_DATA: bool;
    /// The payload of a host request: the bytes to be written, or the buffer to be filled.
    type Host;

    /// Takes a buffer; its content is unspecified.
    fn take(&mut self) -> PageId;
    /// Returns a buffer.
    fn give(&mut self, page: PageId);
    /// A payload of `bytes` bytes, as a host would bring it, for the controller's own requests.
    fn payload(&self, bytes: usize) -> Self::Host;
    /// Copies `bytes` of the payload from `from` into the page at `at`.
    fn load(&mut self, page: PageId, at: usize, host: &Self::Host, from: usize, bytes: usize);
    /// Copies `bytes` of the page from `at` into the payload at `to`.
    fn store(&self, page: PageId, at: usize, host: &mut Self::Host, to: usize, bytes: usize);
    /// Copies `bytes` bytes at offset `at` from one page to the same offset of another.
    fn copy(&mut self, into: PageId, from: PageId, at: usize, bytes: usize);
    /// Clears a page.
    fn zero(&mut self, page: PageId);
    /// The content of a page; empty if this memory has no bytes.
    fn bytes(&self, page: PageId) -> &[u8];
    /// The content of a page, to be filled; empty if this memory has no bytes.
    fn bytes_mut(&mut self, page: PageId) -> &mut [u8];
    /// Adds one page to another: exclusive or.
    fn add(&mut self, into: PageId, from: PageId);
    /// Computes parity from data: `row` names the pages of a row in the order of `code`, data first.
    fn encode(&mut self, code: &Code, row: &[PageId]);
    /// Adds the change of one data column to the pages of `parity`. `code` knows the column by `index`; it changes from
    /// `old` (zeros if `None`) to `new`.
    fn update(&mut self, code: &Code, index: u32, old: Option<PageId>, new: PageId, parity: &[PageId]);
    /// Computes the columns of `wanted` from the columns of `row` that are not in `lost`. Lost columns that are not wanted
    /// need no page.
    fn decode(&mut self, code: &Code, row: &[PageId], lost: u64, wanted: u64);
}

/// Whether a buffer survives a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// The papers' NVRAM.
    #[default]
    Persistent,
    /// Plain memory; a flush drains it.
    Volatile,
}

/// Memory without bytes, for timed simulation. It costs nothing.
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

/// The payload of a host request where there are bytes: the bytes to be written, or the buffer to be filled.
pub trait Payload: AsRef<[u8]> + AsMut<[u8]> + for<'a> From<&'a [u8]> {}

impl<H: AsRef<[u8]> + AsMut<[u8]> + for<'a> From<&'a [u8]>> Payload for H {}

/// Pages are allocated in slabs. Each slab is as large as all earlier slabs together, up to this number of bytes.
const SLAB_BYTES: usize = 2 << 20;

/// Alignment of slabs: the strictest alignment that direct access to devices requires.
const SLAB_ALIGN: usize = 4096;

/// A pool of real bytes. It grows, slab by slab, to the largest number of pages in use at once, which the controller's
/// queues and its memory for chunks bound.
///
/// A page never moves, so the operating system may use a page that it was given until the operation ends.
#[derive(Debug)]
pub struct PagePool<H> {
    page_bytes: usize,
    /// The pages of the slabs. Each is owned separately, so that pages can be lent to a code one by one.
    pages: Vec<BytesMut>,
    free: Vec<PageId>,
    /// Identifiers of pages whose buffers were withdrawn.
    withdrawn: Vec<PageId>,
    /// The addresses of the slabs.
    slabs: Vec<Range<usize>>,
    /// The change of a column while it is added to parity.
    change: Box<[u8]>,
    host: PhantomData<fn(H) -> H>,
}

impl<H> PagePool<H> {
    /// A pool of pages of `page_bytes`.
    pub fn new(page_bytes: u32) -> Self {
        let page_bytes = page_bytes as usize;
        Self {
            page_bytes,
            pages: Vec::new(),
            free: Vec::new(),
            withdrawn: Vec::new(),
            slabs: Vec::new(),
            change: vec![0; page_bytes].into(),
            host: PhantomData,
        }
    }

    /// The content of a page.
    pub fn page(&self, page: PageId) -> &[u8] {
        &self.pages[page as usize]
    }

    /// The content of a page, to be filled.
    pub fn page_mut(&mut self, page: PageId) -> &mut [u8] {
        &mut self.pages[page as usize]
    }

    /// The number of buffers that were taken and not returned.
    pub fn in_use(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    /// The addresses of the slabs. Every page lies within one of them.
    pub fn slabs(&self) -> &[Range<usize>] {
        &self.slabs
    }

    /// Gives `page` another buffer with the same content and returns the previous buffer. For a caller that must continue
    /// although it cannot cancel an operation on the buffer. The memory stays valid until the returned buffer is dropped,
    /// even without the pool.
    pub fn withdraw(&mut self, page: PageId) -> BytesMut {
        let other = self.grab();
        let [one, two] = self.pages.get_disjoint_mut([page as usize, other as usize]).expect("two pages");
        two.copy_from_slice(one);
        std::mem::swap(one, two);
        self.withdrawn.push(other);
        std::mem::take(two)
    }

    /// Takes back a buffer that was withdrawn from this pool.
    pub fn take_back(&mut self, buffer: BytesMut) {
        let page = self.withdrawn.pop().expect("no more buffers return than were withdrawn");
        self.pages[page as usize] = buffer;
        self.free.push(page);
    }

    fn grab(&mut self) -> PageId {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().expect("a slab has pages")
    }

    fn grow(&mut self) {
        let most = (SLAB_BYTES / self.page_bytes).max(1);
        let count = self.pages.len().clamp(16.min(most), most);
        let mut slab = BytesMut::zeroed(count * self.page_bytes + SLAB_ALIGN);
        slab.advance(slab.as_ptr().align_offset(SLAB_ALIGN).min(SLAB_ALIGN));
        let start = slab.as_ptr() as usize;
        self.slabs.push(start..start + count * self.page_bytes);
        let first = self.pages.len() as PageId;
        self.pages.extend((0..count).map(|_| slab.split_to(self.page_bytes)));
        // The first page is the first to be taken.
        self.free.extend((first..self.pages.len() as PageId).rev());
    }

    /// Takes pages out of the pool while a code works on them. A page that does not exist stays empty.
    fn lend<const N: usize>(&mut self, row: &[PageId]) -> [BytesMut; N] {
        let mut lent = [const { None }; N];
        for (place, &page) in lent.iter_mut().zip(row) {
            *place = self.pages.get_mut(page as usize).map(std::mem::take);
        }
        lent.map(Option::unwrap_or_default)
    }

    /// Computes the parity of a row, of at most `N` pages.
    fn encode_into<const N: usize>(&mut self, code: &Code, row: &[PageId]) {
        let (data, parity) = row.split_at(code.data() as usize);
        let mut targets: [BytesMut; N] = self.lend(parity);
        let mut sources: [&[u8]; COLUMNS_MAX as usize] = [&[]; COLUMNS_MAX as usize];
        for (source, &page) in sources.iter_mut().zip(data) {
            *source = self.page(page);
        }
        let mut slices = targets.each_mut().map(|page| &mut **page);
        code.encode(&sources[..data.len()], &mut slices[..parity.len()]);
        self.put_back(parity, targets);
    }

    /// Puts lent pages back.
    fn put_back<const N: usize>(&mut self, row: &[PageId], lent: [BytesMut; N]) {
        for (content, &page) in lent.into_iter().zip(row) {
            if let Some(place) = self.pages.get_mut(page as usize) {
                *place = content;
            }
        }
    }
}

impl<H: Payload> Memory for PagePool<H> {
    const CARRIES_DATA: bool = true;
    type Host = H;

    fn take(&mut self) -> PageId {
        self.grab()
    }

    fn give(&mut self, page: PageId) {
        debug_assert!(!self.free.contains(&page), "page {page} was returned twice");
        self.free.push(page);
    }

    fn payload(&self, bytes: usize) -> H {
        vec![0; bytes].as_slice().into()
    }

    fn load(&mut self, page: PageId, at: usize, host: &H, from: usize, bytes: usize) {
        self.page_mut(page)[at..at + bytes].copy_from_slice(&host.as_ref()[from..from + bytes]);
    }

    fn store(&self, page: PageId, at: usize, host: &mut H, to: usize, bytes: usize) {
        host.as_mut()[to..to + bytes].copy_from_slice(&self.page(page)[at..at + bytes]);
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
        if code.parity() as usize <= PARITY_MAX {
            self.encode_into::<PARITY_MAX>(code, row);
        } else {
            self.encode_into::<{ COLUMNS_MAX as usize }>(code, row);
        }
    }

    fn update(&mut self, code: &Code, index: u32, old: Option<PageId>, new: PageId, parity: &[PageId]) {
        let mut change = std::mem::take(&mut self.change);
        change.copy_from_slice(self.page(new));
        if let Some(old) = old {
            stripewise_code::xor_into(&mut change, self.page(old));
        }
        let mut targets: [BytesMut; PARITY_MAX] = self.lend(parity);
        let mut slices = targets.each_mut().map(|page| &mut **page);
        code.update(index, &change, &mut slices[..parity.len()]);
        self.put_back(parity, targets);
        self.change = change;
    }

    fn decode(&mut self, code: &Code, row: &[PageId], lost: u64, wanted: u64) {
        let mut members: [BytesMut; COLUMNS_MAX as usize] = self.lend(row);
        let mut slices = members.each_mut().map(|page| &mut **page);
        code.decode(&mut slices[..row.len()], lost, wanted)
            .expect("plans decode no more than their code tolerates");
        self.put_back(row, members);
    }
}

/// Pages for hosts that bring plain bytes.
pub type PageMemory = PagePool<Box<[u8]>>;

/// The largest number of parity columns of a code whose stripes are one row deep.
const PARITY_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_every_size_are_aligned_and_lie_in_few_slabs() {
        for page_bytes in [512, 4096, 32 << 10] {
            let mut memory = PageMemory::new(page_bytes);
            let taken: Vec<PageId> = (0..3000).map(|_| memory.take()).collect();
            assert_eq!(memory.in_use(), 3000);
            assert!(memory.slabs().len() < 60, "slabs grow");
            assert!(memory.slabs().iter().all(|slab| slab.start % SLAB_ALIGN == 0));
            for &page in &taken {
                let at = memory.page(page).as_ptr() as usize;
                assert!(memory.slabs().iter().any(|slab| slab.contains(&at)));
                assert_eq!(at % page_bytes.min(4096) as usize, 0);
            }
            taken.into_iter().for_each(|page| memory.give(page));
            assert_eq!(memory.in_use(), 0);
        }
    }

    #[test]
    fn a_page_whose_buffer_is_withdrawn_keeps_its_content_and_not_its_place() {
        let mut memory = PageMemory::new(512);
        let page = memory.take();
        memory.page_mut(page).fill(7);
        let before = memory.page(page).as_ptr();
        let mut buffer = memory.withdraw(page);
        assert_eq!((buffer.as_ptr(), memory.page(page)), (before, &[7; 512][..]));
        assert_ne!(memory.page(page).as_ptr(), before);
        buffer.fill(1);
        assert_eq!(memory.page(page), [7; 512]);
        assert_eq!(memory.in_use(), 2);
        memory.take_back(buffer);
        assert_eq!((memory.in_use(), memory.page(page)), (1, &[7; 512][..]));
    }

    #[test]
    fn a_withdrawn_buffer_outlives_its_pool() {
        let mut memory = PageMemory::new(512);
        let page = memory.take();
        let mut buffer = memory.withdraw(page);
        drop(memory);
        buffer.fill(3);
        assert_eq!(buffer, [3; 512][..]);
    }
}
