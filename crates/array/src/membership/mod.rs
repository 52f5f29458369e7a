//! The members of an array with metadata while it serves, for every placement: their records in the superblocks, the members
//! that are being rebuilt, and the scrub. A placement adds its walks over segments or rows, and when it writes superblocks.

mod rebuild;
mod scrub;

use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::metadata_scrub::ScrubCounts;
use stripewise_exec::rejoin::Rejoining;
use stripewise_format::{Copy, FailReason, MemberState, SUPERBLOCK_BYTES, Superblock, superblock_pages};

pub use rebuild::Halt;
pub(crate) use rebuild::{Part, Rebuild};
pub(crate) use scrub::Scrub;

/// The members and their state. `W` is a walk of the placement over all content, `R` what its rebuilds track besides.
#[derive(Debug)]
pub(crate) struct Membership<W, R> {
    /// The superblock as the members have it, or soon will; each member's copy differs in its number and identifier.
    pub(crate) superblock: Superblock,
    /// The last version of the superblocks that is on all members; `None` if the array was not assembled.
    pub(crate) on_members: Option<Superblock>,
    /// For each member the first page of the superblock's back copy.
    pub(crate) back: Vec<u32>,
    /// The members that are being rebuilt, in the order in which they joined.
    pub(crate) rebuilds: Vec<Rebuild<R>>,
    /// Number of stripes or rows with lost chunks of hosts that rebuilds could not recover, since a scrub last found nothing
    /// lost.
    pub(crate) unrecovered: u64,
    /// The members whose rebuilds left content out since then, as a mask: what they lack is no error of theirs.
    left_out: u64,
    /// The members that failed while their back copies were written, as a mask: they may have a front copy alone. When such a
    /// member returns, it gets a back copy before that front copy is overwritten, so that it always has one of them.
    without_back: u64,
    /// The members whose copies may be of an older version or torn, as a mask, because a member failed while copies were written:
    /// until they get the next version.
    torn: u64,
    pub(crate) scrub: Scrub<W>,
}

impl<W, R> Membership<W, R> {
    /// All members of a new array.
    pub(crate) fn new(superblock: Superblock) -> Self {
        let back = superblock.pages - superblock_pages(superblock.page_bytes);
        Self {
            back: vec![back; superblock.members.len()],
            superblock,
            on_members: None,
            rebuilds: Vec::new(),
            unrecovered: 0,
            left_out: 0,
            without_back: 0,
            torn: 0,
            scrub: Scrub::default(),
        }
    }

    /// The device that joins as `member` has its own size and, if it is another device, its own identifier.
    pub(crate) fn take_device(&mut self, member: MemberNo, how: Rejoining) {
        self.back[member.index()] = how.pages() - superblock_pages(self.superblock.page_bytes);
        if let Rejoining::Replacement { uuid, .. } = how {
            self.without_back &= !member.bit();
            self.superblock.replace_member(member.index(), uuid);
        }
    }

    /// The members of the mask `members` may have no back copy.
    pub(crate) fn note_without_back(&mut self, members: u64) {
        self.without_back |= members;
    }

    /// Whether `member`, which joins, must get a back copy first.
    pub(crate) fn is_without_back(&self, member: MemberNo) -> bool {
        member.is_in(self.without_back)
    }

    /// The copies of the members of the mask `members` may be of several versions.
    pub(crate) fn note_torn(&mut self, members: u64) {
        self.torn |= members;
    }

    /// Whether the copies of `member` may differ from the last version, though nothing is wrong with the member.
    pub(crate) fn is_torn(&self, member: MemberNo) -> bool {
        member.is_in(self.torn)
    }

    /// All members have back copies, except perhaps those of the mask `out`.
    pub(crate) fn has_back(&mut self, out: u64) {
        self.without_back &= out;
    }

    /// A version of the superblocks is on all members except those of the mask `out`.
    pub(crate) fn recorded(&mut self, version: Superblock, out: u64) {
        self.has_back(out);
        self.torn &= out;
        self.on_members = Some(version);
    }

    /// Writes the bytes of the back copy of the version that is on the members, of `member`, from page `page` of the copy on over
    /// `into`.
    pub(crate) fn encode_back(&self, member: MemberNo, page: u32, into: &mut [u8]) {
        let mut version = self.on_members.clone().unwrap_or_else(|| self.superblock.clone());
        encode_superblock(&mut version, (member, self.back[member.index()], page), Copy::Back, into);
    }

