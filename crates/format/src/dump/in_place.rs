//! The metadata of an array in place: journal, checksums, bitmap.

use stripewise_core::media::Media;

use super::super::{
    ChecksumPage, FormatError, IntentPage, REDO_MAGIC, RedoKind, RedoRecord, redo_header_pages,
};
use super::pages::Pages;
use super::{Finding, Redo, Report, Subject};

/// Reports the content of the areas of each member.
pub(crate) fn areas(subject: &Subject, media: &mut dyn Media, report: &mut Report<'_>) {
    for (member, device) in subject.present() {
        let pages = &mut Pages::new(media, subject.block.page_bytes);
        if subject.block.journal.pages > 0 {
            report(&journal(subject, member, device, pages));
        }
        if subject.block.table.pages > 0 {
            report(&table(subject, member, device, pages));
        }
        pages.all(device, subject.block.bitmap, &mut |_, page| {
            let Some((page, Ok(head))) = page.ok().map(|page| (page, IntentPage::parse(page))) else {
                return;
            };
            if head.array == subject.block.array {
                let IntentPage { group, version, bits, .. } = head;
                let set = IntentPage::words(page).map(u64::count_ones).sum();
                report(&Finding::Bitmap { member, group, version, bits, set });
            }
        });
    }
}

/// The headers of records that are in their own places.
fn journal(subject: &Subject, member: u16, device: u16, pages: &mut Pages<'_>) -> Finding<'static> {
    let area = subject.block.journal;
    let mut begins = Vec::new();
    pages.all(device, area, &mut |nth, page| {
        if page.is_ok_and(|page| page.starts_with(&REDO_MAGIC)) {
            begins.push(nth);
        }
    });
    let length = redo_header_pages(subject.block.members_of_group.into(), subject.block.page_bytes);
    let (mut records, mut newest) = (0, None::<Redo>);
    for first in begins.into_iter().filter(|first| first + length <= area.pages) {
        let range = area.first + first..area.first + first + length;
        let Ok(Ok(record)) = pages.joined(device, range).map(|header| RedoRecord::parse(&header)) else {
            continue;
        };
        if record.array != subject.block.array || record.first != first {
            continue;
        }
        records += 1;
        if newest.is_none_or(|newest| (newest.epoch, newest.number) < (record.epoch, record.number)) {
            let late = record.entries.iter().filter(|entry| entry.kind == RedoKind::Before).count() as u32;
            let RedoRecord { epoch, number, tail, missing, .. } = record;
            newest = Some(Redo { epoch, number, tail, missing, late });
        }
    }
    Finding::Journal { member, records, newest }
}

/// The intact pages of the table.
fn table(subject: &Subject, member: u16, device: u16, pages: &mut Pages<'_>) -> Finding<'static> {
    let (mut whole, mut damaged, mut version) = (0, 0, 0);
    pages.all(device, subject.block.table, &mut |_, page| match page.map(ChecksumPage::parse) {
        Ok(Ok(head)) if head.array == subject.block.array => {
            whole += 1;
            version = version.max(head.version);
        }
        Ok(Err(FormatError::Absent { found: [0, 0, 0, 0, 0, 0, 0, 0], .. })) => {}
        _ => damaged += 1,
    });
    Finding::Table { member, pages: whole, damaged, version }
}
