//! How threads that wait for connections are notified of the end: through an eventfd beside each listening socket, in
//! one `poll`.
//!
//! The end never connects to a socket to wake its thread. The path of the socket may lead to another program by then,
//! and `connect` to a full queue waits for the thread that is to end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::error::ServeError;

/// An end that has come or not. It never reverts.
#[derive(Debug)]
pub(crate) struct Ending(OwnedFd);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The end has come.
    Ended,
    /// The descriptor is readable.
    Ready,
    /// The time has passed.
    Late,
}

impl Ending {
    /// An end that has not come.
    ///
    /// # Errors
    /// When the system provides no eventfd.
    pub(crate) fn new() -> Result<Self, ServeError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(eventfd(0, flags).map_err(|error| ServeError::Poll(error.into()))?))
    }

    /// Signals the end: all present and later waits return at once.
    pub(crate) fn come(&self) {
        // The counter is full only if it has come before.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Whether it has come.
    #[cfg(any(test, feature = "vhost-user"))]
    pub(crate) fn has_come(&self) -> bool {
        self.wait(None, Some(Duration::ZERO)) == Woken::Ended
    }

    /// Waits until the end comes, `readable` is readable, or the time has passed. The end has precedence.
    pub(crate) fn wait(&self, readable: Option<BorrowedFd<'_>>, at_most: Option<Duration>) -> Woken {
        let timeout = at_most.map(|at_most| Timespec {
            tv_sec: at_most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        });
        let other = readable.unwrap_or(self.0.as_fd());
        let mut fds = [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
        let polled = poll(&mut fds, timeout.as_ref());
        let is_ready = |nth: usize| !fds[nth].revents().is_empty();
        match polled {
            Ok(_) if is_ready(0) => Woken::Ended,
            Ok(_) if is_ready(1) => Woken::Ready,
            // A signal that another thread handles: the caller checks, and waits again.
            Ok(_) | Err(Errno::INTR) => Woken::Late,
            // Out of memory, at worst: there may be some a little later.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(10));
                Woken::Late
            }
        }
    }
}

impl AsFd for Ending {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_end_wakes_the_waiting_thread_and_comes_before_all_else() {
        let ending = Ending::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let wait = |at_most| ending.wait(Some(ours.as_fd()), at_most);
        assert_eq!((wait(Some(Duration::ZERO)), ending.has_come()), (Woken::Late, false));
        theirs.write_all(b"x").unwrap();
        assert_eq!(wait(None), Woken::Ready);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| ending.wait(None, None));
            ending.come();
            assert_eq!(waits.join().unwrap(), Woken::Ended);
        });
        assert_eq!((wait(None), ending.has_come()), (Woken::Ended, true));
    }
}
