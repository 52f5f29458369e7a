//! A server of a disk in memory on a Unix socket, with one thread a connection.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use stripewise_nbd::{Command, Connection, Export, Limits};

/// The server; it ends with the process.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    disk: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    pub(crate) fn start(export: Export) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let disk = Arc::new(Mutex::new(vec![0; export.bytes as usize]));
        let server = Self { folder, disk };
        let listener = UnixListener::bind(server.socket()).expect("a new socket");
        let (export, disk) = (Arc::new(export), Arc::clone(&server.disk));
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let (export, disk) = (Arc::clone(&export), Arc::clone(&disk));
                thread::spawn(move || serve(socket, export, &disk));
            }
        });
        server
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Its address as a URI.
    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket().display())
    }

    pub(crate) fn disk(&self) -> Vec<u8> {
        self.disk.lock().expect("no thread panicked").clone()
    }
}

/// Serves until the client disconnects. A client that breaks the protocol is disconnected.
fn serve(mut socket: UnixStream, export: Arc<Export>, disk: &Mutex<Vec<u8>>) -> io::Result<()> {
    let mut connection: Connection<Vec<u8>> = Connection::new(export, Limits::default());
    while !connection.is_over() {
        while let Some(request) =
            connection.next_request(|bytes| Some(vec![0; bytes])).map_err(io::Error::other)?
        {
            let mut extents = Vec::new();
            let mut disk = disk.lock().expect("no thread panicked");
            let command: Command<Vec<u8>> = request.command;
            connection.reply(request.pending, super::answer(&mut disk, command, &mut extents));
        }
        if connection.wants_to_send() {
            let mut slices = [IoSlice::new(&[]); 16];
            let count = connection.slices(&mut slices);
            let bytes = socket.write_vectored(&slices[..count])?;
            connection.sent(bytes, drop);
            continue;
        }
        match socket.read_vectored(&mut connection.space().map(IoSliceMut::new))? {
            0 => break,
            bytes => connection.received(bytes),
        }
    }
    Ok(())
}
