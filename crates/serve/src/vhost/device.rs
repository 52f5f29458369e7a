//! A device at its socket: the guest's memory, its queues, and the negotiated features.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::event::PollFlags;
use stripewise_engine::Request;
use vhost::vhost_user::message::{VhostUserMemoryRegion, VhostUserVirtioFeatures};
use vhost::vhost_user::{Error, Result};
use virtio_bindings::virtio_blk::VIRTIO_BLK_F_FLUSH;
use virtio_bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use vm_memory::{GuestAddress, GuestMemoryMmap, GuestRegionMmap};

use super::chain::{Status, Wish};
use super::disk::{Disk, PAYLOAD_BYTES_MAX, QUEUES};
use super::pending::Pending;
use super::queue::{Broken, Stopped, Virtqueue};
use crate::buffers::Buffers;
use crate::outages::Outages;
use crate::service::{Completion, FrontendNo, ReplyTo, Service, Submission, Unsubmitted};
use crate::slots::Slots;

/// Most regions of a guest's memory.
pub(super) const REGIONS_MAX: usize = 509;
/// Short requests that are taken from a queue before others get their turn.
const TAKES: usize = 64;
/// A request counts as one more for this many pieces.
const PIECES: usize = 16;

/// The position of a region of the guest's memory in the address space of its host.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    host: u64,
    guest: u64,
    bytes: u64,
}

/// A device.
#[derive(Debug)]
pub(super) struct Device {
    frontend: FrontendNo,
    number: usize,
    disk: Disk,
    connection: u64,
    is_connected: bool,
    memory: Arc<GuestMemoryMmap>,
    mappings: Vec<Mapping>,
    features: u64,
    queues: Vec<Virtqueue>,
    /// Bytes of payloads in flight, including those of guests that have disconnected.
    bytes: u64,
    /// Requests that the array was too busy for, of guests that have disconnected.
    orphans: Vec<Submission>,
    /// Requests that were passed to the service, including those of guests that have disconnected.
    in_flight: Slots<Pending>,
    /// Requests that are over, to be used again.
    free: Vec<Pending>,
    /// Connections and queues that were dropped because of their guest's errors, and are not counted yet.
    dropped: u64,
    /// None until a connection is served for the first time.
    outages: Option<Outages>,
}

