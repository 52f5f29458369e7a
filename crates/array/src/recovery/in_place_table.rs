//! The table of checksums on the members: reads the newest version of each page, and writes the next version.

use stripewise_code::Code;
use stripewise_core::media::At;
use stripewise_format::{ChecksumPage, Structure, crc32c};

use super::damage::is_damaged;
use super::site::{ROUND_PAGES, Site};
use super::{AssembleError, RecoveryReport};
use crate::in_place::journal::Checksums;

/// The table as found on the members.
pub(super) struct TableFindings {
    pub(super) table: Checksums,
    /// Places with an older version of a page than the newest one: the newest version must be written there first.
    pub(super) behind: Vec<(u32, At)>,
    /// Pages without a whole copy.
    pub(super) lost: Vec<u32>,
}

/// Writes pages of the table in their next version, and flushes them.
pub(super) fn write(site: &mut Site<'_>, table: &mut Checksums, pages: &[u32]) -> Result<(), AssembleError> {
    let mut behind = Vec::new();
    for &page in pages {
        let version = table.begin_write(page);
        behind.extend(places(site, table.locate(page), version).into_iter().map(|at| (page, at)));
    }
    make_whole(site, table, &behind)
}

/// Writes pages of the table, in their current version, to places that are behind, and flushes them.
pub(super) fn make_whole(
    site: &mut Site<'_>,
    table: &Checksums,
    behind: &[(u32, At)],
) -> Result<(), AssembleError> {
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

/// The places of the copies of a page of the table in a version, on members that are present.
fn places(site: &Site<'_>, (group, number): (u32, u32), version: u64) -> Vec<At> {
    let place = |copy| {
        let (position, page) = site.layout.copy_at(number, copy, version);
        let member = site.geometry.member_at(group, position);
        site.at(member, site.layout.table.first + page)
    };
    (0..site.layout.copies).filter_map(place).collect()
}

/// Reads the table. Lost pages are added to the losses.
pub(super) fn read(site: &mut Site<'_>, opened: &mut RecoveryReport) -> TableFindings {
    let mut table = Checksums::new(&site.layout, site.geometry.groups, true);
    let mut behind = Vec::new();
    let mut lost = Vec::new();
    // Each page is read in all copies and both versions.
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
    TableFindings { table, behind, lost }
}

/// Rebuilds lost pages of the table, after all records are replayed. A row whose parity matches its data gets the
/// checksums of its current content. For other rows, it is unknown which pages are right; reads of them fail until they
/// are written again.
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

/// The checksums of a row by position. `None` unless more of the row is present than decoding needs, and all of it agrees.
fn checksums_of_row(site: &mut Site<'_>, (group, page): (u32, u32), code: &Code) -> Option<Vec<u32>> {
    let geometry = site.geometry;
    let place = geometry.place(geometry.row_of(group, page));
    let mut row = vec![vec![0; site.page_bytes()]; geometry.columns as usize];
    let mut index_of = vec![0; row.len()];
    let mut lost = 0u64;
    for column in 0..geometry.columns {
        let member = geometry.member(place, column);
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
    /// The copy of page `page` at a place for version `version` (0 or 1, for even and odd versions); `None` if something
    /// else is there.
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
