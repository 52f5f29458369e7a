//! vscsi traces of CloudPhysics (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015): little-endian records of one
//! virtual disk.
//!
//! Version 1, 32 bytes: u32 number, u32 bytes, u32 segments, u16 SCSI operation, u16 version, u64 LBA (512 B), u64
//! time in us. Version 2, 40 bytes: u16 operation, u16 version, u32 number, u32 bytes, u32 segments, u64 LBA, u64
//! time, u64 response in us. The high byte of `version` is the version. Operations that move no data are skipped and
//! counted.

use super::bytes::{Bytes, shown, u16_at, u32_at, u64_at};
use super::records::{Bad, BinaryFormat, Item, Records, offset_of};
use crate::format::{Expected, Record, Variant};
use crate::{Kind, TraceError};

pub(super) const FORMAT: BinaryFormat = BinaryFormat {
    name: "vscsi",
    about: "CloudPhysics vscsi, binary: records of 32 or 40 bytes with time us, SCSI operation, LBA (512 B), size B",
    variants: &[
        Variant { name: "v1", about: "vscsi records of version 1, 32 bytes", visible: true },
        Variant { name: "v2", about: "vscsi records of version 2, 40 bytes", visible: true },
    ],
    stages: false,
    detect,
    make: |variant| Box::new(Vscsi(&LAYOUTS[variant])),
};

/// The offsets of the fields.
struct Layout {
    version: u8,
    size: usize,
    operation: usize,
    bytes: usize,
    lba: usize,
    time: usize,
}

static LAYOUTS: [Layout; 2] = [
    Layout { version: 1, size: 32, operation: 12, bytes: 4, lba: 16, time: 24 },
    Layout { version: 2, size: 40, operation: 0, bytes: 8, lba: 16, time: 24 },
];

/// Whole records that detection examines. All must have one version.
const TRIED: usize = 64;

fn detect(sample: &[u8]) -> Option<usize> {
    LAYOUTS.iter().position(|layout| {
        let mut records = sample.chunks_exact(layout.size).take(TRIED);
        let fits = |record| layout.fits(record) && u16_at(record, layout.operation, false) < 0x100;
        sample.len() >= layout.size && records.all(fits)
    })
}

impl Layout {
    fn fits(&self, record: &[u8]) -> bool {
        u16_at(record, self.operation + 2, false) >> 8 == u16::from(self.version)
    }
}

/// The effect of a SCSI operation on data: READ and WRITE with commands of 6, 10, 12 and 16 bytes.
fn kind_of(operation: u16) -> Option<Kind> {
    match operation {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(Kind::Read),
        0x0A | 0x2A | 0xAA | 0x8A => Some(Kind::Write),
        _ => None,
    }
}

struct Vscsi(&'static Layout);

impl Records for Vscsi {
    fn tick_ns(&self) -> u64 {
        1_000
    }

    fn record(&mut self, bytes: &mut Bytes) -> Result<Result<Option<Item>, Bad>, TraceError> {
        let layout = self.0;
        let record = bytes.ahead(layout.size)?;
        let bad = |expected: Expected, found| Ok(Err(Bad { expected, found }));
        if record.len() < layout.size {
            return bad("a whole record of 32 (version 1) or 40 bytes", format!("{} bytes", record.len()));
        }
        if !layout.fits(record) {
            let found = shown(&record[layout.operation + 2..layout.operation + 4]);
            return bad("the version of the records before it", found);
        }
        let item = match kind_of(u16_at(record, layout.operation, false)) {
            None => None,
            Some(kind) => {
                let (size, lba) = (u32_at(record, layout.bytes, false), u64_at(record, layout.lba, false));
                if size == 0 {
                    return bad("a size that is not 0", "0".to_owned());
                }
                let Some(offset) = offset_of(lba, size) else {
                    return bad("an LBA within 64-bit addresses", lba.to_string());
                };
                let time = u64_at(record, layout.time, false);
                Some(Item::Request(Record { time, kind, offset, bytes: size, volume: 0 }))
            }
        };
        bytes.skip(layout.size)?;
        Ok(Ok(item))
    }

    /// Records have one size: the next begins after this one.
    fn resume(&mut self, bytes: &mut Bytes) -> Result<(), TraceError> {
        bytes.skip(self.0.size).map(|_| ())
    }
}
