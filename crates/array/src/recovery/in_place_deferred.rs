//! Rows whose parity was deferred when power was lost: their parity is recomputed from their data. Records have the old
//! content that the parity covers, so lost chunks of such a row are decoded from that content first. Like any update, the
//! new parity is recorded before it is written.

use std::collections::BTreeMap;

use stripewise_code::Code;
use stripewise_core::geometry::{Geometry, Place};
use stripewise_core::ids::MemberNo;
use stripewise_core::media::At;
use stripewise_format::{REDO_MAGIC, RedoEntry, RedoKind, RedoRecord, crc32c};

use super::AssembleError;
use super::in_place_journal::{Changes, JournalFindings, Record};
use super::site::Site;
use crate::in_place::journal::{Checksums, Ring};

/// Each row with deferred parity, by group and page of the data: the content that its parity covers, by member.
type Late = BTreeMap<(u32, u32), BTreeMap<MemberNo, Vec<u8>>>;

/// The rows whose parity is still deferred after all records of `found` are replayed.
pub(super) fn rows(found: &JournalFindings, geometry: &Geometry) -> Late {
    let mut late = Late::new();
    for (entry, image) in found.records.iter().flat_map(Record::entries) {
        let member = entry.member;
        let (group, page) = (geometry.group_of(member), entry.page);
        let place = geometry.place(geometry.row_of(group, page));
        let mut parity = geometry.data..geometry.columns;
        if let Some(image) = image.filter(|_| entry.kind == RedoKind::Before) {
            let row = late.entry((group, page)).or_default();
            row.entry(member).or_insert_with(|| image.clone());
        } else if parity.any(|column| geometry.member(place, column) == member) {
            late.remove(&(group, page));
        }
    }
    late
}

/// Recomputes deferred parity from its data: adds records after those of `found`, to be replayed with them.
pub(super) fn cover(
    site: &mut Site<'_>,
    found: &mut JournalFindings,
    table: &Checksums,
    code: &Code,
    is_recorded: bool,
) -> Result<(), AssembleError> {
    let late = rows(found, site.geometry);
    let Some(newest) = found.newest.clone().filter(|_| !late.is_empty()) else { return Ok(()) };
    let changes = found.changes(site.geometry);
    let header_pages = site.layout.header_pages();
    let taken = |record: &Record| (record.header.first, header_pages + record.header.images());
    let mut ring = Ring::new(site.layout.journal.pages, header_pages, site.geometry.columns)
        .with(newest.tail, found.records.iter().map(taken));
    for ((group, page), before) in late {
        let row = DeferredRow { page, place: site.geometry.place(site.geometry.row_of(group, page)), before };
        // Without the parity, the row has lost more than it tolerates, and reads of the lost chunks fail by their
        // checksums.
        let Some(parity) = row.parity(site, &changes, table, code) else { continue };
        let mut record = row.record(site.geometry, &newest, parity, |position| {
            changes.checksum(table, (group, page, position))
        });
        record.header.number = found.newest_number() + 1;
        if is_recorded {
            let images = record.header.images();
            if !ring.has_room_to_cover(images, 0) {
                return Err(AssembleError::Refused(
                    "the journal has no room for the parity that was late, which it keeps free; it is damaged".into(),
                ));
            }
            record.header.first = ring.begin(images, 0).first;
            record.write(site)?;
        }
        found.records.push(record);
    }
    Ok(())
}

