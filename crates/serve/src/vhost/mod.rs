//! vhost-user-blk: block devices for virtual machines. A machine's host connects to a device's socket and shares the
//! guest's memory and the eventfds of its queues. The loop polls the queues itself, beside the sockets of NBD.
//!
//! The guest is not trusted: each value in its memory is read once and checked. The program that runs the guest is
//! trusted not to end the server: if it truncates memory that it shared, the server ends as in a loss of power.
//!
//! Source: Vhost-user Protocol, docs/interop/vhost-user.rst of QEMU.

mod chain;
mod device;
mod disk;
mod frontend;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod pending;
mod queue;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::event::PollFlags;

use self::device::Device;
pub(crate) use self::disk::Disk;
use self::frontend::Frontend;
use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::mailbox::Sender;
use crate::service::{Completion, FrontendNo, Service};

/// Work on a device, to be executed in the loop.
pub(crate) struct VhostRequest {
    device: usize,
    work: Box<dyn FnOnce(&mut Device) + Send>,
}

impl fmt::Debug for VhostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("device", &self.device).finish_non_exhaustive()
    }
}

/// A queue of a device that the loop waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kick {
    device: usize,
    queue: usize,
}

/// All devices.
#[derive(Debug)]
pub(crate) struct Guests {
    devices: Vec<Device>,
    frontends: Vec<Frontend>,
}

impl Guests {
    /// Listens at `paths`, for one guest at each.
    ///
    /// # Errors
    /// When a socket or a thread is not available.
    pub(crate) fn start<M: From<VhostRequest> + Send + 'static>(
        frontend: FrontendNo,
        paths: &[PathBuf],
        disk: &Disk,
        mailbox: &Sender<M>,
    ) -> Result<Self, ServeError> {
        let device = |number| Device::new(frontend, number, disk.clone());
        let devices = (0..paths.len()).map(device).collect();
        let start =
            |(number, path): (usize, &PathBuf)| Frontend::start(path, number, disk.clone(), mailbox.clone());
        let frontends = paths.iter().enumerate().map(start).collect::<Result<_, _>>()?;
        Ok(Self { devices, frontends })
    }

    /// The addresses for guests' hosts.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        self.frontends.iter().map(|frontend| format!("vhost-user unix:{}", frontend.path().display()))
    }

    /// Connected guests.
    pub(crate) fn count(&self) -> usize {
        self.devices.iter().filter(|device| device.is_connected()).count()
    }

    /// Executes a request of a guest's host.
    pub(crate) fn obey(&mut self, job: VhostRequest) {
        (job.work)(&mut self.devices[job.device]);
    }

    /// Answers a completed request, if its guest is still connected.
    pub(crate) fn complete(&mut self, completion: Completion, buffers: &mut Buffers) {
        self.devices[completion.reply_to.client as usize].complete(completion, buffers);
    }

    /// Takes requests, as many as the array accepts, and notifies guests of answers. If `is_ending`, only requests that
    /// wait already are taken.
    pub(crate) fn exchange(&mut self, service: &mut Service, is_ending: bool) {
        for device in &mut self.devices {
            device.take(service, is_ending);
            device.tell();
        }
    }

    /// Enables notifications of requests. Returns whether there are some already.
    pub(crate) fn arm(&mut self) -> bool {
        self.devices.iter_mut().fold(false, |is_any, device| device.arm() | is_any)
    }

    /// The queues that guests may notify.
    pub(crate) fn kicks(&self) -> impl Iterator<Item = Kick> {
        let all = self.devices.iter().enumerate();
        all.flat_map(|(device, found)| found.kicks().map(move |queue| Kick { device, queue }))
    }

    /// The descriptor of a queue's notifications.
    pub(crate) fn descriptor(&self, kick: Kick) -> Option<BorrowedFd<'_>> {
        self.devices[kick.device].kick(kick.queue)
    }

    /// A guest has notified a queue, or closed the descriptor.
    pub(crate) fn hear(&mut self, kick: Kick, flags: PollFlags) {
        self.devices[kick.device].hear(kick.queue, flags);
    }

    /// Whether all requests that were taken are answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.devices.iter().all(Device::is_idle)
    }
}
