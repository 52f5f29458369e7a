//! Reading the redo journal: which records there are, which of them are to be done again, and what that comes to.

use std::collections::BTreeMap;

use super::damage::is_damaged;
use super::in_place::Site;
use super::{DamagedCopy, OpenError, ROUND_PAGES};
use crate::format::{REDO_MAGIC, RedoEntry, RedoKind, RedoRecord, Structure, crc32c};
use crate::geometry::Geometry;
use crate::journal::Checksums;
use crate::media::At;

/// A record that was found, with the images that have their checksums, in order.
pub(super) struct Record {
    pub(super) header: RedoRecord,
    pub(super) images: Vec<Option<Vec<u8>>>,
}

impl Record {
    fn is_whole(&self) -> bool {
        self.images.iter().all(Option::is_some)
    }

    /// Its entries, each with its image if it has one.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&RedoEntry, Option<&Vec<u8>>)> {
        let mut images = self.images.iter();
        self.header.entries.iter().map(move |entry| {
            let image = if entry.kind.has_image() { images.next() } else { None };
            (entry, image.and_then(Option::as_ref))
        })
    }

    /// Writes it at its place on all members that are there, and flushes them.
    pub(super) fn write(&self, site: &mut Site<'_>) -> Result<(), OpenError> {
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
        for member in 0..site.geometry.members {
            for (page, content) in (first..).zip(&record) {
                let Some(place) = site.at(member, page) else { continue };
                at.push(place);
                pages.push(content.clone());
            }
        }
        site.write(&at, &pages)
    }
}

/// What the journal says.
#[derive(Default)]
pub(super) struct Found {
    /// The header of the newest whole record.
    pub(super) newest: Option<RedoRecord>,
    /// Records to be done again, in order.
    pub(super) records: Vec<Record>,
    /// Records that were begun and nothing relied on.
    pub(super) dropped: u64,
    /// Records that should be there and are not whole.
    missing: Vec<u64>,
    /// Groups of which more members than parity tolerates cannot be read in the journal's area.
    unreadable: Vec<u32>,
    /// Pages of it that cannot be read.
    unread: Vec<At>,
}

/// What doing records again comes to.
#[derive(Default)]
pub(super) struct Changes {
    /// The last content of each page, by member and page of the data.
    pub(super) pages: BTreeMap<(u32, u32), Vec<u8>>,
    /// The last checksum of each, by group, page and position.
    pub(super) checksums: BTreeMap<(u32, u32, u32), u32>,
}

impl Changes {
    /// The checksum of a page by group, page and position: the last one, or that which `table` has.
    pub(super) fn checksum(&self, table: &Checksums, at: (u32, u32, u32)) -> u32 {
        self.checksums.get(&at).copied().unwrap_or_else(|| table.get(at.0, at.1, at.2))
    }
}

impl Found {
    /// The number of the last of its records, or 0.
    pub(super) fn newest_number(&self) -> u64 {
        self.records.last().map_or(0, |record| record.header.number)
    }

