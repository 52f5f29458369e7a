//! Schemes and devices, and the built-in presets.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use stripewise_base::text::visible;
use stripewise_runs::{self as runs, Document, NamedPolicy, SchemeSpec, Setting, What};
use stripewise_trace::format::format_names;
use stripewise_trace::generate::catalog;
use stripewise_trace::profile::builtin;

use crate::errors;
use crate::policy::{FilePolicy, PythonPolicy};

/// `value` as Python's own dictionaries, lists and numbers.
pub(crate) fn python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| errors::setting(py, error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// Parses settings, `KEY=VALUE` each.
pub(crate) fn settings(py: Python<'_>, typed: &[String]) -> PyResult<Vec<Setting>> {
    let refuse = |text: &str, error: String| errors::setting(py, format!("setting {text}: {error}"));
    typed.iter().map(|text| text.parse().map_err(|error| refuse(text, error))).collect()
}

/// A preset, a file, or a named text.
fn document(py: Python<'_>, what: What, name: &str, text: Option<String>) -> PyResult<Document> {
    match text {
        Some(text) => Ok(Document { shown: name.to_owned(), text }),
        None => Document::find(what, name).map_err(|error| errors::raised(py, error)),
    }
}

/// A scheme: one policy on every axis.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Scheme {
    pub(crate) document: Document,
    pub(crate) settings: Vec<Setting>,
    pub(crate) policy: Option<NamedPolicy>,
    pub(crate) label: Option<String>,
    resolved: stripewise_array::Scheme,
}

#[pymethods]
impl Scheme {
    #[new]
    #[pyo3(signature = (name, settings, text=None, policy=None, label=None))]
    fn new(
        py: Python<'_>,
        name: &str,
        settings: Vec<String>,
        text: Option<String>,
        policy: Option<(Py<PyAny>, String, String, Vec<String>)>,
        label: Option<String>,
    ) -> PyResult<Self> {
        if let Some(label) = &label {
            let refuse = |reason| errors::setting(py, format!("label {}: {reason}", visible(label)));
            runs::check_label(label, name).map_err(refuse)?;
        }
        let document = document(py, What::Scheme, name, text)?;
        let settings = self::settings(py, &settings)?;
        let mut resolved = runs::scheme(&document, &settings).map_err(|error| errors::raised(py, error))?;
        let policy = policy
            .map(|(object, name, identity, axes)| PythonPolicy::named(object, name, identity, &axes))
            .transpose()?;
        if let Some(policy) = &policy {
            resolved.name.clone_from(&policy.name);
            policy.policy.axes().into_iter().for_each(|axis| axis.leave_in(&mut resolved));
        }
        Ok(Self { document, settings, policy, label, resolved })
    }

    /// The scheme's name.
    #[getter]
    fn name(&self) -> &str {
        &self.resolved.name
    }

    /// What results call it; None if it has no label.
    #[getter]
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The settings that it was given, `KEY=VALUE` each.
    #[getter]
    fn settings(&self) -> Vec<String> {
        self.settings.iter().map(ToString::to_string).collect()
    }

    /// The text as it was written, with its comments and sources, before any setting.
    #[getter]
    fn source(&self) -> &str {
        &self.document.text
    }

    /// The scheme as TOML, with all defaults.
    fn to_toml(&self) -> String {
        self.resolved.to_toml()
    }

    /// The scheme as dictionaries, with all defaults.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.resolved)
    }
}

/// The label of `[LABEL=]NAME|FILE.toml[,KEY=VALUE]...`, if it has one, and the rest.
#[pyfunction]
pub(crate) fn split_label(py: Python<'_>, scheme: &str) -> PyResult<(Option<String>, String)> {
    let (label, rest) = runs::split_label(scheme).map_err(|error| errors::raised(py, error))?;
    Ok((label.map(str::to_owned), rest.to_owned()))
}

/// The folder of what can be made again; none where the user has no folder.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<String> {
    Some(runs::cache_folder()?.to_string_lossy().into_owned())
}

