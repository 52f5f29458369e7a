//! Which studies an evaluation takes: its study points, and the study that each is.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use minijinja::value::Value;
use stripewise_base::suggest::unknown;
use stripewise_runs::{
    ComparisonSpec, Document as Preset, Error as StudyError, Origin, SchemeSpec, Setting, Span, Tables,
    WarmUp, What, Workload, WorkloadSpec, smallest_bytes,
};
use stripewise_trace::OpenOptions;
use stripewise_trace::fold::Fold;
use stripewise_trace::stats::{PAGE_BYTES, Stats};

use crate::document::{Claim, Definitions, Group, Scheme, SliceFile, Text};
use crate::error::Error;
use crate::language::{items, of_table, of_toml};
use crate::names::Names;
use crate::paper::{EvaluationOptions, Paper, Part};
use crate::point::{ATTRIBUTE, Attributes, StudyPoint};
use crate::speed::REAL_TIME;

/// A study point while its groups are read.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    attributes: Attributes,
    when: Vec<&'a Text>,
    slice: Option<(PathBuf, SliceFile)>,
}

impl Draft<'_> {
    /// Sets attributes.
    pub(crate) fn set(&mut self, attributes: &toml::Table) {
        self.attributes.extend(of_table(attributes));
    }

    /// The same, at a speed-up in hundredths.
    pub(crate) fn at(&self, hundredths: u64) -> Self {
        let mut draft = self.clone();
        draft.attributes.insert("speed".to_owned(), hundredths.into());
        draft
    }

    /// Whether both are of the same workload.
    pub(crate) fn is_of_workload_of(&self, other: &Self) -> bool {
        let workload = |draft: &Self| draft.attributes.get("workload").map(Value::to_string);
        workload(self) == workload(other) && self.slice.is_some() == other.slice.is_some()
    }
}

impl Paper {
    /// The real traces that are asked for, each with its file.
    fn slices(&self, options: &EvaluationOptions) -> impl Iterator<Item = (PathBuf, SliceFile)> {
        let root = options.traces.as_deref();
        root.into_iter()
            .flat_map(|root| self.document.slice.iter().map(|slice| (root.join(&slice.path), slice.clone())))
    }

    /// The real traces that are asked for and are not there.
    pub fn missing(&self, options: &EvaluationOptions) -> Vec<String> {
        let absent = self.slices(options).filter(|(path, _)| !path.is_file());
        absent.map(|(path, slice)| format!("{}: no file {}", slice.workload, path.display())).collect()
    }

