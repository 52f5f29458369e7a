//! Schemes and devices as arguments name them: a preset, or a file.

use std::fs;
use std::path::Path;

use stripewise_base::suggest;

use crate::error::{Error, What};

/// A TOML text and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The preset's name or the file's path, for messages.
    pub shown: String,
    /// The text.
    pub text: String,
}

impl Document {
    /// The scheme or device that `argument` names: a preset, or a file that ends in `.toml`.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one; a file that cannot be read.
    pub fn find(what: What, argument: &str) -> Result<Self, Error> {
        match what {
            What::Scheme => find(what, argument, &stripewise_array::PRESETS),
            What::Device => find(what, argument, &stripewise_flash::spec::PRESETS),
            What::Profile => find(what, argument, &[]),
        }
    }
}

fn find(what: What, argument: &str, presets: &[(&str, &str)]) -> Result<Document, Error> {
    if let Some((name, text)) = presets.iter().find(|(name, _)| *name == argument) {
        return Ok(Document { shown: (*name).to_owned(), text: (*text).to_owned() });
    }
    let is_file = argument.ends_with(".toml") || argument.contains(std::path::MAIN_SEPARATOR);
    if !is_file {
        let names: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
        return Err(unknown(what, argument, &names));
    }
    match fs::read_to_string(argument) {
        Ok(text) => Ok(Document { shown: argument.to_owned(), text }),
        Err(source) => Err(Error::Unreadable { what, path: Path::new(argument).to_owned(), source }),
    }
}

/// The number of nearest names in the message, where none is near enough to be the intended one.
const NEAREST: usize = 3;

/// The error for a name that `known` does not contain: with the probably intended name, or the nearest names and all
/// others.
pub(crate) fn unknown(what: What, name: &str, known: &[&str]) -> Error {
    let mut message = format!("unknown {what} `{name}`");
    let mut others: Vec<&str> = Vec::new();
    if let Some(near) = suggest::nearest(name, known.iter().copied()) {
        message.push_str(&format!("; did you mean `{near}`?"));
    } else if !known.is_empty() {
        others = known.to_vec();
        let alike = |other: &str| strsim::jaro_winkler(name, other);
        others.sort_by(|one, other| alike(other).total_cmp(&alike(one)));
        let rest = others.split_off(NEAREST.min(others.len()));
        message.push_str(&format!("; the nearest: {}", others.join(", ")));
        others = known.iter().copied().filter(|name| rest.contains(name)).collect();
    }
    let others = others.into_iter().map(str::to_owned).collect();
    Error::Unknown { what, name: name.to_owned(), message, others }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESETS: [(&str, &str); 2] = [("baseline", "a = 1"), ("raid0", "a = 2")];

    fn refusal(argument: &str) -> String {
        find(What::Scheme, argument, &PRESETS).unwrap_err().to_string()
    }

    #[test]
    fn a_preset_is_found_by_its_name() {
        assert_eq!(find(What::Scheme, "raid0", &PRESETS).unwrap().text, "a = 2");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let message = refusal("basline");
        assert!(message.contains("did you mean `baseline`?"), "{message}");
    }

    #[test]
    fn a_name_like_no_other_gets_the_nearest_ones_first_and_then_all_others() {
        let known = ["always-rcw", "baseline", "bpu", "linux-md", "raid0", "stripewise"];
        match unknown(What::Scheme, "raid5-on-linux", &known) {
            Error::Unknown { message, others, .. } => {
                assert!(
                    message.starts_with("unknown scheme `raid5-on-linux`; the nearest: raid0, "),
                    "{message}"
                );
                assert_eq!(others.len(), known.len() - NEAREST);
                assert!(others.iter().all(|name| !message.contains(name.as_str())), "{message}: {others:?}");
            }
            other => panic!("{other}"),
        }
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
        assert_eq!(find(What::Scheme, &shown, &PRESETS).unwrap(), Document { shown, text: "b = 3".into() });
    }
}
