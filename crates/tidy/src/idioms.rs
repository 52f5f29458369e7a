//! Words of prose: documents and comments keep to plain English.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};

use crate::{Complaint, markdown};

/// The file with the list, from the root of the tree.
pub const LIST: &str = "crates/tidy/banned-idioms.txt";

/// An idiom that prose does not use.
#[derive(Debug)]
struct Idiom {
    pattern: Regex,
    remedy: String,
}

/// The idioms of the list.
#[derive(Debug)]
pub struct Idioms {
    /// Any of them: most lines have none, and one search decides.
    any: Regex,
    all: Vec<Idiom>,
}

/// A line of the list that is no regular expression with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine(pub usize, pub String);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LIST}:{}: {}", self.0, self.1)
    }
}

impl Idioms {
    /// Reads a list: each line a regular expression, then ` # write ` and the words to write instead. Lines that begin with
    /// `#` are comments.
    ///
    /// # Errors
    /// The first line that is neither.
    pub fn parse(list: &str) -> Result<Self, BadLine> {
        let lines = (1..).zip(list.lines()).filter(|(_, line)| !line.starts_with('#'));
        let idiom = |(number, line): (usize, &str)| {
            let bad = |why: String| BadLine(number, why);
            let (pattern, remedy) = line.split_once("# ").ok_or_else(|| bad("no `# write …`".to_owned()))?;
            let pattern = RegexBuilder::new(pattern.trim_end()).case_insensitive(true).build();
            Ok(Idiom { pattern: pattern.map_err(|error| bad(error.to_string()))?, remedy: remedy.to_owned() })
        };
        let all: Vec<Idiom> = lines.map(idiom).collect::<Result<_, _>>()?;
        let patterns: Vec<&str> = all.iter().map(|idiom| idiom.pattern.as_str()).collect();
        let any = RegexBuilder::new(&patterns.join("|")).case_insensitive(true).build();
        Ok(Self { any: any.map_err(|error| BadLine(0, error.to_string()))?, all })
    }

    /// The idioms in a document, outside code spans, fenced blocks and the targets of links.
    pub fn in_document(&self, path: &str, text: &str) -> Vec<Complaint> {
        markdown::prose(text).flat_map(|(number, line)| self.in_prose(path, number, line)).collect()
    }

    /// The idioms in the comments of Rust code, outside code spans.
    pub fn in_comments(&self, path: &str, text: &str) -> Vec<Complaint> {
        let comments = (1..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with("//"));
        comments.flat_map(|(number, line)| self.in_prose(path, number, line)).collect()
    }

    /// The idioms in the messages of Rust code: its string literals of more than one word, tests excluded.
    pub fn in_messages(&self, path: &str, text: &str) -> Vec<Complaint> {
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
        let messages = literals(if is_test { "" } else { &text[..end] });
        let messages = messages.into_iter().filter(|(_, literal)| literal.contains(' '));
        messages.flat_map(|(number, literal)| self.in_prose(path, number, literal)).collect()
    }

    /// The idioms in a preset: its comments and its description.
    pub fn in_preset(&self, path: &str, text: &str) -> Vec<Complaint> {
        let prose = |line: &'_ str| -> Option<String> {
            let comment = line.split_once('#').map(|(_, comment)| comment);
            let description = line.strip_prefix("description = ");
            (comment.is_some() || description.is_some())
                .then(|| [description, comment].map(Option::unwrap_or_default).join(" "))
        };
        let lines = (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, prose(line)?)));
        lines.flat_map(|(number, line)| self.in_prose(path, number, &line)).collect()
    }

    /// The idioms in the comments and docstrings of Python code, outside code spans.
    pub fn in_python(&self, path: &str, text: &str) -> Vec<Complaint> {
        let mut is_inside = false;
        let mut is_prose = |line: &str| {
            let was_inside = is_inside;
            let quotes = line.matches("\"\"\"").count();
            is_inside ^= quotes % 2 == 1;
            was_inside || quotes > 0 || line.trim_start().starts_with('#')
        };
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_prose(line));
        lines.flat_map(|(number, line)| self.in_prose(path, number, line)).collect()
    }

    fn in_prose(&self, path: &str, number: usize, line: &str) -> Vec<Complaint> {
        let words = without_targets(&without_code(line));
        if !self.any.is_match(&words) {
            return Vec::new();
        }
        let found = self.all.iter().filter_map(|idiom| Some((idiom.pattern.find(&words)?, idiom)));
        found
            .map(|(at, idiom)| {
                Complaint::new(path, number, format!("`{}`: {} ({LIST})", at.as_str(), idiom.remedy))
            })
            .collect()
    }
}

