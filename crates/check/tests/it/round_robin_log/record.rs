//! The record of a stripe: which pages of the host its chunks hold. It is a chunk of the stripe itself, so that parity covers
//! it, and the stripe needs nothing else to be found again.
//!
//! Little endian: magic number, sequence number of the stripe, number of chunks, checksum of the record with zeros in
//! its place; then for each chunk the host's page and the checksum of the content.

use stripewise_format::crc32c;

const MAGIC: u64 = u64::from_le_bytes(*b"RR-LOG-1");
const HEAD: usize = 24;
const ENTRY: usize = 12;
/// Where the checksum of the record is.
const SUM: std::ops::Range<usize> = 20..24;

/// What a stripe holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Numbers the stripes in the order in which they were written, from 1.
    pub(crate) sequence: u64,
    /// For each chunk, after that of the record itself: the host's page, and the checksum of its content.
    pub(crate) chunks: Vec<(u64, u32)>,
}

impl Record {
    /// Writes the record into `bytes`, a page.
    pub(crate) fn put(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&(self.chunks.len() as u32).to_le_bytes());
        for (entry, (page, sum)) in bytes[HEAD..].chunks_exact_mut(ENTRY).zip(&self.chunks) {
            entry[..8].copy_from_slice(&page.to_le_bytes());
            entry[8..].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = crc32c(bytes);
        bytes[SUM].copy_from_slice(&sum.to_le_bytes());
    }

    /// The record in `bytes`; `None` if there is none, or a damaged one.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut unsummed = bytes.to_vec();
        unsummed[SUM].fill(0);
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let count = short(16) as usize;
        if long(0) != MAGIC || count > (bytes.len() - HEAD) / ENTRY || short(SUM.start) != crc32c(&unsummed) {
            return None;
        }
        let entry = |nth: usize| (long(HEAD + nth * ENTRY), short(HEAD + nth * ENTRY + 8));
        Some(Self { sequence: long(8), chunks: (0..count).map(entry).collect() })
    }
}

#[test]
fn a_record_is_read_as_written_and_any_flipped_bit_makes_it_none() {
    let record = Record { sequence: 7, chunks: vec![(3, 0xABCD), (u64::MAX, 0)] };
    let mut page = vec![0xEE; 512];
    record.put(&mut page);
    assert_eq!(Record::of(&page), Some(record));
    for at in 0..page.len() {
        page[at] ^= 4;
        assert_eq!(Record::of(&page), None, "byte {at}");
        page[at] ^= 4;
    }
    assert_eq!(Record::of(&[0; 512]), None);
}
