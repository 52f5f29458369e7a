//! Finds the columns of a file whose header, or whose keys in JSON, are obvious names.
//!
//! Units are never guessed silently. A unit is in the name of a column, or the values decide it; otherwise the file is
//! refused, and the error has a whole `--columns` for each unit.

use super::names::{Role, role};
use super::parse::check_word;
use super::spec::{
    Delimiter, Field, Layout, Meaning, Point, SECONDS, SizeUnit, Spec, TimeUnit, VolumeUnit, Words,
    default_kind,
};
use super::split::{MOST_NAMES, Span, names, split};
use super::{Columns, PREFIX, json, values};
use crate::format::plausible::{absurd_rate, records};
use crate::format::{Chosen, Cursor, Entry, LineFormat, Record, Undetected, found};

/// Lines in the sample.
const SAMPLE: usize = 200;
/// The most specifications that an error offers.
const MOST_CHOICES: usize = 16;
/// The most operations that an error lists in a specification.
const MOST_WORDS: usize = 16;

const TIME_CHOICES: [TimeUnit; 4] =
    [SECONDS, TimeUnit::Decimal(6), TimeUnit::Decimal(3), TimeUnit::Decimal(0)];

/// The columns that a header gives, and a note on how it was read.
#[derive(Debug)]
pub(in crate::format) struct Detected {
    pub(in crate::format) chosen: Chosen,
    pub(in crate::format) note: String,
}

/// A column with an obvious name.
struct Column {
    name: String,
    role: Role,
    /// Its texts in the sample, without those that are empty.
    texts: Vec<Vec<u8>>,
}

/// A file with obvious names: the form of its lines, and the columns that are used.
struct Table {
    spec: Spec,
    columns: Vec<Column>,
}

/// The columns of the lines in `block`, if its first line has obvious names for all that are needed.
pub(in crate::format) fn detect(block: &[u8]) -> Option<Result<Detected, Undetected>> {
    let table = json_table(block).or_else(|| header_table(block))?;
    if table.columns.iter().all(|column| column.texts.is_empty()) {
        return Some(Err(Undetected {
            reason: "the file holds no line of data under its header".to_owned(),
            remedy: "record the trace, or fetch it, again".to_owned(),
        }));
    }
    Some(table.detected(block))
}

/// The lines of a block that are not blank, without their ends.
fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty())
}

/// The best column for each meaning among `names`, with its place; none if one that is needed is lacking.
fn used(names: &[String]) -> Option<Vec<(usize, Role)>> {
    let roles: Vec<(usize, Role)> =
        names.iter().enumerate().filter_map(|(place, name)| Some((place, role(name)?))).collect();
    let has_unit =
        |role: &Role| matches!(role, Role::Time(Some(_)) | Role::Offset(Some(_)) | Role::Size(Some(_)));
    let best = |wanted: fn(&Role) -> bool| {
        let fitting = || roles.iter().filter(|(_, role)| wanted(role));
        fitting().find(|(_, role)| has_unit(role)).or_else(|| fitting().next()).cloned()
    };
    let mut used = vec![
        best(|role| matches!(role, Role::Time(_)))?,
        best(|role| matches!(role, Role::Operation(_)))?,
        best(|role| matches!(role, Role::Offset(_)))?,
        best(|role| matches!(role, Role::Size(_)))?,
    ];
    used.extend(best(|role| *role == Role::Volume));
    Some(used)
}

