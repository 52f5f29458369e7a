//! Paper 001: workload-aware elastic striping with hot data identification for SSD RAID arrays. Its results as this
//! project numbers them (1a to 1h), measured anew over eight SSDs in RAID-5 and RAID-6.
//!
//! The paper's Synthetic workload is generated as it says; Financial1, Online, Webmail and their mix to what it and their
//! publishers say of them (`trace/profiles/paper001.toml`). Arrays begin empty, as the paper's do, and every write counts.
//! Real write-heavy traces stand apart, as slices, each over an array that is as small beside it as the paper's is beside
//! its traces.

mod array;
mod evidence;
mod measured;
mod plan;
mod rows;
mod text;
mod variant;

pub use measured::{Measured, Run};
pub use plan::{Cell, Row, WORKLOADS, cells};
pub use rows::findings;
pub use text::{json, markdown};
pub use variant::{Level, Variant};
