//! Studies side by side: the cores are busy until the last of them, and not only until the longest run of each.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Calls `make` for the numbers below `count`, on as many threads as there are `jobs`, with the jobs that each may use in turn.
/// Returns what it made, in order. Where `ends_all` says so of what was made, no further number begins: those are none.
pub(super) fn side_by_side<T: Send>(
    count: usize,
    jobs: NonZero<usize>,
    make: impl Fn(usize, usize) -> T + Sync,
    ends_all: impl Fn(usize, &T) -> bool + Sync,
) -> Vec<Option<T>> {
    let lanes = jobs.get().min(count.max(1));
    let each = jobs.get() / lanes;
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let all: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let lane = || {
        while !is_over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = all.get(number) else { return };
            let made = make(number, each);
            is_over.fetch_or(ends_all(number, &made), Ordering::Relaxed);
            *place.lock().expect("no thread panics while it holds a place") = Some(made);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..lanes {
            scope.spawn(lane);
        }
        lane();
    });
    all.into_iter().map(|place| place.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: usize) -> NonZero<usize> {
        NonZero::new(count).expect("some jobs")
    }

    #[test]
    fn all_are_made_in_order_whatever_the_number_of_jobs() {
        for (count, lanes) in [(0, 1), (1, 4), (7, 2), (7, 100)] {
            let made = side_by_side(count, jobs(lanes), |number, each| (number, each), |_, _| false);
            let each = lanes / lanes.min(count.max(1));
            let expected: Vec<_> = (0..count).map(|number| Some((number, each))).collect();
            assert_eq!(made, expected, "{count} on {lanes}");
        }
    }

    #[test]
    fn what_ends_all_is_there_with_all_before_it_and_little_after() {
        let made = side_by_side(1_000, jobs(3), |number, _| number, |_, &number| number == 10);
        assert!(made[..=10].iter().all(Option::is_some));
        // The two other lanes may each have begun one more when it ended, and some while it did.
        assert!(made[500..].iter().all(Option::is_none), "{:?}", made.iter().flatten().last());
    }
}