fn header_table(block: &[u8]) -> Option<Table> {
    let header = lines(block).next()?;
    [Delimiter::Comma, Delimiter::Tab, Delimiter::Semicolon].into_iter().find_map(|delimiter| {
        let names = names(header, delimiter);
        let used = used(&names)?;
        let is_once = |name: &str| names.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1;
        if !used.iter().all(|(place, _)| is_once(&names[*place])) {
            return None;
        }
        let mut columns: Vec<Column> = used
            .iter()
            .map(|(place, role)| Column {
                name: names[*place].clone(),
                role: role.clone(),
                texts: Vec::new(),
            })
            .collect();
        let mut spans = Vec::new();
        for line in lines(block).skip(1).take(SAMPLE) {
            spans.clear();
            split(line, delimiter, MOST_NAMES, None, &mut spans);
            for (column, (place, _)) in columns.iter_mut().zip(&used) {
                column.add(line, spans.get(*place).copied());
            }
        }
        let mut spec = Spec::new(Layout::Names);
        spec.delimiter = delimiter;
        let has_decimal_comma = |column: &Column| {
            let mut texts = column.texts.iter();
            matches!(column.role, Role::Time(_))
                && texts.any(|text| is_decimal(text, b','))
                && !column.has_dates()
        };
        if delimiter != Delimiter::Comma && columns.iter().any(has_decimal_comma) {
            spec.point = Point::Comma;
        }
        Some(Table { spec, columns })
    })
}

fn json_table(block: &[u8]) -> Option<Table> {
    let objects = || lines(block).filter(|line| !matches!(*line, b"[" | b"]"));
    let first = objects().next().filter(|line| line.trim_ascii_start().starts_with(b"{"))?;
    let mut names = Vec::new();
    json::object(first, |key, _| names.push(String::from_utf8_lossy(key).into_owned())).ok()?;
    names.retain(|name| !name.contains('\\'));
    names.truncate(MOST_NAMES);
    let mut columns: Vec<Column> = used(&names)?
        .into_iter()
        .map(|(place, role)| Column { name: names[place].clone(), role, texts: Vec::new() })
        .collect();
    for line in objects().take(SAMPLE) {
        // An object that is damaged is reported when it is read.
        let _ = json::object(line, |key, value| {
            let column = columns.iter_mut().find(|column| column.name.as_bytes() == key);
            if let Some(column) = column.filter(|_| !json::is_null(line, value)) {
                column.add(line, Some(value));
            }
        });
    }
    Some(Table { spec: Spec::new(Layout::Json), columns })
}

/// Whether `text` is a number with decimals after `point`.
fn is_decimal(text: &[u8], point: u8) -> bool {
    text.contains(&point) && values::decimal(text, 9, point).is_some()
}

impl Column {
    fn add(&mut self, line: &[u8], span: Option<Span>) {
        let text = span.and_then(|span| span.of(line)).unwrap_or_default();
        if !text.is_empty() {
            self.texts.push(text.to_vec());
        }
    }

    /// Whether most texts meet a condition: a quarter may be damage.
    fn most(&self, condition: impl Fn(&[u8]) -> bool) -> bool {
        let count = self.texts.iter().filter(|text| condition(text)).count();
        count > 0 && count * 4 >= self.texts.len() * 3
    }

    fn has_dates(&self) -> bool {
        self.most(|text| values::date(text).is_some())
    }
}

/// The meanings that a column may have, and how its values decided on the only one.
struct Choices {
    meanings: Vec<(Meaning, Option<Words>)>,
    note: Option<String>,
    /// What is not known of the column, if it may have several.
    open: &'static str,
}

impl Choices {
    fn one(meaning: Meaning) -> Self {
        Self { meanings: vec![(meaning, None)], note: None, open: "" }
    }
}

impl Table {
    fn detected(self, block: &[u8]) -> Result<Detected, Undetected> {
        let mut notes = Vec::new();
        let mut open = Vec::new();
        let mut specs = vec![self.spec_with(Vec::new(), None)];
        let by_sector =
            self.columns.iter().any(|column| column.role == Role::Offset(Some(SizeUnit::Sectors)));
        let choices: Vec<Choices> =
            self.columns.iter().map(|column| self.choices(column, by_sector)).collect();
        for (column, choices) in self.columns.iter().zip(choices) {
            notes.extend(choices.note);
            if choices.meanings.len() != 1 {
                open.push(format!("{} of `{}`", choices.open, column.name));
            }
            let mut next = Vec::new();
            for (meaning, words) in choices.meanings {
                for spec in &specs {
                    let mut fields = spec.fields.clone();
                    fields.push(Field { source: column.name.clone(), meaning });
                    next.push(self.spec_with(fields, words.clone().or(spec.words.clone())));
                }
            }
            specs = next;
        }
        // An address and a size without units have the same one.
        specs.retain(|spec| !mixes(spec, &self.columns));
        if !open.is_empty() {
            return Err(refusal(&open, specs));
        }
        let Some(columns) = specs.pop().and_then(|spec| Columns::new(spec).ok()) else {
            return Err(refusal(&open, specs));
        };
        check(columns, block)?;
        notes.insert(0, "read by the names of its columns".to_owned());
        Ok(Detected { chosen: Chosen::Columns(columns), note: notes.join("; ") })
    }

