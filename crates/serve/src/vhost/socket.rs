//! The socket of a device: a thread that speaks vhost-user with the program that runs the guest, and has the loop apply
//! what is negotiated. Requests of guests do not come this way: the loop polls the queues itself.

use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use vhost::vhost_user::message::*;
use vhost::vhost_user::{BackendReqHandler, Error, GpuBackend, Result, VhostUserBackendReqHandler};

use super::VhostRequest;
use super::device::{Device, REGIONS_MAX};
use super::disk::{Disk, QUEUES};
use crate::ending::Ending;
use crate::error::ServeError;
use crate::listen::{UnixSocket, next_connection};
use crate::mailbox::Sender;

/// A socket for guests' hosts, one connection at a time. Dropping it disconnects the host and removes its file. The
/// mailbox must have been dropped before.
#[derive(Debug)]
pub(super) struct DeviceSocket {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    socket: UnixSocket,
    ending: Ending,
    /// The current connection.
    stream: Mutex<Option<UnixStream>>,
}

impl Shared {
    fn keep(&self, stream: Option<UnixStream>) -> Option<UnixStream> {
        std::mem::replace(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner), stream)
    }
}

impl DeviceSocket {
    /// Listens at `path` for the hosts of guests of the device with this number.
    ///
    /// # Errors
    /// When another program is listening there, and the errors of the operating system.
    pub(super) fn start(
        path: &Path,
        number: usize,
        disk: Disk,
        mailbox: Sender<VhostRequest>,
    ) -> std::result::Result<Self, ServeError> {
        let socket = UnixSocket::bind(path)?;
        let shared = Arc::new(Shared { socket, ending: Ending::new()?, stream: Mutex::default() });
        let inner = shared.clone();
        let remote = Arc::new(Remote { number, disk, mailbox });
        let listen = move || listen(&inner, &remote);
        let thread = std::thread::Builder::new().name("vhost-user".into()).spawn(listen);
        Ok(Self { shared, thread: Some(thread.map_err(ServeError::Thread)?) })
    }

    pub(super) fn path(&self) -> &Path {
        self.shared.socket.path()
    }
}

impl Drop for DeviceSocket {
    fn drop(&mut self) {
        // Before the stream is taken: a thread that stores one afterwards sees that the end has come.
        self.shared.ending.come();
        if let Some(stream) = self.shared.keep(None) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(shared: &Shared, remote: &Arc<Remote>) {
    let listener = shared.socket.listener();
    let accept = || {
        let (stream, _) = listener.accept()?;
        Ok((stream.try_clone()?, stream))
    };
    while let Some((own, stream)) = next_connection(listener, &shared.ending, accept) {
        shared.keep(Some(own));
        if shared.ending.has_come() || remote.run(Device::connect).is_err() {
            return;
        }
        let mut requests = BackendReqHandler::from_stream(stream, remote.clone());
        let why = loop {
            if let Err(error) = requests.handle_request() {
                break error;
            }
        };
        shared.keep(None);
        if remote.run(move |device| device.disconnect(&why)).is_err() {
            return;
        }
    }
}

/// Has the loop execute the requests of a guest's host.
#[derive(Debug)]
struct Remote {
    number: usize,
    disk: Disk,
    mailbox: Sender<VhostRequest>,
}

impl Remote {
    /// Executes `work` on the device in the loop, and waits for its end.
    fn run(&self, work: impl FnOnce(&mut Device) + Send + 'static) -> Result<()> {
        self.on_loop(move |device| {
            work(device);
            Ok(())
        })
    }

    /// Executes `work` on the device in the loop, and waits for its result.
    fn on_loop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.begin(move |device, answer: SyncSender<Result<T>>| {
            // The thread of the socket waits for it.
            let _ = answer.send(work(device));
        })
    }

    /// Begins `work` on the device in the loop, and waits for its answer.
    fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Device, SyncSender<Result<T>>) + Send + 'static,
    ) -> Result<T> {
        let ended = Error::InvalidOperation("the server ends");
        let (answer, answered) = sync_channel(1);
        let request =
            VhostRequest { device: self.number, work: Box::new(move |device| work(device, answer)) };
        match self.mailbox.send_patiently(request) {
            Ok(()) => answered.recv().unwrap_or(Err(ended)),
            Err(_) => Err(ended),
        }
    }
}

/// The error for a feature that was not offered.
fn not_offered<T>() -> Result<T> {
    Err(Error::InvalidOperation("this was not offered"))
}

impl VhostUserBackendReqHandler for Remote {
    fn set_owner(&self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&self) -> Result<()> {
        self.run(Device::reset)
    }

    fn reset_device(&self) -> Result<()> {
        not_offered()
    }

    fn get_features(&self) -> Result<u64> {
        Ok(self.disk.features())
    }

    fn set_features(&self, features: u64) -> Result<()> {
        self.on_loop(move |device| device.set_features(features))
    }

    fn get_protocol_features(&self) -> Result<VhostUserProtocolFeatures> {
        Ok(self.disk.protocol_features())
    }

