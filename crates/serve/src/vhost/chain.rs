//! Requests of guests: parses and checks a chain of descriptors before the engine sees it.
//!
//! A chain is a header, data that is read or written, and a byte for the status, split into descriptors as the guest
//! likes. The positions of its parts are looked up once. If a guest changes them afterwards, it affects only its own
//! data.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 5.2.6.

use stripewise_engine::Request;
use virtio_bindings::virtio_blk::*;
use virtio_queue::desc::split::Descriptor;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

use super::disk::{Disk, PAYLOAD_BYTES_MAX, SECTOR_BYTES, ZEROED_SECTORS};
use crate::buffers::Buffers;

const HEADER_BYTES: usize = size_of::<virtio_blk_outhdr>();
const RANGE_BYTES: usize = size_of::<virtio_blk_discard_write_zeroes>();

/// A piece of a guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: GuestAddress,
    bytes: usize,
}

/// Consecutive pieces of a request.
#[derive(Debug, Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|piece| piece.bytes as u64).sum()
    }

    /// Fills `into` from the front, and removes these bytes.
    fn take(&mut self, memory: &GuestMemoryMmap, into: &mut [u8]) -> Result<(), vm_memory::GuestMemoryError> {
        let mut done = 0;
        for piece in &mut self.0 {
            let bytes = piece.bytes.min(into.len() - done);
            memory.read_slice(&mut into[done..done + bytes], piece.at)?;
            *piece =
                Piece { at: GuestAddress(piece.at.0.wrapping_add(bytes as u64)), bytes: piece.bytes - bytes };
            done += bytes;
        }
        Ok(())
    }

    /// Removes the last byte, and returns its address.
    fn take_last(&mut self) -> Option<GuestAddress> {
        let last = self.0.iter_mut().rfind(|piece| piece.bytes > 0)?;
        last.bytes -= 1;
        Some(GuestAddress(last.at.0.wrapping_add(last.bytes as u64)))
    }

    /// Writes `from` to the pieces, from the front.
    fn put(&self, memory: &GuestMemoryMmap, mut from: &[u8]) -> Result<(), vm_memory::GuestMemoryError> {
        for piece in &self.0 {
            let (now, later) = from.split_at(piece.bytes.min(from.len()));
            memory.write_slice(now, piece.at)?;
            from = later;
        }
        Ok(())
    }
}

/// The positions of the parts of a request.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Memory that the guest has written.
    readable: Pieces,
    /// Memory that the device is to write.
    writable: Pieces,
    status: Option<GuestAddress>,
}

/// A request of a guest.
#[derive(Debug)]
pub(super) enum Wish {
    /// A request for the engine.
    Request(Request),
    /// A request for the serial number of the disk.
    Serial,
}

/// The status of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Status {
    Done = VIRTIO_BLK_S_OK as u8,
    Failed = VIRTIO_BLK_S_IOERR as u8,
    Unknown = VIRTIO_BLK_S_UNSUPP as u8,
}

impl Chain {
    /// Looks up the positions of the parts of a request.
    ///
    /// # Errors
    /// When the chain is broken: it leaves its table, never ends, or has memory to read behind memory to write. The
    /// status can be written if there is a place for it.
    pub(super) fn look_up(&mut self, descriptors: impl Iterator<Item = Descriptor>) -> Result<(), Status> {
        self.readable.0.clear();
        self.writable.0.clear();
        let (mut is_ordered, mut is_whole) = (true, false);
        for descriptor in descriptors {
            let piece = Piece { at: descriptor.addr(), bytes: descriptor.len() as usize };
            if descriptor.is_write_only() {
                self.writable.0.push(piece);
            } else {
                is_ordered &= self.writable.0.is_empty();
                self.readable.0.push(piece);
            }
            // If the next descriptor cannot be read, the last one still has its next flag set.
            is_whole = !descriptor.has_next();
        }
        self.status = self.writable.take_last();
        if is_ordered && is_whole { Ok(()) } else { Err(Status::Failed) }
    }

    /// Number of its pieces of memory.
    pub(super) fn pieces(&self) -> usize {
        self.readable.0.len() + self.writable.0.len()
    }