    /// The study points that the evaluation takes; where only some claims are asked for, those that they need.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn points(&self, options: &EvaluationOptions) -> Result<Vec<StudyPoint>, Error> {
        let mut points = Vec::new();
        for draft in self.drafts(options) {
            points.extend(self.point(draft, options)?);
        }
        Ok(points)
    }

    /// All study points that the groups make, in real time.
    pub(crate) fn drafts(&self, options: &EvaluationOptions) -> Vec<Draft<'_>> {
        let mut start = Draft { attributes: self.constants.clone(), when: Vec::new(), slice: None };
        let requests = options.requests.map_or(Value::from(()), Value::from);
        start.attributes.extend([
            ("asked".to_owned(), requests),
            ("claims".to_owned(), options.claims.iter().map(Value::from).collect()),
            ("quick".to_owned(), options.quick.into()),
            ("explain".to_owned(), (options.part == Part::Explained).into()),
            ("judged".to_owned(), (options.part == Part::Judged).into()),
            ("real".to_owned(), false.into()),
            ("speed".to_owned(), REAL_TIME.into()),
        ]);
        let slices: Vec<_> = self.slices(options).filter(|(path, _)| path.is_file()).collect();
        let mut drafts = Vec::new();
        self.document.study.iter().for_each(|group| expand(group, &start, &slices, &mut drafts));
        drafts
    }

    /// The study point of a draft; none where it is no part of what is asked for.
    pub(crate) fn point(
        &self,
        draft: Draft<'_>,
        options: &EvaluationOptions,
    ) -> Result<Option<StudyPoint>, Error> {
        let Draft { mut attributes, when, slice } = draft;
        self.define(ATTRIBUTE, &self.document.point, &mut attributes)?;
        let spec = &self.document.spec;
        for (name, template) in [("label", Some(&spec.label)), ("title", spec.title.as_ref())] {
            let names = Names::value(ATTRIBUTE, attributes.clone());
            let text = self.language.line(template.unwrap_or(&spec.label), &names)?;
            attributes.insert(name.to_owned(), text.into());
        }
        let mut point = StudyPoint { attributes, schemes: Vec::new(), slice };
        let names = point.names();
        for text in when {
            if !self.language.holds(Some(text), &names)? {
                return Ok(None);
            }
        }
        let all = options.claims.len() == self.document.claim.len();
        let mut needed_by = Vec::new();
        for claim in
            self.document.claim.iter().filter(|claim| options.claims.iter().any(|id| **id == *claim.id))
        {
            if all && options.part == Part::All || self.needs(claim, options.part, &names)? {
                needed_by.push(&*claim.id);
            }
        }
        for id in self.ids(&spec.schemes, &names)? {
            let scheme = self.scheme(&id, &spec.schemes)?;
            let serves = |claims: &Vec<Text>| claims.iter().any(|claim| needed_by.contains(&&**claim));
            if scheme.claims.as_ref().is_none_or(serves)
                && self.language.holds(scheme.when.as_ref(), &names)?
            {
                point.schemes.push(id);
            }
        }
        Ok(Some(point).filter(|point| !needed_by.is_empty() && !point.schemes.is_empty()))
    }

    /// Whether a claim needs a point for this part of what is measured.
    fn needs(&self, claim: &Claim, part: Part, point: &Value) -> Result<bool, Error> {
        let is_needed = self.language.holds(claim.needs.as_ref(), point)?;
        let columns = match part {
            Part::All => return Ok(is_needed),
            Part::Judged if claim.rests_on.is_some() => {
                return self.language.holds(claim.rests_on.as_ref(), point);
            }
            Part::Judged => self.judged(claim),
            Part::Explained => self.explaining(claim),
        };
        for column in columns {
            if (is_needed || column.explains) && self.language.holds(column.points.as_ref(), point)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ids that an expression lists.
    fn ids(&self, text: &Text, names: &Value) -> Result<Vec<String>, Error> {
        let list = self.language.expression(text, names)?;
        Ok(items(&list).iter().map(Value::to_string).collect())
    }

    /// Evaluates definitions in their order, and adds what they give.
    pub(crate) fn define(
        &self,
        what: &'static str,
        definitions: &Definitions,
        values: &mut Attributes,
    ) -> Result<(), Error> {
        for (name, text) in definitions.iter().flatten() {
            let value = self.language.expression(text, &Names::value(what, values.clone()))?;
            values.insert(name.clone(), value);
        }
        Ok(())
    }

    /// The scheme of that id, which stands `at` a place of the file.
    pub(crate) fn scheme(&self, id: &str, at: &Text) -> Result<&Scheme, Error> {
        let found = self.document.scheme.iter().find(|scheme| *scheme.id == *id);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.document.scheme.iter().map(|scheme| &*scheme.id).collect();
            self.language.error(at, unknown("scheme", id, &known))
        })
    }

    /// The study of a point.
    ///
    /// # Errors
    /// What is wrong in the paper's file, or a real trace that cannot be read.
    pub fn comparison(
        &self,
        point: &StudyPoint,
        options: &EvaluationOptions,
    ) -> Result<ComparisonSpec, Error> {
        let spec = &self.document.spec;
        let mut attributes = point.attributes.clone();
        if spec.touched {
            let requests = self.language.count(&spec.requests, &point.names())?;
            let bytes = point.slice.as_ref().map(|(path, slice)| touched_bytes(trace(path, slice), requests));
            attributes.insert("touched_bytes".to_owned(), bytes.transpose()?.into());
        }
        self.define(ATTRIBUTE, &spec.define, &mut attributes)?;
        let names = Names::value(ATTRIBUTE, attributes);
        let text = |template: &Text| self.language.line(template, &names);
        let schemes: Vec<String> = point
            .schemes
            .iter()
            .map(|id| self.scheme_text(id, &spec.schemes, &names))
            .collect::<Result<_, _>>()?;
        let requests = self.language.count(&spec.requests, &names)?;
        let warmup = match &spec.warmup {
            Some(warmup) => self.language.count(warmup, &names)?.unwrap_or(0),
            None => 0,
        };
        let origin = match &point.slice {
            Some((path, slice)) => trace(path, slice),
            None => {
                let origin = Origin::generated(&text(&spec.origin)?);
                origin.map_err(|error| self.language.error(&spec.origin, error))?
            }
        };
        let mut parsed = Vec::new();
        for (id, scheme) in point.schemes.iter().zip(&schemes) {
            let at = &self.scheme(id, &spec.schemes)?.scheme;
            parsed.push(SchemeSpec::parse(scheme).map_err(|error| self.language.error(at, error))?);
        }
        let pacing = text(&spec.pacing)?;
        let mut comparison = ComparisonSpec {
            workload: WorkloadSpec { origin, requests, fold: self.parse(&spec.fold, &names)? },
            pacing: if pacing.is_empty() { None } else { Some(self.parse(&spec.pacing, &names)?) },
            warmup: WarmUp::Requests(warmup),
            seed: options.seed,
            device: Preset::find(What::Device, &text(&spec.device)?)
                .map_err(|error| self.language.error(&spec.device, error))?,
            settings: self.settings(&names)?,
            out: options.out.clone(),
            ..ComparisonSpec::new(parsed)?
        };
        if let Some(members) = &spec.members {
            comparison.members = self.parse(members, &names)?;
        }
        if let Some(precondition) = &spec.precondition {
            comparison.precondition = self.parse(precondition, &names)?;
        }
        comparison.tables =
            Tables { gcs: self.language.holds(Some(&spec.collections), &names)?, ..Tables::default() };
        let of = match &spec.span_of {
            Some(of) => {
                let ids = self.ids(of, &names)?;
                ids.iter().map(|id| self.scheme_text(id, of, &names)).collect::<Result<_, _>>()?
            }
            None => schemes,
        };
        over_span_of(comparison, of).map_err(Error::from)
    }

    fn scheme_text(&self, id: &str, at: &Text, names: &Value) -> Result<String, Error> {
        self.language.line(&self.scheme(id, at)?.scheme, names)
    }

    fn settings(&self, names: &Value) -> Result<Vec<Setting>, Error> {
        let mut settings = Vec::new();
        for template in &self.document.spec.settings {
            for setting in self.language.line(template, names)?.split_whitespace() {
                settings.push(setting.parse().map_err(|error| self.language.error(template, error))?);
            }
        }
        Ok(settings)
    }

    /// What the text of a template says.
    fn parse<T: FromStr<Err: Display>>(&self, template: &Text, names: &Value) -> Result<T, Error> {
        let text = self.language.line(template, names)?;
        text.parse().map_err(|error| self.language.error(template, error))
    }
}

