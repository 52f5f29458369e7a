//! DiskSim ASCII (Bucy, Schindler, Schlosser and Ganger, "The DiskSim Simulation Environment Version 4.0 Reference
//! Manual", 2008): `time devno blkno bcount flags`, time in decimal milliseconds, blocks of 512 bytes, bit 0 of the
//! flags set for a read. The other bits (1: time-critical) are not used.
//!
//! Traces for DiskSim's models of flash often count sizes in pages of 4 KiB and addresses in blocks of 512 bytes.
//! Such a file does not show it, so the user must name the variant; detection refuses files that look like it.

use super::likely::{FEWEST, Likely, most};
use super::sectors::{SECTOR, WHOLE_TIMES, place_of, push_place_of};
use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, Variant, push_decimal};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII: time ms (decimal), device, block (512 B), blocks, flags (bit 0: 1 = read)",
    variants: &[
        Variant { name: "blocks", about: "DiskSim ASCII with sizes in blocks of 512 B", visible: true },
        Variant { name: "pages", about: "DiskSim ASCII with sizes in pages of 4 KiB", visible: false },
    ],
    same_as: None,
    separator: Separator::Blanks,
    fields: 5,
    make: |variant| Box::new(DiskSim { unit: [SECTOR, PAGE][variant] }),
};

/// Bytes of a page.
const PAGE: u64 = 4096;

struct DiskSim {
    /// Bytes of a unit of size.
    unit: u64,
}

impl LineFormat for DiskSim {
    fn tick_ns(&self) -> u64 {
        1
    }

    #[inline]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.decimal(6, "a time: decimal milliseconds")?;
        let mut record = place_of(self.unit, time, line)?;
        let flags = line.number("flags: a whole number whose bit 0 is set for a read")?;
        record.kind = if flags & 1 == 0 { Kind::Write } else { Kind::Read };
        Ok(Entry::Request(record))
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        push_decimal(line, record.time, 6, 3);
        push_place_of(self.unit, record, line)
    }

    /// Whole times are more likely those of SSDsim and MQSim.
    fn is_typical(&self, line: &[u8]) -> bool {
        line.contains(&b'.')
    }

    fn untypical(&self, typical: u32, _requests: u32) -> Option<&'static str> {
        (typical == 0).then_some(WHOLE_TIMES)
    }

    /// Sizes may be pages if, read as blocks, most requests would be smaller than a page. They are blocks if requests
    /// continue one another in blocks. Otherwise the lines do not show the unit, and a wrong one makes every request
    /// eight times too large or too small, so the user must name it.
    fn likely(&self, sample: &[Record]) -> Likely {
        let units = |record: &Record| u64::from(record.bytes) / self.unit;
        let small = sample.iter().filter(|record| units(record) * SECTOR < PAGE).count();
        if !most(small, sample.len()) {
            return Likely::No;
        }
        let continued = |unit: u64| {
            let continues = |pair: &&[Record]| {
                pair[0].volume == pair[1].volume
                    && pair[0].offset + units(&pair[0]) * unit == pair[1].offset
            };
            sample.windows(2).filter(continues).count()
        };
        let (pages, blocks) = (continued(PAGE), continued(SECTOR));
        let aligned = sample.iter().filter(|record| record.offset.is_multiple_of(PAGE)).count();
        if sample.len() >= FEWEST && most(aligned, sample.len()) {
            return Likely::Rather(
                "most of its requests begin at pages of 4 KiB and are smaller than one, as if sizes were counted in pages",
            );
        }
        if sample.len() >= FEWEST && pages > 2 * blocks && pages * 32 > sample.len() {
            return Likely::Rather(
                "its requests continue one another only if sizes are counted in pages of 4 KiB",
            );
        }
        if blocks > 2 * pages && blocks * 32 > sample.len() {
            return Likely::No;
        }
        if sample.len() < FEWEST {
            return Likely::Maybe;
        }
        Likely::Rather(
            "most of its requests are smaller than 4 KiB, as they are where sizes are counted in pages of 4 KiB",
        )
    }
}
