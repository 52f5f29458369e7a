//! Dumps the structures on members. A dump shows what the members contain; recovery decides what counts.

mod finding;
mod in_place;
mod log;
mod pages;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pages::Pages;

pub use finding::{Finding, Redo, Segment};

use stripewise_core::media::Media;

use super::{
    CheckpointHeader, Commit, Copy, FormatError, Owner, Placement, Structure, Superblock, checkpoint,
    superblock_pages,
};

/// Selects what to dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// If set, only this segment is dumped, batch by batch. Otherwise every segment is summarized.
    pub segment: Option<u32>,
}

/// Why there is nothing to dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// None of the members has a readable superblock.
    #[error(
        "no superblock on any of the members: they hold no array of this format, or all copies are damaged"
    )]
    NoArray,
    /// The segment does not exist.
    #[error("there is no segment {requested}: the array has {segments}")]
    NoSegment {
        /// The requested segment.
        requested: u32,
        /// The number of segments; 0 for an array in place.
        segments: u32,
    },
}

/// The array whose members are dumped, and the devices of its members.
struct Subject {
    block: Superblock,
    /// For each member, the offered device that holds it.
    offered: Vec<Option<u16>>,
}

/// Callback for findings.
type Report<'a> = dyn FnMut(&Finding<'_>) + 'a;

impl Dump {
    /// Reports everything found on the devices that `media` offers: superblocks, checkpoints, commit records, and either
    /// the batches of the log by their chains, or journal, checksums and bitmap. Returns the number of findings that are
    /// problems.
    ///
    /// # Errors
    /// There is no array, or the segment does not exist.
    pub fn run(self, media: &mut dyn Media, report: &mut Report<'_>) -> Result<u64, DumpError> {
        let mut problems = 0;
        let report = &mut |finding: &Finding<'_>| {
            problems += u64::from(finding.is_problem());
            report(finding);
        };
        let subject = superblocks(media, report)?;
        report(&Finding::Array { superblock: &subject.block });
        let segments = if subject.block.placement == Placement::Log { subject.block.segments() } else { 0 };
        if let Some(requested) = self.segment.filter(|&requested| requested >= segments) {
            return Err(DumpError::NoSegment { requested, segments });
        }
        subject.owners(media, report);
        match subject.block.placement {
            // Without any readable member, nothing bounds the sizes that a superblock claims.
            _ if subject.present().next().is_none() => {}
            Placement::Log => {
                subject.commits(media, report);
                for slot in 0..2 {
                    subject.checkpoints(slot, self.segment, media, report);
                }
                log::batches(&subject, self.segment, media, report);
            }
            Placement::InPlace => in_place::areas(&subject, media, report),
        }
        Ok(problems)
    }
}

/// The page of the back copy: of the one at the end of the device or, if the device grew since the `front` copy was written
/// and none is at its end, of the one at its former end.
fn back_page(media: &mut dyn Media, device: u16, front: Option<&Superblock>) -> u32 {
    let (pages, page_bytes) = media.size(device);
    let length = superblock_pages(page_bytes.max(1));
    let last = pages.saturating_sub(length);
    let mut is_there = |page: u32| {
        superblock(&mut Pages::new(media, page_bytes), device, page..page.saturating_add(length), Copy::Back)
            .is_ok()
    };
    let former = front.and_then(|front| front.back_before_growth(pages));
    former.filter(|&former| !is_there(last) && is_there(former)).unwrap_or(last)
}

/// Reports all superblocks; the array is described by the superblock with the greatest update.
fn superblocks(media: &mut dyn Media, report: &mut Report<'_>) -> Result<Subject, DumpError> {
    let mut own: Vec<Option<Superblock>> = vec![None; media.count().into()];
    for device in 0..media.count() {
        let (_, page_bytes) = media.size(device);
        let length = superblock_pages(page_bytes.max(1));
        for copy in [Copy::Front, Copy::Back] {
            let front = own[usize::from(device)].as_ref();
            let page = match copy {
                Copy::Front => 0,
                Copy::Back => back_page(media, device, front),
            };
            match superblock(
                &mut Pages::new(media, page_bytes),
                device,
                page..page.saturating_add(length),
                copy,
            ) {
                Ok(block) => {
                    let &Superblock { array, number, update, epoch, .. } = &block;
                    report(&Finding::Superblock { device, copy, array, number, update, epoch });
                    let newest = &mut own[usize::from(device)];
                    if let Some(front) = newest.as_ref().filter(|front| front.update != update) {
                        let why =
                            format!("its copies differ: front has update {}, back {update}", front.update);
                        report(&Finding::Remark { device, why });
                    }
                    if newest.as_ref().is_none_or(|front| front.update < update) {
                        *newest = Some(block);
                    }
                }
                Err(why) => report(&Finding::Damaged { device, page, structure: Structure::Superblock, why }),
            }
        }
    }
    let newest = own.iter().flatten().max_by_key(|block| block.update).ok_or(DumpError::NoArray)?.clone();
    let mut offered = vec![None; newest.members.len()];
    for (device, block) in (0..).zip(&own) {
        let Some(block) = block else { continue };
        let member = newest.members.iter().position(|member| member.uuid == block.uuid);
        let why = match member {
            _ if block.array != newest.array => format!("is of another array, {}, and left out", block.array),
            None => format!("is no member of the array, or no longer: {}; left out", block.uuid),
            Some(_) if media.size(device).1 != newest.page_bytes => {
                format!(
                    "is read in other pages than those of {} bytes that it has; left out",
                    newest.page_bytes
                )
            }
            Some(_) if media.size(device).0 < newest.pages => {
                format!("has fewer pages than the {} that the array uses; left out", newest.pages)
            }
            Some(member) => match &mut offered[member] {
                Some(first) => format!("is member {member} as #{first} is: a copy of it? left out"),
                free => {
                    *free = Some(device);
                    if block.update == newest.update {
                        continue;
                    }
                    format!("is older than others: update {} of {}", block.update, newest.update)
                }
            },
        };
        report(&Finding::Remark { device, why });
    }
    for (member, _) in (0..).zip(&offered).filter(|(_, offered)| offered.is_none()) {
        report(&Finding::Absent { member, uuid: newest.members[usize::from(member)].uuid });
    }
    Ok(Subject { block: newest, offered })
}

