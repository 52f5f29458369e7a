//! Divides a line into columns.

use memchr::{memchr, memchr2};

use super::spec::Delimiter;

/// The bytes of a line that a column holds, without quotes and blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    /// The place of a column that a line lacks.
    pub(super) const ABSENT: Self = Self { start: usize::MAX, end: usize::MAX };

    /// The text of the column; none if the line lacks it.
    pub(super) fn of(self, line: &[u8]) -> Option<&[u8]> {
        line.get(self.start..self.end)
    }
}

/// Appends the first `most` columns of `line` to `spans`, and returns where the line continues after them.
///
/// `date_at` is the place of a date, which may hold a blank where blanks separate columns.
pub(super) fn split(
    line: &[u8],
    delimiter: Delimiter,
    most: usize,
    date_at: Option<usize>,
    spans: &mut Vec<Span>,
) -> Option<usize> {
    let mut at = 0;
    loop {
        at = skip_blanks(line, at, delimiter);
        if delimiter == Delimiter::Blank && at == line.len() {
            return None;
        }
        if spans.len() == most {
            return Some(at);
        }
        let (mut span, mut next) = column(line, at, delimiter);
        if delimiter == Delimiter::Blank
            && date_at == Some(spans.len())
            && is_day(&line[span.start..span.end])
        {
            let (clock, behind) = column(line, skip_blanks(line, next, delimiter), delimiter);
            // Exactly one blank, as a date has.
            if clock.start == span.end + 1 {
                (span.end, next) = (clock.end, behind);
            }
        }
        spans.push(span);
        if next == line.len() {
            return None;
        }
        at = next;
        if delimiter != Delimiter::Blank {
            if spans.len() == most {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// The column that begins at `at`, and the place of the delimiter after it.
fn column(line: &[u8], at: usize, delimiter: Delimiter) -> (Span, usize) {
    if line.get(at) == Some(&b'"')
        && let Some(end) = closing_quote(line, at + 1)
    {
        let next = skip_blanks(line, end + 1, delimiter);
        let is_whole = match delimiter {
            Delimiter::Blank => next > end + 1 || next == line.len(),
            _ => next == line.len() || line[next] == delimiter.byte(),
        };
        if is_whole {
            let next = if delimiter == Delimiter::Blank { end + 1 } else { next };
            return (Span { start: at + 1, end }, next);
        }
    }
    let rest = &line[at..];
    let length = match delimiter {
        Delimiter::Blank => memchr2(b' ', b'\t', rest),
        _ => memchr(delimiter.byte(), rest),
    };
    let length = length.unwrap_or(rest.len());
    (Span { start: at, end: at + rest[..length].trim_ascii_end().len() }, at + length)
}

/// The place of the quote that ends the text from `at` on. Doubled quotes do not end it.
pub(super) fn closing_quote(line: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let quote = at + memchr(b'"', line.get(at..)?)?;
        if line.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

fn skip_blanks(line: &[u8], mut at: usize, delimiter: Delimiter) -> usize {
    while line.get(at).is_some_and(|&byte| byte == b' ' || (byte == b'\t' && delimiter != Delimiter::Tab)) {
        at += 1;
    }
    at
}

fn is_day(word: &[u8]) -> bool {
    word.len() == 10 && matches!(word[4], b'-' | b'/') && word[..4].iter().all(u8::is_ascii_digit)
}

/// The names in a header.
pub(super) fn names(line: &[u8], delimiter: Delimiter) -> Vec<String> {
    let mut spans = Vec::new();
    split(line, delimiter, MOST_NAMES, None, &mut spans);
    let text = |span: Span| String::from_utf8_lossy(&line[span.start..span.end]).replace("\"\"", "\"");
    spans.into_iter().map(text).collect()
}

/// The most columns of a file that names them.
pub(super) const MOST_NAMES: usize = 1024;
