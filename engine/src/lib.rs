//! The engine: drives the array over files and block devices with real bytes.
//!
//! [`Engine`] runs the same controller as the simulator, through [`PlainDriver`]: `pread` and `pwrite`, one operation
//! after the other. It is made to be obviously right and is the oracle for faster drivers, not one of them.
//!
//! # What it expects of its media
//! A page that was never written reads as zeros, and so does a page that was trimmed: parity of an untouched row is
//! then right without a first pass over the array. A completed flush makes all writes that completed before it durable.
//! Nothing on the media says yet to which array an element belongs, or that an element failed: whoever opens an array
//! again names the same files in the same order, and the failed elements with [`Engine::fail`] before the first request.

#![forbid(unsafe_code)]

mod clock;
mod engine;
mod error;
mod files;
mod plain;
mod record;
mod store;

pub use clock::Timekeeping;
pub use engine::{Engine, Options, Request, Ticket};
pub use error::{EngineError, FileError, FileTrouble, Lost};
pub use files::ElementFile;
pub use plain::{Completion, Counts, Failure, Observer, Order, PlainDriver};
pub use record::{PlanRecord, StepRecord};
pub use store::{Store, outcome_of};
