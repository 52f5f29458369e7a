//! Paper 004 (S. Wu et al., zones of several chunk sizes in an array of SSDs): arrays of one chunk size and MC-RAIS on its three
//! traces, with other numbers of SSDs and sizes of zones, and chunk sizes against request sizes.

mod chunks;
mod evidence;
mod measured;
mod plan;
mod rows;
#[cfg(test)]
mod tests;
mod text;
mod variant;
mod workload;

pub use measured::{Measured, Run};
pub use plan::{Cell, Part, Row, State, cells};
pub use rows::findings;
pub use text::{json, markdown};
pub use variant::Policy;
pub use workload::{Access, Requests, Workload};
