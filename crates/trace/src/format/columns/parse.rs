//! Reads a specification, and writes it in full.

use std::fmt::Write as _;

use super::names;
use super::spec::{
    DELIMITERS, Delimiter, Field, Filter, Layout, Meaning, POINTS, Point, SECONDS, SIZE_UNITS, SizeUnit,
    Spec, TIME_UNITS, VOLUME_UNITS, VolumeUnit, Words, name_of, one_of,
};

/// The most columns of a line, unused ones included, where columns are counted.
const MOST: usize = 64;
/// The most lines of a header; a writer writes the same number.
const MOST_HEADER: u32 = 1000;
/// The most bytes of a word for an operation or a filter.
const WORD: usize = 64;
/// The most words of a filter or for one operation.
const MOST_WORDS: usize = 64;
/// The most filters.
const MOST_FILTERS: usize = 8;
/// The most bytes of a specification.
const MOST_BYTES: usize = 4096;

const JSON: &str = "json:";
const REGEX: &str = "regex:";
/// What begins the regular expression, which is the rest of the specification.
const PATTERN: &str = ";pattern=";

/// What ends a name or a word without quotes.
const MARKS: [char; 7] = [',', ';', ':', '=', '/', '|', '"'];

/// The rest of a specification.
struct Lexer<'a>(&'a str);

impl Lexer<'_> {
    /// Passes `mark`, if it is next.
    fn takes(&mut self, mark: char) -> bool {
        match self.0.strip_prefix(mark) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// A name or a word, in quotes if it holds a mark; it may be empty.
    fn word(&mut self) -> Result<String, String> {
        let whole = self.0;
        if !self.takes('"') {
            let length = whole.find(MARKS).unwrap_or(whole.len());
            self.0 = &whole[length..];
            return Ok(whole[..length].trim().to_owned());
        }
        let mut word = String::new();
        loop {
            let Some((text, rest)) = self.0.split_once('"') else {
                return Err(format!("`{whole}` lacks the closing quote"));
            };
            word.push_str(text);
            self.0 = rest;
            if !self.takes('"') {
                return Ok(word);
            }
            word.push('"');
        }
    }
}

/// Whether a specification may have this text. Zeros and byte order marks in a header would make a file of another kind.
pub(super) fn is_printable(text: &str) -> bool {
    !text.contains(|letter: char| (letter.is_control() && letter != '\t') || letter == '\u{FEFF}')
}

/// Parses the text after `columns:`.
pub(super) fn parse(text: &str) -> Result<Spec, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("a specification has at most {MOST_BYTES} bytes"));
    }
    if !is_printable(text) {
        return Err("a specification is one line of printable text".to_owned());
    }
    if let Some(fields) = text.strip_prefix(JSON) {
        return table(Spec::new(Layout::Json), fields);
    }
    let Some(expression) = text.strip_prefix(REGEX) else {
        return table(Spec::new(Layout::Positions), text);
    };
    let (fields, pattern) = match expression.split_once(PATTERN) {
        Some((fields, pattern)) => (Some(fields), pattern),
        None => (None, expression),
    };
    let groups = super::pattern::groups(pattern)?;
    let spec = Spec::new(Layout::Pattern(pattern.to_owned()));
    let spec = match fields {
        Some(fields) => table(spec, fields)?,
        None => by_groups(spec, &groups)?,
    };
    let sources = spec.fields.iter().map(|field| &field.source);
    let lacking = sources.chain(spec.filters.iter().map(|filter| &filter.source));
    match lacking.into_iter().find(|source| !groups.contains(source)) {
        Some(source) => Err(format!("the regular expression has no group `(?<{source}>…)`")),
        None => Ok(spec),
    }
}

/// The columns by the names of the groups of a regular expression.
fn by_groups(mut spec: Spec, groups: &[String]) -> Result<Spec, String> {
    for group in groups {
        let Some(role) = names::role(group) else {
            return Err(format!(
                "the group `{group}` is no column; name groups time, offset, size, op, volume, with a unit as in \
                 time_us or offset_sectors, or write `regex:time=GROUP:UNIT,…{PATTERN}EXPRESSION`"
            ));
        };
        let field = Field { source: group.clone(), meaning: role.by_default() };
        spec.words = role.words().or(spec.words);
        add(&mut spec, field)?;
    }
    complete(&spec)?;
    Ok(spec)
}

