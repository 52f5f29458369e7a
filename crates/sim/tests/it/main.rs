//! The tests of the simulator, in one program, because linking one program is faster than linking 12.

mod absurd;
mod commands;
mod device_columns;
mod distributions;
mod fingerprint;
mod global;
mod parity_caching;
mod persistent;
mod rotating;
mod shared_rows;
/// Of the build script.
#[path = "../../build/sources/mod.rs"]
mod sources;
mod ssds;
mod support;
mod synchrony;
mod timeline;
mod utilisation;
mod waiting;
mod write_caches;
