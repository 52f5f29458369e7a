//! The simulator: drives the array over modelled flash under simulated time.
//!
//! [`run`] replays a trace and yields [`Totals`] and tables; [`Simulation`] is the event loop under it, which
//! a checking workload drives with real bytes. An observer of plans is a [`Host`] with `OBSERVES = true`: it
//! is shown every plan that the controller makes.

#![forbid(unsafe_code)]

mod histogram;
mod layout;
mod metrics;
mod precondition;
mod replay;
mod run;
mod simulation;
pub mod tables;
mod timeline;
mod totals;
pub mod uniformity;
mod updates;

pub use layout::Layout;
pub use metrics::{Metrics, Responses};
pub use precondition::Precondition;
pub use replay::{LATEST, Pacing, Replay, ReplayError};
pub use run::{
    GC_SLICE, MOST_SAMPLE_ROWS, Progress, RunConfig, RunError, capacity, run, run_choosing, run_on,
};
pub use simulation::{ClassCounts, Content, Host, Next, Simulation, World, members};
pub use timeline::{DieSpan, OperationSpan, RequestSpan, Timeline, timeline};
pub use totals::{Figure, GcSlices, Totals};
pub use updates::{Chooser, UpdateCounts};

/// A fingerprint of the source text that decides what a run yields: tells apart programs of one version, so
/// that what an older build computed is not taken for what this one would. The same on every machine, in
/// debug and release.
pub const SOURCES: &str = env!("STRIPEWISE_SOURCES");
