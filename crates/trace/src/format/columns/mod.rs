//! Text with columns that the user names: `columns:time:ms,volume,offset:sectors,size:bytes,op:r/w`.
//!
//! Columns are counted, in the order of the file, or named as a line of the file, the keys of JSON or the groups of a
//! regular expression name them: `time=Timestamp:us,op=Type,offset=Offset,size=Length`, `json:time=ts:us,…`,
//! `regex:(?<time_us>…)…`. Each is one of
//!
//! - `time`, with its unit after a colon: `s` (the default), `ms`, `us`, `ns`, `filetime` for ticks of 100 ns, `date`
//!   for dates of ISO 8601; decimals are read to the nanosecond;
//! - `offset` and `size`, with their units: `bytes` (the default), `sectors` of 512 bytes, `pages` of 4 KiB, `kib`, `mib`;
//! - `op`, with the words for a read and for a write, and optionally for a trim and a flush: `op:0/1`, `op:R|RA/W|WS/D/F`;
//!   the default is `r` or `read`, `w` or `write`, `d`, `discard`, `trim` or `unmap`, `f` or `flush`, in either case;
//! - `volume`, a whole number, or `volume:name` for names, which are numbered in order of appearance;
//! - where columns are counted, `-`, a column that is not used; `...` at the end, any number of further columns.
//!
//! After semicolons follow `delimiter=comma|tab|semicolon|blank` (comma is the default; `blank` is any number of
//! blanks and tabs), `header=N` (the number of lines before the data), `decimal=comma`, and `only=COLUMN:WORD/WORD`.
//! [`detect`] finds the columns of a file that names them obviously.

pub(super) mod detect;
mod json;
mod names;
mod parse;
mod pattern;
mod read;
mod spec;
mod split;
mod values;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::TraceError;
use read::ColumnLines;
use spec::Spec;

pub(super) const PREFIX: &str = "columns:";
pub(super) const EXAMPLE: &str = "columns:time:s,op,offset,size";
pub(super) const ABOUT: &str = "any other text, by its columns: time[:s|ms|us|ns|filetime|date], \
                                offset[:bytes|sectors|pages], size[:…], op[:READ/WRITE], volume, -, ...; by the names \
                                in its header: time=NAME[:UNIT],…; json:…; regex:…";

/// The most specifications that one process may have read. Each takes a few kilobytes at most.
const MOST: usize = if cfg!(fuzzing) { 1 << 22 } else { 1 << 16 };

/// The columns of a text. Equal specifications are the same entry of one table, which lives as long as the process.
#[derive(Clone, Copy)]
pub struct Columns(&'static Entry);

struct Entry {
    spec: Spec,
    /// The specification in full.
    text: String,
}

/// The specifications of this process by their texts.
static TABLE: Mutex<BTreeMap<String, &'static Entry>> = Mutex::new(BTreeMap::new());

impl Columns {
    fn new(spec: Spec) -> Result<Self, String> {
        let text = parse::text(&spec);
        let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&entry) = table.get(&text) {
            return Ok(Self(entry));
        }
        if table.len() >= MOST {
            return Err(format!("this process has read {MOST} other specifications; start it again"));
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry { spec, text: text.clone() }));
        table.insert(text, entry);
        Ok(Self(entry))
    }

    fn spec(self) -> &'static Spec {
        &self.0.spec
    }

    pub(super) fn lines(self) -> ColumnLines {
        ColumnLines::new(self.spec())
    }
}

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Columns {}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Columns({})", self.0.text)
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&self.0.text)
    }
}

impl FromStr for Columns {
    type Err = TraceError;

    /// Parses the text after `columns:`.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        parse::parse(text).and_then(Self::new).map_err(|reason| {
            let mut shown: String = text.chars().take(200).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            TraceError::Setting(format!(
                "{PREFIX}{shown}: {reason}; an example: {EXAMPLE};delimiter=tab;header=1"
            ))
        })
    }
}
