//! The page-level map of every member and the blocks of every plane, and the code that keeps them consistent. This
//! module has no notion of time.
//!
//! There are three flat arrays: `map` (logical to physical), `back` (physical to logical) and `valid` (valid pages of
//! each block). Entries of the first two are a number plus one, so that fresh state is zeroed memory. A write does
//! not touch the `back` entry of the page that it replaces: a physical page is valid if it is pinned, or if `map`
//! still leads from its `back` entry to it. This saves a cache miss on every write and costs collection none, since
//! collection must read `map` for every page that it moves anyway.

use stripewise_base::huge::Huge;

use crate::geometry::Shape;
use crate::map::pins::Pins;
use crate::map::streams::{Streams, WritePoint};
use crate::map::wear::Wear;
use crate::spec::{AgeSpec, DeviceSpec, FreeBlock, Victim};
use crate::validate::Threshold;

/// Mark of a block that is being written, combined with its count.
pub(crate) const OPEN: u16 = 0x8000;
/// A block without data.
pub(crate) const FREE: u16 = 0xFFFF;
/// Mark of a `back` entry whose physical page is a pinned old version.
const PINNED: u32 = 1 << 31;

/// State of the blocks of a plane. Page numbers count within the member, block numbers within the plane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plane {
    /// The block that is being written; with several streams, the block of stream 0.
    point: WritePoint,
    /// Free pages that can take data.
    pub(crate) free_pages: u32,
    /// Number of blocks without data; in the plane's ring of free blocks they start at `free_from`.
    pub(crate) free_blocks: u32,
    free_from: u32,
    /// Full blocks, oldest first: their start in the ring of written blocks, and their number (FIFO victims only).
    closed_from: u16,
    closed: u16,
    /// Valid pages, pinned ones included (counted only with dynamic allocation).
    pub(crate) valid: u32,
    /// Programs for which a page of this plane is reserved and that have not taken it yet.
    pub(crate) promised: u32,
}

/// The page that a program took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Physical page within the member.
    pub(crate) page: u32,
    /// The page was the last data page of its block.
    pub(crate) filled: bool,
    /// The plane is now at or below its low watermark.
    pub(crate) low: bool,
}

/// The content of a valid physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tenant {
    pub(crate) logical: u32,
    pub(crate) pinned: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    pub(crate) map: Huge<u32>,
    pub(crate) back: Huge<u32>,
    valid: Vec<u16>,
    pub(crate) planes: Vec<Plane>,
    /// For each plane, a ring of its free blocks, used in the order in which they were freed: the simplest dynamic
    /// wear levelling.
    free: Vec<u16>,
    /// For each plane, a ring of its written blocks, oldest first; empty unless the victim policy is FIFO.
    closed: Vec<u16>,
    /// For each block, the plane's clock at its last change; and the clock of each plane, which counts the pages that
    /// it programs. Empty unless the victim policy needs them.
    changed: Vec<u32>,
    clocks: Vec<u32>,
    /// The open blocks of the other streams.
    pub(crate) streams: Streams,
    /// The free block with the fewest erases is written next.
    least_worn: bool,
    pub(crate) pins: Pins,
    pub(crate) wear: Wear,
    shape: Shape,
    low: Threshold,
    high: Threshold,
    soft: Option<Threshold>,
    hard: Option<Threshold>,
    /// Whether planes count their valid pages.
    dynamic: bool,
}

impl Ftl {
    pub(crate) fn new(spec: &DeviceSpec, shape: &Shape, dynamic: bool) -> Self {
        let members = shape.members as usize;
        let blocks = shape.blocks_per_plane;
        let planes = shape.planes as usize;
        let fifo = spec.gc.victim == Victim::Fifo;
        let aged = matches!(spec.gc.victim, Victim::CostBenefit | Victim::Custom);
        Self {
            map: Huge::zeroed(members * shape.logical_pages as usize),
            back: Huge::zeroed(members * shape.pages_per_member as usize),
            valid: vec![FREE; planes * blocks as usize],
            planes: vec![
                Plane {
                    free_blocks: blocks,
                    free_pages: blocks * shape.data_pages,
                    ..Plane::default()
                };
                planes
            ],
            free: (0..planes).flat_map(|_| 0..blocks as u16).collect(),
            closed: if fifo { vec![0; planes * blocks as usize] } else { Vec::new() },
            changed: if aged { vec![0; planes * blocks as usize] } else { Vec::new() },
            clocks: if aged { vec![0; planes] } else { Vec::new() },
            streams: Streams::new(spec, shape),
            least_worn: spec.wear.is_some_and(|wear| wear.free_block == FreeBlock::LeastWorn),
            pins: Pins::new(),
            wear: Wear::new(spec, shape),
            shape: *shape,
            low: spec.threshold(spec.gc.low_watermark),
            high: spec.threshold(spec.gc.high_watermark.unwrap_or(spec.gc.low_watermark)),
            soft: spec.gc.soft_watermark.map(|watermark| spec.threshold(watermark)),
            hard: spec.gc.hard_watermark.map(|watermark| spec.threshold(watermark)),
            dynamic,
        }
    }