    /// Records that `member`, which failed for `reason`, is being rebuilt, and that it has everything up to batch `known`.
    pub(crate) fn record_joining(&mut self, member: MemberNo, known: u64, reason: FailReason) {
        // Superblocks may not record the failure yet.
        self.superblock.fail_member(member.index(), 0, reason);
        let record = &mut self.superblock.members[member.index()];
        (record.state, record.failed_batch, record.cursor) = (MemberState::Rebuilding, known, 0);
        record.is_whole = false;
    }

    /// Records how far `member` is rebuilt.
    pub(crate) fn record_progress(&mut self, member: MemberNo, cursor: u64) {
        self.superblock.members[member.index()].cursor = cursor;
    }

    /// Records that `member` is rebuilt: as whole if nothing of it `is_missing`.
    pub(crate) fn record_active(&mut self, member: MemberNo, is_missing: bool) {
        let is_whole = !is_missing && self.superblock.has_chain();
        self.left_out = self.left_out & !member.bit() | u64::from(is_missing) << member.index();
        self.superblock.members[member.index()].rebuilt(is_whole);
    }

    /// Records that the members of the mask `failed` failed, with everything up to `batch` on them, each for its reason.
    pub(crate) fn record_failed(&mut self, failed: u64, batch: u64, reason: impl Fn(MemberNo) -> FailReason) {
        for member in MemberNo::first(self.superblock.members.len() as u32).filter(|one| one.is_in(failed)) {
            self.superblock.fail_member(member.index(), batch, reason(member));
        }
    }

    /// The members of the mask `failed` that the superblocks do not call failed.
    pub(crate) fn unrecorded(&self, failed: u64) -> u64 {
        let is_failed = |number: &usize| self.superblock.members[*number].state == MemberState::Failed;
        let recorded = (0..self.superblock.members.len()).filter(is_failed);
        failed & !recorded.fold(0, |mask, number| mask | 1 << number)
    }

    /// The first page of a copy of the superblock of `member`.
    pub(crate) fn place_of(&self, member: MemberNo, copy: Copy) -> u32 {
        match copy {
            Copy::Front => 0,
            Copy::Back => self.back[member.index()],
        }
    }

    /// Starts a scrub, now or after the current one.
    pub(crate) fn begin_scrub(&mut self, walk: W) {
        self.scrub.begin(walk, self.superblock.update, !self.rebuilds.is_empty());
    }

    /// The segments or rows, of `all`, that a scrub of an earlier serving had done when it was interrupted.
    pub(crate) fn scrub_to_continue(&self, all: u64) -> Option<u64> {
        let done = self.superblock.scrub_cursor;
        (self.superblock.has_chain() && self.scrub.walk.is_none() && (1..all).contains(&done)).then_some(done)
    }

    /// Continues a scrub of an earlier serving, which has done `done`, with `walk`.
    pub(crate) fn continue_scrub(&mut self, walk: W, done: u64) {
        self.begin_scrub(walk);
        (self.scrub.is_continued, self.scrub.noted) = (true, done);
    }

    /// Puts the state of scrubs into the next version of the superblocks, which other events cause. A scrub that found a loss
    /// begins again in the next serving.
    pub(crate) fn record_scrub(&mut self) {
        if self.superblock.has_chain() {
            let is_whole = self.scrub.walk.is_some() && self.scrub.counts.lost == 0;
            self.superblock.scrub_cursor = if is_whole { self.scrub.noted } else { 0 };
            self.superblock.verified_to = self.superblock.verified_to.max(self.scrub.verified);
        }
    }

    /// Ends a scrub, which is complete or was stopped; starts the next one with `walk`, if one was requested meanwhile. Besides
    /// the chunks that the scrub found lost, `lost` chunks were known to be lost. Returns whether everything was verified, and
    /// what was damaged is repaired.
    pub(crate) fn end_scrub(&mut self, is_complete: bool, lost: u64, walk: W) -> bool {
        // What an earlier serving read may have changed since.
        let (began, misses) = (self.scrub.began, self.scrub.is_continued || self.scrub.is_partial);
        if self.scrub.end(walk, self.superblock.update, !self.rebuilds.is_empty()) || !is_complete {
            return false;
        }
        let counts = &mut self.scrub.counts;
        counts.lost += lost;
        if counts.lost == 0 && !misses {
            (self.unrecovered, self.left_out) = (0, 0);
            self.scrub.verified = began;
        }
        let counts = &self.scrub.counts;
        !misses && counts.lost == 0 && counts.repaired + counts.obsolete >= counts.bad
    }

    /// The counts of the last scrub, and whether it is still in progress.
    pub(crate) fn scrubbed(&self) -> (ScrubCounts, bool) {
        (self.scrub.counts, self.scrub.walk.is_some())
    }

