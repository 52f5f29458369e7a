//! Block traces: formats, generators, statistics.

#![forbid(unsafe_code)]

mod error;
pub mod fold;
pub mod format;
pub mod generate;
mod input;
mod lines;
mod open_options;
mod order;
mod partial;
pub mod profile;
mod read;
mod read_report;
mod request;
pub mod slice;
mod stamp;
pub mod stats;
mod text;
mod unpack;
mod write;
mod zip;

pub use error::TraceError;
pub use format::FormatName;
#[cfg(feature = "parquet")]
pub use format::parquet::{notes, parquet_file};
pub use input::{digest, digest_while, is_read_once};
pub use open_options::OpenOptions;
pub use order::Disorder;
pub use partial::PartialFile;
pub use read::{Reader, open, open_stream};
pub use read_report::ReadReport;
pub use request::{Kind, Request, Source};
pub use stamp::Stamp;
pub use unpack::{Compression, without_compression};
pub use write::{WriteOptions, WriteReport, Writer};
