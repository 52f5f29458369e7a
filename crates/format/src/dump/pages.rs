//! Reads the pages of one member after the other.

use std::ops::Range;

use stripewise_core::media::{At, Media};
use stripewise_core::operation::Outcome;

use super::super::Area;

/// Callback for pages: the index of each among the requested pages, and its content or why there is none.
type FoundPage<'a> = dyn FnMut(u32, Result<&[u8], String>) + 'a;

/// The number of pages requested at a time.
const ROUND: u32 = 256;

/// The members, read page by page.
pub(super) struct Pages<'a> {
    media: &'a mut dyn Media,
    page_bytes: u32,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(media: &'a mut dyn Media, page_bytes: u32) -> Self {
        Self { media, page_bytes }
    }

    /// Reads the pages of a list; pages that the members do not have are reported as errors.
    pub(crate) fn some(&mut self, at: &[At], found: &mut FoundPage<'_>) {
        let is_there = |media: &dyn Media, at: &At| {
            let (pages, bytes) = media.size(at.member);
            at.page < pages && bytes == self.page_bytes
        };
        if let Some(outside) = at.iter().position(|at| !is_there(self.media, at)) {
            self.some(&at[..outside], found);
            found(outside as u32, Err(format!("the member has no page {}", at[outside].page)));
            return self.some(&at[outside + 1..], &mut |nth, page| found(outside as u32 + 1 + nth, page));
        }
        if !at.is_empty() {
            self.media.read(at, &mut |nth, page| found(nth as u32, page.map_err(unreadable)));
        }
    }

    /// Reads every page of an area, by its index in the area.
    pub(crate) fn all(&mut self, member: u16, area: Area, found: &mut FoundPage<'_>) {
        let mut round = Vec::with_capacity(ROUND as usize);
        for begin in (0..area.pages).step_by(ROUND as usize) {
            round.clear();
            let behind = (begin..area.pages.min(begin + ROUND)).map(|nth| area.first + nth);
            round.extend(behind.map(|page| At { member, page }));
            self.some(&round, &mut |nth, page| found(begin + nth, page));
        }
    }

    /// Reads consecutive pages as one block of bytes.
    pub(crate) fn joined(&mut self, member: u16, range: Range<u32>) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; range.len() * self.page_bytes as usize];
        let mut failed = None;
        let area = Area { first: range.start, pages: range.len() as u32 };
        let page_bytes = self.page_bytes as usize;
        self.all(member, area, &mut |nth, page| match page {
            Ok(page) => bytes[nth as usize * page_bytes..][..page_bytes].copy_from_slice(page),
            Err(why) => failed = Some(why),
        });
        failed.map_or(Ok(bytes), Err)
    }
}

fn unreadable(outcome: Outcome) -> String {
    let why = match outcome {
        Outcome::Done => "it was read without content",
        Outcome::MediumError => "it cannot be read",
        Outcome::Corrupt => "the member says that it is corrupt",
        Outcome::Timeout => "the member does not answer",
        Outcome::Gone => "the member is gone",
    };
    why.to_owned()
}
