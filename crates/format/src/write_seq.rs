//! Write sequence numbers: the order of the versions of a chunk.

/// The number of bits of the sequence within an epoch.
const SEQUENCE_BITS: u32 = 40;

/// Epochs are below this number.
pub const EPOCHS_MAX: u32 = 1 << (u64::BITS - SEQUENCE_BITS);

/// Sequences of an epoch are below this number.
pub const SEQUENCES_MAX: u64 = 1 << SEQUENCE_BITS;

/// Versions and the numbers of updates, batches, records and checkpoints are below this number.
pub const NUMBERS_MAX: u64 = 1 << 62;

/// A writer starts with numbers below this one. So there is always a next number: no program uses up the other half.
pub const NUMBERS_BEGIN_MAX: u64 = NUMBERS_MAX / 2;

/// A writer starts with generations of segments below this number, for the same reason.
pub const GENERATIONS_BEGIN_MAX: u32 = 1 << 31;

/// The write sequence number of the `sequence`-th write of `epoch`. Write sequence numbers compare like that pair.
///
/// # Panics
/// The epoch is not below [`EPOCHS_MAX`], or the sequence is not below [`SEQUENCES_MAX`].
#[inline]
pub fn write_seq(epoch: u32, sequence: u64) -> u64 {
    assert!(
        epoch < EPOCHS_MAX && sequence < SEQUENCES_MAX,
        "an epoch ends before its write sequence numbers are exhausted"
    );
    u64::from(epoch) << SEQUENCE_BITS | sequence
}

/// The epoch of a write sequence number.
#[inline]
pub fn epoch_of(write_seq: u64) -> u32 {
    (write_seq >> SEQUENCE_BITS) as u32
}

/// The sequence of a write sequence number in its epoch.
#[inline]
pub fn sequence_of(write_seq: u64) -> u64 {
    write_seq & (SEQUENCES_MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn write_seqs_compare_as_epoch_and_sequence_do(
            one in (0..EPOCHS_MAX, 0..SEQUENCES_MAX),
            other in (0..EPOCHS_MAX, 0..SEQUENCES_MAX),
        ) {
            prop_assert_eq!(write_seq(one.0, one.1).cmp(&write_seq(other.0, other.1)), one.cmp(&other));
            prop_assert_eq!((epoch_of(write_seq(one.0, one.1)), sequence_of(write_seq(one.0, one.1))), one);
        }
    }

    #[test]
    fn the_epoch_is_the_upper_24_bits() {
        assert_eq!(write_seq(3, 5), 0x0000_0300_0000_0005);
    }
}
