//! Corruption beyond the contract: of one structure more is destroyed than parity tolerates. What the array must do then stands
//! in rows
//! `gap` and `beyond` of `docs/fault-contract.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stripewise_array::format::{
    CheckpointHeader, ChecksumPage, Commit, Entry, EntryRole, IntentPage, RedoRecord, SUPERBLOCK_BYTES,
    Summary, SummaryHeader, Superblock, crc32c, superblock_pages,
};

use super::members::Members;
use super::shape::{Kind, Shape};

/// What is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Both superblocks of one member more than parity tolerates.
    Superblocks,
    /// All checkpoints.
    Checkpoints,
    /// The newest checkpoint.
    NewestCheckpoint,
    /// All commit records.
    Commits,
    /// The summary of a batch.
    Summary,
    /// One page more of a stripe than parity tolerates.
    Stripe,
    /// A record of the redo journal that has two behind it.
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

/// What is destroyed of all copies, when nothing is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// What.
    pub target: Target,
    /// Decides which, and how.
    pub choice: u64,
}

/// What an array owes its hosts after corruption.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubt {
    /// Pages of hosts that may be lost: reads and writes of them may fail.
    pub(crate) pages: BTreeSet<u64>,
    /// Pages of members whose rows may be, wherever hosts' pages have a place.
    pub(crate) rows: BTreeSet<u32>,
    /// Whether they may hold any version that they ever had: what told of later ones is gone.
    pub(crate) may_be_old: bool,
    /// Whether pages may be zeros though something was there when the array was opened last.
    pub(crate) forgets: bool,
    /// Whether the array may have to be forced open although no host's page is in doubt.
    pub(crate) may_be_refused: bool,
    /// Members without superblocks now.
    pub(crate) nameless: u64,
    /// Whether the array cannot be opened at all, and whether it may be so that it cannot.
    pub(crate) is_hopeless: bool,
    pub(crate) may_be_hopeless: bool,
}

impl Doubt {
    /// Whether nothing may be lost, and nothing told of.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.rows.is_empty() && !self.may_be_refused
    }
}

/// A batch as its summary has it.
struct Batch {
    header: SummaryHeader,
    entries: Vec<Entry>,
    /// Pages of hosts that it has something of.
    touched: Vec<u64>,
    copies: Vec<(u16, u32)>,
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

    /// Its name, as the command takes it.
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

    /// What can be destroyed of an array of a kind; some of it more than once, as it is drawn more often.
    pub fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Log5 | Kind::Log6 => &[
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
            // What a lost record of late parity leaves in doubt is more than the rows that it names.
            Kind::Window5 | Kind::Window6 => &[Self::Superblocks],
            Kind::Bitmap5 | Kind::Bitmap6 => &[Self::Bitmap, Self::Stripe, Self::Superblocks],
        }
    }
}

/// More pages than hosts can have.
fn every_page(shape: &Shape) -> BTreeSet<u64> {
    (0..u64::from(shape.pages) * u64::from(shape.members)).collect()
}

