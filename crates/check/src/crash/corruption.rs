//! Corruption beyond the contract: one more copy of a structure is destroyed than parity tolerates. Rows `gap` and
//! `beyond` of `docs/design/fault-contract.md` state the required behaviour of the array.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;
use stripewise_array::format::{
    CheckpointHeader, ChecksumPage, Commit, Entry, EntryRole, IntentPage, RedoRecord, SUPERBLOCK_BYTES,
    Summary, SummaryHeader, Superblock, crc32c, superblock_pages,
};

use super::members::Members;
use super::shape::{Kind, Shape};

/// The destroyed structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Both superblocks of one more member than parity tolerates.
    Superblocks,
    /// All checkpoints.
    Checkpoints,
    /// The newest checkpoint.
    NewestCheckpoint,
    /// All commit records.
    Commits,
    /// The summary of a batch.
    Summary,
    /// One more page of a stripe than parity tolerates.
    Stripe,
    /// A record of the redo journal that is followed by two others.
    Record,
    /// A page of the table of checksums, in both versions.
    Table,
    /// The intent bitmap of a group, in both versions.
    Bitmap,
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|target| target.name()).collect();
        let found = Self::ALL.into_iter().find(|target| target.name() == text);
        found.ok_or_else(|| format!("no such structure; there are {}", names.join(", ")))
    }
}

/// A structure of which all copies are destroyed when no request is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// The structure.
    pub target: Target,
    /// Determines which one is destroyed, and how.
    pub choice: u64,
}

/// What the array may lose after corruption.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubt {
    /// Host pages that may be lost: reads and writes of them may fail.
    pub(crate) pages: BTreeSet<u64>,
    /// Member pages whose rows may be lost, wherever they hold host pages.
    pub(crate) rows: BTreeSet<u32>,
    /// Whether these pages may hold any earlier version, because the metadata of later ones is lost.
    pub(crate) may_be_old: bool,
    /// Whether pages may be zeros although they had content when the array was last assembled.
    pub(crate) forgets: bool,
    /// Whether assembly may have to be forced although no host page is affected.
    pub(crate) may_be_refused: bool,
    /// Members that now have no superblocks.
    pub(crate) nameless: u64,
    /// Whether the array cannot be assembled at all, and whether it possibly cannot.
    pub(crate) is_hopeless: bool,
    pub(crate) may_be_hopeless: bool,
}

impl Doubt {
    /// Whether no loss is possible, and none may be reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.rows.is_empty() && !self.may_be_refused
    }
}

/// A batch, as described by its summary.
struct Batch {
    header: SummaryHeader,
    entries: Vec<Entry>,
    /// Host pages that the batch contains or trims.
    touched: Vec<u64>,
    copies: Vec<(MemberNo, u32)>,
}

impl Target {
    const ALL: [Self; 9] = [
        Self::Superblocks,
        Self::Checkpoints,
        Self::NewestCheckpoint,
        Self::Commits,
        Self::Summary,
        Self::Stripe,
        Self::Record,
        Self::Table,
        Self::Bitmap,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Superblocks => "superblocks",
            Self::Checkpoints => "checkpoints",
            Self::NewestCheckpoint => "newest-checkpoint",
            Self::Commits => "commits",
            Self::Summary => "summary",
            Self::Stripe => "stripe",
            Self::Record => "record",
            Self::Table => "table",
            Self::Bitmap => "bitmap",
        }
    }

    /// The structures that an array of a kind has; repeated entries are drawn more often.
    pub fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Log5 | Kind::Log6 | Kind::LogDeep => &[
                Self::Summary,
                Self::Summary,
                Self::Summary,
                Self::Stripe,
                Self::Stripe,
                Self::Commits,
                Self::NewestCheckpoint,
                Self::Checkpoints,
                Self::Superblocks,
            ],
            Kind::Journal5 | Kind::Journal6 => {
                &[Self::Record, Self::Record, Self::Stripe, Self::Stripe, Self::Table, Self::Superblocks]
            }
            // A lost record of deferred parity affects more rows than it names.
            Kind::Window5 | Kind::Window6 => &[Self::Superblocks],
            Kind::Bitmap5 | Kind::Bitmap6 => &[Self::Bitmap, Self::Stripe, Self::Superblocks],
        }
    }
}

/// Every possible host page, and more.
fn every_page(shape: &Shape) -> BTreeSet<u64> {
    (0..u64::from(shape.pages) * u64::from(shape.members)).collect()
}

