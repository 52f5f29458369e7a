//! Block traces: formats, generators, statistics.

#![forbid(unsafe_code)]

mod error;
mod request;

pub use error::TraceError;
pub use request::{Kind, Request, Source};
