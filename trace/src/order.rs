//! Times in order: the first is subtracted, and a step back is either evened out and counted, or refused.

use crate::format::Stop;

/// What to do with a request that is older than the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disorder {
    /// Give it the time of the request before it, and count it in [`crate::ReadReport::clamped_times`].
    #[default]
    Clamp,
    /// Fail.
    Refuse,
}

/// Turns a trace's times into nanoseconds since its first.
#[derive(Debug)]
pub(crate) struct Clock {
    disorder: Disorder,
    first: Option<u64>,
    /// The latest time so far, in the trace's ticks.
    latest: u64,
    /// How many requests were older than their predecessor.
    pub(crate) clamped: u64,
}

impl Clock {
    pub(crate) fn new(disorder: Disorder) -> Self {
        Self { disorder, first: None, latest: 0, clamped: 0 }
    }

    /// Nanoseconds from the first time to `time`, both in ticks of `tick_ns`.
    #[inline]
    pub(crate) fn stamp(&mut self, time: u64, tick_ns: u64) -> Result<u64, Stop> {
        let first = *self.first.get_or_insert(time);
        if time < self.latest {
            return self.step_back(time, first, tick_ns);
        }
        let since = (time - first).checked_mul(tick_ns);
        let since =
            since.ok_or(Stop::Unreadable { at: 0, expected: "a time at most 584 years after the first" })?;
        self.latest = time;
        Ok(since)
    }

    #[cold]
    fn step_back(&mut self, time: u64, first: u64, tick_ns: u64) -> Result<u64, Stop> {
        let previous_ns = (self.latest - first) * tick_ns;
        match self.disorder {
            Disorder::Clamp => {
                self.clamped += 1;
                Ok(previous_ns)
            }
            Disorder::Refuse => {
                Err(Stop::Backward { back_ns: (self.latest - time).saturating_mul(tick_ns), previous_ns })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_zero_and_a_step_back_takes_the_time_before_it() {
        let mut clock = Clock::new(Disorder::Clamp);
        let times: Vec<u64> = [1_000, 1_003, 1_001, 990, 1_003, 1_004]
            .map(|time| clock.stamp(time, 100).expect("clamps"))
            .into();
        assert_eq!(times, [0, 300, 300, 300, 300, 400]);
        assert_eq!(clock.clamped, 2, "1001 and 990 stepped back; 1003 after them did not");
    }

    #[test]
    fn a_refusing_clock_says_how_far_back_and_from_where() {
        let mut clock = Clock::new(Disorder::Refuse);
        clock.stamp(50, 1_000).expect("the first");
        clock.stamp(60, 1_000).expect("later");
        match clock.stamp(57, 1_000) {
            Err(Stop::Backward { back_ns: 3_000, previous_ns: 10_000 }) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_time_beyond_64_bits_of_nanoseconds_is_an_error_and_does_not_move_the_clock() {
        let mut clock = Clock::new(Disorder::Clamp);
        clock.stamp(0, 100).expect("the first");
        assert!(matches!(clock.stamp(u64::MAX, 100), Err(Stop::Unreadable { .. })));
        assert_eq!(clock.stamp(7, 100).expect("goes on"), 700);
    }
}
