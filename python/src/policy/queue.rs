//! The order of the queues of members.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_array::custom::RankOperation;
use stripewise_array::{Class, Loads, MemberLoad, Operation, OperationKind};

use super::method::Method;

/// An operation that enters the queue of its member. The object is reused for the next operation: copy values that you
/// keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct QueuedOperation {
    /// Simulated time, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// The member.
    #[pyo3(get)]
    member: u16,
    /// The page of the member.
    #[pyo3(get)]
    page: u32,
    /// Reads of this member queued or in flight, including this operation.
    #[pyo3(get)]
    queued_reads: u32,
    /// Writes of this member queued or in flight, including this operation.
    #[pyo3(get)]
    queued_writes: u32,
    kind: OperationKind,
    class: Class,
}

#[pymethods]
impl QueuedOperation {
    /// `read`, `write`, `trim` or `flush`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            OperationKind::Read => "read",
            OperationKind::Write => "write",
            OperationKind::Trim => "trim",
            OperationKind::Flush => "flush",
        }
    }

    /// What it is for: `host read`, `host write`, `pre-read`, `parity`, `log`, `decode`, `repair`, `array GC read`,
    /// `array GC write` or `metadata`.
    #[getter]
    fn purpose(&self) -> &'static str {
        self.class.name()
    }
}

impl RankOperation for Method<QueuedOperation> {
    fn rank(&mut self, now: u64, operation: &Operation, loads: &Loads, _state: &dyn MemberLoad) -> u64 {
        let member = operation.member.index();
        let fill = |view: &mut QueuedOperation| {
            (view.now_ns, view.member, view.page) = (now, operation.member.number(), operation.page);
            (view.queued_reads, view.queued_writes) = (loads.reads[member], loads.writes[member]);
            (view.kind, view.class) = (operation.kind, operation.class);
        };
        let understand = |answer: Bound<'_, PyAny>| -> PyResult<u64> {
            answer.extract().or_else(|_| {
                let found = answer.repr()?;
                let message =
                    format!("rank must return a whole number from 0 to 2**64 - 1, and returned {found}");
                Err(PyValueError::new_err(message))
            })
        };
        self.ask(fill, understand).unwrap_or(0)
    }
}
