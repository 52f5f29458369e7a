//! MSR Cambridge CSV (Narayanan, Donnelly and Rowstron, FAST 2008; SNIA IOTTA 388):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! The volume is the disk number, plus 65536 for each further host name in a file that holds several, in the order
//! in which they appear. The response time belongs to the traced machine: it is checked, not used, and written as 0.

use std::collections::BTreeMap;

use super::{Cursor, Entry, Expected, Format, LineFormat, Loss, Record, Separator, push_number};
use crate::Kind;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge CSV: filetime (100 ns), host, disk, Read|Write, offset B, size B, response (100 ns)",
    variants: &[],
    same_as: None,
    separator: Separator::Comma,
    fields: 7,
    make: |_| Box::<Msr>::default(),
};

/// The time of the first written request, since requests carry no date: 22 February 2007, 5 pm UTC, as in the MSR
/// traces.
const WRITTEN_START: u64 = 128_166_372_000_000_000;

/// The filetimes at the start of 1980 and 2200, between which traces are made.
const FILETIME_1980: u64 = 119_600_064_000_000_000;
const FILETIME_2200: u64 = FILETIME_1980 + 220 * TICKS_A_YEAR;
/// Ticks of 100 ns in a mean year of 365.2425 days.
const TICKS_A_YEAR: u64 = 315_569_520_000_000;
/// The same years in seconds since 1970.
const UNIX_1980_TO_2200: std::ops::Range<u64> = 315_532_800..7_258_118_400;

/// The most hosts, and the most disks a host: each takes half of a volume's number.
const HALF: u32 = 1 << 16;

#[derive(Default)]
struct Msr {
    /// `host,disk,` of the previous line, nearly always this line's too, and its volume.
    last: Option<(Word, u32)>,
    /// Every host so far and its number.
    hosts: BTreeMap<Vec<u8>, u32>,
}

/// A text of at most sixteen bytes as a little-endian number, which of those bytes count, and how many.
#[derive(Clone, Copy)]
struct Word {
    text: u128,
    mask: u128,
    length: usize,
}

impl Word {
    fn new(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > 16 {
            return None;
        }
        let number = text.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte));
        Some(Self { text: number, mask: u128::MAX >> (128 - 8 * text.len()), length: text.len() })
    }

    /// Whether the next bytes of a line begin with this text.
    #[inline(always)]
    fn begins(&self, ahead: u128) -> bool {
        ahead & self.mask == self.text
    }
}

/// The two kinds of request as the first bytes of a word: text, mask and length.
const KINDS: [(u64, u64, usize); 2] = [
    (u64::from_le_bytes(*b"Read,\0\0\0"), u64::MAX >> 24, 5),
    (u64::from_le_bytes(*b"Write,\0\0"), u64::MAX >> 16, 6),
];

impl LineFormat for Msr {
    fn tick_ns(&self) -> u64 {
        100
    }