/// A superblock, or why it is missing.
fn superblock(
    pages: &mut Pages<'_>,
    device: u16,
    range: Range<u32>,
    copy: Copy,
) -> Result<Superblock, String> {
    let bytes = pages.joined(device, range)?;
    let block = Superblock::parse(&bytes).map_err(|error| error.to_string())?;
    if Copy::of(&bytes) != Some(copy) {
        return Err("the other copy is here".into());
    }
    Ok(block)
}

impl Subject {
    /// The members that were offered, each with its device.
    fn present(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (0..).zip(&self.offered).filter_map(|(member, device)| Some((member, (*device)?)))
    }

    /// Reports the owner pages that name an owner.
    fn owners(&self, media: &mut dyn Media, report: &mut Report<'_>) {
        for (member, device) in self.present() {
            let Some(page) = self.block.owner_page(media.size(device).0) else { continue };
            let content = Pages::new(media, self.block.page_bytes).joined(device, page..page + 1);
            let owner = content.ok().and_then(|content| Owner::parse(&content).ok());
            if let Some(owner) = owner.filter(|owner| owner.array == self.block.array) {
                report(&Finding::Owner { member, owner });
            }
        }
    }

    /// Reports the rings of commit records.
    fn commits(&self, media: &mut dyn Media, report: &mut Report<'_>) {
        let area = self.block.commits;
        for (member, device) in self.present() {
            let (mut records, mut damaged, mut newest) = (0, 0, None::<Commit>);
            Pages::new(media, self.block.page_bytes).all(device, area, &mut |nth, page| match page
                .map(Commit::parse)
            {
                Ok(Ok(commit))
                    if commit.array == self.block.array
                        && commit.number % u64::from(area.pages) == u64::from(nth) =>
                {
                    records += 1;
                    if newest
                        .is_none_or(|newest| (newest.epoch, newest.number) < (commit.epoch, commit.number))
                    {
                        newest = Some(commit);
                    }
                }
                Ok(Err(FormatError::Absent { found: [0, 0, 0, 0, 0, 0, 0, 0], .. })) => {}
                _ => damaged += 1,
            });
            report(&Finding::Commits { member, records, damaged, newest });
        }
    }

    /// Reports slot `slot` of the checkpoints of all members, and the entry of `segment`.
    fn checkpoints(&self, slot: u16, segment: Option<u32>, media: &mut dyn Media, report: &mut Report<'_>) {
        let area = self.block.checkpoint;
        for (member, device) in self.present() {
            let first = area.first + area.pages * u32::from(slot);
            let pages = &mut Pages::new(media, self.block.page_bytes);
            match self.checkpoint(pages, device, first, slot) {
                Ok(None) => {}
                Ok(Some((header, body))) => {
                    let segments = header.segments;
                    let used = (0..segments).filter(|&nth| checkpoint::segment(&body, nth).used > 0).count();
                    let written = |chunk: &u64| checkpoint::is_written(&body, segments, *chunk);
                    let chunks_written = (0..header.chunks).filter(written).count() as u64;
                    let segments_used = used as u32;
                    report(&Finding::Checkpoint { member, slot, header, segments_used, chunks_written });
                    if let Some(segment) = segment {
                        let entry = checkpoint::segment(&body, segment);
                        report(&Finding::CheckpointSegment { member, slot, segment, entry });
                    }
                }
                Err(why) => {
                    report(&Finding::Damaged { device, page: first, structure: Structure::Checkpoint, why })
                }
            }
        }
    }

    /// A checkpoint with its body; `None` if none was ever written.
    fn checkpoint(
        &self,
        pages: &mut Pages<'_>,
        device: u16,
        first: u32,
        slot: u16,
    ) -> Result<Option<(CheckpointHeader, Vec<u8>)>, String> {
        let header = match CheckpointHeader::parse(&pages.joined(device, first..first + 1)?) {
            Ok(header) => header,
            Err(FormatError::Absent { found: [0, 0, 0, 0, 0, 0, 0, 0], .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if header.array != self.block.array {
            return Err(format!("it is of another array, {}", header.array));
        }
        if header.number % 2 != u64::from(slot) {
            return Err(format!("checkpoint {} does not belong into slot {slot}", header.number));
        }
        // The areas of the superblock have the length of bodies with these counts.
        if (header.segments, header.chunks) != (self.block.segments(), self.block.capacity) {
            return Err("it counts other segments or chunks than the superblock".into());
        }
        let length = header.body_bytes.div_ceil(self.block.page_bytes.into()) as u32;
        let mut body = pages.joined(device, first + 1..first + 1 + length)?;
        body.truncate(header.body_bytes as usize);
        header.check_body(&body).map_err(|error| error.to_string())?;
        Ok(Some((header, body)))
    }
}
