//! Errors of the layers below as the package's exception classes, which `stripewise/errors.py` defines.

use std::path::Path;

use pyo3::prelude::*;
use stripewise_runs::{Error, What};
use stripewise_trace::TraceError;

/// The attributes of an exception in addition to its message.
#[derive(Default)]
struct ErrorPlace {
    file: Option<String>,
    line: Option<u64>,
}

/// Warns of a former name.
pub(crate) fn former_name(py: Python<'_>, former: &str, present: &str) -> PyResult<()> {
    let message = std::ffi::CString::new(stripewise_base::renamed::remark(former, present))?;
    PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyFutureWarning>(), &message, 1)
}

/// The options of the command that messages of studies name, and the arguments of `compare` that are the same.
const ARGUMENTS: [(&str, &str); 3] =
    [("--rows", "request_rows"), ("--sample-every", "sample_every"), ("--table-budget", "table_budget")];

/// A message of the command in the words of Python: `(--table-budget 2GiB)` as `(table_budget='2GiB')`.
fn in_python(mut message: String) -> String {
    for (option, argument) in ARGUMENTS {
        while let Some(at) = message.find(&format!("({option}")) {
            let begin = at + 1;
            let Some(end) = message[begin..].find(')').map(|length| begin + length) else { break };
            let value = message[begin + option.len()..end].trim().to_owned();
            let value = if value.is_empty() { value } else { format!("='{value}'") };
            message.replace_range(begin..end, &format!("{argument}{value}"));
        }
    }
    message
}

/// The exception for `error`.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    let message = in_python(error.to_string());
    match error {
        Error::Stopped => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        Error::Within { scheme, source } => {
            let inner = raised(py, *source);
            let noted = inner.value(py).call_method1("add_note", (format!("in the run of scheme {scheme}"),));
            noted.map_or_else(|failed| failed, |_| inner)
        }
        Error::Policy { scheme, seed, source } => {
            let raised = exception(py, "PolicyError", message, ErrorPlace::default());
            let noted =
                raised.value(py).setattr("scheme", scheme).and(raised.value(py).setattr("seed", seed));
            if let Ok(cause) = source.downcast::<PyErr>() {
                raised.set_cause(py, Some(*cause));
            }
            noted.map_or_else(|failed| failed, |()| raised)
        }
        other => {
            let (class, place) = class(&other);
            exception(py, class, message, place)
        }
    }
}

/// The exception for an error of a study of many runs.
pub(crate) fn study(py: Python<'_>, error: stripewise_study::Error) -> PyErr {
    use stripewise_study::Error as Of;
    let message = error.to_string();
    let at = |path: &Path| ErrorPlace { file: Some(path.display().to_string()), line: None };
    let (class, place) = match error {
        Of::Runs(error) => return raised(py, error),
        Of::TraceChanged { path, .. } | Of::OtherTrace { path, .. } => ("TraceError", at(&path)),
        Of::Text(_) | Of::Spec(_) | Of::OtherBuild { .. } => ("SettingError", ErrorPlace::default()),
        Of::Io { path, .. } | Of::Pack { path, .. } | Of::NotReproduced { one: path, .. } => {
            ("StoreError", at(&path))
        }
        _ => ("StoreError", ErrorPlace::default()),
    };
    exception(py, class, message, place)
}

fn class(error: &Error) -> (&'static str, ErrorPlace) {
    let of = |what: What| match what {
        What::Scheme => "SchemeError",
        What::Device => "DeviceError",
        What::Profile => "TraceError",
    };
    match error {
        Error::Setting { .. } => ("SettingError", ErrorPlace::default()),
        Error::Unknown { what, .. } => (of(*what), ErrorPlace::default()),
        Error::Unreadable { what, path, .. } => {
            (of(*what), ErrorPlace { file: Some(path.display().to_string()), line: None })
        }
        Error::Text { what, error } => {
            let line = (error.line > 0).then_some(error.line as u64);
            (of(*what), ErrorPlace { file: Some(error.file.clone()), line })
        }
        Error::Scheme(_) => ("SchemeError", ErrorPlace::default()),
        Error::Device(_) => ("DeviceError", ErrorPlace::default()),
        Error::Trace(error) | Error::Profile(error) => ("TraceError", place(error)),
        Error::Store(error) => ("StoreError", ErrorPlace { file: file(error), line: None }),
        Error::Remote(_) => ("StoreError", ErrorPlace::default()),
        Error::Run(_) => ("RunError", ErrorPlace::default()),
        _ => ("SettingError", ErrorPlace::default()),
    }
}

/// The position of the error in a trace.
fn place(error: &TraceError) -> ErrorPlace {
    let (path, line) = match error {
        TraceError::Record { path, line, .. } | TraceError::Backward { path, line, .. } => {
            (path, Some(*line))
        }
        TraceError::Io { path, .. }
        | TraceError::Format { path, .. }
        | TraceError::NotATrace { path, .. }
        | TraceError::NoRequests { path, .. }
        | TraceError::Unfit { path, .. } => (path, None),
        _ => return ErrorPlace::default(),
    };
    ErrorPlace { file: Some(path.display().to_string()), line }
}

fn file(error: &stripewise_results::Error) -> Option<String> {
    use stripewise_results::Error;
    match error {
        Error::Io { path, .. } | Error::Damaged { path, .. } | Error::NotReproduced { path, .. } => {
            Some(path.display().to_string())
        }
        Error::Write { table, .. } | Error::Read { table, .. } => Some(table.clone()),
        _ => None,
    }
}

fn exception(py: Python<'_>, class: &str, message: String, place: ErrorPlace) -> PyErr {
    let made = || {
        let value = py.import("stripewise.errors")?.getattr(class)?.call1((message,))?;
        value.setattr("file", place.file)?;
        value.setattr("line", place.line)?;
        Ok(PyErr::from_value(value))
    };
    made().unwrap_or_else(|failed| failed)
}

/// An error of reading or writing results.
pub(crate) fn store(py: Python<'_>, error: stripewise_results::Error) -> PyErr {
    raised(py, Error::Store(error))
}

/// An error of a trace.
pub(crate) fn trace(py: Python<'_>, error: TraceError) -> PyErr {
    raised(py, Error::Trace(error))
}

/// A value that cannot be understood.
pub(crate) fn setting(py: Python<'_>, message: String) -> PyErr {
    raised(py, Error::Spec(message))
}

/// The argument `seed`.
pub(crate) fn seed(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let refuse = |_| {
        let shown = given.repr().map_or_else(|_| String::new(), |shown| shown.to_string());
        setting(given.py(), format!("seed is {shown}; give a whole number from 0 to {}", u64::MAX))
    };
    given.extract().map_err(refuse)
}

/// The name of a table.
pub(crate) fn name(given: &Bound<'_, PyAny>) -> PyResult<String> {
    let refuse = |_| {
        let shown = given.repr().map_or_else(|_| String::new(), |shown| shown.to_string());
        setting(given.py(), format!("the name of a table is {shown}; give a text, as in 'members'"))
    };
    given.extract().map_err(refuse)
}

/// A report that could not be made.
pub(crate) fn report(py: Python<'_>, path: &Path, error: &stripewise_report::Error) -> PyErr {
    let place = ErrorPlace { file: Some(path.display().to_string()), line: None };
    exception(py, "StoreError", error.to_string(), place)
}
