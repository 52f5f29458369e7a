//! The table of checksums on the elements: reading the newest version of each page, and writing the next.

use super::damage::is_damaged;
use super::in_place::Site;
use super::{OpenError, Opened};
use crate::format::{ChecksumPage, Structure};
use crate::journal::Checksums;
use crate::media::At;

/// Pages of the table that are read in one round, each in all copies and versions.
const ROUND_PAGES: u32 = 128;

/// What is to be written before anything else: the newest version of pages where an older one is.
pub(super) type Behind = (Vec<At>, Vec<Vec<u8>>);

/// Writes pages of the table in their next version, and flushes them.
pub(super) fn write(site: &mut Site<'_>, table: &mut Checksums, pages: &[u32]) -> Result<(), OpenError> {
    let (mut at, mut contents) = (Vec::new(), Vec::new());
    for &page in pages {
        let version = table.begin_write(page);
        let mut bytes = vec![0; site.page_bytes()];
        table.encode(page, site.array, site.epoch, &mut bytes);
        for place in places(site, table.locate(page), version) {
            at.push(place);
            contents.push(bytes.clone());
        }
    }
    site.write(&at, &contents)
}

/// Where the copies of a page of the table are in a version, on elements that are there.
fn places(site: &Site<'_>, (group, number): (u32, u32), version: u64) -> Vec<At> {
    let place = |copy| {
        let (position, page) = site.layout.copy_at(number, copy, version);
        let element = site.geometry.element_at(group, position);
        site.at(element.into(), site.layout.table.first + page)
    };
    (0..site.layout.copies).filter_map(place).collect()
}

/// Reads the table. What is to be written so that all copies of a page have its newest version comes with it; what of it is lost
/// is added to the losses.
pub(super) fn read(site: &mut Site<'_>, opened: &mut Opened) -> (Checksums, Behind) {
    let mut table = Checksums::new(&site.layout, site.geometry.groups, true);
    let mut behind = Behind::default();
    let mut lost = 0;
    for first in (0..table.pages()).step_by(ROUND_PAGES as usize) {
        let pages = first..table.pages().min(first + ROUND_PAGES);
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
                lost += 1;
                table.mark(page);
                continue;
            };
            let version = newest.head.version;
            for &at in &places[(version % 2) as usize] {
                if !found.iter().any(|copy| copy.at == at && copy.head.version == version) {
                    opened
                        .damaged
                        .extend(damaged.contains(&at).then(|| site.damaged(at, Structure::Checksums)));
                    behind.0.push(at);
                    behind.1.push(newest.bytes.clone());
                }
            }
            table.load(page, &newest.head, &newest.bytes);
        }
    }
    if lost > 0 {
        opened.losses.push(format!("{lost} pages of the table of checksums have no whole copy"));
    }
    (table, behind)
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
