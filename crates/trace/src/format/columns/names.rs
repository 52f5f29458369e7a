//! The columns that obvious names stand for: `Timestamp (us)`, `lba`, `size_bytes`, `is_write`.

use super::parse::is_printable;
use super::spec::{SECONDS, SizeUnit, TimeUnit, Words};

/// The meaning of a column by its name, with its unit if the name has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time(Option<TimeUnit>),
    Offset(Option<SizeUnit>),
    Size(Option<SizeUnit>),
    Volume,
    /// With the words for operations, if the name is a question.
    Operation(Option<Words>),
}

const TIMES: &[&str] = &[
    "time",
    "timestamp",
    "ts",
    "datetime",
    "arrival",
    "arrivaltime",
    "issuetime",
    "submittime",
    "starttime",
    "requesttime",
    "reqtime",
    "iotime",
    "eventtime",
];
const OPERATIONS: &[&str] = &[
    "op",
    "ops",
    "operation",
    "operations",
    "operationtype",
    "type",
    "rw",
    "readwrite",
    "opcode",
    "action",
    "iotype",
    "optype",
    "requesttype",
    "reqtype",
    "accesstype",
    "command",
    "cmd",
    "direction",
    "rwflag",
    "iokind",
];
const OFFSETS: &[&str] = &[
    "offset",
    "offsets",
    "address",
    "addr",
    "pos",
    "position",
    "startoffset",
    "startaddress",
    "byteoffset",
    "fileoffset",
    "diskoffset",
];
/// Addresses in sectors of 512 bytes.
const SECTOR_OFFSETS: &[&str] =
    &["lba", "slba", "startlba", "sector", "startsector", "sectornumber", "sectornum", "lbn", "startinglba"];
const SIZES: &[&str] = &[
    "size",
    "sizes",
    "length",
    "len",
    "count",
    "iosize",
    "requestsize",
    "reqsize",
    "transfersize",
    "datalength",
    "datalen",
    "iolength",
    "blocks",
    "nblocks",
    "numblocks",
    "blockcount",
];
const BYTE_SIZES: &[&str] = &["bytes", "nbytes", "numbytes", "bytecount", "sizebytes"];
const SECTOR_SIZES: &[&str] =
    &["sectors", "nsectors", "numsectors", "nrsectors", "sectorcount", "sectorscount"];
const VOLUMES: &[&str] = &[
    "volume",
    "volumes",
    "vol",
    "volumeid",
    "volumenumber",
    "volid",
    "device",
    "deviceid",
    "devicenumber",
    "dev",
    "devno",
    "devid",
    "disk",
    "diskid",
    "disknumber",
    "diskno",
    "lun",
    "lunid",
    "drive",
    "driveid",
    "namespace",
    "nsid",
    "asu",
];

const TIME_WORDS: &[(&[&str], TimeUnit)] = &[
    (&["s", "sec", "secs", "second", "seconds"], SECONDS),
    (&["ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"], TimeUnit::Decimal(6)),
    (&["us", "usec", "usecs", "micro", "micros", "microsecond", "microseconds"], TimeUnit::Decimal(3)),
    (&["ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds"], TimeUnit::Decimal(0)),
    (&["filetime"], TimeUnit::Filetime),
    (&["iso", "iso8601", "date", "utc"], TimeUnit::Date),
];
const SIZE_WORDS: &[(&[&str], SizeUnit)] = &[
    (&["b", "byte", "bytes"], SizeUnit::Bytes),
    (&["sector", "sectors", "512b"], SizeUnit::Sectors),
    (&["kib"], SizeUnit::Kib),
    (&["page", "pages", "4k", "4kib"], SizeUnit::Pages),
    (&["mib"], SizeUnit::Mib),
];

/// The most bytes of an obvious name.
const MOST_BYTES: usize = 64;

/// The meaning of a column with this name; none if the name is not obvious, or if no specification can have it.
pub(super) fn role(name: &str) -> Option<Role> {
    if name.len() > MOST_BYTES || !is_printable(name) {
        return None;
    }
    let words = words(name);
    let (unit, stem) = words.split_last()?;
    let known = by_stem(&words.concat());
    if known.is_some() || stem.is_empty() {
        return known;
    }
    let role = by_stem(&stem.concat())?;
    match role {
        Role::Time(None) => Some(Role::Time(Some(unit_of(unit, TIME_WORDS)?))),
        Role::Offset(_) => Some(Role::Offset(Some(unit_of(unit, SIZE_WORDS)?))),
        Role::Size(_) => Some(Role::Size(Some(unit_of(unit, SIZE_WORDS)?))),
        _ => None,
    }
}

