//! Checkpoints: a header of one page, and a body that records which segments are in use and which chunks were written.

use serde::Serialize;

use super::fields::{Frame, put, u32_at, u64_at, uuid_at};
use super::write_seq::{EPOCHS_MAX, NUMBERS_MAX};
use super::{FormatError, Structure, Uuid, crc32c};

/// Bytes per segment in the body.
const SEGMENT_BYTES: usize = 16;

/// The header of a checkpoint: one page before the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointHeader {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the checkpoint was written.
    pub epoch: u32,
    /// The number of the checkpoint; its slot is the number mod 2.
    pub number: u64,
    /// The last batch that the checkpoint covers.
    pub horizon: u64,
    /// The greatest write sequence number that the checkpoint covers.
    pub write_seq: u64,
    /// The length of the body in bytes.
    pub body_bytes: u64,
    /// The body's checksum.
    pub body_checksum: u32,
    /// The number of segments of the array.
    pub segments: u32,
    /// The number of chunks of the array.
    pub chunks: u64,
}

/// The entry of a segment in the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SegmentEntry {
    /// How often the segment was opened.
    pub generation: u32,
    /// The number of slots in use up to the horizon; 0 if the segment is free.
    pub used: u32,
    /// The number of the last batch in the segment.
    pub last_batch: u64,
}

const FRAME: Frame =
    Frame { structure: Structure::Checkpoint, magic: *b"SWCHKPNT", bytes_min: 80, checksum_at: 28 };

/// The length of a body for this number of segments and chunks, in bytes.
pub const fn body_bytes(segments: u32, chunks: u64) -> u64 {
    segments as u64 * SEGMENT_BYTES as u64 + chunks.div_ceil(8)
}

impl CheckpointHeader {
    /// Writes the header over the page `into`.
    ///
    /// # Panics
    /// The page is shorter than a header.
    pub fn encode(&self, into: &mut [u8]) {
        FRAME.begin(into);
        put(into, 8, &self.array.0);
        put(into, 24, &self.epoch.to_le_bytes());
        put(into, 32, &self.number.to_le_bytes());
        put(into, 40, &self.horizon.to_le_bytes());
        put(into, 48, &self.write_seq.to_le_bytes());
        put(into, 56, &self.body_bytes.to_le_bytes());
        put(into, 64, &self.body_checksum.to_le_bytes());
        put(into, 68, &self.segments.to_le_bytes());
        put(into, 72, &self.chunks.to_le_bytes());
        FRAME.seal(into);
    }

    /// Parses the header in a whole page. The length of the body must match its segments and chunks. Whether these are the
    /// array's own numbers, only the superblock can show.
    ///
    /// # Errors
    /// The page holds no header.
    pub fn parse(page: &[u8]) -> Result<Self, FormatError> {
        FRAME.check(page)?;
        let header = Self {
            array: uuid_at(page, 8),
            epoch: u32_at(page, 24),
            number: u64_at(page, 32),
            horizon: u64_at(page, 40),
            write_seq: u64_at(page, 48),
            body_bytes: u64_at(page, 56),
            body_checksum: u32_at(page, 64),
            segments: u32_at(page, 68),
            chunks: u64_at(page, 72),
        };
        FRAME.expect(header.epoch < EPOCHS_MAX, "epoch", header.epoch, "24 bits")?;
        let greatest = header.number.max(header.horizon);
        FRAME.expect(greatest < NUMBERS_MAX, "number or horizon", greatest, "62 bits")?;
        FRAME.expect(
            header.body_bytes == body_bytes(header.segments, header.chunks),
            "bytes of the body",
            header.body_bytes,
            "16 for each segment and a bit for each chunk",
        )?;
        Ok(header)
    }

    /// Checks that `body` belongs to this header.
    ///
    /// # Errors
    /// The length or the checksum differs.
    pub fn check_body(&self, body: &[u8]) -> Result<(), FormatError> {
        let structure = Structure::CheckpointBody;
        if body.len() as u64 != self.body_bytes {
            return Err(FormatError::Length {
                structure,
                expected: self.body_bytes,
                found: body.len() as u64,
            });
        }
        let computed = crc32c(body);
        if computed != self.body_checksum {
            return Err(FormatError::Checksum { structure, stored: self.body_checksum, computed });
        }
        Ok(())
    }
}

/// The entry of `segment` in a body.
///
/// # Panics
/// The body is too short.
pub fn segment(body: &[u8], segment: u32) -> SegmentEntry {
    let at = segment as usize * SEGMENT_BYTES;
    SegmentEntry {
        generation: u32_at(body, at),
        used: u32_at(body, at + 4),
        last_batch: u64_at(body, at + 8),
    }
}

/// Stores the entry of `segment` in a body.
///
/// # Panics
/// The body is too short.
pub fn put_segment(body: &mut [u8], segment: u32, entry: SegmentEntry) {
    let at = segment as usize * SEGMENT_BYTES;
    put(body, at, &entry.generation.to_le_bytes());
    put(body, at + 4, &entry.used.to_le_bytes());
    put(body, at + 8, &entry.last_batch.to_le_bytes());
}

/// Whether `chunk` was written and not trimmed since, by a body for `segments` segments.
///
/// # Panics
/// The body is too short.
pub fn is_written(body: &[u8], segments: u32, chunk: u64) -> bool {
    let (at, bit) = bit_of(segments, chunk);
    body[at] & bit != 0
}

/// Stores whether `chunk` was written, in a body for `segments` segments.
///
/// # Panics
/// The body is too short.
pub fn put_written(body: &mut [u8], segments: u32, chunk: u64, written: bool) {
    let (at, bit) = bit_of(segments, chunk);
    if written {
        body[at] |= bit;
    } else {
        body[at] &= !bit;
    }
}

