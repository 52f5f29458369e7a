//! Detects stalled members: they have operations and complete none. The engine reports them to the controller
//! and to its callers.

use std::time::Duration;

use stripewise_array::MemberNo;
use stripewise_base::Nanos;

/// An operation that takes longer than this is noted as slow: a healthy drive that retries a weak sector answers within a
/// second or two.
pub(crate) const SLOW_NS: Nanos = 3_000_000_000;

/// Looks that it takes until a member is slow.
const LOOKS: u64 = 5;

/// The finding of a look at a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has operations and has completed none for some time: reads should avoid it. Reported again as long as that
    /// lasts.
    Slow,
    /// It was slow, and completes operations again.
    Moves,
    /// It has been stalled for this many nanoseconds, which the operator must know. Reported once.
    Long(Nanos),
}

/// The state of one member.
#[derive(Clone, Copy, Debug, Default)]
struct StalledMember {
    /// How long it has been stalled, and how long it had been at the last report.
    stalled_ns: Nanos,
    reported_ns: Nanos,
    /// Whether an operation completed since the last look.
    has_moved: bool,
    is_slow: bool,
    /// Whether it was reported as [`Seen::Long`].
    is_long: bool,
}

/// Watches members, one look at a time.
#[derive(Debug)]
pub(crate) struct Watch {
    members: Vec<StalledMember>,
    /// How long a member is stalled before it counts as slow.
    limit: Nanos,
    looked_at: Nanos,
}

impl Watch {
    /// A watch over `members` members.
    pub(crate) fn new(members: u16, limit: Duration) -> Self {
        Self {
            members: vec![StalledMember::default(); members.into()],
            limit: u64::try_from(limit.as_nanos()).unwrap_or(Nanos::MAX),
            looked_at: 0,
        }
    }

    /// Notes that an operation on a member completed.
    #[inline]
    pub(crate) fn moved(&mut self, member: MemberNo) {
        self.members[member.index()].has_moved = true;
    }

    /// The time of the next look. A look counts for one pause at most, so time in which the thread could not look is
    /// not counted against members.
    pub(crate) fn next_look(&self) -> Nanos {
        self.looked_at.saturating_add(self.pause())
    }

    fn pause(&self) -> Nanos {
        (self.limit / LOOKS).max(1)
    }

    /// Looks at members, if a look is due. `awaited` says which members owe an answer. Returns the findings for the
    /// controller and the operator.
    pub(crate) fn look(&mut self, now: Nanos, awaited: impl Fn(MemberNo) -> bool) -> Vec<(MemberNo, Seen)> {
        if now < self.next_look() {
            return Vec::new();
        }
        let passed = (now - self.looked_at).min(2 * self.pause());
        self.looked_at = now;
        let mut seen = Vec::new();
        for (member, record) in (0..).map(MemberNo::new).zip(&mut self.members) {
            if record.has_moved || !awaited(member) {
                if record.is_slow {
                    seen.push((member, Seen::Moves));
                }
                *record = StalledMember::default();
                continue;
            }
            record.stalled_ns += passed;
            if record.stalled_ns - record.reported_ns >= self.limit {
                record.reported_ns = record.stalled_ns;
                record.is_slow = true;
                seen.push((member, Seen::Slow));
            }
            if record.stalled_ns > SLOW_NS && !record.is_long {
                record.is_long = true;
                seen.push((member, Seen::Long(record.stalled_ns)));
            }
        }
        seen
    }

    /// Forgets the findings about a member that leaves service or comes into it.
    pub(crate) fn forget(&mut self, member: MemberNo) {
        self.members[member.index()] = StalledMember::default();
    }

    /// How long a member has been stalled.
    pub(crate) fn stalled_ns(&self, member: MemberNo) -> Nanos {
        self.members[member.index()].stalled_ns
    }

    /// Whether a member is slow.
    pub(crate) fn is_slow(&self, member: MemberNo) -> bool {
        self.members[member.index()].is_slow
    }

    /// Whether a member was reported as [`Seen::Long`] for the operations that it has.
    pub(crate) fn is_long(&self, member: MemberNo) -> bool {
        self.members[member.index()].is_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    /// Looks at two members every 10 ms from `from` to `to`. Both owe answers, and only the second gives them.
    fn look(watch: &mut Watch, from: u64, to: u64) -> Vec<(u64, u16, Seen)> {
        let mut reported = Vec::new();
        for ms in (from..=to).step_by(10) {
            watch.moved(MemberNo::new(1));
            reported.extend(
                watch.look(ms * 1_000_000, |_| true).into_iter().map(|(one, seen)| (ms, one.number(), seen)),
            );
        }
        reported
    }

    #[test]
    fn one_that_stands_still_is_reported_until_it_moves() {
        let mut watch = Watch::new(2, LIMIT);
        assert_eq!(look(&mut watch, 10, 120), [(50, 0, Seen::Slow), (100, 0, Seen::Slow)]);
        assert!(watch.is_slow(MemberNo::new(0)) && !watch.is_slow(MemberNo::new(1)));
        watch.moved(MemberNo::new(0));
        assert_eq!(look(&mut watch, 130, 170), [(130, 0, Seen::Moves)]);
        assert!(!watch.is_slow(MemberNo::new(0)));
    }

    #[test]
    fn one_that_stands_still_for_seconds_is_reported_once_each_time() {
        let mut watch = Watch::new(2, LIMIT);
        let long = |watch: &mut Watch, from, to| -> Vec<_> {
            look(watch, from, to).into_iter().filter(|(_, _, seen)| matches!(seen, Seen::Long(_))).collect()
        };
        assert_eq!(long(&mut watch, 10, 9_000), [(3_010, 0, Seen::Long(3_010_000_000))]);
        assert!(watch.is_long(MemberNo::new(0)));
        watch.moved(MemberNo::new(0));
        assert_eq!(long(&mut watch, 9_010, 12_000), []);
        assert!(!watch.is_long(MemberNo::new(0)));
        assert_eq!(long(&mut watch, 12_010, 13_000).len(), 1);
    }

    #[test]
    fn one_that_has_nothing_to_answer_is_never_slow() {
        let mut watch = Watch::new(1, LIMIT);
        for ms in 1..1_000 {
            assert_eq!(watch.look(ms * 1_000_000, |_| false), []);
        }
    }

    /// The whole program may have had no processor for a while.
    #[test]
    fn time_between_two_distant_looks_counts_little() {
        let mut watch = Watch::new(1, LIMIT);
        assert_eq!(watch.look(10_000_000, |_| true), []);
        assert_eq!(watch.look(5_000_000_000, |_| true), []);
    }
}
