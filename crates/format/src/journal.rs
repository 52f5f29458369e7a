//! A record of the redo journal: the pages that an update writes in place, recorded before they are written.

use stripewise_core::ids::MemberNo;

use super::fields::{Frame, put, u16_at, u32_at, u64_at, uuid_at};
use super::write_seq::NUMBERS_MAX;
use super::{FormatError, Structure, Uuid};

/// Bytes of a header before its entries.
const HEAD_BYTES: usize = 80;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 12;

/// The smallest number of entries that a record has room for.
const ENTRIES_MIN: u32 = 32;

/// How a header begins.
pub const REDO_MAGIC: [u8; 8] = *b"SWREDO\0\0";

/// The effect of a record on a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RedoKind {
    /// The page takes the content of its image.
    #[default]
    Image,
    /// It becomes zeros.
    Zeros,
    /// The member is missing: parity alone has the page's content.
    Missing,
    /// The parity of the page is deferred and covers the content of the image; the page's new content is in the same
    /// record.
    Before,
}

impl RedoKind {
    /// Whether an image follows the header.
    pub fn has_image(self) -> bool {
        matches!(self, Self::Image | Self::Before)
    }
}

/// A page that an update writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedoEntry {
    /// The page, counted from the first of the data.
    pub page: u32,
    /// CRC-32C of the new content, or of the content before it.
    pub checksum: u32,
    /// The member.
    pub member: MemberNo,
    /// The effect on the page.
    pub kind: RedoKind,
    /// Whether the first 8 bytes of the image are replaced by zeros, because the page begins like the header of a record.
    pub is_masked: bool,
}

/// The header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedoRecord {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the record was written.
    pub epoch: u32,
    /// The number of the record; each epoch starts at 1.
    pub number: u64,
    /// The first record that must be replayed.
    pub tail: u64,
    /// Members that were missing, one bit each.
    pub missing: u64,
    /// The page of the ring at which the record begins.
    pub first: u32,
    /// The pages of the record.
    pub entries: Vec<RedoEntry>,
}

const FRAME: Frame =
    Frame { structure: Structure::Journal, magic: REDO_MAGIC, bytes_min: HEAD_BYTES, checksum_at: 28 };

/// The largest number of entries of a record in an array with groups of `columns`.
pub const fn redo_entries_max(columns: u32) -> u32 {
    if columns > ENTRIES_MIN { columns } else { ENTRIES_MIN }
}

/// Pages of a header in an array with groups of `columns`.
pub const fn redo_header_pages(columns: u32, page_bytes: u32) -> u32 {
    (HEAD_BYTES as u32 + redo_entries_max(columns) * ENTRY_BYTES as u32).div_ceil(page_bytes)
}

impl RedoRecord {
    /// The number of images after the header.
    pub fn images(&self) -> u32 {
        self.entries.iter().filter(|entry| entry.kind.has_image()).count() as u32
    }

    /// Writes the header over `into`, which has all pages of a header.
    ///
    /// # Panics
    /// The pages have no room for the entries.
    pub fn encode(&self, into: &mut [u8]) {
        FRAME.begin(into);
        put(into, 8, &self.array.0);
        put(into, 24, &self.epoch.to_le_bytes());
        put(into, 32, &self.number.to_le_bytes());
        put(into, 40, &self.tail.to_le_bytes());
        put(into, 48, &self.missing.to_le_bytes());
        put(into, 56, &self.first.to_le_bytes());
        put(into, 60, &(self.entries.len() as u16).to_le_bytes());
        for (entry, at) in self.entries.iter().zip((HEAD_BYTES..).step_by(ENTRY_BYTES)) {
            put(into, at, &entry.page.to_le_bytes());
            put(into, at + 4, &entry.checksum.to_le_bytes());
            put(into, at + 8, &entry.member.number().to_le_bytes());
            put(into, at + 10, &[entry.kind as u8, u8::from(entry.is_masked)]);
        }
        FRAME.seal(into);
    }

    /// Parses the header in all of its pages.
    ///
    /// # Errors
    /// The pages hold no header.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        FRAME.check(bytes)?;
        let count = u16_at(bytes, 60);
        let room = (bytes.len() - HEAD_BYTES) / ENTRY_BYTES;
        FRAME.expect(usize::from(count) <= room, "entries", count, "as many as the header has room for")?;
        let (number, tail) = (u64_at(bytes, 32), u64_at(bytes, 40));
        FRAME.expect((1..NUMBERS_MAX).contains(&number), "number", number, "1 or more, of 62 bits")?;
        FRAME.expect((1..=number).contains(&tail), "tail", tail, "1 up to the number of the record")?;
        let entries = bytes[HEAD_BYTES..].chunks_exact(ENTRY_BYTES).take(count.into()).map(entry);
        Ok(Self {
            array: uuid_at(bytes, 8),
            epoch: u32_at(bytes, 24),
            number,
            tail,
            missing: u64_at(bytes, 48),
            first: u32_at(bytes, 56),
            entries: entries.collect::<Result<_, _>>()?,
        })
    }
}

