//! The formats, one file each, and the one list where they register.
//!
//! A text format is a [`Format`] (its names and options) and a `LineFormat` (converts a line to a record, and back).
//! To add a format, write its file and put its name in the list below. Reading, writing, detection, errors and the
//! tests over all formats follow from that.

mod binary;
mod columns;
mod cursor;
mod detect;
mod fields;
mod files;
mod oracle;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod plausible;
mod sectors;

use std::fmt;
use std::str::FromStr;

use plausible::Likely;
use stripewise_base::suggest;

pub use binary::{BINARY_FORMATS, BinaryFormat};
pub(crate) use binary::{BinaryReader, detect as detect_binary, is_tar, order as binary_order};
pub use columns::Columns;
pub(crate) use cursor::{Cursor, Expected, ends_field};
pub(crate) use detect::{Undetected, detect, found, is_header};
pub(crate) use files::{is_blktrace_member, members};
pub(crate) use oracle::{is_oracle_general, refusal as oracle_refusal};

use crate::order::{Clock, Order};
use crate::{Kind, Request, TraceError};

macro_rules! formats {
    ($($file:ident),+ $(,)?) => {
        $(mod $file;)+
        /// Every text format, in the order in which detection prefers them when two fit equally well.
        pub static FORMATS: &[Format] = &[$($file::FORMAT),+];
    };
}

// The list.
formats![
    msr, spc, ssdsim, mqsim, disksim, msps, replayer, systor, alibaba, tencent, k5cloud, fiu, blkparse,
    blkreplay, fio, vscsi_csv, cydonia, biotracer, etw,
];

/// The name of our own Parquet schema, which is no text format: see `docs/reference/trace-schema.md`.
pub const PARQUET: &str = "parquet";

/// A text format: its name, and the reader of its lines.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name for `--format`.
    pub name: &'static str,
    /// Its columns and units, in one line.
    pub about: &'static str,
    /// Its variants, the default first: a name for `--format NAME:VARIANT` and its meaning. Empty if it has none.
    pub variants: &'static [Variant],
    /// A format earlier in the list that detection cannot distinguish from this one and that yields the same
    /// requests.
    pub same_as: Option<&'static str>,
    /// The separator of two fields of a line.
    separator: Separator,
    /// The least number of fields of a line.
    fields: usize,
    /// The reader and writer of lines, for the variant of this index (0 also where there are none).
    make: fn(usize) -> Box<dyn LineFormat>,
}

/// A variant of a format.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name after the colon.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// Whether the lines show it. Detection never chooses a variant that they do not show; it names the variant where
    /// it is likely.
    pub visible: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Comma,
    Blanks,
    /// The format has no common separator; it recognizes its headers itself.
    None,
}

/// A format and its variant, as `--format` names them: `msr`, `ssdsim:us`, `parquet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatName(Chosen);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// Indices into [`FORMATS`] and its variants.
    Text {
        format: usize,
        variant: usize,
    },
    /// Indices into [`BINARY_FORMATS`] and its variants.
    Binary {
        format: usize,
        variant: usize,
    },
    /// Text whose columns the user names.
    Columns(Columns),
    Parquet,
}

/// The request in a line, before times are made relative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Time in the format's own ticks, see [`LineFormat::tick_ns`].
    pub(crate) time: u64,
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) volume: u32,
}

/// The content of a line that its format understands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Request(Record),
    /// Another event: another stage of a request, the opening of a file.
    Event,
    /// Text around the data.
    Header,
}

/// Why the reading of a block stopped before its end: the line at the current position is not a record.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Not understood from this byte of the line on.
    Unreadable { at: usize, expected: Expected },
    /// Older than the line before it, which the caller refuses.
    Backward { back_ns: u64, previous_ns: u64 },
}

/// The progress in a block.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) bytes: usize,
    pub(crate) lines: u64,
    /// The number of lines that were events other than requests,
    pub(crate) events: u64,
    /// and of lines that were text around the data.
    pub(crate) headers: u64,
    pub(crate) stop: Option<Stop>,
}

