//! The yardstick: the same requests by io_uring, spread over files without an array.

#![allow(unsafe_code, reason = "the kernel gets the addresses of buffers")]

use std::fs::{File, OpenOptions};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use io_uring::{IoUring, opcode, types};
use rustix::fs::OFlags;
use stripewise_base::prng::Prng;

use crate::bed::PAGE_BYTES;
use crate::load::{Load, Taken, Watch};

/// Opens a file in the same way as the engine: past the page cache if the file system supports this, and such that
/// the calling thread, instead of a kernel thread, does all work that need not wait.
pub(crate) fn open(path: &PathBuf) -> Result<File> {
    let file = open_direct(path).or_else(|_| OpenOptions::new().read(true).write(true).open(path));
    file.with_context(|| path.display().to_string())
}

/// Opens a file past the page cache.
pub(crate) fn open_direct(path: &PathBuf) -> std::io::Result<File> {
    let direct = (OFlags::DIRECT | OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(direct).open(path)
}

/// Memory that the kernel reads and writes. With requests that were not answered it is never freed: a ring that is dropped
/// does not wait for the kernel, which may write to it long after.
struct Lent {
    memory: ManuallyDrop<Vec<u8>>,
    requests: usize,
}

impl Lent {
    fn new(memory: Vec<u8>) -> Self {
        Self { memory: ManuallyDrop::new(memory), requests: 0 }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.requests == 0 {
            drop(std::mem::take(&mut *self.memory));
        }
    }
}

/// Runs a load to its end. Requests go to the files in turn, in units of the load's request size.
pub(crate) fn drive(files: &[File], load: &Load, random: &mut Prng) -> Result<Taken> {
    let align = PAGE_BYTES as usize;
    let mut memory = Lent::new(vec![0x5a_u8; load.depth * load.bytes + align]);
    let start = memory.memory.as_ptr().align_offset(align);
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_coop_taskrun().build(load.depth as u32)?;
    let mut free: Vec<usize> = (0..load.depth).collect();
    let watch = Watch::start();
    let mut begun = 0;
    while begun < load.count {
        let group = if load.flush_every > 0 { load.flush_every } else { load.count };
        let end = load.count.min(begun + group);
        while begun < end || free.len() < load.depth {
            while begun < end
                && let Some(slot) = free.pop()
            {
                let offset = load.offset(begun, random);
                let (at, file) = (offset / load.bytes as u64, files.len() as u64);
                let fd = types::Fd(files[(at % file) as usize].as_raw_fd());
                let place = at / file * load.bytes as u64;
                let buffer = memory.memory[start + slot * load.bytes..][..load.bytes].as_mut_ptr();
                let bytes = load.bytes as u32;
                let entry = match load.write {
                    true => opcode::Write::new(fd, buffer, bytes).offset(place).build(),
                    false => opcode::Read::new(fd, buffer, bytes).offset(place).build(),
                };
                // SAFETY: `memory` is freed only if all requests were answered, and `files` are open until then; the
                // kernel holds a file as long as a request of it is under way.
                unsafe { ring.submission().push(&entry.user_data(slot as u64)) }?;
                memory.requests += 1;
                begun += 1;
            }
            ring.submit_and_wait(1)?;
            for over in ring.completion() {
                memory.requests -= 1;
                ensure!(over.result() == load.bytes as i32, "io_uring returned {}", over.result());
                free.push(over.user_data() as usize);
            }
        }
        if load.flush_every > 0 {
            files[0].sync_data()?;
        }
    }
    let (seconds, cpu_seconds) = watch.stop();
    Ok(Taken {
        requests: load.count,
        bytes: load.count * load.bytes as u64,
        seconds,
        cpu_seconds,
        ..Taken::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_with_requests_under_way_is_not_freed() {
        let mut lent = Lent::new(vec![7; 1 << 16]);
        lent.requests = 1;
        let at = lent.memory.as_ptr();
        drop(lent);
        // Freed memory of this size would be given out again.
        let others: Vec<Vec<u8>> = (0..64).map(|_| vec![9; 1 << 16]).collect();
        assert!(others.iter().all(|other| other.as_ptr() != at));
    }
}
