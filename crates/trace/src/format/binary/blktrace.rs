//! Files of blktrace (Linux, `include/uapi/linux/blktrace_api.h`, version 7): records of 48 bytes and a payload, in
//! the byte order of the traced machine, one file for each CPU.
//!
//! u32 magic 0x65617400 + version, u32 number, u64 time ns, u64 sector (512 B), u32 bytes, u32 action, u32 process,
//! u32 device (major << 20 | minor), u32 CPU, u16 error, u16 length of the payload. The low half of `action` is an
//! event, its high half describes the request. A request passes through several events; the reader takes it at one of
//! them.

use super::bytes::{Bytes, shown, u16_at, u32_at, u64_at};
use super::records::{Bad, BinaryFormat, Item, Records, offset_of};
use crate::format::{Expected, Record, Variant};
use crate::{Kind, TraceError};

pub(super) const FORMAT: BinaryFormat = BinaryFormat {
    name: "blktrace",
    about: "blktrace, binary, requests when they are queued (Q): one file of all CPUs, the folder, or a tar of them",
    variants: &[
        Variant { name: "q", about: "blktrace, requests when they are queued", visible: true },
        Variant { name: "d", about: "blktrace, requests when they are issued to the device", visible: true },
        Variant { name: "c", about: "blktrace, requests when they are completed", visible: true },
    ],
    stages: true,
    detect,
    make: |variant| Box::new(BlkTrace { event: EVENTS[variant], big: None }),
};

/// Events at which requests are taken: queued, issued, completed.
const EVENTS: [u32; 3] = [1, 7, 8];
/// A request that continues to another device.
const REMAP: u32 = 15;

/// Bits of the action's high half.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSED_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const HEADER: usize = 48;
/// Header, and the payload of a remap: two devices and a sector, in network byte order.
const WITH_REMAP: usize = HEADER + 16;

/// The byte order of a record of version 7 that begins with these bytes: big-endian or not. None for any other
/// record.
fn byte_order(magic: [u8; 4]) -> Option<bool> {
    if u32::from_le_bytes(magic) == MAGIC | VERSION {
        Some(false)
    } else if u32::from_be_bytes(magic) == MAGIC | VERSION {
        Some(true)
    } else {
        None
    }
}

/// The first stage whose events the sample contains.
fn detect(sample: &[u8]) -> Option<usize> {
    let big = byte_order(*sample.first_chunk()?)?;
    let (mut found, mut rest) = ([false; 3], sample);
    while let Some((header, behind)) = rest.split_at_checked(HEADER) {
        let action = u32_at(header, 28, big);
        for (found, event) in found.iter_mut().zip(EVENTS) {
            *found |= action >> 16 & NOTIFY == 0 && action & 0xFF == event;
        }
        rest = behind.get(usize::from(u16_at(header, 46, big))..).unwrap_or_default();
        if rest.first_chunk().and_then(|magic| byte_order(*magic)) != Some(big) {
            break;
        }
    }
    Some(found.iter().position(|&found| found).unwrap_or(0))
}

struct BlkTrace {
    event: u32,
    /// The byte order, once it is known.
    big: Option<bool>,
}

impl Records for BlkTrace {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, bytes: &mut Bytes) -> Result<Result<Option<Item>, Bad>, TraceError> {
        let record = bytes.ahead(WITH_REMAP)?;
        let bad = |expected: Expected, found| Ok(Err(Bad { expected, found }));
        let order = record.first_chunk().and_then(|magic| byte_order(*magic));
        if order.is_none() || self.big.is_some_and(|big| order != Some(big)) {
            let found = shown(&record[..record.len().min(4)]);
            return bad("a record, which begins with the magic number 0x65617407", found);
        }
        if record.len() < HEADER {
            return bad("a whole record of 48 bytes", format!("{} bytes", record.len()));
        }
        let big = *self.big.get_or_insert(order == Some(true));
        let payload = usize::from(u16_at(record, 46, big));
        let item = self.item(record, payload, big);
        match item {
            Ok(item) => {
                let skipped = bytes.skip(HEADER + payload)?;
                if skipped < HEADER + payload {
                    return bad("a whole record with its payload", format!("{skipped} bytes"));
                }
                Ok(Ok(item))
            }
            Err(bad) => Ok(Err(bad)),
        }
    }

    fn resume(&mut self, bytes: &mut Bytes) -> Result<(), TraceError> {
        bytes.skip(1)?;
        let big = self.big;
        bytes.skip_until(|magic| byte_order(magic).is_some_and(|order| big.is_none_or(|big| big == order)))
    }
}

impl BlkTrace {
    /// The item that the header, and the available part of the payload, describe.
    fn item(&self, record: &[u8], payload: usize, big: bool) -> Result<Option<Item>, Bad> {
        let action = u32_at(record, 28, big);
        // Newer kernels set a bit above the events for the control group.
        let (event, category) = (action & 0xFF, action >> 16);
        let remap = event == REMAP && payload >= 16 && record.len() >= WITH_REMAP;
        if category & (NOTIFY | PASSED_THROUGH) != 0 || !(event == self.event || remap) {
            return Ok(None);
        }
        let (sector, bytes) = (u64_at(record, 16, big), u32_at(record, 24, big));
        let kind = match bytes {
            0 if category & FLUSH != 0 => Kind::Flush,
            // The end of a flush whose data was written before, and similar events.
            0 => return Ok(None),
            _ if category & DISCARD != 0 => Kind::Trim,
            _ if category & WRITE != 0 => Kind::Write,
            _ => Kind::Read,
        };
        let offset = if kind == Kind::Flush { Some(0) } else { offset_of(sector, bytes) };
        let Some(offset) = offset else {
            return Err(Bad { expected: "a sector within 64-bit addresses", found: sector.to_string() });
        };
        let volume = u32_at(record, 36, big);
        let record_ = Record { time: u64_at(record, 8, big), kind, offset, bytes, volume };
        if event == self.event {
            return Ok(Some(Item::Request(record_)));
        }
        // Kernels have named the two devices in either order; the other device is the record's own.
        let devices = [u32_at(record, HEADER, true), u32_at(record, HEADER + 4, true)];
        let from = devices.into_iter().find(|&device| device != volume);
        Ok(from.map(|from| Item::Remap { record: record_, from }))
    }
}
