//! The interface of frontends: the ways by which clients reach the array. `frontends.rs` lists them.
//!
//! A frontend owns the sockets of its clients and the state of their requests. It submits requests to the service, with
//! a [`ReplyTo`] that leads back to it. The loop calls each frontend in the same order in every turn:
//! [`complete`](Frontend::complete) for each completed request, [`exchange`](Frontend::exchange),
//! [`arm`](Frontend::arm) if no other part has work, [`watch`](Frontend::watch), and after the wait
//! [`hear`](Frontend::hear) for each descriptor with events.
//!
//! [`ReplyTo`]: crate::service::ReplyTo

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;
use stripewise_base::Nanos;
use stripewise_engine::Engine;

use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::service::{Completion, FrontendNo, Service};
use crate::settings::Settings;

/// Starts a frontend, to be served with this number. `None` if the settings request none.
///
/// # Errors
/// When a socket or a thread is not available.
pub(crate) type Start = fn(FrontendNo, &Settings, &Engine) -> Result<Option<Box<dyn Frontend>>, ServeError>;

/// A descriptor that a frontend waits for. Only the frontend knows the meaning of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// A client, or another owner of descriptors.
    pub(crate) owner: u64,
    /// Which of its descriptors.
    pub(crate) part: u32,
}

/// A way by which clients reach the array. Dropping it disconnects the clients and closes the sockets. No function waits.
pub(crate) trait Frontend: Debug + Send {
    /// The addresses for clients, as text.
    fn addresses(&self) -> Vec<String>;

    /// Connected clients.
    fn connections(&self) -> usize;

    /// Answers a completed request, if its client is still connected. `buffers` receives the buffer of the request.
    fn complete(&mut self, completion: Completion, buffers: &mut Buffers);

    /// Sends answers, and submits the requests that wait, as many as the array accepts. Ends connections that are over.
    fn exchange(&mut self, service: &mut Service);

    /// Prepares for a wait. Returns whether there is work already: then the loop only polls.
    fn arm(&mut self) -> bool;

    /// Adds the descriptors to wait for, each with its events.
    fn watch(&mut self, now: Nanos, add: &mut dyn FnMut(Source, PollFlags));

    /// A descriptor that [`Frontend::watch`] added.
    fn descriptor(&self, source: Source) -> Option<BorrowedFd<'_>>;

    /// Handles the events of a descriptor.
    fn hear(&mut self, source: Source, flags: PollFlags, service: &mut Service);

    /// When there is work even without an event.
    fn wake_at(&self, now: Nanos) -> Option<Nanos>;

    /// Begins to end: takes no more clients and no more requests, as far as the protocol allows it. Requests in flight are
    /// answered.
    fn end(&mut self);

    /// Whether all requests that were taken are answered, and the answers sent.
    fn is_idle(&self) -> bool;
}
