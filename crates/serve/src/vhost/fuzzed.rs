//! Properties of a queue for any content of a guest's memory.

use stripewise_engine::Request;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

use super::chain::{Chain, Status, Wish};
use super::disk::{Disk, PAYLOAD_BYTES_MAX, QUEUE_SIZE};
use super::queue::Virtqueue;
use crate::buffers::Buffers;

/// A guest's memory.
const MEMORY_BYTES: usize = 64 << 10;
/// The position of its ring: low addresses, so that few bytes make whole requests.
const SIZE: u16 = 8;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x80;
const USED: u64 = 0x100;

/// The bytes are the guest's memory from its beginning, repeated up to its end: the table of descriptors, the available
/// ring, and all memory that they lead to.
///
/// # Panics
/// When a property does not hold.
pub fn check(bytes: &[u8]) {
    serve(bytes);
}

/// Checks the same. Returns what the guest asked for, by the names of the standard.
fn serve(bytes: &[u8]) -> Vec<&'static str> {
    let mut requested = Vec::new();
    let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), MEMORY_BYTES)]).expect("memory");
    for at in (0..MEMORY_BYTES).step_by(bytes.len().max(1)).take_while(|_| !bytes.is_empty()) {
        let part = &bytes[..bytes.len().min(MEMORY_BYTES - at)];
        memory.write_slice(part, GuestAddress(at as u64)).expect("it is there");
    }
    // The used ring is empty, as in a guest that has just started.
    memory.write_obj(0u32, GuestAddress(USED)).expect("it is there");
    let disk = Disk { bytes: 1 << 30, page_bytes: 4096, read_only: false, name: "disk".into() };
    let mut queue = Virtqueue::new();
    queue.set_size(SIZE.into()).expect("a power of two");
    queue.set_addresses(DESCRIPTORS, AVAILABLE, USED).expect("aligned");
    let kick = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).expect("an eventfd");
    queue.start(Some(kick.into()), &memory).expect("it is in memory");
    queue.enable(true);
    let mut buffers = Buffers::new();
    let mut chain = Chain::default();
    // A guest that offers requests without end is served one by one; here a few are enough.
    for _ in 0..4 * SIZE {
        let Ok(Some(taken)) = queue.take(&memory, &mut chain) else { break };
        assert!(chain.pieces() <= usize::from(QUEUE_SIZE));
        let judged = taken.looked_up.and_then(|()| chain.judge(&memory, &disk, false, &mut buffers));
        let mut written = 0;
        let status = match judged {
            Ok(Wish::Request(request)) => {
                requested.push(name(&request));
                match inside(&request, &disk) {
                    Some(data) => chain.answer(&memory, &data).map_or_else(
                        |status| status,
                        |bytes| {
                            written = bytes;
                            Status::Done
                        },
                    ),
                    None => Status::Done,
                }
            }
            Ok(Wish::Serial) => match chain.answer(&memory, &disk.serial()) {
                Ok(bytes) => {
                    requested.push("id");
                    written = bytes;
                    Status::Done
                }
                Err(status) => status,
            },
            Err(status) => status,
        };
        written += u32::from(chain.write_status(&memory, status));
        if queue.answer(&memory, taken.head, written).is_err() {
            break;
        }
    }
    let _ = queue.notify(0, &memory);
    requested
}

fn name(request: &Request) -> &'static str {
    match request {
        Request::Read { .. } => "in",
        Request::Write { .. } => "out",
        Request::Flush => "flush",
        Request::Trim { .. } => "discard",
        Request::Zero { .. } => "write zeroes",
    }
}

/// Checks that a request lies inside the disk. Returns the data of a read.
fn inside(request: &Request, disk: &Disk) -> Option<Vec<u8>> {
    let (offset, bytes) = match request {
        Request::Read { offset, into } => (*offset, into.len() as u64),
        Request::Write { offset, data, .. } => (*offset, data.len() as u64),
        Request::Trim { offset, bytes, .. } | Request::Zero { offset, bytes, .. } => (*offset, *bytes),
        Request::Flush => return None,
    };
    assert!(bytes > 0 && offset + bytes <= disk.bytes, "{bytes} bytes at {offset}");
    match request {
        Request::Read { into, .. } => {
            assert!(bytes <= PAYLOAD_BYTES_MAX);
            Some(vec![0xa5; into.len()])
        }
        Request::Write { .. } => {
            assert!(bytes <= PAYLOAD_BYTES_MAX);
            None
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_corpus_asks_for_everything_that_a_disk_does() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/virtqueue");
        let mut requested = BTreeSet::new();
        for file in fs::read_dir(folder).expect("the corpus") {
            let path = file.expect("an entry").path();
            let now = serve(&fs::read(&path).expect("a file of the corpus"));
            println!("{}: {now:?}", path.display());
            requested.extend(now);
        }
        let all = ["discard", "flush", "id", "in", "out", "write zeroes"];
        assert!(requested.iter().eq(&all), "{requested:?}");
    }
}