    /// The request of the guest. `forced` says whether a write must be durable at once.
    ///
    /// # Errors
    /// The status of an invalid request: malformed, unknown, beyond the end of the disk, too long.
    pub(super) fn judge(
        &mut self,
        memory: &GuestMemoryMmap,
        disk: &Disk,
        forced: bool,
        buffers: &mut Buffers,
    ) -> Result<Wish, Status> {
        let header: [u8; HEADER_BYTES] = self.front(memory)?;
        let [kind, _priority] = [0, 4].map(|at| u32::from_le_bytes(std::array::from_fn(|n| header[at + n])));
        let sector = u64::from_le_bytes(std::array::from_fn(|nth| header[8 + nth]));
        match kind {
            VIRTIO_BLK_T_IN => {
                let (offset, bytes) = self.extent(sector, self.writable.bytes(), disk)?;
                Ok(Wish::Request(Request::Read { offset, into: buffers.take(bytes) }))
            }
            VIRTIO_BLK_T_OUT => {
                let (offset, bytes) = self.extent(sector, self.readable.bytes(), disk)?;
                let mut data = buffers.take(bytes);
                match self.readable.take(memory, &mut data) {
                    Ok(()) => Ok(Wish::Request(Request::Write { offset, data, fua: forced })),
                    Err(_) => {
                        buffers.give_back(data);
                        Err(Status::Failed)
                    }
                }
            }
            VIRTIO_BLK_T_FLUSH => Ok(Wish::Request(Request::Flush)),
            VIRTIO_BLK_T_GET_ID => Ok(Wish::Serial),
            VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
                let range: [u8; RANGE_BYTES] = self.front(memory)?;
                let sector = u64::from_le_bytes(std::array::from_fn(|nth| range[nth]));
                let [sectors, flags] =
                    [8, 12].map(|at| u32::from_le_bytes(std::array::from_fn(|n| range[at + n])));
                let unmap = flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0;
                let is_trim = kind == VIRTIO_BLK_T_DISCARD;
                if flags & !VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0 || is_trim && unmap {
                    return Err(Status::Unknown);
                }
                // More ranges, or longer ones, than the configuration space allows.
                if self.readable.bytes() > 0 || sectors > ZEROED_SECTORS {
                    return Err(Status::Failed);
                }
                let bytes = u64::from(sectors) * SECTOR_BYTES;
                let offset = place(sector, bytes, disk)?;
                Ok(Wish::Request(match is_trim {
                    true => Request::Trim { offset, bytes, fua: forced },
                    false => Request::Zero { offset, bytes, fua: forced, keep_space: !unmap },
                }))
            }
            _ => Err(Status::Unknown),
        }
    }

    /// Writes the data of a read, as far as there is room for it. Returns the number of bytes.
    ///
    /// # Errors
    /// When the guest has no memory there.
    pub(super) fn answer(&self, memory: &GuestMemoryMmap, data: &[u8]) -> Result<u32, Status> {
        self.writable.put(memory, data).map_err(|_| Status::Failed)?;
        Ok(self.writable.bytes().min(data.len() as u64) as u32)
    }

    /// Writes the status of the request. Returns whether there was a place for it.
    pub(super) fn write_status(&self, memory: &GuestMemoryMmap, status: Status) -> bool {
        self.status.is_some_and(|at| memory.write_obj(status as u8, at).is_ok())
    }

    /// Removes bytes from the front of the memory that the guest has written.
    fn front<const N: usize>(&mut self, memory: &GuestMemoryMmap) -> Result<[u8; N], Status> {
        let mut front = [0; N];
        if self.status.is_none() || self.readable.bytes() < N as u64 {
            return Err(Status::Failed);
        }
        self.readable.take(memory, &mut front).map_err(|_| Status::Failed)?;
        Ok(front)
    }

    /// Offset and length of a read or write.
    fn extent(&self, sector: u64, bytes: u64, disk: &Disk) -> Result<(u64, usize), Status> {
        if bytes > PAYLOAD_BYTES_MAX {
            return Err(Status::Failed);
        }
        Ok((place(sector, bytes, disk)?, bytes as usize))
    }
}

/// The offset of a request of whole sectors within the disk.
fn place(sector: u64, bytes: u64, disk: &Disk) -> Result<u64, Status> {
    let offset = sector.checked_mul(SECTOR_BYTES).ok_or(Status::Failed)?;
    let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= disk.bytes);
    if is_inside && bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES) {
        Ok(offset)
    } else {
        Err(Status::Failed)
    }
}

#[cfg(test)]
mod tests {
    use virtio_bindings::virtio_ring::{VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};

    use super::*;

    #[test]
    fn no_more_is_zeroed_at_once_than_the_disk_advertises() {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 4096)]).unwrap();
        let disk = Disk { bytes: 1 << 40, page_bytes: 4096, read_only: false, name: String::new() };
        let judged = |kind: u32, sectors: u32| {
            let header = [kind, 0, 0, 0].map(u32::to_le_bytes).concat();
            let range = [8, 0, sectors, 0].map(u32::to_le_bytes).concat();
            memory.write_slice(&[header, range].concat(), GuestAddress(0)).unwrap();
            let descriptors = [
                Descriptor::new(0, 32, VRING_DESC_F_NEXT as u16, 1),
                Descriptor::new(32, 1, VRING_DESC_F_WRITE as u16, 0),
            ];
            let mut chain = Chain::default();
            chain.look_up(descriptors.into_iter()).unwrap();
            chain.judge(&memory, &disk, false, &mut Buffers::new())
        };
        for kind in [VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES] {
            assert!(matches!(judged(kind, ZEROED_SECTORS), Ok(Wish::Request(_))), "{kind}");
            assert_eq!(judged(kind, ZEROED_SECTORS + 1).unwrap_err(), Status::Failed, "{kind}");
        }
    }
}
