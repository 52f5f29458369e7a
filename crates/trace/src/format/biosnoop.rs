//! biosnoop of bcc (tools/biosnoop.py and libbpf-tools/biosnoop.c, its manual page biosnoop(8)): `TIME(s) COMM PID DISK T
//! SECTOR BYTES [QUE(ms)] LAT(ms)`, decimal seconds, sectors of 512 bytes, bytes. T is `R` or `W`, or the letters of
//! blktrace.
//!
//! TIME is that of the completion. As with `etw`, that is taken as the arrival, which is a choice; `biosnoop:issue`
//! subtracts the latency. Several CPUs report, so the reader sorts. A name of a process may contain blanks: the fields
//! after it are counted from the end of the line. The volume is the disk, numbered in order of appearance.

use super::fields::{BYTES, last_fields, latency, placed, push_numbers, push_rwbs, rwbs};
use super::names::Names;
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal, push_number};
use crate::Kind;
use crate::order::Order;

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    about: "biosnoop (bcc), times as logged, sorted: time s, process, pid, disk, type, LBA (512 B), size B, latency ms",
    variants: &[
        Variant { name: "logged", about: "biosnoop with the times of the log, those of completion", visible: true },
        Variant {
            name: "issue",
            about: "biosnoop with the times when requests were issued: the log's less LAT(ms)",
            visible: false,
        },
    ],
    same_as: None,
    separator: Separator::None,
    fields: 8,
    make: |variant| Box::new(BioSnoop { issue: variant == 1, disks: Names::default() }),
};

/// The base of the times in `biosnoop:issue`, since a request may have been issued before the log began.
const BASE: u64 = 1 << 50;
/// The fields after the name of the process, without QUE(ms).
const FIELDS: usize = 6;
const HEADER: &[u8] = b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n";

struct BioSnoop {
    issue: bool,
    disks: Names,
}

impl LineFormat for BioSnoop {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn order(&self) -> Order {
        Order::Sorted
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if line.rest_of_line().starts_with(b"TIME(s)") {
            return Ok(Entry::Header);
        }
        let logged = line.decimal(9, "a time: decimal seconds")?;
        line.blank()?;
        let text = line.rest_of_line();
        // Of the numbers at the end of the line only latencies have a decimal point.
        let before_last = last_fields(text, 2).map(|at| &text[at..]).unwrap_or_default();
        let is_decimal = |field: &[u8]| field.contains(&b'.');
        let queued = before_last.split(|&byte| byte == b' ' || byte == b'\t').next().is_some_and(is_decimal);
        let fields = last_fields(text, FIELDS + usize::from(queued)).filter(|&at| at > 0);
        line.skip(fields.ok_or("the name of a process and six more fields")?);
        line.some_number("a process number")?;
        line.blank()?;
        let disk = line.word("a disk")?;
        line.blank()?;
        let kind = rwbs(line.word("a type, such as R or W")?);
        line.blank()?;
        let placed = placed(line, kind, |line| line.blank(), (1, BYTES))?;
        if placed.is_none_or(|(kind, ..)| kind == Kind::Flush) {
            line.number(BYTES)?;
        }
        line.blank()?;
        if queued {
            line.decimal(6, "a time in the queue: decimal milliseconds")?;
            line.blank()?;
        }
        let took = latency(line)?;
        let Some((kind, offset, bytes)) = placed else { return Ok(Entry::Event) };
        let issued = logged.checked_add(BASE).and_then(|time| time.checked_sub(took));
        let time = if self.issue { issued.ok_or_else(|| line.reject())? } else { logged };
        let volume = self.disks.number(disk).ok_or("a request to one of at most 65536 disks")?;
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
        // Readers number disks as they appear.
        let known = self.disks.count();
        if record.volume > known || self.disks.number(&record.volume.to_be_bytes()).is_none() {
            return Err(format!(
                "volume {} comes before {known}, and disks are numbered as they appear; write `msr` or `parquet`",
                record.volume
            ));
        }
        push_decimal(line, record.time, 9, 6);
        line.extend_from_slice(b" none 0 disk");
        push_number(line, u64::from(record.volume));
        line.push(b' ');
        push_rwbs(record.kind, line);
        line.push(b' ');
        push_numbers(&[record.offset / 512, u64::from(record.bytes)], b' ', line);
        line.extend_from_slice(b" 0.00");
        Ok(())
    }
}