    /// Bytes of state, to verify the documented limit of 12 bytes per page.
    pub(crate) fn bytes(&self) -> usize {
        self.map.bytes()
            + self.back.bytes()
            + size_of_val(&self.valid[..])
            + size_of_val(&self.planes[..])
            + size_of_val(&self.free[..])
            + size_of_val(&self.closed[..])
            + size_of_val(&self.changed[..])
            + self.streams.bytes()
            + self.wear.bytes()
    }

    #[inline(always)]
    fn map_at(&self, member: u32, logical: u32) -> usize {
        member as usize * self.shape.logical_pages as usize + logical as usize
    }

    #[inline(always)]
    fn back_at(&self, member: u32, page: u32) -> usize {
        member as usize * self.shape.pages_per_member as usize + page as usize
    }

    /// The number of a page's block among the blocks of all members.
    #[inline(always)]
    pub(crate) fn block_at(&self, member: u32, page: u32) -> usize {
        member as usize * self.shape.blocks_per_member() as usize + self.shape.block_of_page(page) as usize
    }

    /// The physical page that holds a logical page.
    #[inline(always)]
    pub(crate) fn lookup(&self, member: u32, logical: u32) -> Option<u32> {
        self.map[self.map_at(member, logical)].checked_sub(1)
    }

    /// The physical page for a read of the pinned version: the pinned page, or the current page if none is pinned.
    pub(crate) fn lookup_old(&self, member: u32, logical: u32) -> Option<u32> {
        match self.pins.get(member, logical) {
            Some(version) => version.checked_sub(1),
            None => self.lookup(member, logical),
        }
    }

    /// Free pages of a plane that can take data.
    #[inline(always)]
    pub(crate) fn free_pages(&self, plane: u32) -> u32 {
        self.planes[plane as usize].free_pages
    }

    /// Whether a plane can take one more program of a stream without endangering collection. False only while the
    /// plane waits for collection or for pins to be released.
    ///
    /// Collection needs one block's worth of pages for its moves. Without streams, all free pages serve equally. With
    /// streams, the rest of one stream's block does not serve moves to another stream, so programs leave one free
    /// block.
    #[inline(always)]
    pub(crate) fn has_space(&self, plane: u32, stream: u8) -> bool {
        let p = &self.planes[plane as usize];
        if self.streams.count() == 1 {
            return p.free_pages > self.shape.data_pages;
        }
        p.free_blocks > 1 || p.free_blocks == 1 && !self.point(plane, stream.into()).is_full()
    }

    /// Free pages of a plane that programs of a stream could take: the rest of the stream's open block, and all free
    /// blocks.
    #[inline(always)]
    pub(crate) fn free_pages_for(&self, plane: u32, stream: u8) -> u32 {
        let p = &self.planes[plane as usize];
        if self.streams.is_alone() {
            return p.free_pages;
        }
        let own = self.point(plane, stream.into());
        p.free_blocks * self.shape.data_pages + (own.end - own.next)
    }

    /// Whether a plane is at or below a threshold. The open blocks of other streams may have many free pages that a
    /// program cannot use. Therefore a plane with streams is also below a threshold in pages when only the block that
    /// programs leave to collection is free.
    #[inline(always)]
    fn at_or_below(&self, plane: u32, threshold: Threshold) -> bool {
        let p = &self.planes[plane as usize];
        match threshold {
            Threshold::Pages(pages) => {
                p.free_pages <= pages || self.streams.count() > 1 && p.free_blocks <= 1
            }
            Threshold::Blocks(blocks) => p.free_blocks <= blocks,
        }
    }

