//! Block traces: formats, generators, statistics.

#![forbid(unsafe_code)]

mod error;
pub mod fold;
pub mod format;
pub mod generate;
mod input;
mod lines;
mod order;
mod partial;
pub mod profile;
mod read;
mod request;
pub mod slice;
pub mod stats;
mod text;
mod write;

pub use error::TraceError;
pub use format::FormatName;
#[cfg(feature = "parquet")]
pub use format::parquet::{notes, parquet_file};
pub use input::{Compression, digest, digest_while};
pub use order::Disorder;
pub use partial::PartialFile;
pub use read::{OpenOptions, ReadReport, Reader, open, open_stream};
pub use request::{Kind, Request, Source};
pub use write::{WriteOptions, WriteReport, Writer};
