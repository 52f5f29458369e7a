//! Access to members during assembly that removes members which fail.

use stripewise_core::media::{At, Found, Media};
use stripewise_core::operation::Outcome;

/// The offered members without the removed ones, which can be neither read nor written.
pub(super) struct Watched<'a> {
    media: &'a mut dyn Media,
    removed: Vec<bool>,
    /// A member that could not be written or flushed since the last call of [`Self::remove_failed`].
    failed: Option<u16>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(media: &'a mut dyn Media) -> Self {
        let removed = vec![false; media.count().into()];
        Self { media, removed, failed: None }
    }

    /// Removes the member that failed since the last call. Returns false if none failed.
    pub(super) fn remove_failed(&mut self) -> bool {
        let failed = self.failed.take();
        if let Some(member) = failed {
            self.removed[usize::from(member)] = true;
        }
        failed.is_some()
    }

    fn is_removed(&self, member: u16) -> bool {
        self.removed[usize::from(member)]
    }
}

impl Media for Watched<'_> {
    fn count(&self) -> u16 {
        self.media.count()
    }

    fn size(&self, member: u16) -> (u32, u32) {
        self.media.size(member)
    }

    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        let removed = &self.removed;
        self.media.read(at, &mut |nth, content| {
            let is_there = !removed[usize::from(at[nth].member)];
            found(nth, if is_there { content } else { Err(Outcome::Gone) });
        });
    }

    fn write(&mut self, at: &[At], pages: &[&[u8]]) -> Vec<Outcome> {
        debug_assert!(!at.iter().any(|at| self.is_removed(at.member)), "it cannot be read, so it is absent");
        let outcomes = self.media.write(at, pages);
        let failed = at.iter().zip(&outcomes).find(|(_, outcome)| **outcome != Outcome::Done);
        self.failed = self.failed.or(failed.map(|(at, _)| at.member));
        outcomes
    }

    fn flush(&mut self, members: &[u16]) -> Vec<Outcome> {
        let outcomes = self.media.flush(members);
        let failed = members.iter().zip(&outcomes).find(|(_, outcome)| **outcome != Outcome::Done);
        self.failed = self.failed.or(failed.map(|(member, _)| *member));
        outcomes
    }
}
