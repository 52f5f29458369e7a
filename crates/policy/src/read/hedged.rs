//! Hedged reads: the other columns of a stripe are read as well if the direct read takes too long.
//!
//! Source: ToleRAID (Hao et al., "The tail at store", FAST 2016): reactive, proactive and adaptive tail-tolerant reads. The
//! paper's text was not available; the threshold at which a read counts as slow is the paper's, the rest is ours.

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_core::ids::PlanId;

/// A plan, and the number of its current use: plan slots are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The slot of the plan.
    pub plan: PlanId,
    /// The number of the use.
    pub life: u32,
}

/// Reads that may have to ask the other members.
#[derive(Debug, Default)]
pub struct Hedges {
    /// Reads that ask at once.
    at_once: VecDeque<Reader>,
    /// Reads that ask at a later time, in order of time. Most are over by then, and are skipped.
    later: VecDeque<(Nanos, Reader)>,
    /// The time of the requested call, if it is still to come.
    call_at: Option<Nanos>,
}

impl Hedges {
    /// Lets `reader` ask the other members at once.
    pub fn ask_now(&mut self, reader: Reader) {
        self.at_once.push_back(reader);
    }

    /// Lets `reader` ask the other members at `at`, or right after the readers before it if they ask later.
    pub fn ask_at(&mut self, at: Nanos, reader: Reader) {
        let at = self.later.back().map_or(at, |&(last, _)| last.max(at));
        self.later.push_back((at, reader));
    }

    /// The next reader whose time has come.
    pub fn due(&mut self, now: Nanos) -> Option<Reader> {
        self.at_once.pop_front().or_else(|| {
            let is_due = self.later.front().is_some_and(|&(at, _)| at <= now);
            if is_due { self.later.pop_front().map(|(_, reader)| reader) } else { None }
        })
    }

    /// Skips the readers in front that are over. Returns the time of the next call, unless a call is already pending.
    pub fn call(&mut self, now: Nanos, is_over: impl Fn(Reader) -> bool) -> Option<Nanos> {
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
        Reader { plan: PlanId::new(plan), life: 0 }
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
    fn one_call_at_a_time_is_requested() {
        let mut hedges = Hedges::default();
        hedges.ask_at(100, reader(1));
        hedges.ask_at(120, reader(2));
        assert_eq!(hedges.call(0, |_| false), Some(100));
        assert_eq!(hedges.call(50, |_| false), None, "one is on its way");
        assert_eq!(hedges.call(100, |over| over.plan == PlanId::new(1)), Some(120), "the first is over");
        assert_eq!(hedges.call(120, |_| true), None);
    }
}
