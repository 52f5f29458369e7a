//! The batches of a log, segment by segment, by their chains.

use stripewise_core::geometry::Membership;
use stripewise_core::media::{At, Media};

use super::super::{EntryRole, Summary, Superblock};
use super::pages::Pages;
use super::{Finding, Report, Segment, Subject};

/// Reports the batches of `only`, or the number of batches of each segment.
pub(crate) fn batches(subject: &Subject, only: Option<u32>, media: &mut dyn Media, report: &mut Report<'_>) {
    let pages = &mut Pages::new(media, subject.block.page_bytes);
    if let Some(segment) = only {
        let short = walk(subject, segment, pages, &mut |summary, copies| {
            report(&Finding::Batch { summary, copies });
        });
        return report(&Finding::Segment(short));
    }
    let mut empty = 0;
    for segment in 0..subject.block.segments() {
        match walk(subject, segment, pages, &mut |_, _| {}) {
            Segment { batches: 0, .. } => empty += 1,
            short => report(&Finding::Segment(short)),
        }
    }
    if empty > 0 {
        report(&Finding::Empty { segments: empty });
    }
}

/// Walks through a segment from batch to batch.
fn walk(
    subject: &Subject,
    segment: u32,
    pages: &mut Pages<'_>,
    each: &mut dyn FnMut(Summary<'_>, u32),
) -> Segment {
    let block = &subject.block;
    let slots = block.segment_rows * u32::from(block.members_of_group);
    let copies_due = block.level.parity() + 1;
    let mut short = Segment { segment, slots, ..Segment::default() };
    while let Some((page, copies)) = batch_at(subject, &short, pages) {
        let summary = Summary::parse(&page).expect("it was parsed before");
        if short.batches == 0 {
            (short.generation, short.first_batch) = (summary.header.generation, summary.header.batch);
        }
        short.batches += 1;
        short.last_batch = summary.header.batch;
        short.slots_used = summary.header.end;
        short.tombstones += summary.tombstones().len() as u32;
        for entry in summary.entries() {
            short.chunks += u32::from(entry.role == EntryRole::Data);
            short.stripes += u32::from(entry.is_first);
        }
        short.copies_missing += copies_due.saturating_sub(copies);
        each(summary, copies);
    }
    short
}

/// The summary of the batch that begins where `short` ends, and the number of its copies that were found. The batch has
/// the segment's generation or, if that is not known yet, the greatest generation found.
fn batch_at(subject: &Subject, short: &Segment, pages: &mut Pages<'_>) -> Option<(Vec<u8>, u32)> {
    let block = &subject.block;
    let first = short.slots_used;
    let looked_at = first..short.slots.min(first + 2 * block.level.parity() + 1);
    let at: Vec<At> = looked_at.filter_map(|slot| place(subject, short.segment, slot)).collect();
    let mut found: Option<(u32, Vec<u8>, u32)> = None;
    pages.some(&at, &mut |_, page| {
        let Some((page, Ok(summary))) = page.ok().map(|page| (page, Summary::parse(page))) else { return };
        let header = &summary.header;
        let is_here = header.array == block.array
            && header.segment == short.segment
            && header.first == first
            && header.end <= short.slots
            && (short.batches == 0 || header.generation == short.generation);
        if !is_here {
            return;
        }
        match &mut found {
            Some((generation, _, _)) if *generation > header.generation => {}
            Some((generation, _, copies)) if *generation == header.generation => *copies += 1,
            older => *older = Some((header.generation, page.to_vec(), 1)),
        }
    });
    found.map(|(_, page, copies)| (page, copies))
}

/// The place of a slot of a segment, if its member was offered.
fn place(subject: &Subject, segment: u32, slot: u32) -> Option<At> {
    let block = &subject.block;
    let (groups, members) = (u32::from(block.groups), u32::from(block.members_of_group));
    let number = number_of(block, segment % groups, slot % members);
    let member = subject.offered[number as usize]?;
    let page = block.data.first + segment / groups * block.segment_rows + slot / members;
    Some(At { member, page })
}

/// Converts the number of a member in its group to its number in the array.
fn number_of(block: &Superblock, group: u32, member: u32) -> u32 {
    match block.membership {
        Membership::Contiguous => group * u32::from(block.members_of_group) + member,
        Membership::LongestCodeInterval => member * u32::from(block.groups) + group,
    }
}
