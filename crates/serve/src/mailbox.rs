//! Messages of other threads to the loop: a bounded channel, and an eventfd that wakes the loop from its `poll`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use rustix::event::{EventfdFlags, eventfd};

/// Most waiting messages. Further senders receive [`Unsent::Busy`].
const WAITING_MAX: usize = 64;

/// The receiving end of the loop.
#[derive(Debug)]
pub(crate) struct Mailbox<M> {
    messages: Receiver<M>,
    bell: Arc<OwnedFd>,
}

/// The sending end of other threads.
#[derive(Debug)]
pub(crate) struct Sender<M> {
    messages: SyncSender<M>,
    bell: Arc<OwnedFd>,
}

impl<M> Clone for Sender<M> {
    fn clone(&self) -> Self {
        Self { messages: self.messages.clone(), bell: self.bell.clone() }
    }
}

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// Too many messages are waiting.
    Busy,
    /// The loop has ended.
    Ended,
}

/// A mailbox and its first sender.
///
/// # Errors
/// When the system provides no eventfd.
pub(crate) fn mailbox<M>() -> std::io::Result<(Sender<M>, Mailbox<M>)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, messages) = sync_channel(WAITING_MAX);
    Ok((Sender { messages: sender, bell: bell.clone() }, Mailbox { messages, bell }))
}

impl<M> Sender<M> {
    /// Sends `message` to the loop, without waiting.
    pub(crate) fn send(&self, message: M) -> Result<(), Unsent> {
        self.messages.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Unsent::Busy,
            TrySendError::Disconnected(_) => Unsent::Ended,
        })?;
        self.ring();
        Ok(())
    }

    /// Sends `message` to the loop, and waits while too many are waiting. Fails if the loop has ended.
    pub(crate) fn send_patiently(&self, message: M) -> Result<(), Unsent> {
        self.messages.send(message).map_err(|_| Unsent::Ended)?;
        self.ring();
        Ok(())
    }

    fn ring(&self) {
        // The counter is full only if the bell rings already.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

impl<M> Mailbox<M> {
    /// The next message, if there is one. After `None` the bell is silent until another message arrives.
    pub(crate) fn take(&self) -> Option<M> {
        if let Ok(message) = self.messages.try_recv() {
            return Some(message);
        }
        // The bell is silenced first: a message that arrives in between rings again or is found here.
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        self.messages.try_recv().ok()
    }

    /// Readable while there may be a message.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn rings<M>(mailbox: &Mailbox<M>) -> bool {
        let bell = mailbox.bell();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&bell, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn the_bell_rings_as_long_as_messages_wait() {
        let (sender, mailbox) = mailbox().unwrap();
        assert!(!rings(&mailbox));
        sender.send(1).unwrap();
        sender.clone().send(2).unwrap();
        assert!(rings(&mailbox));
        assert_eq!((mailbox.take(), rings(&mailbox)), (Some(1), true));
        assert_eq!((mailbox.take(), mailbox.take(), rings(&mailbox)), (Some(2), None, false));
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(3).unwrap());
        });
        assert!(rings(&mailbox));
        assert_eq!(mailbox.take(), Some(3));
    }

    #[test]
    fn a_full_box_and_a_closed_one_are_distinguished() {
        let (sender, mailbox) = mailbox().unwrap();
        while sender.send(()).is_ok() {}
        assert_eq!(sender.send(()), Err(Unsent::Busy));
        assert_eq!(std::iter::from_fn(|| mailbox.take()).count(), WAITING_MAX);
        drop(mailbox);
        assert_eq!(sender.send(()), Err(Unsent::Ended));
    }
}
