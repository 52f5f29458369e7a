//! Reads lines by a specification of their columns.

use std::collections::BTreeMap;

use regex::bytes::{CaptureLocations, Regex};

use super::json;
use super::spec::{Delimiter, Layout, Meaning, Spec, TimeUnit, VolumeUnit};
use super::split::{MOST_NAMES, Span, names, split};
use super::write::Output;
use super::{pattern, values};
use crate::Kind;
use crate::format::{Cursor, Entry, Expected, LineFormat, Loss, Record, Undetected};

/// The most names of volumes.
const MOST_VOLUMES: usize = 1 << 16;

const HEADER: Expected = "a header with the names of the columns";
const BEYOND: Expected = "a request that ends before 2^64 bytes (its offset is too large)";
const SIZE: Expected = "a size: a whole number of the unit named, below 4 GiB";
const NO_SIZE: Expected =
    "a size that is not 0, as every request but a flush has (to skip up to N such lines: --skip-bad N)";

/// A place in a line, and what should be there.
type Fault = (usize, Expected);

/// The places of the columns in a line.
#[derive(Debug)]
struct Plan {
    /// Each column that is used, with its place among the spans.
    roles: Vec<(usize, Meaning)>,
    operation: usize,
    /// The places of the columns that the filters of the specification look at.
    filters: Vec<usize>,
    /// The number of columns to find in a line.
    columns: usize,
    /// The place of a date.
    date_at: Option<usize>,
}

/// The lines of a text with these columns.
pub(in crate::format) struct ColumnLines {
    pub(super) spec: &'static Spec,
    header_left: u32,
    /// None until a header has named the columns.
    plan: Option<Plan>,
    /// The last line of the header, if it names the columns: the header may be repeated.
    header: Vec<u8>,
    /// The columns of a line.
    spans: Vec<Span>,
    /// The keys of JSON or the groups of an expression, in the order of the plan.
    keys: Vec<&'static str>,
    expression: Option<(Regex, CaptureLocations, Vec<usize>)>,
    /// The names of volumes so far, and their numbers.
    pub(super) volumes: BTreeMap<Vec<u8>, u32>,
    pub(super) output: Output,
}

impl Plan {
    fn new(spec: &Spec, place: impl Fn(&str) -> Result<usize, String>) -> Result<Self, String> {
        let by_count = spec.layout == Layout::Positions;
        let mut roles = Vec::new();
        for (index, field) in spec.fields.iter().enumerate() {
            if field.meaning != Meaning::Unused {
                roles.push((if by_count { index } else { place(&field.source)? }, field.meaning));
            }
        }
        let filters = spec.filters.iter().map(|filter| place(&filter.source));
        let filters = filters.collect::<Result<Vec<usize>, String>>()?;
        let last = roles.iter().map(|&(place, _)| place).chain(filters.iter().copied()).max().unwrap_or(0);
        let at = |wanted: fn(Meaning) -> bool| roles.iter().find(|role| wanted(role.1)).map(|role| role.0);
        Ok(Self {
            operation: at(|meaning| meaning == Meaning::Operation).unwrap_or(0),
            date_at: at(|meaning| meaning == Meaning::Time(TimeUnit::Date)),
            columns: if by_count { spec.fields.len() } else { last + 1 },
            roles,
            filters,
        })
    }

    /// The places of the columns under a header.
    fn by_header(spec: &Spec, header: &[u8]) -> Result<Self, String> {
        let there = names(header, spec.delimiter);
        let place = |wanted: &str| {
            let exact = || there.iter().enumerate().filter(|(_, name)| name.as_str() == wanted);
            let folded = || there.iter().enumerate().filter(|(_, name)| name.eq_ignore_ascii_case(wanted));
            match (exact().count(), folded().count()) {
                (1, _) => Ok(exact().next().map_or(0, |(place, _)| place)),
                (0, 1) => Ok(folded().next().map_or(0, |(place, _)| place)),
                (0, 0) => Err(format!("has no column `{wanted}`")),
                _ => Err(format!("has several columns `{wanted}`")),
            }
        };
        Self::new(spec, place).map_err(|reason| {
            let mut shown: Vec<&str> = there.iter().map(String::as_str).take(30).collect();
            if there.len() > shown.len() {
                shown.push("…");
            }
            let most = if there.len() == MOST_NAMES { ", and more" } else { "" };
            format!("the header {reason}; it has {}{most}", shown.join(", "))
        })
    }
}

