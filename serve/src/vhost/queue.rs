//! A virtqueue: where a guest leaves its requests, and finds them answered.

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
use crate::service::Asked;

/// The guest has broken the rules of the ring, or has no memory where it said that the ring is.
#[derive(Debug)]
pub(super) struct Broken;

/// A request that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// What the guest calls it.
    pub(super) head: u16,
    /// Whether its chain is sound.
    pub(super) looked_up: std::result::Result<(), Status>,
}

/// What a stopped queue is answered with.
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
    /// A request that the array was too busy for. Those behind it wait, so that the order stays.
    pub(super) held: Option<Asked>,
    /// Whether there are answers that the guest was not told of.
    has_answered: bool,
    /// Who waits until nothing is under way.
    stopping: Option<Stopped>,
    /// Whether it was started before, by this connection.
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

    /// Where descriptors, and what is available and used, lie in the guest's memory.
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

    /// Begins to serve the queue, whose guest rings by `kick`.
    ///
    /// # Errors
    /// When the ring is not in the guest's memory; and when the guest has used it with another connection. It may have had
    /// requests under way then, of which nothing is known; and a server that was killed has lost what was not flushed, which a
    /// guest that goes on would never write again.
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

    /// What rings for the guest.
    pub(super) fn set_call(&mut self, call: Option<File>) -> Result<()> {
        self.call = call.map(bell).transpose()?;
        // What was answered before was perhaps told to nobody; one call too many does no harm.
        self.has_answered = self.ring.ready();
        Ok(())
    }

    /// What rings when the queue is broken.
    pub(super) fn set_err(&mut self, err: Option<File>) -> Result<()> {
        self.err = err.map(bell).transpose()?;
        Ok(())
    }

    /// Takes no more requests, and answers `stopped` when all that were taken are answered.
    pub(super) fn stop(&mut self, stopped: Stopped) {
        self.ring.set_ready(false);
        self.stopping = Some(stopped);
    }

    /// Whether requests are taken.
    pub(super) fn is_open(&self) -> bool {
        self.ring.ready() && self.is_enabled && !self.is_broken
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// What the guest rings, while anything of it is taken.
    pub(super) fn kick(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().filter(|_| self.is_open()).map(AsFd::as_fd)
    }

    /// The guest has rung.
    pub(super) fn silence(&self) {
        if let Some(kick) = &self.kick {
            // The ring is looked at whatever the bell says.
            let _ = rustix::io::read(kick, &mut [0u8; 8]);
        }
    }

    /// The next request that the guest has left, whose parts `chain` tells then.
    ///
    /// # Errors
    /// When the ring is broken, or the chain longer than a queue may be, which none of a guest that keeps to the rules is: an
    /// indirect table has room for 65,535 descriptors.
    pub(super) fn take(
        &mut self,
        memory: &GuestMemoryMmap,
        chain: &mut Chain,
    ) -> std::result::Result<Option<Taken>, Broken> {
        // A guest that names a request twice has more of them than descriptors.
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

    /// Puts a request back to the guest, with so many bytes written to its memory.
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

    /// Tells the guest of answers, and whoever stops the queue that nothing is left.
    ///
    /// # Errors
    /// When the ring is broken.
    pub(super) fn tell(&mut self, number: u32, memory: &GuestMemoryMmap) -> std::result::Result<(), Broken> {
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
            // Whoever asked may have gone.
            let _ = stopped.send(Ok(VhostUserVringState::new(number, self.ring.next_avail().into())));
        }
        is_to_ring.map(drop)
    }

    /// Asks to be rung for the next request. Whether there is one already.
    ///
    /// # Errors
    /// When the ring is broken.
    pub(super) fn arm(&mut self, memory: &GuestMemoryMmap) -> std::result::Result<bool, Broken> {
        let is_there = self.ring.enable_notification(memory).map_err(|_| Broken)?;
        Ok(is_there && self.held.is_none() && self.under_way < self.ring.size())
    }

    /// Takes nothing of the queue any more. Whether anything was taken until now.
    pub(super) fn give_up(&mut self) -> bool {
        if let Some(err) = self.err.as_ref().filter(|_| !self.is_broken) {
            ring(err);
        }
        !std::mem::replace(&mut self.is_broken, true)
    }
}

/// An event of the guest's, which is never waited for.
fn bell(file: File) -> Result<OwnedFd> {
    let bell = OwnedFd::from(file);
    let fail = |error: rustix::io::Errno| Error::ReqHandlerError(error.into());
    let flags = fcntl_getfl(&bell).map_err(fail)?;
    fcntl_setfl(&bell, flags | OFlags::NONBLOCK).map_err(fail)?;
    Ok(bell)
}

fn ring(bell: &OwnedFd) {
    // A counter that is full rings already; a guest that has closed it does not listen.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}
