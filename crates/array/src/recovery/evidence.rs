//! Evidence outside the superblocks, for an array that lost some of them: the newest epoch, and the members missing in it.
//!
//! Assembly gives all present members a superblock of the new epoch before any other content has that epoch. So a member
//! whose superblock has an older epoch than some content was absent at that assembly; and a member that the newest batch
//! or record calls missing may have a superblock from before it failed. Such superblocks are outdated.

use super::reconstruct::Remains;
use stripewise_core::media::At;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{
    Area, CheckpointHeader, ChecksumPage, Commit, FailReason, IntentPage, Placement, RedoRecord,
    SummaryHeader, Superblock,
};

/// The evidence in the newest content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// The newest epoch.
    epoch: u32,
    /// The newest batch, record or version of a bitmap, by epoch and number.
    newest: (u32, u64),
    /// The members that it calls missing, one bit each.
    missing: u64,
}

impl Evidence {
    /// Notes that something was written in `epoch`.
    fn hear_of(&mut self, epoch: u32) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Notes the members that a batch, a record or a bitmap calls missing.
    fn hear(&mut self, (epoch, number): (u32, u64), missing: u64) {
        self.hear_of(epoch);
        if (epoch, number) >= self.newest {
            (self.newest, self.missing) = ((epoch, number), missing);
        }
    }

    /// The newest epoch of which there is content.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Members that were missing in the newest epoch.
    fn missing(&self) -> u64 {
        if self.newest.0 == self.epoch { self.missing } else { 0 }
    }

    /// Updates `model` if every remaining superblock is outdated, and returns whether that was so; then no member with a
    /// superblock is current. `holders` are the members that have the version of `model`.
    pub(super) fn overrule(&self, model: &mut Superblock, holders: u64) -> bool {
        // A superblock later than the newest batch knows which members returned since; and nothing of an epoch is later
        // than a clean stop.
        let is_later = model.placement == Placement::Log && self.newest.1 <= model.horizon;
        let is_present = holders & !self.missing() != 0;
        if self.epoch <= model.epoch && (is_present || is_later || model.is_clean) {
            return false;
        }
        let outdated = holders | self.missing();
        for number in (0..model.members.len()).filter(|number| outdated >> number & 1 != 0) {
            // The epoch of its failure is unknown, so the member is rebuilt completely.
            model.fail_member(number, 0, FailReason::Gone);
            let member = &mut model.members[number];
            (member.failed_epoch, member.failed_batch) = (0, 0);
        }
        model.epoch = model.epoch.max(self.epoch);
        model.update += 1;
        model.is_clean = false;
        true
    }
}

impl Remains<'_> {
    /// Collects evidence from metadata on `devices`, in addition to superblocks and `summaries`.
    pub(super) fn evidence(
        &mut self,
        model: &Superblock,
        devices: &[u16],
        summaries: impl Iterator<Item = SummaryHeader>,
    ) -> Evidence {
        let mut evidence = Evidence::default();
        let everyone = u64::MAX >> (u64::BITS - model.members.len() as u32);
        for header in summaries {
            evidence.hear((header.epoch, header.batch), everyone & !header.members);
        }
        for &device in devices {
            match self.layout {
                Some(layout) => self.hear_in_place(model, device, &layout, &mut evidence),
                None => self.hear_log(model, device, &mut evidence),
            }
        }
        evidence
    }

    fn hear_log(&mut self, model: &Superblock, device: u16, evidence: &mut Evidence) {
        self.each_page(device, model.commits, &mut |_, page| {
            if let Some(commit) = Commit::parse(page).ok().filter(|its| its.array == model.array) {
                evidence.hear_of(commit.epoch);
            }
        });
        for first in [model.checkpoint.first, model.checkpoint.first + model.checkpoint.pages] {
            self.each_page(device, Area { first, pages: 1 }, &mut |_, page| {
                if let Some(header) =
                    CheckpointHeader::parse(page).ok().filter(|its| its.array == model.array)
                {
                    evidence.hear_of(header.epoch);
                }
            });
        }
    }

    fn hear_in_place(
        &mut self,
        model: &Superblock,
        device: u16,
        layout: &InPlaceLayout,
        evidence: &mut Evidence,
    ) {
        self.each_page(device, layout.table, &mut |_, page| {
            if let Some(head) = ChecksumPage::parse(page).ok().filter(|its| its.array == model.array) {
                evidence.hear_of(head.epoch);
            }
        });
        self.each_page(device, layout.intent, &mut |_, page| {
            if let Some(head) = IntentPage::parse(page).ok().filter(|its| its.array == model.array) {
                evidence.hear((head.epoch, head.version), head.missing);
            }
        });
        // A header may continue in the next page.
        let span = layout.header_pages() as usize;
        let mut header: Vec<u8> = Vec::new();
        self.each_page(device, layout.journal, &mut |_, page| {
            header.extend_from_slice(page);
            if header.len() > span * page.len() {
                header.drain(..page.len());
            }
            if let Some(record) = RedoRecord::parse(&header).ok().filter(|its| its.array == model.array) {
                evidence.hear((record.epoch, record.number), record.missing);
            }
        });
    }

    /// Reads an area of a device, page by page; pages that cannot be read are skipped.
    pub(super) fn each_page(&mut self, device: u16, area: Area, see: &mut dyn FnMut(u32, &[u8])) {
        let pages: Vec<At> =
            (area.first..area.first + area.pages).map(|page| At { member: device, page }).collect();
        for round in pages.chunks(super::site::ROUND_PAGES) {
            self.media.read(round, &mut |nth, content| {
                if let Ok(content) = content {
                    see(round[nth].page, content);
                }
            });
        }
    }
}
