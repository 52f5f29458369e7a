//! Writes lines by a specification of their columns.

use super::read::{ColumnLines, number_of};
use super::spec::{Delimiter, Layout, Meaning, Point, SizeUnit, Spec, TimeUnit, VolumeUnit};
use super::values::push_date;
use crate::format::{Loss, Record, push_decimal, push_number};

/// The columns that are written, in order.
pub(super) struct Output(Vec<OutputColumn>);

struct OutputColumn {
    name: &'static str,
    meaning: Meaning,
    /// The words of which a filter asks for one.
    words: &'static [String],
}

impl Output {
    pub(super) fn new(spec: &'static Spec) -> Self {
        let by_count = spec.layout == Layout::Positions;
        let number = |index: usize| (index + 1).to_string();
        let mut columns: Vec<OutputColumn> = Vec::new();
        for (index, field) in spec.fields.iter().enumerate() {
            let same = |source: &str| if by_count { number(index) == source } else { field.source == source };
            let filter = spec.filters.iter().find(|filter| same(&filter.source));
            let words = filter.map_or(&[][..], |filter| &filter.words);
            columns.push(OutputColumn { name: &field.source, meaning: field.meaning, words });
        }
        for filter in spec.filters.iter().filter(|_| !by_count) {
            if columns.iter().all(|column| column.name != filter.source) {
                columns.push(OutputColumn {
                    name: &filter.source,
                    meaning: Meaning::Unused,
                    words: &filter.words,
                });
            }
        }
        Self(columns)
    }

    /// The lines before the data: as many as a reader with the same columns skips.
    pub(super) fn head(&self, spec: &Spec, out: &mut Vec<u8>) {
        let by_name = spec.layout == Layout::Names;
        for _ in u32::from(by_name)..spec.header {
            out.extend_from_slice(b"#\n");
        }
        if !by_name {
            return;
        }
        for (index, column) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(spec.delimiter.byte());
            }
            push_text(out, column.name, spec.delimiter);
        }
        out.push(b'\n');
    }
}

/// Appends a name or a word, in quotes where it needs them.
fn push_text(out: &mut Vec<u8>, text: &str, delimiter: Delimiter) {
    let parts = |byte: u8| byte == delimiter.byte() || (delimiter == Delimiter::Blank && byte == b'\t');
    let needs = text.trim() != text || text.contains('"') || text.bytes().any(parts);
    if needs {
        out.extend_from_slice(format!("\"{}\"", text.replace('"', "\"\"")).as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

impl ColumnLines {
    pub(super) fn write(&mut self, record: &Record, line: &mut Vec<u8>) -> Result<(), Loss> {
        let spec = self.spec;
        if let Layout::Pattern(_) = spec.layout {
            return Err("a regular expression is read and not written; write `parquet` or `msr`".to_owned());
        }
        if record.volume != 0 && !spec.has(|meaning| matches!(meaning, Meaning::Volume(_))) {
            return Err(format!("volume {} has no column; name a column `volume`", record.volume));
        }
        let is_json = spec.layout == Layout::Json;
        for (index, column) in self.output.0.iter().enumerate() {
            match (is_json, index) {
                (false, 0) => {}
                (false, _) => line.push(spec.delimiter.byte()),
                (true, _) => {
                    line.push(if index == 0 { b'{' } else { b',' });
                    line.push(b'"');
                    line.extend_from_slice(column.name.as_bytes());
                    line.extend_from_slice(b"\":");
                }
            }
            let start = line.len();
            match column.meaning {
                Meaning::Unused => match column.words.first() {
                    Some(word) if is_json => line.extend_from_slice(word.as_bytes()),
                    Some(word) => push_text(line, word, spec.delimiter),
                    None => line.push(b'-'),
                },
                Meaning::Time(unit) => push_time(line, record.time, unit, spec.point)?,
                Meaning::Offset(unit) => push_units(line, "offset", record.offset, unit)?,
                Meaning::Size(unit) => push_units(line, "size", u64::from(record.bytes), unit)?,
                Meaning::Volume(VolumeUnit::Number) => push_number(line, u64::from(record.volume)),
                Meaning::Volume(VolumeUnit::Name) => {
                    push_number(line, u64::from(record.volume));
                    let known = self.volumes.len();
                    if number_of(&mut self.volumes, &line[start..]) != Some(record.volume) {
                        return Err(format!(
                            "volume {} comes after {known} other volumes, and names are numbered in order of \
                             appearance; write a column `volume`",
                            record.volume
                        ));
                    }
                }
                Meaning::Operation => {
                    let word = spec.word(record.kind).unwrap_or_default();
                    if is_json {
                        line.extend_from_slice(word.as_bytes());
                    } else {
                        push_text(line, word, spec.delimiter);
                    }
                }
            }
            let text = line[start..].trim_ascii();
            let is_one = |word: &String| text == word.as_bytes() || text == format!("\"{word}\"").as_bytes();
            if column.meaning != Meaning::Unused
                && !column.words.is_empty()
                && !column.words.iter().any(is_one)
            {
                let text = String::from_utf8_lossy(text);
                return Err(format!("`{text}` is none of the words that `only` asks for"));
            }
            // What is no number in JSON is a string.
            let is_number = line.get(start).is_some_and(u8::is_ascii_digit);
            if is_json
                && !(is_number && line[start..].iter().all(|&byte| byte.is_ascii_digit() || byte == b'.'))
            {
                line.insert(start, b'"');
                line.push(b'"');
            }
        }
        if is_json {
            line.push(b'}');
        }
        Ok(())
    }
}

fn push_time(line: &mut Vec<u8>, time: u64, unit: TimeUnit, point: Point) -> Result<(), Loss> {
    match unit {
        TimeUnit::Decimal(places) => {
            let start = line.len();
            push_decimal(line, time, u32::from(places), 0);
            for byte in line[start..].iter_mut().filter(|byte| **byte == b'.') {
                *byte = point.byte();
            }
        }
        TimeUnit::Filetime if time.is_multiple_of(100) => push_number(line, time / 100),
        TimeUnit::Filetime => return Err(format!("its time, {time} ns, is no multiple of 100 ns")),
        TimeUnit::Date => push_date(line, time),
    }
    Ok(())
}

fn push_units(line: &mut Vec<u8>, name: &str, value: u64, unit: SizeUnit) -> Result<(), Loss> {
    let unit = unit as u64;
    if !value.is_multiple_of(unit) {
        return Err(format!("{name} {value} is no multiple of {unit}; name a column `{name}:bytes`"));
    }
    push_number(line, value / unit);
    Ok(())
}
