//! Schemes and devices as arguments name them: a preset, or a file.

use std::fs;
use std::path::Path;

use stripewise_base::suggest;

use crate::failure::{Failure, Outcome};

/// A TOML text and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The preset's name or the file's path, for messages.
    pub(crate) shown: String,
    /// The text.
    pub(crate) text: String,
}

/// The preset or file that `argument` names. `what` is "scheme" or "device".
///
/// # Errors
/// An unknown name, with the nearest known one; a file that cannot be read.
pub(crate) fn find(what: &str, argument: &str, presets: &[(&str, &str)]) -> Outcome<Document> {
    if let Some((name, text)) = presets.iter().find(|(name, _)| *name == argument) {
        return Ok(Document { shown: (*name).to_owned(), text: (*text).to_owned() });
    }
    let is_file = argument.ends_with(".toml") || argument.contains(std::path::MAIN_SEPARATOR);
    if !is_file {
        let names: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
        let mut message = suggest::unknown(what, argument, &names);
        if Path::new(argument).exists() {
            message.push_str(&format!("\n  to read the file of that name, write ./{argument}"));
        } else {
            message.push_str(&format!("\n  `stripewise {what} list` shows all; a file ends in .toml"));
        }
        return Err(Failure::usage(message));
    }
    match fs::read_to_string(argument) {
        Ok(text) => Ok(Document { shown: argument.to_owned(), text }),
        Err(error) => Err(Failure::usage(format!("{argument}: cannot read the {what}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESETS: [(&str, &str); 2] = [("baseline", "a = 1"), ("raid0", "a = 2")];

    fn refusal(argument: &str) -> String {
        match find("scheme", argument, &PRESETS) {
            Err(Failure::Usage(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_preset_is_found_by_its_name() {
        assert_eq!(find("scheme", "raid0", &PRESETS).unwrap().text, "a = 2");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one_and_where_to_look() {
        let message = refusal("basline");
        assert!(message.contains("did you mean `baseline`?"), "{message}");
        assert!(message.contains("stripewise scheme list"), "{message}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let message = refusal("no/such.toml");
        assert!(message.starts_with("no/such.toml: cannot read the scheme: "), "{message}");
    }

    #[test]
    fn a_file_is_read_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, "b = 3").unwrap();
        let shown = path.display().to_string();
        assert_eq!(find("scheme", &shown, &PRESETS).unwrap(), Document { shown, text: "b = 3".into() });
    }
}
