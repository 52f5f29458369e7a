//! Write streams: the open block of a plane to which a page is written.
//!
//! A plane keeps one block open for each stream of programs (Kang et al., HotStorage 2014; the reclaim unit handles
//! of NVMe Flexible Data Placement, NVM Express Base Specification 2.1, section 5.1.12.1.28). It keeps one or more
//! additional blocks open if collection writes moved pages to separate blocks. The open block of stream 0 is stored
//! in the plane itself, since a device without streams has no other. The rest are stored here, and swap places with
//! it while one of their pages is written.

use std::ops::Range;

use crate::geometry::Shape;
use crate::spec::{DeviceSpec, Isolation, Moves};

/// The next page of a block that is being written, and the end of its data pages; equal if there is no such block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WritePoint {
    pub(crate) next: u32,
    pub(crate) end: u32,
}

impl WritePoint {
    /// The same write point, `pages` later.
    pub(crate) fn after(self, pages: u32) -> Self {
        Self { next: self.next + pages, end: self.end + pages }
    }

    /// Whether no page is left.
    #[inline(always)]
    pub(crate) fn is_full(self) -> bool {
        self.next == self.end
    }

    /// The pages that are not yet written.
    pub(crate) fn pages(self) -> Range<u32> {
        self.next..self.end
    }
}

/// The open blocks of all planes, except those of stream 0. The open blocks of a plane are numbered: first one for
/// each stream, then those for moves.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    count: u32,
    /// Open blocks per plane, without that of stream 0.
    others: u32,
    /// The open block for pages that are moved out of a block of stream 0.
    moves: u32,
    /// Moved pages stay in their stream.
    persistent: bool,
    points: Vec<WritePoint>,
    /// The stream of each block that holds data; empty unless moves need it.
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

    /// Number of streams of programs.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Whether a plane has a single open block, for both programs and moves.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.others == 0
    }

    /// Whether a plane without free blocks writes to the rest of another open block. Only the block for moves and the
    /// block of a device without streams share in this way, because there programs leave pages to collection, not
    /// whole blocks.
    #[inline(always)]
    pub(crate) fn lend(&self) -> bool {
        self.count == 1 && self.others == 1
    }

    /// Open block `open` of a plane; not 0.
    #[inline(always)]
    pub(crate) fn point_mut(&mut self, plane: u32, open: u32) -> &mut WritePoint {
        &mut self.points[(plane * self.others + open - 1) as usize]
    }

    /// The open blocks of a plane, except 0.
    #[inline(always)]
    pub(crate) fn points(&self, plane: u32) -> &[WritePoint] {
        &self.points[(plane * self.others) as usize..][..self.others as usize]
    }

    /// Records that a block, counted over all planes, becomes an open one.
    #[inline(always)]
    pub(crate) fn opened(&mut self, block: usize, open: u32) {
        if self.persistent {
            // The open blocks for moves are numbered in the order of the streams.
            self.of_block[block] = (open % self.count) as u8;
        }
    }

    /// The open block for pages moved out of a block, counted over all planes.
    #[inline(always)]
    pub(crate) fn for_moves(&self, block: usize) -> u32 {
        self.moves + if self.persistent { u32::from(self.of_block[block]) } else { 0 }
    }

    /// Copies to a plane the open blocks, moved by `pages`, and the streams of the blocks of the only plane of
    /// `template`.
    pub(crate) fn stamp(&mut self, plane: u32, blocks: Range<usize>, template: &Self, pages: u32) {
        for (open, point) in (1..).zip(template.points(0)) {
            *self.point_mut(plane, open) = point.after(pages);
        }
        if self.persistent {
            self.of_block[blocks].copy_from_slice(&template.of_block);
        }
    }
}
