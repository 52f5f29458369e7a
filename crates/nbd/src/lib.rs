//! NBD, the protocol of network block devices, as state machines: no sockets, no clocks, no threads.
//!
//! [`Connection`] is the server's side of one connection. Its host moves bytes between it and a socket, and answers its
//! requests. The connection does the rest: the fixed newstyle handshake, the checks of requests, the format of replies,
//! and the limits of requests in flight. Payloads go from the socket straight into buffers that the host provides, and
//! from such buffers straight to the socket. [`client`] is the other side, for tests and for checks; it is written to
//! be simple, not to be fast.
//!
//! Supported: `NBD_OPT_EXPORT_NAME`, `ABORT`, `LIST`, `INFO`, `GO`, `STRUCTURED_REPLY`, `LIST_META_CONTEXT` and
//! `SET_META_CONTEXT` with `base:allocation`; reads, writes, flushes, trims, zeros and block status with their flags;
//! several connections to one export. Not supported: TLS and extended headers, for which clients get the protocol's
//! error replies.
//!
//! An invalid request gets an error reply, and the connection continues. A violation of the protocol is a
//! [`Violation`], after which the connection must be closed.
//!
//! Source: The NBD protocol, doc/proto.md of the Network Block Device project.
//!
//! # Example
//!
//! A host of one connection over a blocking socket, and a disk of memory behind it:
//!
//! ```
//! use std::io::{IoSlice, IoSliceMut, Read, Write};
//! use std::os::unix::net::UnixStream;
//! use std::sync::Arc;
//!
//! use stripewise_nbd::client::{Client, Found, Wishes};
//! use stripewise_nbd::{BlockSizes, Command, Connection, Export, Fault, Limits, Reply};
//!
//! type Trouble = Box<dyn std::error::Error + Send + Sync>;
//!
//! fn serve(mut socket: UnixStream, export: Arc<Export>, disk: &mut [u8]) -> Result<(), Trouble> {
//!     let mut connection: Connection<Vec<u8>> = Connection::new(export, Limits::default());
//!     while !connection.is_over() {
//!         while let Some(request) = connection.next_request(|bytes| Some(vec![0; bytes]))? {
//!             let reply = match request.command {
//!                 Command::Read { offset, bytes } => {
//!                     Reply::Data(disk[offset as usize..][..bytes as usize].to_vec())
//!                 }
//!                 Command::Write { offset, data, bytes, .. } => {
//!                     let bytes = bytes as usize;
//!                     disk[offset as usize..][..bytes].copy_from_slice(&data[..bytes]);
//!                     Reply::Done
//!                 }
//!                 Command::Flush => Reply::Done,
//!                 _ => Reply::Failed(Fault::NotSupported, "this disk only reads and writes"),
//!             };
//!             connection.reply(request.pending, reply);
//!         }
//!         if connection.wants_to_send() {
//!             let mut slices = [IoSlice::new(&[]); 16];
//!             let count = connection.slices(&mut slices);
//!             let bytes = socket.write_vectored(&slices[..count])?;
//!             connection.sent(bytes, drop);
//!             continue;
//!         }
//!         let mut space = connection.space().map(IoSliceMut::new);
//!         match socket.read_vectored(&mut space)? {
//!             0 => break,
//!             bytes => connection.received(bytes),
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # fn main() -> Result<(), Trouble> {
//! let export = Export {
//!     name: "disk".into(),
//!     description: "8 KiB of memory".into(),
//!     bytes: 8192,
//!     block: BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 },
//!     read_only: false,
//!     zeroes_fast: true,
//! };
//! let (mut socket, servers) = UnixStream::pair()?;
//! let server = std::thread::spawn(move || serve(servers, Arc::new(export), &mut [0; 8192]));
//!
//! let mut client = Client::new("disk", Wishes::default());
//! client.write(512, &[7; 512], false);
//! let read = loop {
//!     socket.write_all(&client.take_outgoing())?;
//!     let mut bytes = [0; 4096];
//!     let count = socket.read(&mut bytes)?;
//!     client.receive(&bytes[..count])?;
//!     if let Some(answer) = client.next_answer() {
//!         match answer.outcome {
//!             Ok(Found::Data(data)) => break data,
//!             _ => client.read(0, 1024),
//!         };
//!     }
//! };
//! assert_eq!(read, [[0; 512], [7; 512]].concat());
//!
//! client.disconnect();
//! socket.write_all(&client.take_outgoing())?;
//! server.join().expect("it does not panic")
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod client;
mod connection;
mod export;
mod fault;
mod handshake;
mod inbox;
mod outbox;
mod request;
pub mod wire;

pub use connection::Connection;
pub use export::{BlockSizes, Export, Limits};
pub use fault::{Fault, Violation};
pub use request::{Command, Extent, Pending, Reply, Request};
