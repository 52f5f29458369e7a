//! The server of an array: one thread runs the engine and the sockets of its clients; other threads carry commands,
//! metrics and the recording.

#![forbid(unsafe_code)]

mod background_checks;
mod buffers;
mod candidate;
mod control;
mod counters;
mod deadline;
mod ending;
mod error;
pub mod events;
mod frontend;
mod frontends;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
mod http;
mod latency;
mod listen;
mod mailbox;
mod members;
mod metrics;
mod monitor;
mod nbd;
mod outages;
mod record;
mod server;
mod service;
mod settings;
mod signals;
pub mod signature;
mod slots;
mod smart;
mod status;
#[cfg(feature = "vhost-user")]
mod vhost;
mod watch;

pub use control::{Client, ClientError, Command, ControlError};
pub use error::ServeError;
pub use latency::Quantiles;
pub use listen::Address;
pub use record::Recording;
pub use server::Server;
pub use settings::Settings;
pub use status::{
    Errors, LATENCY_EDGES_NS, Log, Member, Operations, Progress, Requests, Scrubbed, Status, findings,
};
pub use stripewise_array::health::{ERROR_LIMIT, Health};

/// The environment variable that marks the background server of `stripewise serve --detach`. Programs that a server
/// starts do not inherit it.
pub const DETACHED: &str = "STRIPEWISE_DETACHED";
