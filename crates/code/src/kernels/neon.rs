//! Vectors of 64-bit ARM: doubling by an arithmetic shift, products by two tables of 16 multiples.
//!
//! Source: Plank, Greenan and Miller, "Screaming Fast Galois Field Arithmetic Using Intel SIMD Instructions", FAST
//! 2013.

use std::arch::aarch64::*;

use super::generic::{self, Vector};
use crate::field;

/// NEON, which every 64-bit ARM processor has.
#[derive(Clone, Copy)]
pub(super) struct Bytes16(uint8x16_t);

impl Vector for Bytes16 {
    const BYTES: usize = 16;
    /// The multiples of the low four bits, and of the high ones.
    type Factor = [uint8x16_t; 2];

    // SAFETY: every processor of this kind has NEON.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as above.
        Self(unsafe { vdupq_n_u8(0) })
    }
    // SAFETY: the caller guarantees that 16 bytes may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { vld1q_u8(from) })
    }
    // SAFETY: every processor of this kind has NEON.
    #[inline(always)]
    unsafe fn factor(value: u8) -> Self::Factor {
        let [low, high] = &field::MULTIPLES[usize::from(value)];
        [low, high].map(|multiples| {
            // SAFETY: the array has the 16 bytes that are read.
            unsafe { vld1q_u8(multiples.as_ptr()) }
        })
    }
    // SAFETY: the caller guarantees that 16 bytes may be written.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { vst1q_u8(to, self.0) }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: every processor of this kind has NEON.
        Self(unsafe { veorq_u8(self.0, other.0) })
    }
    #[inline(always)]
    fn double(self) -> Self {
        // SAFETY: every processor of this kind has NEON.
        Self(unsafe {
            let high = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(self.0)));
            veorq_u8(vshlq_n_u8::<1>(self.0), vandq_u8(high, vdupq_n_u8(field::REDUCTION)))
        })
    }
    #[inline(always)]
    fn multiply(self, [of_low, of_high]: Self::Factor) -> Self {
        // SAFETY: every processor of this kind has NEON.
        Self(unsafe {
            let low = vqtbl1q_u8(of_low, vandq_u8(self.0, vdupq_n_u8(15)));
            veorq_u8(low, vqtbl1q_u8(of_high, vshrq_n_u8::<4>(self.0)))
        })
    }
}

super::instances!(Bytes16, 4);
