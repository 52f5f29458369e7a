//! The checking simulation: the very controller and the very event loop of timed runs, but over real bytes,
//! with colliding requests, pages that go bad and members that die, and an oracle that knows what every
//! sector may hold.
//!
//! A [`Case`] is all that decides a run; [`stress::case`] draws one from a seed. [`run`] plays it and returns
//! the first promise of the fault contract (`docs/checking.md`) that was broken.

#![forbid(unsafe_code)]

mod audit;
mod audit_log;
mod bugs;
mod case;
pub mod composition;
pub mod crash;
mod device;
mod durable;
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
pub use case::{Ask, Case, Loss, What};
pub use media::{Fault, Faults, Manner, PageMedia};
pub use model::{Model, Update};
pub use player::{Seen, Tracer};
pub use run::{Failure, Summary, run};
pub use shrink::shrink;
pub use stamp::{Found, SECTOR};
