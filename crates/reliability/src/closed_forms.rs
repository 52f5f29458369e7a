//! The closed forms of the MTTDL of one parity group of `n` members that each fail at rate `lambda`, repaired one at a
//! time at rate `mu`.
//!
//! They are exact solutions of the chain in [`crate::chain`]: the tests show this in rational arithmetic.
//!
//! Source: paper 001, section V-E.

use crate::chain::Number;

/// RAID-5: (μ + (2n - 1)λ) / (n(n - 1)λ²).
///
/// # Panics
/// If `n` is below 2: one member and its parity.
pub fn raid5<N: Number>(n: u32, lambda: N, mu: N) -> N {
    assert!(n >= 2, "RAID-5 has at least 2 members");
    let of = N::from;
    (mu + of(2 * n - 1) * lambda) / (of(n * (n - 1)) * lambda * lambda)
}

/// RAID-6: (μ² + 2(n - 1)λμ + (3n² - 6n + 2)λ²) / (n(n - 1)(n - 2)λ³).
///
/// # Panics
/// If `n` is below 3: one member and its two parities.
pub fn raid6<N: Number>(n: u32, lambda: N, mu: N) -> N {
    assert!(n >= 3, "RAID-6 has at least 3 members");
    let of = N::from;
    let above = mu * mu + of(2 * (n - 1)) * lambda * mu + of(3 * n * n - 6 * n + 2) * lambda * lambda;
    above / (of(n * (n - 1)) * of(n - 2) * lambda * lambda * lambda)
}