impl Corruption {
    /// Destroys the structure, and returns the possible losses; `None` if the structure does not exist. Members in
    /// `lost` are already lost.
    pub(crate) fn strike(self, shape: &Shape, members: &mut Members, lost: u64) -> Option<Doubt> {
        let span = superblock_pages(shape.page_bytes);
        let mut doubt = Doubt::default();
        let places = match self.target {
            Target::Superblocks => {
                // With checksums, the content of a complete member proves its identity.
                doubt.is_hopeless = !shape.kind.has_checksums();
                (doubt.may_be_hopeless, doubt.may_be_refused) = (true, true);
                if lost != 0 {
                    // A member with incomplete content may be accepted instead of one that is not proved.
                    (doubt.pages, doubt.may_be_old) = (every_page(shape), true);
                }
                let width = u64::from(shape.members / shape.groups);
                let first = self.choice % width;
                let its = (0..=u64::from(shape.kind.parity()))
                    .map(|nth| MemberNo::at(((first + nth) % width) as usize));
                doubt.nameless = its.clone().fold(0, |all, member| all | member.bit());
                let back = shape.pages - span;
                its.flat_map(|member| (0..span).chain(back..shape.pages).map(move |page| (member, page)))
                    .collect()
            }
            Target::Checkpoints => {
                doubt.is_hopeless = true;
                all(members, |page| CheckpointHeader::parse(page).is_ok())
            }
            Target::NewestCheckpoint => {
                let number = |page: &[u8]| {
                    CheckpointHeader::parse(page).ok().map(|header| (header.epoch, header.number))
                };
                let newest = pages(members).filter_map(|(_, page)| number(page)).max()?;
                let others = whole_checkpoints(shape, members).filter(|(_, its)| *its != newest);
                let (mut is_left, mut is_left_there) = (false, false);
                for (member, _) in others {
                    is_left = true;
                    is_left_there |= !member.is_in(lost);
                }
                (doubt.is_hopeless, doubt.may_be_hopeless) = (!is_left, !is_left_there);
                doubt.pages = every_page(shape);
                (doubt.may_be_old, doubt.forgets) = (true, true);
                all(members, |page| number(page) == Some(newest))
            }
            Target::Commits => {
                self.unpromised(shape, members, lost, &mut doubt);
                all(members, |page| Commit::parse(page).is_ok())
            }
            Target::Summary => {
                let batches = batches(members);
                let Batch { header, copies, .. } = self.one_of(&batches)?;
                let is_behind = |batch: &&Batch| {
                    batch.header.segment == header.segment && batch.header.first >= header.first
                };
                doubt.pages = batches
                    .iter()
                    .filter(is_behind)
                    .flat_map(|batch| batch.touched.iter().copied())
                    .collect();
                doubt.may_be_old = true;
                copies.clone()
            }
            Target::Stripe if shape.kind.is_in_place() => {
                let data = superblock(shape, members)?.data;
                let row = data.first + (self.choice / 64 % u64::from(data.pages)) as u32;
                doubt.rows.insert(row);
                let width = u64::from(shape.members / shape.groups);
                (0..=u64::from(shape.kind.parity()))
                    .map(|nth| (MemberNo::at(((self.choice / 7 + nth) % width) as usize), row))
                    .collect()
            }
            Target::Stripe => {
                let batches = batches(members);
                self.stripe_of(self.one_of(&batches)?, shape, members, lost, &mut doubt)?
            }
            Target::Record => self.record(shape, members, &mut doubt)?,
            Target::Table => {
                let tables: Vec<(u32, u32)> = pages(members)
                    .filter_map(|(_, page)| ChecksumPage::parse(page).ok())
                    .map(|head| (head.group, head.number))
                    .collect();
                let &(group, number) = self.one_of(&tables)?;
                let block = superblock(shape, members)?;
                let rows = (shape.page_bytes - 48) / (4 * u32::from(block.members_of_group));
                let first = block.data.first + number * rows;
                doubt.rows.extend(first..first + rows);
                all(members, |page| {
                    ChecksumPage::parse(page).is_ok_and(|head| (head.group, head.number) == (group, number))
                })
            }
            // The bitmap may be the only structure that knows which members are missing.
            Target::Bitmap if lost != 0 => return None,
            Target::Bitmap => all(members, |page| IntentPage::parse(page).is_ok()),
        };
        let can_rot = shape.kind.has_checksums() || self.target != Target::Stripe;
        for &(member, page) in &places {
            members.destroy(member, page, if can_rot { self.choice } else { 0 });
        }
        (!places.is_empty()).then_some(doubt)
    }

