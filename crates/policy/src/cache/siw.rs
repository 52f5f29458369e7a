//! SIW, synchronous independent write caches: a ring of strips for each member. Each ring has its own destage pointer, which
//! stops at the first strip that was not hit since the pointer last passed it. When the pointers of all rings with any strips
//! have found one, these strips leave together, so that members collect garbage together.
//!
//! Source: paper 003, section 3. Parity is computed before strips enter the cache, so they need not leave with their stripe.
//! The paper bounds the wait for others "to prevent the waiting write caches from becoming full" and prints neither the bound
//! nor the number of strips that may be in flight. Our choices: a time bound, and no wait at all at or above the high
//! threshold; few strips, so that reads find no long queues, and one more for each period for which the cache stays full, so
//! that eventually all chips are busy.

use stripewise_base::Nanos;
use stripewise_core::ids::NONE;

use super::law::Filling;
use super::rings::Rings;
use super::{CacheCounts, CacheSection, Departure, WaitsFor};

/// The destage pointer of one ring.
#[derive(Clone, Copy, Debug)]
struct Nominee {
    /// The strip that the pointer has found, or [`NONE`], and when.
    strip: u32,
    since: Nanos,
}

/// The policy for strips of the rings `0..members`.
#[derive(Debug)]
pub(super) struct Siw {
    strips: u32,
    /// Like `strips`, once the cache has been full for long.
    most: u32,
    patience: Nanos,
    full_since: Option<Nanos>,
    wait: Nanos,
    waits_for: WaitsFor,
    nominees: Vec<Nominee>,
    /// Whether all found strips are leaving.
    releasing: bool,
}

impl Siw {
    pub(crate) fn new(section: &CacheSection, members: u32) -> Self {
        let nominees = vec![Nominee { strip: NONE, since: 0 }; members as usize];
        Self {
            strips: section.strips,
            most: section.strips.max(section.outstanding),
            patience: section.patience.0.max(1),
            full_since: None,
            wait: section.sync_wait.0,
            waits_for: section.waits_for,
            nominees,
            releasing: false,
        }
    }

    /// The strip that leaves now, or the time until which the found strips wait for others.
    pub(crate) fn next(
        &mut self,
        now: Nanos,
        rings: &mut Rings,
        filling: &Filling,
        counts: &mut CacheCounts,
    ) -> Departure {
        if self.releasing {
            match self.nominees.iter_mut().find(|nominee| nominee.strip != NONE) {
                Some(nominee) => return Departure::Unit(std::mem::replace(&mut nominee.strip, NONE)),
                None => self.releasing = false,
            }
        }
        let rate = self.rate(now, filling);
        if rate == 0 {
            return Departure::Nothing;
        }
        let (mut oldest, mut found, mut stragglers) = (Nanos::MAX, 0u32, false);
        for (ring, nominee) in self.nominees.iter_mut().enumerate() {
            let is_open = nominee.strip == NONE && rings.rings[ring].leaving < rate;
            if let Some(strip) = is_open.then(|| rings.advance(ring as u32)).flatten() {
                *nominee = Nominee { strip, since: now };
            }
            if nominee.strip != NONE {
                oldest = oldest.min(nominee.since);
                found += 1;
            } else {
                // A sub-cache may have strips in flight alone: those are at their SSD already.
                let has_strips = !rings.rings[ring].is_empty();
                let is_busy = rings.rings[ring].leaving >= rate;
                stragglers |= match self.waits_for {
                    WaitsFor::NoStrip => !has_strips && !is_busy,
                    WaitsFor::Busy => has_strips,
                };
            }
        }
        if found == 0 {
            return Departure::Nothing;
        }
        if stragglers && now - oldest < self.wait && self.full_since.is_none() {
            return Departure::At(oldest + self.wait);
        }
        counts.releases += 1;
        counts.incomplete_releases += u64::from(stragglers);
        self.releasing = true;
        self.next(now, rings, filling, counts)
    }

    /// Number of strips that may be in flight to each member.
    fn rate(&mut self, now: Nanos, filling: &Filling) -> u32 {
        if !filling.is_full() {
            self.full_since = None;
            return filling.rate(self.strips);
        }
        let since = *self.full_since.get_or_insert(now);
        let more = (now - since) / self.patience;
        (u64::from(self.strips) + more).min(self.most.into()) as u32
    }

    /// Forgets `strip`, which leaves in another way.
    pub(super) fn forget(&mut self, strip: u32) {
        self.nominees
            .iter_mut()
            .filter(|nominee| nominee.strip == strip)
            .for_each(|nominee| nominee.strip = NONE);
    }
}
