//! Block traces: formats, generators, statistics.

#![forbid(unsafe_code)]

mod error;
pub mod fold;
pub mod format;
mod input;
mod lines;
mod order;
mod read;
mod request;
pub mod slice;
mod text;
mod write;

pub use error::TraceError;
pub use format::FormatName;
pub use input::{Compression, digest};
pub use order::Disorder;
pub use read::{OpenOptions, ReadReport, Reader, open, open_stream};
pub use request::{Kind, Request, Source};
pub use write::{WriteOptions, WriteReport, Writer};
