//! Writes that found no space: thin files that share a file system run out of it all at once, and no member is to be given up
//! for what an administrator can mend. Such writes wait, and are tried again; meanwhile hosts are told that there is no space.
//!
//! Source: the kernel's thin provisioning waits in the same way (dm-thin, `queue_if_no_space`).

use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stripewise_array::{Operation, OperationId, PageId};

use crate::backend::Ended;

/// How often they are tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long hosts wait for what needs space before they are told that there is none: a second try may find some.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// A write without space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starved {
    pub(crate) id: OperationId,
    pub(crate) operation: Operation,
    pub(crate) page: PageId,
    /// The members that have no space if this one has none, a bit each.
    together: u64,
    since: Instant,
    /// Whether it waits to be tried again, rather than being tried.
    waits: bool,
}

/// Writes that found no space and are not over.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    list: Vec<Starved>,
    next: Option<Instant>,
    /// Since when there has been one.
    since: Option<Instant>,
    /// How long those wait that are on members which the array can do without.
    patience: Duration,
    /// How many members it can do without.
    borne: u32,
    /// Those that it does without already, a bit each.
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

    /// Whether more members want space than the array can do without, so that hosts must be told. Otherwise theirs waits until
    /// there is space, or until those members are given up: an error would be worse than the wait.
    pub(crate) fn is_felt(&self) -> bool {
        let without = self.list.iter().fold(self.gone, |mask, one| mask | one.together);
        self.is_any() && without.count_ones() > self.borne
    }

    /// Whether it is felt, and space has been wanting for longer than [`GRACE`].
    pub(crate) fn is_lasting(&self) -> bool {
        self.is_felt() && self.since.is_some_and(|since| since.elapsed() > GRACE)
    }

    /// Takes note of how an operation ended. True if it found no space and waits now; then it is not over. One that has waited
    /// for longer than the patience is over, unless the want is felt. `together` are the members that have no space if its own
    /// has none.
    pub(crate) fn keeps(&mut self, ended: &Ended, together: impl FnOnce() -> u64) -> bool {
        let known = self.list.iter().position(|one| one.id == ended.id);
        if !ended.result.as_ref().is_err_and(is_want_of_space) {
            self.forget(ended.id);
            return false;
        }
        let now = Instant::now();
        self.next.get_or_insert(now + PAUSE);
        let Some(at) = known else {
            let Ended { id, operation, page, .. } = *ended;
            if self.list.is_empty() {
                self.since = Some(now);
            }
            self.list.push(Starved { id, operation, page, together: together(), since: now, waits: true });
            return true;
        };
        if now.duration_since(self.list[at].since) > self.patience && !self.is_felt() {
            self.list.swap_remove(at);
            return false;
        }
        self.list[at].waits = true;
        true
    }

    /// An operation is over, whatever became of it.
    pub(crate) fn forget(&mut self, id: OperationId) {
        self.list.retain(|one| one.id != id);
    }

    /// The next write that is to be tried again now.
    pub(crate) fn take_due(&mut self) -> Option<Starved> {
        self.next.filter(|&next| Instant::now() >= next)?;
        let Some(one) = self.list.iter_mut().find(|one| one.waits) else {
            self.next = None;
            return None;
        };
        one.waits = false;
        Some(*one)
    }

    /// Writes to a member that wait to be tried again.
    pub(crate) fn waiting_for(&self, member: u16) -> u32 {
        self.list.iter().filter(|one| one.waits && one.operation.member == member).count() as u32
    }

    /// How long until something is to be tried again.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }
}

/// `members` as bits.
pub(crate) fn bits(members: impl Iterator<Item = u16>) -> u64 {
    members.fold(0, |mask, member| mask | 1 << (member % 64))
}

/// Whether an operation failed because its file system, or what is below its device, is full.
fn is_want_of_space(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT))
}
