//! Sockets with a deadline. A timeout of the system covers a single call, so a peer that sends or takes a byte each
//! time never reaches it.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// Most bytes of one call: a Unix socket splits a longer one, and the timeout covers each piece.
const CALL_BYTES: usize = 16 << 10;

/// A socket with a deadline for all reads and writes.
#[derive(Debug)]
pub(crate) struct Deadline<'a, S> {
    socket: &'a S,
    until: Instant,
}

impl<'a, S: AsFd> Deadline<'a, S> {
    /// A deadline of `patience` from now on.
    pub(crate) fn after(patience: Duration, socket: &'a S) -> Self {
        Self { socket, until: Instant::now() + patience }
    }

    /// Sets the timeout of the next call to the remaining time.
    fn limit(&self, call: Timeout) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(set_socket_timeout(self.socket, call, Some(left))?)
    }
}

impl<'a, S: AsFd> Read for Deadline<'a, S>
where
    &'a S: Read,
{
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.limit(Timeout::Recv)?;
        self.socket.read(into)
    }
}

impl<'a, S: AsFd> Write for Deadline<'a, S>
where
    &'a S: Write,
{
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.limit(Timeout::Send)?;
        self.socket.write(&from[..from.len().min(CALL_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);
    /// More bytes than a test could send at this speed.
    const MANY: usize = 16 << 20;

    #[test]
    fn a_client_that_sends_byte_by_byte_is_not_read_forever() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sender = std::thread::spawn(move || {
            while theirs.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let begun = Instant::now();
        let read = Deadline::after(PATIENCE, &ours).take(MANY as u64).read_to_end(&mut Vec::new());
        assert!(read.is_err() && begun.elapsed() >= PATIENCE, "{read:?} after {:?}", begun.elapsed());
        drop(ours);
        sender.join().unwrap();
    }

    #[test]
    fn a_client_that_reads_a_little_each_time_is_not_written_to_forever() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let reader = std::thread::spawn(move || {
            while theirs.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let begun = Instant::now();
        let written = Deadline::after(PATIENCE, &ours).write_all(&vec![0; MANY]);
        assert!(written.is_err() && begun.elapsed() >= PATIENCE, "{written:?} after {:?}", begun.elapsed());
        drop(ours);
        reader.join().unwrap();
    }
}
