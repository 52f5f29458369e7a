//! Paper 002: improving read performance of SSDs via balanced redirected read. Its results as this project numbers them (2a
//! to 2h), measured anew over the 64 chips of its SSD.
//!
//! Requests are generated to its Table II (`trace/profiles/paper002.toml`) and sent twice: in real time, and sped up until
//! the chips are as busy under Async_FIFO as the table says. Chips begin full, so that every row is encoded and every read
//! takes time. Sweeps and variants replay a part of each workload. Real traces stand apart, as slices.

mod evidence;
mod measured;
mod plan;
mod rows;
mod speed;
mod text;
mod variant;

pub use measured::{Measured, Run};
pub use plan::{Cell, Part, Row, WORKLOADS, Workload, cells, workloads};
pub use rows::findings;
pub use speed::{Calibration, Speed};
pub use text::{json, markdown};
pub use variant::Variant;