impl Corruption {
    /// Destroys it, and says what that may cost; nothing if there is no such thing. Members of `lost` are lost already.
    pub(crate) fn strike(self, shape: &Shape, members: &mut Members, lost: u64) -> Option<Doubt> {
        let span = superblock_pages(shape.page_bytes);
        let mut doubt = Doubt::default();
        let places = match self.target {
            Target::Superblocks => {
                // Content proves which member it is where it has checksums, and is there.
                doubt.is_hopeless = !shape.kind.has_checksums();
                (doubt.may_be_hopeless, doubt.may_be_refused) = (true, true);
                if lost != 0 {
                    // One that had less than it should may be taken in the place of one that is not proved.
                    (doubt.pages, doubt.may_be_old) = (every_page(shape), true);
                }
                let width = u64::from(shape.members / shape.groups);
                let first = self.choice % width;
                let its = (0..=u64::from(shape.kind.parity())).map(|nth| ((first + nth) % width) as u16);
                doubt.nameless = its.clone().fold(0, |all, member| all | 1 << member);
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
                    is_left_there |= lost >> member & 1 == 0;
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
                    .map(|nth| (((self.choice / 7 + nth) % width) as u16, row))
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
            // It may be the only one that knows which members are missing.
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

    /// Without commit records nothing behind the newest checkpoint was promised: what is not whole on its members is dropped
    /// there, and so is what comes behind it, because a write was answered and never done.
    fn unpromised(self, shape: &Shape, members: &Members, lost: u64, doubt: &mut Doubt) {
        let headers = pages(members).filter_map(|(_, page)| CheckpointHeader::parse(page).ok());
        let newest = headers.max_by_key(|header| (header.epoch, header.number));
        let horizon = newest.map_or(0, |header| header.horizon);
        let Some(block) = superblock(shape, members) else { return };
        let is_there = |batch: &Batch, slot: u32, entry: &Entry| {
            let (member, page) = place_of(&block, batch.header.segment, slot);
            let Ok(content) = members.read(member, page) else { return false };
            lost >> member & 1 == 0
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

    /// One page more of a stripe of a batch than parity tolerates.
    fn stripe_of(
        self,
        batch: &Batch,
        shape: &Shape,
        members: &Members,
        lost: u64,
        doubt: &mut Doubt,
    ) -> Option<Vec<(u16, u32)>> {
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
        let destroyed: Vec<(u16, u32)> =
            (0..count).map(|nth| place(stripe[(first + nth) % stripe.len()].0)).collect();
        // What was lost or damaged before cannot be decoded any more either.
        let is_gone = |at @ (member, page): (u16, u32), checksum: u32| {
            let is_right = || members.read(member, page).is_ok_and(|content| crc32c(content) == checksum);
            destroyed.contains(&at) || lost >> member & 1 != 0 || !is_right()
        };
        let data = stripe.iter().filter(|(_, entry)| entry.role == EntryRole::Data);
        let gone = data.filter(|(slot, entry)| is_gone(place(*slot), entry.checksum));
        doubt.pages.extend(gone.map(|(_, entry)| entry.chunk));
        Some(destroyed)
    }

    /// The header of a record of the redo journal, in all copies: not the last, which may have been under way, nor the one before
    /// it, without which nothing is done again.
    fn record(self, shape: &Shape, members: &Members, doubt: &mut Doubt) -> Option<Vec<(u16, u32)>> {
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
        // One without entries says who is missing.
        (doubt.may_be_old, doubt.may_be_refused) = (true, true);
        Some(all(members, |page| of(page).is_some_and(|found| found.number == record.number)))
    }
}

/// The checkpoints that are whole: the member, and its epoch and number.
fn whole_checkpoints(shape: &Shape, members: &Members) -> impl Iterator<Item = (u16, (u32, u64))> {
    let area = superblock(shape, members).map(|block| block.checkpoint).unwrap_or_default();
    let slots = [area.first, area.first + area.pages];
    let places = (0..members.count()).flat_map(move |member| slots.map(|first| (member, first)));
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

/// All pages of all members, as they will be read.
fn pages(members: &Members) -> impl Iterator<Item = ((u16, u32), &[u8])> {
    let places = (0..members.count()).flat_map(|member| (0..members.pages()).map(move |page| (member, page)));
    places.filter_map(|(member, page)| Some(((member, page), &**members.read(member, page).ok()?)))
}

/// Where the pages are of which `is_it` says so.
fn all(members: &Members, is_it: impl Fn(&[u8]) -> bool) -> Vec<(u16, u32)> {
    pages(members).filter(|(_, page)| is_it(page)).map(|(at, _)| at).collect()
}

/// The member and page of a slot of a segment.
fn place_of(block: &Superblock, segment: u32, slot: u32) -> (u16, u32) {
    let (width, groups) = (u32::from(block.members_of_group), u32::from(block.groups));
    let row = segment / groups * block.segment_rows + slot / width;
    ((segment % groups * width + slot % width) as u16, block.data.first + row)
}

/// The superblock of the greatest epoch, from whichever copies there are.
fn superblock(shape: &Shape, members: &Members) -> Option<Superblock> {
    let span = superblock_pages(shape.page_bytes);
    let copy = |member: u16, first: u32| {
        let pages = (first..first + span).filter_map(|page| members.read(member, page).ok());
        let bytes: Vec<u8> = pages.flat_map(|page| page.iter().copied()).take(SUPERBLOCK_BYTES).collect();
        Superblock::parse(&bytes).ok()
    };
    let places = (0..members.count()).flat_map(|member| [(member, 0), (member, shape.pages - span)]);
    places.filter_map(|(member, first)| copy(member, first)).max_by_key(|block| block.epoch)
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
