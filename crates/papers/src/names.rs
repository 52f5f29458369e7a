//! Names with values, as expressions find them.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::value::{Object, Value};
use stripewise_base::suggest::unknown;

type Failure = minijinja::Error;

/// Functions that expressions may call, those of Jinja among them. They are no unknown names.
const FUNCTIONS: [&str; 15] = [
    "chi2_critical",
    "dict",
    "falls",
    "is_least",
    "judge",
    "judge_all",
    "judge_each",
    "judge_range",
    "less",
    "mttdl",
    "namespace",
    "range",
    "ratio",
    "rises",
    "worst",
];

/// Names with values, for expressions. What is not among them is an error that says which name was meant.
#[derive(Debug)]
pub(crate) struct Names {
    what: &'static str,
    values: BTreeMap<String, Value>,
}

impl Names {
    /// As the names that an expression finds.
    pub(crate) fn value(what: &'static str, values: BTreeMap<String, Value>) -> Value {
        Value::from_object(Self { what, values })
    }
}

/// The value of a name, or an error that says which is meant; none for what the language itself has.
pub(crate) fn look_up(what: &str, values: &BTreeMap<String, Value>, name: &str) -> Option<Value> {
    if let Some(value) = values.get(name) {
        return Some(value.clone());
    }
    if FUNCTIONS.contains(&name) {
        return None;
    }
    let known: Vec<&str> = values.keys().map(String::as_str).collect();
    Some(Value::from(refuse(unknown(what, name, &known))))
}

impl Object for Names {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        look_up(self.what, &self.values, key.as_str()?)
    }
}

/// The error of an operation that values do not allow.
pub(crate) fn refuse(reason: impl Into<String>) -> Failure {
    Failure::new(ErrorKind::InvalidOperation, reason.into())
}
