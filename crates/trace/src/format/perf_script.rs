//! The block layer's tracepoints as `perf script` prints them, and ftrace (Linux, `include/trace/events/block.h`; manual
//! page perf-script(1)): `process pid [cpu] time: block:block_rq_issue: major,minor rwbs bytes (command) sector +
//! sectors [process]`; decimal seconds, sectors of 512 bytes.
//!
//! The reader takes requests at one of three events: block_rq_issue, block_rq_insert and block_rq_complete. Detection
//! takes the first of these that has requests: all requests are issued, and without a scheduler few are inserted. Other
//! events are skipped and counted. The letters are those of blktrace, and the volume is the device as Linux numbers it.

use super::fields::{SECTOR, SECTORS, device, placed, push_device, push_rwbs, rwbs, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal, push_number};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "perf-script",
    about: "perf script or ftrace, requests when issued (block_rq_issue): …, time s, event, device, rwbs, LBA + size (512 B)",
    variants: &[
        Variant { name: "issue", about: "perf script, requests when they are issued (block_rq_issue)", visible: true },
        Variant {
            name: "insert",
            about: "perf script, requests when they enter the scheduler (block_rq_insert)",
            visible: false,
        },
        Variant {
            name: "complete",
            about: "perf script, requests when they are completed (block_rq_complete)",
            visible: false,
        },
    ],
    same_as: None,
    separator: Separator::None,
    fields: 12,
    make: |variant| Box::new(PerfScript { event: EVENTS[variant] }),
};

const EVENTS: [&[u8]; 3] = [b"block_rq_issue", b"block_rq_insert", b"block_rq_complete"];
const EVENT: Expected = "the name of an event with `:`, such as block:block_rq_issue:";

struct PerfScript {
    event: &'static [u8],
}

impl LineFormat for PerfScript {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let text = line.rest_of_line();
        // `# tracer: nop`, and `CPU:1 [LOST 7 EVENTS]`.
        if text.starts_with(b"#") || text.starts_with(b"CPU:") {
            return Ok(Entry::Header);
        }
        line.skip(time_field(text).ok_or("a line with a time in decimal seconds and `:`, and an event")?);
        let time = line.decimal(9, "a time: decimal seconds")?;
        line.exactly(b':', "`:` and an event")?;
        line.blank()?;
        let name = line.word(EVENT)?;
        let Some(name) = name.strip_suffix(b":").filter(|name| name.iter().all(u8::is_ascii_graphic)) else {
            return Err(line.reject());
        };
        if name.strip_prefix(b"block:").unwrap_or(name) != self.event {
            return Ok(Entry::Event);
        }
        line.blank()?;
        let volume = device(line, |line| line.mark(b',', "`,` and a minor device number"))?;
        line.blank()?;
        let kind = rwbs(line.word("letters of the request, such as R or WS")?);
        line.blank()?;
        // The size in bytes, which completions lack, and the command of requests that are passed through.
        let command = memchr::memchr(b')', line.rest_of_line()).ok_or("`()` with the command in it")?;
        line.skip(command + 1);
        line.blank()?;
        let plus: fn(&mut Cursor<'_>) -> _ = |line| line.mark(b'+', "`+` and a size");
        let Some((kind, offset, bytes)) = placed(line, kind, plus, (SECTOR, SECTORS))? else {
            return Ok(Entry::Event);
        };
        line.skip_rest();
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn has_stages(&self) -> bool {
        true
    }

    fn holds(&self, _kind: Kind) -> bool {
        true
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, sectors) = whole_sectors(record)?;
        line.extend_from_slice(b"none 0 [000] ");
        push_decimal(line, record.time, 9, 6);
        line.extend_from_slice(b": block:");
        line.extend_from_slice(self.event);
        line.extend_from_slice(b": ");
        push_device(record.volume, b',', line);
        line.push(b' ');
        push_rwbs(record.kind, line);
        if self.event != EVENTS[2] {
            line.push(b' ');
            push_number(line, u64::from(record.bytes));
        }
        line.extend_from_slice(b" () ");
        push_number(line, sector);
        line.extend_from_slice(b" + ");
        push_number(line, sectors);
        line.extend_from_slice(b" [0]");
        Ok(())
    }
}

/// Where the time begins: the first field that is a decimal number and a colon.
fn time_field(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for field in text.split(|&byte| byte == b' ' || byte == b'\t') {
        if let Some(time) = field.strip_suffix(b":")
            && time.first().is_some_and(u8::is_ascii_digit)
            && time.contains(&b'.')
            && time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        {
            return Some(at);
        }
        at += field.len() + 1;
    }
    None
}
