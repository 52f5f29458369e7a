//! iosnoop of perf-tools (Gregg, its manual page iosnoop(8)), with times: `[STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES
//! LATms`, decimal seconds, sectors of 512 bytes, bytes.
//!
//! The time is that of the start (`iosnoop -s`), or that of the end if there is no other (`-t`). Without either nothing
//! can be replayed, and the lines are refused. iosnoop prints a request when it has ended, so the reader sorts. A name
//! of a process may contain blanks: the fields after it are counted from the end of the line.
//!
//! TYPE has the letters of blktrace. The volume is the device as Linux numbers it. Latencies belong to the traced
//! machine and are not used.

use memchr::memmem;

use super::fields::{BYTES, device, last_fields, latency, placed, push_device, push_numbers, push_rwbs, rwbs};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "iosnoop",
    about: "iosnoop -s or -t (perf-tools), sorted: time s, process, pid, type, device, LBA (512 B), size B, latency ms",
    variants: &[],
    same_as: None,
    separator: Separator::None,
    fields: 8,
    make: |_| Box::<IoSnoop>::default(),
};

/// The fields after the name of the process.
const FIELDS: usize = 6;
const HEADER: &[u8] = b"\
STARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n";

#[derive(Default)]
struct IoSnoop {
    /// How many columns of times there are, once a header has said so.
    times: Option<usize>,
}

impl LineFormat for IoSnoop {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn order(&self) -> Order {
        Order::Sorted
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if self.is_text(line.rest_of_line()) {
            return Ok(Entry::Header);
        }
        let time = line.decimal(9, "a time: decimal seconds, which `iosnoop -s` adds")?;
        line.blank()?;
        if self.times.map_or_else(|| begins_with_decimal(line.rest_of_line()), |times| times > 1) {
            line.decimal(9, "the time of the end: decimal seconds")?;
            line.blank()?;
        }
        let fields = last_fields(line.rest_of_line(), FIELDS).filter(|&at| at > 0);
        line.skip(fields.ok_or("the name of a process and six more fields")?);
        line.some_number("a process number")?;
        line.blank()?;
        let kind = rwbs(line.word("a type, such as R or WS")?);
        line.blank()?;
        let volume = device(line, |line| line.mark(b',', "`,` and a minor device number"))?;
        line.blank()?;
        let placed = placed(line, kind, |line| line.blank(), (1, BYTES))?;
        if placed.is_none_or(|(kind, ..)| kind == Kind::Flush) {
            line.number(BYTES)?;
        }
        line.blank()?;
        latency(line)?;
        let Some((kind, offset, bytes)) = placed else { return Ok(Entry::Event) };
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
    }

    fn holds(&self, _kind: Kind) -> bool {
        true
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        if !record.offset.is_multiple_of(512) {
            return Err(format!("offset {} is no multiple of 512; write `msr` or `parquet`", record.offset));
        }
        for _ in 0..2 {
            push_decimal(line, record.time, 9, 6);
            line.push(b' ');
        }
        line.extend_from_slice(b"none 0 ");
        push_rwbs(record.kind, line);
        line.push(b' ');
        push_device(record.volume, b',', line);
        line.push(b' ');
        push_numbers(&[record.offset / 512, u64::from(record.bytes)], b' ', line);
        line.extend_from_slice(b" 0.00");
        Ok(())
    }
}

impl IoSnoop {
    /// Whether the line is text around the data; from the names of the columns it learns which times there are.
    fn is_text(&mut self, line: &[u8]) -> bool {
        let has = |name: &[u8]| memmem::find(line, name).is_some();
        if !line.first().is_some_and(u8::is_ascii_alphabetic) {
            return false;
        }
        if has(b"BLOCK") && has(b"LATms") {
            self.times = Some(usize::from(has(b"STARTs")) + usize::from(has(b"ENDs")));
            return true;
        }
        [&b"Tracing block I/O"[..], b"Ending tracing", b"WARNING"].iter().any(|text| line.starts_with(text))
    }
}

/// Whether the first field is a number with a decimal point.
fn begins_with_decimal(text: &[u8]) -> bool {
    let field = text.split(|&byte| byte == b' ' || byte == b'\t').next().unwrap_or_default();
    field.contains(&b'.') && field.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}
