//! FIU traces (Koller and Rangaswami, FAST 2010; SNIA IOTTA 391): `time pid process lba size operation major minor md5`,
//! nanoseconds, sectors of 512 bytes, `R` or `W`; the digests of the contents are not used.
//!
//! The volume is the device as Linux numbers it: the major number in the upper 12 bits, the minor in the lower 20.

use super::fields::{device, letter, push_device, push_letter, push_numbers, sectors, whole_sectors};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_number};

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    about: "FIU (homes, mail, web-vm, online): time ns, pid, process, LBA (512 B), size (512 B), R|W, major, minor, MD5",
    variants: &[],
    same_as: None,
    separator: Separator::Blanks,
    fields: 8,
    make: |_| Box::new(Fiu),
};

struct Fiu;

impl LineFormat for Fiu {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.number("a time: a whole number of nanoseconds")?;
        line.blank()?;
        line.number("a process number")?;
        line.blank()?;
        // The name of a process may contain blanks; only its first word may begin with a digit.
        line.word("the name of a process")?;
        line.blank()?;
        while !line.next_byte().is_ascii_digit() {
            line.word("an address: a whole number of 512 B sectors")?;
            line.blank()?;
        }
        let (offset, bytes) = sectors(line, |line| line.blank())?;
        line.blank()?;
        let kind = letter(line, "the operation `R` or `W`")?;
        line.blank()?;
        let volume = device(line, |line| line.blank())?;
        if line.next_byte().is_ascii_hexdigit() {
            line.word("a digest")?;
        }
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    /// Records have no digest of their content, so the column is left out.
    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let (sector, sectors) = whole_sectors(record)?;
        push_number(line, record.time);
        line.extend_from_slice(b" 0 none ");
        push_numbers(&[sector, sectors], b' ', line);
        line.push(b' ');
        push_letter(record.kind, b"RW", line);
        line.push(b' ');
        push_device(record.volume, b' ', line);
        Ok(())
    }
}