impl ColumnLines {
    pub(super) fn new(spec: &'static Spec) -> Self {
        let mut keys: Vec<&'static str> = Vec::new();
        let filters = spec.filters.iter().map(|filter| filter.source.as_str());
        for key in spec.fields.iter().map(|field| field.source.as_str()).chain(filters) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut expression = None;
        if let Layout::Pattern(text) = &spec.layout
            && let Ok(compiled) = pattern::compile(text)
        {
            let group = |key: &&str| compiled.capture_names().position(|name| name == Some(*key));
            let groups = keys.iter().filter_map(group).collect();
            let locations = compiled.capture_locations();
            expression = Some((compiled, locations, groups));
        }
        let plan = match spec.layout {
            Layout::Names => None,
            Layout::Positions => {
                let place = |number: &str| {
                    let number = number.parse::<usize>().map_err(|_| String::new())?;
                    number.checked_sub(1).ok_or_else(String::new)
                };
                Plan::new(spec, place).ok()
            }
            Layout::Json | Layout::Pattern(_) => {
                let place = |name: &str| keys.iter().position(|key| *key == name).ok_or_else(String::new);
                Plan::new(spec, place).ok()
            }
        };
        Self {
            spec,
            header_left: spec.header,
            plan,
            header: Vec::new(),
            spans: Vec::new(),
            keys,
            expression,
            volumes: BTreeMap::new(),
            output: Output::new(spec),
        }
    }

    fn entry(&mut self, line: &[u8]) -> Result<Entry, Fault> {
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        if self.header_left > 0 && !(is_blank && self.spec.layout == Layout::Names) {
            self.header_left -= 1;
            if self.header_left == 0 && self.spec.layout == Layout::Names {
                self.plan = Some(Plan::by_header(self.spec, line).map_err(|_| (0, HEADER))?);
                self.header = line.to_vec();
            }
            return Ok(Entry::Header);
        }
        if is_blank {
            return Err((0, "a request"));
        }
        match self.request(line) {
            Err(_) if !self.header.is_empty() && line == self.header => Ok(Entry::Header),
            other => other,
        }
    }

    /// Finds the columns of a line, and returns where it continues after them.
    fn divide(&mut self, line: &[u8]) -> Result<Option<usize>, Fault> {
        let Some(plan) = &self.plan else { return Err((0, HEADER)) };
        self.spans.clear();
        match self.spec.layout {
            Layout::Positions | Layout::Names => {
                Ok(split(line, self.spec.delimiter, plan.columns, plan.date_at, &mut self.spans))
            }
            Layout::Json => {
                self.spans.resize(self.keys.len(), Span::ABSENT);
                let (keys, spans) = (&self.keys, &mut self.spans);
                json::object(line, |key, span| {
                    if let Some(place) = keys.iter().position(|known| known.as_bytes() == key)
                        && !json::is_null(line, span)
                    {
                        spans[place] = span;
                    }
                })?;
                Ok(None)
            }
            Layout::Pattern(_) => {
                let Some((expression, locations, groups)) = &mut self.expression else { return Ok(None) };
                if expression.captures_read(locations, line).is_none() {
                    return Err((0, "a line that the regular expression matches"));
                }
                let span = |&group: &usize| {
                    locations.get(group).map_or(Span::ABSENT, |(start, end)| Span { start, end })
                };
                self.spans.extend(groups.iter().map(span));
                Ok(None)
            }
        }
    }

