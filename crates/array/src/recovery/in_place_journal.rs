//! Reads the redo journal: which records exist, which of them must be replayed, and the result of replaying them.

use std::collections::{BTreeMap, BTreeSet};

use super::damage::is_damaged;
use super::site::{ROUND_PAGES, Site};
use super::{AssembleError, DamagedCopy};
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::At;
use stripewise_format::{REDO_MAGIC, RedoEntry, RedoKind, RedoRecord, Structure, crc32c};

use crate::in_place::journal::Checksums;

/// A record that was found, with the images that match their checksums, in order.
pub(super) struct Record {
    pub(super) header: RedoRecord,
    pub(super) images: Vec<Option<Vec<u8>>>,
}

impl Record {
    fn is_whole(&self) -> bool {
        self.images.iter().all(Option::is_some)
    }

    /// The entries of the record, each with its image if it has one.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&RedoEntry, Option<&Vec<u8>>)> {
        let mut images = self.images.iter();
        self.header.entries.iter().map(move |entry| {
            let image = if entry.kind.has_image() { images.next() } else { None };
            (entry, image.and_then(Option::as_ref))
        })
    }

    /// Writes the record at its place on all present members, and flushes them.
    pub(super) fn write(&self, site: &mut Site<'_>) -> Result<(), AssembleError> {
        let Self { header, images } = self;
        let page_bytes = site.page_bytes();
        let mut bytes = vec![0; site.layout.header_pages() as usize * page_bytes];
        header.encode(&mut bytes);
        let mut record: Vec<Vec<u8>> = bytes.chunks(page_bytes).map(<[u8]>::to_vec).collect();
        let entries = header.entries.iter().filter(|entry| entry.kind.has_image());
        for (entry, image) in entries.zip(images.iter().flatten()) {
            let mut page = image.clone();
            if entry.is_masked {
                page[..REDO_MAGIC.len()].fill(0);
            }
            record.push(page);
        }
        let first = site.layout.journal.first + header.first;
        let (mut at, mut pages) = (Vec::new(), Vec::new());
        for member in MemberNo::first(site.geometry.members) {
            for (page, content) in (first..).zip(&record) {
                let Some(place) = site.at(member, page) else { continue };
                at.push(place);
                pages.push(content.clone());
            }
        }
        site.write(&at, &pages)
    }
}

/// The content of the journal.
#[derive(Default)]
pub(super) struct JournalFindings {
    /// The header of the newest whole record.
    pub(super) newest: Option<RedoRecord>,
    /// Records to replay, in order.
    pub(super) records: Vec<Record>,
    /// Records that were begun and that nothing relied on.
    pub(super) dropped: u64,
    /// Records that should exist but are not whole.
    missing: Vec<u64>,
    /// Groups in which the journal is unreadable on more members than parity tolerates.
    unreadable: Vec<u32>,
    /// Pages of the journal that cannot be read.
    unread: Vec<At>,
}

/// The result of replaying records.
#[derive(Default)]
pub(super) struct Changes {
    /// The last content of each page, by member and page of the data.
    pub(super) pages: BTreeMap<(MemberNo, u32), Vec<u8>>,
    /// The last checksum of each page, by group, page and position.
    pub(super) checksums: BTreeMap<(u32, u32, u32), u32>,
}

impl Changes {
    /// The checksum of a page by group, page and position: the last one, or else the one in `table`.
    pub(super) fn checksum(&self, table: &Checksums, at: (u32, u32, u32)) -> u32 {
        self.checksums.get(&at).copied().unwrap_or_else(|| table.get(at.0, at.1, at.2))
    }
}

impl JournalFindings {
    /// The number of the last record, or 0.
    pub(super) fn newest_number(&self) -> u64 {
        self.records.last().map_or(0, |record| record.header.number)
    }

