//! Writes that failed for lack of space. Thin files that share a file system run out of space all at once, and an
//! administrator can add space; so no member fails for that reason. Such writes wait and are retried. Meanwhile hosts
//! receive out-of-space errors.
//!
//! Source: the kernel's thin provisioning waits in the same way (dm-thin, `queue_if_no_space`).

use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stripewise_array::{MemberNo, Operation, OperationId, PageId};

use crate::backend::BackendCompletion;

/// Time between retries.
const PAUSE: Duration = Duration::from_millis(100);
/// How long hosts wait for a write without space before they receive an error: a retry may find space.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// A write that found no space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) id: OperationId,
    pub(crate) operation: Operation,
    pub(crate) page: PageId,
    /// The members that have no space if this one has none, one bit each.
    together: u64,
    since: Instant,
    /// Whether it waits for its retry. False while the retry is in flight.
    waits: bool,
}

/// Writes that found no space and are not completed.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    list: Vec<Refused>,
    next: Option<Instant>,
    /// Since when there has been at least one.
    since: Option<Instant>,
    /// How long writes wait for members that the array can run without.
    patience: Duration,
    /// How many members the array can run without.
    borne: u32,
    /// Members that it runs without already, one bit each.
    pub(crate) gone: u64,
}

impl Waiting {
    /// None yet.
    pub(crate) fn new(patience: Duration, borne: u32) -> Self {
        Self { patience, borne, ..Self::default() }
    }

    /// Whether there is one.
    pub(crate) fn is_any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Whether more members are out of space than the array can run without, so that hosts receive errors. Otherwise
    /// their writes wait until there is space, or until those members fail: an error would be worse than the wait.
    pub(crate) fn is_felt(&self) -> bool {
        let without = self.list.iter().fold(self.gone, |mask, one| mask | one.together);
        self.is_any() && without.count_ones() > self.borne
    }

    /// Whether [`Self::is_felt`] holds, and the lack of space has lasted longer than [`GRACE`].
    pub(crate) fn is_lasting(&self) -> bool {
        self.is_felt() && self.since.is_some_and(|since| since.elapsed() > GRACE)
    }

    /// Notes how an operation ended. Returns true if it found no space and waits now; then it is not completed. An
    /// operation that has waited longer than the patience is completed, unless [`Self::is_felt`] holds. `together`
    /// returns the members that have no space if the operation's own has none.
    pub(crate) fn keeps(&mut self, ended: &BackendCompletion, together: impl FnOnce() -> u64) -> bool {
        let known = self.list.iter().position(|one| one.id == ended.id);
        if !ended.result.as_ref().is_err_and(is_want_of_space) {
            self.forget(ended.id);
            return false;
        }
        let now = Instant::now();
        self.next.get_or_insert(now + PAUSE);
        let Some(at) = known else {
            let BackendCompletion { id, operation, page, .. } = *ended;
            if self.list.is_empty() {
                self.since = Some(now);
            }
            self.list.push(Refused { id, operation, page, together: together(), since: now, waits: true });
            return true;
        };
        if now.duration_since(self.list[at].since) > self.patience && !self.is_felt() {
            self.list.swap_remove(at);
            return false;
        }
        self.list[at].waits = true;
        true
    }

    /// Forgets an operation that is completed, whatever its result.
    pub(crate) fn forget(&mut self, id: OperationId) {
        self.list.retain(|one| one.id != id);
    }

    /// The next write whose retry is due.
    pub(crate) fn take_due(&mut self) -> Option<Refused> {
        self.next.filter(|&next| Instant::now() >= next)?;
        let Some(one) = self.list.iter_mut().find(|one| one.waits) else {
            self.next = None;
            return None;
        };
        one.waits = false;
        Some(*one)
    }

    /// Writes to a member that wait for their retry.
    pub(crate) fn waiting_for(&self, member: MemberNo) -> u32 {
        self.list.iter().filter(|one| one.waits && one.operation.member == member).count() as u32
    }

    /// How long until the next retry.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }
}

/// `members` as a bit mask.
pub(crate) fn bits(members: impl Iterator<Item = MemberNo>) -> u64 {
    members.fold(0, |mask, member| mask | 1 << (member.index() % 64))
}

/// Whether an operation failed because its file system, or the storage below its device, is full.
fn is_want_of_space(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT))
}