    /// Begins the rebuild of a member. What a scrub read before does not prove that the member is whole.
    pub(crate) fn begin_rebuild(&mut self, rebuild: Rebuild<R>) {
        self.scrub.is_partial = true;
        self.rebuilds.push(rebuild);
    }

    /// The rebuild of `member`.
    pub(crate) fn rebuild_of(&mut self, member: MemberNo) -> Option<&mut Rebuild<R>> {
        self.rebuilds.iter_mut().find(|rebuild| rebuild.member == member)
    }

    /// Whether the rebuild of `member` left content out, and no scrub found since that nothing is lost.
    pub(crate) fn is_left_out(&self, member: MemberNo) -> bool {
        member.is_in(self.left_out)
    }

    /// Whether `member` is being rebuilt.
    pub(crate) fn is_rebuilt(&self, member: MemberNo) -> bool {
        self.rebuilds.iter().any(|rebuild| rebuild.member == member)
    }

    /// Ends the rebuild of `member`, which is complete, or failed.
    pub(crate) fn end_rebuild(&mut self, member: MemberNo) -> Option<Rebuild<R>> {
        let at = self.rebuilds.iter().position(|rebuild| rebuild.member == member)?;
        Some(self.rebuilds.remove(at))
    }
}

impl<W, R: Part> Membership<W, R> {
    /// The group of `member`, which is being rebuilt, if its rebuild must wait: members of the group failed, and together with
    /// those that still lack content they are more than parity tolerates. What cannot be decoded may return with them.
    pub(crate) fn halted_by<M: Memory>(&self, member: MemberNo, exec: &Executor<M>) -> Option<u32> {
        if !exec.is_any_failed() || exec.has_bug(Bug::RebuildNotHalted) {
            return None;
        }
        self.needs_own(member, exec).filter(|&group| exec.failed_of_group(group) > 0)
    }

    /// The group of `member`, which failed, if no other device may take its place: together with the members that still lack
    /// content, more failed than parity tolerates. Only the devices of those that failed may have what cannot be decoded.
    pub(crate) fn needs_own<M: Memory>(&self, member: MemberNo, exec: &Executor<M>) -> Option<u32> {
        let (group, failed, lacking) = self.gone_of(member, exec);
        (failed + lacking > exec.geometry().tolerance()).then_some(group)
    }

    /// The group of `member`, which failed, if rebuilds in it would stay halted when `member` alone is back.
    pub(crate) fn halted_without<M: Memory>(&self, member: MemberNo, exec: &Executor<M>) -> Option<u32> {
        let (group, failed, lacking) = self.gone_of(member, exec);
        (lacking > 0 && failed > 1 && failed - 1 + lacking > exec.geometry().tolerance()).then_some(group)
    }

    /// The group of `member`, with the number of its members that failed, and of those that still lack content.
    fn gone_of<M: Memory>(&self, member: MemberNo, exec: &Executor<M>) -> (u32, u32, u32) {
        let group_of = |member: MemberNo| exec.geometry().group_of(member);
        let group = group_of(member);
        let is_its = |its: &&Rebuild<R>| group_of(its.member) == group && its.part.is_lacking();
        let lacking = self.rebuilds.iter().filter(is_its).count() as u32;
        (group, exec.failed_of_group(group), lacking)
    }

    /// The group whose rebuild must wait, if there is one: see [`Self::halted_by`].
    pub(crate) fn halted_group<M: Memory>(&self, exec: &Executor<M>) -> Option<u32> {
        let lacking = self.rebuilds.iter().filter(|rebuild| rebuild.part.is_lacking());
        lacking.filter_map(|rebuild| self.halted_by(rebuild.member, exec)).next()
    }
}

/// Writes the bytes of the superblock of `member`, whose back copy begins at page `back`, from page `page` on over `into`.
pub(crate) fn encode_superblock(
    superblock: &mut Superblock,
    (member, back, page): (MemberNo, u32, u32),
    copy: Copy,
    into: &mut [u8],
) {
    superblock.assign(member.number(), back);
    let mut bytes = [0; SUPERBLOCK_BYTES];
    superblock.encode(copy, &mut bytes);
    let from = page as usize * superblock.page_bytes as usize;
    let part = &bytes[from..SUPERBLOCK_BYTES.min(from + into.len())];
    into[..part.len()].copy_from_slice(part);
}

/// A number of segments or rows for a caller that counts in 32 bits.
pub(crate) fn short(number: u64) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}
