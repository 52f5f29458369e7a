//! Words of identifiers: names in code keep to the words of the field.

use std::collections::BTreeMap;

use crate::Complaint;
use crate::circles::tokens;

/// The file with the list, from the root of the tree.
pub const LIST: &str = "crates/tidy/banned-words.txt";

/// The words of the list, each with its remedy.
#[derive(Debug, Default)]
pub struct Words(BTreeMap<String, String>);

impl Words {
    /// Reads a list: each line a word, then ` # use ` and the words to use instead. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The first line that is neither.
    pub fn parse(list: &str) -> Result<Self, String> {
        let lines = (1..).zip(list.lines()).filter(|(_, line)| !line.starts_with('#'));
        let word = |(number, line): (usize, &str)| {
            let parts = line.split_once(" # ").filter(|(_, remedy)| remedy.starts_with("use "));
            let (word, remedy) = parts.ok_or_else(|| format!("{LIST}:{number}: no ` # use …`"))?;
            Ok((word.trim().to_owned(), remedy.to_owned()))
        };
        lines.map(word).collect::<Result<_, _>>().map(Self)
    }

    /// The banned words in the identifiers of Rust code, and in the name of its file.
    pub fn in_names(&self, path: &str, text: &str) -> Vec<Complaint> {
        let file = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        let of_file = self.find(file).map(|complaint| Complaint::new(path, 1, complaint));
        let mut complaints: Vec<Complaint> = of_file.into_iter().collect();
        for token in tokens(text) {
            if let Some(complaint) = self.find(token) {
                let before = &text[..token.as_ptr() as usize - text.as_ptr() as usize];
                complaints.push(Complaint::new(path, before.matches('\n').count() + 1, complaint));
            }
        }
        complaints
    }

    /// The complaint about the first banned word in `name`.
    fn find(&self, name: &str) -> Option<String> {
        let snake = format!("_{}_", snake_case(name));
        let (word, remedy) = self.0.iter().find(|(word, _)| snake.contains(&format!("_{word}_")))?;
        Some(format!("`{name}`: the word `{word}`; {remedy} ({LIST})"))
    }
}

/// `name` in lower case with `_` between its words: `GaveUp` and `GAVE_UP` are both `gave_up`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            snake.push('_');
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let words = Words::parse("# a comment\nsaid # use reported\ngave_in # use failed\n").unwrap();
        words.in_names(path, text).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_banned_word_is_found_in_every_form_of_a_name() {
        for name in ["said", "is_said", "said_by", "SaidOnce", "SAID", "AllSaid", "GaveIn", "it_gave_in"] {
            assert_eq!(lines("a.rs", &format!("// x\nlet {name} = 1;\n")), [2], "{name}");
        }
        assert_eq!(lines("crates/x/src/said.rs", "fn f() {}\n"), [1]);
    }

    #[test]
    fn other_names_prose_and_texts_are_free() {
        for text in
            ["let saidly = 1;", "let gave = 1; let r#in = 2;", "// said", "let x = \"said\";", "/* said */"]
        {
            assert_eq!(lines("a.rs", text), [0; 0], "{text}");
        }
    }

    #[test]
    fn a_complaint_names_the_identifier_and_the_remedy() {
        let words = Words::parse("said # use reported\n").unwrap();
        let found = words.in_names("a.rs", "let is_said = 1;\n").remove(0).to_string();
        assert_eq!(found, "a.rs:1: `is_said`: the word `said`; use reported (crates/tidy/banned-words.txt)");
    }

    #[test]
    fn a_line_without_a_remedy_is_refused() {
        let error = Words::parse("# x\nsaid\n").unwrap_err();
        assert_eq!(error, "crates/tidy/banned-words.txt:2: no ` # use …`");
    }
}