/// The scheme of a policy in a file of Python, which is read and not run.
pub(crate) fn policy_of_file(path: &str, text: &str, class: &str) -> Result<SchemeSpec, String> {
    let read = Python::attach(|py| -> PyResult<(String, Vec<String>, String)> {
        py.import("stripewise.policy_file")?.call_method1("outline", (path, text, class))?.extract()
    });
    let (scheme, axes, name) = read.map_err(|error| Python::attach(|py| error.value(py).to_string()))?;
    let spec = SchemeSpec::parse(&scheme).map_err(|error| format!("{path}: {class}: {error}"))?;
    let policy = FilePolicy::new([path, text, class], &spec, name.clone(), &axes)?;
    Ok(SchemeSpec { policy: Some(NamedPolicy { name, policy: Arc::new(policy) }), ..spec })
}

/// A device: a modelled SSD.
#[pyclass(frozen, module = "stripewise._stripewise")]
pub(crate) struct Device {
    pub(crate) document: Document,
    pub(crate) settings: Vec<Setting>,
    resolved: stripewise_flash::DeviceSpec,
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name, settings, text=None))]
    fn new(py: Python<'_>, name: &str, settings: Vec<String>, text: Option<String>) -> PyResult<Self> {
        let document = document(py, What::Device, name, text)?;
        let settings = self::settings(py, &settings)?;
        let resolved = runs::device(&document, &settings).map_err(|error| errors::raised(py, error))?;
        Ok(Self { document, settings, resolved })
    }

    /// The device's name.
    #[getter]
    fn name(&self) -> &str {
        &self.resolved.name
    }

    /// The settings that it was given, `KEY=VALUE` each.
    #[getter]
    fn settings(&self) -> Vec<String> {
        self.settings.iter().map(ToString::to_string).collect()
    }

    /// The text as it was written, with its comments and sources, before any setting.
    #[getter]
    fn source(&self) -> &str {
        &self.document.text
    }

    /// The device as TOML, with all defaults.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        toml::to_string(&self.resolved).map_err(|error| errors::setting(py, error.to_string()))
    }

    /// The device as dictionaries, with all defaults.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.resolved)
    }

    /// A one-line description of its parts.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        runs::describe_device(&self.resolved).map_err(|error| errors::raised(py, error.into()))
    }
}

/// The built-in schemes.
#[pyfunction]
pub(crate) fn schemes(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let all = runs::schemes().map_err(|error| errors::raised(py, error))?;
    let entry =
        |scheme: &runs::SchemeEntry| json!({ "name": scheme.name, "description": scheme.description });
    python(py, &all.iter().map(entry).collect::<Vec<Value>>())
}

/// The built-in devices.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let all = runs::devices().map_err(|error| errors::raised(py, error))?;
    let entry = |device: &runs::DeviceEntry| {
        json!({
            "name": device.name,
            "raw_bytes": device.raw_bytes,
            "exported_bytes": device.exported_bytes,
            "channels": device.channels,
            "page_bytes": device.page_bytes,
            "description": device.description,
        })
    };
    python(py, &all.iter().map(entry).collect::<Vec<Value>>())
}

/// The built-in workloads.
#[pyfunction]
pub(crate) fn profiles(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let entry = |found: stripewise_trace::profile::Builtin| {
        json!({
            "name": found.name,
            "requests": found.profile.as_ref().map(|profile| profile.requests.0),
            "write_ratio": found.profile.as_ref().map(|profile| profile.write_ratio),
            "source": found.source,
            "generator": found.generator,
        })
    };
    python(py, &builtin().into_iter().map(entry).collect::<Vec<Value>>())
}

/// The statistics of the profile `name`, a built-in one or a file that ends in `.toml`, as dictionaries; none when
/// the workload of that name is a generator.
#[pyfunction]
pub(crate) fn profile<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = runs::profile(name).map_err(|error| errors::raised(py, error))?;
    python(py, &found.profile)
}

/// The generators, with their keys.
#[pyfunction]
pub(crate) fn generators(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let entry = |about: &stripewise_trace::generate::About| {
        let key = |key: &stripewise_trace::generate::Key| json!({ "name": key.name, "default": key.default, "help": key.help });
        let keys: Vec<Value> = about.keys.iter().map(key).collect();
        json!({ "name": about.name, "summary": about.summary, "example": about.example, "keys": keys })
    };
    python(py, &catalog().iter().map(entry).collect::<Vec<Value>>())
}

/// The trace formats.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let entry = |(name, about): (String, String)| json!({ "name": name, "description": about });
    python(py, &format_names().into_iter().map(entry).collect::<Vec<Value>>())
}
