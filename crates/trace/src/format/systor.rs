//! SYSTOR '17 traces of virtual desktops (Lee, Kumano, Matsuki, Endo, Fukumoto and Sugawara, SYSTOR 2017; SNIA IOTTA
//! 4928): `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Times are decimal Unix seconds, offsets and sizes bytes. A line without a type is a request that was never
//! answered. Its kind is unknown, so the reader skips and counts it. Responses belong to the traced machine: they are
//! checked where present, not used, and written as nothing.

use super::fields::{BYTES, OFFSET, dated, letter, push_letter, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal};

pub(super) const FORMAT: Format = Format {
    name: "systor",
    about: "SYSTOR '17 VDI: time s (Unix, decimal), response s or nothing, R|W or nothing, LUN, offset B, size B",
    variants: &[],
    same_as: None,
    separator: Separator::Comma,
    fields: 6,
    make: |_| Box::new(Systor),
};

/// The time of the first written request: 22 February 2016, 10 am UTC, in nanoseconds since 1970.
const WRITTEN_START: u64 = 1_456_135_200_000_000_000;

struct Systor;

impl LineFormat for Systor {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(9, "a time: decimal seconds")?;
        line.comma()?;
        if line.next_byte() != b',' {
            line.decimal(9, "a response time in decimal seconds, or nothing")?;
        }
        line.comma()?;
        let kind =
            if line.next_byte() == b',' { None } else { Some(letter(line, "the type `R` or `W`, or nothing")?) };
        line.comma()?;
        let volume = line.number_u32("a LUN: a whole number")?;
        line.comma()?;
        let offset = line.number(OFFSET)?;
        line.comma()?;
        let Some(kind) = kind else {
            line.number("a size: a whole number of bytes")?;
            return Ok(Entry::Event);
        };
        let bytes = line.size(1, offset, BYTES)?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"Timestamp,Response,IOType,LUN,Offset,Size\n");
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_decimal(line, dated(record, WRITTEN_START)?, 9, 9);
        line.extend_from_slice(b",,");
        push_letter(record.kind, b"RW", line);
        line.push(b',');
        push_numbers(&[u64::from(record.volume), record.offset, u64::from(record.bytes)], b',', line);
        Ok(())
    }

    /// Whole seconds are more likely another unit.
    fn is_typical(&self, line: &[u8]) -> bool {
        line.contains(&b'.')
    }

    fn untypical(&self, typical: u32, _requests: u32) -> Option<&'static str> {
        (typical == 0).then_some(
            "its times are whole numbers, and SYSTOR's traces have decimal seconds: their unit is not sure",
        )
    }
}
