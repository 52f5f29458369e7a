//! The source of reads.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_array::MemberLoad;
use stripewise_array::MemberNo;
use stripewise_array::bits::columns;
use stripewise_array::custom::{self, ChooseRead};

use super::method::Method;

/// A read of chunks of one stripe that could be decoded from the others, and the state of every member. The object is
/// reused for the next read: copy values that you keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct ReadChoice {
    /// Simulated time, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// Members of the chunks that are read.
    #[pyo3(get)]
    wanted: Vec<u16>,
    /// Members of the other chunks of the stripe, parity included.
    #[pyo3(get)]
    others: Vec<u16>,
    /// The number of chunks that can be decoded from the others.
    #[pyo3(get)]
    parity: u32,
    /// For each member: reads queued or in flight.
    #[pyo3(get)]
    queued_reads: Vec<u32>,
    /// For each member: writes queued or in flight.
    #[pyo3(get)]
    queued_writes: Vec<u32>,
    /// For each member: how long garbage collection would delay a read of its page of this stripe, in nanoseconds; 0
    /// where it would not, where it is not known, and for members without a chunk of the stripe.
    #[pyo3(get)]
    gc_wait_ns: Vec<u64>,
    /// For each member: how long a read of its page of this stripe, given to the member now, would wait in it, in
    /// nanoseconds; 0 where it is not known, and for members without a chunk of the stripe.
    #[pyo3(get)]
    start_ns: Vec<u64>,
    /// For each member: cell time of reading its page of this stripe, in nanoseconds; 0 where it is not known, and for
    /// members without a chunk of the stripe.
    #[pyo3(get)]
    read_ns: Vec<u64>,
    /// For each member: cell time of a write, in nanoseconds; 0 where it is not known.
    #[pyo3(get)]
    write_ns: Vec<u64>,
}

impl ReadChoice {
    fn fill(&mut self, read: &custom::ReadChoice<'_>, state: &dyn MemberLoad) {
        let home = |column: u32| read.homes[column as usize];
        (self.now_ns, self.parity) = (read.now, read.parity);
        self.wanted.clear();
        self.wanted.extend(columns(read.wanted).map(|column| home(column).0.number()));
        self.others.clear();
        self.others.extend(columns(read.all & !read.wanted).map(|column| home(column).0.number()));
        self.queued_reads.clone_from(&read.loads.reads);
        self.queued_writes.clone_from(&read.loads.writes);
        let members = self.queued_reads.len();
        for list in [&mut self.gc_wait_ns, &mut self.start_ns, &mut self.read_ns] {
            list.clear();
            list.resize(members, 0);
        }
        for (member, page) in columns(read.all).map(home) {
            let at = member.index();
            self.gc_wait_ns[at] = state.gc_wait_ns(member, page).unwrap_or_default();
            self.start_ns[at] = state.start_ns(member, page).unwrap_or_default();
            self.read_ns[at] = state.read_ns(member, page, false).unwrap_or_default();
        }
        self.write_ns.clear();
        self.write_ns
            .extend(MemberNo::first(members as u32).map(|member| state.write_ns(member).unwrap_or_default()));
    }
}

impl ChooseRead for Method<ReadChoice> {
    fn avoid(&mut self, read: &custom::ReadChoice<'_>, state: &dyn MemberLoad) -> u64 {
        let column =
            |member: &u16| columns(read.all).find(|&it| read.homes[it as usize].0 == MemberNo::new(*member));
        let understand = |answer: Bound<'_, PyAny>| -> PyResult<u64> {
            if answer.is_none() {
                return Ok(0);
            }
            let members = answer.extract::<u16>().map(|member| vec![member]).or_else(|_| answer.extract());
            let avoided: Option<Vec<u32>> =
                members.ok().and_then(|members: Vec<u16>| members.iter().map(column).collect());
            match avoided.map(|columns| columns.iter().fold(0u64, |mask, column| mask | 1 << column)) {
                Some(mask) if mask.count_ones() <= read.parity => Ok(mask),
                _ => {
                    let (found, most) = (answer.repr()?, read.parity);
                    let message = format!(
                        "avoid must return members of the stripe, at most {most}, or None, and returned {found}"
                    );
                    Err(PyValueError::new_err(message))
                }
            }
        };
        self.ask(|view| view.fill(read, state), understand).unwrap_or(0)
    }
}
