//! The commit record: which part of the log is durable.

use serde::Serialize;

use super::fields::{Frame, put, u32_at, u64_at, uuid_at};
use super::write_seq::{EPOCHS_MAX, NUMBERS_MAX};
use super::{FormatError, Structure, Uuid};

/// The record that a flush writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the record was written.
    pub epoch: u32,
    /// The number of the record; it also determines the record's place in the ring.
    pub number: u64,
    /// The durable horizon: all batches up to this one are durable.
    pub horizon: u64,
    /// The newest checkpoint that was durable; 0 in records of programs that did not store it.
    pub checkpoint: u64,
}

const FRAME: Frame =
    Frame { structure: Structure::Commit, magic: *b"SWCOMMIT", bytes_min: 56, checksum_at: 28 };

impl Commit {
    /// Writes the record over the page `into`.
    ///
    /// # Panics
    /// The page is shorter than a record.
    pub fn encode(&self, into: &mut [u8]) {
        FRAME.begin(into);
        put(into, 8, &self.array.0);
        put(into, 24, &self.epoch.to_le_bytes());
        put(into, 32, &self.number.to_le_bytes());
        put(into, 40, &self.horizon.to_le_bytes());
        put(into, 48, &self.checkpoint.to_le_bytes());
        FRAME.seal(into);
    }

    /// Parses the record in a whole page.
    ///
    /// # Errors
    /// The page holds no record.
    pub fn parse(page: &[u8]) -> Result<Self, FormatError> {
        FRAME.check(page)?;
        let epoch = u32_at(page, 24);
        FRAME.expect(epoch < EPOCHS_MAX, "epoch", epoch, "24 bits")?;
        let [number, horizon, checkpoint] = [32, 40, 48].map(|at| u64_at(page, at));
        let greatest = number.max(horizon).max(checkpoint);
        FRAME.expect(greatest < NUMBERS_MAX, "number, horizon or checkpoint", greatest, "62 bits")?;
        Ok(Self { array: uuid_at(page, 8), epoch, number, horizon, checkpoint })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, structure_tests, uuid};
    use super::*;
    use proptest::prelude::*;

    fn commit() -> impl Strategy<Value = Commit> {
        (uuid(), 0..EPOCHS_MAX, [0..NUMBERS_MAX, 0..NUMBERS_MAX, 0..NUMBERS_MAX]).prop_map(
            |(array, epoch, [number, horizon, checkpoint])| Commit {
                array,
                epoch,
                number,
                horizon,
                checkpoint,
            },
        )
    }

    structure_tests!(Commit, commit(), page_bytes());

    #[test]
    fn a_record_that_was_made_from_the_table_is_read() {
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWCOMMIT"),
                (8, &[7; 16]),
                (24, &[3, 0, 0, 0]),
                (32, &[0x11, 0x22, 0, 0, 0, 0, 0, 0]),
                (40, &[0x40, 0x30, 0x20, 0x10, 0, 0, 0, 0]),
                (48, &[0x55, 0x66, 0, 0, 0, 0, 0, 0]),
            ],
        );
        let commit = Commit {
            array: Uuid([7; 16]),
            epoch: 3,
            number: 0x2211,
            horizon: 0x1020_3040,
            checkpoint: 0x6655,
        };
        assert_encoding(&page, &commit);
    }
}
