//! What the threads of a keeper share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stripewise_array::format::{Owner, Uuid};

use super::FENCE_BEATS;

/// A member, as the keeper knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    /// When its page was confirmed last: read, and still this session's.
    pub(super) confirmed: Option<Duration>,
    /// Its last heartbeat ended in an error.
    pub(super) is_bad: bool,
    /// It is no member any more.
    pub(super) is_retired: bool,
}

/// What is said to the threads, and what they say.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) beats: Vec<Beat>,
    /// The array is given back.
    pub(super) is_ending: bool,
    /// Threads that are there.
    pub(super) running: usize,
    /// Which host has the array instead.
    pub(super) taken_by: Option<Owner>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Rung when something is said.
    pub(super) bell: Condvar,
    is_lost: AtomicBool,
    /// Nanoseconds since `began` until which the array may be written to.
    valid_until: AtomicU64,
    sequence: AtomicU64,
    began: Instant,
    pub(super) interval: Duration,
    /// Members that have to confirm: another host that took over has written to one of them.
    pub(super) needed: usize,
    /// What each heartbeat says, but for sequence and time.
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

    /// Whether the array is this host's, as far as is known.
    pub(super) fn is_valid(&self) -> bool {
        !self.is_lost() && nanos(self.elapsed()) < self.valid_until.load(Ordering::Acquire)
    }

    /// Another host has it.
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

    /// The heartbeat of a member, which began then, was written, or ended in an error.
    pub(super) fn note(&self, nth: usize, began: Duration, is_written: bool) {
        let mut state = self.lock();
        let beat = &mut state.beats[nth];
        beat.is_bad = !is_written;
        if is_written {
            beat.confirmed = Some(began);
        }
        self.review(&state);
    }

    /// Until when the array may be written to: until so long after enough members confirmed it.
    ///
    /// What must hold: no member is written to by two hosts. A host that takes over writes its claim to all members that it
    /// assembles the array from, at least all but G * P, and waits longer than this before it writes anything else. A claim on
    /// any member ends this host. So G * P + 1 members that confirmed lately are enough, because the claim would be on one of
    /// them; and so are all members that serve, when those are fewer, because the claim would be on a member that this host
    /// writes to. A member that hangs or was not heard of counts as one that has to confirm, until the array fails it: nothing
    /// is written to it from then on.
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