    fn spec_with(&self, fields: Vec<Field>, words: Option<Words>) -> Spec {
        let Spec { layout, delimiter, point, .. } = &self.spec;
        Spec { fields, words, delimiter: *delimiter, point: *point, ..Spec::new(layout.clone()) }
    }

    fn choices(&self, column: &Column, by_sector: bool) -> Choices {
        let point = self.spec.point.byte();
        match &column.role {
            Role::Time(unit) => times(column, *unit, point),
            Role::Offset(Some(unit)) => Choices::one(Meaning::Offset(*unit)),
            Role::Size(Some(unit)) => Choices::one(Meaning::Size(*unit)),
            Role::Offset(None) => self.sizes(by_sector, Meaning::Offset),
            Role::Size(None) => self.sizes(by_sector, Meaning::Size),
            Role::Volume => {
                let is_number =
                    |text: &Vec<u8>| values::bytes(text, 1, point).is_some_and(|value| value < 1 << 32);
                let unit =
                    if column.texts.iter().all(is_number) { VolumeUnit::Number } else { VolumeUnit::Name };
                Choices::one(Meaning::Volume(unit))
            }
            Role::Operation(Some(words)) => {
                Choices { meanings: vec![(Meaning::Operation, Some(words.clone()))], note: None, open: "" }
            }
            Role::Operation(None) => operations(column),
        }
    }

    /// The units of an address or a size whose name has none.
    fn sizes(&self, by_sector: bool, meaning: fn(SizeUnit) -> Meaning) -> Choices {
        let is_size = meaning(SizeUnit::Bytes) == Meaning::Size(SizeUnit::Bytes);
        let one = |unit: SizeUnit, note: &str| Choices {
            meanings: vec![(meaning(unit), None)],
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
            open: "",
        };
        let unit_of_size = self.columns.iter().find_map(|column| match column.role {
            Role::Size(unit) => Some(unit),
            _ => None,
        });
        // The unit of an address is that of the size, where the name of the size has it.
        if let (false, Some(Some(unit))) = (is_size, unit_of_size)
            && unit == SizeUnit::Bytes
        {
            return one(unit, "offsets are bytes, as the sizes");
        }
        let whole_sectors =
            self.numbers(|role| matches!(role, Role::Size(_))).all(|size| size.is_multiple_of(512));
        let by_size = unit_of_size == Some(None);
        if by_size && whole_sectors && !(by_sector && self.continues()) {
            let note = "sizes are bytes, since they are multiples of 512";
            return one(SizeUnit::Bytes, if is_size { note } else { "offsets are bytes, as the sizes" });
        }
        if is_size && by_sector && !whole_sectors {
            return one(
                SizeUnit::Sectors,
                "sizes are sectors of 512 bytes, since they are no multiples of 512",
            );
        }
        let units = [SizeUnit::Bytes, SizeUnit::Sectors, SizeUnit::Pages];
        Choices { meanings: units.map(|unit| (meaning(unit), None)).to_vec(), note: None, open: "the unit" }
    }

    /// The values of a column that are whole numbers.
    fn numbers(&self, wanted: fn(&Role) -> bool) -> impl Iterator<Item = u64> {
        let point = self.spec.point.byte();
        let texts =
            self.columns.iter().filter(move |column| wanted(&column.role)).flat_map(|column| &column.texts);
        texts.filter_map(move |text| values::bytes(text, 1, point))
    }

