//! The mean time to data loss of an array.

use pyo3::prelude::*;
use stripewise_reliability::Model;

use crate::errors;

/// The mean time to data loss of an array in years, by its Markov chain: `groups` parity groups of `members` members
/// each, `parity` of them parity, that fail and are repaired at these rates; `repair` is `single`, `parallel` or
/// `together`. Failures occur `alpha` times as often as that rate. Without arguments: paper 001's RAID-5. `elements` is the
/// former name of `members`.
#[pyfunction]
#[pyo3(signature = (
    *, members=8, parity=1, groups=1, failures_per_year=0.25, repairs_per_year=1e4, repair="single", alpha=1.0, elements=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn mttdl_years(
    py: Python<'_>,
    members: u32,
    parity: u32,
    groups: u32,
    failures_per_year: f64,
    repairs_per_year: f64,
    repair: &str,
    alpha: f64,
    elements: Option<u32>,
) -> PyResult<f64> {
    let repair = repair.parse().map_err(|error: String| errors::setting(py, error))?;
    if elements.is_some() {
        errors::former_name(py, "elements", "members")?;
        if members != 8 {
            return Err(errors::setting(
                py,
                "`elements` is the former name of `members`; give one of them".to_owned(),
            ));
        }
    }
    let members = elements.unwrap_or(members);
    let model = Model { members, parity, groups, failures_per_year, repairs_per_year, repair }.aged(alpha);
    model.check().map_err(|error| errors::setting(py, error.to_string()))?;
    Ok(model.mttdl_years())
}
