//! The agenda pops exactly the events that a binary heap pops, whatever the delays.

use proptest::prelude::*;
use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;

use crate::heap::HeapAgenda;

/// The agenda and its oracle, which must always agree.
#[derive(Default)]
struct Pair {
    agenda: Agenda,
    oracle: HeapAgenda,
    now: u64,
    next: u32,
}

impl Pair {
    fn schedule(&mut self, delay: u64) {
        let at = self.now.saturating_add(delay);
        self.agenda.schedule(at, self.next);
        self.oracle.schedule(at, self.next);
        self.next += 1;
    }

    fn peek(&mut self) {
        assert_eq!(self.agenda.next_time(), self.oracle.next_time());
    }

    fn pop(&mut self) {
        let popped = self.agenda.pop();
        assert_eq!(popped, self.oracle.pop());
        self.now = popped.map_or(self.now, |(at, _)| at);
    }

    fn drain(&mut self) {
        while !self.agenda.is_empty() {
            self.pop();
        }
        self.pop();
        assert_eq!(self.agenda.len(), 0);
    }
}

#[test]
fn an_empty_agenda_has_no_next_event() {
    Pair::default().drain();
}

#[test]
fn equal_times_keep_the_order_of_scheduling_in_every_part_of_the_agenda() {
    let mut agenda = Agenda::new();
    // Few and many, near, in the calendar and far; the second half is scheduled after the first pops moved
    // it.
    for (round, at) in [0u64, 900, 5_000, 3_000_000, 90_000_000, 86_400_000_000_000].into_iter().enumerate() {
        for count in [3, 20, 300] {
            let at = at + round as u64 * 1_000_000_000_000_000 + count * 1_000_000_000;
            (0..count as u32).for_each(|event| agenda.schedule(at, event));
            agenda.schedule(at - 1, u32::MAX);
            assert_eq!(agenda.pop(), Some((at - 1, u32::MAX)));
            (count as u32..2 * count as u32).for_each(|event| agenda.schedule(at, event));
            (0..2 * count as u32).for_each(|event| assert_eq!(agenda.pop(), Some((at, event))));
            assert_eq!(agenda.pop(), None);
        }
    }
}

#[test]
fn times_up_to_the_end_of_time_work() {
    let mut pair = Pair::default();
    for delay in [u64::MAX, u64::MAX - 1, 0, 1 << 63, u64::MAX, u64::MAX - 1024, u64::MAX - 9_000_000] {
        (0..40).for_each(|step| pair.schedule(delay.saturating_sub(step * 700_000)));
    }
    (0..150).for_each(|_| pair.pop());
    (0..100).for_each(|step| pair.schedule(step * 100_000_000_000_000_000));
    pair.drain();
}

#[test]
fn a_long_run_with_flash_like_delays_agrees_at_every_load() {
    for pending in [1, 3, 8, 13, 20, 64, 1000, 20_000] {
        let mut prng = Prng::new(pending);
        let mut pair = Pair::default();
        (0..pending).for_each(|_| pair.schedule(prng.below(2_000_000)));
        for _ in 0..60_000 {
            pair.pop();
            let spread = [1, 2_000, 60_000, 1_200_000, 30_000_000][prng.below(5) as usize];
            pair.schedule(prng.below(spread));
        }
        pair.drain();
    }
}

/// The next actions: schedule a number of events with delays of one kind, then pop a number of events.
#[derive(Clone, Debug)]
struct Step {
    base: u64,
    spread: u64,
    scheduled: usize,
    popped: usize,
    peeks: bool,
}

/// Delays around every boundary of the agenda: same instant, same bucket, next buckets, around the calendar, just
/// beyond it, days.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    const EDGES: [u64; 14] = [
        0,
        1,
        1_023,
        1_024,
        1_025,
        64 * 1_024,
        4_096 * 1_024,
        8_191 * 1_024,
        8_192 * 1_024 - 1,
        8_192 * 1_024,
        8_193 * 1_024,
        20_000 * 1_024,
        10_000_000_000,
        3 * 86_400_000_000_000,
    ];
    let spread = prop::sample::select(vec![1u64, 2, 1_000, 10_000, 500_000, 9_000_000, 100_000_000_000]);
    let counts =
        (prop_oneof![0..4usize, 0..40usize, 0..400usize], prop_oneof![0..4usize, 0..40usize, 0..400usize]);
    let step = (prop::sample::select(EDGES.to_vec()), spread, counts, any::<bool>());
    let step = step.prop_map(|(base, spread, (scheduled, popped), peeks)| Step {
        base,
        spread,
        scheduled,
        popped,
        peeks,
    });
    prop::collection::vec(step, 1..40)
}

proptest! {
    #[test]
    fn any_mix_of_delays_pops_in_the_order_of_a_heap(steps in steps(), seed in any::<u64>()) {
        let mut prng = Prng::new(seed);
        let mut pair = Pair::default();
        for step in steps {
            (0..step.scheduled).for_each(|_| pair.schedule(step.base + prng.below(step.spread)));
            for _ in 0..step.popped {
                if step.peeks {
                    pair.peek();
                }
                pair.pop();
            }
            if step.peeks {
                pair.peek();
            }
        }
        pair.drain();
    }
}
