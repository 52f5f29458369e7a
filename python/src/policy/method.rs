//! How policies are called.

use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_runs::Failures;

/// A method of a policy during a run, and the view that it is called with.
pub(super) struct Method<V: PyClass> {
    method: Py<PyAny>,
    view: Py<V>,
    failures: Failures,
}

impl<V: PyClass<Frozen = pyo3::pyclass::boolean_struct::False> + Default + Into<PyClassInitializer<V>>>
    Method<V>
{
    pub(super) fn of(object: &Bound<'_, PyAny>, name: &str, failures: &Failures) -> PyResult<Self> {
        let view = Py::new(object.py(), V::default())?;
        Ok(Self { method: object.getattr(name)?.unbind(), view, failures: failures.clone() })
    }

    /// Fills the view, calls the method and understands its result. None after the first failure, which ends the run.
    pub(super) fn ask<T>(
        &self,
        fill: impl FnOnce(&mut V),
        understand: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failures.is_any() {
            return None;
        }
        let answer = Python::attach(|py| {
            fill(&mut *self.view.try_borrow_mut(py)?);
            understand(self.method.bind(py).call1((&self.view,))?)
        });
        answer.map_err(|failure: PyErr| self.failures.add(Box::new(failure))).ok()
    }
}

/// The place of the number that a method returned in the list of those that it could; none where it returned None.
pub(super) fn place_in<T: PartialEq + for<'a, 'py> FromPyObject<'a, 'py>>(
    answer: &Bound<'_, PyAny>,
    list: &[T],
    (method, attribute): (&str, &str),
) -> PyResult<Option<usize>> {
    if answer.is_none() {
        return Ok(None);
    }
    let number: Option<T> = answer.extract().ok();
    let place = number.and_then(|number| list.iter().position(|one| *one == number));
    if place.is_none() {
        let found = answer.repr()?;
        let message = format!("{method} must return one of {attribute}, or None, and returned {found}");
        return Err(PyValueError::new_err(message));
    }
    Ok(place)
}
