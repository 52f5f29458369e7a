//! Study points: one study each, and what its runs measured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use minijinja::value::{Object, Value};
use minijinja::{ErrorKind, State};
use stripewise_base::suggest::unknown;

use crate::document::SliceFile;
use crate::names::{Names, look_up, refuse};

/// What an unknown name of a study point is called.
pub(crate) const ATTRIBUTE: &str = "attribute of the study point";

/// Names with values.
pub(crate) type Attributes = BTreeMap<String, Value>;

/// Attributes with one more.
pub(crate) fn with(attributes: &Attributes, name: &str, value: Value) -> Attributes {
    let mut attributes = attributes.clone();
    attributes.insert(name.to_owned(), value);
    attributes
}

/// Findings besides the runs, by name.
pub type More<'a> = [(&'a str, serde_json::Value)];

type Failure = minijinja::Error;

/// One study of an evaluation: several schemes over the same requests.
#[derive(Clone, Debug)]
pub struct StudyPoint {
    pub(crate) attributes: Attributes,
    /// The ids of the schemes.
    pub(crate) schemes: Vec<String>,
    pub(crate) slice: Option<(PathBuf, SliceFile)>,
}

impl fmt::Display for StudyPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("title"))
    }
}

impl StudyPoint {
    /// Whether its requests are a slice of a real trace.
    pub fn is_slice(&self) -> bool {
        self.slice.is_some()
    }

    /// An attribute as text; empty where there is none of that name.
    pub fn text(&self, name: &str) -> String {
        self.attributes.get(name).map(Value::to_string).unwrap_or_default()
    }

    /// Whether an attribute is there and true.
    pub fn is(&self, name: &str) -> bool {
        self.attributes.get(name).is_some_and(Value::is_true)
    }

    /// An attribute as a whole number; none where it is none.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.attributes.get(name).and_then(|value| u64::try_from(value.clone()).ok())
    }

    /// The ids of its schemes.
    pub fn schemes(&self) -> &[String] {
        &self.schemes
    }

    /// As the names that an expression finds.
    pub(crate) fn names(&self) -> Value {
        Names::value(ATTRIBUTE, self.attributes.clone())
    }
}

/// What a run measured: the columns of its results by name.
#[derive(Clone, Debug, Default)]
pub struct Columns(pub(crate) Attributes);

impl Columns {
    /// Adds a column.
    pub fn set(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// A column that is a number.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(|value| f64::try_from(value.clone()).ok())
    }

    /// Adds a column with a value for each of something.
    pub fn set_list(&mut self, name: &str, values: &[f64]) {
        self.0.insert(name.to_owned(), values.to_vec().into());
    }

    /// Adds a column that this run has no value of.
    pub fn set_none(&mut self, name: &str) {
        self.0.insert(name.to_owned(), Value::from(()));
    }
}

/// A run, for expressions.
#[derive(Debug)]
pub(crate) struct PointRun {
    pub(crate) scheme: String,
    /// Columns and metrics.
    pub(crate) values: Attributes,
}

impl Object for PointRun {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        look_up("column", &self.values, key.as_str()?)
    }
}

/// A study point with its runs, for expressions.
#[derive(Debug)]
pub(crate) struct MeasuredPoint {
    pub(crate) attributes: Attributes,
    pub(crate) runs: Vec<Arc<PointRun>>,
    /// The ids of all schemes of the paper.
    pub(crate) schemes: Arc<[String]>,
}

impl MeasuredPoint {
    /// The point that a value of an expression is.
    pub(crate) fn of(value: &Value) -> Result<&Self, Failure> {
        value.downcast_object_ref().ok_or_else(|| refuse(format!("{value} is no study point")))
    }

    /// The run of a scheme; none where the point has none of it.
    fn run(&self, scheme: &str) -> Result<Option<&Arc<PointRun>>, Failure> {
        if !self.schemes.iter().any(|known| known == scheme) {
            let known: Vec<&str> = self.schemes.iter().map(String::as_str).collect();
            return Err(refuse(unknown("scheme", scheme, &known)));
        }
        Ok(self.runs.iter().find(|run| run.scheme == scheme))
    }

    /// A column or metric of a scheme; none where the point has no run of it.
    pub(crate) fn value(&self, scheme: &str, metric: &str) -> Result<Value, Failure> {
        let Some(run) = self.run(scheme)? else { return Ok(Value::from(())) };
        run.values.get(metric).cloned().ok_or_else(|| {
            let known: Vec<&str> = run.values.keys().map(String::as_str).collect();
            refuse(unknown("column", metric, &known))
        })
    }

    /// How much less `ours` has of a metric than `theirs`; none where they have none of it.
    pub(crate) fn gain(&self, ours: &str, theirs: &str, metric: &str) -> Result<Option<f64>, Failure> {
        let (ours, theirs) = (self.value(ours, metric)?, self.value(theirs, metric)?);
        if ours.is_none() || theirs.is_none() {
            return Ok(None);
        }
        let (ours, theirs) = (f64::try_from(ours)?, f64::try_from(theirs)?);
        Ok((theirs > 0.0).then(|| 1.0 - ours / theirs))
    }
}

impl Object for MeasuredPoint {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        if name == "point" {
            return Some(Value::from_dyn_object(Arc::clone(self)));
        }
        if name == "runs" {
            let runs = self.runs.iter().map(|run| Value::from_dyn_object(Arc::clone(run)));
            return Some(runs.collect::<Vec<_>>().into());
        }
        look_up(ATTRIBUTE, &self.attributes, name)
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Failure> {
        let text = |at: usize| {
            let found = args.get(at).and_then(Value::as_str);
            found.ok_or_else(|| refuse(format!("`{method}`: argument {} is missing or no text", at + 1)))
        };
        match method {
            "run" => {
                Ok(self.run(text(0)?)?.map_or(Value::from(()), |run| Value::from_dyn_object(Arc::clone(run))))
            }
            "value" => self.value(text(0)?, text(1)?),
            "gain" => self.gain(text(0)?, text(1)?, text(2)?).map(Value::from),
            _ => Err(Failure::new(
                ErrorKind::UnknownMethod,
                unknown("method of a study point", method, &["run", "value", "gain"]),
            )),
        }
    }
}

/// A study point that was measured.
#[derive(Clone, Debug)]
pub struct Measured(pub(crate) Arc<MeasuredPoint>);

impl Measured {
    pub(crate) fn value(&self) -> Value {
        Value::from_dyn_object(Arc::clone(&self.0))
    }

    /// A column or metric of a scheme's run; none where there is no such run, column, or value.
    pub fn figure(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.0.value(scheme, metric).ok().and_then(|value| f64::try_from(value).ok())
    }
}
