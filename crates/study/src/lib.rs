//! Studies at scale: a study file describes many runs, which are planned, made and stored.
//!
//! [`StudyFile::read`] reads `study.toml`. [`Plan::new`] resolves it: a product of axes, whose points are visited lazily.
//! A point with one scheme and one seed is a run. [`check`] says what the plan costs and which combinations are refused,
//! before anything runs. [`run_in_processes`] makes the runs in worker processes, [`run()`] on threads, and both commit them
//! to a [`StudyStore`]; to resume is to run again.

#![forbid(unsafe_code)]

mod axis;
mod batch;
mod bucket;
mod catalogue;
mod check;
mod choice;
mod choose;
mod coordinator;
mod error;
mod failures;
mod file;
mod filter;
mod folder;
mod make;
mod media;
#[cfg(feature = "object-stores")]
mod objects;
mod pack;
mod plan;
mod point;
mod processes;
mod range;
mod report;
mod row;
mod rules;
mod run;
mod schedule;
mod shard;
mod sources;
mod status;
mod store;
mod text;
mod worker;

pub use axis::Axis;
pub use batch::Batch;
pub use bucket::{RunBucket, is_bucket};
pub use catalogue::index;
pub use check::{Check, Skipped, check};
pub use choice::Choice;
pub use choose::{axis_of, point_of};
pub use coordinator::{Coordinator, Next, Options, Outcome};
pub use error::Error;
pub use failures::Failed;
pub use file::StudyFile;
pub use make::Watch;
pub use media::{Moment, Partial};
pub use plan::{Cell, Plan};
pub use point::{Point, Shown};
pub use processes::{Start, run_in_processes, serve};
pub use report::{Requested, report};
pub use rules::{BARE, Fail, Replicate, StopAfter, figure_of, long_time};
pub use run::run;
pub use schedule::Counts;
pub use shard::Shard;
pub use sources::{PolicyLoader, load_policies_by};
pub use status::{Status, Values, Visitor, reason, status, visit};
pub use store::{Known, KnownRow, StudyStore};
pub use worker::Worker;