    /// Whether any request begins where the one before it ends, if address and size have the same unit.
    fn continues(&self) -> bool {
        let offsets = self.numbers(|role| matches!(role, Role::Offset(_)));
        let ends = offsets.zip(self.numbers(|role| matches!(role, Role::Size(_))));
        let ends = ends.map(|(offset, size)| offset.saturating_add(size));
        let next = self.numbers(|role| matches!(role, Role::Offset(_))).skip(1);
        ends.zip(next).any(|(end, next)| end == next)
    }
}

/// Whether an address and a size whose names have no unit have different ones.
fn mixes(spec: &Spec, columns: &[Column]) -> bool {
    let is_open = |role: Role| columns.iter().any(|column| column.role == role);
    let unit =
        |wanted: fn(Meaning) -> Option<SizeUnit>| spec.fields.iter().find_map(|field| wanted(field.meaning));
    let offset = unit(|meaning| if let Meaning::Offset(unit) = meaning { Some(unit) } else { None });
    let size = unit(|meaning| if let Meaning::Size(unit) = meaning { Some(unit) } else { None });
    is_open(Role::Offset(None)) && is_open(Role::Size(None)) && offset != size
}

/// The units that the times may have.
fn times(column: &Column, named: Option<TimeUnit>, point: u8) -> Choices {
    if column.has_dates() {
        return Choices::one(Meaning::Time(TimeUnit::Date));
    }
    if let Some(unit) = named {
        return Choices::one(Meaning::Time(unit));
    }
    // Times since 1970, from 2000 to 2040, and filetimes of the same years. Whole seconds are not among them: numbers of
    // ten digits are also nanoseconds or microseconds since the start of a trace.
    let has_decimals = |text: &[u8]| is_decimal(text, point);
    for (unit, first, last, about) in [
        (SECONDS, 946_684_800, 2_208_988_800, "seconds since 1970"),
        (TimeUnit::Decimal(6), 946_684_800_000, 2_208_988_800_000, "milliseconds since 1970"),
        (TimeUnit::Decimal(3), 946_684_800_000_000, 2_208_988_800_000_000, "microseconds since 1970"),
        (TimeUnit::Decimal(0), 946_684_800_000_000_000, 2_208_988_800_000_000_000, "nanoseconds since 1970"),
        (TimeUnit::Filetime, 125_911_584_000_000_000, 138_534_624_000_000_000, "filetimes"),
    ] {
        let fits = |text: &[u8]| {
            let in_range = values::decimal(text, 0, point).is_some_and(|time| (first..last).contains(&time));
            in_range && (unit != SECONDS || has_decimals(text))
        };
        if column.most(fits) {
            let note = format!("times are {about}, by their size");
            return Choices { meanings: vec![(Meaning::Time(unit), None)], note: Some(note), open: "" };
        }
    }
    let meanings = TIME_CHOICES.map(|unit| (Meaning::Time(unit), None)).to_vec();
    Choices { meanings, note: None, open: "the unit" }
}

/// The words that the operations may have.
fn operations(column: &Column) -> Choices {
    if column.most(|text| default_kind(text).is_some()) {
        return Choices::one(Meaning::Operation);
    }
    let mut words: Vec<String> = Vec::new();
    for text in &column.texts {
        // What a specification cannot have is damage.
        let Ok(word) = std::str::from_utf8(text) else { continue };
        if !words.iter().any(|known| known == word) && words.len() < MOST_WORDS && check_word(word).is_ok() {
            words.push(word.to_owned());
        }
    }
    words.sort_unstable();
    let spelled = |read: Vec<String>, write: Vec<String>| {
        (Meaning::Operation, Some(Words([read, write, Vec::new(), Vec::new()])))
    };
    let initial = |letter: char| {
        let begins =
            |word: &&String| word.chars().next().is_some_and(|first| first.eq_ignore_ascii_case(&letter));
        words.iter().filter(begins).cloned().collect::<Vec<String>>()
    };
    let (reads, writes) = (initial('r'), initial('w'));
    let meanings = match words.as_slice() {
        _ if !reads.is_empty() && !writes.is_empty() => vec![spelled(reads, writes)],
        [one, other] => {
            let list = |word: &String| vec![word.clone()];
            vec![spelled(list(one), list(other)), spelled(list(other), list(one))]
        }
        _ => vec![spelled(vec!["READ".to_owned()], vec!["WRITE".to_owned()])],
    };
    // Also a single choice is the user's: other words may be requests too.
    let open = "the words for a read and for a write";
    let meanings = if meanings.len() == 1 { [meanings.clone(), meanings].concat() } else { meanings };
    Choices { meanings, note: None, open }
}

