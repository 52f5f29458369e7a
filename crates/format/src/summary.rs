//! The summary of a batch: it describes the batch's slots; the chunks themselves are stored elsewhere.

use serde::Serialize;

use super::fields::{Frame, put, u16_at, u32_at, u64_at, uuid_at};
use super::write_seq::{EPOCHS_MAX, NUMBERS_MAX};
use super::{FormatError, Structure, Uuid};

/// Bytes before the entries.
const HEADER_BYTES: usize = 96;

/// Bytes of an entry, and of a tombstone.
const ENTRY_BYTES: usize = 24;

/// The bit in an entry's kind that marks the first slot of a stripe.
const FIRST_BIT: u8 = 128;

/// The part of a summary that describes the batch as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryHeader {
    /// The array.
    pub array: Uuid,
    /// The epoch in which the summary was written.
    pub epoch: u32,
    /// The number of the batch.
    pub batch: u64,
    /// The segment.
    pub segment: u32,
    /// The generation of the segment.
    pub generation: u32,
    /// The first slot of the batch in its segment.
    pub first: u32,
    /// The slot after the last slot of the batch.
    pub end: u32,
    /// Members of the group that took part: bit i represents member i.
    pub members: u64,
    /// The durable horizon when the summary was written.
    pub horizon: u64,
    /// The stream that the batch belongs to.
    pub stream: u16,
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryRole {
    /// Nothing: the slot was skipped, because its member is missing.
    Skipped,
    /// A chunk of data.
    Data,
    /// The first parity of its stripe.
    P,
    /// The second parity of its stripe.
    Q,
    /// A copy of this summary.
    Copy,
    /// Nothing valid: the write of the slot failed.
    Vain,
}

impl EntryRole {
    const ALL: [Self; 6] = [Self::Skipped, Self::Data, Self::P, Self::Q, Self::Copy, Self::Vain];
}

/// The part of a summary that describes one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The content of the slot.
    pub role: EntryRole,
    /// Whether a stripe begins here.
    pub is_first: bool,
    /// Data: the chunk's address in the array, in pages.
    pub chunk: u64,
    /// Data: the chunk's write sequence number.
    pub write_seq: u64,
    /// Data and parity: the page's checksum.
    pub checksum: u32,
}

/// Chunks that a host trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tombstone {
    /// The first address, in pages.
    pub first: u64,
    /// The write sequence number of the trim.
    pub write_seq: u64,
    /// The number of chunks.
    pub chunks: u32,
}

const FRAME: Frame =
    Frame { structure: Structure::Summary, magic: *b"SWSUMMRY", bytes_min: HEADER_BYTES, checksum_at: 28 };

/// The number of entries and tombstones, together, that a page holds.
pub const fn room(page_bytes: u32) -> u32 {
    page_bytes.saturating_sub(HEADER_BYTES as u32) / ENTRY_BYTES as u32
}

/// Writes a summary over the page `into`. `entries` describe the slots from `header.first` to `header.end`, in order.
///
/// # Panics
/// The number of entries is not the number of slots, or the page has no room for all.
pub fn encode(
    header: &SummaryHeader,
    entries: impl Iterator<Item = Entry>,
    tombstones: &[Tombstone],
    into: &mut [u8],
) {
    FRAME.begin(into);
    put(into, 8, &header.array.0);
    put(into, 24, &header.epoch.to_le_bytes());
    put(into, 32, &header.batch.to_le_bytes());
    put(into, 40, &header.segment.to_le_bytes());
    put(into, 44, &header.generation.to_le_bytes());
    put(into, 48, &header.first.to_le_bytes());
    put(into, 52, &header.end.to_le_bytes());
    put(into, 56, &header.members.to_le_bytes());
    put(into, 64, &header.horizon.to_le_bytes());
    put(into, 72, &(tombstones.len() as u32).to_le_bytes());
    put(into, 76, &header.stream.to_le_bytes());
    let mut at = HEADER_BYTES;
    for entry in entries {
        put(into, at, &entry.chunk.to_le_bytes());
        put(into, at + 8, &entry.write_seq.to_le_bytes());
        put(into, at + 16, &entry.checksum.to_le_bytes());
        into[at + 20] = entry.role as u8 | if entry.is_first { FIRST_BIT } else { 0 };
        at += ENTRY_BYTES;
    }
    let slots = (header.end - header.first) as usize;
    assert_eq!(at, HEADER_BYTES + slots * ENTRY_BYTES, "a summary has an entry for each slot");
    for tombstone in tombstones {
        put(into, at, &tombstone.first.to_le_bytes());
        put(into, at + 8, &tombstone.write_seq.to_le_bytes());
        put(into, at + 16, &tombstone.chunks.to_le_bytes());
        at += ENTRY_BYTES;
    }
    FRAME.seal(into);
}

/// A summary in its page. Parsing has checked all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// The part that describes the batch as a whole.
    pub header: SummaryHeader,
    entries: &'a [[u8; ENTRY_BYTES]],
    tombstones: &'a [[u8; ENTRY_BYTES]],
}

