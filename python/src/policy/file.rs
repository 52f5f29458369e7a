//! A policy in a file of Python that a study file names. The file may have come with the study from anyone, so it is only read
//! until runs are made.

use std::sync::OnceLock;

use pyo3::prelude::*;
use stripewise_runs::{Axis, Failures, NamedPolicy, Part, Policy, PolicyFailure, SchemeSpec};

use super::axes_of;
use crate::catalog::Scheme;

/// A policy that is made when its first run is.
pub(crate) struct FilePolicy {
    path: String,
    text: String,
    class: String,
    /// What was read in the file, and must be so when the file was run.
    read: Outline,
    axes: Vec<Axis>,
    loaded: OnceLock<Result<NamedPolicy, String>>,
}

/// What decides how a policy appears in studies.
#[derive(PartialEq, Eq)]
struct Outline {
    scheme: String,
    settings: Vec<String>,
    name: String,
    axes: Vec<String>,
}

impl FilePolicy {
    pub(crate) fn new(
        [path, text, class]: [&str; 3],
        spec: &SchemeSpec,
        name: String,
        axes: &[String],
    ) -> Result<Self, String> {
        let known = axes_of(axes)?;
        let settings = spec.settings.iter().map(ToString::to_string).collect();
        let read = Outline { scheme: spec.document.text.clone(), settings, name, axes: axes.to_vec() };
        let [path, text, class] = [path, text, class].map(str::to_owned);
        Ok(Self { path, text, class, read, axes: known, loaded: OnceLock::new() })
    }

    /// The policy. Runs the code of the file at the first call.
    fn loaded(&self) -> &Result<NamedPolicy, String> {
        if let Some(loaded) = self.loaded.get() {
            return loaded;
        }
        // Not within the lock, as another thread may hold the interpreter and wait for it.
        let made = self.make();
        self.loaded.get_or_init(|| made)
    }

    fn make(&self) -> Result<NamedPolicy, String> {
        let loaded = Python::attach(|py| -> PyResult<(Outline, Option<NamedPolicy>)> {
            let module = py.import("stripewise.policy_file")?;
            let made = module.call_method1("load", (&self.path, &self.text, &self.class))?;
            let (made, axes) = made.extract::<(Bound<'_, PyAny>, Vec<String>)>()?;
            let scheme = made.getattr("_inner")?.cast_into::<Scheme>()?;
            let scheme = scheme.get();
            let name = scheme.policy.as_ref().map_or_else(String::new, |policy| policy.name.clone());
            let settings = scheme.settings.iter().map(ToString::to_string).collect();
            let found = Outline { scheme: scheme.document.text.clone(), settings, name, axes };
            Ok((found, scheme.policy.clone()))
        });
        let raised = |error: PyErr| Python::attach(|py| error.value(py).to_string());
        let (found, policy) = loaded.map_err(raised)?;
        if found != self.read {
            return Err(format!(
                "{}: {} sets its `scheme`, its `name` or its classes by code, which a study file does not allow: write them in \
                 the class, as texts",
                self.path, self.class
            ));
        }
        policy.ok_or_else(|| format!("{}: {} is no policy", self.path, self.class))
    }
}

impl Policy for FilePolicy {
    fn identity(&self) -> String {
        match self.loaded() {
            Ok(loaded) => loaded.policy.identity(),
            // No run begins.
            Err(reason) => reason.clone(),
        }
    }

    fn key(&self) -> String {
        format!("{}\n{}", self.class, self.text)
    }

    fn load(&self) -> Result<(), String> {
        self.loaded().as_ref().map(drop).map_err(Clone::clone)
    }

    fn axes(&self) -> Vec<Axis> {
        self.axes.clone()
    }

    fn begin(&self, failures: &Failures) -> Result<Vec<Part>, PolicyFailure> {
        match self.loaded() {
            Ok(loaded) => loaded.policy.begin(failures),
            Err(reason) => Err(reason.clone().into()),
        }
    }
}
