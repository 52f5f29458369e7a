//! Paper 000: adaptive selection of the parity update routine in RAID-enabled SSDs. Its results as this project numbers
//! them (0a to 0i), measured anew.
//!
//! Traces are generated to the paper's Tables III and IV. The intervals printed there for hm_0 are those of the real
//! trace a hundred times as fast, those of Ali_0 and Ali_1 a thousand times; the LUN traces run in real time. All are
//! replayed with the printed clock, and those three in real time too. Real traces stand apart, as slices.

mod decision;
mod intervals;
mod measured;
mod plan;
mod rows;
mod text;

pub use decision::{Decisions, measure_decisions};
pub use intervals::{Intervals, intervals};
pub use measured::{Measured, Run};
pub use plan::{Cell, Clock, Row, SCHEMES, cells};
pub use rows::findings;
pub use text::{json, markdown};
