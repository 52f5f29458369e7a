//! Alibaba Cloud block traces of 2020 (Li, Wang, Lee and Shi, IISWC 2020):
//! `device_id,opcode,offset,length,timestamp`, bytes and Unix microseconds. The accompanying file `device_size.csv`
//! lists capacities and is no trace.

use super::fields::{BYTES, OFFSET, dated, letter, push_letter, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_number};

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    about: "Alibaba Cloud 2020: volume, R|W, offset B, size B, time us (Unix)",
    variants: &[],
    same_as: None,
    separator: Separator::Comma,
    fields: 5,
    make: |_| Box::new(Alibaba),
};

/// The time of the first written request: 31 December 2019, 4 pm UTC, as in the published trace, in microseconds
/// since 1970.
const WRITTEN_START: u64 = 1_577_808_000_000_000;

struct Alibaba;

impl LineFormat for Alibaba {
    fn tick_ns(&self) -> u64 {
        1_000
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let volume = line.number_u32("a volume: a whole number")?;
        line.comma()?;
        let kind = letter(line, "the opcode `R` or `W` (in device_size.csv, which is no trace, there is none)")?;
        line.comma()?;
        let offset = line.number(OFFSET)?;
        line.comma()?;
        let bytes = line.size(1, offset, BYTES)?;
        line.comma()?;
        let time = line.number("a time: a whole number of microseconds")?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_number(line, u64::from(record.volume));
        line.push(b',');
        push_letter(record.kind, b"RW", line);
        line.push(b',');
        push_numbers(&[record.offset, u64::from(record.bytes), dated(record, WRITTEN_START)?], b',', line);
        Ok(())
    }
}
