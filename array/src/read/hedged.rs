//! Hedged reads: the other columns of a stripe are asked as well when the direct read takes too long.
//!
//! Source: ToleRAID (Hao et al., "The tail at store", FAST 2016): reactive, proactive and adaptive tail-tolerant reads. The
//! paper's text was not at hand; from when on a read counts as slow is its figure, the rest is ours.

use std::collections::VecDeque;

use stripewise_base::Nanos;

/// A plan, and which of its lives: plans are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    pub(crate) plan: u32,
    pub(crate) life: u32,
}

/// Reads that may have to ask the others.
#[derive(Debug, Default)]
pub(crate) struct Hedges {
    /// Those that ask at once.
    at_once: VecDeque<Reader>,
    /// Those that ask when their time comes, in order of it. Most are over by then, and are passed over.
    later: VecDeque<(Nanos, Reader)>,
    /// The time of the call that was asked for, if it has not come.
    call_at: Option<Nanos>,
}

impl Hedges {
    /// Lets `reader` ask the others at once.
    pub(crate) fn ask_now(&mut self, reader: Reader) {
        self.at_once.push_back(reader);
    }

    /// Lets `reader` ask them at `at`, or right behind those before it if they ask later.
    pub(crate) fn ask_at(&mut self, at: Nanos, reader: Reader) {
        let at = self.later.back().map_or(at, |&(last, _)| last.max(at));
        self.later.push_back((at, reader));
    }

    /// The next reader whose time has come.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<Reader> {
        self.at_once.pop_front().or_else(|| {
            let is_due = self.later.front().is_some_and(|&(at, _)| at <= now);
            if is_due { self.later.pop_front().map(|(_, reader)| reader) } else { None }
        })
    }

    /// Passes over those in front that are over. Returns when to be called, if no such call is on its way.
    pub(crate) fn call(&mut self, now: Nanos, is_over: impl Fn(Reader) -> bool) -> Option<Nanos> {
        if self.call_at.is_some_and(|at| at > now) {
            return None;
        }
        while self.later.front().is_some_and(|&(_, reader)| is_over(reader)) {
            self.later.pop_front();
        }
        self.call_at = self.later.front().map(|&(at, _)| at);
        self.call_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(plan: u32) -> Reader {
        Reader { plan, life: 0 }
    }

    #[test]
    fn readers_ask_in_order_of_their_times_and_never_early() {
        let mut hedges = Hedges::default();
        hedges.ask_at(100, reader(1));
        hedges.ask_at(80, reader(2));
        hedges.ask_now(reader(3));
        assert_eq!(hedges.due(0), Some(reader(3)));
        assert_eq!(hedges.due(99), None);
        assert_eq!((hedges.due(100), hedges.due(100)), (Some(reader(1)), Some(reader(2))));
    }

    #[test]
    fn one_call_at_a_time_is_asked_for() {
        let mut hedges = Hedges::default();
        hedges.ask_at(100, reader(1));
        hedges.ask_at(120, reader(2));
        assert_eq!(hedges.call(0, |_| false), Some(100));
        assert_eq!(hedges.call(50, |_| false), None, "one is on its way");
        assert_eq!(hedges.call(100, |over| over.plan == 1), Some(120), "the first is over");
        assert_eq!(hedges.call(120, |_| true), None);
    }
}
