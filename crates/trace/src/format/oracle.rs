//! oracleGeneral, the form in which libCacheSim keeps cache traces: records of 24 bytes, little endian, with time in
//! seconds (4), object (8), size (4) and the number of the object's next access or -1 (8). The format is recognized
//! in order to refuse it.

pub(super) const NAME: &str = "oracleGeneral";
pub(super) const REFUSAL: &str = "its records do not distinguish reads from writes, so they cannot be replayed; \
                                  use the trace that they were made from, such as its .vscsi or .csv";

const RECORD: usize = 24;

/// Whether the bytes at the beginning of a file are such records: times in order, sizes, and next accesses ahead.
pub(crate) fn is_oracle_general(bytes: &[u8]) -> bool {
    let mut records = bytes.chunks_exact(RECORD).take(64).enumerate();
    let mut latest = 0;
    bytes.len() >= 2 * RECORD
        && records.all(|(index, record)| {
            let time = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
            let size = u32::from_le_bytes([record[12], record[13], record[14], record[15]]);
            let next = record.last_chunk::<8>().map_or(0, |bytes| i64::from_le_bytes(*bytes));
            let sound = time >= latest && size > 0 && (next == -1 || (next > index as i64 && next < 1 << 48));
            latest = time;
            sound
        })
}

/// The error for a file in this format.
pub(crate) fn refusal() -> String {
    format!("is {NAME}: {REFUSAL}")
}
