//! The addresses, files and limits with which a server starts.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::events::EventFile;
use crate::listen::Address;

/// The configuration of a server.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of the array and of the export.
    pub name: String,
    /// The addresses for NBD clients.
    pub nbd: Vec<Address>,
    /// Sockets of devices for virtual machines, one machine each (feature `vhost-user`).
    pub vhost_user: Vec<PathBuf>,
    /// The control socket.
    pub control: PathBuf,
    /// The address of metrics and the status page.
    pub metrics: Option<SocketAddr>,
    /// Names that metrics and the status page accept, in addition to loopback, the address and the machine's own name.
    pub metrics_hosts: Vec<String>,
    /// The folder that the served requests are recorded to.
    pub record: Option<PathBuf>,
    /// Hot spares. A file that cannot be one is logged, and skipped.
    pub spares: Vec<PathBuf>,
    /// The file for events.
    pub events: Option<EventFile>,
    /// A program that is started for each event.
    pub on_event: Option<PathBuf>,
    /// Recent errors beyond which a member fails, if redundancy allows. Zero and none mean never.
    pub error_limit: Option<u64>,
}
