//! One value of one key of a study: a device, a workload, a pacing, a setting ...

use std::path::PathBuf;

use stripewise_base::units::{Bytes, Count, Span};
use stripewise_runs::{ComparisonSpec, Document, Origin, Setting, WarmUp, What};
use stripewise_sim::{Layout, Pacing, Precondition};
use stripewise_trace::fold::Fold;
use stripewise_trace::{FormatName, OpenOptions};
use toml::de::DeValue;

use crate::error::Error;
use crate::sources::Sources;
use crate::text::Item;

/// A key with a value.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The key.
    pub key: String,
    /// The value, as the file has it.
    pub shown: String,
    /// A text that is equal for equal values. It names files by the digest of their content.
    pub(crate) canonical: String,
    pub(crate) part: Part,
}

/// The meaning of a value.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Origin(Box<Origin>),
    /// A trace with the digest that the file expects.
    Trace(PathBuf, OpenOptions, Option<String>),
    Requests(u64),
    Fold(Fold),
    Pacing(Pacing),
    Span(u64),
    Warmup(WarmUp),
    Device(Document),
    Members(Layout),
    Precondition(Precondition),
    GcSlice(Span),
    Setting(Setting),
}

/// Keys that are no settings of schemes or devices.
pub(crate) const KEYS: [&str; 10] = [
    "workload",
    "requests",
    "fold",
    "pacing",
    "span",
    "warmup",
    "device",
    "members",
    "precondition",
    "gc_slice",
];
/// A former name of `members`, as on the command line.
const FORMER_MEMBERS: &str = "elements";

/// Whether an item is the value of a key, and no table of keys.
pub(crate) fn is_leaf(item: &Item<'_>) -> bool {
    item.key == "workload" || item.table().is_some_and(|table| table.get("from").is_some())
}

impl Choice {
    /// The choice that `item` makes. Paths are relative to the folder of the study file.
    pub(crate) fn read(item: &Item<'_>, sources: &Sources) -> Result<Self, Error> {
        let key = if item.key == FORMER_MEMBERS { "members" } else { item.key.as_str() };
        if key == "workload" && item.table().is_some() {
            return trace(item, sources);
        }
        let is_setting = !KEYS.contains(&key);
        let shown = if is_setting { setting_text(item)? } else { item.plain()? };
        Self::parse(key, &shown, sources).map_err(|message| item.refuse(message))
    }

    /// The choice of a value that stands as a text.
    pub(crate) fn parse(key: &str, shown: &str, sources: &Sources) -> Result<Self, String> {
        fn read<T: std::str::FromStr<Err: std::fmt::Display>>(key: &str, text: &str) -> Result<T, String> {
            text.parse().map_err(|error| format!("`{key}`: {error}"))
        }
        let count = || Ok::<u64, String>(read::<Count>(key, shown)?.0);
        let part = match key {
            "workload" => Part::Origin(Box::new(origin(shown, sources)?)),
            "requests" => match count()? {
                0 => return Err("`requests`: there is nothing to replay; give at least 1".to_owned()),
                requests => Part::Requests(requests),
            },
            "fold" => Part::Fold(read(key, shown)?),
            "pacing" => Part::Pacing(read(key, shown)?),
            "span" => Part::Span(read::<Bytes>(key, shown)?.0),
            "warmup" => Part::Warmup(read(key, shown)?),
            "device" => Part::Device(sources.document(What::Device, shown)?),
            "members" => Part::Members(read(key, shown)?),
            "precondition" => Part::Precondition(read(key, shown)?),
            "gc_slice" => Part::GcSlice(read(key, shown)?),
            setting => Part::Setting(read(setting, &format!("{setting}={shown}"))?),
        };
        let canonical = canonical(&part, shown);
        let key = key.to_owned();
        Ok(Self { key, shown: shown.to_owned(), canonical, part })
    }

    /// Whether the choice is part of an array: it may decide whether a scheme fits.
    pub(crate) fn is_of_array(&self) -> bool {
        matches!(
            self.part,
            Part::Span(_) | Part::Device(_) | Part::Members(_) | Part::Precondition(_) | Part::Setting(_)
        )
    }

    /// The device, if it is one.
    pub(crate) fn device(&self) -> Option<&Document> {
        match &self.part {
            Part::Device(document) => Some(document),
            _ => None,
        }
    }

    /// The setting, if it is one.
    pub(crate) fn setting(&self) -> Option<&Setting> {
        match &self.part {
            Part::Setting(setting) => Some(setting),
            _ => None,
        }
    }

