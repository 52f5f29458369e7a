//! What must hold for whatever is read from outside, as functions of any bytes. A check panics where something does
//! not hold; the fuzz targets call it with bytes that libFuzzer makes up, and tests of the workspace with those kept in
//! `corpus`.

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
#[path = "../../array/tests/it/disk/mod.rs"]
mod disk;
