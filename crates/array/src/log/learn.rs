//! The content of the slots of a durable log. Memory has the location and the checksum of each chunk. The chunk in a slot, its
//! write sequence number, and the checksums of parity and of obsolete chunks are stored only in the summary of the slot's
//! batch. Walks over segments read the summaries first, batch by batch. A read of a chunk for a host does not: it verifies the
//! content decoded from the rest of the stripe against the chunk's own checksum, and reads the summary only if they differ.
//!
//! Without metadata there are no summaries, and without bytes the summaries are empty: then the inverse map is in memory.
//!
//! Source: collection that learns the content of a segment from its summary is due to Rosenblum and Ousterhout, SOSP 1991.

use stripewise_core::ids::PlanId;
use stripewise_format::Summary;

use super::addresses::NOWHERE;
use super::contents::{BatchContents, Content, Walker};
use super::{Location, Log, Role};

impl Log {
    /// Whether `walker` knows the content of the batch of `slot`.
    pub(crate) fn is_known(&self, walker: Walker, slot: u64) -> bool {
        let Some(durable) = &self.durable else { return true };
        self.look_up(&durable.known[walker as usize], slot).is_some()
    }

    /// The content of `slot` as `walker` knows it.
    pub(crate) fn content(&self, walker: Walker, slot: u64) -> Content {
        if let Some(chunk) = self.directory.chunk(slot) {
            return Content { chunk, ..Content::UNKNOWN };
        }
        self.look_up(&self.durable().known[walker as usize], slot).unwrap_or(Content::UNKNOWN)
    }

    /// The content of `slot` according to `known`, if it describes the batch of `slot`.
    pub(crate) fn look_up(&self, known: &BatchContents, slot: u64) -> Option<Content> {
        let generation = self.durable().generations[self.segment_of(slot) as usize];
        let nth = slot.checked_sub(known.first).filter(|_| generation == known.generation)?;
        known.contents.get(nth as usize).copied()
    }

    /// Whether the forward map has `slot`, at which `walker` is, for its chunk.
    pub(crate) fn is_valid(&self, walker: Walker, slot: u64) -> bool {
        self.is_home(self.content(walker, slot).chunk, slot)
    }

    /// Whether the forward map has `slot` for `chunk`, which may be any value from a summary.
    pub(crate) fn is_home(&self, chunk: u64, slot: u64) -> bool {
        chunk < self.capacity && self.location(chunk) == Location::Mapped(slot)
    }

    /// Gives `walker`, which asked for it, the content of the batch whose copies begin at `copy`, from its summary in `page`,
    /// if any copy could be read.
    pub(crate) fn learn(&mut self, walker: Walker, copy: u64, page: Option<&[u8]>) {
        let known = &mut self.durable_mut().known[walker as usize];
        if known.requested == Some(copy) {
            let contents = std::mem::take(&mut known.contents);
            let known = self.read_summary(copy, page, contents);
            self.durable_mut().known[walker as usize] = known;
        }
    }

    /// The content of the batch whose copies begin at `copy`, according to the summary in `page`. Without a summary it comes
    /// from the forward map: the valid chunks, without write sequence numbers. `contents` is a buffer for the result. It ends
    /// with the last slot that is written now: the next batch will begin behind it.
    pub(crate) fn read_summary(
        &self,
        copy: u64,
        page: Option<&[u8]>,
        mut contents: Vec<Content>,
    ) -> BatchContents {
        contents.clear();
        let segment = self.segment_of(copy);
        let (first, end) = self.directory.written_batch(copy);
        let start = u64::from(segment) * self.segment_slots();
        let summary = page.and_then(|page| Summary::parse(page).ok());
        // A batch that was written without a member may begin with skipped slots, before its first copy.
        let passed_over = |summary: &Summary<'_>| first.checked_sub(start + u64::from(summary.header.first));
        let is_its = |summary: &Summary<'_>| first < start + u64::from(summary.header.end);
        match summary.filter(is_its).and_then(|summary| Some((passed_over(&summary)?, summary))) {
            Some((passed_over, summary)) => {
                contents.extend(summary.entries().skip(passed_over as usize).map(Content::of));
                // Slots that the summary leaves out are unknown, and are not asked for a second time.
                contents.resize((end - first) as usize, Content::UNKNOWN);
            }
            None => {
                contents.resize((end - first) as usize, Content::UNKNOWN);
                self.contents_by_map(first, &mut contents);
            }
        }
        let generation = self.durable().generations[segment as usize];
        BatchContents { first, generation, contents, requested: None }
    }

    /// The chunk in each slot of the log, as far as known without reading.
    pub(crate) fn chunks_of_slots(&self) -> Vec<Option<u64>> {
        let mut contents = vec![Content::UNKNOWN; self.slots as usize];
        self.contents_by_map(0, &mut contents);
        let is_data = |slot| self.directory.role(slot) == Role::Data;
        let of_slot = |(slot, content): (u64, Content)| {
            let chunk = self.directory.chunk(slot).unwrap_or(content.chunk);
            (is_data(slot) && chunk != NOWHERE).then_some(chunk)
        };
        (0..).zip(contents).map(of_slot).collect()
    }

    /// The valid content of the slots from `first` on, according to the forward map, which is scanned as a whole.
    pub(crate) fn contents_by_map(&self, first: u64, contents: &mut [Content]) {
        if self.directory.keeps_chunks() {
            return;
        }
        for chunk in 0..self.capacity {
            if let Location::Mapped(slot) = self.location(chunk)
                && let Some(nth) = slot.checked_sub(first)
                && let Some(content) = contents.get_mut(nth as usize)
            {
                *content = self.known(chunk);
            }
        }
    }

    /// The known content of a column of the stripe of `plan`: one that the plan wants, or that its walker knows.
    #[inline]
    pub(crate) fn column(&self, plan: PlanId, column: u32) -> Content {
        match self.directory.chunk(self.homes(plan)[column as usize]) {
            Some(chunk) => Content { chunk, ..Content::UNKNOWN },
            None => self.contents[(plan.number() * self.columns + column) as usize],
        }
    }

    /// Maps `chunk` to `slot`, whose stripe has been written.
    #[inline]
    pub(crate) fn settle(&mut self, chunk: u64, slot: u64) {
        self.set_slot(chunk, slot);
        if let Some(durable) = &mut self.durable
            && let Some(batch) = durable.batches.iter().find(|batch| (batch.first..batch.end).contains(&slot))
            && let Some(checksum) = batch.content(slot).checksum
        {
            durable.checksums[chunk as usize] = checksum;
        }
    }

    /// The content of `chunk`, which is in a slot, as far as memory knows it.
    #[inline]
    pub(crate) fn known(&self, chunk: u64) -> Content {
        let checksums = self.durable.as_ref().map(|durable| &durable.checksums);
        let checksum = checksums.and_then(|checksums| checksums.get(chunk as usize).copied());
        Content { chunk, checksum, ..Content::UNKNOWN }
    }

    /// The content of its stripe that `plan` knows, if it tracks any.
    pub(crate) fn contents_mut(&mut self, plan: PlanId) -> &mut [Content] {
        let first = plan.index() * self.columns as usize;
        self.contents.get_mut(first..first + self.columns as usize).unwrap_or_default()
    }

    /// Records the content of a column of the stripe of `plan`.
    #[inline]
    pub(crate) fn set_content(&mut self, plan: PlanId, column: u32, content: Content) {
        if let Some(known) = self.contents.get_mut((plan.number() * self.columns + column) as usize) {
            *known = content;
        }
    }
}
