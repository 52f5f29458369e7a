//! Vectors of AVX-512 with GFNI, where a product by a constant is one product with a bit matrix.

use std::arch::x86_64::*;

use super::generic::{self, Vector};
use crate::field;

/// AVX-512 with GFNI.
#[derive(Clone, Copy)]
pub(super) struct Bytes64(__m512i);

/// The matrix over GF(2) that multiplies a byte by `factor`. Row i is one byte, counted from the highest; its bit j is
/// set if bit i of `factor` times x^j is set.
const fn matrix(factor: u8) -> i64 {
    let mut matrix = 0;
    let mut column = 0;
    while column < 8 {
        let product = field::multiply(factor, 1 << column);
        let mut row = 0;
        while row < 8 {
            matrix |= ((product >> row & 1) as i64) << (8 * (7 - row) + column);
            row += 1;
        }
        column += 1;
    }
    matrix
}

/// The matrix of every element.
static MATRICES: [i64; 256] = field::table!(matrix, i64, 0);

impl Vector for Bytes64 {
    const BYTES: usize = 64;
    type Factor = __m512i;

    // SAFETY: the caller guarantees that the processor has AVX-512.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_setzero_si512() })
    }
    // SAFETY: the caller guarantees that the processor has AVX-512 and that 64 bytes may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }
    // SAFETY: the caller guarantees that the processor has AVX-512.
    #[inline(always)]
    unsafe fn factor(value: u8) -> Self::Factor {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi64(MATRICES[usize::from(value)]) }
    }
    // SAFETY: the caller guarantees that 64 bytes may be written; the value exists, so the processor has AVX-512.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: the value exists, so the processor has AVX-512.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    fn double(self) -> Self {
        const DOUBLE: i64 = matrix(2);
        // SAFETY: the value exists, so the processor has AVX-512 and GFNI.
        self.multiply(unsafe { _mm512_set1_epi64(DOUBLE) })
    }
    #[inline(always)]
    fn multiply(self, factor: Self::Factor) -> Self {
        // SAFETY: the value exists, so the processor has AVX-512 and GFNI.
        Self(unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self.0, factor) })
    }
}

super::instances!(Bytes64, 4, #[target_feature(enable = "avx512f,avx512bw,gfni")]);
