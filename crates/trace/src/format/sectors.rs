//! The line that SSDsim, MQSim and DiskSim share: `time device lba sectors kind`, separated by blanks, addresses and
//! sizes in sectors of 512 bytes. They differ in the unit of time and in the values of the kind.

use super::fields::{SECTORS, bit, whole_sectors};
use super::{Cursor, Entry, Expected, LineFormat, Loss, Record, push_number};
use crate::Kind;

pub(super) use super::fields::SECTOR;

/// Why whole times are not taken for the decimal milliseconds of DiskSim.
pub(super) const WHOLE_TIMES: &str = "its times are whole numbers, as the nanoseconds of SSDsim and MQSim are, and not \
                                      decimal milliseconds, and its last column is not theirs (0 and 1)";

/// SSDsim and MQSim: times are whole numbers, and the kind is 0 for a write and 1 for a read.
pub(super) struct WholeTimes {
    /// Nanoseconds a unit of time.
    pub(super) tick_ns: u64,
}

impl LineFormat for WholeTimes {
    fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.number("a time: a whole number")?;
        let mut record = place(time, line)?;
        record.kind = bit(line, 1, "0 (write) or 1 (read)")?;
        Ok(Entry::Request(record))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_number(line, record.time);
        push_place(record, line)
    }
}

/// The three columns in the middle, with the blank after each.
#[inline]
pub(super) fn place(time: u64, line: &mut Cursor<'_>) -> Result<Record, Expected> {
    place_of(SECTOR, time, line)
}

/// [`place`], with sizes in units of `unit` bytes.
#[inline]
pub(super) fn place_of(unit: u64, time: u64, line: &mut Cursor<'_>) -> Result<Record, Expected> {
    line.blank()?;
    let volume = line.number_u32("a device: a whole number")?;
    line.blank()?;
    let offset = line.address(SECTOR, "an address: a whole number of 512 B sectors")?;
    line.blank()?;
    let wanted = match unit {
        SECTOR => SECTORS,
        _ => "a size: a whole number of 4 KiB pages, not 0, below 4 GiB",
    };
    let bytes = line.size(unit, offset, wanted)?;
    line.blank()?;
    Ok(Record { time, kind: Kind::Read, offset, bytes, volume })
}

/// All columns but the time; the kind is written as 1 for a read, which all three formats understand.
pub(super) fn push_place(record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
    push_place_of(SECTOR, record, line)
}

/// [`push_place`], with sizes in units of `unit` bytes, a multiple of the sector.
pub(super) fn push_place_of(unit: u64, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
    let (sector, sectors) = whole_sectors(record)?;
    let sectors_a_unit = unit / SECTOR;
    if !sectors.is_multiple_of(sectors_a_unit) {
        return Err(format!("size {} is no multiple of {unit}; write `disksim` or `parquet`", record.bytes));
    }
    let sectors = sectors / sectors_a_unit;
    for value in [u64::from(record.volume), sector, sectors, u64::from(record.kind == Kind::Read)] {
        line.push(b' ');
        push_number(line, value);
    }
    Ok(())
}
