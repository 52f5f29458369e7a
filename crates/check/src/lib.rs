//! The checking simulation: the same controller and event loop as in timed runs, but over real bytes, with concurrent
//! requests to the same rows, pages that go bad, members that fail, and an oracle that knows which content every
//! sector may hold.
//!
//! A [`Case`] contains everything that determines a run; [`stress::case`] draws one from a seed. [`run`] plays a case
//! and returns the first violation of the fault contract (`docs/evidence/checking.md`).

#![forbid(unsafe_code)]

mod audit;
mod audit_log;
mod bugs;
mod case;
pub mod composition;
pub mod crash;
mod device;
mod durable;
pub mod guest;
pub mod kill;
mod log_history;
mod media;
mod model;
mod player;
mod run;
mod shrink;
mod stamp;
pub mod stress;

pub use bugs::{Options, Planted};
pub use case::{Ask, Case, ErrorLimit, Loss, What};
pub use media::{Fault, Faults, Manner, PageMedia};
pub use model::{Model, Update};
pub use player::{Seen, Tracer};
pub use run::{Failure, Summary, run};
pub use shrink::shrink;
pub use stamp::{Found, SECTOR};
