//! Hotness.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stripewise_array::custom::{self, ChooseTier};

use super::method::Method;

/// A chunk that a host writes to a log. The object is reused for the next chunk: copy values that you keep.
#[pyclass(module = "stripewise._stripewise")]
#[derive(Default)]
pub(crate) struct ChunkWrite {
    /// The logical number of the chunk.
    #[pyo3(get)]
    page: u64,
    /// The first byte of the request.
    #[pyo3(get)]
    offset: u64,
    /// The bytes of the request.
    #[pyo3(get)]
    bytes: u64,
    /// The number of tiers.
    #[pyo3(get)]
    tiers: u32,
}

impl ChooseTier for Method<ChunkWrite> {
    fn tier(&mut self, write: &custom::ChunkWrite) -> u8 {
        let custom::ChunkWrite { page, offset, bytes, tiers } = *write;
        let understand = |answer: Bound<'_, PyAny>| -> PyResult<u8> {
            let tier = answer.extract::<u8>().ok().filter(|&tier| u32::from(tier) < tiers);
            tier.map_or_else(
                || {
                    let (found, last) = (answer.repr()?, tiers - 1);
                    let message =
                        format!("tier must return a whole number from 0 to {last}, and returned {found}");
                    Err(PyValueError::new_err(message))
                },
                Ok,
            )
        };
        self.ask(|view| *view = ChunkWrite { page, offset, bytes, tiers }, understand).unwrap_or(0)
    }
}