    /// Whether records from the tail on that were found are all that there should be.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// Reads the journal of all members that are there.
    pub(super) fn read(site: &mut Site<'_>) -> Self {
        let mut found = Self::default();
        let mut headers = Headers::new();
        let mut unread = vec![0; site.geometry.groups as usize];
        for member in 0..site.geometry.members {
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
            // Only the last one may have been under way, and it was begun when the one before it was durable.
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

    /// Writes the newest record anew on all members. It may be on one of them alone, and what is done again by it has to be done
    /// again if that one is lost meanwhile. Those before it are where they should be.
    pub(super) fn secure(&self, site: &mut Site<'_>) -> Result<(), OpenError> {
        self.records.last().map_or(Ok(()), |newest| newest.write(site))
    }

    /// Makes pages that could not be read zeros, when nothing is needed of them any more: they do not count against the next
    /// opening.
    pub(super) fn clear_unread(&self, site: &mut Site<'_>) -> Result<(), OpenError> {
        site.write(&self.unread, &vec![vec![0; site.page_bytes()]; self.unread.len()])
    }

    /// What may be lost, in words.
    pub(super) fn losses(&self) -> impl Iterator<Item = String> + '_ {
        let missing = self.missing.iter().map(|number| {
            format!("record {number} of the journal is not whole on any member, so updates may be half done")
        });
        let unreadable = self.unreadable.iter().map(|group| {
            format!("the journal cannot be read on more members of group {group} than its parity tolerates")
        });
        missing.chain(unreadable)
    }

    /// Copies of records that are not whole, though another one is. What wrote the last record may have been cut short, and
    /// opening the array for writing writes that one anew: nothing is told of it.
    pub(super) fn damaged(&self, site: &mut Site<'_>) -> Vec<DamagedCopy> {
        let (geometry, copies) = (site.geometry, site.layout.copies);
        let missing = self.newest.as_ref().map_or(0, |newest| newest.missing);
        let mut damaged = Vec::new();
        for Record { header, .. } in self.records.split_last().map_or(&[][..], |(_, settled)| settled) {
            let members = geometry.keepers(copies, header.number, header.missing);
            for member in members.filter(|member| missing >> member & 1 == 0) {
                let place = site.at(member.into(), site.layout.journal.first + header.first);
                if let Some(at) = place
                    && !has_record(site, header, member.into())
                {
                    damaged.push(site.damaged(at, Structure::Journal));
                }
            }
        }
        damaged
    }

    /// What doing all records again in order comes to.
    pub(super) fn changes(&self, geometry: &Geometry) -> Changes {
        let zeros = vec![0; geometry.page_bytes as usize];
        let mut changes = Changes::default();
        for (entry, image) in self.records.iter().flat_map(Record::entries) {
            let at = (u32::from(entry.member), entry.page);
            match (entry.kind, image) {
                (RedoKind::Before, _) => continue,
                (RedoKind::Zeros, _) => changes.pages.insert(at, zeros.clone()),
                (_, Some(image)) => changes.pages.insert(at, image.clone()),
                // What it had before is older than what it gets when it is rebuilt.
                (_, None) => changes.pages.remove(&at),
            };
            let (group, position) = geometry.position_of(at.0);
            changes.checksums.insert((group, entry.page, position), entry.checksum);
        }
        changes
    }
}

/// The headers that were found of each number, with the members that have them. Of a number there may be several: one that was
/// dropped by an opening which was cut short lies where nothing was written since, and another one got its number.
type Headers = BTreeMap<u64, Vec<(RedoRecord, Vec<u32>)>>;

/// Adds the records of `member` to those that were found, and the pages that cannot be read to `unread`. Whether there are none.
fn read_ring(site: &mut Site<'_>, member: u32, headers: &mut Headers, unread: &mut Vec<At>) -> bool {
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

/// Whether a header is one of this array and epoch, in its own place, about pages that there are.
fn is_ours(site: &Site<'_>, header: &RedoRecord, at: u32) -> bool {
    let end = u64::from(at) + u64::from(site.layout.header_pages()) + u64::from(header.images());
    header.array == site.array
        && header.epoch == site.epoch
        && header.first == at
        && end <= u64::from(site.layout.journal.pages)
        // Each of the records that it wants done again has a page of the ring at least.
        && header.number - header.tail <= u64::from(site.layout.journal.pages)
        && header.entries.iter().all(|entry| {
            u32::from(entry.member) < site.geometry.members && entry.page < site.layout.data.pages
        })
}

/// Whether the copy of a record on `member` is whole, or was made zeros as the member left and came back since.
fn has_record(site: &mut Site<'_>, header: &RedoRecord, member: u32) -> bool {
    let first = site.layout.journal.first + header.first;
    let pages = first..first + site.layout.header_pages();
    let at: Vec<At> = pages.filter_map(|page| site.at(member, page)).collect();
    let bytes: Vec<u8> = site.read(&at).into_iter().flatten().flatten().collect();
    match RedoRecord::parse(&bytes) {
        Ok(found) => found == *header && images(site, header, &[member]).is_whole(),
        absent => !is_damaged(absent.as_ref()),
    }
}

/// The record of `header`, with those of its images that one of its copies has.
fn images(site: &mut Site<'_>, header: &RedoRecord, members: &[u32]) -> Record {
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
