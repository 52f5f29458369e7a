//! DiskSim ASCII (Bucy, Schindler, Schlosser and Ganger, "The DiskSim Simulation Environment Version 4.0 Reference
//! Manual", 2008): `time devno blkno bcount flags`, time in decimal milliseconds, blocks of 512 bytes, bit 0 of the
//! flags set for a read. The other bits (1: time-critical) are not used.

use super::sectors::{place, push_place};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII: time ms (decimal), device, block (512 B), blocks, flags (bit 0: 1 = read)",
    variants: &[],
    same_as: None,
    separator: Separator::Blanks,
    fields: 5,
    make: |_| Box::new(DiskSim),
};

struct DiskSim;

impl LineFormat for DiskSim {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(6, "a time: decimal milliseconds")?;
        let mut record = place(time, line)?;
        let flags = line.number("flags: a whole number whose bit 0 is set for a read")?;
        record.kind = if flags & 1 == 0 { Kind::Write } else { Kind::Read };
        Ok(Entry::Request(record))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_decimal(line, record.time, 6, 3);
        push_place(record, line)
    }

    /// Whole times and kinds of 0 or 1 are likelier SSDsim's.
    fn typical(&self, line: &[u8]) -> u32 {
        if line.contains(&b'.') { 2 } else { 1 }
    }
}