impl<'a> Summary<'a> {
    /// Parses the summary in a whole page.
    ///
    /// # Errors
    /// The page holds no summary.
    pub fn parse(page: &'a [u8]) -> Result<Self, FormatError> {
        FRAME.check(page)?;
        let header = SummaryHeader {
            array: uuid_at(page, 8),
            epoch: u32_at(page, 24),
            batch: u64_at(page, 32),
            segment: u32_at(page, 40),
            generation: u32_at(page, 44),
            first: u32_at(page, 48),
            end: u32_at(page, 52),
            members: u64_at(page, 56),
            horizon: u64_at(page, 64),
            stream: u16_at(page, 76),
        };
        let (slots, tombstones) = (header.end.saturating_sub(header.first), u32_at(page, 72));
        let (records, _) = page[HEADER_BYTES..].as_chunks();
        let fits = u64::from(slots) + u64::from(tombstones) <= records.len() as u64;
        FRAME.expect(header.epoch < EPOCHS_MAX, "epoch", header.epoch, "24 bits")?;
        FRAME.expect(header.batch < NUMBERS_MAX, "number of the batch", header.batch, "62 bits")?;
        FRAME.expect(slots > 0, "slot behind the last", header.end, "more than the first slot")?;
        FRAME.expect(fits, "tombstones", tombstones, "as many as fit into the page behind its entries")?;
        let (entries, rest) = records.split_at(slots as usize);
        let tombstones = &rest[..tombstones as usize];
        for entry in entries {
            let kind = entry[20];
            let is_known = usize::from(kind & !FIRST_BIT) < EntryRole::ALL.len();
            FRAME.expect(is_known, "kind of an entry", kind, "0 to 5, or 128 more")?;
        }
        for tombstone in tombstones.iter().map(tombstone) {
            let ends = tombstone.chunks > 0 && tombstone.first.checked_add(tombstone.chunks.into()).is_some();
            FRAME.expect(
                ends,
                "chunks of a tombstone",
                tombstone.chunks,
                "1 or more, of 64-bit addresses",
            )?;
        }
        Ok(Self { header, entries, tombstones })
    }

    /// The entries of the slots of the batch, in order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry> + DoubleEndedIterator + Clone + use<'a> {
        self.entries.iter().map(|bytes| Entry {
            role: EntryRole::ALL[usize::from(bytes[20] & !FIRST_BIT)],
            is_first: bytes[20] & FIRST_BIT != 0,
            chunk: u64_at(bytes, 0),
            write_seq: u64_at(bytes, 8),
            checksum: u32_at(bytes, 16),
        })
    }

    /// The tombstones of the summary.
    pub fn tombstones(&self) -> impl ExactSizeIterator<Item = Tombstone> + Clone + use<'a> {
        self.tombstones.iter().map(tombstone)
    }
}

