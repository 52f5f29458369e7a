//! Serving an array: one thread runs the engine and the sockets of its clients; others carry commands, metrics and the recording.

#![forbid(unsafe_code)]

mod buffers;
mod candidate;
mod control;
mod deadline;
mod elements;
mod ending;
mod error;
mod extents;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
mod http;
mod latency;
mod listen;
mod mailbox;
mod metrics;
mod record;
mod server;
mod service;
mod session;
mod signals;
pub mod signature;
mod status;
mod tally;
#[cfg(feature = "vhost-user")]
mod vhost;
#[cfg(not(feature = "vhost-user"))]
#[path = "without_vhost.rs"]
mod vhost;
mod watch;

pub use control::{Client, ClientError, Command, ControlError};
pub use error::ServeError;
pub use latency::Quantiles;
pub use listen::Address;
pub use record::Recording;
pub use server::{Server, Settings};
pub use status::{Element, Health, LATENCY_EDGES_NS, Log, Operations, Progress, Requests, Scrubbed, Status};