    /// Whether all expected records from the tail on were found.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// Reads the journal of all present members.
    pub(super) fn read(site: &mut Site<'_>) -> Self {
        let mut found = Self::default();
        let mut headers = Headers::new();
        let mut unread = vec![0; site.geometry.groups as usize];
        for member in MemberNo::first(site.geometry.members) {
            let is_read = read_ring(site, member, &mut headers, &mut found.unread);
            unread[site.geometry.group_of(member) as usize] += u32::from(!is_read);
        }
        let tolerates = site.geometry.parity();
        found.unreadable =
            (0..site.geometry.groups).filter(|&group| unread[group as usize] > tolerates).collect();
        let mut collect = |number: u64| {
            let all = headers.get(&number)?;
            all.iter().map(|(header, members)| images(site, header, members)).find(Record::is_whole)
        };
        let Some(&top) = headers.keys().next_back() else { return found };
        let mut newest = collect(top);
        if newest.is_none() {
            // Only the last record may have been in progress: it was begun when the previous record was durable.
            found.dropped = 1;
            if top == 1 {
                return found;
            }
            newest = collect(top - 1);
        }
        let Some(newest) = newest else {
            found.missing.push(top - 1);
            return found;
        };
        let (tail, number) = (newest.header.tail, newest.header.number);
        found.newest = Some(newest.header.clone());
        for number in tail..number {
            match collect(number) {
                Some(record) => found.records.push(record),
                None => found.missing.push(number),
            }
        }
        found.records.push(newest);
        found
    }

    /// Rewrites the newest record on all members. It may be on only one of them; if that member is lost before the replay
    /// is complete, the replay must be repeatable. Earlier records are where they should be.
    pub(super) fn secure(&self, site: &mut Site<'_>) -> Result<(), AssembleError> {
        self.records.last().map_or(Ok(()), |newest| newest.write(site))
    }

    /// Clears pages that could not be read, once their content is no longer needed, so that they do not count against the
    /// next assembly.
    pub(super) fn clear_unread(&self, site: &mut Site<'_>) -> Result<(), AssembleError> {
        site.write(&self.unread, &vec![vec![0; site.page_bytes()]; self.unread.len()])
    }

    /// Describes what may be lost.
    pub(super) fn losses(&self) -> impl Iterator<Item = String> + '_ {
        let missing = self.missing.iter().map(|number| {
            format!("record {number} of the journal is not whole on any member, so updates may be half done")
        });
        let unreadable = self.unreadable.iter().map(|group| {
            format!("the journal cannot be read on more members of group {group} than its parity tolerates")
        });
        missing.chain(unreadable)
    }

    /// Damaged copies of records with another intact copy. The last record is not reported: its write may have been
    /// interrupted, and assembling the array for writing rewrites it.
    pub(super) fn damaged(&self, site: &mut Site<'_>) -> Vec<DamagedCopy> {
        let (geometry, copies) = (site.geometry, site.layout.copies);
        let missing = self.newest.as_ref().map_or(0, |newest| newest.missing);
        let mut damaged = Vec::new();
        for Record { header, .. } in self.records.split_last().map_or(&[][..], |(_, settled)| settled) {
            let members = geometry.keepers(copies, header.number, header.missing);
            for member in members.filter(|member| !member.is_in(missing)) {
                let place = site.at(member, site.layout.journal.first + header.first);
                if let Some(at) = place
                    && !has_record(site, header, member)
                {
                    damaged.push(site.damaged(at, Structure::Journal));
                }
            }
        }
        damaged
    }

    /// The parity of rows whose data changed after it was last recorded, by group, page of the data and member: it is deferred,
    /// or its member could not take it.
    pub(super) fn parity_left_behind(&self, geometry: &Geometry) -> BTreeSet<(u32, u32, MemberNo)> {
        let mut left = BTreeSet::new();
        for record in &self.records {
            let mut recorded = Vec::new();
            for (RedoEntry { member, page, .. }, _) in record.entries() {
                let group = geometry.group_of(*member);
                let place = geometry.place(geometry.row_of(group, *page));
                let parity = (geometry.data..geometry.columns).map(|column| geometry.member(place, column));
                if parity.clone().any(|other| other == *member) {
                    recorded.push((group, *page, *member));
                } else {
                    left.extend(parity.map(|member| (group, *page, member)));
                }
            }
            recorded.iter().for_each(|at| _ = left.remove(at));
        }
        left
    }

    /// The result of replaying all records in order.
    pub(super) fn changes(&self, geometry: &Geometry) -> Changes {
        let zeros = vec![0; geometry.page_bytes as usize];
        let mut changes = Changes::default();
        for (entry, image) in self.records.iter().flat_map(Record::entries) {
            let at = (entry.member, entry.page);
            match (entry.kind, image) {
                (RedoKind::Before, _) => continue,
                (RedoKind::Zeros, _) => changes.pages.insert(at, zeros.clone()),
                (_, Some(image)) => changes.pages.insert(at, image.clone()),
                // The member's old content is older than the content that it gets when it is rebuilt.
                (_, None) => changes.pages.remove(&at),
            };
            let (group, position) = geometry.position_of(entry.member);
            changes.checksums.insert((group, entry.page, position), entry.checksum);
        }
        changes
    }
}

