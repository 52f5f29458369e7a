//! Vectors of AVX2: doubling by a comparison with zero, products by two tables of 16 multiples.
//!
//! Source: Plank, Greenan and Miller, "Screaming Fast Galois Field Arithmetic Using Intel SIMD Instructions", FAST
//! 2013.

use std::arch::x86_64::*;

use super::generic::{self, Vector};
use crate::field;

/// AVX2.
#[derive(Clone, Copy)]
pub(super) struct Bytes32(__m256i);

impl Vector for Bytes32 {
    const BYTES: usize = 32;
    /// The multiples of the low four bits, and of the high ones.
    type Factor = [__m256i; 2];

    // SAFETY: the caller guarantees that the processor has AVX2.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_setzero_si256() })
    }
    // SAFETY: the caller guarantees that the processor has AVX2 and that 32 bytes may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    // SAFETY: the caller guarantees that the processor has AVX2.
    #[inline(always)]
    unsafe fn factor(value: u8) -> Self::Factor {
        let [low, high] = &field::MULTIPLES[usize::from(value)];
        [low, high].map(|multiples| {
            // SAFETY: as above; the array has the 16 bytes that are read.
            unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(multiples.as_ptr().cast())) }
        })
    }
    // SAFETY: the caller guarantees that 32 bytes may be written; the value exists, so the processor has AVX2.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: the value exists, so the processor has AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn double(self) -> Self {
        // SAFETY: the value exists, so the processor has AVX2.
        Self(unsafe {
            let high = _mm256_cmpgt_epi8(_mm256_setzero_si256(), self.0);
            let reduction = _mm256_and_si256(high, _mm256_set1_epi8(field::REDUCTION as i8));
            _mm256_xor_si256(_mm256_add_epi8(self.0, self.0), reduction)
        })
    }
    #[inline(always)]
    fn multiply(self, [of_low, of_high]: Self::Factor) -> Self {
        // SAFETY: the value exists, so the processor has AVX2.
        Self(unsafe {
            let mask = _mm256_set1_epi8(15);
            let low = _mm256_shuffle_epi8(of_low, _mm256_and_si256(self.0, mask));
            let high = _mm256_and_si256(_mm256_srli_epi64::<4>(self.0), mask);
            _mm256_xor_si256(low, _mm256_shuffle_epi8(of_high, high))
        })
    }
}

super::instances!(Bytes32, 4, #[target_feature(enable = "avx2")]);
