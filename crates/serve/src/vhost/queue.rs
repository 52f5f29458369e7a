//! A virtqueue: a guest puts its requests there, and finds the answers.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use vhost::vhost_user::{Error, Result, message::VhostUserVringState};
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{GuestAddress, GuestMemoryMmap};

use super::chain::{Chain, Status};
use super::disk::QUEUE_SIZE;
use crate::service::Submission;

/// The guest has broken the rules of the ring, or has no memory at the addresses of the ring.
#[derive(Debug)]
pub(super) struct Broken;

/// A request that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// The guest's identifier of the request.
    pub(super) head: u16,
    /// Whether its chain is valid.
    pub(super) looked_up: std::result::Result<(), Status>,
}

/// The channel for the answer to a stop.
pub(super) type Stopped = SyncSender<Result<VhostUserVringState>>;

/// A virtqueue.
#[derive(Debug)]
pub(super) struct Virtqueue {
    ring: Queue,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    err: Option<OwnedFd>,
    is_enabled: bool,
    is_broken: bool,
    /// Requests that were taken and not answered.
    under_way: u16,
    /// A request that the array was too busy for. Later requests wait, to keep the order.
    pub(super) held: Option<Submission>,
    /// Whether there are answers that the guest was not notified of.
    has_answered: bool,
    /// Waits until no request is in flight.
    stopping: Option<Stopped>,
    /// Whether this connection started it before.
    is_known: bool,
}

impl Virtqueue {
    pub(super) fn new() -> Self {
        Self {
            ring: Queue::new(QUEUE_SIZE).expect("the size is a power of two"),
            kick: None,
            call: None,
            err: None,
            is_enabled: false,
            is_broken: false,
            under_way: 0,
            held: None,
            has_answered: false,
            stopping: None,
            is_known: false,
        }
    }

    pub(super) fn set_size(&mut self, size: u32) -> Result<()> {
        let size = u16::try_from(size).map_err(|_| Error::InvalidParam)?;
        self.ring.try_set_size(size).map_err(|_| Error::InvalidParam)
    }

    /// Sets the addresses of the descriptors, and of the available and used rings, in the guest's memory.
    pub(super) fn set_addresses(&mut self, descriptors: u64, available: u64, used: u64) -> Result<()> {
        let mut set = || -> std::result::Result<(), virtio_queue::Error> {
            self.ring.try_set_desc_table_address(GuestAddress(descriptors))?;
            self.ring.try_set_avail_ring_address(GuestAddress(available))?;
            self.ring.try_set_used_ring_address(GuestAddress(used))
        };
        set().map_err(|_| Error::InvalidParam)
    }

    pub(super) fn set_base(&mut self, next: u16) {
        self.ring.set_next_avail(next);
    }

    pub(super) fn set_event_idx(&mut self, is_agreed: bool) {
        self.ring.set_event_idx(is_agreed);
    }

    pub(super) fn enable(&mut self, is_enabled: bool) {
        self.is_enabled = is_enabled;
    }

    /// Begins to serve the queue, with `kick` for the guest's notifications.
    ///
    /// # Errors
    /// When the ring is not in the guest's memory, and when the guest has used it with another connection. The guest
    /// may have had requests in flight then, which this server does not know. And a server that was killed has lost the
    /// writes that were not flushed, which a guest that continues would never write again.
    pub(super) fn start(&mut self, kick: Option<File>, memory: &GuestMemoryMmap) -> Result<()> {
        let kick = kick.ok_or(Error::InvalidOperation("a queue without notifications is not polled"))?;
        self.kick = Some(bell(kick)?);
        self.ring.set_ready(true);
        if !self.ring.is_valid(memory) {
            self.ring.set_ready(false);
            return Err(Error::InvalidParam);
        }
        let used = self.ring.used_idx(memory, Ordering::Acquire).map_err(|_| Error::InvalidParam)?;
        if !self.is_known && (used.0, self.ring.next_avail()) != (0, 0) {
            self.ring.set_ready(false);
            return Err(Error::InvalidOperation(
                "the guest continues after its disk was gone: writes that it was acknowledged may be lost; restart the guest",
            ));
        }
        self.is_known = true;
        self.ring.set_next_used(used.0);
        Ok(())
    }

    /// Sets the descriptor that notifies the guest.
    pub(super) fn set_call(&mut self, call: Option<File>) -> Result<()> {
        self.call = call.map(bell).transpose()?;
        // The guest may not have been notified of earlier answers; a superfluous notification does no harm.
        self.has_answered = self.ring.ready();
        Ok(())
    }

