//! The disk that guests see: its features, and its configuration space.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, sections 5.2.3 and 5.2.4.

use std::mem::{offset_of, size_of};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use virtio_bindings::virtio_blk::*;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

/// The unit of guests.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Queues of a device. A guest uses one for each of its processors.
pub(super) const QUEUES: u16 = 16;
/// Most descriptors of a queue.
pub(super) const QUEUE_SIZE: u16 = 1024;
/// The longest read or write, in bytes, the same as over NBD.
pub(super) const PAYLOAD_BYTES_MAX: u64 = 32 << 20;
/// Pieces of a request: header and status add two more, and most virtual machines have queues of 128.
const SEGMENTS: u32 = 126;
/// Bytes of a piece, so that the longest request is within the limit.
const SEGMENT_BYTES: u32 = 256 << 10;
const _: () = assert!(SEGMENTS as u64 * SEGMENT_BYTES as u64 <= PAYLOAD_BYTES_MAX);
/// The most sectors that one request discards or zeroes: 1 GiB.
pub(super) const ZEROED_SECTORS: u32 = 1 << 21;

/// A block device, as a guest sees it.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// The page: lengths and offsets that are multiples of it cost least.
    pub(super) page_bytes: u32,
    /// Whether it takes no writes.
    pub(super) read_only: bool,
    /// Its name, truncated to the room of a serial number.
    pub(super) name: String,
}

impl Disk {
    pub(super) fn features(&self) -> u64 {
        let mut features = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        let all = [
            VIRTIO_F_VERSION_1,
            VIRTIO_RING_F_EVENT_IDX,
            VIRTIO_RING_F_INDIRECT_DESC,
            VIRTIO_BLK_F_SIZE_MAX,
            VIRTIO_BLK_F_SEG_MAX,
            VIRTIO_BLK_F_BLK_SIZE,
            VIRTIO_BLK_F_TOPOLOGY,
            VIRTIO_BLK_F_MQ,
            VIRTIO_BLK_F_FLUSH,
        ];
        let writes: &[u32] = match self.read_only {
            true => &[VIRTIO_BLK_F_RO],
            false => &[VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES],
        };
        for bit in all.iter().chain(writes) {
            features |= 1 << bit;
        }
        features
    }

    pub(super) fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    /// The configuration space from `offset` on. Fields without meaning here are zero.
    pub(super) fn config(&self, offset: u32, bytes: u32) -> Vec<u8> {
        let mut space = [0; size_of::<virtio_blk_config>()];
        let mut put = |at: usize, field: &[u8]| space[at..at + field.len()].copy_from_slice(field);
        let page = (self.page_bytes / SECTOR_BYTES as u32).max(1);
        put(offset_of!(virtio_blk_config, capacity), &(self.bytes / SECTOR_BYTES).to_le_bytes());
        put(offset_of!(virtio_blk_config, size_max), &SEGMENT_BYTES.to_le_bytes());
        put(offset_of!(virtio_blk_config, seg_max), &SEGMENTS.to_le_bytes());
        put(offset_of!(virtio_blk_config, blk_size), &(SECTOR_BYTES as u32).to_le_bytes());
        put(offset_of!(virtio_blk_config, physical_block_exp), &[page.trailing_zeros() as u8]);
        put(offset_of!(virtio_blk_config, min_io_size), &(page as u16).to_le_bytes());
        put(offset_of!(virtio_blk_config, num_queues), &QUEUES.to_le_bytes());
        put(offset_of!(virtio_blk_config, max_discard_sectors), &ZEROED_SECTORS.to_le_bytes());
        put(offset_of!(virtio_blk_config, max_discard_seg), &1u32.to_le_bytes());
        put(offset_of!(virtio_blk_config, discard_sector_alignment), &page.to_le_bytes());
        put(offset_of!(virtio_blk_config, max_write_zeroes_sectors), &ZEROED_SECTORS.to_le_bytes());
        put(offset_of!(virtio_blk_config, max_write_zeroes_seg), &1u32.to_le_bytes());
        put(offset_of!(virtio_blk_config, write_zeroes_may_unmap), &[1]);
        let requested = space.iter().copied().chain(std::iter::repeat(0));
        requested.skip(offset as usize).take(bytes as usize).collect()
    }

    /// The serial number.
    pub(super) fn serial(&self) -> [u8; VIRTIO_BLK_ID_BYTES as usize] {
        let mut serial = [0; VIRTIO_BLK_ID_BYTES as usize];
        for (place, &byte) in serial.iter_mut().zip(self.name.as_bytes()) {
            *place = byte;
        }
        serial
    }
}
