//! Claims an array for this host, and keeps it.

use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stripewise_array::MemberNo;
use stripewise_array::format::{Owner, Superblock, Uuid};

use super::page::{OwnerPage, now};
use super::state::{Beat, Shared};
use super::{Claiming, Host, OwnerError, WAIT_BEATS, WATCH_BEATS};
use crate::error::EngineError;
use crate::media::FileMedia;
use crate::uuid::random_uuid;

/// How long the end of a keeper waits for members that do not answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// Keeps an array that this host claimed. Its threads write heartbeats, and detect when another host takes the array
/// over. Dropping the keeper releases the array, so it is dropped after everything that writes to the members.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    array: Uuid,
    /// The owner page, and its bytes.
    page: (u32, u32),
    /// For each member of the array, its index among the members with heartbeats.
    members: Vec<Option<usize>>,
    /// For each offered file, the same index.
    offered: Vec<Option<usize>>,
}

impl Keeper {
    /// Claims the array that `block` describes for `host` on all of `media`. Returns none if the array has no owner
    /// page.
    ///
    /// # Errors
    /// The other host that owns the array.
    pub fn claim(
        media: &FileMedia,
        block: &Superblock,
        host: &Host,
        claiming: Claiming,
    ) -> Result<Option<Self>, EngineError> {
        let places = OwnerPage::all(media, block);
        if places.is_empty() {
            return Ok(None);
        }
        Self::over(places, block, host, claiming).map(Some)
    }

    /// Claims these owner pages, each with its index among the offered files.
    pub(super) fn over(
        mut places: Vec<(usize, OwnerPage)>,
        block: &Superblock,
        host: &Host,
        claiming: Claiming,
    ) -> Result<Self, EngineError> {
        let newest = read(&mut places).into_iter().flatten().max_by_key(|owner| owner.sequence);
        let is_other = newest.as_ref().is_none_or(|owner| owner.host != host.id);
        if let Some(other) = newest.as_ref().filter(|owner| is_other && !owner.is_released) {
            if !claiming.takeover {
                return Err(OwnerError::Owned { owner: Box::new(other.clone()), now: now() }.into());
            }
            watch(&mut places, other)?;
        }
        let began = Instant::now();
        let since = now();
        let owner = Owner {
            array: block.array,
            sequence: newest.as_ref().map_or(0, |owner| owner.sequence) + 1,
            host: host.id,
            session: random_uuid()?,
            interval_ms: u32::try_from(claiming.interval.as_millis()).unwrap_or(u32::MAX),
            is_released: false,
            since,
            written: since,
            name: host.name.clone(),
        };
        let parity = usize::from(block.groups) * block.level.parity() as usize;
        let needed = (parity + 1).min(places.len());
        let results: Vec<_> = places.iter_mut().map(|(_, place)| place.write(&owner)).collect();
        let written = results.iter().filter(|result| result.is_ok()).count();
        if written < needed {
            let error =
                results.into_iter().find_map(Result::err).map(|error| error.to_string()).unwrap_or_default();
            return Err(OwnerError::Unwritten { written, needed, error }.into());
        }
        if is_other {
            let theirs = newest.map_or(Duration::ZERO, |owner| interval_of(&owner));
            thread::sleep(claiming.interval.max(theirs) * WAIT_BEATS);
            let found = read(&mut places);
            if let Some(other) = found.iter().flatten().find(|found| found.session != owner.session) {
                let other = Box::new(other.clone());
                let given_back = Owner { sequence: owner.sequence + 1, is_released: true, ..owner.clone() };
                for ((_, place), found) in places.iter_mut().zip(&found) {
                    if found.as_ref().is_some_and(|found| found.session == owner.session) {
                        // The array belongs to the other host now. The page only has to show that this host has
                        // released it.
                        let _ = place.write(&given_back);
                    }
                }
                return Err(OwnerError::Contended { owner: other }.into());
            }
        }
        let began = if is_other { Instant::now() } else { began };
        let page = (block.owner.first, block.page_bytes);
        let shared = Arc::new(Shared::new(owner, claiming.interval, needed, began));
        let mut keeper = Self { shared, array: block.array, page, members: Vec::new(), offered: Vec::new() };
        for ((nth, place), result) in places.into_iter().zip(results) {
            keeper.offered.resize(nth, None);
            let slot = keeper.begin(result.is_ok().then_some(Duration::ZERO), move || place, false);
            keeper.offered.push(slot);
        }
        Ok(keeper)
    }

    /// Starts the heartbeats of a member, with the time when its page was confirmed. The new thread calls `place`.
    /// Returns none if no thread can be started.
    fn begin(
        &mut self,
        confirmed: Option<Duration>,
        place: impl FnOnce() -> OwnerPage + Send + 'static,
        is_new: bool,
    ) -> Option<usize> {
        let mut state = self.shared.lock();
        let nth = state.beats.len();
        state.beats.push(Beat { confirmed, is_bad: confirmed.is_none(), is_retired: false });
        let shared = Arc::clone(&self.shared);
        let body = move || {
            let mut place = place();
            if is_new {
                // The page that a new member brings has no meaning here.
                let began = shared.elapsed();
                let is_written = place.write(&shared.next()).is_ok();
                shared.note(nth, began, is_written);
            }
            beat(&shared, nth, &mut place);
            shared.lock().running -= 1;
            shared.bell.notify_all();
        };
        let spawned =
            thread::Builder::new().name(format!("heartbeat {nth}")).stack_size(256 << 10).spawn(body);
        if spawned.is_err() {
            state.beats[nth].is_retired = true;
            return None;
        }
        state.running += 1;
        Some(nth)
    }

