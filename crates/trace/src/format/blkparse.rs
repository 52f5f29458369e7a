//! blkparse's default text (its manual page, "Default output"): `major,minor cpu sequence time pid action rwbs`, and
//! for most actions `sector + sectors [process]`; decimal seconds, sectors of 512 bytes.
//!
//! A request passes through several actions, each with a line. The reader takes requests at one of them: Q (queued:
//! the arrival), D (issued) or C (completed). Detection takes the first of these that has requests. The reader skips
//! and counts lines of other actions and lines without data. In `rwbs`, R, W and D are reads, writes and discards
//! (which become trims). An F before them is a flush: without data the line is a flush; with data the flush is left
//! out, as one line is one request. A summary follows the last line.
//!
//! The volume is the device as Linux numbers it: the major number in the upper 12 bits, the minor in the lower 20. A
//! request to a partition may be queued a second time on its disk: keep one of the two.

use super::fields::{LBA, SECTOR, SECTORS, device, push_device, rwbs, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal, push_number};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    about: "blkparse's default text, requests when queued (Q): device, CPU, number, time s, pid, Q, rwbs, LBA + size (512 B)",
    variants: &[
        Variant { name: "q", about: "blkparse's text, requests when they are queued", visible: true },
        Variant { name: "d", about: "blkparse's text, requests when they are issued to the device", visible: false },
        Variant { name: "c", about: "blkparse's text, requests when they are completed", visible: false },
    ],
    same_as: None,
    separator: Separator::None,
    fields: 7,
    make: |variant| Box::new(BlkParse { action: b"QDC"[variant], written: 0 }),
};

struct BlkParse {
    /// The letter of the action at which requests are taken.
    action: u8,
    written: u64,
}

impl LineFormat for BlkParse {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if is_summary(line) {
            return Ok(Entry::Header);
        }
        let volume = device(line, |line| line.mark(b',', "`,` and a minor device number"))?;
        line.blank()?;
        line.some_number("a CPU: a whole number")?;
        line.blank()?;
        line.some_number("a sequence number")?;
        line.blank()?;
        let time = line.decimal(9, "a time: decimal seconds")?;
        line.blank()?;
        line.some_number("a process number")?;
        line.blank()?;
        let action = line.word("an action, such as Q")?;
        if !action[0].is_ascii_alphabetic() || action.len() > 2 {
            return Err(line.reject());
        }
        if action != [self.action] {
            return Ok(Entry::Event);
        }
        line.blank()?;
        let letters = line.word("the action, such as R or WS")?;
        let (flush, kind) = rwbs(letters);
        if !line.next_byte().is_ascii_digit() {
            let request = Record { time, kind: Kind::Flush, offset: 0, bytes: 0, volume };
            line.skip_rest();
            return Ok(if flush { Entry::Request(request) } else { Entry::Event });
        }
        let offset = line.address(SECTOR, LBA)?;
        let some = line.next_byte() == b'+' && {
            line.skip(1);
            !matches!(line.next_byte(), b'0')
        };
        let (kind, bytes) = match kind {
            Some(kind) if some => (kind, line.size(SECTOR, offset, SECTORS)?),
            None if some => return Ok(Entry::Event),
            _ if flush => (Kind::Flush, 0),
            _ => return Ok(Entry::Event),
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
        self.written += 1;
        push_device(record.volume, b',', line);
        line.extend_from_slice(b" 0 ");
        push_number(line, self.written);
        line.push(b' ');
        push_decimal(line, record.time, 9, 9);
        line.extend_from_slice(b" 0 ");
        line.push(self.action);
        line.extend_from_slice(match record.kind {
            Kind::Read => b" R ",
            Kind::Write => b" W ",
            Kind::Trim => b" D ",
            Kind::Flush => b" FN ",
        });
        push_number(line, sector);
        line.extend_from_slice(b" + ");
        push_number(line, sectors);
        line.extend_from_slice(b" [0]");
        Ok(())
    }
}

/// Whether the line belongs to the summary: `CPU0 (8,0):`, ` Reads Queued: …`, `Throughput (R/W): …`.
fn is_summary(line: &mut Cursor<'_>) -> bool {
    line.next_byte().is_ascii_alphabetic() && line.rest_of_line().contains(&b':')
}
