//! What is on members, structure by structure. It tells what is there, and does not decide what counts: that is recovery's.

mod finding;
mod in_place;
mod log;
mod pages;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pages::Pages;

pub use finding::{Finding, Redo, Segment};

use super::{
    CheckpointHeader, Commit, Copy, FormatError, Owner, Placement, Structure, Superblock, checkpoint,
    superblock_pages,
};
use crate::media::Media;

/// What a dump is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// This segment alone is told, batch by batch. Otherwise every segment is, in short.
    pub segment: Option<u32>,
}

/// Why there is nothing to be dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// None of the members has a superblock that can be read.
    #[error(
        "no superblock on any of the members: they hold no array of this format, or all copies are damaged"
    )]
    NoArray,
    /// There is no such segment.
    #[error("there is no segment {asked}: the array has {segments}")]
    NoSegment {
        /// Asked for.
        asked: u32,
        /// Those that there are: none of an array in place.
        segments: u32,
    },
}

/// The array whose members are dumped, and where they are.
struct Subject {
    block: Superblock,
    /// Of each member, the member that was offered for it.
    offered: Vec<Option<u16>>,
}

/// Who is told of findings.
type Told<'a> = dyn FnMut(&Finding<'_>) + 'a;

impl Dump {
    /// Tells all that it finds on what `media` offers: superblocks, checkpoints, commit records, and the batches of the log
    /// by their chains; or journal, checksums and bitmap. Answers how many of the findings are something that should not be.
    ///
    /// # Errors
    /// When there is no array, or not the segment.
    pub fn run(self, media: &mut dyn Media, told: &mut Told<'_>) -> Result<u64, DumpError> {
        let mut problems = 0;
        let told = &mut |finding: &Finding<'_>| {
            problems += u64::from(finding.is_problem());
            told(finding);
        };
        let subject = superblocks(media, told)?;
        told(&Finding::Array { superblock: &subject.block });
        let segments = if subject.block.placement == Placement::Log { subject.block.segments() } else { 0 };
        if let Some(asked) = self.segment.filter(|&asked| asked >= segments) {
            return Err(DumpError::NoSegment { asked, segments });
        }
        subject.owners(media, told);
        match subject.block.placement {
            // Without any member that can be read, nothing bounds what a superblock says that there is.
            _ if subject.present().next().is_none() => {}
            Placement::Log => {
                subject.commits(media, told);
                for slot in 0..2 {
                    subject.checkpoints(slot, self.segment, media, told);
                }
                log::batches(&subject, self.segment, media, told);
            }
            Placement::InPlace => in_place::tell(&subject, media, told),
        }
        Ok(problems)
    }
}

/// All superblocks; the array is that of the greatest update.
fn superblocks(media: &mut dyn Media, told: &mut Told<'_>) -> Result<Subject, DumpError> {
    let mut own: Vec<Option<Superblock>> = vec![None; media.count().into()];
    for device in 0..media.count() {
        let (pages, page_bytes) = media.size(device);
        let length = superblock_pages(page_bytes.max(1));
        for (copy, page) in [(Copy::Front, 0), (Copy::Back, pages.saturating_sub(length))] {
            match superblock(
                &mut Pages::new(media, page_bytes),
                device,
                page..page.saturating_add(length),
                copy,
            ) {
                Ok(block) => {
                    let &Superblock { array, number, update, epoch, .. } = &block;
                    told(&Finding::Superblock { device, copy, array, number, update, epoch });
                    let newest = &mut own[usize::from(device)];
                    if let Some(front) = newest.as_ref().filter(|front| front.update != update) {
                        let why =
                            format!("its copies differ: front has update {}, back {update}", front.update);
                        told(&Finding::Remark { device, why });
                    }
                    if newest.as_ref().is_none_or(|front| front.update < update) {
                        *newest = Some(block);
                    }
                }
                Err(why) => told(&Finding::Damaged { device, page, structure: Structure::Superblock, why }),
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
        told(&Finding::Remark { device, why });
    }
    for (member, _) in (0..).zip(&offered).filter(|(_, offered)| offered.is_none()) {
        told(&Finding::Absent { member, uuid: newest.members[usize::from(member)].uuid });
    }
    Ok(Subject { block: newest, offered })
}

/// A superblock, or why there is none.
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
    /// The members that were offered, with the members that they are.
    fn present(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (0..).zip(&self.offered).filter_map(|(member, device)| Some((member, (*device)?)))
    }

    /// The pages of the owner, as far as they name one.
    fn owners(&self, media: &mut dyn Media, told: &mut Told<'_>) {
        for (member, device) in self.present() {
            let Some(page) = self.block.owner_page(media.size(device).0) else { continue };
            let content = Pages::new(media, self.block.page_bytes).joined(device, page..page + 1);
            let owner = content.ok().and_then(|content| Owner::parse(&content).ok());
            if let Some(owner) = owner.filter(|owner| owner.array == self.block.array) {
                told(&Finding::Owner { member, owner });
            }
        }
    }

    /// The rings of commit records.
    fn commits(&self, media: &mut dyn Media, told: &mut Told<'_>) {
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
            told(&Finding::Commits { member, records, damaged, newest });
        }
    }

    /// Slot `slot` of the checkpoints of all members, and what it says of `segment`.
    fn checkpoints(&self, slot: u16, segment: Option<u32>, media: &mut dyn Media, told: &mut Told<'_>) {
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
                    told(&Finding::Checkpoint { member, slot, header, segments_used, chunks_written });
                    if let Some(segment) = segment {
                        let entry = checkpoint::segment(&body, segment);
                        told(&Finding::CheckpointSegment { member, slot, segment, entry });
                    }
                }
                Err(why) => {
                    told(&Finding::Damaged { device, page: first, structure: Structure::Checkpoint, why })
                }
            }
        }
    }

    /// A checkpoint with its body; nothing where none was ever written.
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
        // The superblock's areas are as long as bodies of these are.
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
