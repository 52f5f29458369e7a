//! Studies at scale: a study file describes many runs, which are planned, made and stored.
//!
//! [`StudyFile::read`] reads `study.toml`. [`Plan::new`] resolves it: a product of axes, whose points are visited lazily.
//! A point with one scheme and one seed is a run. [`check`] says what the plan costs and which combinations are refused,
//! before anything runs.

#![forbid(unsafe_code)]

mod axis;
mod check;
mod choice;
mod error;
mod file;
mod filter;
mod plan;
mod range;
mod rules;
mod text;

pub use axis::Axis;
pub use check::{Check, Skipped, check};
pub use choice::Choice;
pub use error::Error;
pub use file::StudyFile;
pub use plan::{Cell, Plan};
pub use rules::{Fail, Replicate, StopAfter};