impl Device {
    pub(super) fn new(frontend: FrontendNo, number: usize, disk: Disk) -> Self {
        Self {
            frontend,
            number,
            disk,
            connection: 0,
            is_connected: false,
            memory: Arc::default(),
            mappings: Vec::new(),
            features: 0,
            queues: Vec::new(),
            bytes: 0,
            orphans: Vec::new(),
            in_flight: Slots::new(),
            free: Vec::new(),
            dropped: 0,
            outages: None,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// A guest's host has connected.
    pub(super) fn connect(&mut self) {
        self.reset();
        self.is_connected = true;
        tracing::debug!(device = self.number, "a guest came");
    }

    /// The guest's host has disconnected, or is dropped. Requests in the engine complete, in the order in which they
    /// arrived, and nothing is written to the guest's memory any more.
    pub(super) fn disconnect(&mut self, why: &Error) {
        match why {
            Error::Disconnected => tracing::debug!(device = self.number, "a guest left"),
            why => {
                self.dropped += 1;
                tracing::warn!(device = self.number, reason = %why, "a guest was dropped");
            }
        }
        self.reset();
        self.is_connected = false;
    }

    /// Resets everything that was negotiated.
    pub(super) fn reset(&mut self) {
        self.connection += 1;
        self.outages = None;
        self.memory = Arc::default();
        self.mappings.clear();
        self.features = 0;
        self.orphans.extend(self.queues.drain(..).filter_map(|queue| queue.held));
        self.queues.resize_with(QUEUES.into(), Virtqueue::new);
        self.free.clear();
    }

    pub(super) fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.disk.features() != 0 {
            return Err(Error::InvalidParam);
        }
        self.features = features;
        let starts_enabled = features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0;
        for queue in &mut self.queues {
            queue.set_event_idx(features & (1 << VIRTIO_RING_F_EVENT_IDX) != 0);
            if starts_enabled {
                queue.enable(true);
            }
        }
        Ok(())
    }

    pub(super) fn set_memory(&mut self, regions: &[VhostUserMemoryRegion], files: Vec<File>) -> Result<()> {
        let mapped = regions.iter().zip(files).map(|(region, file)| map(region, file));
        let mapped = mapped.collect::<Result<Vec<_>>>()?;
        self.memory = Arc::new(GuestMemoryMmap::from_regions(mapped).map_err(refused)?);
        self.mappings = regions.iter().map(Mapping::of).collect();
        Ok(())
    }

    pub(super) fn add_memory(&mut self, region: &VhostUserMemoryRegion, file: File) -> Result<()> {
        if self.mappings.len() >= REGIONS_MAX {
            return Err(Error::InvalidParam);
        }
        let mapped = Arc::new(map(region, file)?);
        self.memory = Arc::new(self.memory.insert_region(mapped).map_err(refused)?);
        self.mappings.push(Mapping::of(region));
        Ok(())
    }

    pub(super) fn remove_memory(&mut self, region: &VhostUserMemoryRegion) -> Result<()> {
        let at = GuestAddress(region.guest_phys_addr);
        let (memory, _) = self.memory.remove_region(at, region.memory_size).map_err(refused)?;
        self.memory = Arc::new(memory);
        self.mappings.retain(|mapping| mapping.guest != region.guest_phys_addr);
        Ok(())
    }

    pub(super) fn set_addresses(
        &mut self,
        queue: u32,
        descriptors: u64,
        available: u64,
        used: u64,
    ) -> Result<()> {
        let guest = |host: u64| {
            let mapping = self.mappings.iter().find(|mapping| mapping.holds(host));
            mapping.map(|mapping| host - mapping.host + mapping.guest).ok_or(Error::InvalidParam)
        };
        let (descriptors, available, used) = (guest(descriptors)?, guest(available)?, guest(used)?);
        self.queue(queue)?.set_addresses(descriptors, available, used)
    }

    pub(super) fn queue(&mut self, number: u32) -> Result<&mut Virtqueue> {
        self.queues.get_mut(number as usize).ok_or(Error::InvalidParam)
    }

    pub(super) fn start(&mut self, queue: u32, kick: Option<File>) -> Result<()> {
        let memory = self.memory.clone();
        self.queue(queue)?.start(kick, &memory)
    }

    pub(super) fn stop(&mut self, queue: u32, stopped: Stopped) {
        match self.queue(queue) {
            Ok(queue) => queue.stop(stopped),
            // The waiting thread may have ended.
            Err(error) => drop(stopped.send(Err(error))),
        }
    }

    /// Takes requests from the queues, as many as the array accepts. If `is_ending`, only those that wait already.
    pub(super) fn take(&mut self, service: &mut Service, is_ending: bool) {
        self.outages.get_or_insert_with(|| Outages::before(service.engine.outages()));
        service.counters.dropped_connections += std::mem::take(&mut self.dropped);
        for submission in self.orphans.drain(..) {
            let ReplyTo { request, .. } = service.discard(submission);
            self.bytes -= self.in_flight.take(request).bytes;
        }
        for queue in 0..self.queues.len() {
            if let Some(submission) = self.queues[queue].held.take() {
                self.submit(queue, submission, service);
            }
            let mut taken = 0;
            while taken < TAKES {
                let is_free = self.queues[queue].held.is_none() && self.bytes < PAYLOAD_BYTES_MAX;
                if is_ending || !is_free || !self.queues[queue].is_open() {
                    break;
                }
                let Some(pieces) = self.take_one(queue, service) else { break };
                taken += 1 + pieces / PIECES;
            }
        }
    }

    /// Takes a request, if there is one. Returns the number of its pieces.
    fn take_one(&mut self, queue: usize, service: &mut Service) -> Option<usize> {
        let mut pending = self.free.pop().unwrap_or_default();
        let taken = match self.queues[queue].take(&self.memory, &mut pending.chain) {
            Ok(Some(taken)) => taken,
            Ok(None) => {
                self.free.push(pending);
                return None;
            }
            Err(Broken) => {
                self.mark_broken(queue);
                return None;
            }
        };
        let pieces = pending.chain.pieces();
        let forced = self.features & (1 << VIRTIO_BLK_F_FLUSH) == 0;
        let judged = taken
            .looked_up
            .and_then(|()| pending.chain.judge(&self.memory, &self.disk, forced, &mut service.buffers));
        (pending.connection, pending.queue, pending.head) = (self.connection, queue, taken.head);
        (pending.is_read, pending.bytes) = (false, 0);
        match judged {
            Ok(Wish::Request(request)) => {
                pending.is_read = matches!(request, Request::Read { .. });
                pending.bytes = match &request {
                    Request::Read { into: payload, .. } | Request::Write { data: payload, .. } => {
                        payload.len() as u64
                    }
                    _ => 0,
                };
                self.bytes += pending.bytes;
                let (client, number) = (self.number as u64, self.in_flight.put(pending));
                let reply_to = ReplyTo { frontend: self.frontend, client, request: number };
                let submission = service.admit(request, reply_to);
                self.submit(queue, submission, service);
            }
            Ok(Wish::Serial) => {
                let serial = self.disk.serial();
                self.answer(pending, Status::Done, &serial);
            }
            Err(status) => self.answer(pending, status, &[]),
        }
        Some(pieces)
    }

    fn submit(&mut self, queue: usize, submission: Submission, service: &mut Service) {
        match service.submit(submission) {
            Ok(()) => {}
            Err(Unsubmitted::Busy(submission)) => self.queues[queue].held = Some(submission),
            Err(Unsubmitted::Refused(_, reply_to)) => {
                let pending = self.in_flight.take(reply_to.request);
                self.bytes -= pending.bytes;
                self.answer(pending, Status::Failed, &[]);
            }
        }
    }

    /// Answers a completed request, if its guest is still connected.
    pub(super) fn complete(&mut self, completion: Completion, buffers: &mut Buffers) {
        let Completion { reply_to, result, payload, outages } = completion;
        let pending = self.in_flight.take(reply_to.request);
        self.bytes -= pending.bytes;
        if pending.connection == self.connection {
            let result = self.outages.as_mut().map_or(result, |known| known.judge(result, outages));
            let status = if result.is_ok() { Status::Done } else { Status::Failed };
            let read: &[u8] = if pending.is_read && result.is_ok() { &payload } else { &[] };
            self.answer(pending, status, read);
        }
        buffers.give_back(payload);
    }

    fn answer(&mut self, pending: Pending, status: Status, data: &[u8]) {
        let Pending { queue, head, chain, .. } = &pending;
        let (written, status) = match chain.answer(&self.memory, data) {
            Ok(written) => (written, status),
            Err(status) => (0, status),
        };
        let status_bytes = u32::from(chain.write_status(&self.memory, status));
        let (queue, answered) =
            (*queue, self.queues[*queue].answer(&self.memory, *head, written + status_bytes));
        if let Err(Broken) = answered {
            self.mark_broken(queue);
        }
        self.free.push(pending);
    }

    /// Notifies the guest of answers.
    pub(super) fn notify(&mut self) {
        for queue in 0..self.queues.len() {
            if let Err(Broken) = self.queues[queue].notify(queue as u32, &self.memory) {
                self.mark_broken(queue);
            }
        }
    }

    /// Enables notifications of requests. Returns whether there are some already.
    pub(super) fn arm(&mut self) -> bool {
        let mut is_any = false;
        for queue in 0..self.queues.len() {
            if !self.queues[queue].is_open() {
                continue;
            }
            match self.queues[queue].arm(&self.memory) {
                Ok(is_there) => is_any |= is_there && self.bytes < PAYLOAD_BYTES_MAX,
                Err(Broken) => self.mark_broken(queue),
            }
        }
        is_any
    }

    /// The queues that a guest may notify.
    pub(super) fn kicks(&self) -> impl Iterator<Item = usize> {
        (0..self.queues.len()).filter(|&nth| self.queues[nth].kick().is_some())
    }

    pub(super) fn kick(&self, queue: usize) -> Option<BorrowedFd<'_>> {
        self.queues.get(queue)?.kick()
    }

