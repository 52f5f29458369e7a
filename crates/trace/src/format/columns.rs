//! Text with columns that the user names: `columns:time:ms,volume,offset:sectors,size:bytes,op:r/w`.
//!
//! The columns appear in the order of the file. Each is one of
//!
//! - `time`, with its unit after a colon: `s` (the default), `ms`, `us`, `ns`, or `filetime` for ticks of 100 ns;
//!   decimals are read to the nanosecond;
//! - `offset` and `size`, with their units: `bytes` (the default), `sectors` of 512 bytes, `pages` of 4 KiB;
//! - `op`, with the words for a read and for a write, and optionally for a trim and a flush: `op:0/1`, `op:r/w` (the
//!   default: `r` or `read`, `w` or `write`, in either case), `op:R/W/D/F`;
//! - `volume`, a whole number;
//! - `-`, a column that is not used; `...` at the end, any number of further columns.
//!
//! After semicolons follow `delimiter=comma|tab|semicolon|blank` (comma is the default; `blank` is any number of
//! blanks and tabs) and `header=N`, the number of lines to skip at the beginning.

use std::fmt;
use std::str::FromStr;

use super::{Cursor, Entry, Expected, LineFormat, Loss, Record, push_decimal, push_number};
use crate::{Kind, TraceError};

pub(super) const PREFIX: &str = "columns:";
pub(super) const EXAMPLE: &str = "columns:time:s,op,offset,size";
pub(super) const ABOUT: &str = "any other text, by its columns: time[:s|ms|us|ns|filetime], offset[:bytes|sectors|pages], \
                                size[:…], op[:READ/WRITE], volume, -, ...";

/// The most columns of a line, unused ones included.
const MOST: usize = 24;
/// The most lines of a header; a writer writes the same number.
const MOST_HEADER: u32 = 1000;
/// The most bytes of a word for an operation.
const WORD: usize = 8;

/// The columns of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    columns: [Column; MOST],
    count: usize,
    /// Whether lines may have more columns than these.
    more: bool,
    delimiter: Delimiter,
    header: u32,
    /// The words for operations; none means the default words.
    words: Option<Words>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Unused,
    Time(TimeUnit),
    Offset(SizeUnit),
    Size(SizeUnit),
    Volume,
    Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    /// The unit of time as the power of ten above the nanosecond.
    Decimal(u8),
    Filetime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizeUnit {
    Bytes = 1,
    Sectors = 512,
    Pages = 4096,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delimiter {
    Comma,
    Tab,
    Semicolon,
    Blank,
}

/// The words for a read, a write, a trim and a flush, as far as given; padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Words([[u8; WORD]; 4]);

const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Trim, Kind::Flush];
const TIME_UNITS: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::Decimal(9)),
    ("ms", TimeUnit::Decimal(6)),
    ("us", TimeUnit::Decimal(3)),
    ("ns", TimeUnit::Decimal(0)),
    ("filetime", TimeUnit::Filetime),
];
const SIZE_UNITS: [(&str, SizeUnit); 3] =
    [("bytes", SizeUnit::Bytes), ("sectors", SizeUnit::Sectors), ("pages", SizeUnit::Pages)];
const DELIMITERS: [(&str, Delimiter); 4] = [
    ("comma", Delimiter::Comma),
    ("tab", Delimiter::Tab),
    ("semicolon", Delimiter::Semicolon),
    ("blank", Delimiter::Blank),
];

/// Looks `text` up, or lists the known names.
fn one_of<T: Copy>(what: &str, text: &str, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| *name == text).map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("`{text}` is no {what}; write one of {}", names.join(", "))
    })
}

fn name_of<T: PartialEq>(value: &T, known: &[(&'static str, T)]) -> &'static str {
    known.iter().find(|(_, candidate)| candidate == value).map_or("", |(name, _)| *name)
}

impl FromStr for Columns {
    type Err = TraceError;

    /// Parses the text after `columns:`.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        parse(text).map_err(|reason| {
            TraceError::Setting(format!(
                "{PREFIX}{text}: {reason}; an example: {EXAMPLE};delimiter=tab;header=1"
            ))
        })
    }
}

