//! Finds the content of a log: the newest checkpoint and commit record, and the batches of all segments.

use super::assemble::LastSource;
use super::site::ROUND_PAGES;
use std::collections::BTreeMap;

use stripewise_code::{Code, Kind};
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::{At, Media};
use stripewise_format::checkpoint::{body_bytes, segment};
use stripewise_format::{
    CheckpointHeader, Commit, Entry, EntryRole, SegmentEntry, Summary, SummaryHeader, Superblock, Tombstone,
};

/// The newest checkpoint that is whole.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) header: CheckpointHeader,
    pub(super) body: Vec<u8>,
    /// The number of members, apart from last sources, that have its header.
    pub(super) copies: usize,
}

/// A batch after the checkpoint; whether it counts is decided when all batches are known.
#[derive(Clone, Debug)]
pub(super) struct FoundBatch {
    pub(super) header: SummaryHeader,
    pub(super) entries: Box<[Entry]>,
    pub(super) tombstones: Box<[Tombstone]>,
}

/// The findings of a walk over all segments, in addition to the batches that the checkpoint names.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Later batches, by number. A checkpoint is written when an eighth of the segments was opened, so they are in no more
    /// segments.
    pub(super) later: BTreeMap<u64, FoundBatch>,
    /// Segments with fewer slots than the checkpoint names: each with the slots in use, and the slots found.
    pub(super) short: Vec<(u32, u32, u32)>,
}

/// The position of the walk over a segment.
#[derive(Clone, Copy)]
struct Head {
    segment: u32,
    /// The slot at which the next batch begins, and the number of the copy of its summary to read next.
    first: u32,
    nth: u32,
    /// The generation of the previous batches. A batch of another generation may lie after them, and only seems to follow.
    generation: Option<u32>,
}

/// The offered members of an array, with their superblock.
pub(super) struct WalkFindings<'a> {
    pub(super) media: &'a mut dyn Media,
    pub(super) superblock: &'a Superblock,
    pub(super) positions: &'a [Option<u16>],
    /// For each member that is not read, whether its copies of metadata count; empty if those of none do.
    pub(super) last_sources: &'a [Option<LastSource>],
    pub(super) geometry: &'a Geometry,
    pub(super) pages_read: u64,
}

