//! An NBD client.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail};
use stripewise_nbd::client::{Client as Protocol, Wishes};

use crate::{BLOCK, Client};

pub(crate) struct Nbd {
    socket: UnixStream,
    protocol: Protocol,
    received: Vec<u8>,
}

impl Nbd {
    pub(crate) fn connect(path: &Path, export: &str) -> Result<Self> {
        let socket = UnixStream::connect(path).with_context(|| format!("`{}`", path.display()))?;
        let protocol = Protocol::new(export, Wishes { structured: true, allocation: false });
        Ok(Self { socket, protocol, received: vec![0; 256 << 10] })
    }
}

impl Client for Nbd {
    fn drive(&mut self, write: bool, depth: usize, offsets: &mut dyn Iterator<Item = u64>) -> Result<()> {
        let mut under_way = 0;
        let mut block = [0; BLOCK];
        loop {
            for offset in (&mut *offsets).take(depth - under_way) {
                under_way += 1;
                if write {
                    block[..8].copy_from_slice(&offset.to_le_bytes());
                    self.protocol.write(offset, &block, false);
                } else {
                    self.protocol.read(offset, BLOCK as u32);
                }
            }
            if under_way == 0 {
                return Ok(());
            }
            let outgoing = self.protocol.take_outgoing();
            if !outgoing.is_empty() {
                self.socket.write_all(&outgoing)?;
            }
            let count = self.socket.read(&mut self.received)?;
            if count == 0 {
                bail!("the server hung up");
            }
            self.protocol.receive(&self.received[..count])?;
            while let Some(answer) = self.protocol.next_answer() {
                answer.outcome.map_err(|(fault, why)| anyhow::anyhow!("{fault:?}: {why}"))?;
                under_way -= 1;
            }
        }
    }
}
