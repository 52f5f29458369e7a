//! State of members that report nothing, as the controller observes it: the times of their operations, and stalls.
//!
//! Source: the signals are those of Hao et al. (FAST 2016): a member is slow when it takes more than twice the median of its
//! peers. The predictions are ours.

use stripewise_base::Nanos;
use stripewise_core::ids::MemberNo;
use stripewise_core::times::{known, smooth};

use super::median::Median;

/// Observations of one member.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Number of reads, and of other operations, started and not completed.
    in_flight: (u32, u32),
    /// The time of the last completion, or of the first start in an idle member.
    moved_at: Nanos,
    /// Smoothed values: for reads the time from queueing to completion, and the number of operations left behind them at
    /// completion; for reads and for writes the time from start to completion.
    response: u64,
    behind: u64,
    read: u64,
    write: u64,
}

impl Seen {
    fn side(&mut self, is_read: bool) -> &mut u32 {
        if is_read { &mut self.in_flight.0 } else { &mut self.in_flight.1 }
    }
}

/// Observations of all members.
#[derive(Clone, Debug)]
pub struct Observed {
    members: Vec<Seen>,
    median: Median,
    slow: u32,
}

/// Counts of operations are smoothed as multiples of this fraction of one.
const PARTS: u64 = 1 << 10;

impl Observed {
    /// No observations yet of `members` members; a member is slow at `slow` times the median.
    pub fn new(members: u32, slow: u32) -> Self {
        Self { members: vec![Seen::default(); members as usize], median: Median::new(), slow }
    }

    /// An operation was started.
    #[inline]
    pub fn started(&mut self, now: Nanos, member: MemberNo, is_read: bool) {
        let seen = &mut self.members[member.index()];
        if seen.in_flight == (0, 0) {
            seen.moved_at = now;
        }
        *seen.side(is_read) += 1;
    }

    /// Number of reads, and of other operations, in flight in `member`.
    pub fn in_flight(&self, member: MemberNo) -> (u32, u32) {
        self.members[member.index()].in_flight
    }

    /// An operation completed that was queued and started at these times; it left `behind` operations in the queue.
    #[inline]
    pub fn ended(&mut self, now: Nanos, member: MemberNo, is_read: bool, at: (Nanos, Nanos), behind: u32) {
        let (queued_at, started_at) = at;
        let seen = &mut self.members[member.index()];
        *seen.side(is_read) -= 1;
        seen.moved_at = now;
        if is_read {
            smooth(&mut seen.response, (now - queued_at).max(1));
            smooth(&mut seen.behind, (u64::from(behind) + 1) * PARTS);
            smooth(&mut seen.read, (now - started_at).max(1));
            self.median.count(now - queued_at);
        } else {
            smooth(&mut seen.write, (now - started_at).max(1));
        }
    }

    /// The times of a read and a write of `member` once they are started; an unknown time counts as 1.
    pub fn service_ns(&self, member: MemberNo) -> (Nanos, Nanos) {
        let seen = &self.members[member.index()];
        let read = known(seen.read).unwrap_or(1);
        (read, known(seen.write).unwrap_or(read))
    }

    /// The time since the last completion of `member`, if that is longer than a slow read takes; else 0. A member that has
    /// stalled for some time is predicted to stall for the same time again.
    pub fn stalled_ns(&self, now: Nanos, member: MemberNo) -> Nanos {
        let seen = &self.members[member.index()];
        let still = now - seen.moved_at;
        if seen.in_flight != (0, 0) && self.slow_ns().is_some_and(|slow| still > slow) { still } else { 0 }
    }

    /// The predicted time until a read of `member` that is queued now behind `load` operations is done: as its last reads, in
    /// proportion to the operations queued with them, and not before a stall is over.
    pub fn finish_ns(&self, now: Nanos, member: MemberNo, load: u32) -> Nanos {
        let seen = &self.members[member.index()];
        let response = known(seen.response).or(self.median.get()).unwrap_or(1);
        let usual = known(seen.behind).unwrap_or(PARTS).max(1);
        let predicted = u128::from(response) * u128::from((u64::from(load) + 1) * PARTS) / u128::from(usual);
        self.stalled_ns(now, member) + u64::try_from(predicted).unwrap_or(Nanos::MAX / 4)
    }

    /// The time from which on a read is slow; `None` before the first read.
    pub fn slow_ns(&self) -> Option<Nanos> {
        self.median.get().map(|median| median.saturating_mul(self.slow.into()))
    }

    /// Whether the last reads of `member` were slow.
    pub fn is_slow(&self, member: MemberNo) -> bool {
        let response = known(self.members[member.index()].response);
        response.zip(self.slow_ns()).is_some_and(|(response, slow)| response > slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members whose reads took 100 us each, one at a time.
    fn usual() -> (Observed, Nanos) {
        let mut observed = Observed::new(2, 2);
        let mut now = 0;
        for _ in 0..200 {
            for member in 0..2 {
                observed.started(now, MemberNo::new(member), true);
                observed.ended(now + 100_000, MemberNo::new(member), true, (now, now), 0);
            }
            now += 100_000;
        }
        (observed, now)
    }

    #[test]
    fn a_member_stalls_when_nothing_returns_for_longer_than_a_slow_read() {
        let (mut observed, now) = usual();
        let slow = observed.slow_ns().unwrap();
        assert!((200_000..=225_000).contains(&slow));
        observed.started(now, MemberNo::new(0), true);
        observed.started(now + 150_000, MemberNo::new(0), true);
        assert_eq!(observed.stalled_ns(now + slow, MemberNo::new(0)), 0);
        assert_eq!(observed.stalled_ns(now + slow + 1, MemberNo::new(0)), slow + 1);
        assert_eq!(
            observed.stalled_ns(now + slow + 1, MemberNo::new(1)),
            0,
            "a member without work does not stall"
        );
        observed.ended(now + slow + 5, MemberNo::new(0), true, (now, now), 1);
        assert_eq!(observed.stalled_ns(now + slow + 6, MemberNo::new(0)), 0, "it moved");
    }

    #[test]
    fn a_read_behind_others_takes_in_proportion_longer() {
        let (observed, now) = usual();
        let alone = observed.finish_ns(now, MemberNo::new(0), 0);
        assert!((99_000..=101_000).contains(&alone), "{alone}");
        let fourth = observed.finish_ns(now, MemberNo::new(0), 3);
        assert!((396_000..=404_000).contains(&fourth), "{fourth}");
    }

    #[test]
    fn a_member_is_slow_while_its_last_reads_took_longer_than_twice_the_median() {
        let (mut observed, mut now) = usual();
        assert!(!observed.is_slow(MemberNo::new(0)));
        for _ in 0..10 {
            observed.started(now, MemberNo::new(0), true);
            observed.ended(now + 900_000, MemberNo::new(0), true, (now, now), 0);
            now += 900_000;
        }
        assert!(observed.is_slow(MemberNo::new(0)) && !observed.is_slow(MemberNo::new(1)));
    }

    #[test]
    fn nothing_is_slow_before_anything_was_seen() {
        let observed = Observed::new(1, 2);
        assert!(observed.slow_ns().is_none() && !observed.is_slow(MemberNo::new(0)));
        assert_eq!(
            (observed.service_ns(MemberNo::new(0)), observed.finish_ns(0, MemberNo::new(0), 2)),
            ((1, 1), 3)
        );
    }
}