    /// Whether a plane has reached its low watermark.
    #[inline(always)]
    pub(crate) fn is_low(&self, plane: u32) -> bool {
        self.at_or_below(plane, self.low)
    }

    /// Whether a plane is at most `blocks` blocks above its low watermark.
    pub(crate) fn is_near_low(&self, plane: u32, blocks: u32) -> bool {
        self.at_or_below(plane, self.low.above(blocks, self.shape.data_pages))
    }

    /// Whether a plane has reached its soft watermark.
    pub(crate) fn is_soft(&self, plane: u32) -> bool {
        self.soft.is_some_and(|soft| self.at_or_below(plane, soft))
    }

    /// Whether a plane has reached its hard watermark.
    pub(crate) fn is_hard(&self, plane: u32) -> bool {
        self.hard.is_some_and(|hard| self.at_or_below(plane, hard))
    }

    /// Whether collection of a plane must continue.
    pub(crate) fn below_high(&self, plane: u32) -> bool {
        self.at_or_below(plane, self.high)
    }

    /// The pages and whole free blocks that a plane has gained after one more block with `moves` valid pages is
    /// collected.
    pub(crate) fn gains(&self, plane: u32, (pages, blocks): (u32, i64), moves: u32) -> (u32, i64) {
        let (p, full) = (&self.planes[plane as usize], i64::from(self.shape.data_pages));
        let free = i64::from(p.free_pages) + i64::from(pages);
        let room = free - (i64::from(p.free_blocks) + blocks) * full;
        let opened = i64::from(i64::from(moves) > room);
        (pages + self.shape.data_pages - moves, blocks + 1 - opened)
    }

    /// Whether collection of a plane would have to continue with this many more free pages and blocks.
    pub(crate) fn below_high_after(&self, plane: u32, (pages, blocks): (u32, i64)) -> bool {
        let p = &self.planes[plane as usize];
        match self.high {
            Threshold::Pages(most) => p.free_pages + pages <= most,
            Threshold::Blocks(most) => i64::from(p.free_blocks) + blocks <= i64::from(most),
        }
    }

    /// Takes the next page of one of a plane's open blocks, for a program or a move. The caller guarantees that there
    /// is a page.
    #[inline(always)]
    fn append(&mut self, member: u32, plane: u32, open: u32) -> (u32, bool) {
        if open != 0 {
            self.swap_points(plane, open);
        }
        let appended = self.append_here(member, plane, open);
        if open != 0 {
            self.swap_points(plane, open);
        }
        appended
    }

    /// [`Self::append`] to the open block that is currently stored in the plane.
    #[inline(always)]
    fn append_here(&mut self, member: u32, plane: u32, open: u32) -> (u32, bool) {
        if self.planes[plane as usize].point.is_full() {
            self.open_block(member, plane, open);
        }
        let p = &mut self.planes[plane as usize];
        let page = p.point.next;
        p.point.next += 1;
        p.free_pages -= 1;
        let filled = p.point.is_full();
        if filled {
            let at = self.block_at(member, page);
            self.valid[at] &= !OPEN;
            if !self.closed.is_empty() {
                let p = &mut self.planes[plane as usize];
                let blocks = self.shape.blocks_per_plane;
                let ring = plane as usize * blocks as usize;
                let place = (u32::from(p.closed_from) + u32::from(p.closed)) % blocks;
                self.closed[ring + place as usize] = (at - ring) as u16;
                p.closed += 1;
            }
        }
        if !self.clocks.is_empty() {
            let clock = &mut self.clocks[plane as usize];
            *clock = clock.wrapping_add(1);
            let at = self.block_at(member, page);
            self.changed[at] = self.clocks[plane as usize];
        }
        (page, filled)
    }