fn parse(text: &str) -> Result<Columns, String> {
    let mut parts = text.split(';');
    let mut columns = Columns {
        columns: [Column::Unused; MOST],
        count: 0,
        more: false,
        delimiter: Delimiter::Comma,
        header: 0,
        words: None,
    };
    for name in parts.next().unwrap_or_default().split(',') {
        if columns.more {
            return Err("`...` stands for the rest of the columns; it is the last".to_owned());
        }
        if name == "..." {
            columns.more = true;
            continue;
        }
        if columns.count == MOST {
            return Err(format!("more than {MOST} columns; write `...` for those at the end"));
        }
        let (column, words) = column(name)?;
        columns.words = words.or(columns.words);
        let same = |other: &Column| std::mem::discriminant(other) == std::mem::discriminant(&column);
        if column != Column::Unused && columns.columns[..columns.count].iter().any(same) {
            return Err(format!("`{name}` is there twice"));
        }
        columns.columns[columns.count] = column;
        columns.count += 1;
    }
    for (name, there) in [
        ("time", columns.has(|column| matches!(column, Column::Time(_)))),
        ("offset", columns.has(|column| matches!(column, Column::Offset(_)))),
        ("size", columns.has(|column| matches!(column, Column::Size(_)))),
        ("op", columns.has(|column| matches!(column, Column::Operation))),
    ] {
        if !there {
            return Err(format!("there is no column `{name}`, without which nothing can be replayed"));
        }
    }
    for part in parts {
        match part.split_once('=') {
            Some(("delimiter", name)) => columns.delimiter = one_of("delimiter", name, &DELIMITERS)?,
            Some(("header", lines)) => {
                let lines_at_most = lines.parse::<u32>().ok().filter(|&lines| lines <= MOST_HEADER);
                let reason = || format!("`{lines}` is no number of header lines from 0 to {MOST_HEADER}");
                columns.header = lines_at_most.ok_or_else(reason)?;
            }
            _ => return Err(format!("`{part}` is no setting; write delimiter=NAME or header=LINES")),
        }
    }
    Ok(columns)
}

/// A column, and the words for operations that it names.
fn column(text: &str) -> Result<(Column, Option<Words>), String> {
    let (name, unit) = match text.split_once(':') {
        Some((name, unit)) => (name, Some(unit)),
        None => (text, None),
    };
    let size =
        |unit: Option<&str>| one_of("unit of addresses and sizes", unit.unwrap_or("bytes"), &SIZE_UNITS);
    let column = match (name, unit) {
        ("-", None) => Column::Unused,
        ("volume", None) => Column::Volume,
        ("time", unit) => Column::Time(one_of("unit of time", unit.unwrap_or("s"), &TIME_UNITS)?),
        ("offset", unit) => Column::Offset(size(unit)?),
        ("size", unit) => Column::Size(size(unit)?),
        ("op", None) => Column::Operation,
        ("op", Some(spelled)) => return Ok((Column::Operation, Some(words(spelled)?))),
        ("-" | "volume", Some(_)) => return Err(format!("`{name}` has no unit")),
        _ => {
            return Err(format!(
                "`{text}` is no column; write time, offset, size, op, volume, `-` for one that is not used"
            ));
        }
    };
    Ok((column, None))
}

fn words(text: &str) -> Result<Words, String> {
    let mut words = Words([[0; WORD]; 4]);
    let mut count = 0;
    for word in text.split('/') {
        let fits = !word.is_empty() && word.len() <= WORD && word.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits || count == words.0.len() {
            return Err(format!(
                "`op:{text}` should hold the words for a read, a write, and perhaps a trim and a flush, of 1 to {WORD} \
                 letters, as in op:r/w"
            ));
        }
        words.0[count][..word.len()].copy_from_slice(word.as_bytes());
        if words.0[..count].contains(&words.0[count]) {
            return Err(format!("`op:{text}` has `{word}` twice"));
        }
        count += 1;
    }
    if count < 2 { Err(format!("`op:{text}` lacks the word for a write")) } else { Ok(words) }
}