    fn request(&mut self, line: &[u8]) -> Result<Entry, Fault> {
        let spec = self.spec;
        let is_bracket = matches!(line.trim_ascii(), b"[" | b"]");
        if is_bracket && spec.layout == Layout::Json {
            return Ok(Entry::Header);
        }
        let further = self.divide(line)?;
        let Some(plan) = &self.plan else { return Err((0, HEADER)) };
        let column = |place: usize| self.spans.get(place).and_then(|span| span.of(line));
        for (filter, &place) in spec.filters.iter().zip(&plan.filters) {
            let is_one = |text: &[u8]| filter.words.iter().any(|word| word.as_bytes() == text);
            if !column(place).is_some_and(is_one) {
                return Ok(Entry::Event);
            }
        }
        if self.spans.len() < plan.columns {
            return Err((line.len(), another(spec.delimiter)));
        }
        let start = |place: usize| self.spans[place].start.min(line.len());
        let text = |place: usize, expected: Expected| column(place).ok_or((0, expected));
        let operation = text(plan.operation, "a line that has the operation")?;
        let fault = (start(plan.operation), operations(spec));
        let kind = spec.kind(operation).ok_or(fault)?;
        let mut record = Record { time: 0, kind, offset: 0, bytes: 0, volume: 0 };
        let (mut size, mut offset_at, mut size_at, mut name) = (0, 0, 0, None);
        for &(place, meaning) in &plan.roles {
            let number = |text: &[u8], unit: u64, expected: Expected| {
                values::bytes(text, unit, spec.point.byte()).ok_or((start(place), expected))
            };
            match meaning {
                Meaning::Time(unit) => {
                    let text = text(place, "a line that has the time")?;
                    record.time =
                        time(text, unit, spec.point.byte()).map_err(|expected| (start(place), expected))?;
                }
                Meaning::Offset(_) | Meaning::Size(_)
                    if kind == Kind::Flush && column(place).is_none_or(<[u8]>::is_empty) => {}
                Meaning::Offset(unit) => {
                    let text = text(place, "a line that has the offset")?;
                    record.offset = number(text, unit as u64, "an offset: a whole number of the unit named")?;
                    offset_at = start(place);
                }
                Meaning::Size(unit) => {
                    size = number(text(place, "a line that has the size")?, unit as u64, SIZE)?;
                    size_at = start(place);
                }
                Meaning::Volume(VolumeUnit::Number) => {
                    const VOLUME: Expected = "a volume: a whole number (names are read with volume:name)";
                    let volume = number(text(place, "a line that has the volume")?, 1, VOLUME)?;
                    record.volume = u32::try_from(volume).map_err(|_| (start(place), VOLUME))?;
                }
                Meaning::Volume(VolumeUnit::Name) => {
                    name = Some((start(place), text(place, "a line that has the volume")?));
                }
                Meaning::Unused | Meaning::Operation => {}
            }
        }
        if kind != Kind::Flush {
            record.bytes = u32::try_from(size).map_err(|_| (size_at, SIZE))?;
            if size == 0 {
                return Err((size_at, NO_SIZE));
            }
            record.offset.checked_add(size).ok_or((offset_at, BEYOND))?;
        }
        if let Some(at) = further.filter(|_| spec.layout == Layout::Positions && !spec.more) {
            return Err((at, "the end of the line"));
        }
        if let Some((at, name)) = name {
            record.volume = number_of(&mut self.volumes, name).ok_or((at, "one of at most 65536 volumes"))?;
        }
        Ok(Entry::Request(record))
    }
}

/// The number of the volume with this name.
pub(super) fn number_of(volumes: &mut BTreeMap<Vec<u8>, u32>, name: &[u8]) -> Option<u32> {
    if let Some(&number) = volumes.get(name) {
        return Some(number);
    }
    let number = volumes.len();
    if number == MOST_VOLUMES {
        return None;
    }
    volumes.insert(name.to_vec(), number as u32);
    Some(number as u32)
}

/// A time in nanoseconds.
fn time(text: &[u8], unit: TimeUnit, point: u8) -> Result<u64, Expected> {
    match unit {
        TimeUnit::Decimal(places) => values::decimal(text, places, point).ok_or("a time: a number"),
        TimeUnit::Filetime => {
            values::bytes(text, 100, point).ok_or("a filetime: a whole number of 100 ns ticks")
        }
        TimeUnit::Date => values::date(text).ok_or("a time: a date such as 2024-05-01T12:00:00.123456Z"),
    }
}

/// The expected content where a line ends too early.
fn another(delimiter: Delimiter) -> Expected {
    match delimiter {
        Delimiter::Comma => "`,` and another column",
        Delimiter::Semicolon => "`;` and another column",
        Delimiter::Tab => "a tab and another column",
        Delimiter::Blank => "a blank and another column",
    }
}

fn operations(spec: &Spec) -> Expected {
    match spec.words {
        Some(_) => "one of the words for operations that the format names",
        None => {
            "the operation: r or read, w or write, d or trim, f or flush (other words are named with op:READ/WRITE)"
        }
    }
}

impl LineFormat for ColumnLines {
    fn tick_ns(&self) -> u64 {
        1
    }

    /// Whether the first lines have the header that the specification needs.
    fn begin(&mut self, first_lines: &[u8]) -> Result<(), Undetected> {
        if self.spec.layout != Layout::Names {
            return Ok(());
        }
        let lines =
            first_lines.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut named = lines.filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        let Some(header) = named.nth(self.spec.header as usize - 1) else { return Ok(()) };
        match Plan::by_header(self.spec, header) {
            Ok(_) => Ok(()),
            Err(reason) => Err(Undetected {
                reason,
                remedy: "name its columns with --columns, and write header=LINES if the names are not in the first line, \
                         delimiter=NAME if no commas separate them"
                    .to_owned(),
            }),
        }
    }

    fn record(&mut self, line: &mut Cursor<'_>) -> Result<Entry, Expected> {
        let text = line.rest_of_line();
        match self.entry(text) {
            Ok(entry) => {
                line.skip(text.len());
                Ok(entry)
            }
            Err((at, expected)) => {
                line.skip(at);
                Err(expected)
            }
        }
    }

    fn head(&self, out: &mut Vec<u8>) {
        self.output.head(self.spec, out);
    }

    fn holds(&self, kind: Kind) -> bool {
        self.spec.word(kind).is_some()
    }

    fn line(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        self.write(record, line)
    }
}