impl WalkFindings<'_> {
    /// Reads pages of members of the array; `None` for pages that cannot be read.
    pub(super) fn read(&mut self, at: &[(MemberNo, u32)]) -> Vec<Option<Box<[u8]>>> {
        let positions = self.positions;
        self.read_from(at, |member| positions[member.index()])
    }

    /// Reads pages with metadata, of last sources too.
    fn read_metadata(&mut self, at: &[(MemberNo, u32)]) -> Vec<Option<Box<[u8]>>> {
        let (positions, last_sources) = (self.positions, self.last_sources);
        self.read_from(at, |member| {
            let last = || last_sources.get(member.index()).copied().flatten();
            positions[member.index()].or_else(|| last().map(|source| source.position))
        })
    }

    /// Whether `member` is known to have metadata that was written up to `batch`.
    fn knows(&self, member: MemberNo, batch: u64) -> bool {
        self.positions[member.index()].is_some()
            || self.last_sources[member.index()].is_some_and(|source| batch <= source.known)
    }

    fn read_from(
        &mut self,
        at: &[(MemberNo, u32)],
        position: impl Fn(MemberNo) -> Option<u16>,
    ) -> Vec<Option<Box<[u8]>>> {
        let mut contents = vec![None; at.len()];
        let (mut requested, mut places) = (Vec::new(), Vec::new());
        for (place, &(member, page)) in at.iter().enumerate() {
            if let Some(position) = position(member) {
                requested.push(At { member: position, page });
                places.push(place);
            }
        }
        self.pages_read += requested.len() as u64;
        self.media.read(&requested, &mut |nth, content| {
            contents[places[nth]] = content.ok().map(Box::from);
        });
        contents
    }

    fn members(&self) -> impl Iterator<Item = MemberNo> + use<> {
        MemberNo::first(self.positions.len() as u32)
    }

    /// The newest checkpoint whose body is whole. Every array that was created has one.
    pub(super) fn checkpoint(&mut self) -> Option<Checkpoint> {
        self.checkpoint_that(|_| true)
    }

    /// The newest checkpoint with a suitable header whose body is whole.
    pub(super) fn checkpoint_that(
        &mut self,
        is_suitable: impl Fn(&CheckpointHeader) -> bool,
    ) -> Option<Checkpoint> {
        let area = self.superblock.checkpoint;
        let slots = [area.first, area.first + area.pages];
        let at: Vec<(MemberNo, u32)> =
            self.members().flat_map(|member| slots.map(|first| (member, first))).collect();
        let headers = self.read_metadata(&at);
        let segments = self.superblock.segments();
        let mut found: Vec<((MemberNo, u32), CheckpointHeader)> = Vec::new();
        for (at, page) in at.iter().zip(headers) {
            let header = page.and_then(|page| CheckpointHeader::parse(&page).ok());
            let is_ours = |header: &CheckpointHeader| {
                let is_size = header.segments == segments && header.chunks == self.superblock.capacity;
                let is_known = self.knows(at.0, header.horizon);
                header.array == self.superblock.array && is_size && is_known && is_suitable(header)
            };
            found.extend(header.filter(is_ours).map(|header| (*at, header)));
        }
        // A member that was away may have a checkpoint of an epoch that ended before it, whose number was reused. If a
        // checkpoint was begun twice because members failed, the later one has more.
        let rank =
            |header: &CheckpointHeader| (header.epoch, header.number, header.horizon, header.write_seq);
        found.sort_by_key(|(_, header)| std::cmp::Reverse(rank(header)));
        let pages =
            body_bytes(segments, self.superblock.capacity).div_ceil(self.superblock.page_bytes.into()) as u32;
        for &((member, first), header) in &found {
            let at: Vec<(MemberNo, u32)> = (1..=pages).map(|page| (member, first + page)).collect();
            let mut body = Vec::with_capacity(pages as usize * self.superblock.page_bytes as usize);
            for page in at.chunks(ROUND_PAGES).flat_map(|round| self.read_metadata(round)) {
                body.extend_from_slice(page.as_deref().unwrap_or_default());
            }
            body.truncate(header.body_bytes as usize);
            if header.check_body(&body).is_ok() {
                let is_read = |member: MemberNo| self.positions[member.index()].is_some();
                let copies =
                    found.iter().filter(|((member, _), its)| *its == header && is_read(*member)).count();
                return Some(Checkpoint { header, body, copies });
            }
        }
        None
    }

    /// The newest commit record.
    pub(super) fn commit(&mut self) -> Option<Commit> {
        let ring = self.superblock.commits;
        let pages = ring.first..ring.first + ring.pages;
        let at: Vec<(MemberNo, u32)> =
            self.members().flat_map(|member| pages.clone().map(move |page| (member, page))).collect();
        let array = self.superblock.array;
        let pages = self.read_metadata(&at);
        let records = at.iter().zip(pages).filter_map(|(&(member, _), page)| {
            let record = Commit::parse(&page?).ok()?;
            (record.array == array && self.knows(member, record.horizon)).then_some(record)
        });
        records.max_by_key(|record| (record.epoch, record.number))
    }

    /// The member and page of a slot of a segment.
    pub(super) fn member(&self, segment: u32, slot: u32) -> (MemberNo, u32) {
        let geometry = self.geometry;
        let group = segment % geometry.groups;
        let column = slot % geometry.width;
        let member = geometry.base(group) + column * geometry.stride;
        let row = segment / geometry.groups * self.superblock.segment_rows + slot / geometry.width;
        (MemberNo::at(member as usize), self.superblock.data.first + row)
    }

    /// Walks all segments, batch by batch, one round of all segments at a time. `named` is called for each batch that the
    /// checkpoint names, in order within a segment.
    pub(super) fn walk(&mut self, checkpoint: &Checkpoint, named: &mut dyn FnMut(&Summary<'_>)) -> Walk {
        let mut walk = Walk::default();
        let slots = self.superblock.segment_rows * self.geometry.width;
        let begin = |segment| Head { segment, first: 0, nth: 0, generation: None };
        let mut begins = (0..self.superblock.segments()).map(begin);
        let mut heads = Vec::with_capacity(ROUND_PAGES);
        let copies = 2 * self.geometry.tolerance() + 1;
        loop {
            heads.extend(begins.by_ref().take(ROUND_PAGES - heads.len()));
            if heads.is_empty() {
                return walk;
            }
            let at: Vec<(MemberNo, u32)> =
                heads.iter().map(|head| self.member(head.segment, head.first + head.nth)).collect();
            let pages = self.read_metadata(&at);
            let mut next = Vec::with_capacity(ROUND_PAGES);
            for ((head, &(member, _)), page) in heads.into_iter().zip(&at).zip(&pages) {
                let entry = segment(&checkpoint.body, head.segment);
                let page = page.as_deref();
                let counted = page.and_then(|page| self.counted(page, &head, entry, checkpoint));
                let counted = counted.filter(|(summary, _)| self.knows(member, summary.header.batch));
                let Some((summary, is_named)) = counted else {
                    let nth = head.nth + 1;
                    if nth < copies && head.first + nth < slots {
                        next.push(Head { nth, ..head });
                    } else if head.first < entry.used {
                        walk.short.push((head.segment, entry.used, head.first));
                    }
                    continue;
                };
                let header = summary.header;
                if header.end < slots {
                    let generation = Some(header.generation);
                    next.push(Head { first: header.end, nth: 0, generation, ..head });
                }
                if is_named {
                    named(&summary);
                } else {
                    let (entries, tombstones) = (summary.entries().collect(), summary.tombstones().collect());
                    walk.later.insert(header.batch, FoundBatch { header, entries, tombstones });
                }
            }
            heads = next;
        }
    }

    /// The summary in `page`, found at a head, if it counts, and whether the checkpoint names its batch.
    fn counted<'page>(
        &self,
        page: &'page [u8],
        &Head { segment, first, generation, .. }: &Head,
        entry: SegmentEntry,
        checkpoint: &Checkpoint,
    ) -> Option<(Summary<'page>, bool)> {
        let summary = Summary::parse(page).ok()?;
        let header = summary.header;
        let slots = self.superblock.segment_rows * self.geometry.width;
        let is_here = header.array == self.superblock.array
            && (header.segment, header.first) == (segment, first)
            && generation.is_none_or(|before| header.generation == before)
            && header.end <= slots;
        let is_named = header.generation == entry.generation
            && header.end <= entry.used
            && header.batch <= entry.last_batch;
        let is_fresh = if entry.used > 0 {
            header.generation == entry.generation && first >= entry.used
        } else {
            header.generation >= entry.generation
        };
        // For epochs before the checkpoint's epoch, everything that counts is within its horizon.
        let is_behind = header.batch > checkpoint.header.horizon && header.epoch >= checkpoint.header.epoch;
        let is_later = is_behind && is_fresh && self.is_of_history(&header);
        let chunks = self.superblock.capacity;
        let is_whole = || {
            let is_chunk = |entry: Entry| entry.chunk < chunks;
            let is_range = |grave: Tombstone| {
                grave.first.checked_add(grave.chunks.into()).is_some_and(|end| end <= chunks)
            };
            summary.entries().all(is_chunk)
                && summary.tombstones().all(is_range)
                && self.has_stripes(&summary)
        };
        if !is_here || !(is_named || is_later) || !is_whole() {
            return None;
        }
        Some((summary, is_named))
    }

    /// Whether the slots of a batch form stripes: each column on a member of its own, and as many columns as the code has.
    fn has_stripes(&self, summary: &Summary<'_>) -> bool {
        let geometry = self.geometry;
        if geometry.depth > 1 {
            return self.has_deep_stripes(summary);
        }
        // The current stripe: its data chunks, its parity chunks, its members.
        let mut stripe = None;
        let is_over = |stripe: &mut Option<(u32, u32, u64)>| {
            stripe.take().is_none_or(|(data, parities, _)| data > 0 && parities + 1 == 1 << geometry.parity())
        };
        for (slot, entry) in (summary.header.first..).zip(summary.entries()) {
            let parity = match entry.role {
                EntryRole::Skipped => continue,
                EntryRole::Copy | EntryRole::Vain => {
                    if !is_over(&mut stripe) {
                        return false;
                    }
                    continue;
                }
                EntryRole::Data => 0u32,
                EntryRole::P => 1,
                EntryRole::Q => 2,
            };
            if entry.is_first {
                if !is_over(&mut stripe) {
                    return false;
                }
                stripe = Some((0, 0, 0));
            }
            let Some((data, parities, members)) = &mut stripe else { return false };
            let member = 1 << (slot % geometry.columns);
            let is_new = *members & member == 0 && (parity == 0 || *parities & parity == 0);
            *data += u32::from(parity == 0);
            *parities |= parity;
            *members |= member;
            if !is_new || *data > geometry.data || *parities >> geometry.parity() != 0 {
                return false;
            }
        }
        is_over(&mut stripe)
    }

    /// The same for deep stripes: parity in the two rows after the data, of each diagonal with data.
    fn has_deep_stripes(&self, summary: &Summary<'_>) -> bool {
        let geometry = self.geometry;
        let (width, data) = (geometry.width, geometry.data);
        let Ok(code) = Code::new(Kind::XCode, data, None) else { return false };
        // The current stripe: its first slot, its columns, the rows of data before its parity.
        let mut stripe: Option<(u32, u64, Option<u32>)> = None;
        let is_over = |stripe: &mut Option<(u32, u64, Option<u32>)>| {
            stripe.take().is_none_or(|(_, columns, _)| {
                let its = columns & geometry.data_columns();
                its != 0 && columns & geometry.parity_columns() == code.parities_of(its)
            })
        };
        for (slot, entry) in (summary.header.first..).zip(summary.entries()) {
            let parity = match entry.role {
                EntryRole::Skipped if !entry.is_first => continue,
                EntryRole::Copy | EntryRole::Vain if is_over(&mut stripe) => continue,
                EntryRole::Copy | EntryRole::Vain => return false,
                EntryRole::Skipped | EntryRole::Data => None,
                EntryRole::P => Some(0),
                EntryRole::Q => Some(1),
            };
            if entry.is_first {
                if !is_over(&mut stripe) {
                    return false;
                }
                stripe = Some((slot, 0, None));
            }
            if entry.role == EntryRole::Skipped {
                continue;
            }
            let Some((first, columns, rows)) = &mut stripe else { return false };
            let place = slot - *first;
            let is_right = match parity {
                None => place < data && rows.is_none(),
                Some(number) => {
                    let before = (place / width).checked_sub(number);
                    before.is_some_and(|before| *rows.get_or_insert(before) == before)
                }
            };
            let column = parity.map_or(place, |number| data + number * width + place % width);
            if !is_right || *columns >> column & 1 != 0 {
                return false;
            }
            *columns |= 1 << column;
        }
        is_over(&mut stripe)
    }

    /// Whether a batch after the checkpoint belongs to the history of the array: it is of the newest epoch, or from before
    /// the end of its own epoch.
    fn is_of_history(&self, header: &SummaryHeader) -> bool {
        let ended = &self.superblock.ended;
        if header.epoch == self.superblock.epoch {
            return true;
        }
        // Epochs in which nothing was written have no entry of their own: they share the end of the next one.
        let its = ended.iter().find(|ended| ended.epoch >= header.epoch);
        header.epoch < self.superblock.epoch && its.is_some_and(|ended| header.batch <= ended.last)
    }
}
