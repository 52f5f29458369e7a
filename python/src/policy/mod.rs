//! Policies written in Python.
//!
//! A policy is an object of a class that derives from one or more of those in `stripewise/policy.py`, one for each axis. Each
//! axis has a view, which is filled before each call and reused, and a method of the object, which is called with the view.

mod blocks;
mod cache;
mod chunks;
mod file;
mod method;
mod queue;
mod read;
mod segments;
mod update;

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_runs::{Axis, Failures, NamedPolicy, Part, Policy, PolicyFailure};

use method::Method;

pub(crate) use blocks::DeviceBlocks;
pub(crate) use cache::WriteCache;
pub(crate) use chunks::ChunkWrite;
pub(crate) use file::FilePolicy;
pub(crate) use queue::QueuedOperation;
pub(crate) use read::ReadChoice;
pub(crate) use segments::ArraySegments;
pub(crate) use update::ParityUpdate;

/// The axes by the names that `stripewise/policy.py` gives them.
const AXES: [(&str, Axis); 7] = [
    ("update", Axis::Update),
    ("read", Axis::Read),
    ("dispatch", Axis::Order),
    ("destage", Axis::Destage),
    ("array-gc", Axis::Segment),
    ("device-gc", Axis::Block),
    ("hotness", Axis::Hotness),
];

/// The axes of these names.
fn axes_of(names: &[String]) -> Result<Vec<Axis>, String> {
    let axis = |name: &String| {
        let found = AXES.iter().find(|axis| axis.0 == name).map(|axis| axis.1);
        found.ok_or_else(|| format!("no axis is called {name}"))
    };
    names.iter().map(axis).collect()
}

/// An object with a method for each of its axes.
pub(crate) struct PythonPolicy {
    object: Py<PyAny>,
    axes: Vec<Axis>,
    identity: String,
}

impl PythonPolicy {
    pub(crate) fn named(
        object: Py<PyAny>,
        name: String,
        identity: String,
        axes: &[String],
    ) -> PyResult<NamedPolicy> {
        let axes = axes_of(axes).map_err(PyValueError::new_err)?;
        Ok(NamedPolicy { name, policy: Arc::new(Self { object, axes, identity }) })
    }
}

impl Policy for PythonPolicy {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn axes(&self) -> Vec<Axis> {
        self.axes.clone()
    }

    fn begin(&self, failures: &Failures) -> Result<Vec<Part>, PolicyFailure> {
        let begun = Python::attach(|py| -> PyResult<Vec<Part>> {
            // Runs on other threads use the same object.
            let object = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
            object.call_method0("begin")?;
            let part = |axis: &Axis| -> PyResult<Part> {
                Ok(match axis {
                    Axis::Update => {
                        Part::Update(Box::new(Method::<ParityUpdate>::of(&object, "choose", failures)?))
                    }
                    Axis::Read => Part::Read(Box::new(Method::<ReadChoice>::of(&object, "avoid", failures)?)),
                    Axis::Order => {
                        Part::Order(Box::new(Method::<QueuedOperation>::of(&object, "rank", failures)?))
                    }
                    Axis::Destage => {
                        Part::Destage(Box::new(Method::<WriteCache>::of(&object, "destage", failures)?))
                    }
                    Axis::Segment => {
                        Part::Segment(Box::new(Method::<ArraySegments>::of(&object, "segment", failures)?))
                    }
                    Axis::Block => {
                        Part::Block(Box::new(Method::<DeviceBlocks>::of(&object, "block", failures)?))
                    }
                    Axis::Hotness => {
                        Part::Hotness(Box::new(Method::<ChunkWrite>::of(&object, "tier", failures)?))
                    }
                })
            };
            self.axes.iter().map(part).collect()
        });
        Ok(begun?)
    }
}
