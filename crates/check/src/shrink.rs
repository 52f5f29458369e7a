//! Shrinks a failing case to a smaller failing case that is easier to read.

use stripewise_array::geometry::Membership;

use crate::case::Case;
use crate::media::Faults;

/// A smaller case for which `fails` still holds, after at most `tries` attempts.
pub fn shrink(case: &Case, mut tries: u32, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut attempt = |best: &mut Case, candidate: Case| {
        if tries == 0 {
            return false;
        }
        tries -= 1;
        let better = fails(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let mut smaller = false;
        // Halves of the requests, then quarters, down to single ones; from the end, because requests after the
        // failure do not matter.
        let mut size = best.requests.len().div_ceil(2).max(1);
        loop {
            let mut end = best.requests.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut candidate = best.clone();
                candidate.requests.drain(start..end);
                smaller |= attempt(&mut best, candidate);
                end = start;
            }
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
        for index in (0..best.losses.len()).rev() {
            let mut candidate = best.clone();
            candidate.losses.remove(index);
            smaller |= attempt(&mut best, candidate);
        }
        for index in (0..best.power_losses.len()).rev() {
            let mut candidate = best.clone();
            candidate.power_losses.remove(index);
            smaller |= attempt(&mut best, candidate);
        }
        for simplify in SIMPLER {
            let mut candidate = best.clone();
            simplify(&mut candidate);
            if candidate.to_toml() != best.to_toml() {
                smaller |= attempt(&mut best, candidate);
            }
        }
        for index in 0..best.requests.len() {
            for simplify in SIMPLER_REQUEST {
                let mut candidate = best.clone();
                simplify(&mut candidate, index);
                if candidate.requests[index] != best.requests[index] {
                    smaller |= attempt(&mut best, candidate);
                }
            }
        }
        if !smaller {
            return best;
        }
    }
}

/// Simplifications of a whole case.
const SIMPLER: [fn(&mut Case); 18] = [
    |case| case.volatile_members = false,
    |case| case.faults = Faults::default(),
    |case| case.faults.sick.truncate(1),
    |case| case.faults.lost_ppm = 0,
    |case| case.faults.failed_reads.truncate(1),
    |case| case.faults.failed_reads.clear(),
    |case| case.faults.failed_read_ppm = 0,
    |case| case.faults.late_ppm = 0,
    |case| case.faults.slow_ppm = 0,
    |case| case.faults.corrupt_read_ppm = 0,
    |case| case.error_limit = None,
    |case| case.error_limit.iter_mut().for_each(|limit| limit.every = 1),
    |case| case.fail_each = false,
    |case| case.depth = (case.depth / 2).max(1),
    |case| case.scheme.parity.xor.0 = 0,
    |case| case.scheme.geometry.rotate_every = 1,
    |case| case.scheme.geometry.membership = Membership::Contiguous,
    |case| case.losses.iter_mut().for_each(|loss| loss.manner = crate::media::Manner::Gone),
];

/// Simplifications of one request.
const SIMPLER_REQUEST: [fn(&mut Case, usize); 3] = [
    |case, index| case.requests[index].gap_ns = 0,
    |case, index| case.requests[index].sectors = 1.min(case.requests[index].sectors),
    |case, index| case.requests[index].sectors -= case.requests[index].sectors / 2,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::What;
    use crate::stress;

    #[test]
    fn a_case_shrinks_to_what_makes_it_fail() {
        let case = (0..).map(stress::case).find(|case| case.requests.len() == 200).expect("a long case");
        let fails = |case: &Case| {
            let writes = case.requests.iter().filter(|ask| ask.what == What::Write);
            writes.map(|ask| ask.sectors).sum::<u64>() >= 3
        };
        let small = shrink(&case, 10_000, fails);
        assert!(fails(&small));
        assert!(small.requests.len() <= 3, "{:?}", small.requests);
        assert!(small.requests.iter().all(|ask| ask.gap_ns == 0));
        assert_eq!((small.losses.len(), small.faults, small.depth), (0, Faults::default(), 1));
    }
}
