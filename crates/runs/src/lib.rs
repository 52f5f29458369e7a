//! Comparisons: names and settings become runs, several threads make the runs, and the results go to the store.
//!
//! The command and the Python package share this crate. A [`ComparisonSpec`] is plain data. [`Comparison::new`] resolves every
//! name and checks that each run can be made. [`Comparison::run`] makes those that are not in the store yet. An
//! [`Observer`] reports the progress to the caller, and may end the runs.

#![forbid(unsafe_code)]

mod ahead;
pub mod bibliography;
mod budget;
pub mod built_in;
mod catalog;
mod comparison;
mod cpu;
mod describe;
mod digests;
mod error;
mod forecast;
mod job;
mod label;
mod memory;
mod missing;
mod named;
mod observer;
pub mod overhead;
mod policy;
mod remote;
mod rows;
mod setting;
mod shared;
mod span;
mod spec;
mod timeline;
mod warm_up;
mod watching;
mod workload;

pub use budget::DEFAULT_BUDGET;
pub use catalog::{DeviceEntry, SchemeEntry, builtin_profile, devices, profile, schemes};
pub use comparison::{Comparison, Finished, acknowledges, version};
pub use describe::{describe_device, describe_members};
pub use digests::{cache_folder, trace_digest};
pub use error::{Error, What};
pub use job::smallest_bytes;
pub use label::{check_label, split_label};
pub use named::Document;
pub use observer::Observer;
pub use policy::{Axis, Choosing, Failures, NamedPolicy, Part, Policy, PolicyFailure};
pub use remote::Remote;
pub use setting::{Setting, Target, device, former_names, scheme, sort};
pub use span::Span;
pub use spec::{ComparisonSpec, DEFAULT_DEVICE, SchemeSpec, Tables};
pub use warm_up::WarmUp;
pub use watching::InMemory;
pub use workload::{
    DEFAULT_PROFILE, DEFAULT_REQUESTS, Folding, Origin, Stream, Watched, Workload, WorkloadSpec,
    check_rereadable,
};
