//! A blocking NBD client over a Unix socket.

#![allow(dead_code, unreachable_pub)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use stripewise_nbd::client::{Answer, Client, Found, Wishes};

pub struct Disk {
    socket: UnixStream,
    pub client: Client,
}

impl Disk {
    #[track_caller]
    pub fn connect(path: &Path, name: &str) -> Self {
        let socket = UnixStream::connect(path).expect("the server listens");
        Self { socket, client: Client::new(name, Wishes::default()) }
    }

    /// Sends the queued requests.
    pub fn send(&mut self) {
        let bytes = self.client.take_outgoing();
        self.socket.write_all(&bytes).expect("the server takes it");
    }

    /// The next answer, or none when the server hung up.
    pub fn answer(&mut self) -> Option<Answer> {
        loop {
            self.send();
            if let Some(answer) = self.client.next_answer() {
                return Some(answer);
            }
            let mut bytes = vec![0; 1 << 16];
            match self.socket.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.client.receive(&bytes[..count]).expect("the server keeps to the protocol"),
            }
        }
    }

    #[track_caller]
    fn done(&mut self) -> Found {
        self.answer().expect("the server answers").outcome.expect("the request is done")
    }

    #[track_caller]
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        self.client.write(offset, data, false);
        self.done();
    }

    #[track_caller]
    pub fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        self.client.read(offset, bytes);
        match self.done() {
            Found::Data(data) => data,
            other => panic!("a read is answered with {other:?}"),
        }
    }

    #[track_caller]
    pub fn flush(&mut self) {
        self.client.flush();
        self.done();
    }

    #[track_caller]
    pub fn zero(&mut self, offset: u64, bytes: u32) {
        self.client.write_zeroes(offset, bytes, false);
        self.done();
    }

    #[track_caller]
    pub fn trim(&mut self, offset: u64, bytes: u32) {
        self.client.trim(offset, bytes, true);
        self.done();
    }
}