/// Stores which chunks were written, in a body for `segments` segments. `written` has one bit for each chunk, starting at
/// the lowest bit of the first byte.
///
/// # Panics
/// The body is too short.
pub fn put_all_written(body: &mut [u8], segments: u32, written: &[u8]) {
    put(body, segments as usize * SEGMENT_BYTES, written);
}

/// The byte of a chunk, and the chunk's bit in that byte.
fn bit_of(segments: u32, chunk: u64) -> (usize, u8) {
    (segments as usize * SEGMENT_BYTES + (chunk / 8) as usize, 1 << (chunk % 8))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, structure_tests, uuid};
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn header()(
            array in uuid(),
            epoch in 0..EPOCHS_MAX,
            (number, horizon, write_seq) in (0..NUMBERS_MAX, 0..NUMBERS_MAX, any::<u64>()),
            body_checksum in any::<u32>(),
            segments in any::<u32>(),
            chunks in any::<u64>(),
        ) -> CheckpointHeader {
            let body_bytes = body_bytes(segments, chunks);
            CheckpointHeader {
                array, epoch, number, horizon, write_seq, body_bytes, body_checksum, segments, chunks,
            }
        }
    }

    fn entry() -> impl Strategy<Value = SegmentEntry> {
        any::<(u32, u32, u64)>().prop_map(|(generation, used, last_batch)| SegmentEntry {
            generation,
            used,
            last_batch,
        })
    }

    structure_tests!(CheckpointHeader, header(), page_bytes());

    proptest! {
        #[test]
        fn a_body_keeps_what_is_put_into_it(
            entries in prop::collection::vec(entry(), 1..40),
            written in prop::collection::vec(any::<bool>(), 1..200),
            fill in any::<u8>(),
        ) {
            let (segments, chunks) = (entries.len() as u32, written.len() as u64);
            let mut body = vec![fill; body_bytes(segments, chunks) as usize];
            for (&entry, nth) in entries.iter().zip(0..) {
                put_segment(&mut body, nth, entry);
            }
            for (&bit, chunk) in written.iter().zip(0..) {
                put_written(&mut body, segments, chunk, bit);
            }
            prop_assert!(entries.iter().zip(0..).all(|(&entry, nth)| segment(&body, nth) == entry));
            prop_assert!(written.iter().zip(0..).all(|(&bit, chunk)| is_written(&body, segments, chunk) == bit));
        }

        #[test]
        fn a_body_with_a_flipped_bit_is_not_that_of_its_header(
            mut body in prop::collection::vec(any::<u8>(), 1..500),
            bit in any::<u64>(),
        ) {
            let header = CheckpointHeader {
                array: Uuid::default(), epoch: 1, number: 1, horizon: 0, write_seq: 0,
                body_bytes: body.len() as u64, body_checksum: crc32c(&body), segments: 0, chunks: 0,
            };
            prop_assert_eq!(header.check_body(&body), Ok(()));
            flip(&mut body, bit);
            prop_assert!(header.check_body(&body).is_err());
            prop_assert!(header.check_body(&body[1..]).is_err());
        }
    }

    #[test]
    fn a_header_that_was_made_from_the_table_is_read() {
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWCHKPNT"),
                (8, &[9; 16]),
                (24, &[4, 0, 0, 0]),
                (32, &[6, 0, 0, 0, 0, 0, 0, 0]),
                (40, &[0, 1, 0, 0, 0, 0, 0, 0]),
                (48, &[5, 0, 0, 0, 0, 4, 0, 0]),
                (56, &[35, 0, 0, 0, 0, 0, 0, 0]),
                (64, &[0xef, 0xbe, 0xad, 0xde]),
                (68, &[2, 0, 0, 0]),
                (72, &[17, 0, 0, 0, 0, 0, 0, 0]),
            ],
        );
        let header = CheckpointHeader {
            array: Uuid([9; 16]),
            epoch: 4,
            number: 6,
            horizon: 256,
            write_seq: super::super::write_seq(4, 5),
            body_bytes: 2 * 16 + 3,
            body_checksum: 0xdead_beef,
            segments: 2,
            chunks: 17,
        };
        assert_encoding(&page, &header);
    }

    #[test]
    fn a_body_that_was_made_from_its_description_is_read() {
        let mut body = vec![0; 35];
        body[16..32].copy_from_slice(&[2, 0, 0, 0, 5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        body[32..].copy_from_slice(&[0b0000_0010, 0, 1]);
        assert_eq!(segment(&body, 0), SegmentEntry::default());
        assert_eq!(segment(&body, 1), SegmentEntry { generation: 2, used: 5, last_batch: 256 });
        let written: Vec<u64> = (0..17).filter(|&chunk| is_written(&body, 2, chunk)).collect();
        assert_eq!(written, [1, 16]);
    }

    #[test]
    fn a_body_whose_length_is_not_that_of_its_contents_is_refused() {
        let mut page = vec![0; 512];
        let header = CheckpointHeader {
            array: Uuid::default(),
            epoch: 1,
            number: 1,
            horizon: 0,
            write_seq: 0,
            body_bytes: 1 << 60,
            body_checksum: 0,
            segments: 2,
            chunks: 17,
        };
        header.encode(&mut page);
        let error = CheckpointHeader::parse(&page).expect_err("2 segments and 17 chunks take 35 bytes");
        assert_eq!(
            error.to_string(),
            "checkpoint: bytes of the body is 1152921504606846976; expected 16 for each segment and a bit for each chunk"
        );
    }
}
