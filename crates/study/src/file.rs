//! The study file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use stripewise_base::suggest;
use stripewise_report::Goal;
use stripewise_runs::{DEFAULT_DEVICE, DEFAULT_PROFILE, DEFAULT_REQUESTS, SchemeSpec};
use toml::de::DeValue;

use crate::axis::{Axis, axes};
use crate::choice::{Choice, KEYS, is_leaf};
use crate::error::Error;
use crate::filter::Filter;
use crate::rules::{Fail, Replicate, figure_of};
use crate::sources::{Sources, Texts};
use crate::text::{Item, Section, Text};

/// The most schemes of a comparison: a bit of a word each.
const SCHEMES_MAX: usize = 64;
/// The most points before `[[only]]` and `[[except]]`.
const POINTS_MAX: u64 = 100_000_000;
/// Values of keys that the file leaves out.
const DEFAULTS: [(&str, &str); 6] = [
    ("device", DEFAULT_DEVICE),
    ("members", "channel"),
    ("precondition", "steady:70%"),
    ("fold", "modulo"),
    ("warmup", "0"),
    ("gc_slice", "100us"),
];

/// The goals of a search: `min TOTAL` or `max TOTAL`, or a list of them.
fn goals(tune: &Section<'_>) -> Result<Vec<Goal>, Error> {
    let goal = |item: &Item<'_>| {
        let text = item.string()?;
        let (direction, total) = text.split_once(' ').unwrap_or_default();
        if !["min", "max"].contains(&direction) {
            return Err(item.refuse(format!(
                "`{text}` is no goal; write it as in \"min response_p99_ns\", or \"max …\""
            )));
        }
        let total = figure_of(total.trim()).map_err(|message| item.refuse(message))?;
        Ok(Goal { total, is_most: direction == "max" })
    };
    let Some(item) = tune.get("goal") else { return Ok(Vec::new()) };
    match item.value() {
        DeValue::Array(_) => item.list().iter().map(goal).collect(),
        _ => Ok(vec![goal(item)?]),
    }
}

/// A study, as its file describes it.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// The file.
    pub path: PathBuf,
    /// Its label.
    pub name: String,
    /// The place of its results: a folder, or a URL.
    pub store: PathBuf,
    /// The schemes of each point: their labels, or as the file names them.
    pub schemes: Vec<String>,
    /// The axes, in the order of the file; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// The seeds.
    pub replicate: Replicate,
    /// The treatment of failures.
    pub fail: Fail,
    /// Whether it has a section `[tune]`: then it is a search, and the rest is what each of its trials does.
    pub is_search: bool,
    /// The goals of the search.
    pub goals: Vec<Goal>,
    pub(crate) base: Vec<Choice>,
    pub(crate) specs: Vec<SchemeSpec>,
    pub(crate) only: Vec<Filter>,
    pub(crate) except: Vec<Filter>,
    /// The text of the file, and those of the files that it names.
    pub(crate) text: String,
    pub(crate) texts: Texts,
}