    #[inline(always)]
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let time = line.number("a filetime: a whole number of 100 ns ticks")?;
        line.comma()?;
        let volume = match self.last {
            Some((last, volume)) if last.begins(line.ahead()) => {
                line.skip(last.length);
                volume
            }
            _ => {
                let outcome;
                (*line, outcome) = self.volume(*line);
                outcome?
            }
        };
        // Reads and writes come mixed: arithmetic avoids a branch that would often be mispredicted.
        let ahead = line.ahead() as u64;
        let mut write = ahead as u8 == b'W';
        let (text, mask, length) = KINDS[usize::from(write)];
        if ahead & mask == text {
            line.skip(length);
        } else {
            let outcome;
            (*line, outcome) = unusual_kind(*line);
            write = outcome?;
        }
        let offset = line.number("an offset: a whole number of bytes")?;
        line.comma()?;
        let bytes = line.size(1, offset, "a size: a whole number of bytes, not 0, below 4 GiB")?;
        line.comma()?;
        line.some_number("a response time: a whole number of 100 ns ticks")?;
        let kind = if write { Kind::Write } else { Kind::Read };
        Ok(Entry::Request(Record { time, kind, offset, bytes, volume }))
    }

    /// Times before 1980 or after 2200 are no filetimes. They are relative, or count from another year in another unit.
    fn implausible(&self, sample: &[Record]) -> Option<(String, String)> {
        let first = sample.first()?.time;
        if (FILETIME_1980..FILETIME_2200).contains(&first) {
            return None;
        }
        let units = [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)];
        let unix = units.into_iter().find(|(_, ticks)| UNIX_1980_TO_2200.contains(&(first / ticks)));
        let year = 1601 + first / TICKS_A_YEAR;
        let spec = |unit: &str| format!("--columns 'time:{unit},-,volume,op:Read/Write,offset,size,...'");
        Some(match unix {
            Some((unit, _)) => (
                format!("its first time, {first}, lies in the year {year}; it is likely Unix time in {unit}"),
                format!("give {}, or --format msr if they are filetimes", spec(unit)),
            ),
            None => (
                format!("its first time, {first}, lies in the year {year}: its times are relative or in another unit"),
                format!(
                    "give --format msr if they count 100 ns, or their unit, likely us: {} (or time:ms, time:ns, time:s)",
                    spec("us")
                ),
            ),
        })
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let (host, disk) = (record.volume / HALF, record.volume % HALF);
        // Readers number hosts as they appear.
        let known = self.hosts.len() as u32;
        if host > known {
            return Err(format!(
                "volume {} belongs to host {host} of an MSR file, but {known} stood before it; number the \
                 volumes below {HALF}",
                record.volume
            ));
        }
        if host == known {
            self.hosts.insert(host.to_be_bytes().to_vec(), host);
        }
        let time = WRITTEN_START.checked_add(record.time);
        push_number(line, time.ok_or("the time lies beyond the last filetime; cut the trace shorter")?);
        line.extend_from_slice(b",host");
        push_number(line, u64::from(host));
        line.push(b',');
        push_number(line, u64::from(disk));
        line.extend_from_slice(if record.kind == Kind::Write { b",Write," } else { b",Read," });
        push_number(line, record.offset);
        line.push(b',');
        push_number(line, u64::from(record.bytes));
        line.extend_from_slice(b",0");
        Ok(())
    }
}

impl Msr {
    /// Reads the host and disk where they differ from the line before.
    #[cold]
    fn volume<'a>(&mut self, mut line: Cursor<'a>) -> (Cursor<'a>, Result<u32, Expected>) {
        let volume = self.try_volume(&mut line);
        (line, volume)
    }

    fn try_volume(&mut self, line: &mut Cursor<'_>) -> Result<u32, Expected> {
        let host = line.word("a host name")?;
        let known = self.hosts.len() as u32;
        let number = match self.hosts.get(host) {
            Some(&number) => number,
            None if known < HALF => known,
            None => {
                line.reject();
                return Err("one of at most 65536 hosts");
            }
        };
        line.comma()?;
        let disk = line.number_u32("a disk number below 65536")?;
        if disk >= HALF {
            return Err(line.reject());
        }
        line.comma()?;
        if number == known {
            self.hosts.insert(host.to_vec(), number);
        }
        let volume = number * HALF + disk;
        let mut prefix = host.to_vec();
        prefix.push(b',');
        push_number(&mut prefix, u64::from(disk));
        prefix.push(b',');
        self.last = Word::new(&prefix).map(|prefix| (prefix, volume));
        Ok(volume)
    }
}

/// `READ`, `w` and the like.
#[cold]
fn unusual_kind(mut line: Cursor<'_>) -> (Cursor<'_>, Result<bool, Expected>) {
    let outcome = line.word("`Read` or `Write`").and_then(|word| {
        let write = word.eq_ignore_ascii_case(b"write") || word.eq_ignore_ascii_case(b"w");
        if !write && !word.eq_ignore_ascii_case(b"read") && !word.eq_ignore_ascii_case(b"r") {
            return Err(line.reject());
        }
        line.comma()?;
        Ok(write)
    });
    (line, outcome)
}
