//! Write streams: which of a plane's open blocks a page is written to.
//!
//! A plane keeps a block open for each stream that programs name (Kang et al., HotStorage 2014; the reclaim unit handles
//! of NVMe Flexible Data Placement, NVM Express Base Specification 2.1, section 5.1.12.1.28), and one or several more
//! where what collection moves goes apart. The open block of stream 0 stands in the plane itself, since a device without
//! streams has no other; the rest stand here, and change places with it while a page of theirs is written.

use std::ops::Range;

use crate::geometry::Shape;
use crate::spec::{DeviceSpec, Isolation, Moves};

/// Next page of a block that is being written, and the end of its data pages; equal when there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WritePoint {
    pub(crate) next: u32,
    pub(crate) end: u32,
}

impl WritePoint {
    /// The same so many pages later.
    pub(crate) fn after(self, pages: u32) -> Self {
        Self { next: self.next + pages, end: self.end + pages }
    }

    /// Whether there is no page left.
    #[inline(always)]
    pub(crate) fn is_full(self) -> bool {
        self.next == self.end
    }

    /// The pages that are still to be written.
    pub(crate) fn pages(self) -> Range<u32> {
        self.next..self.end
    }
}

/// The open blocks of all planes, but for those of stream 0. Open blocks of a plane are numbered: one for each stream,
/// then those of moves.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    count: u32,
    /// Open blocks of a plane without that of stream 0.
    others: u32,
    /// The open block of what is moved out of a block of stream 0.
    moves: u32,
    /// What is moved stays in its stream.
    persistent: bool,
    points: Vec<WritePoint>,
    /// The stream of each block that holds data; empty unless moves have to know it.
    of_block: Vec<u8>,
}

impl Streams {
    pub(crate) fn new(spec: &DeviceSpec, shape: &Shape) -> Self {
        let (count, planes) = (spec.ftl.streams, shape.planes as usize);
        let others = spec.open_blocks() - 1;
        let persistent = spec.ftl.isolation == Isolation::Persistent;
        let blocks = if persistent { planes * shape.blocks_per_plane as usize } else { 0 };
        Self {
            count,
            others,
            moves: if spec.gc.moves == Moves::Apart { count } else { 0 },
            persistent,
            points: vec![WritePoint::default(); planes * others as usize],
            of_block: vec![0; blocks],
        }
    }

    /// Bytes of state.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.points[..]) + size_of_val(&self.of_block[..])
    }

    /// Streams that programs tell apart.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Whether a plane has one open block, for programs and moves alike.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.others == 0
    }

    /// Whether a plane without free blocks writes to what is left of another open block. Only the one of moves and the
    /// one of a device without streams: there programs leave collection pages, not whole blocks.
    #[inline(always)]
    pub(crate) fn lend(&self) -> bool {
        self.count == 1 && self.others == 1
    }

    /// The open block, but 0, of a plane.
    #[inline(always)]
    pub(crate) fn point_mut(&mut self, plane: u32, open: u32) -> &mut WritePoint {
        &mut self.points[(plane * self.others + open - 1) as usize]
    }

    /// The open blocks, but 0, of a plane.
    #[inline(always)]
    pub(crate) fn points(&self, plane: u32) -> &[WritePoint] {
        &self.points[(plane * self.others) as usize..][..self.others as usize]
    }

    /// A block, counted over all planes, becomes one of the open ones.
    #[inline(always)]
    pub(crate) fn opened(&mut self, block: usize, open: u32) {
        if self.persistent {
            // Open blocks of moves repeat the streams.
            self.of_block[block] = (open % self.count) as u8;
        }
    }

    /// Which open block takes what is moved out of a block, counted over all planes.
    #[inline(always)]
    pub(crate) fn for_moves(&self, block: usize) -> u32 {
        self.moves + if self.persistent { u32::from(self.of_block[block]) } else { 0 }
    }

    /// Gives a plane's open blocks, `pages` later, and its blocks' streams those of the only plane of `template`.
    pub(crate) fn stamp(&mut self, plane: u32, blocks: Range<usize>, template: &Self, pages: u32) {
        for (open, point) in (1..).zip(template.points(0)) {
            *self.point_mut(plane, open) = point.after(pages);
        }
        if self.persistent {
            self.of_block[blocks].copy_from_slice(&template.of_block);
        }
    }
}