/// The columns and the settings after them.
fn table(mut spec: Spec, text: &str) -> Result<Spec, String> {
    let mut rest = Lexer(text);
    let mut named = 0;
    loop {
        if spec.more {
            return Err("`...` stands for the rest of the columns; it is the last".to_owned());
        }
        if rest.0 == "..." || rest.0.starts_with("...;") || rest.0.starts_with("...,") {
            rest.0 = &rest.0[3..];
            spec.more = true;
        } else {
            let field = field(&mut spec, &mut rest)?;
            named += usize::from(!field.source.is_empty());
            add(&mut spec, field)?;
        }
        if !rest.takes(',') {
            break;
        }
    }
    if spec.layout == Layout::Positions && named > 0 {
        if named < spec.fields.len() || spec.more {
            return Err("columns are named or counted, not both: write `time=NAME:UNIT,op=NAME,…` for all, and leave \
                        out `-` and `...`, since other columns are ignored"
                .to_owned());
        }
        (spec.layout, spec.header) = (Layout::Names, 1);
    } else if spec.layout != Layout::Positions {
        if spec.more || spec.has(|meaning| meaning == Meaning::Unused) {
            return Err("`-` and `...` count columns; here other columns are ignored without them".to_owned());
        }
        for field in &mut spec.fields {
            if field.source.is_empty() {
                field.source = field.meaning.name().to_owned();
            }
        }
    }
    complete(&spec)?;
    while rest.takes(';') {
        setting(&mut spec, &mut rest)?;
    }
    if !rest.0.is_empty() {
        return Err(format!("`{}` is not understood; put a name with such a mark in double quotes", rest.0));
    }
    if spec.point == Point::Comma && spec.delimiter == Delimiter::Comma {
        let text = "`decimal=comma` needs another delimiter; write delimiter=semicolon, tab or blank";
        if matches!(spec.layout, Layout::Positions | Layout::Names) {
            return Err(text.to_owned());
        }
    }
    Ok(spec)
}

fn add(spec: &mut Spec, field: Field) -> Result<(), String> {
    if spec.fields.len() == MOST {
        return Err(format!("more than {MOST} columns; write `...` for those at the end"));
    }
    let meaning = std::mem::discriminant(&field.meaning);
    let same = |other: &Field| std::mem::discriminant(&other.meaning) == meaning;
    if field.meaning != Meaning::Unused && spec.fields.iter().any(same) {
        return Err(format!("`{}` is there twice", field.meaning.name()));
    }
    if !field.source.is_empty() && spec.fields.iter().any(|other| other.source == field.source) {
        return Err(format!("`{}` is the name of two columns", field.source));
    }
    spec.fields.push(field);
    Ok(())
}

fn complete(spec: &Spec) -> Result<(), String> {
    for (name, there) in [
        ("time", spec.has(|meaning| matches!(meaning, Meaning::Time(_)))),
        ("offset", spec.has(|meaning| matches!(meaning, Meaning::Offset(_)))),
        ("size", spec.has(|meaning| matches!(meaning, Meaning::Size(_)))),
        ("op", spec.has(|meaning| meaning == Meaning::Operation)),
    ] {
        if !there {
            return Err(format!("there is no column `{name}`, without which nothing can be replayed"));
        }
    }
    Ok(())
}

