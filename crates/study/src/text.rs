//! A TOML text whose parts know their places, so that every complaint names a line.

use std::ops::Range;

use stripewise_base::suggest::{self, ConfigError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Error;

/// A text, and the name of its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

/// A value of the text.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    text: Text<'a>,
    /// Its key, with those of the tables around it inside its section.
    pub(crate) key: String,
    /// The place of its key.
    pub(crate) key_span: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table of the text.
#[derive(Clone, Debug)]
pub(crate) struct Section<'a> {
    name: String,
    /// In the order of the text.
    pub(crate) items: Vec<Item<'a>>,
}

impl<'a> Text<'a> {
    /// An error at a place.
    pub(crate) fn refuse(self, span: Range<usize>, message: impl Into<String>) -> Error {
        Error::Text(ConfigError::at(self.file, self.text, Some(span), message.into()))
    }

    /// The tables of the text.
    pub(crate) fn parse(self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| {
            Error::Text(ConfigError::at(self.file, self.text, error.span(), error.message().to_owned()))
        })
    }

    /// The items of a table called `name`.
    pub(crate) fn section(self, name: &str, table: &'a DeTable<'a>) -> Section<'a> {
        let items = table.iter().map(|(key, value)| Item {
            text: self,
            key: key.get_ref().to_string(),
            key_span: key.span(),
            value,
        });
        let mut items: Vec<Item<'a>> = items.collect();
        items.sort_by_key(|item| item.key_span.start);
        Section { name: name.to_owned(), items }
    }
}

impl<'a> Section<'a> {
    /// Refuses keys other than `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Error> {
        let stranger = self.items.iter().find(|item| !known.contains(&item.key.as_str()));
        stranger.map_or(Ok(()), |item| {
            let what = if self.name.is_empty() { "section" } else { "key" };
            Err(item.refuse_key(suggest::unknown(what, &item.key, known)))
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Item<'a>> {
        self.items.iter().find(|item| item.key == key)
    }
}

impl<'a> Item<'a> {
    /// An error at the value.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> Error {
        self.text.refuse(self.value.span(), message)
    }

    /// An error at the key.
    pub(crate) fn refuse_key(&self, message: impl Into<String>) -> Error {
        self.text.refuse(self.key_span.clone(), message)
    }

    pub(crate) fn value(&self) -> &'a DeValue<'a> {
        self.value.get_ref()
    }

    /// The value as it was typed.
    pub(crate) fn source(&self) -> &'a str {
        &self.text.text[self.value.span()]
    }

    pub(crate) fn table(&self) -> Option<Section<'a>> {
        match self.value() {
            DeValue::Table(table) => Some(self.text.section(&self.key, table)),
            _ => None,
        }
    }

    pub(crate) fn section(&self) -> Result<Section<'a>, Error> {
        self.table().ok_or_else(|| self.refuse(format!("`{}` is a section: write [{}]", self.key, self.key)))
    }

    /// The values of a list; a single value is a list of one.
    pub(crate) fn list(&self) -> Vec<Item<'a>> {
        let item = |value| Item { value, ..self.clone() };
        match self.value() {
            DeValue::Array(values) => values.iter().map(item).collect(),
            _ => vec![self.clone()],
        }
    }

    /// The items below this one that are no tables, with dotted keys: `[base.gc] victim` is `gc.victim`.
    pub(crate) fn flat(&self, is_leaf: &dyn Fn(&Item<'a>) -> bool) -> Vec<Item<'a>> {
        let Some(section) = self.table().filter(|_| !is_leaf(self)) else { return vec![self.clone()] };
        let below = |item: Item<'a>| Item { key: format!("{}.{}", self.key, item.key), ..item };
        section.items.into_iter().flat_map(|item| below(item).flat(is_leaf)).collect()
    }

    /// A text, or a number or truth value as it was typed.
    pub(crate) fn plain(&self) -> Result<String, Error> {
        match self.value() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(&number.as_str().replace('_', ""), number.radix());
                parsed.map(|number| number.to_string()).map_err(|error| self.refuse(error.to_string()))
            }
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            _ => Err(self.refuse(format!("`{}`: expected a text or a number", self.key))),
        }
    }

    /// A text that `T` reads.
    pub(crate) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self) -> Result<T, Error> {
        let plain = self.plain()?;
        plain.parse().map_err(|error| self.refuse(format!("`{}`: {error}", self.key)))
    }

    /// A count of at least `least`.
    pub(crate) fn count(&self, least: u32) -> Result<u32, Error> {
        let count = self.plain()?.parse::<u32>().ok().filter(|&count| count >= least);
        count.ok_or_else(|| self.refuse(format!("`{}`: expected a whole number from {least} on", self.key)))
    }

    /// A number.
    pub(crate) fn real(&self) -> Result<f64, Error> {
        let real = self.plain()?.replace('_', "").parse::<f64>().ok().filter(|real| real.is_finite());
        real.ok_or_else(|| self.refuse(format!("`{}`: expected a number, as in 0.05", self.key)))
    }

    /// A text of its own kind: a number is refused.
    pub(crate) fn string(&self) -> Result<String, Error> {
        match self.value() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.refuse(format!("`{}`: expected a text in quotes", self.key))),
        }
    }
}
