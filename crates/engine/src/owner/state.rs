//! The state that the threads of a keeper share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stripewise_array::format::{Owner, Uuid};

use super::FENCE_BEATS;

/// The heartbeats of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    /// When its page was confirmed last: read, with this session's content.
    pub(super) confirmed: Option<Duration>,
    /// Whether its last heartbeat failed.
    pub(super) is_bad: bool,
    /// Whether it has left the array.
    pub(super) is_retired: bool,
}

/// The state that the keeper and its threads exchange.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) beats: Vec<Beat>,
    /// Whether the array is being released.
    pub(super) is_ending: bool,
    /// Threads that run.
    pub(super) running: usize,
    /// The host that took the array over.
    pub(super) taken_by: Option<Owner>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Notified when the state changes.
    pub(super) bell: Condvar,
    is_lost: AtomicBool,
    /// The time until which the array may be written to, in nanoseconds since `began`.
    valid_until: AtomicU64,
    sequence: AtomicU64,
    began: Instant,
    pub(super) interval: Duration,
    /// Members that have to confirm: a host that takes over has written to at least one of them.
    pub(super) needed: usize,
    /// The content of each heartbeat, except sequence and time.
    pub(super) owner: Owner,
}

impl Shared {
    pub(super) fn new(owner: Owner, interval: Duration, needed: usize, began: Instant) -> Self {
        Self {
            state: Mutex::default(),
            bell: Condvar::new(),
            is_lost: AtomicBool::new(false),
            valid_until: AtomicU64::new(nanos(interval * FENCE_BEATS)),
            sequence: AtomicU64::new(owner.sequence),
            began,
            interval,
            needed,
            owner,
        }
    }

    pub(super) fn session(&self) -> Uuid {
        self.owner.session
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the claim.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The next heartbeat.
    pub(super) fn next(&self) -> Owner {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        Owner { sequence, written: super::page::now(), ..self.owner.clone() }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Whether this host owns the array, as far as is known.
    pub(super) fn is_valid(&self) -> bool {
        !self.is_lost() && nanos(self.elapsed()) < self.valid_until.load(Ordering::Acquire)
    }

    /// Another host owns the array.
    pub(super) fn lose(&self, to: Owner) {
        self.is_lost.store(true, Ordering::Release);
        self.lock().taken_by.get_or_insert(to);
        self.bell.notify_all();
    }

    #[cfg(test)]
    pub(super) fn forget(&self) {
        let mut state = self.lock();
        state.beats.iter_mut().for_each(|beat| beat.confirmed = None);
        self.valid_until.store(0, Ordering::Release);
    }

    /// Notes a heartbeat of a member that began at `began`: it was written, or failed.
    pub(super) fn note(&self, nth: usize, began: Duration, is_written: bool) {
        let mut state = self.lock();
        let beat = &mut state.beats[nth];
        beat.is_bad = !is_written;
        if is_written {
            beat.confirmed = Some(began);
        }
        self.review(&state);
    }

    /// Determines until when the array may be written to: for a fixed time after enough members confirmed it.
    ///
    /// The invariant: no two hosts write to a member. A host that takes over writes its claim to all members that it
    /// assembles the array from, at least all but G * P, and waits longer than this time before it writes anything
    /// else. A claim on any member ends this host. So G * P + 1 members that confirmed recently are enough, because the
    /// claim would be on one of them. If fewer members serve, all of them are enough, because the claim would be on a
    /// member that this host writes to. A member that hangs or has not confirmed yet counts as one that has to confirm,
    /// until the array fails it: nothing is written to it from then on.
    pub(super) fn review(&self, state: &State) {
        let live = || state.beats.iter().filter(|beat| !beat.is_retired && !beat.is_bad);
        let mut confirmed: Vec<Duration> = live().filter_map(|beat| beat.confirmed).collect();
        confirmed.sort_unstable_by(|one, other| other.cmp(one));
        let needed = self.needed.min(live().count()).max(1);
        if let Some(oldest) = confirmed.get(needed - 1) {
            self.valid_until.fetch_max(nanos(*oldest + self.interval * FENCE_BEATS), Ordering::Release);
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
