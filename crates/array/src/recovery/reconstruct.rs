//! Reconstructs superblocks of members that have none, from the rest of their content: `docs/design/format.md`, "Reconstruction".
//!
//! The content of a page proves where it belongs: summaries (log) and the table of checksums (redo journal) of the other
//! members list the CRC-32C of each page of every column. If all checksums of a row differ, and none is that of zeros, a
//! matching page of that row indicates one member only. [`PAGES_PROVE`] such pages, and none for another member, prove an
//! identity. By chance, a page has the checksum of another with a probability of 2^-32. With an intent bitmap there is no
//! proof, and the user names the member.

use std::collections::{BTreeMap, BTreeSet};

use super::AssembleError;
use super::assemble::group_of;
use super::in_place_journal as journal;
use super::named::{NamedMembers, PAGES_PROVE, Reconstructed, Reconstruction};
use super::site::Site;
use super::superblocks::Copies;
use super::walk::WalkFindings;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::{At, Media};
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{
    ChecksumPage, Commit, EntryRole, MemberState, Placement, Summary, SummaryHeader, Superblock, crc32c,
};

use crate::in_place::journal::Checksums;

/// The number of newest batches of a log that are compared, and of others.
const NEWEST: usize = 64;
const OTHERS: usize = 192;

/// The number of rows in place that are compared.
const ROWS: u32 = 1024;

/// The expected checksums of the pages of a row: the page, and for each member its checksum.
type RowChunks = (u32, Vec<(MemberNo, u32)>);

/// A batch of the log, and where a copy of its summary lies.
#[derive(Clone, Copy, Debug)]
struct Batch {
    header: SummaryHeader,
    at: At,
}

/// The comparison of a device with a member: the numbers of pages that indicate the member, and of pages with wrong
/// content.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    right: u64,
    wrong: u64,
}

/// The devices of an array in which some have no superblocks.
pub(super) struct Remains<'a> {
    pub(super) media: &'a mut dyn Media,
    pub(super) geometry: &'a Geometry,
    pub(super) layout: Option<InPlaceLayout>,
    pub(super) named: NamedMembers,
}

/// The superblock that serves as the model for the others: the newest that took effect, as far as can be determined.
pub(super) fn model_of(offered: &[Copies]) -> Option<Superblock> {
    let all = || offered.iter().flat_map(|copies| [&copies.front, &copies.back]).flatten();
    let proven = offered.iter().filter_map(|copies| copies.back.as_ref()).max_by_key(|block| block.update);
    proven.or_else(|| all().max_by_key(|block| block.update)).cloned()
}

/// A newer superblock than `model` that took effect although no back copy of it is left: content of its epoch, which is at most
/// `epoch`, follows the front copies on all members.
fn begun_with(epoch: u32, model: &Superblock, offered: &[Copies]) -> Option<Superblock> {
    let fronts =
        || offered.iter().filter_map(|its| its.front.as_ref()).filter(|its| its.array == model.array);
    let has_begun = |block: &&Superblock| model.epoch < block.epoch && block.epoch <= epoch;
    // A later version of the epoch may be on some members only.
    let is_everywhere = |block: &&Superblock| {
        let is_failed = |number: MemberNo| {
            block.members.get(number.index()).is_some_and(|member| member.state == MemberState::Failed)
        };
        fronts().all(|its| its.update >= block.update || is_failed(MemberNo::new(its.number)))
    };
    fronts().filter(has_begun).filter(is_everywhere).max_by_key(|block| block.update).cloned()
}

/// Whether there is a device without a superblock and another device with one.
pub(super) fn is_wanted(offered: &[Copies]) -> bool {
    let has = |copies: &Copies| copies.newest().is_some();
    offered.iter().any(has) && !offered.iter().all(has)
}

