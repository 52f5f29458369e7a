//! The text that names a generator and its parameters: `uniform:write=1,size=8KiB,span=1GiB`.

use std::fmt::{self, Display, Formatter};

use stripewise_base::suggest;
use stripewise_base::units::{self, UnitError};

use crate::TraceError;

/// A parameter of a generator.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its default value; empty when the user must give one.
    pub default: &'static str,
    /// Its meaning, with an example or the choices.
    pub help: &'static str,
}

/// The parameters of one generator with their values, given or default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    generator: &'static str,
    values: Vec<(&'static str, String)>,
}

impl Keys {
    /// Parses `text`, the part of a specification after the generator's name and colon.
    pub(super) fn parse(
        generator: &'static str,
        text: &str,
        known: &'static [Key],
    ) -> Result<Self, TraceError> {
        let fail = |message: String| TraceError::Setting(format!("generator {generator}: {message}"));
        let mut given: Vec<(&'static str, String)> = Vec::new();
        for part in parts(text).map_err(fail)?.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(fail(format!("`{part}` has no value; write key=value")));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(key) = known.iter().find(|key| key.name == name) else {
                let names: Vec<&str> = known.iter().map(|key| key.name).collect();
                return Err(fail(suggest::unknown("key", name, &names)));
            };
            if given.iter().any(|(earlier, _)| *earlier == key.name) {
                return Err(fail(format!("key `{name}` is given twice; keep one")));
            }
            if value.is_empty() {
                return Err(fail(format!("key `{name}` is empty; it is {}", key.help)));
            }
            given.push((key.name, value.to_owned()));
        }
        let mut values = Vec::with_capacity(known.len());
        for key in known {
            let found = given.iter().find(|(name, _)| *name == key.name).map(|(_, value)| value.clone());
            if found.is_none() && key.default.is_empty() {
                return Err(fail(format!("key `{}` is missing; it is {}", key.name, key.help)));
            }
            values.push((key.name, found.unwrap_or_else(|| key.default.to_owned())));
        }
        Ok(Self { generator, values })
    }

    /// The generator's name.
    pub(super) fn generator(&self) -> &'static str {
        self.generator
    }

    /// The value of `key` as written.
    ///
    /// # Panics
    /// If the generator has no such key: an error in this crate.
    pub(super) fn text(&self, key: &str) -> &str {
        let found = self.values.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_str()).expect("the generator lists every key it reads")
    }

    /// An error about `key` that shows its value.
    pub(super) fn fail(&self, key: &str, message: impl Display) -> TraceError {
        TraceError::Setting(format!("generator {}: {key}={}: {message}", self.generator, self.text(key)))
    }

    fn unit<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, UnitError>) -> Result<T, TraceError> {
        parse(self.text(key)).map_err(|error| self.fail(key, error))
    }

    /// A size in bytes.
    pub(super) fn bytes(&self, key: &str) -> Result<u64, TraceError> {
        self.unit(key, units::parse_bytes)
    }

    /// A span of time in nanoseconds.
    pub(super) fn duration(&self, key: &str) -> Result<u64, TraceError> {
        self.unit(key, units::parse_duration)
    }

    /// A count.
    pub(super) fn count(&self, key: &str) -> Result<u64, TraceError> {
        self.unit(key, units::parse_count)
    }

    /// A positive number.
    pub(super) fn number(&self, key: &str) -> Result<f64, TraceError> {
        let value = self.text(key).parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| self.fail(key, "expected a number such as `0.99`"))
    }

    /// A share in `0.0..=1.0`: `0.6` or `60%`.
    pub(super) fn share(&self, key: &str) -> Result<f64, TraceError> {
        let text = self.text(key);
        let value = match text.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        let value = value.ok().filter(|value| (0.0..=1.0).contains(value));
        value.ok_or_else(|| self.fail(key, "expected a share from 0 to 1, such as `0.6` or `60%`"))
    }

    /// `yes` or `no`.
    pub(super) fn flag(&self, key: &str) -> Result<bool, TraceError> {
        match self.text(key) {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(self.fail(key, "expected `yes` or `no`")),
        }
    }
}

/// Splits `text` at the commas outside parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0u32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Err(format!("`{text}`: a parenthesis is not opened")),
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    if depth > 0 { Err(format!("`{text}`: a parenthesis is not closed")) } else { Ok(parts) }
}

impl Display for Keys {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.generator)?;
        for (at, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
