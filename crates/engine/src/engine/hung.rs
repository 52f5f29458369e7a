//! Members of a log that hang: its writes continue without a member that completes nothing, and the member is taken back when
//! it answers. It is failed like any member that does not answer, but early, and stays open: the system ends its operations
//! when it answers, and then it gets the writes that it missed.

use std::time::Duration;

use stripewise_array::{Controller, MemberNo, Rejoining};
use stripewise_base::Nanos;

use super::Engine;
use crate::backend::Backend;
use crate::failure::Failure;
use crate::incidents::Incident;

/// A member that the log does without for now.
#[derive(Debug)]
pub(super) struct HungMember<M> {
    member: MemberNo,
    since: Nanos,
    /// The member, once it has answered.
    answered: Option<M>,
}

impl<B: Backend> Engine<B> {
    /// Lets the log continue without members that hang, and takes back those that have answered. Returns whether any member
    /// left or returned.
    pub(super) fn look_after_hung(&mut self) -> bool {
        let has_left = self.leave_hung();
        if self.hung.is_empty() {
            return has_left;
        }
        while let Some((member, store)) = self.member_io.backend.take_answered() {
            // Another device may have its place by now.
            if let Some(hung) = self.hung.iter_mut().find(|hung| hung.member == member) {
                hung.answered = Some(store);
            }
        }
        let (now, patience) = (self.clock.now(), self.patience_with_hung());
        let before = self.hung.len();
        // Such a member is one that timed out: a spare may replace it.
        self.hung.retain(|hung| now - hung.since < patience);
        for member in self.hung.iter().map(|hung| hung.member).collect::<Vec<_>>() {
            self.take_back(member);
        }
        has_left || self.hung.len() < before
    }

    /// Takes members out that complete nothing while writes wait for them, as far as redundancy allows.
    fn leave_hung(&mut self) -> bool {
        if !self.watches() || !self.is_log() || self.known.is_none() || self.is_read_only {
            return false;
        }
        let limit = self.stall.as_nanos();
        let mut is_any = false;
        for member in MemberNo::first(self.member_io.backend.count().into()) {
            let stalled_ns = self.member_io.watch.stalled_ns(member);
            let hangs = u128::from(stalled_ns) >= limit && self.member_io.is_writing(member);
            if !hangs || !self.array.tolerates_loss_of(member) {
                continue;
            }
            self.member_io.backend.suspend(member, self.array.memory());
            self.member_io.note_hang(member);
            self.lose(member, Failure::Hung { waited: Duration::from_nanos(stalled_ns) });
            self.hung.push(HungMember { member, since: self.clock.now(), answered: None });
            is_any = true;
        }
        is_any
    }

    /// Takes a member back that has answered, once superblocks record what it has.
    fn take_back(&mut self, member: MemberNo) {
        let Some(at) = self.hung.iter().position(|hung| hung.member == member) else { return };
        let Some(store) = self.hung[at].answered.take() else { return };
        let pages = B::handle(&store).map(|(_, pages)| pages);
        let stamp = self.array.stamp_at_failure(member);
        let how = pages.zip(stamp).map(|(pages, stamp)| Rejoining::Returned { pages, stamp: Some(stamp) });
        match how.filter(|&how| self.check_rejoin(member, how).is_ok()) {
            Some(how) => {
                let taken = self.put(member, store, how, Incident::Returned { member });
                debug_assert!(taken.is_ok(), "it was checked");
            }
            None => self.hung[at].answered = Some(store),
        }
    }

    /// Whether the array waits for `member` to answer.
    pub(super) fn awaits(&self, member: MemberNo) -> bool {
        self.hung.iter().any(|hung| hung.member == member)
    }

    /// Does not wait for `member` any more: it was failed for another reason, or its place is taken.
    pub(super) fn forget_hung(&mut self, member: MemberNo) {
        self.hung.retain(|hung| hung.member != member);
    }

    fn patience_with_hung(&self) -> Nanos {
        u64::try_from(self.member_io.timeout.as_nanos()).unwrap_or(Nanos::MAX)
    }

    /// When the array stops waiting for the first of the members that hang.
    pub(super) fn hung_until(&self) -> Option<Nanos> {
        let since = self.hung.iter().map(|hung| hung.since).min()?;
        Some(since.saturating_add(self.patience_with_hung()))
    }
}