    fn set_protocol_features(&self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&self) -> Result<u64> {
        Ok(QUEUES.into())
    }

    fn get_config(&self, offset: u32, bytes: u32, _flags: VhostUserConfigFlags) -> Result<Vec<u8>> {
        Ok(self.disk.config(offset, bytes))
    }

    fn set_config(&self, _offset: u32, _bytes: &[u8], _flags: VhostUserConfigFlags) -> Result<()> {
        Err(Error::InvalidOperation("nothing of the configuration can be changed"))
    }

    fn get_max_mem_slots(&self) -> Result<u64> {
        Ok(REGIONS_MAX as u64)
    }

    fn set_mem_table(
        &self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<u64>>> {
        let regions = regions.to_vec();
        self.on_loop(move |device| device.set_memory(&regions, files).map(|()| None))
    }

    fn add_mem_region(
        &self,
        region: &VhostUserSingleMemoryRegion,
        file: File,
        _postcopy: Option<bool>,
    ) -> Result<Option<u64>> {
        let region = **region;
        self.on_loop(move |device| device.add_memory(&region, file).map(|()| None))
    }

    fn remove_mem_region(&self, region: &VhostUserSingleMemoryRegion) -> Result<()> {
        let region = **region;
        self.on_loop(move |device| device.remove_memory(&region))
    }

    fn set_vring_num(&self, queue: u32, size: u32) -> Result<()> {
        self.on_loop(move |device| device.queue(queue)?.set_size(size))
    }

    fn set_vring_addr(
        &self,
        queue: u32,
        _flags: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        _log: u64,
    ) -> Result<()> {
        self.on_loop(move |device| device.set_addresses(queue, descriptors, available, used))
    }

    fn set_vring_base(&self, queue: u32, base: u32) -> Result<()> {
        self.on_loop(move |device| device.queue(queue).map(|queue| queue.set_base(base as u16)))
    }

    fn get_vring_base(&self, queue: u32) -> Result<VhostUserVringState> {
        self.begin(move |device, answer| device.stop(queue, answer))
    }

    fn set_vring_kick(&self, queue: u8, kick: Option<File>) -> Result<()> {
        self.on_loop(move |device| device.start(queue.into(), kick))
    }

    fn set_vring_call(&self, queue: u8, call: Option<File>) -> Result<()> {
        self.on_loop(move |device| device.queue(queue.into())?.set_call(call))
    }

    fn set_vring_err(&self, queue: u8, err: Option<File>) -> Result<()> {
        self.on_loop(move |device| device.queue(queue.into())?.set_err(err))
    }

    fn set_vring_enable(&self, queue: u32, is_enabled: bool) -> Result<()> {
        self.on_loop(move |device| device.queue(queue).map(|queue| queue.enable(is_enabled)))
    }

    fn set_gpu_socket(&self, _gpu: GpuBackend) -> Result<()> {
        not_offered()
    }

    fn get_shared_object(&self, _uuid: VhostUserSharedMsg) -> Result<File> {
        not_offered()
    }

    fn get_inflight_fd(&self, _inflight: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        not_offered()
    }

    fn set_inflight_fd(&self, _inflight: &VhostUserInflight, _file: File) -> Result<()> {
        not_offered()
    }

    fn set_device_state_fd(
        &self,
        _direction: VhostTransferStateDirection,
        _phase: VhostTransferStatePhase,
        _file: File,
    ) -> Result<Option<File>> {
        not_offered()
    }

    fn check_device_state(&self) -> Result<()> {
        not_offered()
    }

    fn get_shmem_config(&self) -> Result<VhostUserShMemConfig> {
        not_offered()
    }

    fn set_log_base(&self, _log: &VhostUserLog, _file: File) -> Result<()> {
        not_offered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::{ends, ends_without_its_path, fill_the_queue};
    use crate::mailbox::mailbox;
    use crate::service::FrontendNo;

    #[test]
    fn the_end_needs_neither_its_path_nor_room_in_its_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vhost");
        let disk = Disk { bytes: 1 << 30, page_bytes: 4096, read_only: false, name: "x".into() };
        for is_there in [false, true] {
            let (sender, inbox) = mailbox().unwrap();
            let socket = DeviceSocket::start(&path, 0, disk.clone(), sender).unwrap();
            // One connection occupies the thread; the others fill the queue.
            let _guest = is_there.then(|| UnixStream::connect(&path).unwrap());
            let mut device = Device::new(FrontendNo(0), 0, disk.clone());
            while is_there && !device.is_connected() {
                inbox.take().into_iter().for_each(|request| (request.work)(&mut device));
            }
            let _queue = is_there.then(|| fill_the_queue(&path));
            drop(inbox);
            match is_there {
                true => assert!(ends(socket), "the end waits for those that wait for it"),
                false => assert!(ends_without_its_path(socket, &path), "the end waits for another program"),
            }
            let _ = std::fs::remove_file(&path);
        }
    }
}
