//! Axes: keys with several values, of which a study visits the full product.

use std::collections::BTreeSet;

use crate::choice::{Choice, is_leaf};
use crate::error::Error;
use crate::range;
use crate::sources::Sources;
use crate::text::{Item, Section};

/// A key with its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The key.
    pub key: String,
    /// Its values, at least one, all different.
    pub values: Vec<Choice>,
}

/// The axes of a section, in the order of the file.
pub(crate) fn axes(section: &Section<'_>, sources: &Sources) -> Result<Vec<Axis>, Error> {
    let mut axes: Vec<Axis> = Vec::new();
    for item in section.items.iter().flat_map(|item| item.flat(&is_leaf)) {
        if item.key == "scheme" {
            return Err(item.refuse_key(
                "schemes are no axis: list them in [compare], so that they get the same requests",
            ));
        }
        let values = values(&item, sources)?;
        let key = values.first().map(|value| value.key.clone()).unwrap_or_default();
        if axes.iter().any(|axis| axis.key == key) {
            return Err(item.refuse_key(format!("`{key}` is an axis already; join the two")));
        }
        axes.push(Axis { key, values });
    }
    Ok(axes)
}

fn values(item: &Item<'_>, sources: &Sources) -> Result<Vec<Choice>, Error> {
    let ranged = range::values(item)?;
    let values: Vec<Choice> = match ranged {
        Some(texts) => texts
            .iter()
            .map(|text| Choice::parse(&item.key, text, sources).map_err(|message| item.refuse(message)))
            .collect::<Result<_, _>>()?,
        None => item.list().iter().map(|item| Choice::read(item, sources)).collect::<Result<_, _>>()?,
    };
    if values.is_empty() {
        return Err(item.refuse("an axis has at least one value"));
    }
    let mut known = BTreeSet::new();
    for value in &values {
        // Two files may have one content, but not one name.
        if !known.insert((&value.canonical, &value.shown)) || is_twice(value, &values) {
            return Err(item.refuse(format!("`{}` stands here twice; leave one out", value.shown)));
        }
    }
    Ok(values)
}

/// Whether another value has the same meaning. Traces are compared by name, because their content is not known yet.
fn is_twice(value: &Choice, values: &[Choice]) -> bool {
    // A range has no equal values, and may have many.
    values.len() <= 1000
        && value.key != "workload"
        && values.iter().filter(|other| other.canonical == value.canonical).count() > 1
}
