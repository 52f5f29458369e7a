//! Helpers shared by the tests of the structures.

use super::{Uuid, crc32c};
use proptest::prelude::*;

/// Any identifier.
pub(super) fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid)
}

/// Any page size of the format.
pub(super) fn page_bytes() -> impl Strategy<Value = usize> {
    (9u32..16).prop_map(|bits| 1 << bits)
}

/// Flips one bit; `bit` counts modulo the number of bits.
pub(super) fn flip(bytes: &mut [u8], bit: u64) {
    let bit = bit % (bytes.len() as u64 * 8);
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
}

/// A structure of `length` bytes, built from the fields of a table, with its checksum at `checksum_at`.
pub(super) fn by_hand(length: usize, checksum_at: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for &(at, field) in fields {
        bytes[at..at + field.len()].copy_from_slice(field);
    }
    let checksum = crc32c(&bytes);
    bytes[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}
