//! Vectors of any processor: words, which the compiler turns into the vectors that it may assume, and single words and
//! bytes for the ends of members.

use super::generic::{self, Vector};
use crate::field;

/// Eight bytes at a time. The generator's multiples are computed by masks, as in the portable code of Linux md.
impl Vector for u64 {
    const BYTES: usize = 8;
    type Factor = [u64; 8];

    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn zero() -> Self {
        0
    }
    // SAFETY: the caller guarantees that eight bytes may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        unsafe { from.cast::<u64>().read_unaligned() }
    }
    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn factor(value: u8) -> Self::Factor {
        let mut masks = [0; 8];
        for (bit, mask) in masks.iter_mut().enumerate() {
            *mask = 0u64.wrapping_sub(u64::from(value >> bit & 1));
        }
        masks
    }
    // SAFETY: the caller guarantees that eight bytes may be written.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { to.cast::<u64>().write_unaligned(self) }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn double(self) -> Self {
        let high = self & 0x8080_8080_8080_8080;
        let carried = (high << 1).wrapping_sub(high >> 7);
        ((self ^ high) << 1) ^ (carried & (0x0101_0101_0101_0101 * field::REDUCTION as u64))
    }
    #[inline(always)]
    fn multiply(self, factor: Self::Factor) -> Self {
        let mut product = self & factor[0];
        let mut multiple = self;
        for mask in &factor[1..] {
            multiple = multiple.double();
            product ^= multiple & mask;
        }
        product
    }
}

/// Adjacent words, for the compiler to put into vectors.
#[derive(Clone, Copy)]
pub(super) struct Words([u64; Self::COUNT]);

impl Words {
    const COUNT: usize = 4;
}

impl Vector for Words {
    const BYTES: usize = 8 * Self::COUNT;
    type Factor = [u64; 8];

    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0; Self::COUNT])
    }
    // SAFETY: the caller guarantees that all bytes may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { from.cast::<[u64; Self::COUNT]>().read_unaligned() })
    }
    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn factor(value: u8) -> Self::Factor {
        // SAFETY: has no requirements.
        unsafe { u64::factor(value) }
    }
    // SAFETY: the caller guarantees that all bytes may be written.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { to.cast::<[u64; Self::COUNT]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    fn xor(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word ^= other);
        self
    }
    #[inline(always)]
    fn double(mut self) -> Self {
        for word in &mut self.0 {
            *word = word.double();
        }
        self
    }
    #[inline(always)]
    fn multiply(self, factor: Self::Factor) -> Self {
        let mut product = self;
        for word in &mut product.0 {
            *word &= factor[0];
        }
        let mut multiple = self;
        for mask in &factor[1..] {
            multiple = multiple.double();
            product.0.iter_mut().zip(multiple.0).for_each(|(word, multiple)| *word ^= multiple & mask);
        }
        product
    }
}

/// One byte: the end of a member.
#[derive(Clone, Copy)]
pub(super) struct Byte(u8);

impl Vector for Byte {
    const BYTES: usize = 1;
    type Factor = u8;

    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0)
    }
    // SAFETY: the caller guarantees that the byte may be read.
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { *from })
    }
    // SAFETY: has no requirements.
    #[inline(always)]
    unsafe fn factor(value: u8) -> u8 {
        value
    }
    // SAFETY: the caller guarantees that the byte may be written.
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { *to = self.0 }
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn double(self) -> Self {
        Self(field::double(self.0))
    }
    #[inline(always)]
    fn multiply(self, factor: u8) -> Self {
        Self(field::multiply(self.0, factor))
    }
}

super::instances!(Words, 2);