impl StudyFile {
    /// Reads a study file.
    ///
    /// # Errors
    /// The first mistake, with file, line and remedy.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::io(path, "read the study file"))?;
        Self::parse(path, &text)
    }

    /// Reads the text of a study file. Paths in it are relative to the folder of `path`.
    ///
    /// # Errors
    /// The first mistake, with file, line and remedy.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        Self::parse_with(path, text, Sources::here(path.parent().unwrap_or(Path::new(""))))
    }

    /// Reads the text of a study file that came with the texts of its files.
    ///
    /// # Errors
    /// The first mistake; a file that did not come along.
    pub(crate) fn parse_given(path: &Path, text: &str, texts: Texts) -> Result<Self, Error> {
        Self::parse_with(path, text, Sources::given(path.parent().unwrap_or(Path::new("")), texts))
    }

    fn parse_with(path: &Path, text: &str, sources: Sources) -> Result<Self, Error> {
        let source = text;
        let shown = path.display().to_string();
        let text = Text { file: &shown, text };
        let table = text.parse()?;
        let whole = text.section("", table.get_ref());
        whole.only(&[
            "study",
            "base",
            "compare",
            "axes",
            "only",
            "except",
            "replicate",
            "fail",
            "tune",
            "on",
        ])?;
        let section = |key: &str| whole.get(key).map(Item::section).transpose();
        // Read by the Python part, which makes searches and starts clusters.
        let tune = section("tune")?;
        let is_search = tune.is_some();
        let goals = tune.map_or(Ok(Vec::new()), |tune| goals(&tune))?;
        section("on")?;

        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let (mut name, mut store) = (stem.clone(), format!("{stem}.results"));
        if let Some(study) = section("study")? {
            study.only(&["name", "store"])?;
            if let Some(item) = study.get("name") {
                name = item.string()?;
            }
            if let Some(item) = study.get("store") {
                store = item.string()?;
            }
        }
        let (schemes, specs) = schemes(&whole, section("compare")?, text, &sources)?;
        let axes = section("axes")?.map_or(Ok(Vec::new()), |section| axes(&section, &sources))?;
        let points = axes.iter().try_fold(1u64, |points, axis| points.checked_mul(axis.values.len() as u64));
        if points.is_none_or(|points| points > POINTS_MAX)
            && let Some(item) = whole.get("axes")
        {
            return Err(
                item.refuse_key(format!("the axes have more than {POINTS_MAX} points; give fewer values"))
            );
        }
        let base = base(section("base")?.as_ref(), &axes, &sources)?;
        let filters = |key: &str| -> Result<Vec<Filter>, Error> {
            let Some(item) = whole.get(key) else { return Ok(Vec::new()) };
            if !matches!(item.value(), DeValue::Array(_)) {
                return Err(item.refuse_key(format!("there may be several: write [[{key}]]")));
            }
            item.list().iter().map(|item| Filter::read(&item.section()?, &axes, &schemes)).collect()
        };
        let (only, except) = (filters("only")?, filters("except")?);
        let replicate = section("replicate")?;
        let replicate = replicate.map_or(Ok(Replicate::default()), |it| Replicate::read(&it, &schemes))?;
        let fail = section("fail")?.map_or(Ok(Fail::default()), |section| Fail::read(&section))?;
        let store = if store.contains("://") { store.into() } else { sources.path(&store).into() };
        let file = Self {
            path: path.into(),
            name,
            store,
            schemes,
            axes,
            replicate,
            fail,
            is_search,
            goals,
            base,
            specs,
            only,
            except,
            text: source.to_owned(),
            texts: sources.into_texts(),
        };
        file.check_settings(&whole)?;
        Ok(file)
    }

    /// Checks that each setting is one: at least one of the schemes or devices must have its key and take its value. A
    /// combination that refuses it is skipped later.
    fn check_settings(&self, whole: &Section<'_>) -> Result<(), Error> {
        let choices = || self.base.iter().chain(self.axes.iter().flat_map(|axis| &axis.values));
        let devices: Vec<_> = choices().filter_map(Choice::device).collect();
        let mut known = BTreeSet::new();
        for choice in choices() {
            let Some(setting) = choice.setting() else { continue };
            // Values of a long range are alike: the first and the last ones stand for them.
            if known.len() > 1000 {
                break;
            }
            if !known.insert(&choice.canonical) {
                continue;
            }
            let mut refusal = None;
            let takes = self.specs.iter().any(|scheme| {
                devices.iter().any(|device| match setting.target(&scheme.document, device) {
                    Ok(_) => true,
                    Err(error) => {
                        refusal.get_or_insert(error);
                        false
                    }
                })
            });
            if let Some(refusal) = refusal.filter(|_| !takes) {
                // A word without a point was probably meant as a key of studies.
                let near = suggest::nearest(&choice.key, KEYS).filter(|_| !choice.key.contains('.'));
                let refusal = near.map_or_else(
                    || refusal.to_string(),
                    |near| format!("unknown key `{}`; did you mean `{near}`?", choice.key),
                );
                return Err(place_of(whole, choice, &refusal));
            }
        }
        Ok(())
    }
}