impl Words {
    /// The number of the operation with this word.
    fn position(&self, word: &[u8]) -> Option<usize> {
        self.0.iter().position(|known| !word.is_empty() && trimmed(known) == word)
    }
}

fn trimmed(word: &[u8; WORD]) -> &[u8] {
    &word[..word.iter().position(|&byte| byte == 0).unwrap_or(WORD)]
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (index, column) in self.columns[..self.count].iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match column {
                Column::Unused => f.write_str("-")?,
                Column::Volume => f.write_str("volume")?,
                Column::Time(unit) => write!(f, "time:{}", name_of(unit, &TIME_UNITS))?,
                Column::Offset(unit) => write!(f, "offset:{}", name_of(unit, &SIZE_UNITS))?,
                Column::Size(unit) => write!(f, "size:{}", name_of(unit, &SIZE_UNITS))?,
                Column::Operation => {
                    f.write_str("op")?;
                    let Some(words) = &self.words else { continue };
                    let spelled = words.0.iter().map(|word| String::from_utf8_lossy(trimmed(word)));
                    let spelled: Vec<_> = spelled.filter(|word| !word.is_empty()).collect();
                    write!(f, ":{}", spelled.join("/"))?;
                }
            }
        }
        if self.more {
            f.write_str(",...")?;
        }
        if self.delimiter != Delimiter::Comma {
            write!(f, ";delimiter={}", name_of(&self.delimiter, &DELIMITERS))?;
        }
        if self.header > 0 {
            write!(f, ";header={}", self.header)?;
        }
        Ok(())
    }
}

impl Columns {
    fn has(&self, wanted: fn(&Column) -> bool) -> bool {
        self.columns[..self.count].iter().any(wanted)
    }

    pub(super) fn lines(self) -> ColumnLines {
        ColumnLines { columns: self, header_left: self.header }
    }

    fn delimiter_byte(&self) -> u8 {
        match self.delimiter {
            Delimiter::Comma => b',',
            Delimiter::Tab => b'\t',
            Delimiter::Semicolon => b';',
            Delimiter::Blank => b' ',
        }
    }

    /// Moves to the next column.
    fn separator(&self, line: &mut Cursor<'_>) -> Result<(), Expected> {
        match self.delimiter {
            Delimiter::Comma => line.mark(b',', "`,` and another column"),
            Delimiter::Semicolon => line.mark(b';', "`;` and another column"),
            Delimiter::Tab => line.exactly(b'\t', "a tab and another column"),
            Delimiter::Blank => line.blank(),
        }
    }

    /// A column as text.
    fn text<'a>(&self, line: &mut Cursor<'a>, wanted: Expected) -> &'a [u8] {
        match self.delimiter {
            Delimiter::Blank => line.word(wanted).unwrap_or_default(),
            Delimiter::Tab => line.field_as_is(b'\t', wanted),
            Delimiter::Comma | Delimiter::Semicolon => line.field(self.delimiter_byte(), wanted),
        }
    }

    fn kind(&self, line: &mut Cursor<'_>) -> Result<Kind, Expected> {
        let Some(words) = &self.words else {
            let word = self.text(line, "the operation: r, w, read or write");
            let is = |names: [&[u8]; 2]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
            return match () {
                () if is([b"r", b"read"]) => Ok(Kind::Read),
                () if is([b"w", b"write"]) => Ok(Kind::Write),
                () => Err(line.reject()),
            };
        };
        let word = self.text(line, "one of the words for operations that the format names");
        words.position(word).map(|position| KINDS[position]).ok_or_else(|| line.reject())
    }
}

/// The lines of a text with these columns.
pub(super) struct ColumnLines {
    columns: Columns,
    header_left: u32,
}