impl Remains<'_> {
    /// Makes superblocks for devices of `offered` that have none, as far as it is known which members they are. Nothing is
    /// written.
    ///
    /// # Errors
    /// Two devices are the same member, or the user names a device that is another member.
    pub(super) fn reconstruct(
        &mut self,
        model: Superblock,
        offered: &mut [Copies],
    ) -> Result<Vec<Reconstructed>, AssembleError> {
        let mut model = model;
        let mut known: Vec<Option<u16>> = vec![None; model.members.len()];
        for (at, copies) in (0..).zip(&*offered) {
            let Some(block) = copies.newest().filter(|block| block.array == model.array) else { continue };
            if let Some(place) = known.get_mut(usize::from(block.number)) {
                *place = Some(at);
            }
        }
        let blanks: Vec<u16> =
            (0..).zip(&*offered).filter(|(_, its)| its.newest().is_none()).map(|(at, _)| at).collect();
        let fits = |media: &dyn Media, at: u16| {
            let (pages, page_bytes) = media.size(at);
            pages >= model.pages && page_bytes == model.page_bytes
        };
        let usable: Vec<u16> = blanks.iter().copied().filter(|&at| fits(self.media, at)).collect();
        let devices: Vec<u16> = known.iter().flatten().chain(&usable).copied().collect();
        let batches = match model.placement {
            Placement::Log => self.batches(&model, &known, &usable),
            Placement::InPlace => Vec::new(),
        };
        let evidence = self.evidence(&model, &devices, batches.iter().map(|batch| batch.header));
        if let Some(begun) = begun_with(evidence.epoch(), &model, offered) {
            model = begun;
        }
        let newest = offered.iter().filter_map(Copies::newest);
        let holds = |block: &&Superblock| {
            let is_member = block.array == model.array && usize::from(block.number) < model.members.len();
            is_member && block.update >= model.update
        };
        let holders = newest.filter(holds).fold(0, |holders, block| holders | 1 << block.number);
        if evidence.overrule(&mut model, holders) {
            known.fill(None);
        }
        let model = &model;
        let rows = match (model.placement, self.layout) {
            (Placement::Log, _) => self.rows_of_log(model, &devices, &batches),
            (Placement::InPlace, Some(layout)) if layout.table.pages > 0 => {
                self.rows_in_place(model, &known, &devices, layout)
            }
            (Placement::InPlace, _) => Vec::new(),
        };
        let tallies = self.compare(&rows, &usable, model);
        let mut found = Vec::new();
        for at in blanks {
            let tally = usable.iter().position(|&its| its == at).map(|nth| &tallies[nth]);
            found.push(self.judge(model, &known, at, tally.map(Vec::as_slice))?);
        }
        for (nth, one) in found.iter().enumerate() {
            let twin = found[..nth].iter().find(|other| one.member.is_some() && other.member == one.member);
            if let (Some(twin), Some(member)) = (twin, one.member) {
                return Err(AssembleError::Refused(format!(
                    "offered members {} and {} both have the content of member {member}, and no superblock; one is a copy: take \
                     it out",
                    twin.offered, one.offered
                )));
            }
        }
        take_needed(model, &known, &mut found);
        for one in found.iter().filter(|one| one.is_taken()) {
            let number = one.member.unwrap_or_default();
            let uuid = model.members[number.index()].uuid;
            let block = Superblock { number: number.number(), uuid, ..model.clone() };
            let its = &mut offered[usize::from(one.offered)];
            let back_page = its.back_page;
            *its = Copies { front: Some(block.clone()), back: Some(block), back_page, ..Copies::default() };
        }
        Ok(found)
    }

    /// Decides which member a device is, by its content or by its name.
    fn judge(
        &self,
        model: &Superblock,
        known: &[Option<u16>],
        offered: u16,
        tallies: Option<&[Tally]>,
    ) -> Result<Reconstructed, AssembleError> {
        let result = |member, how| Ok(Reconstructed { offered, member, how });
        let Some(tallies) = tallies else { return result(None, Reconstruction::TooSmall) };
        let all = || (0..).map(MemberNo::new).zip(tallies);
        let spoken: Vec<MemberNo> =
            all().filter(|(_, tally)| tally.right > 0).map(|(number, _)| number).collect();
        let named = self.named.of(offered);
        if let Some(named) = named {
            if named.index() >= known.len() || known[named.index()].is_some() {
                return Err(AssembleError::Refused(format!(
                    "offered member {offered} is named member {named}, which the array does not have, or which is there; name \
                     one that is missing"
                )));
            }
            let other = all().find(|(number, tally)| *number != named && tally.right >= PAGES_PROVE);
            if let Some((other, tally)) = other {
                return Err(AssembleError::Refused(format!(
                    "offered member {offered} is named member {named}, and {} of its pages are those of member {other}; name it \
                     that, or leave it out",
                    tally.right
                )));
            }
        }
        let proven = all().find(|(_, tally)| tally.right >= PAGES_PROVE).filter(|_| spoken.len() == 1);
        if let Some((number, &Tally { right, wrong })) = proven {
            let state = model.members[number.index()].state;
            let how = match wrong {
                _ if state == MemberState::Failed => Reconstruction::Failed(right),
                0 => Reconstruction::Proven(right),
                _ => Reconstruction::Stale(right, wrong),
            };
            return result(Some(number), how);
        }
        match named {
            Some(_) => result(named, Reconstruction::NotNeeded),
            None if spoken.len() > 1 => result(None, Reconstruction::Ambiguous(spoken)),
            None => result(None, Reconstruction::Unproven(tallies.iter().map(|tally| tally.right).sum())),
        }
    }

    /// Compares the pages of devices with those of rows.
    fn compare(&mut self, rows: &[RowChunks], devices: &[u16], model: &Superblock) -> Vec<Vec<Tally>> {
        let zeros = crc32c(&vec![0; model.page_bytes as usize]);
        let mut tallies = vec![vec![Tally::default(); model.members.len()]; devices.len()];
        for (page, entries) in rows {
            for (nth, &device) in devices.iter().enumerate() {
                let checksum = self.read(At { member: device, page: *page }).map(|bytes| crc32c(&bytes));
                for &(number, expected) in entries {
                    let tally = &mut tallies[nth][number.index()];
                    let is_its_own = |(other, its): &(MemberNo, u32)| *other == number || *its != expected;
                    let speaks = expected != zeros && entries.iter().all(is_its_own);
                    // Missing content always counts as wrong.
                    tally.wrong += u64::from(checksum != Some(expected));
                    tally.right += u64::from(speaks && checksum == Some(expected));
                }
            }
        }
        tallies
    }

    fn read(&mut self, at: At) -> Option<Vec<u8>> {
        let mut found = None;
        self.media.read(&[at], &mut |_, content| found = content.ok().map(<[u8]>::to_vec));
        found
    }

    /// All batches that can be found, each by a copy of its summary.
    fn batches(&mut self, model: &Superblock, known: &[Option<u16>], blanks: &[u16]) -> Vec<Batch> {
        let mut batches = Vec::new();
        for segment in 0..model.segments() {
            let (mut first, mut generation) = (0, None);
            while let Some(batch) = self.batch(model, known, blanks, (segment, first, generation)) {
                (first, generation) = (batch.header.end, Some(batch.header.generation));
                batches.push(batch);
            }
        }
        batches
    }

    /// Rows of the log with the checksums in summaries: of the newest durable batches, and of others.
    fn rows_of_log(&mut self, model: &Superblock, devices: &[u16], batches: &[Batch]) -> Vec<RowChunks> {
        let mut promised = (0, 0, 0);
        for &device in devices {
            self.each_page(device, model.commits, &mut |_, page| {
                if let Some(its) = Commit::parse(page).ok().filter(|its| its.array == model.array) {
                    promised = promised.max((its.epoch, its.number, its.horizon));
                }
            });
        }
        let is_promised = |batch: &&Batch| batch.header.batch <= promised.2;
        let batches: BTreeMap<u64, &Batch> =
            batches.iter().filter(is_promised).map(|batch| (batch.header.batch, batch)).collect();
        let others = batches.len().saturating_sub(NEWEST);
        let step = others.div_ceil(OTHERS).max(1);
        let chosen = batches.values().enumerate().filter(|(nth, _)| *nth >= others || nth % step == 0);
        let mut rows: BTreeMap<u32, Vec<(MemberNo, u32)>> = BTreeMap::new();
        for (_, batch) in chosen {
            let Some(bytes) = self.read(batch.at) else { continue };
            let Ok(summary) = Summary::parse(&bytes) else { continue };
            for (slot, entry) in (summary.header.first..).zip(summary.entries()) {
                if matches!(entry.role, EntryRole::Data | EntryRole::P | EntryRole::Q) {
                    let (member, page) = self.member(model, (summary.header.segment, slot));
                    rows.entry(page).or_default().push((member, entry.checksum));
                }
            }
        }
        rows.into_iter().collect()
    }

    /// The member and page of a slot of a segment.
    fn member(&mut self, model: &Superblock, (segment, slot): (u32, u32)) -> (MemberNo, u32) {
        let found = WalkFindings {
            media: self.media,
            superblock: model,
            positions: &[],
            last_sources: &[],
            geometry: self.geometry,
            pages_read: 0,
        };
        found.member(segment, slot)
    }

    /// The batch that begins at a slot, in the newest generation of any copy of its summary. The copies may be on any
    /// device, because a device without a superblock may be any member.
    fn batch(
        &mut self,
        model: &Superblock,
        known: &[Option<u16>],
        blanks: &[u16],
        (segment, first, generation): (u32, u32, Option<u32>),
    ) -> Option<Batch> {
        let slots = model.segment_rows * self.geometry.width;
        let mut newest: Option<Batch> = None;
        for slot in (first..first + 2 * self.geometry.tolerance() + 1).filter(|&slot| slot < slots) {
            let (member, page) = self.member(model, (segment, slot));
            let places: Vec<u16> = match known[member.index()] {
                Some(at) => vec![at],
                None => blanks.to_vec(),
            };
            for member in places {
                let at = At { member, page };
                let Some(bytes) = self.read(at) else { continue };
                let Ok(Summary { header, .. }) = Summary::parse(&bytes) else { continue };
                let is_its = (header.array, header.segment, header.first) == (model.array, segment, first)
                    && generation.is_none_or(|before| header.generation == before)
                    && (first + 1..=slots).contains(&header.end);
                let is_newer =
                    newest.as_ref().is_none_or(|newest| header.generation > newest.header.generation);
                if is_its && is_newer {
                    newest = Some(Batch { header, at });
                }
            }
        }
        newest
    }

    /// Rows in place with the checksums of the table, except for rows that records of the journal change.
    fn rows_in_place(
        &mut self,
        model: &Superblock,
        known: &[Option<u16>],
        devices: &[u16],
        layout: InPlaceLayout,
    ) -> Vec<RowChunks> {
        let changed = self.changed_rows(model, known, devices, layout);
        let groups = self.geometry.groups;
        // The place of a copy depends on the member's position in its group, which is not yet known. So the whole area is
        // searched.
        let mut table = Checksums::new(&layout, groups, true);
        let page_of: BTreeMap<(u32, u32), u32> =
            (0..table.pages()).map(|page| (table.locate(page), page)).collect();
        let mut found = BTreeMap::new();
        for &device in devices {
            self.each_page(device, layout.table, &mut |_, bytes| {
                let head = ChecksumPage::parse(bytes).ok();
                let head = head.filter(|head| head.array == model.array && head.epoch <= model.epoch);
                let Some(head) = head else { return };
                let Some(&page) = page_of.get(&(head.group, head.number)) else { return };
                if found.get(&page).is_none_or(|&version| head.version > version) {
                    found.insert(page, head.version);
                    table.load(page, &head, bytes);
                }
            });
        }
        let mut rows = Vec::new();
        let zeros = crc32c(&vec![0; layout.page_bytes as usize]);
        for group in 0..groups {
            let is_evidence = |row: &u32| {
                let is_written =
                    || (0..layout.columns).any(|position| table.get(group, *row, position) != zeros);
                !changed.contains(row) && is_written()
            };
            let pages = found.keys().filter(|&&page| table.locate(page).0 == group);
            let written: Vec<u32> = pages.flat_map(|&page| table.rows(page)).filter(is_evidence).collect();
            let step = (written.len() as u32).div_ceil(ROWS).max(1);
            for &row in written.iter().step_by(step as usize) {
                let entry =
                    |position| (self.geometry.member_at(group, position), table.get(group, row, position));
                rows.push((layout.data.first + row, (0..layout.columns).map(entry).collect()));
            }
        }
        rows
    }

    /// Rows that records of the journal change. The records lie at the same place on all members.
    fn changed_rows(
        &mut self,
        model: &Superblock,
        known: &[Option<u16>],
        devices: &[u16],
        layout: InPlaceLayout,
    ) -> BTreeSet<u32> {
        let mut others = devices.iter().filter(|&&device| !known.contains(&Some(device)));
        let mut site = Site {
            media: self.media,
            geometry: self.geometry,
            layout,
            array: model.array,
            epoch: model.epoch,
            positions: known.iter().map(|position| position.or_else(|| others.next().copied())).collect(),
            pages_read: 0,
        };
        let records = journal::JournalFindings::read(&mut site).records;
        records.iter().flat_map(|record| &record.header.entries).map(|entry| entry.page).collect()
    }
}

