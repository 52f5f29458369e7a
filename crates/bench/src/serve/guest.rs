//! A minimal virtual machine with the array as its disk: one virtqueue, driven directly. It polls for answers instead
//! of waiting for notifications, like a polling driver.

use std::fs::File;
use std::hint::spin_loop;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

use anyhow::{Context, Result, ensure};
use rustix::event::EventfdFlags;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use vhost::vhost_user::message::VhostUserProtocolFeatures;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_bindings::virtio_blk::{VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{
    VRING_AVAIL_F_NO_INTERRUPT, VRING_DESC_F_NEXT, VRING_DESC_F_WRITE, VRING_USED_F_NO_NOTIFY,
};
use vm_memory::mmap::{GuestRegionMmap, MmapRegion};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

use crate::{BLOCK, Client};

/// Descriptors of the queue: header, data and status of each request.
const DESCRIPTORS: u16 = 256;
const SLOTS: u16 = DESCRIPTORS / 4;
/// Addresses of the rings, of the requests' headers and status, and of their data.
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADERS: u64 = 0x3000;
const DATA: u64 = 0x10_0000;
const MEMORY_BYTES: u64 = 4 << 20;
/// Address of the memory in the host's address space.
const PLACE: u64 = 0x7000_0000_0000;
/// The feature bit for protocol features.
const PROTOCOL_FEATURES: u64 = 1 << 30;

pub(crate) struct Guest {
    // The device exists as long as its frontend is connected.
    _frontend: Frontend,
    memory: GuestMemoryMmap,
    kick: EventFd,
    available: u16,
    used: u16,
}

impl Guest {
    /// Connects to a device and starts one queue.
    pub(crate) fn connect(path: &Path) -> Result<Self> {
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, MEMORY_BYTES)?;
        let region = MmapRegion::from_file(FileOffset::new(file.try_clone()?, 0), MEMORY_BYTES as usize)?;
        let region = GuestRegionMmap::new(region, GuestAddress(0)).context("the memory has no place")?;
        let memory = GuestMemoryMmap::from_regions(vec![region])?;
        let bell = || EventFd::new(EventfdFlags::NONBLOCK.bits().cast_signed());
        let (kick, call) = (bell()?, bell()?);
        let mut frontend = Frontend::connect(path, 1)?;
        frontend.set_owner()?;
        let wanted = 1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_BLK_F_FLUSH | PROTOCOL_FEATURES;
        let features = frontend.get_features()? & wanted;
        ensure!(features == wanted, "the device lacks features: {features:#x} of {wanted:#x}");
        frontend.set_features(features)?;
        let offered = frontend.get_protocol_features()?;
        frontend.set_protocol_features(offered & VhostUserProtocolFeatures::CONFIG)?;
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: MEMORY_BYTES,
            userspace_addr: PLACE,
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        };
        frontend.set_mem_table(&[region])?;
        frontend.set_vring_num(0, DESCRIPTORS)?;
        frontend.set_vring_base(0, 0)?;
        let ring = VringConfigData {
            queue_max_size: DESCRIPTORS,
            queue_size: DESCRIPTORS,
            flags: 0,
            desc_table_addr: PLACE,
            avail_ring_addr: PLACE + AVAILABLE,
            used_ring_addr: PLACE + USED,
            log_addr: None,
        };
        frontend.set_vring_addr(0, &ring)?;
        frontend.set_vring_call(0, &call)?;
        frontend.set_vring_kick(0, &kick)?;
        frontend.set_vring_enable(0, true)?;
        let no_interrupt = (VRING_AVAIL_F_NO_INTERRUPT as u16).to_le();
        memory.write_obj(no_interrupt, GuestAddress(AVAILABLE))?;
        Ok(Self { _frontend: frontend, memory, kick, available: 0, used: 0 })
    }

    /// Puts a request for the block at `offset` into the ring.
    fn offer(&mut self, slot: u16, write: bool, offset: u64) -> Result<()> {
        let header = HEADERS + u64::from(slot) * 64;
        let kind = if write { VIRTIO_BLK_T_OUT } else { VIRTIO_BLK_T_IN };
        let words = u128::from(kind) | u128::from(offset / 512) << 64;
        self.memory.write_obj(words.to_le(), GuestAddress(header))?;
        self.memory.write_obj(0xFF_u8, GuestAddress(header + 16))?;
        let data = DATA + u64::from(slot) * BLOCK as u64;
        if write {
            self.memory.write_obj(offset.to_le(), GuestAddress(data))?;
        }
        let into = if write { 0 } else { VRING_DESC_F_WRITE };
        let parts = [
            (header, 16, VRING_DESC_F_NEXT),
            (data, BLOCK, VRING_DESC_F_NEXT | into),
            (header + 16, 1, VRING_DESC_F_WRITE),
        ];
        for (nth, (at, bytes, flags)) in (slot * 4..).zip(parts) {
            let descriptor =
                u128::from(at) | (bytes as u128) << 64 | u128::from(flags) << 96 | u128::from(nth + 1) << 112;
            self.memory.write_obj(descriptor.to_le(), GuestAddress(u64::from(nth) * 16))?;
        }
        let place = AVAILABLE + 4 + u64::from(self.available % DESCRIPTORS) * 2;
        self.memory.write_obj((slot * 4).to_le(), GuestAddress(place))?;
        self.available = self.available.wrapping_add(1);
        Ok(())
    }

    /// Publishes the offered requests, and notifies the device unless it polls.
    fn publish(&self) -> Result<()> {
        self.memory.store(self.available.to_le(), GuestAddress(AVAILABLE + 2), Ordering::Release)?;
        fence(Ordering::SeqCst);
        let flags = u16::from_le(self.memory.load(GuestAddress(USED), Ordering::Acquire)?);
        if u32::from(flags) & VRING_USED_F_NO_NOTIFY == 0 {
            self.kick.write(1)?;
        }
        Ok(())
    }

    /// The slot of an answered request, if there is one.
    fn answer(&mut self) -> Result<Option<u16>> {
        let answered = u16::from_le(self.memory.load(GuestAddress(USED + 2), Ordering::Acquire)?);
        if answered == self.used {
            return Ok(None);
        }
        let entry = USED + 4 + u64::from(self.used % DESCRIPTORS) * 8;
        let slot = u32::from_le(self.memory.read_obj(GuestAddress(entry))?) as u16 / 4;
        let status: u8 = self.memory.read_obj(GuestAddress(HEADERS + u64::from(slot) * 64 + 16))?;
        ensure!(status == 0, "a request failed: status {status}");
        self.used = self.used.wrapping_add(1);
        Ok(Some(slot))
    }
}

impl Client for Guest {
    fn drive(&mut self, write: bool, depth: usize, offsets: &mut dyn Iterator<Item = u64>) -> Result<()> {
        let mut free: Vec<u16> = (0..SLOTS.min(depth as u16)).collect();
        let slots = free.len();
        loop {
            let mut is_any = false;
            while let Some(&slot) = free.last()
                && let Some(offset) = offsets.next()
            {
                free.pop();
                self.offer(slot, write, offset)?;
                is_any = true;
            }
            if is_any {
                self.publish()?;
            }
            if free.len() == slots {
                return Ok(());
            }
            while let Some(slot) = self.answer()? {
                free.push(slot);
            }
            spin_loop();
        }
    }
}
