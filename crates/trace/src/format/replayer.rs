//! The LinnOS replayer (Hao et al., OSDI 2020): its input, and its log.
//!
//! Input: `time device offset size operation`, decimal milliseconds and bytes, 1 = read, 0 = write. Log:
//! `submit,latency,operation,size,offset,end,done`, milliseconds, microseconds and bytes, in the order in which
//! requests completed; the reader restores the order of submission. Latencies belong to the measured machine and are
//! not used.

use super::fields::{BYTES, OFFSET, bit, one_volume, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "replayer",
    about: "LinnOS replayer's input: time ms (decimal), device, offset B, size B, 0 = write 1 = read",
    variants: &[
        Variant { name: "in", about: "LinnOS replayer's input", visible: true },
        Variant {
            name: "log",
            about: "its log, sorted: submit ms, latency us, 0 = write 1 = read, size B, offset B, end ms, bytes done",
            visible: true,
        },
    ],
    same_as: None,
    separator: Separator::Comma,
    fields: 7,
    make: |variant| if variant == 0 { Box::new(Input) } else { Box::new(Log) },
};

const TIME: Expected = "a time: decimal milliseconds";
const KIND: Expected = "0 (write) or 1 (read)";
const WHOLE_OFFSET: Expected = "an offset: a whole number of bytes, a multiple of 512";
const WHOLE_SIZE: Expected = "a size: a multiple of 512 bytes, not 0, below 4 GiB";

struct Input;

impl LineFormat for Input {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(6, TIME)?;
        line.blank()?;
        let volume = line.number_u32("a device: a whole number")?;
        line.blank()?;
        // Devices take whole sectors. That distinguishes these lines from those of DiskSim, which counts in sectors.
        let offset = line.number(WHOLE_OFFSET)?;
        if !offset.is_multiple_of(512) {
            return Err(line.reject());
        }
        line.blank()?;
        let bytes = line.size(1, offset, WHOLE_SIZE)?;
        if !bytes.is_multiple_of(512) {
            return Err(line.reject());
        }
        line.blank()?;
        let kind = bit(line, 1, KIND)?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        super::fields::whole_sectors(record)?;
        push_decimal(line, record.time, 6, 3);
        line.push(b' ');
        let (volume, bytes) = (u64::from(record.volume), u64::from(record.bytes));
        push_numbers(&[volume, record.offset, bytes, u64::from(record.kind == Kind::Read)], b' ', line);
        Ok(())
    }
}

struct Log;

impl LineFormat for Log {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn order(&self) -> Order {
        Order::Sorted
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(6, TIME)?;
        line.comma()?;
        line.number("a latency: a whole number of microseconds")?;
        line.comma()?;
        let kind = bit(line, 1, KIND)?;
        line.comma()?;
        let bytes = line.size(1, 0, BYTES)?;
        line.comma()?;
        let offset = line.number(OFFSET)?;
        if offset.checked_add(u64::from(bytes)).is_none() {
            return Err(line.reject());
        }
        line.comma()?;
        line.decimal(6, "the time of the end: decimal milliseconds")?;
        line.comma()?;
        line.number("the number of bytes done")?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        one_volume(record)?;
        push_decimal(line, record.time, 6, 3);
        line.extend_from_slice(b",0,");
        let bytes = u64::from(record.bytes);
        push_numbers(&[u64::from(record.kind == Kind::Read), bytes, record.offset], b',', line);
        line.push(b',');
        push_decimal(line, record.time, 6, 3);
        line.push(b',');
        push_numbers(&[bytes], b',', line);
        Ok(())
    }
}