    fn one_of<T>(self, all: &[T]) -> Option<&T> {
        let nth = (self.choice / 5).checked_rem(all.len() as u64)?;
        Some(&all[nth as usize])
    }

    /// Without commit records, nothing after the newest checkpoint was durable. Batches that are not complete on
    /// their members are dropped, and all later batches with them, because a write was answered and never done.
    fn unpromised(self, shape: &Shape, members: &Members, lost: u64, doubt: &mut Doubt) {
        let headers = pages(members).filter_map(|(_, page)| CheckpointHeader::parse(page).ok());
        let newest = headers.max_by_key(|header| (header.epoch, header.number));
        let horizon = newest.map_or(0, |header| header.horizon);
        let Some(block) = superblock(shape, members) else { return };
        let is_there = |batch: &Batch, slot: u32, entry: &Entry| {
            let (member, page) = place_of(&block, batch.header.segment, slot);
            let Ok(content) = members.read(member, page) else { return false };
            !member.is_in(lost)
                && match entry.role {
                    EntryRole::Copy => Summary::parse(content).is_ok_and(|copy| copy.header == batch.header),
                    EntryRole::Data | EntryRole::P | EntryRole::Q => crc32c(content) == entry.checksum,
                    _ => true,
                }
        };
        let is_whole = |batch: &Batch| {
            (batch.header.first..).zip(&batch.entries).all(|(slot, entry)| is_there(batch, slot, entry))
        };
        let mut later = batches(members);
        later.retain(|batch| batch.header.batch > horizon);
        later.sort_unstable_by_key(|batch| batch.header.batch);
        let dropped = later.iter().skip_while(|batch| is_whole(batch));
        doubt.pages.extend(dropped.flat_map(|batch| batch.touched.iter().copied()));
        doubt.may_be_old = true;
    }

    /// One more page of a stripe of a batch than parity tolerates.
    fn stripe_of(
        self,
        batch: &Batch,
        shape: &Shape,
        members: &Members,
        lost: u64,
        doubt: &mut Doubt,
    ) -> Option<Vec<(MemberNo, u32)>> {
        let block = superblock(shape, members)?;
        let slots = (batch.header.first..).zip(&batch.entries);
        let slots_in_use: Vec<(u32, &Entry)> = slots
            .filter(|(_, entry)| matches!(entry.role, EntryRole::Data | EntryRole::P | EntryRole::Q))
            .collect();
        let stripes: Vec<&[(u32, &Entry)]> = slots_in_use.chunk_by(|_, (_, next)| !next.is_first).collect();
        let stripe = *self.one_of(&stripes)?;
        let first = (self.choice / 11) as usize;
        let count = (shape.kind.parity() as usize + 1).min(stripe.len());
        let place = |slot: u32| place_of(&block, batch.header.segment, slot);
        let destroyed: Vec<(MemberNo, u32)> =
            (0..count).map(|nth| place(stripe[(first + nth) % stripe.len()].0)).collect();
        // Chunks that were lost or damaged earlier can no longer be decoded either.
        let is_gone = |at @ (member, page): (MemberNo, u32), checksum: u32| {
            let is_right = || members.read(member, page).is_ok_and(|content| crc32c(content) == checksum);
            destroyed.contains(&at) || member.is_in(lost) || !is_right()
        };
        let data = stripe.iter().filter(|(_, entry)| entry.role == EntryRole::Data);
        let gone = data.filter(|(slot, entry)| is_gone(place(*slot), entry.checksum));
        doubt.pages.extend(gone.map(|(_, entry)| entry.chunk));
        Some(destroyed)
    }

    /// The header of a record of the redo journal, in all copies. Not the last record, which may have been in flight,
    /// nor the one before it, without which no record is replayed.
    fn record(self, shape: &Shape, members: &Members, doubt: &mut Doubt) -> Option<Vec<(MemberNo, u32)>> {
        let block = superblock(shape, members)?;
        let of = |page: &[u8]| RedoRecord::parse(page).ok().filter(|record| record.epoch == block.epoch);
        let newest = pages(members).filter_map(|(_, page)| of(page)).max_by_key(|record| record.number)?;
        let live: BTreeMap<u64, RedoRecord> = pages(members)
            .filter_map(|(_, page)| of(page))
            .filter(|record| (newest.tail..newest.number.saturating_sub(1)).contains(&record.number))
            .map(|record| (record.number, record))
            .collect();
        let live: Vec<RedoRecord> = live.into_values().collect();
        let record = self.one_of(&live)?;
        doubt.rows.extend(record.entries.iter().map(|entry| block.data.first + entry.page));
        // A record without entries states which members are missing.
        (doubt.may_be_old, doubt.may_be_refused) = (true, true);
        Some(all(members, |page| of(page).is_some_and(|found| found.number == record.number)))
    }
}

