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
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod pending;
mod queue;
mod socket;

use std::fmt;
use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;
use stripewise_base::Nanos;
use stripewise_engine::Engine;

use self::device::Device;
use self::disk::Disk;
use self::socket::DeviceSocket;
use crate::buffers::Buffers;
use crate::error::ServeError;
use crate::frontend::{Frontend, Source};
use crate::mailbox::{Mailbox, mailbox};
use crate::service::{Completion, FrontendNo, Service};
use crate::settings::Settings;

/// The mailbox of the threads of the sockets. Other sources are queues: their owner is a device, their part the queue.
const BELL: Source = Source { owner: u64::MAX, part: 0 };

/// Work on a device, to be executed in the loop.
struct VhostRequest {
    device: usize,
    work: Box<dyn FnOnce(&mut Device) + Send>,
}

impl fmt::Debug for VhostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VhostRequest").field("device", &self.device).finish_non_exhaustive()
    }
}

/// All devices.
#[derive(Debug)]
struct Guests {
    // First, and then the devices: a thread that waits for an answer of the loop is notified that there is none.
    mailbox: Mailbox<VhostRequest>,
    devices: Vec<Device>,
    sockets: Vec<DeviceSocket>,
    is_ending: bool,
}

/// Listens at the sockets of devices, for one guest at each.
///
/// # Errors
/// When a socket or a thread is not available.
pub(crate) fn start(
    number: FrontendNo,
    settings: &Settings,
    engine: &Engine,
) -> Result<Option<Box<dyn Frontend>>, ServeError> {
    if settings.vhost_user.is_empty() {
        return Ok(None);
    }
    let disk = Disk {
        bytes: engine.capacity(),
        page_bytes: engine.page_bytes(),
        read_only: engine.status().is_read_only,
        name: settings.name.clone(),
    };
    let (sender, mailbox) = mailbox().map_err(ServeError::Poll)?;
    let mut guests = Guests { mailbox, devices: Vec::new(), sockets: Vec::new(), is_ending: false };
    for (device, path) in settings.vhost_user.iter().enumerate() {
        guests.devices.push(Device::new(number, device, disk.clone()));
        guests.sockets.push(DeviceSocket::start(path, device, disk.clone(), sender.clone())?);
    }
    Ok(Some(Box::new(guests)))
}

impl Frontend for Guests {
    fn addresses(&self) -> Vec<String> {
        let paths = self.sockets.iter().map(DeviceSocket::path);
        paths.map(|path| format!("vhost-user unix:{}", path.display())).collect()
    }

    fn connections(&self) -> usize {
        self.devices.iter().filter(|device| device.is_connected()).count()
    }

    fn complete(&mut self, completion: Completion, buffers: &mut Buffers) {
        self.devices[completion.reply_to.client as usize].complete(completion, buffers);
    }

    fn exchange(&mut self, service: &mut Service) {
        for device in &mut self.devices {
            device.take(service, self.is_ending);
            device.notify();
        }
    }

    /// Notifications of requests are enabled only before a wait. At the end no more requests are taken.
    fn arm(&mut self) -> bool {
        !self.is_ending && self.devices.iter_mut().fold(false, |is_any, device| device.arm() | is_any)
    }

    fn watch(&mut self, _now: Nanos, add: &mut dyn FnMut(Source, PollFlags)) {
        add(BELL, PollFlags::IN);
        for (owner, device) in (0..).zip(&self.devices) {
            device.kicks().for_each(|queue| add(Source { owner, part: queue as u32 }, PollFlags::IN));
        }
    }

    fn descriptor(&self, source: Source) -> Option<BorrowedFd<'_>> {
        match source {
            BELL => Some(self.mailbox.bell()),
            Source { owner, part } => self.devices.get(owner as usize)?.kick(part as usize),
        }
    }

    fn hear(&mut self, source: Source, flags: PollFlags, _service: &mut Service) {
        match source {
            BELL => {
                while let Some(VhostRequest { device, work }) = self.mailbox.take() {
                    work(&mut self.devices[device]);
                }
            }
            Source { owner, part } => self.devices[owner as usize].hear(part as usize, flags),
        }
    }

    fn wake_at(&self, _now: Nanos) -> Option<Nanos> {
        None
    }

    fn end(&mut self) {
        self.is_ending = true;
    }

    fn is_idle(&self) -> bool {
        self.devices.iter().all(Device::is_idle)
    }
}
