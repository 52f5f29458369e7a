//! Cydonia's form of the CloudPhysics traces: `time_us,lba,operation,size`, microseconds, sectors of 512 bytes, `r` or
//! `w`, bytes.

use super::likely::most;
use super::fields::{BYTES, LBA, SECTOR, letter, one_volume, push_letter, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_number};

pub(super) const FORMAT: Format = Format {
    name: "cydonia",
    about: "Cydonia (CloudPhysics, converted): time us, LBA (512 B), r|w, size B",
    variants: &[],
    same_as: None,
    separator: Separator::Comma,
    fields: 4,
    make: |_| Box::new(Cydonia),
};

struct Cydonia;

impl LineFormat for Cydonia {
    fn tick_ns(&self) -> u64 {
        1_000
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.number("a time: a whole number of microseconds")?;
        line.comma()?;
        let offset = line.address(SECTOR, LBA)?;
        line.comma()?;
        let kind = letter(line, "the operation `r` or `w`")?;
        line.comma()?;
        let bytes = line.size(1, offset, BYTES)?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        one_volume(record)?;
        if !record.offset.is_multiple_of(SECTOR) {
            return Err(format!("offset {} is no multiple of 512; write `msr` or `parquet`", record.offset));
        }
        push_numbers(&[record.time, record.offset / SECTOR], b',', line);
        line.push(b',');
        push_letter(record.kind, b"rw", line);
        line.push(b',');
        push_number(line, u64::from(record.bytes));
        Ok(())
    }

    /// A last column that is no multiple of 512 is more likely a time, and the line one of SPC without its ASU.
    fn is_typical(&self, line: &[u8]) -> bool {
        let size = line.rsplit(|&byte| byte == b',').next().unwrap_or_default().trim_ascii();
        let size = size.iter().fold(0u32, |size, byte| (size * 10 + u32::from(byte.wrapping_sub(b'0') % 10)) % 512);
        size == 0
    }

    fn untypical(&self, typical: u32, requests: u32) -> Option<&'static str> {
        (!most(typical as usize, requests as usize))
            .then_some("most of its last numbers are no multiples of 512, which sizes are: they may be times")
    }
}
