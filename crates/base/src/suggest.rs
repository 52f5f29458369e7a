//! "Did you mean …?": the nearest known name, and configuration errors that include it together with the file, the line
//! and a caret.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;

use crate::renamed;

/// The name of `known` nearest to `name`, if any is near enough to be the intended one: at most one edit in three
/// characters, where case and the choice of `-`, `_` or a space do not count. Among equals the first wins.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    let distances = known.into_iter().map(|candidate| {
        let candidate_plain = plain(candidate);
        let longest = wanted.chars().count().max(candidate_plain.chars().count());
        (strsim::osa_distance(&wanted, &candidate_plain), longest.div_ceil(3).max(1), candidate)
    });
    let near =
        distances.filter(|&(distance, limit, _)| distance <= limit && distance < name.chars().count().max(1));
    near.min_by_key(|&(distance, ..)| distance).map(|(.., candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// The message for an unknown `name` of a thing called `what` ("key", "scheme", "format"): the nearest known name if
/// one is near, else all of them.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {what} `{name}`; none is allowed here"),
        None => format!("unknown {what} `{name}`; known: {}", known.join(", ")),
    }
}

/// A configuration that could not be read: the position, the error, and the line with a caret under the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as the user named it.
    pub file: String,
    /// Line from 1; 0 if the parser does not report it.
    pub line: usize,
    /// Column from 1, in characters; 0 if the parser does not report it.
    pub column: usize,
    /// The error and the remedy.
    pub message: String,
    /// The text of the line, and the number of its characters, from `column`, that are marked.
    excerpt: Option<(String, usize)>,
}

impl ConfigError {
    /// An error about the bytes `span` of `text`, the contents of `file`.
    pub fn at(file: &str, text: &str, span: Option<Range<usize>>, message: String) -> Self {
        let inside = span.filter(|span| text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
        let Some(span) = inside else {
            return Self { file: file.to_owned(), line: 0, column: 0, message, excerpt: None };
        };
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[span.start..].find('\n').map_or(text.len(), |length| span.start + length);
        let end = span.end.clamp(span.start, line_end);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[line_start..span.start].chars().count() + 1,
            message,
            excerpt: Some((
                text[line_start..line_end].trim_end_matches('\r').to_owned(),
                text[span.start..end].chars().count().max(1),
            )),
        }
    }

    /// Converts an error of the TOML parser. For an unknown key or value the message includes the nearest known one.
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let Some(unknown) = Unknown::parse(error.message()) else {
            return Self::at(file, text, error.span(), error.message().to_owned());
        };
        // serde buffers tagged and flattened tables, and then reports the whole table as the position: look for the
        // name.
        let shown = error.span().and_then(|span| text.get(span)).unwrap_or("");
        let exact = shown.trim_matches(['"', '\'']) == unknown.name;
        let span = if exact { error.span() } else { find_once(text, &unknown.name).or(error.span()) };
        let all: Vec<&str> = unknown.known.iter().map(String::as_str).collect();
        let known: Vec<&str> = all.iter().copied().filter(|name| !renamed::is_former(name, &all)).collect();
        Self::at(file, text, span, self::unknown(unknown.what, &unknown.name, &known))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((excerpt, width)) = &self.excerpt else {
            return write!(f, "{}: {}", self.file, self.message);
        };
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs so that the caret stands where the terminal puts the error.
        let lead = excerpt.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' });
        let lead: String = lead.collect();
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {excerpt}")?;
        write!(f, "{margin} | {lead}{}", "^".repeat(*width))
    }
}

impl std::error::Error for ConfigError {}

/// Reads `text`, the contents of `file`, as TOML.
///
/// # Errors
/// The error, with file, line and caret. For an unknown key the message includes the nearest known one.
pub fn read_toml<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::from_toml(file, text, &error))
}

/// serde's complaint about a name: ``unknown field `x`, expected one of `a`, `b` ``.
struct Unknown {
    what: &'static str,
    name: String,
    known: Vec<String>,
}

impl Unknown {
    fn parse(message: &str) -> Option<Self> {
        let (what, rest) = match message.strip_prefix("unknown field ") {
            Some(rest) => ("key", rest),
            None => ("value", message.strip_prefix("unknown variant ")?),
        };
        // The name comes from outside and may contain anything, even backquotes: serde's own words follow the last one.
        let split = rest.rfind("`, expected ").map(|at| (at, at + "`, expected ".len()));
        let (end, tail) = split.or_else(|| rest.rfind("`, there are no ").map(|at| (at, rest.len())))?;
        let name = rest.get(1..end)?.to_owned();
        let known = rest[tail..].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(Self { what, name, known })
    }
}

/// The only place where `name` occurs as a whole word in `text`.
fn find_once(text: &str, name: &str) -> Option<Range<usize>> {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut places = text
        .match_indices(name)
        .map(|(at, _)| at..at + name.len())
        .filter(|place| !text[..place.start].ends_with(word) && !text[place.end..].starts_with(word));
    let first = places.next()?;
    places.next().is_none().then_some(first)
}