fn entry(bytes: &[u8]) -> Result<RedoEntry, FormatError> {
    let (kind, masked) = (bytes[10], bytes[11]);
    FRAME.expect(masked <= 1, "mark of an image that begins like a header", masked, "0 or 1")?;
    let kind = match kind {
        0 => RedoKind::Image,
        1 => RedoKind::Zeros,
        2 => RedoKind::Missing,
        3 => RedoKind::Before,
        _ => {
            FRAME.expect(false, "kind of an entry", kind, "0 to 3")?;
            RedoKind::Image
        }
    };
    FRAME.expect(masked == 0 || kind.has_image(), "mark of an image that there is none of", masked, "0")?;
    Ok(RedoEntry {
        page: u32_at(bytes, 0),
        checksum: u32_at(bytes, 4),
        member: MemberNo::new(u16_at(bytes, 8)),
        kind,
        is_masked: masked == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, structure_tests, uuid};
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = RedoEntry> {
        let kinds = [RedoKind::Image, RedoKind::Zeros, RedoKind::Missing, RedoKind::Before];
        (any::<[u32; 2]>(), any::<u16>(), prop::sample::select(kinds.to_vec()), any::<bool>()).prop_map(
            |([page, checksum], member, kind, begins)| RedoEntry {
                page,
                checksum,
                member: MemberNo::new(member),
                kind,
                is_masked: begins && kind.has_image(),
            },
        )
    }

    fn record() -> impl Strategy<Value = RedoRecord> {
        let entries = prop::collection::vec(entry(), 0..=32);
        let numbers = (1..NUMBERS_MAX).prop_flat_map(|number| (Just(number), 1..=number));
        (uuid(), any::<u32>(), numbers, any::<u64>(), any::<u32>(), entries).prop_map(
            |(array, epoch, (number, tail), missing, first, entries)| RedoRecord {
                array,
                epoch,
                number,
                tail,
                missing,
                first,
                entries,
            },
        )
    }

    fn header_bytes(page_bytes: usize) -> usize {
        redo_header_pages(4, page_bytes as u32) as usize * page_bytes
    }

    structure_tests!(RedoRecord, record(), page_bytes().prop_map(header_bytes));

    proptest! {
        /// The header has a right checksum, but its content is arbitrary.
        #[test]
        fn whatever_it_says_it_does_not_panic(record in record(), at in 0..80usize, byte in any::<u8>()) {
            let mut header = vec![0; 512];
            record.encode(&mut header);
            header[at] = byte;
            FRAME.seal(&mut header);
            let _ = RedoRecord::parse(&header);
        }
    }

    #[test]
    fn a_record_that_was_made_from_the_table_is_read() {
        let page = by_hand(
            512,
            28,
            &[
                (0, b"SWREDO\0\0"),
                (8, &[7; 16]),
                (24, &[3, 0, 0, 0]),
                (32, &[9, 0, 0, 0, 0, 0, 0, 0]),
                (40, &[4, 0, 0, 0, 0, 0, 0, 0]),
                (48, &[2, 0, 0, 0, 0, 0, 0, 0]),
                (56, &[0x10, 1, 0, 0]),
                (60, &[2, 0]),
                (80, &[5, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 3, 0, 0, 1]),
                (92, &[5, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 1, 0, 2, 0]),
            ],
        );
        let entries = vec![
            RedoEntry {
                page: 5,
                checksum: 0x1122_3344,
                member: MemberNo::new(3),
                kind: RedoKind::Image,
                is_masked: true,
            },
            RedoEntry {
                page: 5,
                checksum: 0x5566_7788,
                member: MemberNo::new(1),
                kind: RedoKind::Missing,
                is_masked: false,
            },
        ];
        let record = RedoRecord {
            array: Uuid([7; 16]),
            epoch: 3,
            number: 9,
            tail: 4,
            missing: 2,
            first: 272,
            entries,
        };
        assert_encoding(&page, &record);
    }

    #[test]
    fn a_header_takes_a_page_of_4_kib_and_more_of_smaller_ones() {
        assert_eq!((redo_header_pages(5, 4096), redo_header_pages(5, 512)), (1, 1));
        // 80 bytes and 64 entries of 12.
        assert_eq!((redo_header_pages(64, 4096), redo_header_pages(64, 512)), (1, 2));
    }
}
