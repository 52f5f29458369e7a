//! What the tests of the structures share.

use super::{Uuid, crc32c};
use proptest::prelude::*;

/// Any identifier.
pub(super) fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid)
}

/// Any size of pages that the format has.
pub(super) fn page_bytes() -> impl Strategy<Value = usize> {
    (9u32..16).prop_map(|bits| 1 << bits)
}

/// Flips one bit, that which a number of any size comes to.
pub(super) fn flip(bytes: &mut [u8], bit: u64) {
    let bit = bit % (bytes.len() as u64 * 8);
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
}

/// A structure of `length` bytes, put together from its fields as a table tells them, with its checksum at `checksum_at`.
pub(super) fn by_hand(length: usize, checksum_at: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for &(at, field) in fields {
        bytes[at..at + field.len()].copy_from_slice(field);
    }
    let checksum = crc32c(&bytes);
    bytes[checksum_at..checksum_at + 4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}
