//! Real traces of small size, in the places where the shared set of traces has them.

use std::path::{Path, PathBuf};

use stripewise_study::Origin;
use stripewise_trace::OpenOptions;

/// A real trace.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// What it is called.
    pub workload: &'static str,
    /// Where it lies below the directory of traces.
    pub path: &'static str,
    /// Its format, where the first lines leave it open.
    pub format: Option<&'static str>,
}

impl Slice {
    pub(crate) const fn new(
        workload: &'static str,
        path: &'static str,
        format: Option<&'static str>,
    ) -> Self {
        Self { workload, path, format }
    }

    /// Its requests, from the file `path`.
    pub(crate) fn origin(&self, path: PathBuf) -> Origin {
        let format = self.format.and_then(|name| name.parse().ok());
        Origin::Trace(path, OpenOptions { format, ..OpenOptions::default() })
    }
}

/// Each slice with its file below `root`.
pub(crate) fn files(root: &Path, slices: &'static [Slice]) -> impl Iterator<Item = (PathBuf, Slice)> {
    slices.iter().map(|slice| (root.join(slice.path), *slice))
}
