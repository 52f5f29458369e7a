//! Shrinks a failing case to a smaller failing case that is easier to read.

use super::case::{CrashCase, Era};
use super::survival::Survival;

/// A smaller case for which `fails` still holds, after at most `tries` attempts.
pub(crate) fn shrink(
    case: &CrashCase,
    mut tries: u32,
    mut fails: impl FnMut(&CrashCase) -> bool,
) -> CrashCase {
    let mut best = case.clone();
    let mut attempt = |best: &mut CrashCase, candidate: CrashCase| {
        if tries == 0 || candidate == *best {
            return false;
        }
        tries -= 1;
        let is_better = fails(&candidate);
        if is_better {
            *best = candidate;
        }
        is_better
    };
    loop {
        let mut is_smaller = false;
        for era in (0..best.eras.len()).rev() {
            let mut candidate = best.clone();
            candidate.eras.remove(era);
            is_smaller |= attempt(&mut best, candidate);
        }
        for era in 0..best.eras.len() {
            // Halves of the requests, then quarters, down to single ones.
            let mut size = best.eras[era].asks.len().div_ceil(2);
            while size > 0 {
                let mut end = best.eras[era].asks.len();
                while end > 0 {
                    let start = end.saturating_sub(size);
                    let mut candidate = best.clone();
                    candidate.eras[era].asks.drain(start..end);
                    is_smaller |= attempt(&mut best, candidate);
                    end = start;
                }
                size = if size == 1 { 0 } else { size.div_ceil(2) };
            }
            for simplify in SIMPLER {
                let mut candidate = best.clone();
                simplify(&mut candidate.eras[era]);
                is_smaller |= attempt(&mut best, candidate);
            }
        }
        let simpler = CrashCase { mends: false, ..best.clone() };
        is_smaller |= attempt(&mut best, simpler);
        let simpler = CrashCase { fault: None, ..best.clone() };
        is_smaller |= attempt(&mut best, simpler);
        let simpler = CrashCase { policy: None, ..best.clone() };
        is_smaller |= attempt(&mut best, simpler);
        let simpler = CrashCase { corruption: None, ..best.clone() };
        is_smaller |= attempt(&mut best, simpler);
        if !is_smaller {
            return best;
        }
    }
}

/// Simplifications of an era.
const SIMPLER: [fn(&mut Era); 21] = [
    |era| era.crash = None,
    |era| era.crash = era.crash.map(|crash| crash / 2),
    |era| era.crash = era.crash.map(|crash| crash.saturating_sub(1)),
    |era| era.keep = Survival::Nothing,
    |era| era.keep = Survival::Everything,
    |era| era.depth = 1,
    |era| era.twice = false,
    |era| era.scrubs.clear(),
    |era| era.audits.clear(),
    |era| era.stops = false,
    |era| era.halts = false,
    |era| era.older.truncate(era.older.len().saturating_sub(1)),
    |era| era.moments.truncate(era.moments.len().saturating_sub(1)),
    |era| era.moments.iter_mut().for_each(|moment| moment.event /= 2),
    |era| era.comebacks.iter_mut().for_each(|one| one.is_older = false),
    |era| era.comebacks.truncate(era.comebacks.len().saturating_sub(1)),
    |era| era.comebacks.iter_mut().for_each(|one| one.event /= 2),
    |era| era.absent.truncate(era.absent.len().saturating_sub(1)),
    |era| era.cuts.truncate(era.cuts.len().saturating_sub(1)),
    |era| era.strikes.truncate(era.strikes.len().saturating_sub(1)),
    |era| era.asks.iter_mut().for_each(|ask| ask.sectors = ask.sectors.min(1)),
];
