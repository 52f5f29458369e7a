//! A minimal virtual machine: memory, virtqueues that are driven by hand, and the host's side of vhost-user.

#![allow(unreachable_pub)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use rustix::event::EventfdFlags;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use stripewise_base::prng::Prng;
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_bindings::virtio_ring::{VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
use vm_memory::mmap::{GuestRegionMmap, MmapRegion};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

/// Descriptors of a queue, and how many of them each request has.
pub const SIZE: u16 = 64;
pub const SLOT: u16 = 8;
/// Requests of a queue at a time.
pub const SLOTS: u16 = SIZE / SLOT;
/// The address of data: in a region of its own, far from that of the rings.
const DATA: u64 = 4 << 30;
const SLOT_BYTES: u64 = 256 << 10;
const RING_BYTES: u64 = 0x4000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A request of the guest.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub kind: u32,
    pub sector: u64,
    /// The bytes after the header.
    pub out: Vec<u8>,
    /// Room for the data of a read.
    pub room: usize,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub slot: u16,
    pub status: u8,
    pub read: Vec<u8>,
    pub written: u32,
}

pub struct Machine {
    pub frontend: Frontend,
    pub memory: GuestMemoryMmap,
    files: Vec<File>,
    queues: Vec<Queue>,
    pub features: u64,
}

struct Queue {
    kick: EventFd,
    call: EventFd,
    err: EventFd,
    available: u16,
    used: u16,
    /// For each request in flight, the bytes after the header, and the room.
    slots: [(u64, u64); SLOTS as usize],
}

impl Machine {
    /// Connects to a device, and sets up `queues` queues.
    pub fn boot(path: &Path, queues: usize) -> Self {
        let mut machine = Self::connect(path, queues);
        machine.set_up();
        machine
    }

    /// Connects, and negotiates nothing yet.
    pub fn connect(path: &Path, queues: usize) -> Self {
        let sizes =
            [(GuestAddress(0), 1 << 20), (GuestAddress(DATA), queues as u64 * SLOT_BYTES * u64::from(SLOTS))];
        let mut files = Vec::new();
        let regions = sizes.map(|(at, bytes)| {
            let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
            ftruncate(&file, bytes).unwrap();
            let offset = FileOffset::new(file.try_clone().unwrap(), 0);
            files.push(file);
            GuestRegionMmap::new(MmapRegion::from_file(offset, bytes as usize).unwrap(), at).unwrap()
        });
        let memory = GuestMemoryMmap::from_regions(regions.into()).unwrap();
        let frontend = Frontend::connect(path, 64).unwrap();
        let queue = |_| Queue {
            kick: EventFd::new(EventfdFlags::NONBLOCK.bits() as i32).unwrap(),
            call: EventFd::new(EventfdFlags::NONBLOCK.bits() as i32).unwrap(),
            err: EventFd::new(EventfdFlags::NONBLOCK.bits() as i32).unwrap(),
            available: 0,
            used: 0,
            slots: Default::default(),
        };
        Self { frontend, memory, files, queues: (0..queues).map(queue).collect(), features: 0 }
    }

    /// Accepts every offered feature, and starts the queues.
    pub fn set_up(&mut self) {
        let frontend = &mut self.frontend;
        frontend.set_owner().unwrap();
        self.features = frontend.get_features().unwrap();
        frontend.set_features(self.features).unwrap();
        let offered = frontend.get_protocol_features().unwrap();
        frontend.set_protocol_features(offered).unwrap();
        assert!(offered.contains(VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::CONFIG));
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        self.frontend.set_mem_table(&self.regions()).unwrap();
        (0..self.queues.len()).for_each(|queue| self.start(queue, 0));
    }

    /// Disconnects, and connects again with the same memory.
    pub fn connect_again(&mut self, path: &Path) {
        self.frontend = Frontend::connect(path, 64).unwrap();
        let rings = std::mem::take(&mut self.queues);
        self.set_up();
        self.queues = rings;
    }

    /// Its memory as announced to the device: each region has an arbitrary address in the host's address space.
    pub fn regions(&self) -> Vec<VhostUserMemoryRegionInfo> {
        let place = |at: u64| if at == 0 { 0x7000_0000_0000 } else { 0x6000_0000_0000 };
        let region = |(at, file): (u64, &File)| VhostUserMemoryRegionInfo {
            guest_phys_addr: at,
            memory_size: file.metadata().unwrap().len(),
            userspace_addr: place(at),
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        };
        [0, DATA].into_iter().zip(&self.files).map(region).collect()
    }

    pub fn start(&mut self, queue: usize, base: u16) {
        self.try_start(queue, base).unwrap();
    }