/// The error for a file whose names leave something open.
fn refusal(open: &[String], specs: Vec<Spec>) -> Undetected {
    let mut lines: Vec<String> = Vec::new();
    for columns in specs.into_iter().filter_map(|spec| Columns::new(spec).ok()) {
        let text = columns.to_string();
        let text = text.strip_prefix(PREFIX).unwrap_or(&text);
        let line = format!("--columns '{}'", text.replace('\'', "'\\''"));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let more = if lines.len() > MOST_CHOICES { " (or other units)" } else { "" };
    lines.truncate(MOST_CHOICES);
    Undetected {
        reason: format!(
            "its header names the columns, but neither the names nor the values show {}",
            open.join(" and ")
        ),
        remedy: format!("choose one of\n  {}{more}", lines.join("\n  ")),
    }
}

/// Whether the sample can be read, and is plausible.
fn check(columns: Columns, block: &[u8]) -> Result<(), Undetected> {
    let mut reader = columns.lines();
    let (mut fits, mut count, mut failure) = (0, 0, None);
    let numbered = block.split(|&byte| byte == b'\n').enumerate();
    for (number, line) in numbered.filter(|(_, line)| !line.trim_ascii().is_empty()).take(SAMPLE + 1) {
        let mut cursor = Cursor::new(line);
        match reader.whole_record(&mut cursor) {
            Ok(Entry::Header) => {}
            Ok(_) => (fits, count) = (fits + 1, count + 1),
            Err(expected) => {
                count += 1;
                failure.get_or_insert((number + 1, cursor.at(), expected, found(line, cursor.at())));
            }
        }
    }
    if let Some((number, at, expected, found)) = failure
        && (fits * 4 < count * 3 || fits == 0)
    {
        return Err(Undetected {
            reason: format!(
                "its header names the columns, read as {columns}, but line {number}, column {}: expected {expected}, found \
                 `{found}`",
                at + 1
            ),
            remedy: "name the format with --format, or the columns with --columns".to_owned(),
        });
    }
    if let Some(bytes) = absurd_rate(&records(Chosen::Columns(columns), block), 1) {
        let gigabytes = bytes / 1e9;
        return Err(Undetected {
            reason: format!(
                "read as {columns}, its times make {gigabytes:.1} GB/s on each volume, which no device takes"
            ),
            remedy: format!("name other units with --columns, or --format '{columns}' if that is right"),
        });
    }
    Ok(())
}

/// Whether both formats read the same requests from `block`, wherever both read one.
pub(in crate::format) fn agree(one: Chosen, other: Chosen, block: &[u8]) -> bool {
    let (Some(mut first), Some(mut second)) = (one.lines(), other.lines()) else { return false };
    let mut starts: Option<(u64, u64)> = None;
    let mut both = 0;
    for line in lines(block).take(SAMPLE) {
        let line = super::super::quotes::plain_line(one, line);
        let read = |format: &mut dyn LineFormat| match format.whole_record(&mut Cursor::new(&line)) {
            Ok(Entry::Request(record)) => {
                Some(Record { time: record.time.saturating_mul(format.tick_ns()), ..record })
            }
            _ => None,
        };
        let (Some(first), Some(second)) = (read(first.as_mut()), read(second.as_mut())) else { continue };
        let (start, other_start) = *starts.get_or_insert((first.time, second.time));
        let times = (first.time.wrapping_sub(start), second.time.wrapping_sub(other_start));
        let same = times.0 == times.1 && first.kind == second.kind;
        if !same || (first.offset, first.bytes) != (second.offset, second.bytes) {
            return false;
        }
        both += 1;
    }
    both > 0
}