/// The loss if a format wrote a request that it cannot hold, and the remedy.
pub(crate) type Loss = String;

/// Converts a line to a record, and back.
pub(crate) trait LineFormat: Send {
    /// Nanoseconds a tick of [`Record::time`].
    fn tick_ns(&self) -> u64;

    /// Reads the fields of a line, except its end. Of a line that is no request it reads as much as it needs to know
    /// that.
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected>;

    /// Writes the text before the first line of a file.
    fn head(&self, _out: &mut Vec<u8>) {}

    /// Whether requests of this kind can be written.
    fn holds(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Read | Kind::Write)
    }

    /// The order of the lines, and how the reader handles it.
    fn order(&self) -> Order {
        Order::AsFiled
    }

    /// A note for the user about the lines read so far.
    fn note(&self) -> Option<String> {
        None
    }

    /// Appends `record`, whose kind the format holds, to `line`; no line feed at the end.
    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss>;

    /// How well a line that can be read fits: 2 if it is typical, 1 if another format is likelier.
    fn typical(&self, _line: &[u8]) -> u32 {
        2
    }

    /// How likely a file has this variant, which its lines do not show, judged by a sample of its requests read in
    /// it.
    fn likely(&self, _sample: &[Record]) -> Likely {
        Likely::Maybe
    }

    /// Reads lines from `block`, which ends with a line feed, into `out` until either is exhausted or a line is not a
    /// record. It is called once a block, so the compiler specializes the loop inside it for the one format.
    fn records(&mut self, block: &[u8], clock: &mut Clock, out: &mut Vec<Request>) -> Progress {
        let tick_ns = self.tick_ns();
        let mut progress = Progress { bytes: 0, lines: 0, events: 0, headers: 0, stop: None };
        while progress.bytes < block.len() && out.len() < out.capacity() {
            let mut line = Cursor::new(&block[progress.bytes..]);
            match self.whole_record(&mut line) {
                Ok(Entry::Request(record)) => match clock.stamp(record.time, tick_ns) {
                    Ok(time_ns) => out.push(record.request(time_ns)),
                    Err(stop) => {
                        progress.stop = Some(stop);
                        return progress;
                    }
                },
                Ok(Entry::Event) => progress.events += 1,
                Ok(Entry::Header) => progress.headers += 1,
                Err(expected) => {
                    progress.stop = Some(Stop::Unreadable { at: line.at(), expected });
                    return progress;
                }
            }
            progress.bytes += line.at();
            progress.lines += 1;
        }
        progress
    }

    /// Reads one line with its end, and checks the rules that hold for every format.
    #[inline(always)]
    fn whole_record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let entry = self.record(line)?;
        if !matches!(entry, Entry::Request(_)) {
            line.skip_rest();
        }
        line.end()?;
        Ok(entry)
    }
}

impl Record {
    #[inline]
    fn request(self, time_ns: u64) -> Request {
        Request { time_ns, offset: self.offset, bytes: self.bytes, volume: self.volume, kind: self.kind }
    }
}

impl Chosen {
    /// The reader and writer of lines; none for Parquet.
    pub(crate) fn lines(self) -> Option<Box<dyn LineFormat>> {
        match self {
            Self::Text { format, variant } => Some((FORMATS[format].make)(variant)),
            Self::Columns(columns) => Some(Box::new(columns.lines())),
            Self::Binary { .. } | Self::Parquet => None,
        }
    }

    pub(crate) fn format(self) -> Option<&'static Format> {
        match self {
            Self::Text { format, .. } => Some(&FORMATS[format]),
            Self::Binary { .. } | Self::Columns(_) | Self::Parquet => None,
        }
    }
}

impl FormatName {
    pub(crate) fn chosen(self) -> Chosen {
        self.0
    }

    pub(crate) fn new(chosen: Chosen) -> Self {
        Self(chosen)
    }

    /// Our own Parquet schema.
    pub fn parquet() -> Self {
        Self(Chosen::Parquet)
    }
}

