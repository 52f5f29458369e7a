//! Helpers of the engine's tests: arrays over temporary files, media that fail on demand, a model of the admissible
//! reads.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

pub mod arrays;
pub mod faulty;
pub mod media;
pub mod model;

use stripewise_array::Scheme;
use stripewise_engine::{Engine, EngineError, Options, Order, Timekeeping};

/// The scheme of a TOML text.
pub fn scheme(text: &str) -> Scheme {
    Scheme::from_toml("test", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// RAID-5 with one page a chunk and everything else by default.
pub fn raid5() -> Scheme {
    scheme("name = \"raid5\"")
}

/// RAID-0 with one page a chunk and everything else by default.
pub fn raid0() -> Scheme {
    scheme("name = \"raid0\"\n[geometry]\nlevel = \"raid0\"")
}

/// Counted time, operations in the order of their start.
pub fn options() -> Options {
    Options { time: Timekeeping::Counted(1_000), order: Order::Started, ..Options::default() }
}

/// Reads `bytes` at `offset`.
pub fn read<B: stripewise_engine::Backend>(
    engine: &mut Engine<B>,
    offset: u64,
    bytes: usize,
) -> Result<Vec<u8>, EngineError> {
    let mut into = vec![0xEE; bytes];
    engine.read(offset, &mut into)?;
    Ok(into)
}
