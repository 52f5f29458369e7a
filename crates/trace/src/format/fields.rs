//! Fields that several formats share, read and written.

use super::{Cursor, Expected, Loss, Record, push_number};
use crate::Kind;

pub(super) const SECTOR: u64 = 512;

pub(super) const OFFSET: Expected = "an offset: a whole number of bytes";
pub(super) const BYTES: Expected = "a size: a whole number of bytes, not 0, below 4 GiB";
pub(super) const LBA: Expected = "an address: a whole number of 512 B sectors";
pub(super) const SECTORS: Expected = "a size: a whole number of 512 B sectors, not 0, below 4 GiB";

/// `R` or `W`, in either case.
#[inline]
pub(super) fn letter(line: &mut Cursor<'_>, wanted: Expected) -> Result<Kind, Expected> {
    match line.word(wanted)? {
        b"r" | b"R" => Ok(Kind::Read),
        b"w" | b"W" => Ok(Kind::Write),
        _ => Err(line.reject()),
    }
}

/// The letter for a read or for a write.
pub(super) fn push_letter(kind: Kind, letters: &[u8; 2], line: &mut Vec<u8>) {
    line.push(letters[usize::from(kind == Kind::Write)]);
}

/// The letters that blktrace, the block layer's tracepoints and their tools give a request: whether it asks for a
/// flush, and its kind, if it has one that carries data. An F before the kind is a flush, B was one in old kernels.
pub(super) fn rwbs(letters: &[u8]) -> (bool, Option<Kind>) {
    let (flush, kind) = match letters {
        [b'F', rest @ ..] => (true, rest.first()),
        rest => (rest.contains(&b'B'), rest.first()),
    };
    let kind = match kind {
        Some(b'R') => Some(Kind::Read),
        Some(b'W') => Some(Kind::Write),
        Some(b'D') => Some(Kind::Trim),
        _ => None,
    };
    (flush, kind)
}

/// The same letters for a kind.
pub(super) fn push_rwbs(kind: Kind, line: &mut Vec<u8>) {
    line.extend_from_slice(match kind {
        Kind::Read => b"R",
        Kind::Write => b"W",
        Kind::Trim => b"D",
        Kind::Flush => b"FF",
    });
}

/// The kind, offset and size of a request: an address in sectors, what `between` reads, and a size in units of `unit`
/// bytes. A request without data is a flush or nothing. Its address may be any number; the cursor stays at its size.
pub(super) fn placed(
    line: &mut Cursor<'_>,
    (flush, kind): (bool, Option<Kind>),
    between: fn(&mut Cursor<'_>) -> Result<(), Expected>,
    (unit, size): (u64, Expected),
) -> Result<Option<(Kind, u64, u32)>, Expected> {
    let sector = line.number(LBA)?;
    between(line)?;
    if line.next_byte() == b'0' {
        return Ok(flush.then_some((Kind::Flush, sector.checked_mul(SECTOR).unwrap_or(0), 0)));
    }
    let Some(kind) = kind else { return Ok(None) };
    let offset = sector.checked_mul(SECTOR).ok_or_else(|| line.reject())?;
    Ok(Some((kind, offset, line.size(unit, offset, size)?)))
}

/// A latency in milliseconds, in nanoseconds. It has a decimal point, which distinguishes it from the numbers of other formats.
pub(super) fn latency(line: &mut Cursor<'_>) -> Result<u64, Expected> {
    let before = *line;
    let latency = line.decimal(6, "a latency: milliseconds with decimals")?;
    let digits = &before.rest_of_line()[..line.at() - before.at()];
    if digits.contains(&b'.') { Ok(latency) } else { Err(line.reject()) }
}

/// Where the last `count` fields of `text` begin, which blanks separate; nothing if there are fewer.
pub(super) fn last_fields(text: &[u8], count: usize) -> Option<usize> {
    let mut rest = text.trim_ascii_end();
    let mut start = None;
    for _ in 0..count {
        let last = rest.len().checked_sub(1)?;
        let begin =
            rest[..last].iter().rposition(|&byte| byte == b' ' || byte == b'\t').map_or(0, |blank| blank + 1);
        start = Some(begin);
        rest = rest[..begin].trim_ascii_end();
    }
    start
}

/// 0 or 1. `read` is the digit of a read; the other is a write.
#[inline]
pub(super) fn bit(line: &mut Cursor<'_>, read: u64, wanted: Expected) -> Result<Kind, Expected> {
    match line.number(wanted)? {
        value if value > 1 => Err(line.reject()),
        value if value == read => Ok(Kind::Read),
        _ => Ok(Kind::Write),
    }
}

/// An LBA and a size, both in sectors, converted to bytes. `between` reads the fields between them.
#[inline]
pub(super) fn sectors(
    line: &mut Cursor<'_>,
    between: fn(&mut Cursor<'_>) -> Result<(), Expected>,
) -> Result<(u64, u32), Expected> {
    let offset = line.address(SECTOR, LBA)?;
    between(line)?;
    Ok((offset, line.size(SECTOR, offset, SECTORS)?))
}

/// The sector at which a request begins, and how many it has.
pub(super) fn whole_sectors(record: &Record) -> Result<(u64, u64), Loss> {
    let (offset, bytes) = (record.offset, u64::from(record.bytes));
    for (name, value) in [("offset", offset), ("size", bytes)] {
        if !value.is_multiple_of(SECTOR) {
            return Err(format!("{name} {value} is no multiple of 512; write `msr` or `parquet`"));
        }
    }
    Ok((offset / SECTOR, bytes / SECTOR))
}

/// Refuses a record that a format without a column of volumes cannot hold.
pub(super) fn one_volume(record: &Record) -> Result<(), Loss> {
    match record.volume {
        0 => Ok(()),
        volume => Err(format!("volume {volume} has no column; write `msr` or `parquet`")),
    }
}

/// The time of a request in a format whose times are dates and begin at `start`.
pub(super) fn dated(record: &Record, start: u64) -> Result<u64, Loss> {
    let time = start.checked_add(record.time);
    time.ok_or_else(|| "the time lies beyond the last date of the format; cut the trace shorter".to_owned())
}

const MINOR_BITS: u32 = 20;
const MAJOR: Expected = "a major device number below 4096";
const MINOR: Expected = "a minor device number below 1048576";

/// A device as Linux numbers it: the major number in the upper 12 bits, the minor in the lower 20.
pub(super) fn device(
    line: &mut Cursor<'_>,
    between: fn(&mut Cursor<'_>) -> Result<(), Expected>,
) -> Result<u32, Expected> {
    let major = line.number_u32(MAJOR)?;
    if major >> (32 - MINOR_BITS) != 0 {
        return Err(line.reject());
    }
    between(line)?;
    let minor = line.number_u32(MINOR)?;
    if minor >> MINOR_BITS != 0 {
        return Err(line.reject());
    }
    Ok(major << MINOR_BITS | minor)
}

pub(super) fn push_device(volume: u32, between: u8, line: &mut Vec<u8>) {
    push_number(line, u64::from(volume >> MINOR_BITS));
    line.push(between);
    push_number(line, u64::from(volume & ((1 << MINOR_BITS) - 1)));
}

/// Appends numbers with `separator` between them.
pub(super) fn push_numbers(values: &[u64], separator: u8, line: &mut Vec<u8>) {
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            line.push(separator);
        }
        push_number(line, value);
    }
}
