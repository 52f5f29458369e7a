//! vhost-user-blk: block devices for virtual machines. A machine's host connects to a device's socket and shares the guest's
//! memory and the eventfds of its queues; the loop looks at the queues itself, beside the sockets of NBD.
//!
//! The guest is not trusted: what lies in its memory is looked at once and judged. The program that runs it is, as far as the
//! server's life goes: one that cuts off memory which it shared ends the server, as a loss of power would.
//!
//! Source: Vhost-user Protocol, docs/interop/vhost-user.rst of QEMU.

mod chain;
mod device;
mod disk;
mod frontend;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod queue;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::event::PollFlags;
use stripewise_engine::{Failed, Payload};

use self::device::Device;
pub(crate) use self::device::Pending;
pub(crate) use self::disk::Disk;
use self::frontend::Frontend;
use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::mailbox::Sender;
use crate::service::Service;

/// Something that is done to a device in the loop.
pub(crate) struct Job {
    device: usize,
    work: Box<dyn FnOnce(&mut Device) + Send>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("device", &self.device).finish_non_exhaustive()
    }
}

/// What is waited for: a queue of a device.
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
    /// Listens at `paths`, for a guest at each.
    ///
    /// # Errors
    /// When a socket or a thread cannot be had.
    pub(crate) fn start<M: From<Job> + Send + 'static>(
        paths: &[PathBuf],
        disk: &Disk,
        mailbox: &Sender<M>,
    ) -> Result<Self, ServeError> {
        let devices = (0..paths.len()).map(|number| Device::new(number, disk.clone())).collect();
        let start =
            |(number, path): (usize, &PathBuf)| Frontend::start(path, number, disk.clone(), mailbox.clone());
        let frontends = paths.iter().enumerate().map(start).collect::<Result<_, _>>()?;
        Ok(Self { devices, frontends })
    }

    /// Where guests' hosts connect.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = String> {
        self.frontends.iter().map(|frontend| format!("vhost-user unix:{}", frontend.path().display()))
    }

    /// Guests that are there.
    pub(crate) fn count(&self) -> usize {
        self.devices.iter().filter(|device| device.is_connected()).count()
    }

    /// Does what a guest's host asks for.
    pub(crate) fn obey(&mut self, job: Job) {
        (job.work)(&mut self.devices[job.device]);
    }

    /// Answers a request that is done, if whoever asked is still there.
    pub(crate) fn complete(
        &mut self,
        pending: Box<Pending>,
        result: Result<(), Failed>,
        payload: Payload,
        buffers: &mut Buffers,
    ) {
        self.devices[pending.device].complete(pending, result, payload, buffers);
    }

    /// Takes requests, as many as the array takes, and tells of answers; `is_ending` lets none in but those that wait already.
    pub(crate) fn exchange(&mut self, service: &mut Service, is_ending: bool) {
        for device in &mut self.devices {
            device.take(service, is_ending);
            device.tell();
        }
    }

    /// Asks to be rung for requests. Whether there are some already.
    pub(crate) fn arm(&mut self) -> bool {
        self.devices.iter_mut().fold(false, |is_any, device| device.arm() | is_any)
    }

    /// What guests ring.
    pub(crate) fn kicks(&self) -> impl Iterator<Item = Kick> {
        let all = self.devices.iter().enumerate();
        all.flat_map(|(device, found)| found.kicks().map(move |queue| Kick { device, queue }))
    }

    /// The descriptor of what a guest rings.
    pub(crate) fn descriptor(&self, kick: Kick) -> Option<BorrowedFd<'_>> {
        self.devices[kick.device].kick(kick.queue)
    }

    /// A guest has rung, or hung up.
    pub(crate) fn hear(&mut self, kick: Kick, flags: PollFlags) {
        self.devices[kick.device].hear(kick.queue, flags);
    }

    /// Whether all that was taken is answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.devices.iter().all(Device::is_idle)
    }
}
