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

/// The tests of a structure that one type encodes and parses. Values are of the strategy `$values`, and the bytes that they are
/// written over have a length of the strategy `$lengths`.
macro_rules! structure_tests {
    ($type:ident, $values:expr, $lengths:expr) => {
        proptest! {
            #[test]
            fn written_data_is_read(value in $values, length in $lengths) {
                let mut bytes = vec![0xa5; length];
                value.encode(&mut bytes);
                prop_assert_eq!($type::parse(&bytes), Ok(value));
            }

            #[test]
            fn a_flipped_bit_is_an_error(value in $values, length in $lengths, bit in any::<u64>()) {
                let mut bytes = vec![0; length];
                value.encode(&mut bytes);
                flip(&mut bytes, bit);
                prop_assert!($type::parse(&bytes).is_err());
            }

            #[test]
            fn a_missing_end_is_an_error(value in $values, length in $lengths, left in any::<prop::sample::Index>()) {
                let mut bytes = vec![0; length];
                value.encode(&mut bytes);
                prop_assert!($type::parse(&bytes[..left.index(length)]).is_err());
            }

            #[test]
            fn whatever_bytes_there_are_it_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
                prop_assert!($type::parse(&bytes).is_err());
            }
        }

        /// Checks that `bytes` are parsed as `value`, and `value` is encoded as `bytes`.
        fn assert_encoding(bytes: &[u8], value: &$type) {
            assert_eq!($type::parse(bytes).as_ref(), Ok(value));
            let mut written = vec![0; bytes.len()];
            value.encode(&mut written);
            assert_eq!(written, bytes);
        }
    };
}
pub(super) use structure_tests;
