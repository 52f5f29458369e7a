//! Words of prose: documents and comments keep to plain English.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};

use crate::{Complaint, markdown};

/// The file with the list, from the root of the tree.
pub const LIST: &str = "tidy/banned-idioms.txt";

/// An idiom that prose does not use.
#[derive(Debug)]
struct Idiom {
    pattern: Regex,
    remedy: String,
}

/// The idioms of the list.
#[derive(Debug)]
pub struct Idioms {
    /// Any of them: most lines have none, and one search tells.
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
        Idioms::parse("# a comment\n\\bnobody\\b   # write no server\n\\b(go|goes) on\\b # write continues\n")
            .unwrap()
    }

    #[test]
    fn idioms_of_prose_are_found_with_their_remedy() {
        let found = idioms().in_document("a.md", "# Title\n\nIt goes on,\nand Nobody cares.\n");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let list = "(tidy/banned-idioms.txt)";
        assert_eq!(
            found,
            [
                format!("a.md:3: `goes on`: write continues {list}"),
                format!("a.md:4: `Nobody`: write no server {list}")
            ]
        );
    }

    #[test]
    fn code_and_targets_of_links_are_no_prose() {
        let text = "# Title\n\n`nobody` and [a link](nobody.md)\n\n```\nnobody\n```\n";
        assert_eq!(idioms().in_document("a.md", text), []);
    }

    #[test]
    fn comments_are_prose_and_code_is_not() {
        let text = "// It goes on.\nlet nobody = 1; // nobody, behind code\n/// See [`nobody`].\n";
        let found = idioms().in_comments("a.rs", text);
        assert_eq!(found.iter().map(|complaint| complaint.line).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_list_with_a_bad_line_is_refused() {
        assert_eq!(Idioms::parse("\\bnobody\\b\n").unwrap_err().0, 1);
        assert_eq!(Idioms::parse("# x\n(  # write (\n").unwrap_err().0, 2);
    }
}