impl LineFormat for ColumnLines {
    fn tick_ns(&self) -> u64 {
        1
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        if self.header_left > 0 {
            self.header_left -= 1;
            return Ok(Entry::Header);
        }
        let columns = &self.columns;
        let mut record = Record { time: 0, kind: Kind::Read, offset: 0, bytes: 0, volume: 0 };
        let mut size = 0;
        for (index, &column) in columns.columns[..columns.count].iter().enumerate() {
            if index > 0 {
                columns.separator(line)?;
            }
            match column {
                Column::Unused => {
                    columns.text(line, "a column");
                }
                Column::Time(TimeUnit::Decimal(places)) => {
                    record.time = line.decimal(u32::from(places), "a time: a number")?
                }
                Column::Time(TimeUnit::Filetime) => {
                    record.time = line.address(100, "a filetime: a whole number of 100 ns ticks")?;
                }
                Column::Offset(unit) => {
                    record.offset =
                        line.address(unit as u64, "an offset: a whole number of the unit named")?;
                }
                Column::Size(unit) => {
                    size =
                        line.address(unit as u64, "a size: a whole number of the unit named, below 4 GiB")?;
                    record.bytes = u32::try_from(size).map_err(|_| line.reject())?;
                }
                Column::Volume => record.volume = line.number_u32("a volume: a whole number")?,
                Column::Operation => record.kind = columns.kind(line)?,
            }
        }
        if record.kind == Kind::Flush {
            record.bytes = 0;
        } else if size == 0 || record.offset.checked_add(size).is_none() {
            return Err("a line whose size is not 0 and whose end lies within 64-bit addresses");
        }
        if columns.more {
            line.skip_rest();
        }
        Ok(Entry::Request(record))
    }

    fn head(&self, out: &mut Vec<u8>) {
        // The number of lines that a reader with the same columns skips.
        for _ in 0..self.columns.header {
            out.extend_from_slice(b"#\n");
        }
    }

    fn holds(&self, kind: Kind) -> bool {
        let words = self.columns.words.iter().flat_map(|words| &words.0);
        let spelled = self.columns.words.map_or(2, |_| words.filter(|word| word[0] != 0).count());
        (kind as usize) < spelled
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let columns = &self.columns;
        if record.volume != 0 && !columns.has(|column| *column == Column::Volume) {
            return Err(format!("volume {} has no column; name a column `volume`", record.volume));
        }
        for (index, column) in columns.columns[..columns.count].iter().enumerate() {
            if index > 0 {
                line.push(columns.delimiter_byte());
            }
            match column {
                Column::Unused => line.push(b'-'),
                Column::Time(TimeUnit::Decimal(places)) => {
                    push_decimal(line, record.time, u32::from(*places), 0)
                }
                Column::Time(TimeUnit::Filetime) if record.time.is_multiple_of(100) => {
                    push_number(line, record.time / 100);
                }
                Column::Time(TimeUnit::Filetime) => {
                    return Err(format!("its time, {} ns, is no multiple of 100 ns", record.time));
                }
                Column::Offset(unit) => push_units(line, "offset", record.offset, *unit)?,
                Column::Size(unit) => push_units(line, "size", u64::from(record.bytes), *unit)?,
                Column::Volume => push_number(line, u64::from(record.volume)),
                Column::Operation => match &columns.words {
                    Some(words) => line.extend_from_slice(trimmed(&words.0[record.kind as usize])),
                    None => super::fields::push_letter(record.kind, b"rw", line),
                },
            }
        }
        Ok(())
    }
}

fn push_units(line: &mut Vec<u8>, name: &str, value: u64, unit: SizeUnit) -> Result<(), Loss> {
    let unit = unit as u64;
    if !value.is_multiple_of(unit) {
        return Err(format!("{name} {value} is no multiple of {unit}; name a column `{name}:bytes`"));
    }
    push_number(line, value / unit);
    Ok(())
}
