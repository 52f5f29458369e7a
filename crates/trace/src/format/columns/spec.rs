//! What a specification of columns says, and the names of its units.

use crate::Kind;

/// The columns of a text and their meanings.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) layout: Layout,
    /// In the order of the specification, which is that of the file if columns are counted.
    pub(super) fields: Vec<Field>,
    /// Whether lines may have more columns than these, where columns are counted.
    pub(super) more: bool,
    pub(super) delimiter: Delimiter,
    /// The number of lines before the data, the line of names included.
    pub(super) header: u32,
    pub(super) point: Point,
    /// Conditions that a line must meet to be a request.
    pub(super) filters: Vec<Filter>,
    /// The words for operations; none means the default words.
    pub(super) words: Option<Words>,
}

/// How a line is divided into columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Columns are counted.
    Positions,
    /// A line of the file names the columns.
    Names,
    /// A line is a JSON object.
    Json,
    /// A regular expression has a group for each column.
    Pattern(String),
}

/// A column: its name in the file (empty if columns are counted), and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) source: String,
    pub(super) meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Unused,
    Time(TimeUnit),
    Offset(SizeUnit),
    Size(SizeUnit),
    /// A number, or a name that is numbered in order of appearance.
    Volume(VolumeUnit),
    Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// The unit of time as the power of ten above the nanosecond.
    Decimal(u8),
    Filetime,
    /// A date as ISO 8601 writes it.
    Date,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeUnit {
    Bytes = 1,
    Sectors = 512,
    Kib = 1024,
    Pages = 4096,
    Mib = 1 << 20,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumeUnit {
    Number,
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    Comma,
    Tab,
    Semicolon,
    Blank,
}

/// What separates a number from its decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    Point,
    Comma,
}

/// A line is a request only if its column `source` (a number from 1 if columns are counted) is one of `words`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) source: String,
    pub(super) words: Vec<String>,
}

/// The words for a read, a write, a trim and a flush. The first word of each is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words(pub(super) [Vec<String>; 4]);

pub(super) const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Trim, Kind::Flush];

/// The words for operations in either case, unless the specification has its own. The first of each is written.
pub(super) const DEFAULT_WORDS: [&[&str]; 4] =
    [&["r", "read"], &["w", "write"], &["d", "discard", "trim", "unmap"], &["f", "flush"]];

pub(super) const SECONDS: TimeUnit = TimeUnit::Decimal(9);
pub(super) const TIME_UNITS: [(&str, TimeUnit); 6] = [
    ("s", SECONDS),
    ("ms", TimeUnit::Decimal(6)),
    ("us", TimeUnit::Decimal(3)),
    ("ns", TimeUnit::Decimal(0)),
    ("filetime", TimeUnit::Filetime),
    ("date", TimeUnit::Date),
];
pub(super) const SIZE_UNITS: [(&str, SizeUnit); 5] = [
    ("bytes", SizeUnit::Bytes),
    ("sectors", SizeUnit::Sectors),
    ("kib", SizeUnit::Kib),
    ("pages", SizeUnit::Pages),
    ("mib", SizeUnit::Mib),
];
pub(super) const VOLUME_UNITS: [(&str, VolumeUnit); 2] =
    [("number", VolumeUnit::Number), ("name", VolumeUnit::Name)];
pub(super) const DELIMITERS: [(&str, Delimiter); 4] = [
    ("comma", Delimiter::Comma),
    ("tab", Delimiter::Tab),
    ("semicolon", Delimiter::Semicolon),
    ("blank", Delimiter::Blank),
];
pub(super) const POINTS: [(&str, Point); 2] = [("point", Point::Point), ("comma", Point::Comma)];

impl Spec {
    /// A specification without columns.
    pub(super) fn new(layout: Layout) -> Self {
        let header = u32::from(layout == Layout::Names);
        Self {
            layout,
            fields: Vec::new(),
            more: false,
            delimiter: Delimiter::Comma,
            header,
            point: Point::Point,
            filters: Vec::new(),
            words: None,
        }
    }

    pub(super) fn has(&self, wanted: fn(Meaning) -> bool) -> bool {
        self.fields.iter().any(|field| wanted(field.meaning))
    }

    /// The operation that `word` stands for.
    pub(super) fn kind(&self, word: &[u8]) -> Option<Kind> {
        let position = match &self.words {
            Some(Words(words)) => {
                words.iter().position(|known| known.iter().any(|known| known.as_bytes() == word))
            }
            None => default_kind(word),
        };
        position.map(|position| KINDS[position])
    }

    /// The word that is written for an operation, if there is one.
    pub(super) fn word(&self, kind: Kind) -> Option<&str> {
        match &self.words {
            Some(Words(words)) => words[kind as usize].first().map(String::as_str),
            None => DEFAULT_WORDS[kind as usize].first().copied(),
        }
    }
}

/// The number of the operation that a default word stands for.
pub(super) fn default_kind(word: &[u8]) -> Option<usize> {
    DEFAULT_WORDS
        .iter()
        .position(|known| known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())))
}

impl Meaning {
    /// The name of the column in a specification.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unused => "-",
            Self::Time(_) => "time",
            Self::Offset(_) => "offset",
            Self::Size(_) => "size",
            Self::Volume(_) => "volume",
            Self::Operation => "op",
        }
    }
}

impl Delimiter {
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Semicolon => b';',
            Self::Blank => b' ',
        }
    }
}

impl Point {
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Point => b'.',
            Self::Comma => b',',
        }
    }
}

/// Looks `text` up, or lists the known names.
pub(super) fn one_of<T: Copy>(what: &str, text: &str, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| *name == text).map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("`{text}` is no {what}; write one of {}", names.join(", "))
    })
}

pub(super) fn name_of<T: PartialEq>(value: &T, known: &[(&'static str, T)]) -> &'static str {
    known.iter().find(|(_, candidate)| candidate == value).map_or("", |(name, _)| *name)
}
