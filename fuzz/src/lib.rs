//! Properties of all readers of external input, as functions of arbitrary bytes. A check panics if a property is
//! violated. The fuzz targets call the checks with bytes from libFuzzer, and tests of the workspace call them with
//! the files of `corpus`.

pub mod assembly;
pub mod columns;
pub mod detect;
pub mod device;
pub mod format;
pub mod info;
pub mod nbd;
pub mod packed;
pub mod parquet;
pub mod profile;
pub mod reader;
pub mod scheme;
pub mod settings;
pub mod tables;
pub mod transcript;

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../../crates/array/tests/it/host/mod.rs"]
mod host;
