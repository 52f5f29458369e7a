//! The results of a run: tables in Arrow and Parquet, totals, digests, and the directory that stores them.
//!
//! A simulation writes its rows to a [`TableSink`] ([`store::RunWriter`] for one on disk, [`MemorySink`] for one in
//! memory, [`DigestSink`] where only digests are needed). [`RunInputs::digest`] names a run before it is made. So
//! [`Store::find`] can report that the run exists already.

#![forbid(unsafe_code)]

pub mod digest;
mod digest_sink;
pub mod effect;
mod error;
pub mod figures;
pub mod looks;
mod pack;
pub mod paired;
pub mod parquet;
mod partial;
mod read;
mod record;
pub mod replicate;
pub mod schema;
pub mod settings;
pub mod shared;
pub mod sink;
pub mod steady;
pub mod store;
pub mod summary;
pub mod totals;
mod verify;

pub use digest::{Digest, RunInputs};
pub use digest_sink::{DigestSink, DigestedRun};
pub use error::Error;
pub use figures::{Figure, Figures};
pub use read::{Batches, Columns, guarded, verify_file};
pub use record::RunRecord;
pub use schema::Table;
pub use sink::{MemoryRun, MemorySink, Optional, TableSink};
pub use store::{FinishedRun, RunWriter, Store};
