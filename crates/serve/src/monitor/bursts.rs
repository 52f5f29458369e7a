//! Rate limits for floods of events: the first is reported at once, later ones rarely, so that the events of a bad hour
//! do not push all others out of their file.

use stripewise_base::Nanos;

use crate::events::{SpaceCause, What};

/// Time between two reports of a burst.
pub(super) const BURST_NS: Nanos = 10_000_000_000;
/// How long there must be space before that is reported.
pub(super) const CALM_NS: Nanos = 5_000_000_000;

/// A counter that only grows. Its growth is reported at once when it begins, and then at most every [`BURST_NS`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    reported: u64,
    at: Option<Nanos>,
}

impl Burst {
    /// A burst whose counts so far are not reported.
    pub(super) fn at(count: u64) -> Self {
        Self { reported: count, at: None }
    }

    /// The growth of the counter since the last report, if a report is due.
    pub(super) fn take(&mut self, now: Nanos, count: u64) -> Option<u64> {
        let grown = count.saturating_sub(self.reported);
        let is_time = self.at.is_none_or(|at| now.saturating_sub(at) >= BURST_NS);
        if grown == 0 || !is_time {
            return None;
        }
        *self = Self { reported: count, at: Some(now) };
        Some(grown)
    }

    /// Makes the next report due at once.
    pub(super) fn hurry(&mut self) {
        self.at = None;
    }

    /// Whether there is growth to report.
    pub(super) fn is_pending(&self, count: u64) -> bool {
        count > self.reported
    }
}

/// Lack of space that begins and ends, perhaps with each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Space {
    /// The latest state of the members, which is always known.
    members: Option<(SpaceCause, bool)>,
    reported: Option<(SpaceCause, bool)>,
    calm_since: Option<Nanos>,
}

impl Space {
    /// Notes that members have no space, and whether writes are refused as a result. None when they have space again.
    pub(super) fn members(&mut self, now: Nanos, is_refused: Option<bool>) -> Option<What> {
        self.members = is_refused.map(|is_refused| (SpaceCause::Members, is_refused));
        self.look(now, None)
    }

    /// Whether another look is needed.
    pub(super) fn is_out(&self) -> bool {
        self.reported.is_some()
    }

    /// The event to report now. `log` is the state of the log.
    pub(super) fn look(&mut self, now: Nanos, log: Option<(SpaceCause, bool)>) -> Option<What> {
        let Some(found) = self.members.or(log) else {
            let since = *self.calm_since.get_or_insert(now);
            let is_over = self.reported.is_some() && now.saturating_sub(since) >= CALM_NS;
            return self.reported.take_if(|_| is_over).map(|_| What::SpaceReturned {});
        };
        self.calm_since = None;
        // A milder state is not reported.
        if self.reported.is_some_and(|(cause, is_refused)| cause == found.0 && (is_refused || !found.1)) {
            return None;
        }
        self.reported = Some(found);
        Some(What::OutOfSpace { cause: found.0, writes_refused: found.1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_reported_at_once_and_then_seldom_and_nothing_is_missing() {
        let mut burst = Burst::default();
        let mut reported = Vec::new();
        for tenth in 0..250 {
            reported.extend(burst.take(tenth * BURST_NS / 100, tenth + 1));
        }
        assert_eq!(reported, [1, 100, 100]);
        assert!(burst.is_pending(250));
        assert_eq!(burst.take(9 * BURST_NS, 250), Some(49));
        assert!(!burst.is_pending(250));
    }

    #[test]
    fn space_that_comes_and_goes_is_one_want_until_it_stays() {
        let mut space = Space::default();
        let out = |writes_refused| Some(What::OutOfSpace { cause: SpaceCause::Members, writes_refused });
        assert_eq!(space.members(0, Some(false)), out(false));
        for now in 1..100 {
            assert_eq!(space.members(now, None), None, "it may come again");
            assert_eq!(space.members(now, Some(false)), None);
        }
        assert_eq!(space.members(100, Some(true)), out(true), "it got worse");
        assert_eq!(space.members(101, Some(false)), None);
        assert_eq!(space.members(102, None), None);
        assert_eq!(space.look(101 + CALM_NS, None), None);
        assert_eq!(space.look(102 + CALM_NS, None), Some(What::SpaceReturned {}));
        assert!(!space.is_out());
        let log = Some((SpaceCause::Log, true));
        assert_eq!(
            space.look(0, log),
            Some(What::OutOfSpace { cause: SpaceCause::Log, writes_refused: true })
        );
        assert_eq!(space.look(1, log), None);
    }
}
