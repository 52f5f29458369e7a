//! The routines of parity updates.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_array::MemberLoad;
use stripewise_array::MemberNo;
use stripewise_array::geometry::{Geometry, Place};
use stripewise_array::update::{Choice, Routine};
use stripewise_runs::Choosing;

use super::method::Method;

/// A parity update whose routine a policy chooses: the members that each routine would pre-read, and the state of
/// every member. The object is reused for the next update: copy values that you keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct ParityUpdate {
    /// Simulated time, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// Number of the row that is updated.
    #[pyo3(get)]
    row: u64,
    /// Members of the data chunks that are updated, completely or in part.
    #[pyo3(get)]
    updated: Vec<u16>,
    /// Members of the row's parity: of P, then of Q if there are two.
    #[pyo3(get)]
    parity: Vec<u16>,
    /// Members that read-modify-write would read: old data and old parity.
    #[pyo3(get)]
    rmw_reads: Vec<u16>,
    /// Members that read-construct-write would read: the data that is not updated.
    #[pyo3(get)]
    rcw_reads: Vec<u16>,
    /// For each member: reads queued or in flight (paper 000's R_i).
    #[pyo3(get)]
    queued_reads: Vec<u32>,
    /// For each member: writes queued or in flight (paper 000's W_i).
    #[pyo3(get)]
    queued_writes: Vec<u32>,
    /// For each member: the average time of a garbage collection if one is active, else 0, in nanoseconds
    /// (paper 000, Eq. 3: T_GC).
    #[pyo3(get)]
    gc_average_ns: Vec<u64>,
    /// For each member: time left of the garbage collections active now, in nanoseconds.
    #[pyo3(get)]
    gc_remaining_ns: Vec<u64>,
    /// For each member: cell time of reading its page of this row now, in nanoseconds (paper 000's t_R); 0 where it
    /// is not known.
    #[pyo3(get)]
    read_ns: Vec<u64>,
    /// Mean cell time of recent writes, in nanoseconds (paper 000's t_W); 0 before the first.
    #[pyo3(get)]
    write_ns: u64,
}

#[pymethods]
impl ParityUpdate {
    /// For each member: whether it collects garbage now.
    #[getter]
    fn collecting(&self) -> Vec<bool> {
        let sides = self.gc_average_ns.iter().zip(&self.gc_remaining_ns);
        sides.map(|(&average, &remaining)| average > 0 || remaining > 0).collect()
    }

    /// The routine that Baseline would take: the one with fewer pre-reads, `rmw` when they are equal.
    #[getter]
    fn baseline(&self) -> &'static str {
        if self.rcw_reads.len() < self.rmw_reads.len() { "rcw" } else { "rmw" }
    }

    fn __repr__(&self) -> String {
        format!(
            "<stripewise.ParityUpdate at {} ns: row {}, updated {:?}, rmw reads {:?}, rcw reads {:?}>",
            self.now_ns, self.row, self.updated, self.rmw_reads, self.rcw_reads
        )
    }
}

impl ParityUpdate {
    fn fill(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) {
        let (geometry, place) = (choice.geometry, choice.place);
        (self.now_ns, self.row) = (choice.now, choice.row.number());
        let parity = geometry.all_columns() & !geometry.data_columns();
        for (list, members) in [
            (&mut self.updated, choice.updated),
            (&mut self.parity, parity),
            (&mut self.rmw_reads, choice.rmw),
            (&mut self.rcw_reads, choice.rcw),
        ] {
            list.clear();
            list.extend(on_members(geometry, place, members));
        }
        self.queued_reads.clone_from(&choice.loads.reads);
        self.queued_writes.clone_from(&choice.loads.writes);
        let every = MemberNo::first(self.queued_reads.len() as u32);
        self.gc_average_ns.clear();
        self.gc_average_ns.extend(every.clone().map(|member| state.gc_average_ns(member)));
        self.gc_remaining_ns.clear();
        self.gc_remaining_ns.extend(every.clone().map(|member| state.gc_remaining_ns(member)));
        let read_ns = |member| {
            let reported = state.read_ns(member, place.page, false);
            reported.or(choice.times.read_ns(member)).unwrap_or_default()
        };
        self.read_ns.clear();
        self.read_ns.extend(every.map(read_ns));
        self.write_ns = choice.times.mean_write_ns().unwrap_or_default();
    }
}

/// The members that hold the columns of a mask.
fn on_members(geometry: &Geometry, place: Place, mut columns: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let column = columns.trailing_zeros();
        columns &= columns.wrapping_sub(1);
        (column < u64::BITS).then(|| geometry.member(place, column).number())
    })
}

impl Choosing for Method<ParityUpdate> {
    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine> {
        self.ask(
            |update| update.fill(choice, state),
            |chosen| match chosen.extract::<Option<&str>>() {
                Ok(None) => Ok(None),
                Ok(Some("rmw")) => Ok(Some(Routine::Rmw)),
                Ok(Some("rcw")) => Ok(Some(Routine::Rcw)),
                _ => {
                    let found = chosen.repr()?;
                    let message =
                        format!("choose must return \"rmw\", \"rcw\" or None, and returned {found}");
                    Err(PyValueError::new_err(message))
                }
            },
        )
        .flatten()
    }
}