/// Uses devices that are stale, or only named, if the array cannot start without them: those with the fewest wrong pages
/// first, and no more than necessary.
fn take_needed(model: &Superblock, known: &[Option<u16>], found: &mut [Reconstructed]) {
    let parity = model.level.parity() as usize;
    let groups = usize::from(model.groups).max(1);
    let group_of = |number: usize| group_of(model, number);
    let rank = |one: &Reconstructed| match one.how {
        Reconstruction::Stale(_, wrong) => Some(wrong),
        Reconstruction::NotNeeded => Some(u64::MAX),
        _ => None,
    };
    for group in 0..groups {
        loop {
            let is_there = |number: usize| {
                let is_taken =
                    |one: &Reconstructed| one.is_taken() && one.member.map(MemberNo::index) == Some(number);
                known[number].is_some() && model.members[number].state != MemberState::Failed
                    || found.iter().any(is_taken)
            };
            let missing =
                (0..known.len()).filter(|&number| group_of(number) == group && !is_there(number)).count();
            let its =
                |one: &&mut Reconstructed| one.member.is_some_and(|number| group_of(number.index()) == group);
            let next =
                found.iter_mut().filter(its).filter(|one| rank(one).is_some()).min_by_key(|one| rank(one));
            let Some(next) = next.filter(|_| missing > parity) else { break };
            next.how = match next.how {
                Reconstruction::Stale(right, wrong) => Reconstruction::Needed(right, wrong),
                _ => Reconstruction::Named,
            };
        }
    }
}

/// Whether reconstruction of devices without superblocks was requested.
pub(super) fn is_requested(opening: &super::AssemblyOptions) -> bool {
    opening.force || !opening.named.is_empty()
}