/// A column: `time`, `time:us`, `time=NAME:us`.
fn field(spec: &mut Spec, rest: &mut Lexer<'_>) -> Result<Field, String> {
    let whole = rest.0;
    let name = rest.word()?;
    let mut source = String::new();
    if rest.takes('=') {
        source = rest.word()?;
        if source.is_empty() {
            return Err(format!("`{name}=` lacks the name of a column"));
        }
        if spec.layout == Layout::Json && source.contains(['"', '\\']) {
            return Err(format!("`{source}`: the names in JSON have no quotes and no backslashes here"));
        }
    }
    let has_unit = rest.takes(':');
    let mut unit = |default: &str| if has_unit { rest.word() } else { Ok(default.to_owned()) };
    const SIZES: &str = "unit of addresses and sizes";
    let meaning = match name.as_str() {
        "time" => Meaning::Time(one_of("unit of time", &unit("s")?, &TIME_UNITS)?),
        "offset" => Meaning::Offset(one_of(SIZES, &unit("bytes")?, &SIZE_UNITS)?),
        "size" => Meaning::Size(one_of(SIZES, &unit("bytes")?, &SIZE_UNITS)?),
        "volume" => Meaning::Volume(one_of("kind of volume", &unit("number")?, &VOLUME_UNITS)?),
        "op" => {
            if has_unit {
                spec.words = Some(words(rest)?);
            }
            Meaning::Operation
        }
        "-" if source.is_empty() && has_unit => return Err("`-` has no unit".to_owned()),
        "-" if source.is_empty() => Meaning::Unused,
        _ => {
            let end = whole.find([',', ';']).unwrap_or(whole.len());
            return Err(format!(
                "`{}` is no column; write time, offset, size, op, volume, `-` for one that is not used",
                &whole[..end]
            ));
        }
    };
    Ok(Field { source, meaning })
}

/// The words for operations: `r/w`, `R|RA/W|WS/D/F`.
fn words(rest: &mut Lexer<'_>) -> Result<Words, String> {
    let whole = rest.0;
    let shown = &whole[..whole.find([',', ';']).unwrap_or(whole.len())];
    let mut words = Words([const { Vec::new() }; 4]);
    for kind in 0.. {
        if kind == words.0.len() {
            return Err(format!(
                "`op:{shown}` should hold the words for a read, a write, and perhaps a trim and a flush, as in op:r/w or \
                 op:R|RA/W|WS/D/F"
            ));
        }
        loop {
            let word = rest.word()?;
            if word.is_empty() && kind == 2 && rest.0.starts_with('/') {
                break;
            }
            check_word(&word).map_err(|reason| format!("`op:{shown}`: {reason}"))?;
            if words.0.iter().flatten().any(|known| *known == word) {
                return Err(format!("`op:{shown}` has `{word}` twice"));
            }
            if words.0[kind].len() == MOST_WORDS {
                return Err(format!("`op:{shown}`: an operation has at most {MOST_WORDS} words"));
            }
            words.0[kind].push(word);
            if !rest.takes('|') {
                break;
            }
        }
        if !rest.takes('/') {
            break;
        }
    }
    if words.0[1].is_empty() { Err(format!("`op:{shown}` lacks the word for a write")) } else { Ok(words) }
}

/// Refuses what is no word of a specification.
pub(super) fn check_word(word: &str) -> Result<(), String> {
    let fits = (1..=WORD).contains(&word.len())
        && word.trim() == word
        && !word.contains(['"', '\\'])
        && !word.contains(char::is_control);
    if fits {
        return Ok(());
    }
    Err(format!(
        "`{word}` should be a word of 1 to {WORD} bytes, without quotes and without blanks around it"
    ))
}

fn setting(spec: &mut Spec, rest: &mut Lexer<'_>) -> Result<(), String> {
    let end = rest.0.find(';').unwrap_or(rest.0.len());
    let whole = &rest.0[..end];
    let name = rest.word()?;
    let has_value = rest.takes('=');
    let of_table = matches!(spec.layout, Layout::Positions | Layout::Names);
    match (name.as_str(), has_value) {
        ("delimiter", true) if of_table => {
            spec.delimiter = one_of("delimiter", &rest.word()?, &DELIMITERS)?;
        }
        ("decimal", true) => spec.point = one_of("decimal mark", &rest.word()?, &POINTS)?,
        ("header", true) => {
            let lines = rest.word()?;
            let least = u32::from(spec.layout == Layout::Names);
            let in_range = |&lines: &u32| (least..=MOST_HEADER).contains(&lines);
            let reason = || format!("`{lines}` is no number of header lines from {least} to {MOST_HEADER}");
            spec.header = lines.parse::<u32>().ok().filter(in_range).ok_or_else(reason)?;
        }
        ("only", true) => {
            let filter = filter(spec, rest)?;
            spec.filters.push(filter);
        }
        _ => {
            return Err(format!(
                "`{whole}` is no setting; write delimiter=NAME or header=LINES, decimal=comma, only=COLUMN:WORD/WORD"
            ));
        }
    }
    Ok(())
}

