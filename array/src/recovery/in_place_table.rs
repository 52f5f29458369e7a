//! The table of checksums on the members: reading the newest version of each page, and writing the next.

use stripewise_code::Code;

use super::damage::is_damaged;
use super::in_place::Site;
use super::{OpenError, Opened, ROUND_PAGES};
use crate::format::{ChecksumPage, Structure, crc32c};
use crate::journal::Checksums;
use crate::media::At;

/// The table as the members have it.
pub(super) struct Found {
    pub(super) table: Checksums,
    /// Where an older version than the newest one of a page is: that is to be written there before anything else.
    pub(super) behind: Vec<(u32, At)>,
    /// Pages of which there is no whole copy.
    pub(super) lost: Vec<u32>,
}

/// Writes pages of the table in their next version, and flushes them.
pub(super) fn write(site: &mut Site<'_>, table: &mut Checksums, pages: &[u32]) -> Result<(), OpenError> {
    let mut behind = Vec::new();
    for &page in pages {
        let version = table.begin_write(page);
        behind.extend(places(site, table.locate(page), version).into_iter().map(|at| (page, at)));
    }
    make_whole(site, table, &behind)
}

/// Writes pages of the table in the version that it has to places that are behind, and flushes them.
pub(super) fn make_whole(
    site: &mut Site<'_>,
    table: &Checksums,
    behind: &[(u32, At)],
) -> Result<(), OpenError> {
    for round in behind.chunks(ROUND_PAGES) {
        let at: Vec<At> = round.iter().map(|&(_, at)| at).collect();
        let mut pages = vec![vec![0; site.page_bytes()]; at.len()];
        for (&(page, _), bytes) in round.iter().zip(&mut pages) {
            table.encode(page, site.array, site.epoch, bytes);
        }
        site.write(&at, &pages)?;
    }
    Ok(())
}

/// Where the copies of a page of the table are in a version, on members that are there.
fn places(site: &Site<'_>, (group, number): (u32, u32), version: u64) -> Vec<At> {
    let place = |copy| {
        let (position, page) = site.layout.copy_at(number, copy, version);
        let member = site.geometry.member_at(group, position);
        site.at(member.into(), site.layout.table.first + page)
    };
    (0..site.layout.copies).filter_map(place).collect()
}

/// Reads the table. What of it is lost is added to the losses.
pub(super) fn read(site: &mut Site<'_>, opened: &mut Opened) -> Found {
    let mut table = Checksums::new(&site.layout, site.geometry.groups, true);
    let mut behind = Vec::new();
    let mut lost = Vec::new();
    // Each is read in all copies and both versions.
    let round = ROUND_PAGES as u32 / (2 * site.layout.copies);
    for first in (0..table.pages()).step_by(round as usize) {
        let pages = first..table.pages().min(first + round);
        let places_of = |page: u32| {
            let located = table.locate(page);
            [0, 1].map(|version| places(site, located, version))
        };
        let all: Vec<[Vec<At>; 2]> = pages.clone().map(places_of).collect();
        let at: Vec<At> = all.iter().flatten().flatten().copied().collect();
        let mut contents = site.read(&at).into_iter();
        for (page, places) in pages.zip(all) {
            let (mut found, mut damaged) = (Vec::new(), Vec::new());
            let each =
                [0, 1].into_iter().flat_map(|version| places[version].iter().map(move |&at| (version, at)));
            for (version, at) in each {
                let bytes = contents.next().flatten();
                if bytes.as_deref().is_none_or(|bytes| is_damaged(ChecksumPage::parse(bytes).as_ref())) {
                    damaged.push(at);
                }
                found.extend(Copy::of(site, &table, page, version as u64, at, bytes));
            }
            let Some(newest) = found.iter().max_by_key(|copy| copy.head.version) else {
                lost.push(page);
                continue;
            };
            let version = newest.head.version;
            for &at in &places[(version % 2) as usize] {
                if !found.iter().any(|copy| copy.at == at && copy.head.version == version) {
                    opened
                        .damaged
                        .extend(damaged.contains(&at).then(|| site.damaged(at, Structure::Checksums)));
                    behind.push((page, at));
                }
            }
            table.load(page, &newest.head, &newest.bytes);
        }
    }
    if !lost.is_empty() {
        opened.losses.push(format!("{} pages of the table of checksums have no whole copy", lost.len()));
    }
    Found { table, behind, lost }
}

/// Makes the pages of the table anew that are lost, when all records are done again: a row whose parity is that of its data has
/// the checksums of what is there. What is right of another nobody can tell, and reads of it fail until it is written anew.
pub(super) fn remake(site: &mut Site<'_>, table: &mut Checksums, lost: &[u32], code: &Code) {
    for &page in lost {
        let (group, _) = table.locate(page);
        for row in table.rows(page) {
            let known = checksums_of_row(site, (group, row), code);
            for position in 0..site.geometry.columns {
                let checksum = known.as_ref().map_or(table.of_nothing(), |known| known[position as usize]);
                table.set(group, row, position, checksum);
            }
        }
    }
}

/// The checksums of a row by position, if more of it is there than the rest can be decoded from, and all that is there agrees.
fn checksums_of_row(site: &mut Site<'_>, (group, page): (u32, u32), code: &Code) -> Option<Vec<u32>> {
    let geometry = site.geometry;
    let place = geometry.place(geometry.row_of(group, page));
    let mut row = vec![vec![0; site.page_bytes()]; geometry.columns as usize];
    let mut index_of = vec![0; row.len()];
    let mut lost = 0u64;
    for column in 0..geometry.columns {
        let member = geometry.member(place, column).into();
        let index = geometry.code_index(place, column) as usize;
        index_of[geometry.position_of(member).1 as usize] = index;
        match site.at(member, place.page).and_then(|at| site.read(&[at]).pop().flatten()) {
            Some(content) => row[index] = content,
            None => lost |= 1 << index,
        }
    }
    if lost.count_ones() >= geometry.parity() {
        return None;
    }
    let mut slices: Vec<&mut [u8]> = row.iter_mut().map(Vec::as_mut_slice).collect();
    code.decode(&mut slices, lost, lost).ok()?;
    let (data, parity) = row.split_at(geometry.data as usize);
    let mut encoded = parity.to_vec();
    let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
    let mut slices: Vec<&mut [u8]> = encoded.iter_mut().map(Vec::as_mut_slice).collect();
    code.encode(&data, &mut slices);
    (encoded == parity).then(|| index_of.iter().map(|&index| crc32c(&row[index])).collect())
}

/// A valid copy of a page of the table.
struct Copy {
    at: At,
    head: ChecksumPage,
    bytes: Vec<u8>,
}

impl Copy {
    /// What was found where version 0 or 1, or one that is as even, of page `page` should be; nothing if that is something else.
    fn of(
        site: &Site<'_>,
        table: &Checksums,
        page: u32,
        version: u64,
        at: At,
        bytes: Option<Vec<u8>>,
    ) -> Option<Self> {
        let bytes = bytes?;
        let head = ChecksumPage::parse(&bytes).ok()?;
        let is_its = head.array == site.array
            && (head.group, head.number) == table.locate(page)
            && head.version % 2 == version
            && head.epoch <= site.epoch;
        is_its.then_some(Self { at, head, bytes })
    }
}