/// The requests of a real trace.
fn trace(path: &Path, slice: &SliceFile) -> Origin {
    let format = slice.format.as_ref().and_then(|name| name.parse().ok());
    Origin::Trace(path.to_owned(), OpenOptions { format, ..OpenOptions::default() })
}

/// Bytes of the 4 KiB pages that the first `requests` of a trace touch.
fn touched_bytes(origin: Origin, requests: Option<u64>) -> Result<u64, StudyError> {
    let workload = Workload::new(&WorkloadSpec { origin, requests, fold: Fold::Modulo }, 0, &())?;
    let stats = Stats::collect(&mut workload.open(&())?)?;
    Ok(stats.footprint.touched_pages_4k * PAGE_BYTES)
}

/// Adds the points of a group.
fn expand<'a>(
    group: &'a Group,
    start: &Draft<'a>,
    slices: &[(PathBuf, SliceFile)],
    points: &mut Vec<Draft<'a>>,
) {
    let mut first = start.clone();
    first.attributes.extend(of_table(&group.set));
    first.when.extend(&group.when);
    let mut drafts = vec![first];
    for (name, values) in group.each.iter().flatten() {
        let with = |draft: &Draft<'a>, value: &toml::Value| {
            let mut draft = draft.clone();
            draft.attributes.insert(name.clone(), of_toml(value));
            draft
        };
        drafts = drafts.iter().flat_map(|draft| values.iter().map(move |value| with(draft, value))).collect();
    }
    if group.slices {
        let with = |draft: &Draft<'a>, slice: &(PathBuf, SliceFile)| {
            let mut draft = draft.clone();
            draft.attributes.insert("workload".to_owned(), slice.1.workload.clone().into());
            draft.attributes.insert("real".to_owned(), true.into());
            Draft { slice: Some(slice.clone()), ..draft }
        };
        drafts = drafts.iter().flat_map(|draft| slices.iter().map(move |slice| with(draft, slice))).collect();
    }
    for draft in drafts {
        if group.study.is_empty() {
            points.push(draft);
        } else {
            group.study.iter().for_each(|inner| expand(inner, &draft, slices, points));
        }
    }
}

/// `spec` over the span that a paper's comparison has: what the smallest of `all` holds at first, its schemes as the command line
/// takes them. It does not depend on which of them `spec` asks for, so a part of a comparison gets the requests of the whole.
pub(crate) fn over_span_of(spec: ComparisonSpec, all: Vec<String>) -> Result<ComparisonSpec, StudyError> {
    let schemes = all.iter().map(|scheme| SchemeSpec::parse(scheme)).collect::<Result<_, _>>()?;
    let span = Span::Bytes(smallest_bytes(&ComparisonSpec { schemes, ..spec.clone() })?);
    Ok(ComparisonSpec { span, ..spec })
}
