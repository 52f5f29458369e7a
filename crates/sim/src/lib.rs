//! The simulator: drives the array over modelled flash under simulated time.
//!
//! [`run`] replays a trace and yields [`Totals`] and tables. [`Simulation`] is the event loop of `run`; checkers
//! drive it with real bytes. A [`Host`] with `OBSERVES = true` observes plans: it receives every plan that the
//! controller makes.

#![forbid(unsafe_code)]

mod error;
mod histogram;
mod layout;
mod metrics;
mod policies;
mod precondition;
mod replay;
mod run;
mod simulation;
pub mod tables;
mod timeline;
mod totals;
pub mod uniformity;
mod updates;

pub use error::RunError;
pub use layout::Layout;
pub use metrics::{Metrics, Responses};
pub use policies::Policies;
pub use precondition::Precondition;
pub use replay::{LATEST, Pacing, Replay, ReplayError};
pub use run::{GC_SLICE, MOST_SAMPLE_ROWS, Progress, RunConfig, capacity, run, run_choosing, run_on};
pub use simulation::{ClassCounts, Content, Host, Next, Simulation, World, members};
pub use timeline::{DieSpan, OperationSpan, RequestSpan, Timeline, timeline};
pub use totals::{Figure, GcSlices, Totals};
pub use updates::{Chooser, UpdateCounts};

/// A fingerprint of the sources that determine the results of a run. It distinguishes builds of the same version, so that
/// results of an older build are not mistaken for results of this one. The same on every machine, in debug and release
/// builds. `build/sources/mod.rs` says what counts.
pub const SOURCES: &str = env!("STRIPEWISE_SOURCES");
