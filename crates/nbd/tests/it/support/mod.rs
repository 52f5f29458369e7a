//! A host of one connection: a disk in memory that answers at once, or on demand.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod server;

use std::io::IoSlice;
use std::sync::Arc;

use stripewise_nbd::client::{Answer, Client, Found, Wishes};
use stripewise_nbd::{
    BlockSizes, Command, Connection, Export, Extent, Fault, Limits, Pending, Reply, Request, Violation,
};

/// Bytes of the disk.
pub(crate) const DISK_BYTES: usize = 64 << 10;

/// The export of the disk.
pub(crate) fn export() -> Export {
    Export {
        name: "disk".into(),
        description: "A disk of memory".into(),
        bytes: DISK_BYTES as u64,
        block: BlockSizes { minimum: 512, preferred: 4096, maximum: 16 << 10 },
        read_only: false,
        zeroes_fast: true,
    }
}

/// Executes a request. Chunks of 4 KiB with zeros count as holes.
pub(crate) fn answer<'a>(
    disk: &mut [u8],
    command: Command<Vec<u8>>,
    extents: &'a mut Vec<Extent>,
) -> Reply<'a, Vec<u8>> {
    let range = |offset: u64, bytes: u32| offset as usize..offset as usize + bytes as usize;
    match command {
        Command::Read { offset, bytes } => return Reply::Data(disk[range(offset, bytes)].to_vec()),
        Command::Write { offset, data, bytes, .. } => {
            disk[range(offset, bytes)].copy_from_slice(&data[..bytes as usize]);
        }
        Command::Flush => {}
        Command::Trim { offset, bytes, .. } | Command::WriteZeroes { offset, bytes, .. } => {
            disk[range(offset, bytes)].fill(0);
        }
        Command::BlockStatus { offset, .. } => {
            let mut from = offset as usize;
            while from < disk.len() {
                let to = (from / 4096 + 1) * 4096;
                let hole = disk[from..to].iter().all(|&byte| byte == 0);
                let bytes = (to - from) as u64;
                match extents.last_mut().filter(|last| last.hole == hole) {
                    Some(last) => last.bytes += bytes,
                    None => extents.push(Extent { bytes, hole, zero: hole }),
                }
                from = to;
            }
            return Reply::Extents(extents);
        }
    }
    Reply::Done
}

/// A connection and its disk. The connection's output is collected.
pub(crate) struct Host {
    pub(crate) connection: Connection<Vec<u8>>,
    pub(crate) disk: Vec<u8>,
    pub(crate) output: Vec<u8>,
    /// Whether requests are answered at once, or wait.
    pub(crate) is_prompt: bool,
    pub(crate) waiting: Vec<Request<Vec<u8>>>,
    /// The requests, as text.
    pub(crate) seen: Vec<String>,
    /// Whether there is room for payloads.
    pub(crate) has_room: bool,
    /// Most bytes of one send.
    pub(crate) send_bytes: usize,
}

impl Host {
    pub(crate) fn new(export: Export, limits: Limits) -> Self {
        Self {
            connection: Connection::new(Arc::new(export), limits),
            disk: vec![0; DISK_BYTES],
            output: Vec::new(),
            is_prompt: true,
            waiting: Vec::new(),
            seen: Vec::new(),
            has_room: true,
            send_bytes: usize::MAX,
        }
    }

    /// Receives as many bytes from the front of `bytes` as it can, and leaves the rest.
    pub(crate) fn receive(&mut self, bytes: &mut &[u8], mut piece: usize) -> Result<(), Violation> {
        let mut count = 0;
        for part in self.connection.space() {
            let taken = part.len().min(bytes.len()).min(piece);
            part[..taken].copy_from_slice(&bytes[..taken]);
            *bytes = &bytes[taken..];
            piece -= taken;
            count += taken;
        }
        self.connection.received(count);
        self.serve()
    }

    /// Takes requests, answers them if `is_prompt`, and sends.
    pub(crate) fn serve(&mut self) -> Result<(), Violation> {
        loop {
            let has_room = self.has_room;
            while let Some(request) =
                self.connection.next_request(|bytes| has_room.then(|| vec![0xaa; bytes + 1]))?
            {
                self.seen.push(format!("{:?}", request.command));
                if self.is_prompt {
                    self.answer(request.pending, request.command);
                } else {
                    self.waiting.push(request);
                }
            }
            if !self.send() {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, pending: Pending, command: Command<Vec<u8>>) {
        let mut extents = Vec::new();
        let reply = answer(&mut self.disk, command, &mut extents);
        self.connection.reply(pending, reply);
    }

    /// Answers a waiting request.
    pub(crate) fn answer_waiting(&mut self, nth: usize) {
        let request = self.waiting.swap_remove(nth);
        self.answer(request.pending, request.command);
    }

    /// Fails a waiting request.
    pub(crate) fn fail_waiting(&mut self, nth: usize, fault: Fault, reason: &str) {
        let request = self.waiting.swap_remove(nth);
        self.connection.reply(request.pending, Reply::Failed(fault, reason));
    }

    /// Sends all output. Returns whether there was any.
    pub(crate) fn send(&mut self) -> bool {
        let before = self.output.len();
        while self.connection.wants_to_send() {
            let mut slices = [IoSlice::new(&[]); 3];
            let count = self.connection.slices(&mut slices);
            let mut sent = 0;
            for slice in &slices[..count] {
                let bytes = slice.len().min(self.send_bytes - sent);
                self.output.extend(&slice[..bytes]);
                sent += bytes;
            }
            assert!(sent > 0, "it wants to send and has nothing");
            self.connection.sent(sent, drop);
        }
        self.output.len() > before
    }

    /// Moves bytes between a client and this host until neither has any. Returns the client's answers.
    pub(crate) fn talk(&mut self, client: &mut Client) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            let outgoing = client.take_outgoing();
            let mut rest = &outgoing[..];
            while !rest.is_empty() {
                let before = rest.len();
                self.receive(&mut rest, usize::MAX).expect("the client keeps to the protocol");
                assert!(rest.len() < before, "the connection takes nothing more");
            }
            self.serve().expect("the client keeps to the protocol");
            client.receive(&std::mem::take(&mut self.output)).expect("the server keeps to the protocol");
            answers.extend(std::iter::from_fn(|| client.next_answer()));
            if outgoing.is_empty() {
                return answers;
            }
        }
    }
}

/// A host and a client after a complete handshake.
pub(crate) fn connected(export: Export, wishes: Wishes) -> (Host, Client) {
    connected_with(export, wishes, Limits::default())
}

/// The same with these limits.
pub(crate) fn connected_with(export: Export, wishes: Wishes, limits: Limits) -> (Host, Client) {
    let mut host = Host::new(export, limits);
    let mut client = Client::new("disk", wishes);
    host.serve().expect("nothing was sent");
    let greeting = std::mem::take(&mut host.output);
    client.receive(&greeting).expect("the greeting is right");
    assert_eq!(host.talk(&mut client), []);
    assert!(client.export().is_some() && host.connection.is_transmitting());
    (host, client)
}

/// The result of the only answer, a success.
pub(crate) fn found(answers: Vec<Answer>) -> Found {
    let [answer] = answers.try_into().expect("one answer");
    answer.outcome.expect("a success")
}

/// The fault of the only answer, a failure.
pub(crate) fn fault(answers: Vec<Answer>) -> (Fault, String) {
    let [answer] = answers.try_into().expect("one answer");
    answer.outcome.expect_err("a failure")
}
