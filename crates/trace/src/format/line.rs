//! Text formats: what the list says of each, and how it reads and writes its lines.

use std::fmt;

use super::cursor::{Cursor, Expected};
use super::likely::Likely;
use super::record::{Entry, Record, Stop};
use super::undetected::Undetected;
use crate::order::{Clock, Order};
use crate::{Kind, Request};

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
    pub(super) separator: Separator,
    /// The least number of fields of a line.
    pub(super) fields: usize,
    /// The reader and writer of lines, for the variant of this index (0 also where there are none).
    pub(super) make: fn(usize) -> Box<dyn LineFormat>,
}

/// A variant of a format.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name after the colon.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// Whether the lines show it. Detection never chooses a variant that they do not show; it names the variant where
    /// it is likely. Of variants that are stages of requests it chooses the first that has requests.
    pub visible: bool,
}

impl Format {
    /// Whether its variants are stages of requests, each line being one stage.
    pub(crate) fn has_stages(&self) -> bool {
        (self.make)(0).has_stages()
    }

    /// Whether it is written too, and not only read.
    pub fn is_written(&self) -> bool {
        (self.make)(0).is_written()
    }
}

/// What separates two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Blanks,
    /// The format has no common separator; it recognizes its headers itself.
    None,
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
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

    /// Checks the first lines of a file, before any is read.
    fn begin(&mut self, _first_lines: &[u8]) -> Result<(), Undetected> {
        Ok(())
    }

    /// Reads the fields of a line, except its end. Of a line that is no request it reads as much as it needs to know
    /// that.
    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected>;

    /// Writes the text before the first line of a file.
    fn head(&self, _out: &mut Vec<u8>) {}

    /// Whether requests of this kind can be written.
    fn holds(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Read | Kind::Write)
    }

    /// Whether the variants of the format are stages of requests, of which each line shows one.
    fn has_stages(&self) -> bool {
        false
    }

    /// Whether the format is written too, and not only read.
    fn is_written(&self) -> bool {
        true
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

    /// Whether a line that can be read looks as the format's own do; of other lines another format is likelier.
    fn is_typical(&self, _line: &[u8]) -> bool {
        true
    }

    /// Of a file that the format can read: why another format is likelier, where `typical` of its `requests` are
    /// typical lines. The text describes the file.
    fn untypical(&self, _typical: u32, _requests: u32) -> Option<&'static str> {
        None
    }

    /// Why a file with these requests cannot be in this format, and the remedy, where the values show it.
    fn implausible(&self, _sample: &[Record]) -> Option<(String, String)> {
        None
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