    /// The array is assembled: `positions` says which offered file each member is. Other files receive no heartbeats
    /// from now on.
    pub(crate) fn assembled(&mut self, positions: &[Option<u16>]) {
        let slot = |position: &Option<u16>| *self.offered.get(usize::from((*position)?))?;
        self.members = positions.iter().map(slot).collect();
        let mut state = self.shared.lock();
        for (nth, beat) in state.beats.iter_mut().enumerate() {
            beat.is_retired |= !self.members.contains(&Some(nth));
        }
        self.shared.review(&state);
        drop(state);
        self.shared.bell.notify_all();
    }

    /// The array continues without `member`: its page receives no heartbeats from now on.
    pub(crate) fn retire(&mut self, member: MemberNo) {
        let Some(slot) = self.members.get_mut(member.index()).and_then(Option::take) else { return };
        let mut state = self.shared.lock();
        state.beats[slot].is_retired = true;
        self.shared.review(&state);
        drop(state);
        self.shared.bell.notify_all();
    }

    /// `handle` is `member` of the array from now on, with `pages` pages.
    pub(crate) fn add(&mut self, member: MemberNo, block: &Superblock, handle: OwnedFd, pages: u32) {
        self.retire(member);
        if block.owner_page(pages).is_none() {
            return;
        }
        let (array, (page, page_bytes)) = (self.array, self.page);
        let slot = self.begin(None, move || OwnerPage::new(handle, array, page, page_bytes), true);
        if let Some(its) = self.members.get_mut(member.index()) {
            *its = slot;
        }
    }

    /// Whether the array may be written to: this host owns it, and confirmed that recently.
    #[inline]
    pub fn may_write(&self) -> bool {
        self.shared.is_valid()
    }

    /// Whether the page of `member` was confirmed within this time. A member without heartbeats counts as confirmed if
    /// any other member has heartbeats.
    pub(crate) fn is_confirmed(&self, member: MemberNo, within: Duration) -> bool {
        let state = self.shared.lock();
        match self.members.get(member.index()).copied().flatten() {
            Some(slot) => state.beats[slot]
                .confirmed
                .is_some_and(|at| self.shared.elapsed().saturating_sub(at) < within),
            None => state.beats.iter().any(|beat| !beat.is_retired),
        }
    }

    /// The host that took the array over, if there is one.
    pub fn taken_over(&self) -> Option<OwnerError> {
        if !self.shared.is_lost() {
            return None;
        }
        let owner = self.shared.lock().taken_by.clone()?;
        Some(OwnerError::TakenOver { owner: Box::new(owner) })
    }

    /// The time between two heartbeats.
    pub fn interval(&self) -> Duration {
        self.shared.interval
    }

    /// The content of the heartbeats.
    pub fn owner(&self) -> &Owner {
        &self.shared.owner
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_ending = true;
        self.shared.bell.notify_all();
        let until = Instant::now() + FAREWELL;
        // A member that does not answer blocks its own thread, not this one.
        while state.running > 0 && Instant::now() < until {
            let wait = until.saturating_duration_since(Instant::now());
            state = self.shared.bell.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The owners that the pages name.
fn read(places: &mut [(usize, OwnerPage)]) -> Vec<Option<Owner>> {
    places.iter_mut().map(|(_, place)| place.read().ok().flatten()).collect()
}

/// The time between two heartbeats of an owner, clamped: a page may hold any value.
fn interval_of(owner: &Owner) -> Duration {
    Duration::from_millis(u64::from(owner.interval_ms))
        .clamp(Duration::from_millis(10), Duration::from_secs(60))
}

/// Checks whether `other` writes heartbeats.
fn watch(places: &mut [(usize, OwnerPage)], other: &Owner) -> Result<(), OwnerError> {
    let beats = |places: &mut [(usize, OwnerPage)]| {
        let of = |owner: Owner| (owner.session, owner.sequence, owner.is_released);
        read(places).into_iter().map(|owner| owner.map(of)).collect::<Vec<_>>()
    };
    let first = beats(places);
    for _ in 0..WATCH_BEATS {
        thread::sleep(interval_of(other));
        if beats(places) != first {
            let owner = read(places).into_iter().flatten().max_by_key(|owner| owner.sequence);
            return Err(OwnerError::Alive { owner: Box::new(owner.unwrap_or_else(|| other.clone())) });
        }
    }
    Ok(())
}

/// Writes the heartbeats of one member until the array is released or lost, or continues without the member.
fn beat(shared: &Shared, nth: usize, place: &mut OwnerPage) {
    loop {
        let state = shared.lock();
        let is_over = |state: &mut super::state::State| {
            !(state.is_ending || state.taken_by.is_some() || state.beats[nth].is_retired)
        };
        let waited = shared.bell.wait_timeout_while(state, shared.interval, is_over);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.beats[nth].is_retired || state.taken_by.is_some() {
            return;
        }
        let is_ending = state.is_ending;
        drop(state);
        let began = shared.elapsed();
        let next = Owner { is_released: is_ending, ..shared.next() };
        match place.read() {
            Ok(Some(found)) if found.session != shared.session() => return shared.lose(found),
            // A damaged page is written again: it names no other host.
            Ok(_) => {
                let is_written = place.write(&next).is_ok();
                shared.note(nth, began, is_written);
            }
            Err(_) => shared.note(nth, began, false),
        }
        if is_ending {
            return;
        }
    }
}

#[cfg(test)]
impl Keeper {
    /// Forgets all confirmations.
    pub(super) fn forget(&self) {
        self.shared.forget();
    }

    /// Confirms all members.
    pub(super) fn remember(&self) {
        let members = self.shared.lock().beats.len();
        (0..members).for_each(|nth| self.shared.note(nth, self.shared.elapsed(), true));
    }
}
