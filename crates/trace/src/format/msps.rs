//! Millisecond form of the Microsoft production server traces (Kavalanekar et al., IISWC 2008; SNIA IOTTA 158), as
//! converted for replay: `time disk lba sectors operation`, time in decimal milliseconds, sectors of 512 bytes,
//! operation 1 = read, 0 = write.
//!
//! Columns, units and meaning are those of DiskSim, so detection reports `disksim` for these files; the requests are
//! the same.

use super::fields::bit;
use super::sectors::{WHOLE_TIMES, place, push_place};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal};

pub(super) const FORMAT: Format = Format {
    name: "msps",
    about: "Microsoft production servers, converted: time ms, disk, LBA (512 B), size (512 B), 0 = write 1 = read",
    variants: &[],
    same_as: Some("disksim"),
    separator: Separator::Blanks,
    fields: 5,
    make: |_| Box::new(Msps),
};

struct Msps;

impl LineFormat for Msps {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(6, "a time: decimal milliseconds")?;
        let mut record = place(time, line)?;
        record.kind = bit(line, 1, "0 (write) or 1 (read)")?;
        Ok(Entry::Request(record))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_decimal(line, record.time, 6, 3);
        push_place(record, line)
    }

    /// Whole times are more likely those of SSDsim and MQSim.
    fn is_typical(&self, line: &[u8]) -> bool {
        line.contains(&b'.')
    }

    fn untypical(&self, typical: u32, _requests: u32) -> Option<&'static str> {
        (typical == 0).then_some(WHOLE_TIMES)
    }
}