/// The headers found for each number, with the members that have them. A number may have several headers: a record that an
/// interrupted assembly dropped remains where nothing was written since, and another record got its number.
type Headers = BTreeMap<u64, Vec<(RedoRecord, Vec<MemberNo>)>>;

/// Adds the records of `member` to the headers found, and unreadable pages to `unread`. Returns whether all pages could be
/// read.
fn read_ring(site: &mut Site<'_>, member: MemberNo, headers: &mut Headers, unread: &mut Vec<At>) -> bool {
    let ring = site.layout.journal;
    let at: Vec<At> = (0..ring.pages).filter_map(|page| site.at(member, ring.first + page)).collect();
    let (is_there, before) = (!at.is_empty(), unread.len());
    // Headers that begin in this round may end in the next one.
    let span = site.layout.header_pages() as usize;
    let page_bytes = site.page_bytes();
    for first in (0..at.len()).step_by(ROUND_PAGES) {
        let pages = site.read(&at[first..at.len().min(first + ROUND_PAGES + span - 1)]);
        let its = at[first..].iter().zip(&pages).take(ROUND_PAGES);
        unread.extend(its.filter(|(_, content)| content.is_none()).map(|(at, _)| *at));
        for (nth, pages) in pages.windows(span).enumerate() {
            let begins = pages[0].as_ref().is_some_and(|page| page.starts_with(&REDO_MAGIC));
            if nth >= ROUND_PAGES || !begins {
                continue;
            }
            let mut bytes = Vec::with_capacity(span * page_bytes);
            pages.iter().flatten().for_each(|page| bytes.extend_from_slice(page));
            let Ok(header) = RedoRecord::parse(&bytes) else { continue };
            if is_ours(site, &header, (first + nth) as u32) {
                let all = headers.entry(header.number).or_default();
                match all.iter_mut().find(|(known, _)| *known == header) {
                    Some((_, members)) => members.push(member),
                    None => all.push((header, vec![member])),
                }
            }
        }
    }
    is_there && unread.len() == before
}

/// Whether a header belongs to this array and epoch, is in its own place and has only pages that exist.
fn is_ours(site: &Site<'_>, header: &RedoRecord, at: u32) -> bool {
    let end = u64::from(at) + u64::from(site.layout.header_pages()) + u64::from(header.images());
    header.array == site.array
        && header.epoch == site.epoch
        && header.first == at
        && end <= u64::from(site.layout.journal.pages)
        // Each record to be replayed takes at least one page of the ring.
        && header.number - header.tail <= u64::from(site.layout.journal.pages)
        && header.entries.iter().all(|entry| {
            entry.member.is_within(site.geometry.members) && entry.page < site.layout.data.pages
        })
}

/// Whether `member` has a whole copy of a record, or zeros because its copy was cleared after the member left and returned.
fn has_record(site: &mut Site<'_>, header: &RedoRecord, member: MemberNo) -> bool {
    let first = site.layout.journal.first + header.first;
    let pages = first..first + site.layout.header_pages();
    let at: Vec<At> = pages.filter_map(|page| site.at(member, page)).collect();
    let bytes: Vec<u8> = site.read(&at).into_iter().flatten().flatten().collect();
    match RedoRecord::parse(&bytes) {
        Ok(found) => found == *header && images(site, header, &[member]).is_whole(),
        absent => !is_damaged(absent.as_ref()),
    }
}

/// The record of `header`, with each image that any of its copies has.
fn images(site: &mut Site<'_>, header: &RedoRecord, members: &[MemberNo]) -> Record {
    let entries: Vec<_> = header.entries.iter().filter(|entry| entry.kind.has_image()).collect();
    let first = site.layout.journal.first + header.first + site.layout.header_pages();
    let mut images: Vec<Option<Vec<u8>>> = vec![None; entries.len()];
    for &member in members {
        let wanted: Vec<usize> = (0..entries.len()).filter(|&nth| images[nth].is_none()).collect();
        let at: Vec<At> = wanted.iter().filter_map(|&nth| site.at(member, first + nth as u32)).collect();
        for (&nth, page) in wanted.iter().zip(site.read(&at)) {
            let Some(mut page) = page else { continue };
            if entries[nth].is_masked {
                page[..REDO_MAGIC.len()].copy_from_slice(&REDO_MAGIC);
            }
            if crc32c(&page) == entries[nth].checksum {
                images[nth] = Some(page);
            }
        }
    }
    Record { header: header.clone(), images }
}
