//! The simulator: drives the array over modelled flash under simulated time.
//!
//! [`run`] replays a trace and yields [`Totals`] and tables; [`Simulation`] is the event loop under it, which a checking
//! workload drives with real bytes.

#![forbid(unsafe_code)]

mod layout;
mod metrics;
mod replay;
mod run;
mod simulation;
pub mod tables;
mod totals;

pub use layout::Layout;
pub use metrics::{Metrics, Responses};
pub use replay::{Pacing, Replay, ReplayError};
pub use run::{Progress, RunConfig, RunError, capacity, run};
pub use simulation::{ClassCounts, Content, Host, Next, Simulation, World};
pub use totals::{Figure, Totals};
