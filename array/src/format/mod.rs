//! What is written on the elements beside chunks, byte by byte: `docs/format.md`.
//!
//! One module for each structure, with what writes it and what reads it. Readers take whatever bytes there are: they never
//! panic, and say what was wrong.

mod checksum;
mod uuid;

pub use checksum::crc32c;
pub use uuid::Uuid;

/// The version of the format that this program writes.
pub const VERSION: u16 = 1;
