//! Checks either side of an NBD connection against arbitrary bytes from the other side.

use std::io::IoSlice;
use std::sync::Arc;

use stripewise_nbd::client::{Answer, Client, ExportInfo, ServerError, Wishes};
use stripewise_nbd::{
    BlockSizes, Command, Connection, Export, Extent, Fault, Limits, Pending, Reply, Violation,
};

/// The longest payload, and the limits of a client's requests in flight.
const PAYLOAD_BYTES: u32 = 1024;
/// The bit of the first byte that makes the host answer each request at once.
const PROMPT: u8 = 0x80;
const LIMITS: Limits = Limits { requests: 3, bytes: 2 * PAYLOAD_BYTES as u64 };

/// The first byte determines the size of the pieces in which the other bytes arrive, and how the host handles
/// requests.
///
/// # Panics
/// If a property is violated.
pub fn check_server(bytes: &[u8]) {
    let Some((&way, stream)) = bytes.split_first() else { return };
    let piece = 1 + usize::from(way & 0x1f);
    let (mut whole, mut pieces) = (Host::run(stream, usize::MAX, way), Host::run(stream, piece, way));
    if way & PROMPT == 0 {
        // A refusal may overtake waiting requests that arrived in the same piece.
        whole.sent.clear();
        pieces.sent.clear();
    }
    assert_eq!(pieces, whole, "pieces of {piece} bytes mean something else");
}

/// The events and bytes of a host, and the reason of its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Host {
    seen: Vec<String>,
    sent: Vec<u8>,
    ended: Option<Violation>,
}

impl Host {
    fn run(stream: &[u8], piece: usize, way: u8) -> Self {
        let mut host = Self::default();
        let export = Export {
            name: "disk".into(),
            description: String::new(),
            bytes: 1 << 40,
            block: BlockSizes { minimum: 1, preferred: 512, maximum: PAYLOAD_BYTES },
            read_only: way & 0x20 != 0,
            zeroes_fast: way & 0x40 == 0,
        };
        let mut connection = Connection::new(Arc::new(export), LIMITS);
        let mut rest = stream;
        loop {
            if !host.serve(&mut connection, way & PROMPT != 0) {
                return host;
            }
            let mut received = 0;
            for space in connection.space() {
                let bytes = space.len().min(rest.len()).min(piece - received);
                space[..bytes].copy_from_slice(&rest[..bytes]);
                rest = &rest[bytes..];
                received += bytes;
            }
            if received == 0 {
                assert!(rest.is_empty() || connection.is_over(), "it takes nothing more for no reason");
                return host;
            }
            connection.received(received);
        }
    }

    /// Answers the pending requests, one by one or as many as are admitted together, and sends. Returns whether it
    /// continues.
    fn serve(&mut self, connection: &mut Connection<Vec<u8>>, is_prompt: bool) -> bool {
        loop {
            let mut waiting = Vec::new();
            loop {
                match connection.next_request(|bytes| Some(vec![0; bytes])) {
                    Ok(Some(request)) => {
                        self.seen.push(format!("{:?}", request.command));
                        waiting.push(request);
                    }
                    Ok(None) => break,
                    Err(violation) => {
                        // Earlier refusals are sent.
                        self.send(connection);
                        self.ended = Some(violation);
                        return false;
                    }
                }
                if is_prompt {
                    break;
                }
            }
            assert!(waiting.len() <= LIMITS.requests as usize);
            let payloads = waiting.iter().map(|request| match request.command {
                Command::Read { bytes, .. } | Command::Write { bytes, .. } => u64::from(bytes),
                _ => 0,
            });
            assert!(payloads.sum::<u64>() <= LIMITS.bytes);
            if waiting.is_empty() && !connection.wants_to_send() {
                return true;
            }
            for request in waiting {
                answer(connection, request.pending, &request.command);
            }
            self.send(connection);
        }
    }

    /// Sends all pending bytes.
    fn send(&mut self, connection: &mut Connection<Vec<u8>>) {
        while connection.wants_to_send() {
            let mut slices = [IoSlice::new(&[]); 2];
            let count = connection.slices(&mut slices);
            let bytes: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            assert!(bytes > 0, "it wants to send nothing");
            slices[..count].iter().for_each(|slice| self.sent.extend(&**slice));
            connection.sent(bytes, drop);
        }
    }
}

/// A request lies inside the export. One in eight fails.
fn answer(connection: &mut Connection<Vec<u8>>, pending: Pending, command: &Command<Vec<u8>>) {
    let inside = |offset: u64, bytes: u32| assert!(bytes > 0 && offset + u64::from(bytes) <= 1 << 40);
    let extents =
        [Extent { bytes: 1000, hole: true, zero: true }, Extent { bytes: 1 << 40, hole: false, zero: false }];
    let mut at = 0;
    let reply = match *command {
        Command::Read { offset, bytes } => {
            at = offset;
            inside(offset, bytes);
            Reply::Data(vec![offset as u8; bytes as usize])
        }
        Command::BlockStatus { offset, bytes, .. } => {
            inside(offset, bytes);
            Reply::Extents(&extents)
        }
        Command::Write { offset, bytes, ref data, .. } => {
            assert!(data.len() >= bytes as usize);
            inside(offset, bytes);
            Reply::Done
        }
        Command::Trim { offset, bytes, .. } | Command::WriteZeroes { offset, bytes, .. } => {
            inside(offset, bytes);
            Reply::Done
        }
        Command::Flush => Reply::Done,
    };
    let reply = if at % 8 == 7 { Reply::Failed(Fault::Io, "the seventh") } else { reply };
    connection.reply(pending, reply);
}

/// The first byte determines the client's wishes and the size of the pieces in which the other bytes arrive.
///
/// # Panics
/// If a property is violated.
pub fn check_client(bytes: &[u8]) {
    let Some((&way, stream)) = bytes.split_first() else { return };
    let whole = Talk::run(stream, stream.len().max(1), way);
    let pieces = Talk::run(stream, 1 + usize::from(way >> 2), way);
    assert_eq!(pieces, whole, "pieces mean something else");
    assert!(whole.answers.len() + whole.in_flight <= Talk::REQUESTS);
}

/// The state and the sent bytes of a client.
#[derive(Debug, PartialEq, Eq)]
struct Talk {
    export: Option<ExportInfo>,
    answers: Vec<Answer>,
    in_flight: usize,
    sent: Vec<u8>,
    error: Option<ServerError>,
}

impl Talk {
    /// Number of requests of the client.
    const REQUESTS: usize = 6;

    fn run(stream: &[u8], piece: usize, way: u8) -> Self {
        let mut client = Client::new("disk", Wishes { structured: way & 1 != 0, allocation: way & 2 != 0 });
        client.read(512, 600);
        client.read(0, 1);
        client.write(0, &[1; 512], true);
        client.block_status(0, 4096);
        client.trim(0, 512, false);
        client.flush();
        let error = stream.chunks(piece).find_map(|bytes| client.receive(bytes).err());
        let answers = std::iter::from_fn(|| client.next_answer()).collect();
        let export = client.export().copied();
        Self { export, answers, in_flight: client.in_flight(), sent: client.take_outgoing(), error }
    }
}