    /// Opens the first free block of a plane's ring. If there is none, uses the rest of the other open block where
    /// streams may share it.
    fn open_block(&mut self, member: u32, plane: u32, open: u32) {
        if self.planes[plane as usize].free_blocks == 0 && self.streams.lend() {
            return self.swap_points(plane, 1);
        }
        if self.least_worn {
            self.bring_least_worn(plane);
        }
        let local = plane - self.shape.first_plane(member);
        let p = &mut self.planes[plane as usize];
        let ring = plane as usize * self.shape.blocks_per_plane as usize;
        assert!(p.free_blocks > 0, "plane {plane} has no free block: collection fell behind");
        let block = self.free[ring + p.free_from as usize];
        p.free_from = if p.free_from + 1 == self.shape.blocks_per_plane { 0 } else { p.free_from + 1 };
        p.free_blocks -= 1;
        // Counted as if all its pages were written and valid, so that closing the block needs no counting.
        self.valid[ring + usize::from(block)] = OPEN | self.shape.data_pages as u16;
        let next = (local * self.shape.blocks_per_plane + u32::from(block)) * self.shape.pages_per_block;
        p.point = WritePoint { next, end: next + self.shape.data_pages };
        self.streams.opened(ring + usize::from(block), open);
    }

    /// Swaps open block `open` of a plane (not 0) with the open block stored in the plane.
    #[inline(always)]
    fn swap_points(&mut self, plane: u32, open: u32) {
        std::mem::swap(&mut self.planes[plane as usize].point, self.streams.point_mut(plane, open));
    }

    /// Moves the free block of a plane with the fewest erases to the front of the ring.
    fn bring_least_worn(&mut self, plane: u32) {
        let (p, blocks) = (self.planes[plane as usize], self.shape.blocks_per_plane);
        let first = plane as usize * blocks as usize;
        let ring = &mut self.free[first..][..blocks as usize];
        let at = |place: u32| ((p.free_from + place) % blocks) as usize;
        let worn = |block: u16| self.wear.erases(first + usize::from(block));
        let least = (0..p.free_blocks).min_by_key(|&place| worn(ring[at(place)]));
        // Blocks before it move up by one, so that they keep their order.
        for place in (0..least.unwrap_or(0)).rev() {
            ring.swap(at(place), at(place + 1));
        }
    }

    /// For each block of a plane, the number of pages that the plane has programmed since the block changed.
    pub(crate) fn ages_of(&self, plane: u32) -> impl Fn(usize) -> u32 {
        let first = plane as usize * self.shape.blocks_per_plane as usize;
        move |block| self.clocks[plane as usize].wrapping_sub(self.changed[first + block])
    }

    /// The block with data that has the fewest erases in a plane (the first of equals), if `erased` has more than
    /// `gap` erases more.
    pub(crate) fn coldest(&self, plane: u32, erased: u32, gap: u32) -> Option<u32> {
        let first = plane as usize * self.shape.blocks_per_plane as usize;
        let counts = self.valid_of(plane).iter().enumerate().filter(|(_, count)| **count < OPEN);
        let (worn, block) = counts.map(|(block, _)| (self.wear.erases(first + block), block)).min()?;
        (self.wear.erases(first + erased as usize).saturating_sub(worn) > gap).then_some(block as u32)
    }

    /// Marks a physical page as no longer valid.
    #[inline(always)]
    fn invalidate(&mut self, member: u32, page: u32) {
        let at = self.block_at(member, page);
        self.valid[at] -= 1;
        if !self.changed.is_empty() {
            self.changed[at] = self.clocks[at / self.shape.blocks_per_plane as usize];
        }
        if self.dynamic {
            let plane = self.shape.first_plane(member) + self.shape.plane_of_page(page);
            self.planes[plane as usize].valid -= 1;
        }
    }

    /// Invalidates the old version of a page, or pins it if asked to and no version is pinned yet.
    #[inline(always)]
    fn replace(&mut self, member: u32, logical: u32, old: u32, pin: bool) {
        if pin && self.pins.get(member, logical).is_none() {
            self.pins.set(member, logical, old);
            if old != 0 {
                let at = self.back_at(member, old - 1);
                self.back[at] |= PINNED;
            }
        } else if old != 0 {
            self.invalidate(member, old - 1);
        }
    }

    /// Writes a logical page to a plane, into the open block of a stream.
    #[inline(always)]
    pub(crate) fn program(&mut self, member: u32, logical: u32, plane: u32, stream: u8, pin: bool) -> Placed {
        let (page, filled) = self.append(member, plane, stream.into());
        let at = self.map_at(member, logical);
        let old = std::mem::replace(&mut self.map[at], page + 1);
        let at = self.back_at(member, page);
        self.back[at] = logical + 1;
        if self.dynamic {
            self.planes[plane as usize].valid += 1;
        }
        self.replace(member, logical, old, pin);
        Placed { page, filled, low: self.is_low(plane) }
    }