/// The complete checkpoints: the member, and the checkpoint's epoch and number.
fn whole_checkpoints(shape: &Shape, members: &Members) -> impl Iterator<Item = (MemberNo, (u32, u64))> {
    let area = superblock(shape, members).map(|block| block.checkpoint).unwrap_or_default();
    let slots = [area.first, area.first + area.pages];
    let places = members.all().flat_map(move |member| slots.map(|first| (member, first)));
    places.filter_map(move |(member, first)| {
        let mut its = (first..first + area.pages).map(|page| members.read(member, page).ok());
        let header = CheckpointHeader::parse(its.next()??).ok()?;
        let mut body: Vec<u8> =
            its.collect::<Option<Vec<_>>>()?.iter().flat_map(|page| page.iter().copied()).collect();
        body.truncate(header.body_bytes as usize);
        header.check_body(&body).ok()?;
        Some((member, (header.epoch, header.number)))
    })
}

/// All pages of all members, as reads would return them.
fn pages(members: &Members) -> impl Iterator<Item = ((MemberNo, u32), &[u8])> {
    let places = members.all().flat_map(|member| (0..members.pages(member)).map(move |page| (member, page)));
    places.filter_map(|(member, page)| Some(((member, page), &**members.read(member, page).ok()?)))
}

/// The places of the pages for which `is_it` returns true.
fn all(members: &Members, is_it: impl Fn(&[u8]) -> bool) -> Vec<(MemberNo, u32)> {
    pages(members).filter(|(_, page)| is_it(page)).map(|(at, _)| at).collect()
}

/// The member and page of a slot of a segment.
fn place_of(block: &Superblock, segment: u32, slot: u32) -> (MemberNo, u32) {
    let (width, groups) = (u32::from(block.members_of_group), u32::from(block.groups));
    let row = segment / groups * block.segment_rows + slot / width;
    (MemberNo::at((segment % groups * width + slot % width) as usize), block.data.first + row)
}

/// The superblock with the greatest epoch among all copies.
pub(super) fn superblock(shape: &Shape, members: &Members) -> Option<Superblock> {
    superblocks(shape, members).map(|(_, block)| block).max_by_key(|block| block.epoch)
}

/// All readable superblocks, each with its member.
pub(super) fn superblocks<'a>(
    shape: &Shape,
    members: &'a Members,
) -> impl Iterator<Item = (MemberNo, Superblock)> + use<'a> {
    let span = superblock_pages(shape.page_bytes);
    let copy = move |member: MemberNo, first: u32| {
        let pages = (first..first + span).filter_map(|page| members.read(member, page).ok());
        let bytes: Vec<u8> = pages.flat_map(|page| page.iter().copied()).take(SUPERBLOCK_BYTES).collect();
        Superblock::parse(&bytes).ok()
    };
    let places = members.all().flat_map(move |member| [(member, 0), (member, members.pages(member) - span)]);
    places.filter_map(move |(member, first)| Some((member, copy(member, first)?)))
}

/// The batches of the last generation of each segment.
fn batches(members: &Members) -> Vec<Batch> {
    let mut found: BTreeMap<(u32, u32, u32), Batch> = BTreeMap::new();
    for (at, page) in pages(members) {
        let Ok(summary) = Summary::parse(page) else { continue };
        let header = summary.header;
        let batch = found.entry((header.segment, header.generation, header.first)).or_insert_with(|| {
            let entries: Vec<Entry> = summary.entries().collect();
            let data = entries.iter().filter(|entry| entry.role == EntryRole::Data).map(|entry| entry.chunk);
            let graves =
                summary.tombstones().flat_map(|grave| grave.first..grave.first + u64::from(grave.chunks));
            let touched = data.chain(graves).collect();
            Batch { header, entries, touched, copies: Vec::new() }
        });
        batch.copies.push(at);
    }
    let last: BTreeMap<u32, u32> =
        found.keys().map(|&(segment, generation, _)| (segment, generation)).collect();
    found.into_values().filter(|batch| last[&batch.header.segment] == batch.header.generation).collect()
}
