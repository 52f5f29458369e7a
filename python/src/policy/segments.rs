//! The victim of array GC.

use pyo3::prelude::*;
use stripewise_array::custom::{ChooseSegment, ClosedSegment};

use super::method::{Method, place_in};

/// The segments of a log that array GC may collect. The object is reused for the next collection: copy values that you
/// keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct ArraySegments {
    /// Simulated time, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// The most chunks of a segment.
    #[pyo3(get)]
    chunks: u32,
    /// The segments that may be collected, in ascending order. Those whose collection would free no space are not
    /// among them.
    #[pyo3(get)]
    segments: Vec<u32>,
    /// For each of `segments`: its valid chunks.
    #[pyo3(get)]
    valid: Vec<u32>,
    /// For each of `segments`: the segments that were closed after it.
    #[pyo3(get)]
    ages: Vec<u64>,
}

impl ChooseSegment for Method<ArraySegments> {
    fn collect(&mut self, now: u64, chunks: u32, closed: &[ClosedSegment]) -> Option<usize> {
        let segments: Vec<u32> = closed.iter().map(|one| one.segment).collect();
        let fill = |view: &mut ArraySegments| {
            (view.now_ns, view.chunks) = (now, chunks);
            view.segments.clone_from(&segments);
            view.valid = closed.iter().map(|one| one.valid).collect();
            view.ages = closed.iter().map(|one| one.age).collect();
        };
        self.ask(fill, |answer| place_in(&answer, &segments, ("segment", "segments.segments"))).flatten()
    }
}
