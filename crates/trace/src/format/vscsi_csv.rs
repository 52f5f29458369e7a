//! CloudPhysics traces (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015) as text: `version,time,op,size,lbn`,
//! seconds, SCSI operation code in hexadecimal, bytes, sectors of 512 bytes. Operations that move no data are skipped
//! and counted.
//!
//! Times are mostly whole seconds. `vscsi-csv:spread` puts equal gaps between the requests of a second, which is a
//! choice: the text does not record the real ones. The binary form of these traces has microseconds.

use super::fields::{BYTES, LBA, SECTOR, one_volume, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "vscsi-csv",
    about: "CloudPhysics vscsi as CSV: version, time s, SCSI operation (hex), size B, LBA (512 B)",
    variants: &[
        Variant { name: "ties", about: "vscsi CSV with all requests of a second at its beginning", visible: true },
        Variant { name: "spread", about: "vscsi CSV with the requests of a second spread evenly over it", visible: false },
    ],
    same_as: None,
    separator: Separator::Comma,
    fields: 5,
    make: |variant| Box::new(VscsiCsv { spread: variant == 1 }),
};

const OPERATION: Expected = "a SCSI operation code: one byte in hexadecimal";

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

struct VscsiCsv {
    spread: bool,
}

/// The effect of a SCSI operation on data: READ and WRITE with commands of 6, 10, 12 and 16 bytes.
pub(super) fn kind_of(operation: u64) -> Option<Kind> {
    match operation {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(Kind::Read),
        0x0A | 0x2A | 0xAA | 0x8A => Some(Kind::Write),
        _ => None,
    }
}

impl LineFormat for VscsiCsv {
    fn tick_ns(&self) -> u64 {
        if self.spread { SECOND } else { 1 }
    }

    fn order(&self) -> Order {
        if self.spread { Order::Spread { grain_ns: SECOND } } else { Order::AsFiled }
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if !matches!(line.number("the version, 1 or 2")?, 1 | 2) {
            return Err(line.reject());
        }
        line.comma()?;
        let time = if self.spread {
            line.number("a time: a whole number of seconds, since they are to be spread")?
        } else {
            line.decimal(9, "a time: seconds")?
        };
        line.comma()?;
        let operation = line.hexadecimal(OPERATION)?;
        if operation > 0xFF {
            return Err(line.reject());
        }
        line.comma()?;
        let Some(kind) = kind_of(operation) else {
            line.number("a size: a whole number of bytes")?;
            line.comma()?;
            line.number(LBA)?;
            return Ok(Entry::Event);
        };
        let bytes = line.size(1, 0, BYTES)?;
        line.comma()?;
        let offset = line.address(SECTOR, LBA)?;
        if offset.checked_add(u64::from(bytes)).is_none() {
            return Err(line.reject());
        }
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"version,time,op,size,lbn\n");
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        one_volume(record)?;
        if !record.offset.is_multiple_of(SECTOR) {
            return Err(format!("offset {} is no multiple of 512; write `msr` or `parquet`", record.offset));
        }
        line.extend_from_slice(b"1,");
        push_decimal(line, record.time, if self.spread { 0 } else { 9 }, 0);
        line.extend_from_slice(if record.kind == Kind::Write { b",2a," } else { b",28," });
        push_numbers(&[u64::from(record.bytes), record.offset / SECTOR], b',', line);
        Ok(())
    }
}