/// The error about a setting, at its place in `[base]` or `[axes]`.
fn place_of(whole: &Section<'_>, choice: &Choice, message: &str) -> Error {
    let sections = ["base", "axes"].into_iter().filter_map(|key| whole.get(key)?.table());
    let items = sections.flat_map(|section| section.items.into_iter().flat_map(|item| item.flat(&is_leaf)));
    let item = items.into_iter().find(|item| item.key == choice.key);
    item.map_or_else(
        || Error::Spec(message.to_owned()),
        |item| {
            let values = item.list();
            let named = values.iter().find(|value| value.plain().is_ok_and(|text| text == choice.shown));
            if message.contains("unknown key") {
                item.refuse_key(message)
            } else {
                named.unwrap_or(&item).refuse(message)
            }
        },
    )
}

type Schemes = (Vec<String>, Vec<SchemeSpec>);

fn schemes(
    whole: &Section<'_>,
    compare: Option<Section<'_>>,
    text: Text<'_>,
    sources: &Sources,
) -> Result<Schemes, Error> {
    let none = || {
        let at = whole.get("compare").map_or(0..0, |item| item.key_span.clone());
        text.refuse(at, "a study needs schemes: [compare] scheme = [\"baseline\", \"bpu\"]")
    };
    let compare = compare.ok_or_else(none)?;
    compare.only(&["scheme"])?;
    let list = compare.get("scheme").ok_or_else(none)?;
    let (mut names, mut specs) = (Vec::<String>::new(), Vec::new());
    for item in list.list() {
        let name = item.string()?;
        let spec = sources.scheme(&name).map_err(|error| item.refuse(error))?;
        let name = spec.label.clone().unwrap_or(name);
        specs.push(spec);
        if names.contains(&name) {
            return Err(item.refuse(format!("`{name}` stands here twice; leave one out")));
        }
        names.push(name);
    }
    if names.is_empty() || names.len() > SCHEMES_MAX {
        return Err(list.refuse(format!("a study compares 1 to {SCHEMES_MAX} schemes")));
    }
    Ok((names, specs))
}

/// The choices that all points share, defaults included.
fn base(section: Option<&Section<'_>>, axes: &[Axis], sources: &Sources) -> Result<Vec<Choice>, Error> {
    let mut base: Vec<Choice> = Vec::new();
    let items = section.iter().flat_map(|section| section.items.iter().flat_map(|item| item.flat(&is_leaf)));
    for item in items {
        if item.key == "scheme" {
            return Err(item.refuse_key("schemes stand in [compare]"));
        }
        if item.key == "seed" || item.key == "seeds" {
            return Err(item.refuse_key("seeds stand in [replicate], as in seeds = 5"));
        }
        let choice = Choice::read(&item, sources)?;
        if axes.iter().any(|axis| axis.key == choice.key) {
            return Err(item.refuse_key(format!("`{}` is an axis too; leave it out here", choice.key)));
        }
        if base.iter().any(|other| other.key == choice.key) {
            return Err(item.refuse_key(format!("`{}` stands here twice; leave one out", choice.key)));
        }
        base.push(choice);
    }
    let requests = DEFAULT_REQUESTS.to_string();
    let has = |base: &[Choice], key: &str| {
        base.iter().any(|choice| choice.key == key) || axes.iter().any(|axis| axis.key == key)
    };
    let mut defaults = DEFAULTS.to_vec();
    if !has(&base, "workload") {
        defaults.push(("workload", DEFAULT_PROFILE));
        defaults.push(("requests", &requests));
    }
    for (key, value) in defaults {
        if !has(&base, key) {
            base.push(Choice::parse(key, value, sources).map_err(Error::Spec)?);
        }
    }
    Ok(base)
}
