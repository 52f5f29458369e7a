//! Exact division by a number that is fixed for a run, as one multiplication.

/// Divides 32-bit numbers by a fixed one: with `m = ceil(2^64 / d)`, `floor(n * m / 2^64) = floor(n / d)` for all
/// `n, d < 2^32` (Granlund and Montgomery, PLDI 1994), because the error `n * (m * d - 2^64) / (d * 2^64)` stays
/// below `1 / d`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    multiplier: u64,
    divisor: u32,
}

impl Divisor {
    /// A divisor of `divisor`, which must not be 0.
    pub(crate) fn new(divisor: u32) -> Self {
        // For 1 the multiplier would be 2^64; see `divide`.
        let multiplier = if divisor == 1 { 0 } else { u64::MAX / u64::from(divisor) + 1 };
        Self { multiplier, divisor }
    }

    /// The divisor.
    #[inline(always)]
    pub(crate) fn get(self) -> u32 {
        self.divisor
    }

    /// `n / d`.
    #[inline(always)]
    pub(crate) fn divide(self, n: u32) -> u32 {
        let quotient = (u128::from(self.multiplier) * u128::from(n)) >> 64;
        if self.divisor == 1 { n } else { quotient as u32 }
    }

    /// `n / d` and `n % d`.
    #[inline(always)]
    pub(crate) fn divide_rest(self, n: u32) -> (u32, u32) {
        let quotient = self.divide(n);
        (quotient, n - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_quotient_is_exact(n: u32, d in 1u32..) {
            prop_assert_eq!(Divisor::new(d).divide_rest(n), (n / d, n % d));
        }

        #[test]
        fn quotients_are_exact_around_multiples(d in 1u32.., k: u32) {
            let multiple = d.wrapping_mul(k % (u32::MAX / d).max(1));
            for n in [multiple.wrapping_sub(1), multiple, multiple.wrapping_add(1), u32::MAX] {
                prop_assert_eq!(Divisor::new(d).divide_rest(n), (n / d, n % d));
            }
        }
    }
}
