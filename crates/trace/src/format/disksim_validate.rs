//! DiskSim's validation traces (DiskSim 4.0, `valid/*.trace`, format `validate`; Bucy, Schindler, Schlosser and Ganger,
//! "The DiskSim Simulation Environment Version 4.0 Reference Manual", 2008): `R|W action block blocks service next`,
//! blocks of 512 bytes, decimal microseconds.
//!
//! `next` is the time from this request to the next one. `action` says what the buffer of the traced disk did, and
//! `service` how long it took: they are checked, not used. A line holds the time to a request that is not known yet, so
//! the format is read and not written.

use super::fields::sectors;
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "disksim-validate",
    about: "DiskSim's validation traces: R|W, action of the buffer, block (512 B), blocks, service us, time to the next us",
    variants: &[],
    same_as: None,
    separator: Separator::Blanks,
    fields: 6,
    make: |_| Box::<Validate>::default(),
};

#[derive(Default)]
struct Validate {
    /// When the next request arrives.
    next: u64,
}

impl LineFormat for Validate {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let kind = match line.word("`R` or `W`")? {
            b"R" => Kind::Read,
            b"W" => Kind::Write,
            _ => return Err(line.reject()),
        };
        line.blank()?;
        if !line.word("an action of the buffer, such as Hit or Miss")?.iter().all(u8::is_ascii_alphabetic) {
            return Err(line.reject());
        }
        line.blank()?;
        let (offset, bytes) = sectors(line, |line| line.blank())?;
        line.blank()?;
        line.decimal(3, "a service time: decimal microseconds")?;
        line.blank()?;
        let gap = line.decimal(3, "the time to the next request: decimal microseconds")?;
        let time = self.next;
        self.next = time.checked_add(gap).ok_or_else(|| line.reject())?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn is_written(&self) -> bool {
        false
    }

    fn line(&mut self, _record: &Record, _line: &mut Vec<u8>) -> Result<(), Loss> {
        Err("the format is read and not written; write `disksim` or `parquet`".to_owned())
    }
}
