//! Waits for many descriptors in one `poll`, without an allocation each time.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::ServeError;

/// The set of descriptors to wait for; `S` identifies them.
#[derive(Debug)]
pub(crate) struct Watch<S> {
    sources: Vec<(S, PollFlags)>,
    /// Empty between two waits: memory for the system call.
    fds: Vec<PollFd<'static>>,
}

impl<S: Copy> Watch<S> {
    pub(crate) fn new() -> Self {
        Self { sources: Vec::new(), fds: Vec::new() }
    }

    /// Adds `flags` of `source`; errors and hang-ups are always included.
    pub(crate) fn add(&mut self, source: S, flags: PollFlags) {
        self.sources.push((source, flags));
    }

    /// Waits until a source has an event, for `at_most` at most; [`Watch::take`] returns the events.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub(crate) fn wait<'a>(
        &mut self,
        descriptor: impl Fn(S) -> BorrowedFd<'a>,
        at_most: Option<Duration>,
    ) -> Result<(), ServeError> {
        let mut fds = recycle(std::mem::take(&mut self.fds));
        let wanted = self.sources.iter();
        fds.extend(wanted.map(|&(source, flags)| PollFd::from_borrowed_fd(descriptor(source), flags)));
        let timeout = at_most.map(|at_most| Timespec {
            tv_sec: at_most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        });
        let waited = match poll(&mut fds, timeout.as_ref()) {
            // A signal, which was handled elsewhere.
            Ok(0) | Err(Errno::INTR) => {
                self.sources.clear();
                Ok(())
            }
            other => other.map(drop).map_err(|error| ServeError::Poll(error.into())),
        };
        for ((_, flags), fd) in self.sources.iter_mut().zip(&fds) {
            *flags = fd.revents();
        }
        self.fds = recycle(fds);
        waited
    }

    /// The next source with events, and the events. After the last one the set is empty.
    pub(crate) fn take(&mut self) -> Option<(S, PollFlags)> {
        std::iter::from_fn(|| self.sources.pop()).find(|(_, flags)| !flags.is_empty())
    }
}

/// The memory of a vector, for other lifetimes. The standard library collects an empty vector in place.
fn recycle<'b>(mut fds: Vec<PollFd<'_>>) -> Vec<PollFd<'b>> {
    fds.clear();
    fds.into_iter().map(|_| unreachable!("it was emptied")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn sources_with_events_are_reported_and_no_others() {
        let pairs = [(); 3].map(|()| UnixStream::pair().unwrap());
        let mut watch = Watch::new();
        let wait = |watch: &mut Watch<usize>| {
            (0..pairs.len()).for_each(|nth| watch.add(nth, PollFlags::IN));
            watch.wait(|nth| pairs[nth].0.as_fd(), Some(Duration::ZERO)).unwrap();
            let mut ready: Vec<usize> = std::iter::from_fn(|| watch.take()).map(|(nth, _)| nth).collect();
            ready.sort_unstable();
            ready
        };
        assert!(wait(&mut watch).is_empty());
        (&pairs[1].1).write_all(b"x").unwrap();
        assert_eq!(wait(&mut watch), [1]);
        pairs[2].1.shutdown(std::net::Shutdown::Both).unwrap();
        let memory = watch.fds.as_ptr();
        assert_eq!(wait(&mut watch), [1, 2]);
        assert_eq!(watch.fds.as_ptr(), memory, "its memory is used again");
    }
}
