//! blkreplay `.load` (Schöbel-Theuer): `start ; sector ; length ; op ; replay_delay ; replay_duration`, decimal
//! seconds, sectors of 512 bytes, `R` or `W`. The last two belong to a replay and are not used.
//!
//! A text of any number of lines precedes the data and ends with the names of the columns. It may occur more than
//! once. After the first request, a line of text is one that begins with no digit and has no semicolon.

use super::fields::{one_volume, push_letter, sectors, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_decimal};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "blkreplay",
    about: "blkreplay .load: time s (decimal) ; LBA (512 B) ; size (512 B) ; R|W ; 0.0 ; 0.0, behind a text",
    variants: &[],
    same_as: None,
    separator: Separator::None,
    fields: 6,
    make: |_| Box::new(BlkReplay),
};

struct BlkReplay;

fn semicolon(line: &mut Cursor<'_>) -> Result<(), Expected> {
    line.mark(b';', "`;` and another field")
}

impl LineFormat for BlkReplay {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if is_text(line) {
            return Ok(Entry::Header);
        }
        let time = line.decimal(9, "a time: decimal seconds")?;
        semicolon(line)?;
        let (offset, bytes) = sectors(line, semicolon)?;
        semicolon(line)?;
        // As in blktrace's texts, letters for read-ahead, sync and others may follow.
        let kind = match line.word("the operation, `R` or `W` first")? {
            [b'R', more @ ..] if more.iter().all(u8::is_ascii_uppercase) => Kind::Read,
            [b'W', more @ ..] if more.iter().all(u8::is_ascii_uppercase) => Kind::Write,
            _ => return Err(line.reject()),
        };
        semicolon(line)?;
        line.decimal(9, "a delay: decimal seconds")?;
        semicolon(line)?;
        line.decimal(9, "a duration: decimal seconds")?;
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume: 0 }))
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n");
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        one_volume(record)?;
        let (sector, sectors) = whole_sectors(record)?;
        push_decimal(line, record.time, 9, 9);
        for value in [sector, sectors] {
            line.extend_from_slice(b" ; ");
            super::push_number(line, value);
        }
        line.extend_from_slice(b" ; ");
        push_letter(record.kind, b"RW", line);
        line.extend_from_slice(b" ; 0.0 ; 0.0");
        Ok(())
    }
}

/// Whether the line belongs to the text before the data: the names of the columns, or a line without a leading digit
/// and a semicolon.
fn is_text(line: &mut Cursor<'_>) -> bool {
    let first = line.next_byte();
    if first.is_ascii_digit() || first == b'\n' || first == b'\r' {
        return false;
    }
    let text = line.rest_of_line();
    text.starts_with(b"start") || !text.contains(&b';')
}