    /// A queue was notified.
    pub(super) fn hear(&mut self, queue: usize, flags: PollFlags) {
        match self.queues.get(queue) {
            Some(bell) if flags.contains(PollFlags::IN) => bell.silence(),
            // It can never be notified again.
            Some(_) => self.mark_broken(queue),
            None => {}
        }
    }

    /// Whether no request is in flight or waiting.
    pub(super) fn is_idle(&self) -> bool {
        self.queues.iter().all(Virtqueue::is_idle)
    }

    fn mark_broken(&mut self, queue: usize) {
        if self.queues[queue].mark_broken() {
            self.dropped += 1;
            tracing::warn!(
                device = self.number,
                queue,
                "a queue is served no more: its guest broke the rules of the ring"
            );
        }
    }
}

impl Mapping {
    fn of(region: &VhostUserMemoryRegion) -> Self {
        Self { host: region.user_addr, guest: region.guest_phys_addr, bytes: region.memory_size }
    }

    fn holds(&self, host: u64) -> bool {
        host.checked_sub(self.host).is_some_and(|within| within < self.bytes)
    }
}

fn map(region: &VhostUserMemoryRegion, file: File) -> Result<GuestRegionMmap> {
    GuestRegionMmap::new(region.mmap_region(file)?, GuestAddress(region.guest_phys_addr))
        .ok_or(Error::InvalidParam)
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::ReqHandlerError(std::io::Error::other(error))
}
