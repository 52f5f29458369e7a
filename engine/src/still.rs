//! Elements that stand still: they have operations and let none come back. The controller is told, and whoever asks.

use std::collections::VecDeque;
use std::time::Duration;

use stripewise_base::Nanos;

/// Most news that are kept for whoever asks; the oldest go first.
const NEWS_MAX: usize = 256;
/// How many looks it takes until an element is slow.
const LOOKS: u64 = 5;

/// What became of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// It has had operations for so long and answered none: reads go around it.
    Slow {
        /// Nanoseconds.
        for_ns: Nanos,
    },
    /// It was slow, and answers again.
    Answers {
        /// Nanoseconds for which it did not.
        after_ns: Nanos,
    },
    /// An operation took longer than [`crate::Options::timeout`]: it is out of service.
    TimedOut,
}

/// News of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberNews {
    /// Nanoseconds since the array was opened.
    pub at_ns: Nanos,
    /// Which element.
    pub element: u16,
    /// What became of it.
    pub change: MemberChange,
}

/// One element.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// How long it has stood still; and how long it had at the last report.
    still_ns: Nanos,
    told_ns: Nanos,
    /// Whether something came back since the last look.
    has_moved: bool,
    is_slow: bool,
}

/// What is seen of elements, a look at a time.
#[derive(Debug)]
pub(crate) struct Watch {
    members: Vec<Member>,
    /// From when on one that stands still is slow.
    limit: Nanos,
    looked_at: Nanos,
    news: VecDeque<MemberNews>,
}

impl Watch {
    /// Over so many elements.
    pub(crate) fn new(elements: u16, limit: Duration) -> Self {
        Self {
            members: vec![Member::default(); elements.into()],
            limit: u64::try_from(limit.as_nanos()).unwrap_or(Nanos::MAX),
            looked_at: 0,
            news: VecDeque::new(),
        }
    }

    /// An operation on an element came back.
    #[inline]
    pub(crate) fn moved(&mut self, element: u16) {
        self.members[usize::from(element)].has_moved = true;
    }

    /// When it is to be looked at next. Time in which nobody could look is not held against elements: a look counts for one pause.
    pub(crate) fn next_look(&self) -> Nanos {
        self.looked_at.saturating_add(self.pause())
    }

    fn pause(&self) -> Nanos {
        (self.limit / LOOKS).max(1)
    }

    /// Looks at elements, if it is time to; `awaited` says which are to answer something. The elements that the controller must be told of: which have
    /// become slow, or are so still, and which answer again.
    pub(crate) fn look(&mut self, now: Nanos, awaited: impl Fn(u16) -> bool) -> Vec<(u16, bool)> {
        if now < self.next_look() {
            return Vec::new();
        }
        let passed = (now - self.looked_at).min(2 * self.pause());
        self.looked_at = now;
        let mut told = Vec::new();
        for (element, member) in (0..).zip(&mut self.members) {
            let has_moved = std::mem::take(&mut member.has_moved);
            if has_moved || !awaited(element) {
                if std::mem::take(&mut member.is_slow) {
                    let change = MemberChange::Answers { after_ns: member.still_ns };
                    note(&mut self.news, MemberNews { at_ns: now, element, change });
                    told.push((element, false));
                }
                (member.still_ns, member.told_ns) = (0, 0);
                continue;
            }
            member.still_ns += passed;
            if member.still_ns - member.told_ns < self.limit {
                continue;
            }
            member.told_ns = member.still_ns;
            if !std::mem::replace(&mut member.is_slow, true) {
                let change = MemberChange::Slow { for_ns: member.still_ns };
                note(&mut self.news, MemberNews { at_ns: now, element, change });
            }
            told.push((element, true));
        }
        told
    }

    /// An element is out of service because an operation timed out.
    pub(crate) fn timed_out(&mut self, now: Nanos, element: u16) {
        note(&mut self.news, MemberNews { at_ns: now, element, change: MemberChange::TimedOut });
    }

    /// An element is out of service, or comes into it: whatever was seen of the one before is forgotten.
    pub(crate) fn forget(&mut self, element: u16) {
        self.members[usize::from(element)] = Member::default();
    }

    /// Whether an element is slow.
    pub(crate) fn is_slow(&self, element: u16) -> bool {
        self.members[usize::from(element)].is_slow
    }

    /// The oldest news that were not taken.
    pub(crate) fn take(&mut self) -> Option<MemberNews> {
        self.news.pop_front()
    }
}

fn note(news: &mut VecDeque<MemberNews>, one: MemberNews) {
    if news.len() == NEWS_MAX {
        news.pop_front();
    }
    news.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    /// Looks at two elements every 10 ms from `from` to `to`; both are to answer, and the second does.
    fn look(watch: &mut Watch, from: u64, to: u64) -> Vec<(u64, u16, bool)> {
        let mut told = Vec::new();
        for ms in (from..=to).step_by(10) {
            watch.moved(1);
            told.extend(watch.look(ms * 1_000_000, |_| true).into_iter().map(|(one, is)| (ms, one, is)));
        }
        told
    }

    #[test]
    fn one_that_stands_still_is_told_of_until_it_moves() {
        let mut watch = Watch::new(2, LIMIT);
        assert_eq!(look(&mut watch, 10, 120), [(50, 0, true), (100, 0, true)]);
        assert!(watch.is_slow(0) && !watch.is_slow(1));
        watch.moved(0);
        assert_eq!(look(&mut watch, 130, 170), [(130, 0, false)]);
        let news: Vec<_> =
            std::iter::from_fn(|| watch.take()).map(|news| (news.element, news.change)).collect();
        let expected = [
            (0, MemberChange::Slow { for_ns: 50_000_000 }),
            (0, MemberChange::Answers { after_ns: 120_000_000 }),
        ];
        assert_eq!(news, expected);
    }

    #[test]
    fn one_that_has_nothing_to_answer_is_never_slow() {
        let mut watch = Watch::new(1, LIMIT);
        for ms in 1..1_000 {
            assert_eq!(watch.look(ms * 1_000_000, |_| false), []);
        }
    }

    /// The whole program may have had no processor for a while, and its threads with it.
    #[test]
    fn time_in_which_nobody_looked_counts_little() {
        let mut watch = Watch::new(1, LIMIT);
        assert_eq!(watch.look(10_000_000, |_| true), []);
        assert_eq!(watch.look(5_000_000_000, |_| true), []);
    }

    #[test]
    fn news_that_nobody_takes_are_bounded() {
        let mut watch = Watch::new(1, LIMIT);
        (0..1_000).for_each(|at| watch.timed_out(at, 0));
        let taken: Vec<_> = std::iter::from_fn(|| watch.take()).collect();
        assert_eq!((taken.len(), taken[0].at_ns), (NEWS_MAX, 1_000 - NEWS_MAX as u64));
    }
}
