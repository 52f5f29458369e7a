//! K5cloud traces of 2018 (Fujitsu; SNIA IOTTA 26663): `ID,Timestamp,Type,Offset,Length`, decimal seconds to the
//! microsecond, `R` or `W`, bytes.

use super::fields::{BYTES, OFFSET, letter, push_letter, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal, push_number};

pub(super) const FORMAT: Format = Format {
    name: "k5cloud",
    about: "K5cloud 2018: volume, time s (decimal), R|W, offset B, size B",
    variants: &[],
    same_as: None,
    separator: Separator::Comma,
    fields: 5,
    make: |_| Box::new(K5cloud),
};

struct K5cloud;

impl LineFormat for K5cloud {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let volume = line.number_u32("a volume: a whole number")?;
        line.comma()?;
        let time = line.decimal(9, "a time: decimal seconds")?;
        line.comma()?;
        let kind = letter(line, "the type `R` or `W`")?;
        line.comma()?;
        let offset = line.number(OFFSET)?;
        line.comma()?;
        let bytes = line.size(1, offset, BYTES)?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_number(line, u64::from(record.volume));
        line.push(b',');
        push_decimal(line, record.time, 9, 9);
        line.push(b',');
        push_letter(record.kind, b"RW", line);
        line.push(b',');
        push_numbers(&[record.offset, u64::from(record.bytes)], b',', line);
        Ok(())
    }

    /// Whole seconds are more likely another unit.
    fn is_typical(&self, line: &[u8]) -> bool {
        line.contains(&b'.')
    }

    fn untypical(&self, typical: u32, _requests: u32) -> Option<&'static str> {
        (typical == 0).then_some(
            "its times are whole numbers, and K5cloud has decimal seconds: their unit is not sure",
        )
    }
}