fn unit_of<T: Copy>(word: &str, units: &[(&[&str], T)]) -> Option<T> {
    units.iter().find(|(words, _)| words.contains(&word)).map(|&(_, unit)| unit)
}

fn by_stem(stem: &str) -> Option<Role> {
    const YES: [&str; 4] = ["1", "true", "True", "TRUE"];
    const NO: [&str; 4] = ["0", "false", "False", "FALSE"];
    let question = |read: [&str; 4], write: [&str; 4]| {
        let list = |words: [&str; 4]| words.map(str::to_owned).to_vec();
        Some(Role::Operation(Some(Words([list(read), list(write), Vec::new(), Vec::new()]))))
    };
    match stem {
        _ if TIMES.contains(&stem) => Some(Role::Time(None)),
        "filetime" => Some(Role::Time(Some(TimeUnit::Filetime))),
        _ if OPERATIONS.contains(&stem) => Some(Role::Operation(None)),
        "iswrite" | "write" => question(NO, YES),
        "isread" | "read" => question(YES, NO),
        _ if OFFSETS.contains(&stem) => Some(Role::Offset(None)),
        _ if SECTOR_OFFSETS.contains(&stem) => Some(Role::Offset(Some(SizeUnit::Sectors))),
        _ if SIZES.contains(&stem) => Some(Role::Size(None)),
        _ if BYTE_SIZES.contains(&stem) => Some(Role::Size(Some(SizeUnit::Bytes))),
        _ if SECTOR_SIZES.contains(&stem) => Some(Role::Size(Some(SizeUnit::Sectors))),
        _ if VOLUMES.contains(&stem) => Some(Role::Volume),
        _ => None,
    }
}

impl Role {
    /// The words for operations that the name of the column implies.
    pub(super) fn words(&self) -> Option<Words> {
        match self {
            Self::Operation(words) => words.clone(),
            _ => None,
        }
    }
}

/// The words of a name in lower case: `startTime (µs)` has `start`, `time` and `us`. A capital behind a small letter begins
/// a word.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let letter = if matches!(letter, 'µ' | 'μ') { 'u' } else { letter };
        let is_part = letter.is_alphanumeric();
        if (!is_part || (letter.is_uppercase() && was_small))
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if is_part && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty() && word != "in");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obvious_names_have_their_meaning_and_unit_in_any_spelling() {
        let us = Some(TimeUnit::Decimal(3));
        for name in [
            "time_us",
            "Time (us)",
            "TIMESTAMP_US",
            "timestampUs",
            "ts[µs]",
            "time in microseconds",
            "Start-Time/usec",
        ] {
            assert_eq!(role(name), Some(Role::Time(us)), "{name}");
        }
        for (name, wanted) in [
            ("Timestamp", Some(Role::Time(None))),
            ("timestamp_s", Some(Role::Time(Some(SECONDS)))),
            ("time_s", Some(Role::Time(Some(SECONDS)))),
            ("lba", Some(Role::Offset(Some(SizeUnit::Sectors)))),
            ("LBA_bytes", Some(Role::Offset(Some(SizeUnit::Bytes)))),
            ("offset", Some(Role::Offset(None))),
            ("Offset(B)", Some(Role::Offset(Some(SizeUnit::Bytes)))),
            ("size_sectors", Some(Role::Size(Some(SizeUnit::Sectors)))),
            ("nbytes", Some(Role::Size(Some(SizeUnit::Bytes)))),
            ("Num Sectors", Some(Role::Size(Some(SizeUnit::Sectors)))),
            ("DiskNumber", Some(Role::Volume)),
            ("IOType", Some(Role::Operation(None))),
            ("time_bytes", None),
            ("size_ms", None),
            ("size_kb", None),
            ("ResponseTime", None),
            ("latency_us", None),
            ("Hostname", None),
            ("", None),
            ("(us)", None),
            ("time\u{6}us", None),
            ("\u{FEFF}time", None),
            (&format!("time{}us", " ".repeat(MOST_BYTES)), None),
        ] {
            assert_eq!(role(name), wanted, "{name}");
        }
        assert!(matches!(role("is_write"), Some(Role::Operation(Some(_)))));
    }
}