fn tombstone(bytes: &[u8; ENTRY_BYTES]) -> Tombstone {
    Tombstone { first: u64_at(bytes, 0), write_seq: u64_at(bytes, 8), chunks: u32_at(bytes, 16) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{by_hand, flip, page_bytes, uuid};
    use super::*;
    use proptest::prelude::*;

    /// A summary with everything that a page holds.
    #[derive(Clone, Debug, PartialEq)]
    struct Whole {
        header: SummaryHeader,
        entries: Vec<Entry>,
        tombstones: Vec<Tombstone>,
    }

    impl Whole {
        fn written(&self, page_bytes: usize) -> Vec<u8> {
            let mut page = vec![0xa5; page_bytes];
            encode(&self.header, self.entries.iter().copied(), &self.tombstones, &mut page);
            page
        }
    }

    impl From<Summary<'_>> for Whole {
        fn from(read: Summary<'_>) -> Self {
            Self {
                header: read.header,
                entries: read.entries().collect(),
                tombstones: read.tombstones().collect(),
            }
        }
    }

    fn entry() -> impl Strategy<Value = Entry> {
        (prop::sample::select(&EntryRole::ALL), any::<(bool, u64, u64, u32)>()).prop_map(
            |(role, (is_first, chunk, write_seq, checksum))| Entry {
                role,
                is_first,
                chunk,
                write_seq,
                checksum,
            },
        )
    }

    fn tombstone() -> impl Strategy<Value = Tombstone> {
        (0..u64::MAX - u64::from(u32::MAX), any::<u64>(), 1..=u32::MAX)
            .prop_map(|(first, write_seq, chunks)| Tombstone { first, write_seq, chunks })
    }

    prop_compose! {
        /// A summary that has room in a page of this size, and often takes all of it.
        fn whole(page_bytes: usize)(
            entries in prop::collection::vec(entry(), 1..=room(page_bytes as u32) as usize),
        )(
            tombstones in prop::collection::vec(tombstone(), 0..=room(page_bytes as u32) as usize - entries.len()),
            entries in Just(entries),
            array in uuid(),
            epoch in 0..EPOCHS_MAX,
            (batch, members, horizon) in (0..NUMBERS_MAX, any::<u64>(), any::<u64>()),
            (segment, generation, stream) in any::<(u32, u32, u16)>(),
            first in 0..u32::MAX - 10_000,
        ) -> Whole {
            let end = first + entries.len() as u32;
            let header = SummaryHeader {
                array, epoch, batch, segment, generation, first, end, members, horizon, stream,
            };
            Whole { header, entries, tombstones }
        }
    }

    proptest! {
        #[test]
        fn written_data_is_read((bytes, whole) in page_bytes().prop_flat_map(|b| (Just(b), whole(b)))) {
            let page = whole.written(bytes);
            prop_assert_eq!(Whole::from(Summary::parse(&page).expect("it was written whole")), whole);
        }

        #[test]
        fn a_flipped_bit_is_an_error(whole in whole(512), bit in any::<u64>()) {
            let mut page = whole.written(512);
            flip(&mut page, bit);
            prop_assert!(Summary::parse(&page).is_err());
        }

        #[test]
        fn whatever_bytes_there_are_it_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(Summary::parse(&bytes).is_err());
        }

        /// The page has a right checksum, but its content is arbitrary.
        #[test]
        fn whatever_it_says_it_does_not_panic(whole in whole(512), damage in any::<(u8, u32)>()) {
            let mut page = whole.written(512);
            let at = 32 + usize::from(damage.0) % 470;
            put(&mut page, at, &damage.1.to_le_bytes());
            FRAME.seal(&mut page);
            if let Ok(read) = Summary::parse(&page) {
                let read = Whole::from(read);
                let again = read.written(512);
                prop_assert_eq!(Whole::from(Summary::parse(&again).expect("it was written whole")), read);
            }
        }
    }

    #[test]
    fn a_summary_that_was_made_from_the_table_is_read() {
        let fields: &[(usize, &[u8])] = &[
            (0, b"SWSUMMRY"),
            (8, &[5; 16]),
            (24, &[2, 0, 0, 0]),
            (32, &[0x2a, 0, 0, 0, 0, 0, 0, 0]),
            (40, &[6, 0, 0, 0]),
            (44, &[7, 0, 0, 0]),
            (48, &[0, 1, 0, 0]),
            (52, &[3, 1, 0, 0]),
            (56, &[0b1011, 0, 0, 0, 0, 0, 0, 0]),
            (64, &[0x29, 0, 0, 0, 0, 0, 0, 0]),
            (72, &[1, 0, 0, 0]),
            (76, &[3, 0]),
            // A copy of the summary, then a stripe of one chunk and P.
            (96 + 20, &[4]),
            (120, &[17, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 2, 0, 0, 0x78, 0x56, 0x34, 0x12, 128 + 1]),
            (144 + 16, &[0x21, 0x43, 0x65, 0x87, 2]),
            (168, &[64, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 2, 0, 0, 32, 0, 0, 0]),
        ];
        let page = by_hand(512, 28, fields);
        let header = SummaryHeader {
            array: Uuid([5; 16]),
            epoch: 2,
            batch: 42,
            segment: 6,
            generation: 7,
            first: 256,
            end: 259,
            members: 0b1011,
            horizon: 41,
            stream: 3,
        };
        let blank = Entry { role: EntryRole::Copy, is_first: false, chunk: 0, write_seq: 0, checksum: 0 };
        let data = Entry {
            role: EntryRole::Data,
            is_first: true,
            chunk: 17,
            write_seq: super::super::write_seq(2, 9),
            checksum: 0x1234_5678,
        };
        let parity = Entry { role: EntryRole::P, checksum: 0x8765_4321, ..blank };
        let tombstone = Tombstone { first: 64, write_seq: super::super::write_seq(2, 8), chunks: 32 };
        let whole = Whole { header, entries: vec![blank, data, parity], tombstones: vec![tombstone] };
        assert_eq!(Whole::from(Summary::parse(&page).expect("it is whole")), whole);
        assert_eq!(whole.written(512), page);
    }

    #[test]
    fn a_page_of_4096_bytes_has_room_for_166_entries_and_tombstones() {
        assert_eq!(room(4096), 166);
        assert_eq!(room(512), 17);
        assert_eq!(room(96), 0);
        assert_eq!(room(0), 0);
    }

    #[test]
    fn counts_that_do_not_fit_the_page_are_refused() {
        let fields: &[(usize, &[u8])] = &[(0, b"SWSUMMRY"), (52, &[10, 0, 0, 0]), (72, &[8, 0, 0, 0])];
        let error = Summary::parse(&by_hand(512, 28, fields)).expect_err("17 fit").to_string();
        assert_eq!(
            error,
            "summary: tombstones is 8; expected as many as fit into the page behind its entries"
        );
        let fields: &[(usize, &[u8])] = &[(0, b"SWSUMMRY"), (48, &[10, 0, 0, 0]), (52, &[10, 0, 0, 0])];
        assert!(Summary::parse(&by_hand(512, 28, fields)).is_err());
        let fields: &[(usize, &[u8])] = &[(0, b"SWSUMMRY"), (52, &[255; 4]), (72, &[255; 4])];
        assert!(Summary::parse(&by_hand(512, 28, fields)).is_err());
    }
}
