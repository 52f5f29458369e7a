//! Tencent Cloud Block Storage traces of 2018 (Zhang et al., USENIX ATC 2020; SNIA IOTTA 27917):
//! `Timestamp,Offset,Size,IOType,VolumeID`, Unix seconds, sectors of 512 bytes, 0 = read, 1 = write.
//!
//! Lines of neighbouring seconds come mixed, and the reader sorts them. A second holds many requests in the order of
//! the file. In an open-loop replay they would all arrive at once; `tencent:spread` puts equal gaps between them.
//! Equal gaps are a choice: the traces do not record the real ones.

use super::fields::{bit, dated, push_numbers, sectors, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    about: "Tencent CBS 2018, sorted: time s (Unix, whole), LBA (512 B), size (512 B), 0 = read 1 = write, volume",
    variants: &[
        Variant { name: "ties", about: "Tencent CBS with all requests of a second at its beginning", visible: true },
        Variant { name: "spread", about: "Tencent CBS with the requests of a second spread evenly over it", visible: false },
    ],
    same_as: None,
    separator: Separator::Comma,
    fields: 5,
    make: |variant| Box::new(Tencent { spread: variant == 1 }),
};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// The time of the first written request: 30 September 2018, 4 pm UTC, in seconds since 1970.
const WRITTEN_START: u64 = 1_538_323_200;

struct Tencent {
    spread: bool,
}

impl LineFormat for Tencent {
    fn tick_ns(&self) -> u64 {
        SECOND
    }

    fn order(&self) -> Order {
        if self.spread { Order::Spread { grain_ns: SECOND } } else { Order::Sorted }
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.number("a time: a whole number of seconds")?;
        line.comma()?;
        let (offset, bytes) = sectors(line, |line| line.comma())?;
        line.comma()?;
        let kind = bit(line, 0, "0 (read) or 1 (write)")?;
        line.comma()?;
        let volume = line.number_u32("a volume: a whole number")?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, sectors) = whole_sectors(record)?;
        let write = u64::from(record.kind == Kind::Write);
        push_numbers(&[dated(record, WRITTEN_START)?, sector, sectors, write, u64::from(record.volume)], b',', line);
        Ok(())
    }
}
