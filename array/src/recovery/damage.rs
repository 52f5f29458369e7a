//! Damaged copies of metadata with another intact copy: nothing is lost yet, but the next failure may lose something.

use super::report::DamagedCopy;
use super::superblocks::Copies;
use super::walk::WalkFindings;
use stripewise_core::format::{
    CheckpointHeader, Commit, FormatError, Structure, Superblock, superblock_pages,
};

/// Whether `page`, where a structure may be, holds something else; `parsed` is the result of parsing it. A page of zeros
/// was never written.
pub(super) fn is_damaged<T>(parsed: Result<&T, &FormatError>) -> bool {
    !matches!(parsed, Ok(_) | Err(FormatError::Absent { found: [0, 0, 0, 0, 0, 0, 0, 0], .. }))
}

/// Whether `page`, where a record of the log may be, holds a damaged one. A member that replaced another may have
/// arbitrary content there; the numbers of the records determine which ones it keeps.
fn is_broken<T>(parsed: Result<&T, &FormatError>) -> bool {
    !matches!(parsed, Ok(_) | Err(FormatError::Absent { .. }))
}

/// The superblocks of members of the array with only one intact copy. A power loss during the write of a copy also leaves
/// one; assembling the array for writing repairs it.
pub(super) fn of_superblocks(
    offered: &[Copies],
    superblock: &Superblock,
    positions: &[Option<u16>],
    size: impl Fn(u16) -> (u32, u32),
) -> Vec<DamagedCopy> {
    let mut damaged = Vec::new();
    for (member, position) in (0..).zip(positions) {
        let Some(position) = *position else { continue };
        let Copies { front, back, .. } = &offered[usize::from(position)];
        let last = size(position).0 - superblock_pages(superblock.page_bytes);
        let update = |copy: &Option<Superblock>| copy.as_ref().map(|copy| copy.update);
        // The front copy is written first, so it is never the older one.
        let pages = [(0, update(front) < update(back)), (last, back.is_none())];
        let tell = |page| DamagedCopy { member, page, structure: Structure::Superblock };
        damaged.extend(pages.into_iter().filter(|(_, is_bad)| *is_bad).map(|(page, _)| tell(page)));
    }
    damaged
}

impl WalkFindings<'_> {
    /// The damaged checkpoints and commit records. The body of the older checkpoint may be partly overwritten, which its
    /// header does not show.
    pub(super) fn damaged(&mut self, told: &mut dyn FnMut(DamagedCopy)) {
        let Superblock { checkpoint: area, commits: ring, page_bytes, .. } = *self.superblock;
        let newest = self.checkpoint().map(|newest| newest.header);
        for member in 0..self.positions.len() as u16 {
            if self.positions[usize::from(member)].is_none() {
                continue;
            }
            for first in [area.first, area.first + area.pages] {
                let page = self.read(&[(member, first)]).pop().flatten();
                let header = page.as_deref().map(CheckpointHeader::parse);
                let is_bad = match (&header, &newest) {
                    (Some(Ok(header)), Some(newest))
                        if (header.epoch, header.number) == (newest.epoch, newest.number) =>
                    {
                        let pages = header.body_bytes.div_ceil(page_bytes.into()) as u32;
                        header != newest || !self.has_body(header, (member, first + 1), pages)
                    }
                    (Some(header), _) => is_broken(header.as_ref()),
                    (None, _) => true,
                };
                if is_bad {
                    told(DamagedCopy { member, page: first, structure: Structure::Checkpoint });
                }
            }
            let at: Vec<(u16, u32)> =
                (ring.first..ring.first + ring.pages).map(|page| (member, page)).collect();
            for ((_, page), content) in at.iter().zip(self.read(&at)) {
                let record = content.as_deref().map(Commit::parse);
                if record.is_none_or(|record| is_broken(record.as_ref())) {
                    told(DamagedCopy { member, page: *page, structure: Structure::Commit });
                }
            }
        }
    }

    fn has_body(&mut self, header: &CheckpointHeader, (member, first): (u16, u32), pages: u32) -> bool {
        let at: Vec<(u16, u32)> = (first..first + pages).map(|page| (member, page)).collect();
        let mut body: Vec<u8> =
            self.read(&at).iter().flatten().flat_map(|page| page.iter().copied()).collect();
        body.truncate(header.body_bytes as usize);
        header.check_body(&body).is_ok()
    }
}