/// Computes parity whose checksum is unknown from its data, where all of that is intact: an earlier serving could not write
/// the parity when too many members were missing.
pub(super) fn remake(site: &mut Site<'_>, table: &mut Checksums, code: &Code) -> Result<(), AssembleError> {
    if !table.has_unknown() {
        return Ok(());
    }
    for group in 0..site.geometry.groups {
        for page in 0..site.layout.data.pages {
            let place = site.geometry.place(site.geometry.row_of(group, page));
            let parity = site.geometry.data..site.geometry.columns;
            let members: Vec<MemberNo> = parity.map(|column| site.geometry.member(place, column)).collect();
            let position = |member: MemberNo| site.geometry.position_of(member).1;
            let is_unknown =
                |&member: &MemberNo| table.get(group, page, position(member)) == Checksums::UNKNOWN;
            let at: Option<Vec<At>> = members.iter().map(|&member| site.at(member, place.page)).collect();
            let Some(at) = at.filter(|_| members.iter().any(is_unknown)) else { continue };
            let row = DeferredRow { page, place, before: BTreeMap::new() };
            let Some(parity) = row.parity(site, &Changes::default(), table, code) else { continue };
            site.write(&at, &parity)?;
            for (&member, page_of) in members.iter().zip(&parity) {
                table.set(group, page, site.geometry.position_of(member).1, crc32c(page_of));
            }
        }
    }
    Ok(())
}

/// A row with deferred parity.
struct DeferredRow {
    page: u32,
    place: Place,
    before: BTreeMap<MemberNo, Vec<u8>>,
}

impl DeferredRow {
    /// The parity of the row's data; `None` if more is lost than its code tolerates.
    fn parity(
        &self,
        site: &mut Site<'_>,
        changes: &Changes,
        table: &Checksums,
        code: &Code,
    ) -> Option<Vec<Vec<u8>>> {
        let geometry = site.geometry;
        let checksum = |member| {
            let (group, position) = geometry.position_of(member);
            changes.checksum(table, (group, self.page, position))
        };
        let members: Vec<(MemberNo, usize)> = (0..geometry.columns)
            .map(|column| {
                let index = geometry.code_index(self.place, column) as usize;
                (geometry.member(self.place, column), index)
            })
            .collect();
        // First the content that parity covers, in the order of the code.
        let mut row = vec![vec![0; site.page_bytes()]; members.len()];
        let mut lost = 0u64;
        for &(member, index) in &members {
            let known = self.before.get(&member).or_else(|| changes.pages.get(&(member, self.page)));
            let at = site.at(member, self.place.page).filter(|_| known.is_none());
            let read = at.and_then(|at| site.read(&[at]).pop().flatten());
            let read = read.filter(|content| crc32c(content) == checksum(member));
            match known.cloned().or(read) {
                Some(content) => row[index] = content,
                None => lost |= 1 << index,
            }
        }
        let decoded = lost & (u64::MAX >> (64 - geometry.data));
        let mut slices: Vec<&mut [u8]> = row.iter_mut().map(Vec::as_mut_slice).collect();
        code.decode(&mut slices, lost, decoded).ok()?;
        for &(member, index) in members.iter().filter(|(_, index)| *index < geometry.data as usize) {
            if decoded >> index & 1 != 0 && crc32c(&row[index]) != checksum(member) {
                return None;
            }
            if self.before.contains_key(&member) {
                row[index].clone_from(changes.pages.get(&(member, self.page))?);
            }
        }
        let mut parity = row.split_off(geometry.data as usize);
        let data: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
        let mut slices: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
        code.encode(&data, &mut slices);
        Some(parity)
    }

    /// The record of the row's parity, for now in the place of `newest`. `checksum` returns the checksum of a position
    /// whose member is missing.
    fn record(
        &self,
        geometry: &Geometry,
        newest: &RedoRecord,
        parity: Vec<Vec<u8>>,
        checksum: impl Fn(u32) -> u32,
    ) -> Record {
        let (mut entries, mut images) = (Vec::new(), Vec::new());
        for (column, page) in (geometry.data..).zip(parity) {
            let member = geometry.member(self.place, column);
            let is_missing = member.is_in(newest.missing);
            let (_, position) = geometry.position_of(member);
            entries.push(RedoEntry {
                page: self.page,
                checksum: if is_missing { checksum(position) } else { crc32c(&page) },
                member,
                kind: if is_missing { RedoKind::Missing } else { RedoKind::Image },
                is_masked: !is_missing && page.starts_with(&REDO_MAGIC),
            });
            images.extend((!is_missing).then_some(Some(page)));
        }
        Record { header: RedoRecord { entries, ..newest.clone() }, images }
    }
}