/// The string literals of Rust code, without their quotes, each with the line on which it begins.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        at += match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            // A character literal, as '"' or '\''; of a lifetime only the quote.
            b'\'' if rest.as_bytes().get(1) == Some(&b'\\') => {
                rest[2..].find('\'').map_or(1, |end| end + 3).max(4)
            }
            b'\'' if rest.chars().nth(2) == Some('\'') => {
                rest.char_indices().nth(2).map_or(1, |(end, _)| end + 1)
            }
            b'"' => {
                let hashes = text[..at].bytes().rev().take_while(|byte| *byte == b'#').count();
                let is_raw = text[..at - hashes].ends_with('r');
                let length =
                    if is_raw { rest[1..].find(&format!("\"{}", "#".repeat(hashes))) } else { closing(rest) };
                let length = length.unwrap_or(rest.len() - 1);
                found.push((text[..at].matches('\n').count() + 1, &rest[1..=length]));
                length + 2
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    found
}

/// The length of what is between the quote that `text` begins with and the next one that is not escaped.
fn closing(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text[1..].bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// A line with an empty span for each code span.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// A line without the targets of its links.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(']');
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idioms() -> Idioms {
        Idioms::parse("# a comment\n\\butilize\\b   # write use\n\\b(go|goes) on\\b # write continues\n")
            .unwrap()
    }

    #[test]
    fn idioms_of_prose_are_found_with_their_remedy() {
        let found = idioms().in_document("a.md", "# Title\n\nIt goes on,\nand Utilize it.\n");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let list = "(crates/tidy/banned-idioms.txt)";
        assert_eq!(
            found,
            [
                format!("a.md:3: `goes on`: write continues {list}"),
                format!("a.md:4: `Utilize`: write use {list}")
            ]
        );
    }

    #[test]
    fn code_and_targets_of_links_are_no_prose() {
        let text = "# Title\n\n`utilize` and [a link](utilize.md)\n\n```\nutilize\n```\n";
        assert_eq!(idioms().in_document("a.md", text), []);
    }

    #[test]
    fn comments_are_prose_and_code_is_not() {
        let text = "// It goes on.\nlet utilize = 1; // utilize, behind code\n/// See [`utilize`].\n";
        let found = idioms().in_comments("a.rs", text);
        assert_eq!(found.iter().map(|complaint| complaint.line).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn messages_are_prose_and_names_and_tests_are_not() {
        let text = concat!(
            "let name = \"utilize\"; // \"utilize here\"\n",
            "let quote = '\"'; let other = '\\''; fn a<'a>() {}\n",
            "let it = \"say \\\"so\\\": utilize \\\n    waits\";\n",
            "let raw = r#\"it \"goes on\" \"#;\n",
            "#[cfg(test)]\nmod tests { const A: &str = \"utilize it\"; }\n",
        );
        let lines = |path: &str| -> Vec<usize> {
            idioms().in_messages(path, text).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines("a/src/b.rs"), [3, 5]);
        assert_eq!(lines("a/tests/it/b.rs"), [0; 0]);
    }

    #[test]
    fn comments_and_descriptions_of_presets_are_prose_and_values_are_not() {
        let text =
            "# It goes on.\nname = \"utilize\"\ndescription = \"utilize it\"\nreads = 3 # printed: utilize\n";
        let found = idioms().in_preset("presets/schemes/a.toml", text);
        assert_eq!(found.iter().map(|complaint| complaint.line).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn comments_and_docstrings_of_python_are_prose_and_code_is_not() {
        let text = "def utilize():\n    \"\"\"Utilize it.\n\n    It goes on.\n    \"\"\"\n    # utilize\n    return utilize\n";
        let found = idioms().in_python("a.py", text);
        assert_eq!(found.iter().map(|complaint| complaint.line).collect::<Vec<_>>(), [2, 4, 6]);
    }

    #[test]
    fn a_list_with_a_bad_line_is_refused() {
        assert_eq!(Idioms::parse("\\butilize\\b\n").unwrap_err().0, 1);
        assert_eq!(Idioms::parse("# x\n(  # write (\n").unwrap_err().0, 2);
    }
}
