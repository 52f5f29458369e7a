//! SPC trace format (Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1), as in the
//! UMass traces Financial1, Financial2 and WebSearch1 to 3: `ASU,LBA,Size,Opcode,Timestamp[,more]`.
//!
//! The address counts sectors of 512 bytes from the start of the ASU (application storage unit), the size is in
//! bytes, the opcode's case does not matter, the time is in decimal seconds and is read exactly to the nanosecond.

use super::fields::{letter, push_letter};
use super::{
    Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal, push_number,
};

pub(super) const FORMAT: Format = Format {
    name: "spc",
    about: "SPC (UMass Financial, WebSearch): ASU, LBA (512 B), size B, r|w, time s",
    variants: &[
        Variant { name: "asu", about: "SPC with its column of ASUs", visible: true },
        Variant {
            name: "noasu",
            about: "SPC without the first column, as several derived files have it: LBA, size, r|w, time",
            visible: true,
        },
    ],
    same_as: None,
    separator: Separator::Comma,
    fields: 4,
    make: |variant| Box::new(Spc { asu: variant == 0 }),
};

const SECTOR: u64 = 512;

struct Spc {
    /// Whether lines begin with the number of their ASU.
    asu: bool,
}

impl LineFormat for Spc {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let mut volume = 0;
        if self.asu {
            volume = line.number_u32("an ASU: a whole number")?;
            line.comma()?;
        }
        let offset = line.address(SECTOR, "an LBA: a whole number of 512 B sectors")?;
        line.comma()?;
        let bytes = line.size(1, offset, "a size: a whole number of bytes, not 0, below 4 GiB")?;
        line.comma()?;
        let kind = letter(line, "the opcode `r` or `w`")?;
        line.comma()?;
        let time = line.decimal(9, "a time: decimal seconds")?;
        line.skip_extra_fields();
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        if self.asu {
            push_number(line, u64::from(record.volume));
            line.push(b',');
        } else if record.volume != 0 {
            return Err(format!("volume {} has no column; write `spc`", record.volume));
        }
        let offset = record.offset;
        if !offset.is_multiple_of(SECTOR) {
            return Err(format!("offset {offset} is no multiple of 512; write `msr` or `parquet`"));
        }
        push_number(line, offset / SECTOR);
        line.push(b',');
        push_number(line, u64::from(record.bytes));
        line.push(b',');
        push_letter(record.kind, b"rw", line);
        line.push(b',');
        push_decimal(line, record.time, 9, 6);
        Ok(())
    }

    /// Whole seconds are more likely another format's sizes.
    fn is_typical(&self, line: &[u8]) -> bool {
        line.contains(&b'.')
    }

    fn untypical(&self, typical: u32, _requests: u32) -> Option<&'static str> {
        (typical == 0).then_some(
            "its times are whole numbers, and SPC has decimal seconds: their unit is not sure",
        )
    }
}
