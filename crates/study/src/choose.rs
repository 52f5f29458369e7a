//! Chooses parts of a study by what users write: axes, and points by their values.

use stripewise_base::suggest;

use crate::plan::Plan;

/// The axis of that name.
///
/// # Errors
/// The nearest name, if there is none.
pub fn axis_of(plan: &Plan, key: &str) -> Result<String, String> {
    let known: Vec<&str> = plan.file().axes.iter().map(|axis| axis.key.as_str()).collect();
    match known.contains(&key) {
        true => Ok(key.to_owned()),
        false => Err(suggest::unknown("axis", key, &known)),
    }
}

/// The axis and the value of a text such as `pacing=open:4`.
///
/// # Errors
/// A text of another form; the nearest axis or value, if there is no such one.
pub fn point_of(plan: &Plan, text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected AXIS=VALUE")?;
    let key = axis_of(plan, key)?;
    let values = plan.file().axes.iter().filter(|axis| axis.key == key).flat_map(|axis| &axis.values);
    let known: Vec<&str> = values.map(|value| value.shown.as_str()).collect();
    match known.contains(&value) {
        true => Ok((key, value.to_owned())),
        false => Err(suggest::unknown("value", value, &known)),
    }
}