    /// Unmaps a logical page.
    pub(crate) fn unmap(&mut self, member: u32, logical: u32, pin: bool) {
        let at = self.map_at(member, logical);
        let old = std::mem::take(&mut self.map[at]);
        self.replace(member, logical, old, pin);
    }

    /// Ends the pin of a logical page's old version, if there is one.
    pub(crate) fn release(&mut self, member: u32, logical: u32) {
        if let Some(version) = self.pins.remove(member, logical)
            && let Some(page) = version.checked_sub(1)
        {
            let at = self.back_at(member, page);
            self.back[at] = 0;
            self.invalidate(member, page);
        }
    }

    /// The content of a physical page of a written block, if the page is valid.
    #[inline(always)]
    pub(crate) fn tenant(&self, member: u32, page: u32) -> Option<Tenant> {
        let entry = self.back[self.back_at(member, page)];
        let logical = (entry & !PINNED).checked_sub(1)?;
        let pinned = entry & PINNED != 0;
        (pinned || self.lookup(member, logical) == Some(page)).then_some(Tenant { logical, pinned })
    }

    /// Lists the valid pages of a written block as offsets from `first`, and returns their number. Which pages are
    /// valid is practically random, so the loop avoids a branch on it. It reads the map for many pages before it
    /// evaluates any of them, so that more cache misses are outstanding at a time.
    pub(crate) fn list_valid(&self, member: u32, first: u32, list: &mut [u16]) -> usize {
        let map = &self.map[self.map_at(member, 0)..][..self.shape.logical_pages as usize];
        let back = &self.back[self.back_at(member, first)..][..list.len()];
        let mut count = 0;
        let mut found = [0; 64];
        for (chunk, entries) in back.chunks(64).enumerate() {
            for (found, entry) in found.iter_mut().zip(entries) {
                *found = map[((entry & !PINNED).max(1) - 1) as usize];
            }
            let offsets = 64 * chunk as u32..;
            for (offset, (&entry, &found)) in offsets.zip(entries.iter().zip(&found)) {
                let valid = (entry != 0) & ((entry & PINNED != 0) | (found == first + offset + 1));
                list[count] = offset as u16;
                count += usize::from(valid);
            }
        }
        count
    }

    /// Moves a valid page within its plane; returns the new page and whether it was the last of its block. With
    /// `keep_map`, a planted bug, the map still points to the old place.
    #[inline]
    pub(crate) fn relocate(
        &mut self,
        member: u32,
        plane: u32,
        from: u32,
        tenant: Tenant,
        keep_map: bool,
    ) -> (u32, bool) {
        let victim = self.block_at(member, from);
        let (to, filled) = self.append(member, plane, self.streams.for_moves(victim));
        let at = self.back_at(member, to);
        self.back[at] = (tenant.logical + 1) | if tenant.pinned { PINNED } else { 0 };
        if tenant.pinned {
            self.pins.set(member, tenant.logical, to + 1);
            let at = self.back_at(member, from);
            self.back[at] = 0;
        } else if !keep_map {
            let at = self.map_at(member, tenant.logical);
            self.map[at] = to + 1;
        }
        self.valid[victim] -= 1;
        (to, filled)
    }

    /// Makes a block of a plane free.
    pub(crate) fn erase(&mut self, plane: u32, block: u32) {
        let blocks = self.shape.blocks_per_plane;
        let ring = plane as usize * blocks as usize;
        let p = &mut self.planes[plane as usize];
        self.valid[ring + block as usize] = FREE;
        let place = (p.free_from + p.free_blocks) % blocks;
        self.free[ring + place as usize] = block as u16;
        p.free_blocks += 1;
        p.free_pages += self.shape.data_pages;
        self.wear.erase(ring + block as usize);
    }

    /// Gives every block the initial age of the device.
    pub(crate) fn age(&mut self, age: Option<AgeSpec>) {
        let valid = &self.valid;
        self.wear.age(age, |block| valid[block] != FREE);
    }

    /// Data pages of a block.
    pub(crate) fn data_pages(&self) -> u16 {
        self.shape.data_pages as u16
    }

