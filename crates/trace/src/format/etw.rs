//! Event traces of Windows in the text form of xperf, such as Microsoft's Exchange, TPC-C, TPC-E and production
//! servers (Kavalanekar et al., IISWC 2008; SNIA IOTTA 130, 131, 158): `DiskRead|DiskWrite, TimeStamp, process (pid),
//! thread, [CPU,] IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, …`, microseconds, bytes in hexadecimal.
//! `BeginHeader` to `EndHeader` names the columns; events of other names are skipped and counted.
//!
//! Windows logs an event when the request is completed. The conversions in papers take that time as the arrival, and
//! so does `etw`, which is a choice. `etw:issue` subtracts the time that the request took, and sorts.

use super::fields::{BYTES, OFFSET};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_number};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "etw",
    about: "Windows event trace (Exchange, TPC-C, TPC-E), times as logged: DiskRead|DiskWrite, time us, …, offset B, size B",
    variants: &[
        Variant { name: "logged", about: "Windows event trace with the times of the log", visible: true },
        Variant {
            name: "issue",
            about: "Windows event trace with the times when requests were issued: the log's less ElapsedTime, sorted",
            visible: false,
        },
    ],
    same_as: None,
    separator: Separator::None,
    fields: 9,
    make: |variant| Box::new(Etw { issue: variant == 1, inside_header: false }),
};

/// The base of the times in `etw:issue`, since a request may have been issued before the log began.
const BASE: u64 = 1 << 40;
const HEADER: &[u8] = b"\
BeginHeader
DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags, \
DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName
DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags, \
DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName
EndHeader
";

struct Etw {
    issue: bool,
    inside_header: bool,
}

impl LineFormat for Etw {
    fn tick_ns(&self) -> u64 {
        1_000
    }

    fn order(&self) -> Order {
        if self.issue { Order::Sorted } else { Order::AsFiled }
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let name = line.field(b',', "the name of an event, such as DiskRead");
        match name {
            b"BeginHeader" => self.inside_header = true,
            b"EndHeader" => {
                self.inside_header = false;
                return Ok(Entry::Header);
            }
            _ => {}
        }
        if self.inside_header || name.starts_with(b"OS Version") {
            return Ok(Entry::Header);
        }
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            return Err(line.reject());
        }
        let kind = match name {
            b"DiskRead" => Kind::Read,
            b"DiskWrite" => Kind::Write,
            _ if name.iter().all(|&byte| byte.is_ascii_graphic()) => {
                line.comma()?;
                line.number("a time: a whole number of microseconds")?;
                line.comma()?;
                return Ok(Entry::Event);
            }
            _ => return Err(line.reject()),
        };
        line.comma()?;
        let logged = line.number("a time: a whole number of microseconds")?;
        line.comma()?;
        line.field(b',', "a process");
        line.comma()?;
        line.number("a thread: a whole number")?;
        line.comma()?;
        // Later versions of the dump have a column of CPUs here; the 0x distinguishes pointers from numbers.
        if !line.field(b',', "a pointer in hexadecimal").starts_with(b"0x") {
            line.comma()?;
            if !line.field(b',', "a pointer in hexadecimal").starts_with(b"0x") {
                return Err(line.reject());
            }
        }
        line.comma()?;
        let offset = line.hexadecimal(OFFSET)?;
        line.comma()?;
        let bytes = u32::try_from(line.hexadecimal(BYTES)?).unwrap_or(0);
        if bytes == 0 || offset.checked_add(u64::from(bytes)).is_none() {
            return Err(line.reject());
        }
        line.comma()?;
        let elapsed = line.number("an elapsed time: a whole number of microseconds")?;
        let issued = logged.checked_add(BASE).and_then(|time| time.checked_sub(elapsed));
        let time = if self.issue { issued.ok_or_else(|| line.reject())? } else { logged };
        line.comma()?;
        let volume = line.number_u32("a disk: a whole number")?;
        line.skip_rest();
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        line.extend_from_slice(if record.kind == Kind::Write { b"DiskWrite, " } else { b"DiskRead, " });
        push_number(line, record.time);
        line.extend_from_slice(b", none (0), 0, 0x0, 0x");
        push_hexadecimal(line, record.offset);
        line.extend_from_slice(b", 0x");
        push_hexadecimal(line, u64::from(record.bytes));
        line.extend_from_slice(b", 0, ");
        push_number(line, u64::from(record.volume));
        line.extend_from_slice(b", 0x0, 0, Normal, Original, 0x0, \"\"");
        Ok(())
    }
}

/// Appends a number in hexadecimal, without leading zeros.
fn push_hexadecimal(line: &mut Vec<u8>, value: u64) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    line.extend((0..digits).rev().map(|place| b"0123456789abcdef"[(value >> (4 * place) & 15) as usize]));
}
