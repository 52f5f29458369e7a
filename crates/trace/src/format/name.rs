//! Names of formats: `msr`, `ssdsim:us`, `parquet`.

use std::fmt;
use std::str::FromStr;

use stripewise_base::suggest;

use super::binary::BINARY_FORMATS;
use super::columns::{self, Columns};
use super::line::{Format, LineFormat};
use super::{FORMATS, oracle};
use crate::TraceError;

/// The name of our own Parquet schema, which is no text format: see `docs/reference/trace-schema.md`.
pub const PARQUET: &str = "parquet";

/// A format and its variant, as `--format` names them: `msr`, `ssdsim:us`, `parquet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatName(Chosen);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// Indices into [`FORMATS`] and its variants.
    Text {
        format: usize,
        variant: usize,
    },
    /// Indices into [`BINARY_FORMATS`] and its variants.
    Binary {
        format: usize,
        variant: usize,
    },
    /// Text whose columns the user names.
    Columns(Columns),
    Parquet,
}

impl Chosen {
    /// The reader and writer of lines; none for Parquet.
    pub(crate) fn lines(self) -> Option<Box<dyn LineFormat>> {
        match self {
            Self::Text { format, variant } => Some((FORMATS[format].make)(variant)),
            Self::Columns(columns) => Some(Box::new(columns.lines())),
            Self::Binary { .. } | Self::Parquet => None,
        }
    }

    pub(crate) fn format(self) -> Option<&'static Format> {
        match self {
            Self::Text { format, .. } => Some(&FORMATS[format]),
            Self::Binary { .. } | Self::Columns(_) | Self::Parquet => None,
        }
    }
}

impl FormatName {
    pub(crate) fn chosen(self) -> Chosen {
        self.0
    }

    pub(crate) fn new(chosen: Chosen) -> Self {
        Self(chosen)
    }

    /// The other variants of a format whose variants are stages of requests: one of them may have the requests that
    /// this one lacks.
    pub(crate) fn other_stages(self) -> Vec<String> {
        let of = |count: usize, chosen: &dyn Fn(usize) -> Chosen| {
            let others = (0..count).map(|variant| Self(chosen(variant))).filter(|other| *other != self);
            others.map(|other| other.to_string()).collect()
        };
        match self.0 {
            Chosen::Text { format, .. } if FORMATS[format].has_stages() => {
                of(FORMATS[format].variants.len(), &|variant| Chosen::Text { format, variant })
            }
            Chosen::Binary { format, .. } if BINARY_FORMATS[format].stages => {
                of(BINARY_FORMATS[format].variants.len(), &|variant| Chosen::Binary { format, variant })
            }
            _ => Vec::new(),
        }
    }

    /// Our own Parquet schema.
    pub fn parquet() -> Self {
        Self(Chosen::Parquet)
    }
}

/// Every name that `--format` accepts, with its meaning: for help texts and error messages.
pub fn format_names() -> Vec<(String, String)> {
    let mut names = Vec::new();
    let text = FORMATS.iter().map(|format| (format.name, format.about, format.variants));
    let binary = BINARY_FORMATS.iter().map(|format| (format.name, format.about, format.variants));
    for (name, about, variants) in text.chain(binary) {
        names.push((name.to_owned(), about.to_owned()));
        for variant in variants {
            names.push((format!("{name}:{}", variant.name), variant.about.to_owned()));
        }
    }
    names.push((columns::EXAMPLE.to_owned(), columns::ABOUT.to_owned()));
    names.push((PARQUET.to_owned(), "Parquet file with our own schema".to_owned()));
    names
}

/// The same names in one line.
fn known() -> String {
    let names: Vec<String> = format_names().into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Chosen::Text { format, variant } => match FORMATS[format].variants.get(variant) {
                Some(variant) => write!(f, "{}:{}", FORMATS[format].name, variant.name),
                None => f.write_str(FORMATS[format].name),
            },
            Chosen::Binary { format, variant } => {
                let format = &BINARY_FORMATS[format];
                write!(f, "{}:{}", format.name, format.variants[variant].name)
            }
            Chosen::Columns(columns) => columns.fmt(f),
            Chosen::Parquet => f.write_str(PARQUET),
        }
    }
}

impl FromStr for FormatName {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        if let Some(spec) = text.strip_prefix(columns::PREFIX) {
            return Ok(Self(Chosen::Columns(spec.parse()?)));
        }
        if text.eq_ignore_ascii_case(oracle::NAME) {
            return Err(TraceError::Setting(format!("{}: {}", oracle::NAME, oracle::REFUSAL)));
        }
        let (name, variant) = match text.split_once(':') {
            Some((name, variant)) => (name, Some(variant)),
            None => (text, None),
        };
        let text_format = FORMATS.iter().position(|format| format.name == name);
        let binary_format = BINARY_FORMATS.iter().position(|format| format.name == name);
        let (variants, chosen): (_, &dyn Fn(usize) -> Chosen) = if let Some(format) = text_format {
            (FORMATS[format].variants, &move |variant| Chosen::Text { format, variant })
        } else if let Some(format) = binary_format {
            (BINARY_FORMATS[format].variants, &move |variant| Chosen::Binary { format, variant })
        } else {
            if text == PARQUET {
                return Ok(Self::parquet());
            }
            let names = format_names();
            let remedy = match suggest::nearest(text, names.iter().map(|(name, _)| name.as_str())) {
                Some(near) => format!("did you mean `{near}`? "),
                None => String::new(),
            };
            return Err(TraceError::Setting(format!(
                "unknown trace format `{text}`; {remedy}(formats: {})",
                known()
            )));
        };
        let Some(wanted) = variant else { return Ok(Self(chosen(0))) };
        match variants.iter().position(|variant| variant.name == wanted) {
            Some(variant) => Ok(Self(chosen(variant))),
            None if variants.is_empty() => {
                Err(TraceError::Setting(format!("format `{name}` has no variants; write `{name}`")))
            }
            None => {
                let names: Vec<String> =
                    variants.iter().map(|variant| format!("{name}:{}", variant.name)).collect();
                Err(TraceError::Setting(format!(
                    "unknown variant in `{text}`; write one of {}",
                    names.join(", ")
                )))
            }
        }
    }
}
