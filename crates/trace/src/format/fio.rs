//! fio's logs of I/O, which `write_iolog` writes and `read_iolog` reads (fio's HOWTO, "Trace file format"). Versions
//! 2 and 3 have their version in the first line; a log without it is version 1.
//!
//! - Version 3: `time file action [offset length]`, times in microseconds.
//! - Version 2: `file action [offset length]`, without times, except that `file wait microseconds` gives the time to
//!   wait since the wait before; a wait below 100 counts as nothing. Requests between two waits arrive together.
//! - Version 1: `operation,offset,length`, 0 = read, 1 = write, 2 = sync, without times.
//!
//! Actions: `read`, `write`, `trim`; `sync` and `datasync` become flushes; `add`, `open` and `close` are skipped. The
//! volume is the file, numbered in order of appearance. The writer writes version 3.

use super::names::{NAMES, Names};
use super::fields::{BYTES, OFFSET, push_numbers};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_number};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "fio",
    about: "fio iolog of version 1, 2 or 3: [time us,] file, action, offset B, size B",
    variants: &[],
    same_as: None,
    separator: Separator::None,
    fields: 3,
    make: |_| Box::<Fio>::default(),
};

/// fio discards shorter waits.
const LEAST_WAIT_US: u64 = 100;
const ACTION: Expected = "one of read, write, trim, sync, datasync, wait, add, open, close";

#[derive(Default)]
struct Fio {
    version: Version,
    /// Microseconds waited so far, for versions without times.
    now: u64,
    requests: u64,
    files: Names,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Version {
    #[default]
    One,
    Two,
    Three,
}

impl LineFormat for Fio {
    fn tick_ns(&self) -> u64 {
        1_000
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        match line.rest_of_line() {
            b"fio version 2 iolog" => self.version = Version::Two,
            b"fio version 3 iolog" => self.version = Version::Three,
            _ if self.version == Version::One => return self.first_version(line),
            _ => return self.later_version(line),
        }
        Ok(Entry::Header)
    }

    fn note(&self) -> Option<String> {
        let timeless = self.requests > 0 && self.version != Version::Three && self.now == 0;
        timeless.then(|| "the log has no times: all requests arrive at once; replay it closed-loop".to_owned())
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"fio version 3 iolog\n");
    }

    fn holds(&self, _kind: Kind) -> bool {
        true
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        // Readers number files as they appear.
        let mut known = self.files.count();
        if record.volume >= NAMES {
            return Err(format!("volume {} is not below {NAMES}; renumber the volumes", record.volume));
        }
        while known <= record.volume {
            for action in [" add\n", " open\n"] {
                push_number(line, record.time);
                line.extend_from_slice(b" volume");
                push_number(line, u64::from(known));
                line.extend_from_slice(action.as_bytes());
            }
            self.files.number(&known.to_be_bytes());
            known += 1;
        }
        push_number(line, record.time);
        line.extend_from_slice(b" volume");
        push_number(line, u64::from(record.volume));
        line.extend_from_slice(match record.kind {
            Kind::Read => b" read ",
            Kind::Write => b" write ",
            Kind::Trim => b" trim ",
            Kind::Flush => b" sync ",
        });
        push_numbers(&[record.offset, u64::from(record.bytes)], b' ', line);
        Ok(())
    }
}

impl Fio {
    fn first_version(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let kind = match line.number("0 (read), 1 (write) or 2 (sync), or `fio version N iolog` before the first request")? {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Flush,
            _ => return Err(line.reject()),
        };
        line.comma()?;
        let offset = line.number(OFFSET)?;
        line.comma()?;
        let bytes = self.length(kind, offset, line)?;
        Ok(self.request(kind, offset, bytes, 0))
    }

    fn later_version(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if self.version == Version::Three {
            let time = line.number("a time: a whole number of microseconds")?;
            line.blank()?;
            self.now = time;
        }
        let file = line.word("the name of a file")?;
        line.blank()?;
        let kind = match line.word(ACTION)? {
            b"read" => Kind::Read,
            b"write" => Kind::Write,
            b"trim" => Kind::Trim,
            b"sync" | b"datasync" => Kind::Flush,
            b"add" | b"open" | b"close" => {
                self.files.number(file).ok_or("one of at most 65536 files")?;
                return Ok(Entry::Event);
            }
            b"wait" if self.version == Version::Two => return self.wait(line),
            _ => return Err(line.reject()),
        };
        let (mut offset, mut bytes) = (0, 0);
        // A sync may come without an offset and a length.
        if kind != Kind::Flush || !matches!(line.next_byte(), b'\n' | b'\r') {
            offset = line.number(OFFSET)?;
            line.blank()?;
            bytes = self.length(kind, offset, line)?;
        }
        let volume = self.files.number(file).ok_or("one of at most 65536 files")?;
        Ok(self.request(kind, offset, bytes, volume))
    }

    fn wait(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        line.blank()?;
        let wait = line.number("a wait: a whole number of microseconds")?;
        if wait >= LEAST_WAIT_US {
            self.now = self.now.checked_add(wait).ok_or_else(|| line.reject())?;
        }
        Ok(Entry::Event)
    }

    /// A flush has no bytes, whatever length its line gives.
    fn length(&self, kind: Kind, offset: u64, line: &mut Cursor<'_>) -> Result<u32, Expected> {
        if kind == Kind::Flush { line.some_number(BYTES).map(|()| 0) } else { line.size(1, offset, BYTES) }
    }

    fn request(&mut self, kind: Kind, offset: u64, bytes: u32, volume: u32) -> Entry {
        self.requests += 1;
        Entry::Request(Record { time: self.now, kind, offset, bytes, volume })
    }
}