    /// Makes the choice in `spec`.
    pub(crate) fn apply(&self, spec: &mut ComparisonSpec) {
        match &self.part {
            Part::Origin(origin) => spec.workload.origin = (**origin).clone(),
            Part::Trace(path, options, _) => {
                spec.workload.origin = Origin::Trace(path.clone(), options.clone());
            }
            Part::Requests(requests) => spec.workload.requests = Some(*requests),
            Part::Fold(fold) => spec.workload.fold = *fold,
            Part::Pacing(pacing) => spec.pacing = Some(*pacing),
            Part::Span(bytes) => spec.span = stripewise_runs::Span::Bytes(*bytes),
            Part::Warmup(requests) => spec.warmup = *requests,
            Part::Device(document) => spec.device = document.clone(),
            Part::Members(members) => spec.members = *members,
            Part::Precondition(precondition) => spec.precondition = *precondition,
            Part::GcSlice(length) => spec.tables.gc_slice = *length,
            Part::Setting(setting) => spec.settings.push(setting.clone()),
        }
    }
}

/// A setting's value as `KEY=VALUE` has it. A text that TOML would read as something else keeps its quotes.
fn setting_text(item: &Item<'_>) -> Result<String, Error> {
    match item.value() {
        DeValue::String(text) => {
            let is_toml = format!("value = {text}").parse::<toml::Table>().is_ok();
            Ok(if is_toml { toml::Value::String(text.to_string()).to_string() } else { text.to_string() })
        }
        DeValue::Array(_) => Ok(item.source().split_whitespace().collect::<Vec<_>>().join(" ")),
        _ => item.plain(),
    }
}

fn origin(shown: &str, sources: &Sources) -> Result<Origin, String> {
    if shown.ends_with(".toml") && !shown.contains(':') {
        return Ok(Origin::ProfileText(sources.document(What::Profile, shown)?));
    }
    let found = Origin::generated(shown).map_err(|error| format!("`workload`: {error}"))?;
    if let Origin::Profile(name) = &found {
        let remedy = "; a trace is { trace = \"FILE\" }";
        stripewise_runs::builtin_profile(name).map_err(|error| format!("{error}{remedy}"))?;
    }
    Ok(found)
}

/// `{ trace = "FILE", blake3 = "…", format = "msr", skip_bad = 0 }`; `columns = "…"` in place of a format.
fn trace(item: &Item<'_>, sources: &Sources) -> Result<Choice, Error> {
    let table = item.section()?;
    table.only(&["trace", "blake3", "format", "columns", "skip_bad"])?;
    let file =
        table.get("trace").ok_or_else(|| item.refuse("a workload of this form has a `trace`"))?.string()?;
    let mut options = OpenOptions::default();
    if let Some(format) = table.get("format") {
        options.format = Some(format.parsed::<FormatName>()?);
    }
    if let Some(columns) = table.get("columns") {
        if options.format.is_some() {
            return Err(columns.refuse_key("`columns` is a format of its own; leave `format` out"));
        }
        let format = format!("columns:{}", columns.string()?).parse::<FormatName>();
        options.format = Some(format.map_err(|error| columns.refuse(error.to_string()))?);
    }
    if let Some(skip) = table.get("skip_bad") {
        options.skip_bad = skip.parsed::<Count>()?.0;
    }
    let digest = table.get("blake3").map(Item::string).transpose()?;
    let canonical = format!("trace {:?} {}", options.format, options.skip_bad);
    let part = Part::Trace(sources.path(&file).into(), options, digest);
    Ok(Choice { key: "workload".to_owned(), shown: file, canonical, part })
}

fn canonical(part: &Part, shown: &str) -> String {
    match part {
        Part::Origin(origin) => match &**origin {
            Origin::Generator(generator) => generator.to_string(),
            Origin::ProfileText(document) => digest("profile", &document.text),
            _ => shown.to_owned(),
        },
        Part::Trace(..) => shown.to_owned(),
        Part::Requests(count) | Part::Span(count) => count.to_string(),
        Part::Warmup(warmup) => warmup.to_string(),
        Part::Fold(fold) => fold.to_string(),
        Part::Pacing(pacing) => pacing.to_string(),
        Part::Device(document) => digest("device", &document.text),
        Part::Members(members) => members.to_string(),
        Part::Precondition(precondition) => precondition.to_string(),
        Part::GcSlice(length) => length.to_string(),
        Part::Setting(setting) => setting.to_string(),
    }
}

/// The digest of a text, for [`Choice::canonical`].
pub(crate) fn digest(what: &str, text: &str) -> String {
    format!("{what} {}", blake3::hash(text.as_bytes()).to_hex())
}
