//! What leaves a write cache.

use pyo3::prelude::*;
use stripewise_array::custom::{CacheState, ChooseGroup};

use super::method::{Method, place_in};

/// A write cache from which a write group is to leave: the groups that may, one a stripe, by ascending address. The
/// object is reused for the next call: copy values that you keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct WriteCache {
    /// Simulated time, in nanoseconds.
    #[pyo3(get)]
    now_ns: u64,
    /// Pages that the cache holds, those in flight to members included.
    #[pyo3(get)]
    occupied: u32,
    /// The most pages that it holds.
    #[pyo3(get)]
    size: u32,
    /// Whether a write waits for room.
    #[pyo3(get)]
    pressed: bool,
    /// The groups that may leave: the numbers of their stripes, in ascending order.
    #[pyo3(get)]
    groups: Vec<u64>,
    /// For each of `groups`: its pages in the cache.
    #[pyo3(get)]
    pages: Vec<u32>,
    /// For each of `groups`: the requests that wrote it since it entered.
    #[pyo3(get)]
    writes: Vec<u32>,
    /// For each of `groups`: when the first of these requests arrived, in nanoseconds.
    #[pyo3(get)]
    first_ns: Vec<u64>,
    /// For each of `groups`: when the last of these requests arrived, in nanoseconds.
    #[pyo3(get)]
    last_ns: Vec<u64>,
}

impl ChooseGroup for Method<WriteCache> {
    fn destage(&mut self, cache: &CacheState<'_>) -> Option<usize> {
        let groups: Vec<u64> = cache.groups.iter().map(|group| group.group).collect();
        let fill = |view: &mut WriteCache| {
            (view.now_ns, view.occupied, view.size) = (cache.now, cache.occupied, cache.size);
            view.pressed = cache.is_pressed;
            view.groups.clone_from(&groups);
            view.pages = cache.groups.iter().map(|group| group.pages).collect();
            view.writes = cache.groups.iter().map(|group| group.writes).collect();
            view.first_ns = cache.groups.iter().map(|group| group.first_ns).collect();
            view.last_ns = cache.groups.iter().map(|group| group.last_ns).collect();
        };
        self.ask(fill, |answer| place_in(&answer, &groups, ("destage", "cache.groups"))).flatten()
    }
}
