//! The Markov chain of one parity group: its state is the number of failed members, and data is lost in the state
//! that is one above the number of parities.
//!
//! The mean time from a whole group to that state is the sum of the mean first passages h(i) from each state i to
//! i + 1. In state i the next failure comes at rate a = (n - i)λ and a repair at rate b leads back to state r, so
//! h(i) = (1 + b(h(r) + … + h(i - 1))) / a. Every term is positive, so nothing cancels. In floats the result is accurate
//! to a few units in the last place, however much faster repairs are than failures.
//!
//! Source: S. Karlin, H. M. Taylor, "A First Course in Stochastic Processes", 2nd edition, 1975, chapter 4 (mean
//! first passages of `birth and death` processes); paper 001, section V-E (the chain of RAID-5 and RAID-6).

use std::ops::{Add, Div, Mul};

use crate::Repair;

/// The numbers that the formulas compute with: floats in use, fractions in tests.
pub trait Number: Copy + From<u32> + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> {}

impl<N: Copy + From<u32> + Add<Output = N> + Mul<Output = N> + Div<Output = N>> Number for N {}

/// The mean time until more than `parity` of `members` members have failed, all working at first; each fails at rate
/// `lambda`, and repairs take place at rate `mu`. In the unit of time that the rates have.
///
/// # Panics
/// If there are no more members than parities.
pub fn mean_time_to_loss<N: Number>(members: u32, parity: u32, repair: Repair, lambda: N, mu: N) -> N {
    assert!(members > parity, "a group of {members} members has data beside {parity} parities");
    let zero = N::from(0);
    let mut passages: Vec<N> = Vec::with_capacity(parity as usize + 1);
    for failed in 0..=parity {
        // The state after a repair, and the number of repairs in progress at rate mu.
        let (back, repairs) = match repair {
            _ if failed == 0 => (0, 0),
            Repair::Single => (failed - 1, 1),
            Repair::Parallel => (failed - 1, failed),
            Repair::Together => (0, 1),
        };
        let again = passages[back as usize..].iter().fold(zero, |sum, &passage| sum + passage);
        let failures = N::from(members - failed) * lambda;
        passages.push((N::from(1) + N::from(repairs) * mu * again) / failures);
    }
    passages.into_iter().fold(zero, |sum, passage| sum + passage)
}