    pub fn try_start(&mut self, queue: usize, base: u16) -> vhost::Result<()> {
        let at = 0x7000_0000_0000 + queue as u64 * RING_BYTES;
        let config = VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: at,
            avail_ring_addr: at + 0x1000,
            used_ring_addr: at + 0x2000,
            log_addr: None,
        };
        let (frontend, bells) = (&mut self.frontend, &self.queues[queue]);
        frontend.set_vring_num(queue, SIZE)?;
        frontend.set_vring_base(queue, base)?;
        frontend.set_vring_addr(queue, &config)?;
        frontend.set_vring_err(queue, &bells.err)?;
        frontend.set_vring_call(queue, &bells.call)?;
        frontend.set_vring_kick(queue, &bells.kick)?;
        frontend.set_vring_enable(queue, true)
    }

    pub fn config(&mut self, offset: u32, bytes: u32) -> Vec<u8> {
        let none = vec![0; bytes as usize];
        let found = self.frontend.get_config(offset, bytes, VhostUserConfigFlags::WRITABLE, &none);
        found.unwrap().1
    }

    /// Sends a request, split into random pieces.
    pub fn ask(&mut self, queue: usize, slot: u16, wish: &Wish, chance: &mut Prng) {
        let at = self.lay_down(queue, slot, wish);
        let behind = 16 + wish.out.len() as u64;
        let readable = cut(at, behind, chance).into_iter().map(|(at, bytes)| (at, bytes, 0));
        let writable = cut(at + behind, wish.room as u64 + 1, chance);
        let all =
            readable.chain(writable.into_iter().map(|(at, bytes)| (at, bytes, VRING_DESC_F_WRITE as u16)));
        let all: Vec<_> = all.collect();
        for (nth, &(at, bytes, flags)) in all.iter().enumerate() {
            let index = slot * SLOT + nth as u16;
            let next = if nth + 1 < all.len() { VRING_DESC_F_NEXT as u16 } else { 0 };
            self.describe(queue, index, at, bytes as u32, flags | next, index + 1);
        }
        self.offer(queue, slot * SLOT);
    }

    /// Writes the header and data of a request to memory. Returns their address.
    pub fn lay_down(&mut self, queue: usize, slot: u16, wish: &Wish) -> u64 {
        let at = DATA + (queue as u64 * u64::from(SLOTS) + u64::from(slot)) * SLOT_BYTES;
        let header = [&wish.kind.to_le_bytes()[..], &[0; 4], &wish.sector.to_le_bytes()].concat();
        self.memory.write_slice(&[header, wish.out.clone()].concat(), GuestAddress(at)).unwrap();
        let behind = at + 16 + wish.out.len() as u64;
        // So that neither a status nor read data is there by chance.
        self.memory.write_slice(&vec![0xEE; wish.room + 1], GuestAddress(behind)).unwrap();
        self.queues[queue].slots[usize::from(slot)] = (wish.out.len() as u64, wish.room as u64);
        at
    }

    /// Writes a descriptor.
    pub fn describe(&self, queue: usize, index: u16, at: u64, bytes: u32, flags: u16, next: u16) {
        let words = [&at.to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        let place = queue as u64 * RING_BYTES + u64::from(index) * 16;
        self.memory.write_slice(&words.concat(), GuestAddress(place)).unwrap();
    }

    /// Makes a chain available, and notifies the device.
    pub fn offer(&mut self, queue: usize, head: u16) {
        let ring = queue as u64 * RING_BYTES + 0x1000;
        let place = ring + 4 + u64::from(self.queues[queue].available % SIZE) * 2;
        self.memory.write_obj(head.to_le(), GuestAddress(place)).unwrap();
        let next = self.queues[queue].available.wrapping_add(1);
        self.advance(queue, next);
    }

    /// Sets the number of available chains.
    pub fn advance(&mut self, queue: usize, available: u16) {
        let ring = queue as u64 * RING_BYTES + 0x1000;
        self.queues[queue].available = available;
        self.memory.store(available.to_le(), GuestAddress(ring + 2), Ordering::Release).unwrap();
        self.queues[queue].kick.write(1).unwrap();
    }

    /// Number of answered requests.
    pub fn used(&self, queue: usize) -> u16 {
        let ring = GuestAddress(queue as u64 * RING_BYTES + 0x2000 + 2);
        u16::from_le(self.memory.load(ring, Ordering::Acquire).unwrap())
    }

    /// Waits for the next answer, which comes with a notification.
    pub fn answer(&mut self, queue: usize) -> Answer {
        let wait = self.queues[queue].used;
        // The device notifies when this answer is there.
        let event = queue as u64 * RING_BYTES + 0x1000 + 4 + u64::from(SIZE) * 2;
        self.memory.store(wait.to_le(), GuestAddress(event), Ordering::SeqCst).unwrap();
        fence(Ordering::SeqCst);
        while self.used(queue) == wait {
            assert!(hear(&self.queues[queue].call), "no answer in queue {queue}");
        }
        let entry = queue as u64 * RING_BYTES + 0x2000 + 4 + u64::from(wait % SIZE) * 8;
        let [head, written] = [0, 4].map(|at| self.memory.read_obj::<u32>(GuestAddress(entry + at)).unwrap());
        self.queues[queue].used = wait.wrapping_add(1);
        let slot = head as u16 / SLOT;
        let (out, room) = self.queues[queue].slots[usize::from(slot)];
        let at = DATA + (queue as u64 * u64::from(SLOTS) + u64::from(slot)) * SLOT_BYTES + 16 + out;
        let mut read = vec![0; room as usize];
        self.memory.read_slice(&mut read, GuestAddress(at)).unwrap();
        let status = self.memory.read_obj(GuestAddress(at + room)).unwrap();
        Answer { slot, status, read, written }
    }

    /// Sends a request, and waits for its answer.
    pub fn done(&mut self, queue: usize, wish: &Wish) -> Answer {
        self.ask(queue, 0, wish, &mut Prng::new(wish.sector));
        self.answer(queue)
    }

    /// Waits until the device reports a queue as broken.
    pub fn is_broken(&self, queue: usize) -> bool {
        hear(&self.queues[queue].err)
    }
}

/// Whether a notification arrives in time.
fn hear(bell: &EventFd) -> bool {
    let until = Instant::now() + PATIENCE;
    while bell.read().is_err() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

/// `bytes` at `at` in up to four pieces.
fn cut(at: u64, bytes: u64, chance: &mut Prng) -> Vec<(u64, u64)> {
    let mut edges: Vec<u64> = (0..3).map(|_| chance.below(bytes + 1)).chain([0, bytes]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|edge| (at + edge[0], edge[1] - edge[0])).collect()
}