/// Every name that `--format` accepts, with its meaning: for help texts and error messages.
pub fn format_names() -> Vec<(String, String)> {
    let mut names = Vec::new();
    let text = FORMATS.iter().map(|format| (format.name, format.about, format.variants));
    let binary = BINARY_FORMATS.iter().map(|format| (format.name, format.about, format.variants));
    for (name, about, variants) in text.chain(binary) {
        names.push((name.to_owned(), about.to_owned()));
        for variant in variants {
            names.push((format!("{name}:{}", variant.name), variant.about.to_owned()));
        }
    }
    names.push((columns::EXAMPLE.to_owned(), columns::ABOUT.to_owned()));
    names.push((PARQUET.to_owned(), "Parquet file with our own schema".to_owned()));
    names
}

/// The same names in one line.
fn known() -> String {
    let names: Vec<String> = format_names().into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Chosen::Text { format, variant } => match FORMATS[format].variants.get(variant) {
                Some(variant) => write!(f, "{}:{}", FORMATS[format].name, variant.name),
                None => f.write_str(FORMATS[format].name),
            },
            Chosen::Binary { format, variant } => {
                let format = &BINARY_FORMATS[format];
                write!(f, "{}:{}", format.name, format.variants[variant].name)
            }
            Chosen::Columns(columns) => columns.fmt(f),
            Chosen::Parquet => f.write_str(PARQUET),
        }
    }
}

impl FromStr for FormatName {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        if let Some(spec) = text.strip_prefix(columns::PREFIX) {
            return Ok(Self(Chosen::Columns(spec.parse()?)));
        }
        if text.eq_ignore_ascii_case(oracle::NAME) {
            return Err(TraceError::Setting(format!("{}: {}", oracle::NAME, oracle::REFUSAL)));
        }
        let (name, variant) = match text.split_once(':') {
            Some((name, variant)) => (name, Some(variant)),
            None => (text, None),
        };
        let text_format = FORMATS.iter().position(|format| format.name == name);
        let binary_format = BINARY_FORMATS.iter().position(|format| format.name == name);
        let (variants, chosen): (_, &dyn Fn(usize) -> Chosen) = if let Some(format) = text_format {
            (FORMATS[format].variants, &move |variant| Chosen::Text { format, variant })
        } else if let Some(format) = binary_format {
            (BINARY_FORMATS[format].variants, &move |variant| Chosen::Binary { format, variant })
        } else {
            if text == PARQUET {
                return Ok(Self::parquet());
            }
            let names = format_names();
            let remedy = match suggest::nearest(text, names.iter().map(|(name, _)| name.as_str())) {
                Some(near) => format!("did you mean `{near}`? "),
                None => String::new(),
            };
            return Err(TraceError::Setting(format!(
                "unknown trace format `{text}`; {remedy}(formats: {})",
                known()
            )));
        };
        let Some(wanted) = variant else { return Ok(Self(chosen(0))) };
        match variants.iter().position(|variant| variant.name == wanted) {
            Some(variant) => Ok(Self(chosen(variant))),
            None if variants.is_empty() => {
                Err(TraceError::Setting(format!("format `{name}` has no variants; write `{name}`")))
            }
            None => {
                let names: Vec<String> =
                    variants.iter().map(|variant| format!("{name}:{}", variant.name)).collect();
                Err(TraceError::Setting(format!(
                    "unknown variant in `{text}`; write one of {}",
                    names.join(", ")
                )))
            }
        }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Appends a whole number in decimal.
pub(crate) fn push_number(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[first..]);
}

/// Appends `value / 10^places` with the necessary decimals, at least `shown`; without a point if there are none.
pub(crate) fn push_decimal(line: &mut Vec<u8>, value: u64, places: u32, shown: u32) {
    let scale = 10u64.pow(places);
    push_number(line, value / scale);
    let (mut rest, mut unit, mut count) = (value % scale, scale, 0);
    if rest > 0 || shown > 0 {
        line.push(b'.');
    }
    while rest > 0 || count < shown {
        unit /= 10;
        line.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        count += 1;
    }
}