    /// Sets the descriptor that reports a broken queue.
    pub(super) fn set_err(&mut self, err: Option<File>) -> Result<()> {
        self.err = err.map(bell).transpose()?;
        Ok(())
    }

    /// Takes no more requests, and answers `stopped` when all requests in flight are answered.
    pub(super) fn stop(&mut self, stopped: Stopped) {
        self.ring.set_ready(false);
        self.stopping = Some(stopped);
    }

    /// Whether requests are taken.
    pub(super) fn is_open(&self) -> bool {
        self.ring.ready() && self.is_enabled && !self.is_broken
    }

    /// Whether no request is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// The descriptor of the guest's notifications, while requests are taken.
    pub(super) fn kick(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().filter(|_| self.is_open()).map(AsFd::as_fd)
    }

    /// Handles a notification of the guest.
    pub(super) fn silence(&self) {
        if let Some(kick) = &self.kick {
            // The ring is polled whatever the descriptor holds.
            let _ = rustix::io::read(kick, &mut [0u8; 8]);
        }
    }

    /// The next request of the guest. `chain` then has the positions of its parts.
    ///
    /// # Errors
    /// When the ring is broken, or when the chain is longer than a queue may be. A guest that follows the rules has no
    /// such chain: an indirect table has room for 65,535 descriptors.
    pub(super) fn take(
        &mut self,
        memory: &GuestMemoryMmap,
        chain: &mut Chain,
    ) -> std::result::Result<Option<Taken>, Broken> {
        // A guest that offers a request twice has more requests than descriptors.
        if self.under_way >= self.ring.size() {
            return Ok(None);
        }
        let mut available = self.ring.iter(memory).map_err(|_| Broken)?;
        let Some(mut descriptors) = available.next() else { return Ok(None) };
        let head = descriptors.head_index();
        let looked_up = chain.look_up(descriptors.by_ref().take(QUEUE_SIZE.into()));
        if descriptors.next().is_some() {
            return Err(Broken);
        }
        self.under_way += 1;
        Ok(Some(Taken { head, looked_up }))
    }

    /// Returns a request to the guest, with the number of bytes written to its memory.
    ///
    /// # Errors
    /// When the ring is broken.
    pub(super) fn answer(
        &mut self,
        memory: &GuestMemoryMmap,
        head: u16,
        written: u32,
    ) -> std::result::Result<(), Broken> {
        self.under_way -= 1;
        self.has_answered = true;
        self.ring.add_used(memory, head, written).map_err(|_| Broken)
    }

    /// Notifies the guest of answers, and the thread that stops the queue that nothing is in flight.
    ///
    /// # Errors
    /// When the ring is broken.
    pub(super) fn notify(
        &mut self,
        number: u32,
        memory: &GuestMemoryMmap,
    ) -> std::result::Result<(), Broken> {
        let is_to_ring = match std::mem::take(&mut self.has_answered) {
            true => self.ring.needs_notification(memory).map_err(|_| Broken),
            false => Ok(false),
        };
        if let (Ok(true), Some(call)) = (&is_to_ring, &self.call) {
            ring(call);
        }
        if self.is_idle()
            && let Some(stopped) = self.stopping.take()
        {
            self.kick = None;
            self.call = None;
            // The waiting thread may have ended.
            let _ = stopped.send(Ok(VhostUserVringState::new(number, self.ring.next_avail().into())));
        }
        is_to_ring.map(drop)
    }

    /// Enables a notification of the next request. Returns whether there is one already.
    ///
    /// # Errors
    /// When the ring is broken.
    pub(super) fn arm(&mut self, memory: &GuestMemoryMmap) -> std::result::Result<bool, Broken> {
        let is_there = self.ring.enable_notification(memory).map_err(|_| Broken)?;
        Ok(is_there && self.held.is_none() && self.under_way < self.ring.size())
    }

    /// Takes no more requests from the queue. Returns whether any were taken until now.
    pub(super) fn mark_broken(&mut self) -> bool {
        if let Some(err) = self.err.as_ref().filter(|_| !self.is_broken) {
            ring(err);
        }
        !std::mem::replace(&mut self.is_broken, true)
    }
}

/// An eventfd of the guest, set to non-blocking.
fn bell(file: File) -> Result<OwnedFd> {
    let bell = OwnedFd::from(file);
    let fail = |error: rustix::io::Errno| Error::ReqHandlerError(error.into());
    let flags = fcntl_getfl(&bell).map_err(fail)?;
    fcntl_setfl(&bell, flags | OFlags::NONBLOCK).map_err(fail)?;
    Ok(bell)
}

fn ring(bell: &OwnedFd) {
    // A full counter rings already; a guest that has closed it does not listen.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}