/// `COLUMN:WORD/WORD`.
fn filter(spec: &Spec, rest: &mut Lexer<'_>) -> Result<Filter, String> {
    let source = rest.word()?;
    if !rest.takes(':') || source.is_empty() {
        return Err(format!("`only={source}` lacks its words; write only=COLUMN:WORD/WORD"));
    }
    if spec.layout == Layout::Positions {
        let number = source.parse::<usize>().ok().filter(|number| number.to_string() == source);
        if number.is_none_or(|number| !(1..=spec.fields.len()).contains(&number)) {
            return Err(format!(
                "`only={source}`: where columns are counted, give the number of one of them, from 1 to {}",
                spec.fields.len()
            ));
        }
    }
    let bad_name = spec.layout == Layout::Json && source.contains(['"', '\\']);
    if bad_name || spec.filters.len() == MOST_FILTERS {
        return Err(format!("`only={source}`: at most {MOST_FILTERS} filters, of names without quotes"));
    }
    if spec.filters.iter().any(|filter| filter.source == source) {
        return Err(format!("`only={source}` is there twice; write only={source}:WORD/WORD"));
    }
    let mut words = Vec::new();
    loop {
        let word = rest.word()?;
        check_word(&word).map_err(|reason| format!("`only={source}`: {reason}"))?;
        words.push(word);
        if words.len() > MOST_WORDS {
            return Err(format!("`only={source}` has more than {MOST_WORDS} words"));
        }
        if !rest.takes('/') {
            return Ok(Filter { source, words });
        }
    }
}

/// A name or a word as a specification has it.
fn quoted(word: &str) -> String {
    if !word.is_empty() && !word.contains(MARKS) && word.trim() == word {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// The specification in full, without `columns:`.
pub(super) fn text(spec: &Spec) -> String {
    let mut out = match spec.layout {
        Layout::Positions | Layout::Names => String::new(),
        Layout::Json => JSON.to_owned(),
        Layout::Pattern(_) => REGEX.to_owned(),
    };
    for (index, field) in spec.fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(field.meaning.name());
        if !field.source.is_empty() {
            let _ = write!(out, "={}", quoted(&field.source));
        }
        match field.meaning {
            Meaning::Time(unit) => out.extend([":", name_of(&unit, &TIME_UNITS)]),
            Meaning::Offset(unit) | Meaning::Size(unit) => out.extend([":", name_of(&unit, &SIZE_UNITS)]),
            Meaning::Volume(VolumeUnit::Name) => out.push_str(":name"),
            Meaning::Operation => {
                let Some(Words(words)) = &spec.words else { continue };
                let spelled = words
                    .iter()
                    .map(|words| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join("|"));
                let spelled: Vec<String> = spelled.collect();
                let _ = write!(out, ":{}", spelled.join("/").trim_end_matches('/'));
            }
            Meaning::Unused | Meaning::Volume(VolumeUnit::Number) => {}
        }
    }
    if spec.more {
        out.push_str(",...");
    }
    if spec.delimiter != Delimiter::Comma {
        let _ = write!(out, ";delimiter={}", name_of(&spec.delimiter, &DELIMITERS));
    }
    if spec.header != u32::from(spec.layout == Layout::Names) {
        let _ = write!(out, ";header={}", spec.header);
    }
    if spec.point == Point::Comma {
        out.push_str(";decimal=comma");
    }
    for filter in &spec.filters {
        let words: Vec<String> = filter.words.iter().map(|word| quoted(word)).collect();
        let _ = write!(out, ";only={}:{}", quoted(&filter.source), words.join("/"));
    }
    if let Layout::Pattern(pattern) = &spec.layout {
        out.push_str(PATTERN);
        out.push_str(pattern);
    }
    out
}

impl names::Role {
    /// The meaning of a column, with the default unit where its name has none.
    fn by_default(&self) -> Meaning {
        match self {
            Self::Time(unit) => Meaning::Time(unit.unwrap_or(SECONDS)),
            Self::Offset(unit) => Meaning::Offset(unit.unwrap_or(SizeUnit::Bytes)),
            Self::Size(unit) => Meaning::Size(unit.unwrap_or(SizeUnit::Bytes)),
            Self::Volume => Meaning::Volume(VolumeUnit::Number),
            Self::Operation(_) => Meaning::Operation,
        }
    }
}