    /// Valid pages of each block of a plane, with the marks [`OPEN`] and [`FREE`].
    #[inline(always)]
    pub(crate) fn valid_of(&self, plane: u32) -> &[u16] {
        let blocks = self.shape.blocks_per_plane as usize;
        &self.valid[plane as usize * blocks..][..blocks]
    }

    /// Copies the blocks of the only plane of `template` to a fresh plane; the template's logical page `i` becomes
    /// `logical(i)`.
    pub(crate) fn stamp(&mut self, member: u32, plane: u32, template: &Self, logical: impl Fn(u32) -> u32) {
        let shape = self.shape;
        let ring = plane as usize * shape.blocks_per_plane as usize;
        let blocks = ring..ring + shape.blocks_per_plane as usize;
        self.valid[blocks.clone()].copy_from_slice(&template.valid);
        self.free[blocks.clone()].copy_from_slice(&template.free);
        if !self.closed.is_empty() {
            self.closed[blocks.clone()].copy_from_slice(&template.closed);
        }
        if !self.changed.is_empty() {
            self.changed[blocks.clone()].copy_from_slice(&template.changed);
            self.clocks[plane as usize] = template.clocks[0];
        }
        let pages = shape.blocks_per_plane * shape.pages_per_block;
        let first = (plane - shape.first_plane(member)) * pages;
        let model = &template.planes[0];
        let mut valid = 0;
        let (map_at, back_at) = (self.map_at(member, 0), self.back_at(member, first));
        let map = &mut self.map[map_at..][..shape.logical_pages as usize];
        let back = &mut self.back[back_at..][..pages as usize];
        let (model_map, model_back) = (&template.map[..], &template.back[..pages as usize]);
        for (page, (entry, &of)) in (0..).zip(back.iter_mut().zip(model_back)) {
            let Some(tenant) = of.checked_sub(1) else { continue };
            if model_map[tenant as usize] == page + 1 {
                let logical = logical(tenant);
                map[logical as usize] = first + page + 1;
                *entry = logical + 1;
                valid += 1;
            }
        }
        self.planes[plane as usize] = Plane { point: model.point.after(first), valid, promised: 0, ..*model };
        self.streams.stamp(plane, blocks, &template.streams, first);
    }

    /// One of a plane's open blocks, by number.
    #[inline(always)]
    fn point(&self, plane: u32, open: u32) -> WritePoint {
        match open.checked_sub(1) {
            None => self.planes[plane as usize].point,
            Some(other) => self.streams.points(plane)[other as usize],
        }
    }

    /// All open blocks of a plane, by number.
    pub(crate) fn points(&self, plane: u32) -> impl Iterator<Item = WritePoint> {
        let own = std::iter::once(self.planes[plane as usize].point);
        own.chain(self.streams.points(plane).iter().copied())
    }

    /// Offset, within its block, of the next page that a program of a stream to a plane takes.
    pub(crate) fn next_offset(&self, plane: u32, stream: u8) -> u32 {
        let point = self.point(plane, stream.into());
        if point.is_full() { 0 } else { point.next % self.shape.pages_per_block }
    }

    /// The number of pages of a plane's open blocks that are not yet written.
    pub(crate) fn unwritten(&self, plane: u32) -> u32 {
        self.points(plane).map(|point| point.end - point.next).sum()
    }

    /// Whether a block is in its plane's list of free blocks.
    pub(crate) fn is_listed_free(&self, plane: u32, block: u32) -> bool {
        let p = &self.planes[plane as usize];
        let blocks = self.shape.blocks_per_plane;
        let ring = &self.free[plane as usize * blocks as usize..][..blocks as usize];
        (0..p.free_blocks).any(|place| u32::from(ring[((p.free_from + place) % blocks) as usize]) == block)
    }

    /// Removes the block that was filled longest ago from a plane's ring of written blocks.
    pub(crate) fn take_oldest(&mut self, plane: u32) -> Option<u32> {
        let blocks = self.shape.blocks_per_plane;
        let p = &mut self.planes[plane as usize];
        p.closed = p.closed.checked_sub(1)?;
        let block = self.closed[plane as usize * blocks as usize + usize::from(p.closed_from)];
        // Fits: a plane has at most 65535 blocks.
        p.closed_from = ((u32::from(p.closed_from) + 1) % blocks) as u16;
        Some(u32::from(block))
    }
}
